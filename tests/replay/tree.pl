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
use List::Util qw(sum0);
use Checker;
use Json;
use Phases;

my ($json_file, $tree_file, $perfetto_file) = @ARGV;
die "usage: tree.pl JSON TREE [PERFETTO]\n" unless defined $tree_file;

use constant { SHRINKER_ROWS => 5 };

my $rows = 0;

sub pages { return $_[0] == 1 ? 'page' : 'pages' }

# Names have no blanks nor bytes to be escaped in these captures.
sub head_of {
	my ($stall) = @_;
	my $task = $stall->{task};
	my %why = (
		switch => 'a switch of the task was not recorded', dropped => 'older records were dropped',
		lost => 'records were lost',
		in_progress => 'a memory wait was in progress when the run began or ended',
	);
	my $text = $stall->{time} // sprintf '%d.%06d', $stall->{ts_ns} / 1e9, $stall->{ts_ns} / 1e3 % 1e6;

	$text .= " $task->{name}-$task->{tid}" . ($task->{interrupt} ? ' (interrupt)' : '');
	$text .= " of $task->{process}-$task->{pid}"
		if defined $task->{process} && $task->{pid} != $task->{tid};
	$text .= ' (cgroup ' . (defined $task->{cgroup_source} ? "from $task->{cgroup_source}" : 'unknown') .
		': it had ended)' if $task->{ended};
	$text .= " $task->{cgroup}" if defined $task->{cgroup};
	$text .= '  ' . ms($stall->{duration_ns}) . " ms  $stall->{function}";
	$text .= "  order $stall->{order}" if defined $stall->{order};
	$text .= "  $stall->{gfp}" if defined $stall->{gfp};
	$text .= "  $stall->{nr_reclaimed} " . pages($stall->{nr_reclaimed}) . ' reclaimed'
		if defined $stall->{nr_reclaimed};
	$text .= "  from $stall->{memcg}" if defined $stall->{memcg};
	$text .= '  (part of something longer that was not recorded)' if $stall->{depth};
	$text .= "  (incomplete: $why{ $stall->{incomplete_reason} })" if $stall->{incomplete};
	return $text;
}

sub facts_of {
	my ($stall) = @_;
	my @facts;

	push @facts, "node $stall->{nodes}" if defined $stall->{nodes};
	push @facts, "$stall->{inactive_scanned} " . pages($stall->{inactive_scanned}) . ' scanned'
		if defined $stall->{inactive_scanned};
	push @facts, "$stall->{inactive_reclaimed} reclaimed" if defined $stall->{inactive_reclaimed};
	push @facts, "$stall->{inactive_dirty} dirty" if $stall->{inactive_dirty};
	push @facts, "$stall->{inactive_writeback} in writeback" if $stall->{inactive_writeback};
	push @facts, "priority down to $stall->{reclaim_priority}" if defined $stall->{reclaim_priority};
	push @facts, "compaction attempts: $stall->{compaction_attempts}"
		if defined $stall->{compaction_attempts} && !defined $stall->{compaction_outcomes};
	push @facts, "compaction: $stall->{compaction_outcomes}" if defined $stall->{compaction_outcomes};
	return @facts ? '   ' . join(', ', @facts) : ();
}

# What the task did in a part, most time first, and where it slept.
sub state_rows {
	my ($stall, $level, $group, $part) = @_;
	my $whole = $stall->{duration_ns};
	my @rows;

	for my $of (off_cpu($stall, $group, $part)) {
		my %ns = map { $_ => $of->{"${_}_ns"} } @states;

		next if $ns{running} == sum0(values %ns) && $part !~ /^(?:|itself|shrinker_lookup)$/;
		for my $state (sort { $ns{$b} <=> $ns{$a} } grep { $ns{$_} } @states) {
			my $shown = 0;

			push @rows, row($level, $title{$state}, $ns{$state}, $whole);
			for (grep { $_->{phase} eq $group && ($_->{part} // '') eq $part && $_->{state} eq $state }
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

	return "   cause: $stall->{cause_detail}; $title{mixed}" if $cause eq 'mixed';
	my $whole = $stall->{duration_ns};
	# A state is the cause of what is outside reclaim, or of all where no phase is half.
	my @off_cpu = off_cpu($stall, $stall->{phases}{outside}{total_ns} * 2 >= $whole ? 'outside' : ());
	my $ns = $stall->{phases}{$cause} ? $stall->{phases}{$cause}{total_ns} : state_ns($cause, @off_cpu);
	my $text = "   cause: $title{$cause} " . percent($ns, $whole) . ' %';
	my $share = int($ns * 10000 / $whole) / 10000;

	wrong("cause_share $stall->{cause_share}, by the phases $share")
		if abs($share - $stall->{cause_share}) > 1e-9;
	$text .= ": $stall->{cause_detail}" if defined $stall->{cause_detail};
	$text .= ', which no slow run of a traced function explains' if $cause eq 'outside';
	return $text;
}

# The four with most time that had the CPU, and the others.
sub had_cpu_of {
	my ($stall) = @_;
	my $waited = state_ns('cpu_wait', off_cpu($stall)) or return;
	my @runners = grep { $_->{total_ns} >= int($waited / 100) } @{$stall->{had_cpu}};
	my @shown = @runners > 4 ? @runners[0 .. 3] : @runners;
	my $others = @{$stall->{had_cpu}} - @shown;
	my @text = map { [$_->{idle} ? 'nobody (idle)' : "$_->{task}-$_->{tid}", $_->{total_ns}] } @shown;

	push @text, ["$others other" . ($others == 1 ? '' : 's'), sum0(map { $_->{total_ns} } @{$stall->{had_cpu}}) -
							      sum0(map { $_->{total_ns} } @shown)] if $others;
	push @text, ['not recorded', $stall->{had_cpu_not_recorded_ns}] if $stall->{had_cpu_not_recorded_ns};
	return '   had the CPU meanwhile: ' . join ', ', map { "$_->[0] " . ms($_->[1]) . ' ms' } @text;
}

sub row {
	my ($level, $title, $ns, $whole) = @_;

	return join '|', $level, $title, ms($ns), percent($ns, $whole);
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
			push @rows, row(2, $shared && $_->{name} !~ /\S\[/ ? "$_->{name}\[$address]" : $_->{name},
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

	for my $group (@phases) {
		my $phase = $stall->{phases}{$group};

		push @rows, row(0, $title{$group}, $phase->{total_ns}, $whole) if $phase->{total_ns};
		for my $part (grep { $phase->{"${_}_ns"} } @parts) {
			push @rows, row(1, $title{$part}, $phase->{"${part}_ns"}, $whole);
			push @rows, $part eq 'shrinkers' ? shrinker_rows($stall, $group)
							 : state_rows($stall, 2, $group, $part);
		}
		push @rows, state_rows($stall, 1, $group, '') unless defined $phase->{itself_ns};
	}
	return @rows;
}

my @stalls = grep { $_->{type} eq 'stall' } json_lines($json_file);
my @lines = split /\n/, bytes_of($tree_file) =~ s/(?:\A|\n)\n(?:\d+|no) stalls? of .*//sr;

sub next_is {
	my ($expected) = @_;
	my $line = shift @lines // '';

	wrong("not '$expected': $line") if $line ne $expected;
}

for my $stall (@stalls) {
	my $alone = is_only_outside($stall);

	last if @wrong;
	next_is(head_of($stall));
	next_is($_) for facts_of($stall);
	next_is(cause_of($stall)) unless $alone;
	next_is($_) for had_cpu_of($stall);
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
			if encode_json(\%fields) ne encode_json(filled((shift @instants)->{args}));
	}
}

finish(scalar @stalls, " stalls, $rows rows");
