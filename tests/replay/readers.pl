#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# readers.pl flamegraph OUTPUT.FOLDED FLAMEGRAPH.SVG
# readers.pl speedscope OUTPUT.FOLDED DOM
# readers.pl kernelshark TRACE.TXT RECORDS
#
# Holds what another program makes of our file against the file, or against the kernel's own text of the capture that
# the file was made of:
#
#   flamegraph.pl has a box for each frame of each chain, with the time of all chains through it
#   speedscope's table has each frame, with the time of all chains that it is in, and of those that it ends
#   KernelShark has each record of the text, with its time, CPU and task
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(sum0);
use Checker;

my ($reader, $file, $read) = @ARGV;
die "usage: readers.pl flamegraph|speedscope|kernelshark FILE READ\n" unless defined $read;

# same WHAT EXPECTED GOT: hashes of counts
sub same {
	my ($what, $expected, $got) = @_;

	for my $key (sort keys %{{ %$expected, %$got }}) {
		my ($is, $want) = ($got->{$key} // 'nothing', $expected->{$key} // 'nothing');
		wrong("$what $key: $is and not $want") if $is ne $want;
	}
}

sub plain {
	my ($text) = @_;
	my %of = (lt => '<', gt => '>', amp => '&', quot => '"', apos => "'");

	return $text =~ s/&(\w+);/$of{$1} \/\/ "?"/ger;
}

my (%box, %total, %self);
if ($reader ne 'kernelshark') {
	for (split /\n/, bytes_of($file)) {
		my ($chain, $ns) = /^(.*) (\d+)$/;
		my @frames = split /;/, $chain;
		my %in = map { $_ => 1 } @frames;

		$box{join ';', @frames[0 .. $_]} += $ns for 0 .. $#frames;
		$total{$_} += $ns for keys %in;
		$self{$_} += 0 for keys %in;
		$self{$frames[-1]} += $ns;
	}
}

if ($reader eq 'flamegraph') {
	my $svg = bytes_of($read);
	my (%expected, %got);

	$expected{(split /;/)[-1] . " $box{$_}"}++ for keys %box;
	$expected{'all ' . sum0(values %self)}++;
	while ($svg =~ m{<title>(.*) \(([\d,]+) ns, [\d.]+%\)</title>}g) {
		my ($name, $ns) = (plain($1), $2 =~ tr/,//dr);
		$got{"$name $ns"}++;
	}
	same('boxes of', \%expected, \%got);
	finish(scalar(keys %box) . ' boxes');
} elsif ($reader eq 'speedscope') {
	my (%all, %own);

	for (split /<tr class/, bytes_of($read)) {
		my ($in, $end, $name) = m{>([\d,]+) \(.*>([\d,]+) \(.*></span>(.*?)</td>}s or next;
		$name = plain($name);
		$all{$name} = $in =~ tr/,//dr;
		$own{$name} = $end =~ tr/,//dr;
	}
	same('total of', \%total, \%all);
	same('self of', \%self, \%own);
	finish(scalar(keys %total) . ' frames');
} elsif ($reader eq 'kernelshark') {
	my (%expected, %got);

	for (split /\n/, bytes_of($file)) {
		$expected{"$1 $2 $3"}++ if /^ *(\d+\.\d{6}) \| +(\d+)\) +.*?-(\d+) +\| /;
	}
	for (split /\n/, bytes_of($read)) {
		my ($ns, $cpu, $tid) = split;
		$got{sprintf '%d.%06d %d %d', $ns / 1e9, $ns % 1e9 / 1000, $cpu, $tid}++;
	}
	same('records at', \%expected, \%got);
	finish(scalar(keys %expected) . ' times');
}
