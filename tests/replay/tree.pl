#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tree.pl JSON TREE [PERFETTO]
#
# Holds the blocks of the form tree against the stalls of the form json, over the same capture with
# the same options: head, facts, cause, each row and its share, stack, and the order of stalls. With
# PERFETTO, the fields of each stall there are the same as well.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Json;

my ($json_file, $tree_file, $perfetto_file) = @ARGV;
die "usage: tree.pl JSON TREE [PERFETTO]\n" unless defined $tree_file;

use constant { SHRINKER_ROWS => 5 };

my @wrong;
my $rows = 0;

my @groups = (
	['direct_reclaim', 'direct reclaim'], ['memcg_reclaim', 'memcg reclaim'],
	['node_reclaim', 'node reclaim'], ['other_reclaim', 'reclaim'],
	['compaction', 'compaction'], ['memory_high', 'memory.high'], ['oom_killer', 'OOM killer'],
	['drain', 'draining per-CPU lists'], ['rest', 'rest'],
);
my %title = map { @$_ } @groups;
my @parts = (
	['soft_limit', 'soft limit'], ['throttle', 'throttling sleep'],
	['short_runs', 'short runs on the lists'], ['active_list', 'active list'],
	['inactive_list', 'inactive list'], ['slab', 'slab outside of shrinkers'],
	['shrinkers', 'shrinkers'], ['own', 'own time'],
);

sub wrong { push @wrong, join('', @_) }

sub bytes_of {
	my ($file) = @_;

	open my $in, '<:raw', $file or die "$file: $!\n";
	local $/;
	return <$in>;
}

sub ms { return sprintf '%d.%03d', $_[0] / 1_000_000, $_[0] / 1000 % 1000 }

# Names have no blanks nor bytes to be escaped in these captures.
sub head_of {
	my ($stall) = @_;
	my $task = $stall->{task};
	my $text = $stall->{time} // sprintf '%d.%06d', $stall->{ts_ns} / 1e9, $stall->{ts_ns} / 1e3 % 1e6;

	$text .= " $task->{name}-$task->{tid}" . ($task->{interrupt} ? ' (interrupt)' : '');
	$text .= " of $task->{process}-$task->{pid}"
		if defined $task->{process} && $task->{pid} != $task->{tid};
	$text .= " $task->{cgroup}" if defined $task->{cgroup};
	$text .= '  ' . ms($stall->{duration_ns}) . " ms  $stall->{function}";
	$text .= "  order $stall->{order}" if defined $stall->{order};
	$text .= "  $stall->{gfp}" if defined $stall->{gfp};
	$text .= "  $stall->{nr_reclaimed} pages reclaimed" if defined $stall->{nr_reclaimed};
	$text .= "  from $stall->{memcg}" if defined $stall->{memcg};
	$text .= '  (part of something longer that was not recorded)' if $stall->{depth};
	$text .= '  (incomplete: records may be missing)' if $stall->{incomplete};
	return $text;
}

sub facts_of {
	my ($stall) = @_;
	my @facts;

	push @facts, "node $stall->{nodes}" if defined $stall->{nodes};
	push @facts, "$stall->{inactive_scanned} pages scanned" if defined $stall->{inactive_scanned};
	push @facts, "$stall->{inactive_reclaimed} reclaimed" if defined $stall->{inactive_reclaimed};
	push @facts, "$stall->{inactive_dirty} dirty" if $stall->{inactive_dirty};
	push @facts, "$stall->{inactive_writeback} in writeback" if $stall->{inactive_writeback};
	push @facts, "priority down to $stall->{reclaim_priority}" if defined $stall->{reclaim_priority};
	push @facts, "compaction attempts: $stall->{compaction_attempts}"
		if defined $stall->{compaction_attempts} && !defined $stall->{compaction_outcomes};
	push @facts, "compaction: $stall->{compaction_outcomes}" if defined $stall->{compaction_outcomes};
	return @facts ? '   ' . join(', ', @facts) : ();
}

my @states = qw(ran cpu_wait blocked slept);
my %state_titles = (
	ran => 'ran', cpu_wait => 'waiting for a CPU', blocked => 'asleep, uninterruptible',
	slept => 'asleep',
);

# A state is the cause of what is rest, or of all where no phase is half.
sub state_of {
	my ($stall, $state) = @_;
	my $ns = 0;

	for my $of (@{$stall->{off_cpu}}) {
		next if $stall->{phases}{rest}{total_ns} * 2 >= $stall->{duration_ns} && $of->{phase} ne 'rest';
		$ns += $of->{"${state}_ns"};
	}
	return $ns;
}

# What the task did in a part, most time first, and where it slept.
sub state_rows {
	my ($stall, $level, $group, $part) = @_;
	my $whole = $stall->{duration_ns};
	my @rows;

	for my $of (grep { $_->{phase} eq $group && ($_->{part} // 'own') eq $part } @{$stall->{off_cpu} // []}) {
		my %ns = map { $_ => $of->{"${_}_ns"} } @states;
		my $all = 0;

		$all += $_ for values %ns;
		next if $ns{ran} == $all && $part ne 'own' && $part ne 'slab';
		for my $state (sort { $ns{$b} <=> $ns{$a} } grep { $ns{$_} } @states) {
			my $shown = 0;

			push @rows, row($level, $state_titles{$state}, $ns{$state}, $whole);
			for (grep { $_->{phase} eq $group && ($_->{part} // 'own') eq $part && $_->{state} eq $state }
			     @{$stall->{sleeps}}) {
				next if $shown && ($_->{total_ns} < int($whole / 100) || $shown == SHRINKER_ROWS);
				push @rows, row($level + 1, "in $_->{function}", $_->{total_ns}, $whole);
				$shown++;
			}
		}
	}
	return @rows;
}

# The share in percent; in json a fraction of four digits, rounded down.
sub cause_of {
	my ($stall) = @_;
	my $cause = $stall->{cause};

	return "   cause: $stall->{cause_detail}; nothing is half of it" if $cause eq 'mixed';
	my $ns = $state_titles{$cause} ? state_of($stall, $cause) : $stall->{phases}{$cause}{total_ns};
	my $text = sprintf '   cause: %s %d %%', $title{$cause} // $state_titles{$cause},
		($ns * 100 + int($stall->{duration_ns} / 2)) / $stall->{duration_ns};
	my $share = int($ns * 10000 / $stall->{duration_ns}) / 10000;

	wrong("cause_share $stall->{cause_share}, by the phases $share")
		if abs($share - $stall->{cause_share}) > 1e-9;
	$text .= ": $stall->{cause_detail}" if defined $stall->{cause_detail};
	$text .= ', which no slow run of a traced function explains' if $cause eq 'rest';
	return $text;
}

sub row {
	my ($level, $title, $ns, $whole) = @_;

	return "$level|$title|" . ms($ns) . '|' . int(($ns * 100 + int($whole / 2)) / $whole);
}

sub shrinker_rows {
	my ($stall, $group) = @_;
	my $whole = $stall->{duration_ns};
	my (@rows, $any, $any_labelled);
	my ($others, $nr_others) = (0, 0);

	for (grep { $_->{phase} eq $group && $_->{total_ns} } @{$stall->{shrinkers}}) {
		my $first = !$any_labelled && $_->{name} =~ /\S\[/;
		my $callback = $_->{callback};
		my $address = $_->{shrinker};
		my $shared = grep { $_->{callback} eq $callback && $_->{shrinker} ne $address }
			@{$stall->{shrinkers}};

		if (!$any || $first || $_->{total_ns} >= int($whole / 100) && @rows < SHRINKER_ROWS) {
			push @rows, row(2, $shared && $_->{name} !~ /\S\[/ ? "$_->{name} $address" : $_->{name},
					$_->{total_ns}, $whole);
		} else {
			$others += $_->{total_ns};
			$nr_others++;
		}
		$any = 1;
		$any_labelled ||= $first;
	}
	push @rows, row(2, "$nr_others other shrinker" . ($nr_others == 1 ? '' : 's'), $others, $whole)
		if $nr_others;
	return @rows;
}

sub rows_of {
	my ($stall) = @_;
	my $whole = $stall->{duration_ns};
	my @rows;

	for (@groups) {
		my ($group, $name) = @$_;
		my $phase = $stall->{phases}{$group};

		push @rows, row(0, $name, $phase->{total_ns}, $whole) if $phase->{total_ns};
		for (@parts) {
			my ($part, $part_name) = @$_;

			next unless $phase->{"${part}_ns"};
			push @rows, row(1, $part_name, $phase->{"${part}_ns"}, $whole);
			push @rows, $part eq 'shrinkers' ? shrinker_rows($stall, $group)
							 : state_rows($stall, 2, $group, $part);
		}
		push @rows, state_rows($stall, 1, $group, 'own') unless defined $phase->{own_ns};
	}
	return @rows;
}

my @stalls = grep { $_->{type} eq 'stall' } map { decode_json($_) } split /\n/, bytes_of($json_file);
my @lines = split /\n/, bytes_of($tree_file) =~ s/(?:\A|\n)\n(?:\d+|no) stalls? of .*//sr;

sub next_is {
	my ($expected) = @_;
	my $line = shift @lines // '';

	wrong("not '$expected': $line") if $line ne $expected;
}

for my $stall (@stalls) {
	my ($rest) = grep { $_->{phase} eq 'rest' } @{$stall->{off_cpu} // []};
	my $alone = $stall->{phases}{rest}{total_ns} == $stall->{duration_ns} &&
		(!$rest || $rest->{ran_ns} == $stall->{duration_ns});

	last if @wrong;
	next_is(head_of($stall));
	next_is($_) for facts_of($stall);
	next_is(cause_of($stall)) unless $alone;
	for (rows_of($stall)) {
		last if $alone;
		my ($branches, $title, $ms, $percent) = (shift @lines // '') =~
			/^((?:\|  |   )*[|`]- )(.*?) +(\d+\.\d+) ms +(\d+)%$/ or wrong("no row: $_"), last;
		my $row = length($branches) / 3 - 1 . "|$title|$ms|$percent";

		wrong("not the row '$_': $row") if $row ne $_;
		$rows++;
	}
	next_is("   => $_") for @{$stall->{stack}};
	next_is('') if @lines && (!$alone || @{$stall->{stack}});
}
wrong("there is more: $lines[0]") if @lines && !@wrong;

if ($perfetto_file && !@wrong) {
	my @instants = grep { ($_->{cat} // '') eq 'stall' }
		@{decode_json(bytes_of($perfetto_file))->{traceEvents}};

	wrong(scalar @instants, ' stalls in perfetto, not ', scalar @stalls) if @instants != @stalls;
	for my $stall (@stalls) {
		my %fields = %$stall;

		delete @fields{qw(type schema)};
		wrong("other fields at $stall->{ts_ns}")
			if encode_json(\%fields) ne encode_json((shift @instants // {})->{args});
	}
}

if (@wrong) {
	print "$_\n" for @wrong;
	exit 1;
}
printf "%d stalls, %d rows\n", scalar @stalls, $rows;
