#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# intervals.pl JSON TEXT TRACE.TXT MILLISECONDS
#
# Holds the summaries of intervals in TEXT against the stalls of the form json: each stall counts in
# the interval in which it ended, the intervals follow each other from the kernel's first line in
# TRACE.TXT on, and together they are the summary at the end. A stall that nothing contained, or that is a
# memory wait, may be shown later than it ended, so where there are such, only sums are compared.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Checker;
use Json;

my ($json_file, $text_file, $trace_file, $length) = @ARGV;
die "usage: intervals.pl JSON TEXT TRACE.TXT MILLISECONDS\n" unless defined $length;

my @stalls = grep { $_->{type} eq 'stall' && !$_->{task}{background} } json_lines($json_file);
my $late = grep { $_->{depth} || $_->{function} eq ($_->{role} // '') } @stalls;
my ($first) = map { /^\s*(\d+)\.(\d{6}) \|/ ? $1 * 1000 + $2 / 1000 : () } lines_of($trace_file);

my %seconds = (us => 1e-6, ms => 1e-3, s => 1);
my (@intervals, $end, $shrunk, $shrunk_at_end);
my %seen = (intervals => {}, end => {});	# what is said of the scheduler and of time outside reclaim
for (lines_of($text_file)) {
	my $seen = $seen{defined $end ? 'end' : 'intervals'};

	if (/; --off-cpu recorded (\d+) switch(?:es)? and (\d+) wake-ups? of tasks$/) {
		$seen->{switches} += $1;
		$seen->{wakeups} += $2;
	}
	$seen->{advice}++ if /   not explained; /;
	if (/ : total time = (\d+\.\d+) ms/ && !/^ /) {
		if (defined $end) { $shrunk_at_end += $1 } else { $shrunk += $1 }
	}
	next unless /^(?:(\S+): )?(no|\d+) stalls? of .* or more in ([\d.]+) (us|ms|s)(?:; waited (\S+) ms.*)?$/;
	my $it = { at => $1, count => $2 eq 'no' ? 0 : $2, ms => $3 * $seconds{$4} * 1000, waited => $5 // 0 };

	wrong("after the summary of the whole: $_") if defined $end;
	if (defined $1) { push @intervals, $it } else { $end = $it }
}
die "$text_file has no intervals\n" unless @intervals && defined $end;

my ($count, $waited, $ms) = (0, 0, 0);
for my $i (0 .. $#intervals) {
	my $it = $intervals[$i];
	my $is_last = $i == $#intervals;

	$count += $it->{count};
	$waited += $it->{waited};
	$ms += $it->{ms};
	# Rounded to a tenth of its unit; where nothing was recorded several are one.
	my $off = $it->{ms} / $length - int($it->{ms} / $length + 0.5);
	wrong("$it->{at}: $it->{ms} ms long")
		if !$is_last && abs($off) * $length > 51 || $is_last && $it->{ms} > $length + 51;
	wrong("$it->{at}: $it->{ms} ms long, with stalls")
		if $it->{count} && $it->{ms} > $length + 51;
	next if $late;
	my ($from, $to) = ($first + $ms - $it->{ms}, $first + $ms);
	$to = 1e99 if $is_last;
	my $own = grep { my $end_ms = ($_->{ts_ns} + $_->{duration_ns}) / 1e6; $end_ms >= $from && $end_ms < $to } @stalls;
	wrong("$it->{at}: $it->{count} stalls, of the stalls $own ended in it") if $own != $it->{count};
}
wrong("$count stalls in the intervals, $end->{count} at the end, by the stalls ", scalar @stalls)
	if $count != $end->{count} || $count != @stalls;
wrong("waited $waited ms in the intervals, $end->{waited} at the end")
	if abs($waited - $end->{waited}) > 0.5 * (@intervals + 1);
wrong("$ms ms in the intervals, $end->{ms} at the end") if abs($ms - $end->{ms}) > 51 * (@intervals + 1);
wrong("shrinkers: ", $shrunk // 0, " ms in the intervals, ", $shrunk_at_end // 0, " at the end")
	if abs(($shrunk // 0) - ($shrunk_at_end // 0)) > 0.0005;

wrong("advice in ", $seen{intervals}{advice} // 0, " intervals, at the end ", $seen{end}{advice} // 0)
	if !$seen{intervals}{advice} != !$seen{end}{advice};
for my $what (qw(switches wakeups)) {
	my ($in, $at_end) = map { $_->{$what} // 0 } @seen{qw(intervals end)};

	wrong("$in $what in the intervals, $at_end at the end") if $in != $at_end;
}

finish("$count stalls in ", scalar @intervals, ' intervals', $late ? ' (sums only)' : '');
