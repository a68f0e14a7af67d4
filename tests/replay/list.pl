#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# list.pl JSON LIST [COLUMNS]
#
# Holds the lines of the form list against the stalls of the form json, over the same capture with the same
# options: when, who, how long, why, below their headings, in the same order. On a terminal of that many
# columns a cause without room is its title and share alone.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Checker;
use Json;
use Phases;

my ($json_file, $list_file, $columns) = @ARGV;
die "usage: list.pl JSON LIST [COLUMNS]\n" unless defined $list_file;

use constant { UNIT => 30, DURATION => 47 };

my @stalls = grep { $_->{type} eq 'stall' } json_lines($json_file);
my @lines = lines_of($list_file);
my ($headings, $date) = (0, '');

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
	if ($day ne $date) {
		my $heading = shift @lines // '';

		wrong("not the heading of $day: $heading")
			if $heading ne sprintf '%-12s %-16s %-16s %8s  cause', $day, 'task', 'unit', 'duration';
		$date = $day;
		$headings++;
	}
	my $line = shift @lines // '';
	my $should = sprintf '%-12s %s-%d', $when, $task->{name}, $task->{tid};

	for ([UNIT, unit_of($task)], [DURATION, sprintf '%8s', duration_of($stall->{duration_ns})]) {
		my ($column, $cell) = @$_;

		$should .= ' ' x ($column - 1 - length $should) if length $should < $column - 1;
		$should .= " $cell";
	}
	$should .= '  ';
	$why = "$title{$stall->{cause}} " . percent(cause_ns($stall), $stall->{duration_ns}) . ' %'
		if $columns && length("$should$why") > $columns && $stall->{cause} ne 'mixed';
	wrong("not '$should$why': $line") if $line ne "$should$why";
}
wrong("more: $lines[0]") if @lines && $lines[0] ne '';
wrong('no summary') unless $lines[1] =~ / stalls? of /;
finish(scalar @stalls, " stalls below $headings headings");
