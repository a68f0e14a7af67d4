#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# html.pl OUTPUT.HTML OUTPUT.JSON
#
# Holds the page of `-f html` against `-f json` of the same data: every figure of the page is computed
# again from the stalls and the summary there.
#
#   the page is what Html.pm allows
#   the figures at the head, the tables of cgroups, tasks and kernel threads are those of the summary
#   the heat map and its table count each stall once, when it began and as long as it took
#   the flame graph and its table add up the phases and shrinkers of all stalls
#   the longest stalls are the longest, with their phases
#   the facts of the run are those of its record
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(sum0);
use Checker;
use Html;
use Json;
use Phases;

binmode STDOUT, ':utf8';

my ($html_file, $json_file) = @ARGV;
die "usage: html.pl OUTPUT.HTML OUTPUT.JSON\n" unless defined $json_file;

sub same
{
	my ($what, $is, $expected) = @_;

	# Names, as the page has them.
	$expected =~ s/([\x00-\x1f\x7f])/sprintf '\\x%02x', ord $1/ge if $what !~ /^(?:boxes|cause)/;
	wrong("$what is $is, expected $expected") if $is ne $expected;
}

my $page = eval { html_parse(bytes_of($html_file)) } or die "$html_file: $@";
my @objects = json_lines($json_file);
my ($summary) = grep { $_->{type} eq 'summary' } @objects;
my @stalls = grep { $_->{type} eq 'stall' && !$_->{task}{background} } @objects;

# Rows of a table, each with its cells' text.
sub table
{
	my ($id) = @_;
	my $table = html_by_id($page, $id) or return ();

	for my $head (map { html_find($_, 'th') } html_find($table, 'thead'), html_find($table, 'tbody')) {
		wrong("$id: a heading without its scope") unless $head->{attributes}{scope};
	}
	return map {
		[ map { html_text($_) } grep { ref && $_->{name} =~ /^t[hd]$/ } @{ $_->{children} } ]
	} html_find($table, 'tr');
}

# --- the head ---

my $s = $summary->{stalls};
my @figures = map { html_text($_) } html_find($page, 'dd');
same('head', "@figures", join ' ', $s->{count},
	$s->{count} ? map { ms($s->{$_}) } qw(total_ns p50_ns p99_ns max_ns) : ());

# --- the run ---

my ($run) = grep { $_->{type} eq 'run' } @objects;
my %facts = map { my ($name, $text) = map { html_text($_) } @{ $_->{children} }; ($name => $text) }
	html_find(html_by_id($page, 'run'), 'tr');

sub duration
{
	my ($us) = $_[0] / 1000;

	return "$us us" if $us < 1000;
	return $us < 1000000 ? sprintf '%.1f ms', $us / 1000 : sprintf '%.1f s', $us / 1000000;
}

same('timed from', $facts{'timed from'}, duration($run->{threshold_ns}));
same('shown from', $facts{'shown from'}, duration($run->{report_ns}));
same('started', $facts{started} // '', $run->{time} // '');
same('trace clock', $facts{'trace clock'} // '', $run->{clock} // '');
same('not shown', $facts{'shorter stalls, not shown'} // 0, $summary->{not_shown}{shorter});
same('others not shown', $facts{'other stalls, not shown'} // 0, $summary->{not_shown}{others});
same($_->[0], $facts{ $_->[0] } // '', $run->{ $_->[1] } // '')
	for [ 'host', 'host' ], [ 'kernel', 'release' ], [ 'machine', 'machine' ],
	[ 'allocfilt', 'version' ];

my $lost = sum0($summary->{incomplete}, scalar @{ $summary->{lost} }, values %{ $summary->{overflows} });
my ($header) = html_find($page, 'header');
my $is_whole = html_text($header) =~ /Nothing was lost, no stall is incomplete/;

wrong('losses: ', html_text($header)) if !$lost == !$is_whole;

# --- who ---

for my $who ([ 'cgroups', 'stalls' ], [ 'tasks', 'stalls' ], [ 'threads', 'background' ]) {
	my ($id, $side) = @$who;
	my @expected = @{ $summary->{ $id eq 'threads' ? 'kernel_threads' : $id } };
	my @rows = table($id);
	my $has_psi = grep { defined $_->{pressure_some_ns} } @expected;

	same("PSI of $id", shift(@rows)->[-1] eq 'PSI ms' ? 1 : 0, $has_psi ? 1 : 0) if @rows;
	same("rows of $id", scalar @rows, scalar @expected);
	for my $waiter (@expected) {
		my $name = $waiter->{cgroup} // "$waiter->{name}-$waiter->{tid}";

		$name .= ' (up to ' . ms($waiter->{error_ns}) . ' ms more)' if $waiter->{error_ns};
		same($id, join('|', @{ shift @rows // [] }), join '|', $name, $waiter->{count},
			ms($waiter->{total_ns}),
			percent($waiter->{total_ns}, $summary->{$side}{total_ns}) . ' %',
			ms($waiter->{p99_ns}), ms($waiter->{max_ns}),
			$has_psi ? map { defined ? ms($_) : '' } $waiter->{pressure_some_ns} : ());
	}
}

# --- when ---

my $clock;    # ns of the day and the day at ts 0, from a stall
for my $stall (@stalls) {
	next unless ($stall->{time} // '') =~ /^(\S+)T(\d\d):(\d\d):(\d\d)\.(\d{9})Z$/;
	$clock = { day => $1, ns => (($2 * 60 + $3) * 60 + $4) * 1000000000 + $5 - $stall->{ts_ns} };
}

# As the page has it, but for the day.
sub at
{
	my ($ts) = @_;
	my $ms;

	return sprintf '%d.%03d s', $ts / 1000000000, $ts / 1000000 % 1000 unless $clock;
	$ms = ($ts + $clock->{ns}) % 86400000000000 / 1000000;
	return sprintf '%02d:%02d:%02d.%03dZ', $ms / 3600000, $ms / 60000 % 60, $ms / 1000 % 60, $ms % 1000;
}

my @edges = map { 1000 << $_ } 4 .. 26;
my $edges_max = 'more than ' . ms($edges[-1]);
my (%cells, %columns);

if (@stalls) {
	my ($width) = html_text((html_find($page, 'figcaption'))[0]) =~ /A column is (\d+) ms/;
	my $rounded = $width * 1000000;

	same('width', $width & ($width - 1), 0);
	for my $stall (@stalls) {
		my $from = at($stall->{ts_ns} - $stall->{ts_ns} % $rounded);
		my ($edge) = grep { $stall->{duration_ns} <= $_ } @edges;

		$cells{$from}{ $edge ? ms($edge) : $edges_max }++;
		$columns{$from}{count}++;
		$columns{$from}{ns} += $stall->{duration_ns};
	}
	my ($head, @rows) = table('heat');
	my $before = '';
	my $nr_cells = 0;

	same('columns', scalar @rows, scalar keys %columns);
	wrong(scalar @rows, ' columns') if @rows > 128;
	for my $row (@rows) {
		my $from = $row->[0] =~ s/^.*T//r;
		my %is = map { $row->[$_] ne '' ? ($head->[$_] => $row->[$_]) : () } 1 .. $#$row - 2;
		my $expected = $cells{$from} // {};

		same("heat map at $from", join(' ', map { "$_:$is{$_}" } sort keys %is),
			join ' ', map { "$_:$expected->{$_}" } sort keys %$expected);
		same("column at $from", "$row->[-2] $row->[-1]",
			join ' ', $columns{$from}{count} // 0, ms($columns{$from}{ns} // 0));
		wrong('heat map: not in order') if $row->[0] le $before && $clock;
		$before = $row->[0];
		$nr_cells += keys %is;
	}
	my @rects = html_find($page, 'rect');
	my $shapes = 0;

	same('shapes', scalar @rects, $nr_cells);
	for my $rect (@rects) {
		my ($from, $edge, $count) = html_text($rect) =~
			/^from (?:.*T)?(.*?), (?:up to )?(.*) ms: (\d+) stalls?$/;

		same('a shape: ' . html_text($rect), $count // '', $cells{ $from // '' }{ $edge // '' } // '');
	}
}

# --- why ---

my %expected;

for my $stall (@stalls) {
	my $top = $stall->{role} // $stall->{function};

	$expected{$top} += $stall->{duration_ns};
	for my $group (keys %{ $stall->{phases} }) {
		my $phase = $stall->{phases}{$group};
		my $name = "$top\n$title{$group}";

		$expected{$name} += $phase->{total_ns};
		for (grep { $_ ne 'total_ns' } keys %$phase) {
			$expected{ "$name\n" . $title{ s/_ns$//r } } += $phase->{$_};
		}
	}
	# A box below tells what the task did, but not of shrinkers.
	for my $of (@{ $stall->{off_cpu} // [] }) {
		my $name = "$top\n$title{ $of->{phase} }" . (defined $of->{part} ? "\n$title{ $of->{part} }" : '');

		next if ($of->{part} // '') eq 'shrinkers';
		$expected{"$name\n$title{$_}"} += $of->{"${_}_ns"} for @states;
	}
	for my $shrinker (@{ $stall->{shrinkers} }) {
		$expected{"$top\n$title{ $shrinker->{phase} }\nshrinkers\n$shrinker->{name}"} +=
			$shrinker->{total_ns};
	}
}
delete $expected{$_} for grep { !$expected{$_} } keys %expected;

my %kinds;

for my $stall (@stalls) {
	my $name = $title{ $stall->{cause} };

	$kinds{$name}{count}++;
	$kinds{$name}{ns} += $stall->{duration_ns};
}

my $whole = sum0(map { $_->{duration_ns} } @stalls);
my %boxes;

sub boxes
{
	my ($list, $above) = @_;

	for my $box (grep { ref } map { @{ $_->{children} } } @$list) {
		my ($span) = grep { ref && $_->{name} eq 'span' } @{ $box->{children} };
		my ($name) = $span->{attributes}{title} =~ /^(.*): \d+\.\d+ ms, \d+ %$/s;
		my $chain = defined $above ? "$above\n$name" : $name;
		my $ns = $expected{$chain} // 0;
		my $of = defined $above ? $expected{$above} // 0 : $whole;
		my ($width) = $box->{attributes}{style} =~ /^width:([\d.]+)%$/;

		same("box of $chain", $span->{attributes}{title},
			"$name: " . ms($ns) . ' ms, ' . percent($ns, $whole) . ' %');
		wrong("$chain: a box of $width %") if abs($width - $ns / ($of || 1) * 100) > 0.002;
		$boxes{$chain}++;
		boxes([ grep { ref && $_->{name} eq 'ul' } @{ $box->{children} } ], $chain);
	}
}

if (@stalls) {
	my ($head, @rows) = table('kinds');
	my $before;

	same('causes of stalls', scalar @rows, scalar keys %kinds);
	for my $row (@rows) {
		my $kind = $kinds{ $row->[0] } // { count => 0, ns => 0 };

		same("cause $row->[0]", "@$row[1 .. 3]",
			"$kind->{count} " . ms($kind->{ns}) . ' ' . percent($kind->{ns}, $whole) . ' %');
		wrong('causes of stalls: not in order') if defined $before && $kind->{ns} > $before;
		$before = $kind->{ns};
	}
}

if (@stalls) {
	my @chain;
	my ($head, @rows) = table('causes');
	my @levels = map { ($_->{attributes}{class} // '') =~ /^d(\d)$/ ? $1 : () }
		html_find(html_by_id($page, 'causes'), 'tr');
	my ($flame) = grep { ($_->{attributes}{class} // '') eq 'flame' } html_find($page, 'div');

	same('causes', scalar @rows, scalar keys %expected);
	for my $i (0 .. $#rows) {
		my ($name, $time, $share) = @{ $rows[$i] };
		my $ns;

		splice @chain, $levels[$i];
		$name =~ s/^\Q$chain[-1]\E: // or wrong("$name: not said to be below $chain[-1]") if @chain;
		push @chain, $name;
		$ns = $expected{ join "\n", @chain } // 0;
		same("cause @chain", "$time $share", ms($ns) . ' ' . percent($ns, $whole) . ' %');
	}
	boxes([ grep { ref && $_->{name} eq 'ul' } @{ $flame->{children} } ]);
	for my $chain (keys %expected) {
		same("boxes of $chain", $boxes{$chain} // 0, $expected{$chain} >= int($whole / 1000) ? 1 : 0);
	}
}

# --- the longest ---

my @longest = sort { $b->{duration_ns} <=> $a->{duration_ns} } @stalls;
my ($section) = html_by_id($page, 'longest');
my @shown = $section ? html_find($section, 'details') : ();

same('longest stalls', scalar @shown, @longest < 10 ? scalar @longest : 10);
for my $i (0 .. $#shown) {
	my $stall = $longest[$i];
	my ($head) = html_find($shown[$i], 'summary');

	next if grep { $_ != $i && $longest[$_]{duration_ns} == $stall->{duration_ns} } 0 .. $#longest;
	# The clock may have been marked again between the stall and the end.
	my $shown = html_text($head) =~ s/(ms )\S*T/$1/r;
	my $at = at($stall->{ts_ns});
	my ($ms, $shown_ms) = map { /(\d\d):(\d\d):(\d\d)\.(\d{3})Z/ ? ((($1 * 60) + $2) * 60 + $3) * 1000 + $4 : 0 }
		$at, $shown;

	$shown =~ s/ \d\d:\d\d:\d\d\.\d{3}Z / $at / if abs($ms - $shown_ms) <= 5;
	same("head of $i", $shown, ms($stall->{duration_ns}) . ' ms ' .
		$at . " $stall->{task}{name}-$stall->{task}{tid}" .
		($stall->{task}{interrupt} ? ' (interrupt)' : '') .
		(defined $stall->{task}{process} && $stall->{task}{pid} != $stall->{task}{tid} ?
			" of $stall->{task}{process}-$stall->{task}{pid}" : '') .
		($stall->{task}{ended} ? ' (cgroup ' . (defined $stall->{task}{cgroup_source} ?
			"from $stall->{task}{cgroup_source}" : 'unknown') . ': it had ended)' : '') .
		(defined $stall->{task}{cgroup} ? " in $stall->{task}{cgroup}" : ''));
	my ($cause) = map { html_text($_) } html_find($shown[$i], 'p');

	# A state is told after the phase that it is in, whose share is not told.
	my $detail = ($stall->{cause_detail} // '') =~ s/^(.*) \d+ %$/$stall->{phases}{ $stall->{cause} } ? $& : $1/er;

	wrong("cause of $i: $cause") if index($cause, $detail) < 0 ||
		index($cause, $stall->{cause} eq 'mixed' ? '' : $title{ $stall->{cause} }) < 0;
}

finish(scalar @stalls, ' stalls, ', scalar map({ keys %$_ } values %cells), ' cells, ',
	scalar keys %expected, ' causes');
