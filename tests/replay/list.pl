#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# list.pl JSON LIST [COLUMNS]
#
# Holds the lines of the form list against the stalls of the form json, over the same capture with the same
# options: when, who, how long, why, below their headings, in the same order. A longer unit
# widens its column, and the heading comes again. On a terminal of that many columns a cause without room is its
# title and share alone, and a unit is cut.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use List::Util qw(max);
use lib $FindBin::Bin;
use Checker;
use Json;
use Phases;

my ($json_file, $list_file, $columns) = @ARGV;
die "usage: list.pl JSON LIST [COLUMNS]\n" unless defined $list_file;

use constant UNIT => 30; # column
# On a terminal, behind a unit: a duration, the blanks around it, and 23 for the cause.
use constant BEHIND => 1 + 8 + 2 + 23;

my @stalls = grep { $_->{type} eq 'stall' } json_lines($json_file);
my @lines = lines_of($list_file);
my ($headings, $date, $names) = (0, '', 46);

# Units of these captures are the last component, of a path below a slice; other paths are their own.
sub unit_of {
	my ($task) = @_;

	return '(on purpose)' if $task->{on_purpose};
	return '(background)' if $task->{background};
	return '(interrupt)' if $task->{interrupt};
	return $1 if ($task->{cgroup} // '') =~ m{^/[^/]+\.slice/([^/]+\.service)$};
	return $task->{cgroup} // '-';
}

for my $stall (@stalls) {
	my $task = $stall->{task};
	my ($day, $when) = ($stall->{time} // '') =~ /^(.*)T(.*\.\d{3})\d{6}Z$/;
	my $why = cause_of($stall);

	$when //= sprintf '%d.%06d', $stall->{ts_ns} / 1e9, $stall->{ts_ns} / 1e3 % 1e6;
	$day //= 'time';
	my $should = sprintf "%-@{[UNIT - 1]}s %s", sprintf('%-12s %s-%d', $when, $task->{name}, $task->{tid}), unit_of($task);
	my $most = $columns ? max(46, $columns - BEHIND) : length $should;

	$should = substr($should, 0, $most - 2) . '..' if length $should > $most;
	if ($day ne $date || length $should > $names) {
		my $heading = shift @lines // '';

		$names = max($names, length $should);
		wrong("not the heading of $day: $heading")
			if $heading ne sprintf "%-12s %-16s %-@{[$names - UNIT]}s %8s  cause", $day, 'task', 'unit', 'duration';
		$date = $day;
		$headings++;
	}
	my $line = shift @lines // '';

	$should = sprintf "%-${names}s %8s", $should, duration_of($stall->{duration_ns});
	$should .= '  ';
	$why = "$title{$stall->{cause}} " . percent(cause_ns($stall), $stall->{duration_ns}) . ' %'
		if $columns && length("$should$why") > $columns && $stall->{cause} ne 'mixed';
	wrong("not '$should$why': $line") if $line ne "$should$why";
}
wrong("more: $lines[0]") if @lines && $lines[0] ne '';
wrong('no summary') unless $lines[1] =~ / stalls? of /;
finish(scalar @stalls, " stalls below $headings headings");
