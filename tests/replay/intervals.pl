#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# intervals.pl JSON TEXT TRACE.TXT MILLISECONDS
#
# Holds the intervals in TEXT, each a line or a summary, against the stalls of the form json: each stall
# counts in the interval in which it ended, the intervals follow each other from the kernel's first line in
# TRACE.TXT on, and together they are the summary at the end; the unit that waited most in an interval is its
# first, with the cause that had most of its time. A stall of an inner function that nothing contained, or that
# is a memory wait, may be shown later than it ended, so where there are such, only sums are compared.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Checker;
use Json;
use Phases;
use TraceText;

my ($json_file, $text_file, $trace_file, $length) = @ARGV;
die "usage: intervals.pl JSON TEXT TRACE.TXT MILLISECONDS\n" unless defined $length;

my @stalls = grep { $_->{type} eq 'stall' && !$_->{task}{background} } json_lines($json_file);
my %inner = map { ("$_->{task} $_->{function} " . int($_->{ns} / 1000) => 1) }
	grep { $_->{depth} } trace_text($trace_file);
my $late = grep {
	$_->{function} eq ($_->{role} // '') || ($_->{role} // '') eq 'refault' ||
		$inner{"$_->{task}{tid} $_->{function} " . int($_->{duration_ns} / 1000)}
} @stalls;
my ($first) = map { /^\s*(\d+)\.(\d{6}) \|/ ? $1 * 1000 + $2 / 1000 : () } lines_of($trace_file);

my %factor = (us => 1e-3, ms => 1, s => 1e3);
my $duration = qr/[\d.]+ (?:us|ms|s)/;
my (@intervals, $end, $shrunk, $shrunk_at_end, $heading, $since_heading);
my $last_ms = $first;

# Milliseconds, and how much they may be off as they were rounded.
sub ms_of {
	my ($number, $unit) = ($_[0] // '0 us') =~ /^([\d.]+) (us|ms|s)$/;

	return ($number * $factor{$unit}, ($number =~ /\./ ? 0.051 : 0.51) * $factor{$unit});
}

# An interval's line has its end: by the trace clock, or as time of day.
sub clock_ms {
	my ($h, $m, $s) = $_[0] =~ /^(?:(\d+):(\d+):)?(\d+\.\d+)Z?$/ or return;

	return ((($h // 0) * 60 + ($m // 0)) * 60 + $s) * 1000;
}

my ($start) = map { defined $_->{time} ? clock_ms($_->{time} =~ s/.*T(.*\.\d{3}).*/$1/r) - $_->{ts_ns} / 1e6 : () }
	grep { defined $_->{ts_ns} } json_lines($json_file);

for (lines_of($text_file)) {
	if (/ : total time = (\d+\.\d+) ms/ && !/^ /) {
		if (defined $end) { $shrunk_at_end += $1 } else { $shrunk += $1 }
	}
	if (/^(\S+) +stalls +waited +median +longest  who +main cause$/) {
		wrong("a heading after $since_heading lines") if defined $since_heading && $since_heading != 23;
		$heading = 1;
		$since_heading = 0;
	} elsif (/^([\d:.]+) +(\d+)(?: +($duration) +($duration) +($duration)  (\S+) +(?:(\D+) (\d+) %|short waits))?$/) {
		my ($at, $count, $waited, $who, $why, $percent) = ($1, $2, $3, $6, $7, $8);
		my $ms = clock_ms($at) - (defined $start && $at =~ /:/ ? $start : 0);

		wrong("no heading above: $_") unless defined $heading;
		wrong("stalls or none: $_") if !$count != !defined $waited;
		$since_heading++;
		push @intervals, { at => $at, count => $count, ms => $ms - $last_ms, waited => $waited, off => 0.51, who => $who, why => $why, percent => $percent };
		$last_ms = $ms;
	}
	($end // $intervals[-1])->{waited} = $1 if /^(?:they|it) took ($duration)/;
	next unless /^(?:(\S+): )?(no|\d+) stalls? of .* or more in ($duration)(?: on .*)?$/;
	my ($ms, $off) = ms_of($3);
	my $it = { at => $1, count => $2 eq 'no' ? 0 : $2, ms => $ms, off => $off };

	wrong("after the summary of the whole: $_") if defined $end;
	if (defined $1) { push @intervals, $it } else { $end = $it }
}
die "$text_file has no intervals\n" unless @intervals && defined $end;

my ($count, $waited, $ms, $rounded) = (0, 0, 0, 0);
for my $i (0 .. $#intervals) {
	my $it = $intervals[$i];
	my $is_last = $i == $#intervals;
	my ($its, $off_waited) = ms_of($it->{waited});

	$count += $it->{count};
	$waited += $its;
	$rounded += $off_waited;
	$ms += $it->{ms};
	# Rounded; where nothing was recorded several are one.
	my $off = $it->{ms} / $length - int($it->{ms} / $length + 0.5);
	wrong("$it->{at}: $it->{ms} ms long")
		if !$is_last && abs($off) * $length > $it->{off} + 1 || $is_last && $it->{ms} > $length + $it->{off} + 1;
	wrong("$it->{at}: $it->{ms} ms long, with stalls")
		if $it->{count} && $it->{ms} > $length + $it->{off} + 1;
	next if $late;
	my ($from, $to) = ($first + $ms - $it->{ms}, $first + $ms);
	$to = 1e99 if $is_last;
	my @own = grep { my $end_ms = ($_->{ts_ns} + $_->{duration_ns}) / 1e6; $end_ms >= $from && $end_ms < $to } @stalls;
	wrong("$it->{at}: $it->{count} stalls, of the stalls ", scalar @own, ' ended in it') if $it->{count} != @own;
	next unless defined $it->{why} && $it->{count} == @own;
	my $by_task = !grep { defined $_->{task}{cgroup} && !$_->{task}{interrupt} } @own;
	my (%ns, %why);
	for (grep { !$_->{task}{interrupt} } @own) {
		my $task = $_->{task};
		my $who = $by_task ? "$task->{name}-$task->{tid}" : $task->{cgroup} // next;

		$ns{$who} += $_->{duration_ns};
		$why{$who}{$_->{cause} eq 'mixed' ? 'several causes' : $title{$_->{cause}}} += $_->{duration_ns};
	}
	my ($most) = sort { $ns{$b} <=> $ns{$a} } keys %ns;
	my ($cause) = sort { $why{$most}{$b} <=> $why{$most}{$a} } keys %{$why{$most}};
	my $percent = sprintf '%.0f', 100 * $why{$most}{$cause} / $ns{$most};

	wrong("$it->{at}: $it->{who}, $it->{why} $it->{percent} %, not $most, $cause $percent %")
		if $it->{who} ne $most =~ s/.*\/(?=.)//r || $it->{percent} != $percent ||
		   ($why{$most}{$it->{why}} // 0) != $why{$most}{$cause};
}
my ($at_end, $off_end) = ms_of($end->{waited});
wrong("$count stalls in the intervals, $end->{count} at the end, by the stalls ", scalar @stalls)
	if $count != $end->{count} || $count != @stalls;
wrong("waited $waited ms in the intervals, $at_end at the end")
	if abs($waited - $at_end) > $rounded + $off_end;
wrong("$ms ms in the intervals, $end->{ms} at the end")
	if abs($ms - $end->{ms}) > $end->{off} + 1 + 0.51 * @intervals;
wrong("shrinkers: ", $shrunk // 0, " ms in the intervals, ", $shrunk_at_end // 0, " at the end")
	if !defined $heading && abs(($shrunk // 0) - ($shrunk_at_end // 0)) > 0.0005;

# The states of the tasks stand in the intervals if they do at the end.
my @texts = split /^\d.* stalls? of .* on .*$/m, bytes_of($text_file);
my @with = map { /^  of these in |^  running /m ? 1 : 0 } @texts;
wrong('states of tasks in ', $with[0] ? 'the intervals' : 'the end', ' alone')
	if !defined $heading && @texts == 2 && $with[0] != $with[1];

finish("$count stalls in ", scalar @intervals, ' intervals', $late ? ' (sums only)' : '');
