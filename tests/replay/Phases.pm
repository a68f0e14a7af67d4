# SPDX-License-Identifier: GPL-2.0-or-later
#
# Phases of a stall, their parts, and the states of a task in them: titles and times as the reports
# show them.

package Phases;

use strict;
use warnings;
use Exporter 'import';
use Hash::Util qw(lock_hash);
use List::Util qw(sum0);

our @EXPORT = qw(@phases @parts @states %title off_cpu freed_of state_ns is_only_outside cause_ns cause_of ms percent duration_of);

# In the order of the reports.
our @phases = qw(direct_reclaim memcg_reclaim node_reclaim other_reclaim compaction memory_high
	oom_killer drain swap_in refault outside);
our @parts = qw(soft_limit throttled short_scans active_list inactive_list shrinker_lookup shrinkers itself);
our @states = qw(running cpu_wait blocked slept off_cpu);
our %title = (
	direct_reclaim => 'direct reclaim', memcg_reclaim => 'memcg reclaim',
	node_reclaim => 'node reclaim', other_reclaim => 'other reclaim', compaction => 'compaction',
	memory_high => 'memory.high', oom_killer => 'OOM killer', drain => 'draining per-CPU lists',
	swap_in => 'swap-in', refault => 'refault',
	outside => 'outside reclaim', mixed => 'nothing is half of it',

	soft_limit => 'soft limit', throttled => 'throttled',
	short_scans => 'short list scans', active_list => 'active list',
	inactive_list => 'inactive list', shrinker_lookup => 'shrinker lookup and locks',
	shrinkers => 'shrinkers', itself => 'reclaim itself',

	running => 'running', cpu_wait => 'waiting for a CPU', blocked => 'asleep, uninterruptible',
	slept => 'asleep', off_cpu => 'off the CPU (unknown why)',
);
lock_hash(%title);	# a name that is none of these is an error

# The states of a stall by phase and part, those of one phase, or of one part of it ('' where the
# phase has none).
sub off_cpu
{
	my ($stall, $phase, $part) = @_;

	return grep {
		(!defined $phase || $_->{phase} eq $phase) &&
		(!defined $part || ($_->{part} // '') eq $part)
	} @{ $stall->{off_cpu} // [] };
}

# The objects of a shrinker: mm_shrink_slab_end has those that it freed, and how many are left to scan.
sub freed_of
{
	my ($shrinker) = @_;

	return " (freed $shrinker->{freed}" . ($shrinker->{scanned} ? " of $shrinker->{scanned}" : '') . ')';
}

sub state_ns
{
	my ($state, @off_cpu) = @_;

	return sum0(map { $_->{"${state}_ns"} } @off_cpu);
}

# Is there nothing to say of where the time went?
sub is_only_outside
{
	my ($stall) = @_;
	my ($rest) = off_cpu($stall, 'outside');

	return $stall->{phases}{outside}{total_ns} == $stall->{duration_ns} &&
		(!$rest || $rest->{running_ns} == $stall->{duration_ns});
}

# The time of a cause that is a phase, or a state off the CPU.
sub cause_ns
{
	my ($stall) = @_;
	my $phase = $stall->{phases}{ $stall->{cause} };

	return $phase ? $phase->{total_ns} : state_ns($stall->{cause}, off_cpu($stall));
}

# The text of a cause: the state off the CPU that it is, and where; or the chain, its shares in percent.
sub cause_of
{
	my ($stall) = @_;
	my ($cause, $detail) = @$stall{qw(cause cause_detail)};

	return $detail // 'not known' if $cause eq 'mixed';
	my $text = "$title{$cause} " . percent(cause_ns($stall), $stall->{duration_ns}) . ' %';

	return ($detail ? $detail =~ s/ \d+ %$/; /r : '') . $text if !$stall->{phases}{$cause};
	$text .= ($detail =~ /^(?:\Q$title{running}\E|\Q$title{slept}\E|\Q$title{blocked}\E|\Q$title{off_cpu}\E) \d/ ?
			'; ' : ': ') . $detail if defined $detail;
	$text .= ', not traced' if $cause eq 'outside' && !$stall->{off_cpu};
	return $text;
}

# As people read it: two digits that count, and the unit.
sub duration_of {
	my ($ns) = @_;
	my $round = sub { int($ns / $_[0] + 0.5) };

	return $round->(1e3) . ' us' if $round->(1e3) < 1000;
	return sprintf '%.1f ms', $round->(1e5) / 10 if $round->(1e5) < 100;
	return $round->(1e6) . ' ms' if $round->(1e6) < 1000;
	return sprintf '%.1f s', $round->(1e8) / 10;
}

sub ms { sprintf '%d.%03d', $_[0] / 1_000_000, $_[0] / 1000 % 1000 }
sub percent { $_[1] ? int(($_[0] * 100 + int($_[1] / 2)) / $_[1]) : 0 }

1;
