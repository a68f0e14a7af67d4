#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# explained.pl CAPTURE TREE
#
# Holds the most explained stall, as the summary of `-f tree` shows it, against the kernel's own text of the
# same buffer (CAPTURE/trace.txt): task, time, cgroup, order, gfp flags, phases that add up, and
# the superblock whose shrinker took most, with its time and the objects that it scanned and freed. By the text it is the one with the
# longest direct reclaim.
#
# Prints what is wrong, a line each, and exits 1; prints what it is and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(sum0);
use Checker;
use TraceText;

my ($capture, $tree) = @ARGV;
die "usage: explained.pl CAPTURE TREE\n" unless defined $tree;

# --- by the kernel's text ---

my @records = trace_text("$capture/trace.txt");
my $longest = 0;
my ($pid, $whole, $end);
for (grep { $_->{function} } @records) {
	my $us = int($_->{ns} / 1000);

	if ($_->{function} eq 'try_to_free_pages' && $us > $longest) {
		($longest, $pid, $whole) = ($us, $_->{task});
	} elsif (!$_->{depth} && defined $pid && $_->{task} eq $pid && !defined $whole) {
		($whole, $end) = ($us, $_->{us});
	}
}
die "$capture/trace.txt has no direct reclaim\n" unless defined $whole;
my $start = $end - $whole;

my ($order, $gfp);
my (%name_of, %took, %runs, %begun, %to_scan, %scanned, %freed);
for (grep { $_->{event} } @records) {
	my ($us, $pointer) = @$_{qw(us pointer)};

	$name_of{$1} = $2 if $_->{fields} =~ / shr=0x([0-9a-f]+) .* id="([^"]*)"/;
	next if $_->{task} ne $pid || $us < $start || $us > $end;
	($order, $gfp) = ($1, $2) if $_->{event} eq 'mm_vmscan_direct_reclaim_begin' &&
				     $_->{fields} =~ /^order=(\d+) gfp_flags=(\S+)/;
	next unless defined $pointer;
	if ($_->{event} eq 'mm_shrink_slab_start') {
		$begun{$pointer} = $us;
		($to_scan{$pointer}) = $_->{fields} =~ / total_scan (\d+)/;
	} elsif (defined $begun{$pointer}) {
		$took{$pointer} += $us - delete $begun{$pointer};
		$runs{$pointer}++;
		$_->{fields} =~ / total_scan (-?\d+) last shrinker return val (\d+)/ or die "no counts: $_->{line}\n";
		$scanned{$pointer} += $to_scan{$pointer} - $1;
		$freed{$pointer} += $2;
	}
}
my ($most) = sort { $took{$b} <=> $took{$a} } grep { defined $name_of{$_} } keys %took;
die "the most explained stall of $capture shrank no superblock\n" unless defined $most;
my ($cgroup) = map { /^$pid \d+ \S+ \S+ (\S+)$/ } lines_of("$capture/tasks");

# --- by the summary ---

my ($head, @rows, $inside);
for my $line (lines_of($tree)) {
	last if $inside && $line !~ /^[|` ]/ && defined $head;
	$head = $line, next if $inside && !defined $head;
	$inside = 1 if $line eq 'longest stall that is explained:';
	next unless defined $head;
	if (my ($more) = $line =~ /^ +(\w.*)/) { # its cause and its facts
		$head .= ($head =~ /\|$/ ? '' : $head =~ /,$/ ? ' ' : ', ') . $more;
		next;
	}
	$line =~ /^([|` -]*?)[|`]- (.*?) +(\d+)\.(\d{3}) ms +<?\d+ %$/ or wrong("no row: $line");
	push @rows, { level => length($1) / 3, title => $2, us => $3 * 1000 + $4 };
}
die "$tree has no most explained stall\n" unless defined $head;

sub head_has {
	my ($what, $text) = @_;

	wrong("$what is not '$text': $head") if "$head," !~ / \Q$text\E(?=,)/;
}

head_has('task', "pressure-$pid in " . $cgroup =~ s{.*/}{}r);
head_has('time', sprintf('%d.%03d ms', $whole / 1000, $whole % 1000));
head_has('order', "order $order");
head_has('gfp', $gfp);

# Rows are cut to microseconds, so a sum may fall short by one for each.
sub adds_up {
	my ($what, $sum, @parts) = @_;

	$sum -= $_->{us} for @parts;
	wrong("$what: $sum us are missing") if $sum < 0 || $sum > @parts;
}

adds_up('phases', $whole, grep { $_->{level} == 0 } @rows);
for my $i (0 .. $#rows) {
	my @parts;

	next if $rows[$i]{level} != 0;
	for (my $j = $i + 1; $j < @rows && $rows[$j]{level}; $j++) {
		push @parts, $rows[$j] if $rows[$j]{level} == 1;
	}
	adds_up($rows[$i]{title}, $rows[$i]{us}, @parts) if @parts;
}
my ($slab) = grep { $_->{title} eq 'shrinkers' } @rows;
my ($reclaim) = grep { $_->{title} eq 'direct reclaim' } @rows;
wrong("direct reclaim is not $longest us")
	if !$reclaim || abs($reclaim->{us} - $longest) > 1;

# The others share a row or have their own; together they are all that the text has.
my @shrinkers = grep { $_->{level} == 2 } @rows;
my ($first) = grep { $_->{title} =~ /^super_cache_scan\[/ } @shrinkers;
if (!$first) {
	wrong("no superblock is named; by the text $name_of{$most} took $took{$most} us");
} elsif ($first->{title} ne "super_cache_scan[$name_of{$most}] (freed $freed{$most}" .
	 ($scanned{$most} ? " of $scanned{$most})" : ')') || abs($first->{us} - $took{$most}) > 2 * $runs{$most}) {
	wrong("$first->{title} took $first->{us} us, by the text $name_of{$most} $took{$most} for $freed{$most} of $scanned{$most}");
}
my $all = sum0(values %took);
my $shown = sum0(map { $_->{us} } @shrinkers);
wrong("shrinkers took $shown us, by the text $all")
	if abs($shown - $all) > 2 * sum0(values %runs) + @shrinkers || $shown > $slab->{us};

finish("$whole us of $pid in $cgroup, most in the superblock of $name_of{$most}");
