#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# html.pl OUTPUT.HTML OUTPUT.JSON
#
# Holds the page of `-f html` against `-f json` of the same data. Its script makes figures of what is checked
# here; tests/replay/browser.test looks at those.
#
#   the page is what Html.pm allows
#   the run and the summary in it are those of -f json
#   the causes and states of the summary, here and there, add up those of the stalls
#   the heat map counts each stall once, when it ended and as long as it took
#   the flame graph adds up the phases, states and shrinkers of all stalls
#   the longest stalls are the longest
#   the text says how many stalls there are, and how long the run was
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

use constant { LONGEST => 200, SLICES => 16, COLUMNS => 128, ROWS => 24, MS => 1_000_000 };

my ($html_file, $json_file) = @ARGV;
die "usage: html.pl OUTPUT.HTML OUTPUT.JSON\n" unless defined $json_file;

my $page = eval { html_parse(bytes_of($html_file)) } or die "$html_file: $@";
my @objects = map { decode_json($_) } lines_of($json_file);
my %of;

push @{ $of{ $_->{type} } }, $_ for @{ $page->{data} };
wrong("the page has objects of the types ", join ' ', sort keys %of)
	if join(' ', grep { $_ ne 'stall' } sort keys %of) ne 'graphics run summary' || grep { $_ ne 'stall' && @{ $of{$_} } != 1 } keys %of;
my ($run, $summary, $graphics) = map { $of{$_}[0] // die "$_ is missing\n" } qw(run summary graphics);
my @stalls = grep { $_->{type} eq 'stall' } @objects;
my ($json_run) = grep { $_->{type} eq 'run' } @objects;
my ($json_summary) = grep { $_->{type} eq 'summary' } @objects;

sub same
{
	my ($what, $is, $expected) = @_;

	($is, $expected) = map { ref $_ ? encode_json($_) : $_ // 'nothing' } $is, $expected;
	return if $is eq $expected;
	my ($equal) = ($is ^ $expected) =~ /^(\0*)/;
	my $from = length $equal > 60 ? length($equal) - 60 : 0;
	wrong("$what: ", map { substr $_, $from < length $_ ? $from : 0, 120 } $is, ', expected ', $expected);
}

# --- the run and the summary ---

same('format', delete $run->{options}{format}, 'html');
delete $json_run->{options}{format};
same('run', $run, $json_run);
same('summary', $summary, $json_summary);

my @waiting = grep { !$_->{task}{background} } @stalls;
my @background = grep { $_->{task}{background} } @stalls;
my ($said) = $page->{text} =~ /^(\d+|no) stalls? of /m;
my ($looked, $unit) = $page->{text} =~ /^(?:\d+|no) stalls? of .*? in ([\d.]+) (us|ms|s)\b/m;

same('stalls in the text', $said, @waiting || 'no');
if ($looked) {
	my $ns = $looked * { us => 1e3, ms => 1e6, s => 1e9 }->{$unit};
	my $span = $summary->{duration_ns};

	wrong("the text has $looked $unit, the summary $span ns") if abs($span - $ns) > 10 ** (length($ns) - 2);
}
# --- causes and states ---

filled($_) for my @filled = map { decode_json(encode_json($_)) } @stalls;
for my $key (qw(stalls background)) {
	my (%causes, %states);

	for my $stall (grep { !$_->{task}{background} == ($key eq 'stalls') } @filled) {
		$causes{ $stall->{cause} }{count}++;
		$causes{ $stall->{cause} }{total_ns} += $stall->{duration_ns};
		$states{unknown_ns} += $stall->{duration_ns} if !$stall->{off_cpu};
		$states{"${_}_ns"} += state_ns($_, @{ $stall->{off_cpu} // [] }) for @states;
	}
	delete $states{$_} for grep { !$states{$_} } keys %states;
	same("causes of $key", { map { delete $_->{cause} => $_ } @{ $summary->{$key}{causes} } }, \%causes);
	same("states of $key", $summary->{$key}{states}, $summary->{off_cpu} ? \%states : undef);
}

# --- when ---

my @edges = map { 1000 << $_ } 4 .. 26;
my ($from) = map { $_->{ts_ns} + $_->{duration_ns} } @waiting;
my @counts = (0) x (COLUMNS * ROWS);
my $width = $graphics->{width_ns} / MS;

same('counts', scalar @{ $graphics->{heat} }, COLUMNS * ROWS);
wrong("a column of $graphics->{width_ns} ns") if $width != int $width || $width & ($width - 1);
same('begin of the map', $graphics->{from_ns}, $from // 0);
for my $stall (@waiting) {
	my $end = $stall->{ts_ns} + $stall->{duration_ns};
	my $column = $end > $from ? int(($end - $from) / $graphics->{width_ns}) : 0;
	my $row = grep { $stall->{duration_ns} > $_ } @edges;

	wrong("column $column") if $column >= COLUMNS;
	$counts[$column * ROWS + $row]++;
}
same('heat map', join(' ', @{ $graphics->{heat} }), "@counts");
if ($width > 1) {
	wrong('half of the columns are empty') unless grep { $_ } @counts[COLUMNS / 2 * ROWS .. $#counts];
}

# --- why ---

my (%expected, %boxes);

for my $stall (grep { !$_->{task}{background} } @filled) {
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
	# A box below tells what the task did; of shrinkers it is below that of each.
	for my $of (@{ $stall->{off_cpu} // [] }) {
		my $name = "$top\n$title{ $of->{phase} }" . (defined $of->{part} ? "\n$title{ $of->{part} }" : '');

		next if ($of->{part} // '') eq 'shrinkers';
		$expected{"$name\n$title{$_}"} += $of->{"${_}_ns"} for @states;
	}
	for my $shrinker (@{ $stall->{shrinkers} }) {
		my $name = "$top\n$title{ $shrinker->{phase} }\nshrinkers\n$shrinker->{name}";

		$expected{$name} += $shrinker->{total_ns};
		$expected{"$name\n$title{$_}"} += $shrinker->{"${_}_ns"} // 0 for @states;
	}
}
delete $expected{$_} for grep { !$expected{$_} } keys %expected;

sub boxes
{
	my ($below, @above) = @_;
	my $before;

	for my $box (@$below) {
		$boxes{ join "\n", @above, $box->{name} } = $box->{total_ns};
		wrong("@above: not in order") if defined $before && $box->{total_ns} > $before;
		$before = $box->{total_ns};
		boxes($box->{below}, @above, $box->{name});
	}
}

boxes($graphics->{flame});
same("box of $_", $boxes{$_}, $expected{$_}) for sort keys %{ { %boxes, %expected } };

# --- the longest ---

my @longest = sort { $b->{duration_ns} <=> $a->{duration_ns} } @waiting;
my %shown = map { ("$_->{ts_ns} $_->{task}{tid}" => $_) } @{ $of{stall} // [] };

same('longest stalls', scalar @{ $of{stall} // [] }, @longest < LONGEST ? scalar @longest : LONGEST);
if (@longest) {
	my $least = $longest[ @longest < LONGEST ? -1 : LONGEST - 1 ]{duration_ns};

	for my $stall (@longest) {
		my $shown = delete $shown{"$stall->{ts_ns} $stall->{task}{tid}"};

		# Of the equal ones at the end any may be shown.
		wrong("not shown: ", encode_json($stall)) if !$shown && $stall->{duration_ns} > $least;
		next unless $shown;
		for (qw(shrinkers sleeps had_cpu)) {
			splice @{ $stall->{$_} }, SLICES if $stall->{$_} && @{ $stall->{$_} } > SLICES;
		}
		# The clock may have been marked again between the stall and the end.
		delete $_->{time} for $shown, $stall;
		same('a stall', $shown, $stall);
	}
	wrong('shown: ', encode_json($_)) for values %shown;
}

finish(scalar @stalls, ' stalls, ', scalar(grep { $_ } @counts), ' cells, ', scalar keys %expected, ' boxes');
