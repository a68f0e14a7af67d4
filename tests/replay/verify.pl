#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# verify.pl CAPTURE JSON TEXT
#
# What --verify says of a whole capture: records of each CPU as the kernel counted them (stats) and as it
# printed them (trace.txt), times of trace.txt, pages and bytes of the files; the text says the same
# as the JSON.

use strict;
use warnings;
use lib 'tests/replay';
use Checker;
use Json;

# The records of trace.txt by CPU, with the first and the last time in µs, and the ns to be added
# before a time is cut: function_graph's lines have it cut, and those in the generic columns rounded.
sub printed
{
	my %cpus;

	for (lines_of($_[0])) {
		my ($cpu, $s, $us, $add) = /^\s*(\d+)\.(\d{6}) \|\s+(\d+)\) / ? ($3, $1, $2, 0) :
			/^ *\S.*-\d+ +\[(\d+)\] \S+ +(\d+)\.(\d{6}): / ? ($1 + 0, $2, $3, 500) : next;
		my $time = { us => $s * 1_000_000 + $us, add => $add };

		$cpus{$cpu}{records}++;
		$cpus{$cpu}{first} //= $time;
		$cpus{$cpu}{last} = $time;
	}
	return \%cpus;
}

# All that was written to the buffer: what is in it, and what was read from it.
sub counted
{
	my %stats = map { /^(.*): +([\d.]+)$/ ? ($1, $2) : () } lines_of($_[0]);

	return $stats{entries} + $stats{'read events'};
}

sub check_cpu
{
	my ($capture, $cpu, $printed, $row) = @_;
	my $dir = "$capture/per_cpu/cpu$cpu->{cpu}";
	my $size = -s "$dir/trace_pipe_raw";
	my ($offset, $data) = bytes_of("$capture/events/header_page") =~ /data;\s+offset:(\d+);\s+size:(\d+)/;
	my $name = "CPU $cpu->{cpu}";
	# allocfilt -w went on when its text was taken: the records after that are in no text.
	my $more = -e "$capture/capture" && $cpu->{records} > $printed->{records};

	wrong("$name: $cpu->{records} records, ", counted("$dir/stats"), " by stats")
		if $cpu->{records} != counted("$dir/stats");
	wrong("$name: $cpu->{records} records, $printed->{records} in trace.txt")
		if $cpu->{records} != $printed->{records} && !$more;
	wrong("$name: $cpu->{bytes} bytes and $cpu->{pages} pages of a file of $size")
		if $cpu->{bytes} != $size || $cpu->{pages} * ($offset + $data) != $size;
	for my $edge (qw(first last)) {
		my ($ns, $time) = ($cpu->{"${edge}_ns"}, $printed->{$edge});
		my $us = int(($ns + $time->{add}) / 1000);

		wrong("$name: $edge at $ns ns, $time->{us} us in trace.txt")
			if $us != $time->{us} && !($more && $edge eq 'last' && $us > $time->{us});
	}
	my $shown = join ' ', @$cpu{qw(pages records bytes)},
		(map { sprintf '%d.%06d', $_ / 1_000_000_000, $_ % 1_000_000_000 / 1000 }
			@$cpu{qw(first_ns last_ns)}),
		@$cpu{qw(damaged_pages unknown_records lost_records)};
	wrong("$name: the text has '", $row // '', "' and not '$shown'") if ($row // '') ne $shown;
}

sub check_whole
{
	my ($capture, $json, $text) = @_;
	my ($found) = json_lines($json);
	my $printed = printed("$capture/trace.txt");
	my @lines = lines_of($text);
	my %rows = map { my ($cpu, @row) = split; @row == 8 ? ($cpu, "@row") : () } @lines;
	my $records = 0;

	for my $cpu (@{ $found->{cpus} }) {
		check_cpu($capture, $cpu, $printed->{$cpu->{cpu}}, $rows{$cpu->{cpu}});
		$records += $cpu->{records};
	}
	wrong('CPUs ', join ' ', sort keys %$printed) if @{ $found->{cpus} } != keys %$printed;
	wrong("verdict: $lines[-1]") if $lines[-1] ne "$capture: $found->{verdict}" ||
		$found->{verdict} !~ /^clean: \d+ CPUs, \d+ pages, $records records, [\d.]+ m?s$/ ||
		!$found->{clean} || !$found->{read_to_the_end};
	finish("$records records of ", scalar @{ $found->{cpus} }, ' CPUs');
}

check_whole(@ARGV);
