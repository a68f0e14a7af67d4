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

use constant { SHRINKER_ROWS => 5, COLUMNS => 80 };

my $rows = 0;
my $date = '';

sub pages { return $_[0] == 1 ? 'page' : 'pages' }

# A cgroup that is in a unit of the system manager has the unit's name, any other its path.
sub cgroup
{
	my ($path) = @_;

	return $path =~ m{^(?:/[^/\@]+\.slice)*/([^/]+\.(?:service|scope|socket|mount|swap))(?:/|$)} ? $1 : $path;
}

# The lines of a head, each with how far it is indented where it goes on in another one. Names have
# no blanks nor bytes to be escaped in these captures.
sub head_of {
	my ($stall) = @_;
	my $task = $stall->{task};
	my %why = (
		switch => 'a switch of the task was not recorded', dropped => 'older records were dropped',
		lost => 'records were lost',
		in_progress => 'a memory wait began before tracing, and took at least this long',
	);
	my ($day, $clock) = ($stall->{time} // '') =~ /^(\S+)T(\d\d:\d\d:\d\d\.\d{3})\d{6}Z$/;
	my $text = defined $clock ? "${clock}Z" : sprintf '%d.%06d', $stall->{ts_ns} / 1e9, $stall->{ts_ns} / 1e3 % 1e6;

	$text .= " $task->{name}-$task->{tid}" . ($task->{interrupt} ? ' (interrupt)' : '');
	$text .= " of $task->{process}-$task->{pid}"
		if defined $task->{process} && $task->{pid} != $task->{tid};
	$text .= ' (cgroup ' . (defined $task->{cgroup_source} ? "from $task->{cgroup_source}" : 'unknown') .
		': it had ended)' if $task->{ended};
	$text .= ' in ' . cgroup($task->{cgroup})
		if defined $task->{cgroup} && (!$task->{background} || $task->{on_purpose});
	$text .= $task->{on_purpose} ? ' (on purpose)' : ' (background)' if $task->{background};
	$text .= ', ' . ms($stall->{duration_ns}) . ' ms';
	$text .= ", in $stall->{asked_by}" if defined $stall->{asked_by};

	my @lines = defined $day && $day ne $date ? ([$date = $day, 0]) : ();
	return @lines, [$text, 3], ['   cause: ' . cause_of($stall), 10], had_cpu_of($stall),
		[join(', ', "   $stall->{function}", facts_of($stall),
		      $stall->{depth} ? 'part of something longer that was not recorded' : (),
		      $stall->{incomplete} ? "incomplete: $why{ $stall->{incomplete_reason} }" : ()), 3];
}

sub facts_of {
	my ($stall) = @_;
	my @facts;

	push @facts, "order $stall->{order}" if defined $stall->{order};
	push @facts, $stall->{gfp} if defined $stall->{gfp};
	push @facts, "$stall->{nr_reclaimed} " . pages($stall->{nr_reclaimed}) . ' reclaimed'
		if defined $stall->{nr_reclaimed};
	push @facts, 'from ' . cgroup($stall->{memcg}) if defined $stall->{memcg};
	push @facts, 'at a limit of ' . cgroup($stall->{limit})
		if defined $stall->{limit} && $stall->{limit} ne ($stall->{memcg} // '');
	push @facts, "node $stall->{nodes}" if defined $stall->{nodes};
	push @facts, "$stall->{inactive_scanned} " . pages($stall->{inactive_scanned}) . ' scanned'
		if defined $stall->{inactive_scanned};
	push @facts, "$stall->{inactive_reclaimed} reclaimed" if defined $stall->{inactive_reclaimed};
	push @facts, "$stall->{inactive_dirty} dirty" if $stall->{inactive_dirty};
	push @facts, "$stall->{inactive_writeback} in writeback" if $stall->{inactive_writeback};
	push @facts, "priority down to $stall->{reclaim_priority}" if defined $stall->{reclaim_priority};
	push @facts, "$stall->{compaction_attempts} compaction attempt" . ($stall->{compaction_attempts} == 1 ? '' : 's')
		if defined $stall->{compaction_attempts} && !defined $stall->{compaction_outcomes};
	push @facts, "compaction: $stall->{compaction_outcomes}" if defined $stall->{compaction_outcomes};
	return @facts;
}

# The four with most time that had the CPU, and the others.
sub had_cpu_of {
	my ($stall) = @_;
	my $waited = state_ns('cpu_wait', off_cpu($stall)) or return;
	my @runners = grep { $_->{total_ns} >= int($waited / 100) } @{$stall->{had_cpu}};
	my @shown = @runners > 4 ? @runners[0 .. 3] : @runners;
	my $others = @{$stall->{had_cpu}} - @shown;
	my @text = map { [$_->{idle} ? 'nobody (waking up)' : "$_->{task}-$_->{tid}", $_->{total_ns}] } @shown;

	return if $waited < int($stall->{duration_ns} / 100);
	push @text, ["$others other" . ($others == 1 ? '' : 's'), sum0(map { $_->{total_ns} } @{$stall->{had_cpu}}) -
							      sum0(map { $_->{total_ns} } @shown)] if $others;
	push @text, ['not recorded', $stall->{had_cpu_not_recorded_ns}] if $stall->{had_cpu_not_recorded_ns};
	return ['   had the CPU meanwhile: ' . join(', ', map { "$_->[0] " . ms($_->[1]) . ' ms' } @text), 6];
}

# A fraction of four digits, rounded down.
sub cause_share_is_right {
	my ($stall) = @_;
	my $share = int(cause_ns($stall) * 10000 / $stall->{duration_ns}) / 10000;

	wrong("cause_share $stall->{cause_share}, by the phases $share")
		if abs($share - $stall->{cause_share}) > 1e-9;
}

sub row {
	my ($level, $title, $ns, $whole) = @_;
	my $percent = percent($ns, $whole);

	return join '|', $level, $title, ms($ns), $percent || '<1';
}

# The rows of one level, [title, ns, rows below], with most time first. Those below 1 %, and those
# after the fifth where there is a limit, share one, which is the last.
sub level_of {
	my ($level, $whole, $small, $limit, @all) = @_;
	my (@shown, @folded);

	for (sort { $b->[1] <=> $a->[1] } grep { $_->[1] } @all) {
		push @{ $_->[1] < int($whole / 100) || $limit && @shown == $limit ? \@folded : \@shown }, $_;
	}
	# One alone has its own name, unless the name of all of them says more.
	my $name = @folded == 1 && $small =~ /smaller/ ? $folded[0][0] : @folded . " $small" . (@folded == 1 ? '' : 's');
	push @shown, [$name, sum0(map { $_->[1] } @folded)] if @folded;
	return map { (row($level, @$_[0, 1], $whole), @{ $_->[2] // [] }) } @shown;
}

# The states of the task in a part, or in one shrinker of it, and where it slept.
sub state_rows {
	my ($stall, $level, $group, $part, $shrinker) = @_;
	my $whole = $stall->{duration_ns};

	return if !$stall->{off_cpu};
	for my $of ($shrinker // off_cpu($stall, $group, $part)) {
		my %ns = map { $_ => $of->{"${_}_ns"} } @states;

		next if $ns{running} == sum0(values %ns) && $part !~ /^(?:|itself|shrinker_lookup)$/;
		return level_of($level, $whole, 'smaller part', 0, map {
			my $state = $_;

			[$title{$state}, $ns{$state}, [level_of($level + 1, $whole, 'other function', SHRINKER_ROWS,
				map { ["in $_->{function}", $_->{total_ns}] }
				grep { $_->{phase} eq $group && ($_->{part} // '') eq $part && $_->{state} eq $state &&
				       (!$shrinker || ($_->{shrinker} // '') eq $shrinker->{shrinker}) }
				@{$stall->{sleeps}})]];
		} @states);
	}
	return;
}

sub shrinker_rows {
	my ($stall, $group) = @_;

	return level_of(2, $stall->{duration_ns}, 'other shrinker', SHRINKER_ROWS, map {
		my ($callback, $address) = @$_{qw(callback shrinker)};
		my $shared = grep { $_->{callback} eq $callback && $_->{shrinker} ne $address } @{$stall->{shrinkers}};

		[($shared && $_->{name} !~ /\S\[/ ? "$_->{name}\[$address]" : $_->{name}) . freed_of($_), $_->{total_ns},
		 [state_rows($stall, 3, $group, 'shrinkers', $_)]];
	} grep { $_->{phase} eq $group } @{$stall->{shrinkers}});
}

sub rows_of {
	my ($stall) = @_;
	my $whole = $stall->{duration_ns};

	return if is_only_outside($stall);
	return level_of(0, $whole, 'smaller part', 0, map {
		my $group = $_;
		my $phase = $stall->{phases}{$group};
		my @below = defined $phase->{itself_ns} ? level_of(1, $whole, 'smaller part', 0, map {
				[$title{$_}, $phase->{"${_}_ns"}, [$_ eq 'shrinkers' ?
					shrinker_rows($stall, $group) : state_rows($stall, 2, $group, $_)]];
		} reverse @parts) : state_rows($stall, 1, $group, '');

		[$title{$group}, $phase->{total_ns}, \@below];
	} @phases);
}

my @stalls = grep { $_->{type} eq 'stall' } json_lines($json_file);
my @lines = split /\n/, bytes_of($tree_file) =~ s/(?:\A|\n)\n(?:\d+|no) stalls? of .*//sr;

sub next_is {
	my ($expected) = @_;
	my $line = shift @lines // '';

	wrong("not '$expected': $line") if $line ne $expected;
}

# A line has 80 columns, or one item. Where it ends early, the next item would not have fitted.
sub next_is_wrapped {
	my ($expected, $indent) = @_;
	my $line = shift @lines // '';
	my $text = $line;

	while (1) {
		my ($next) = @lines && $text ne $expected ? $lines[0] =~ /^ {$indent}(\S.*)/ : ();
		my $between = $text =~ /\|$/ ? '' : ' ';
		my ($item) = ($next // '') =~ /^(.*?(?:[,;](?= )|\|(?=.)|$))/;

		wrong("too long: $line") if length $line > COLUMNS && substr($line, $indent) =~ /[,;] |\|./;
		last if !defined $next || index($expected, "$text$between$next");
		wrong("'$item' has room: $line") if length("$line$between$item") <= COLUMNS;
		$text .= "$between$next";
		$line = shift @lines;
	}
	wrong("not '$expected': $text") if $text ne $expected;
}

for my $stall (@stalls) {
	last if @wrong;
	next_is_wrapped(@$_) for head_of($stall);
	cause_share_is_right($stall) if $stall->{cause} ne 'mixed';
	for (rows_of($stall)) {
		my ($branches, $title, $ms, $percent) = (shift @lines // '') =~
			/^((?:\|  |   )*[|`]- )(.*?) +(\d+\.\d+) ms +(\d+|<1) %$/ or wrong("no row: $_"), last;
		my $row = length($branches) / 3 - 1 . "|$title|$ms|$percent";

		wrong("not the row '$_': $row") if $row ne $_;
		$rows++;
	}
	next_is('   stack, the innermost function first:') if @{$stall->{stack}};
	next_is("   => $_") for @{$stall->{stack}};
	next_is('') if @lines;
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
