#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# readme.pl DOCUMENT
#
# Holds the first example of DOCUMENT, a stall in the form tree, against the kernel's own text of the same
# buffer (trace.txt of the fixture that its command reads), in which the stall is the window of that task that
# took as long: what was asked for, the pages and the priority by the events inside; direct reclaim, throttled
# and the inactive list by their functions; what the task did by the switches; and of each shrinker the objects
# that it freed and scanned. A shrinker in the cause must have freed some.
#
# Prints what is wrong, a line each, and exits 1; prints what it is and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(sum0 min);
use Checker;
use TraceText;

my ($document) = @ARGV;
die "usage: readme.pl DOCUMENT\n" unless defined $document;
my $text = bytes_of($document);
my ($capture, $block) = $text =~ /^<!-- \$ build\/allocfilt .*?(fixtures\/[\w.-]+) .*-->\n\n((?:    .*\n)+)/m
	or die "$document has no example\n";
$block =~ s/^    //mg;
my ($head, $rows) = $block =~ /^(.*?\n)((?:[|`]).*)\z/s or die "no stall: $block\n";
$head =~ s/\n +/ /g;
$head =~ s/\| (?=__)/|/g;

# --- by the kernel's text ---

my ($tid, $ms) = $head =~ /^\S+ \S+-(\d+) in \S+, (\d+\.\d+) ms/ or die "no head: $head\n";
my @records = trace_text("$capture/trace.txt");
my ($window) = grep { $_->{function} && !$_->{depth} && $_->{task} eq $tid && sprintf('%d.%03d', $_->{ns} / 1e6, $_->{ns} / 1e3 % 1e3) eq $ms } @records;
die "$capture/trace.txt has no such window\n" unless $window;
my ($from, $to) = ($window->{us} - $window->{ns} / 1000, $window->{us});
my @inside = grep { $_->{task} eq $tid && $_->{us} >= $from && $_->{us} <= $to } @records;
my (%sum, %ns, %state, %objects, %name_of, @priority, %begun);

for (@inside) {
	my ($event, $fields) = ($_->{event} // '', $_->{fields} // '');

	$ns{$_->{function}} += $_->{ns} if $_->{function};
	$sum{asked} = "order $1, $2," if $event =~ /direct_reclaim_begin$/ && $fields =~ /order=(\d+) gfp_flags=(\S+)/;
	$sum{from_end} += $1 if $event =~ /reclaim_end$/ && $fields =~ /nr_reclaimed=(\d+)/;
	if ($event eq 'mm_vmscan_lru_shrink_inactive') {
		$sum{$1} += $2 while $fields =~ /\b(nr_scanned|nr_reclaimed|nr_dirty|nr_writeback)=(\d+)/g;
	}
	push @priority, $1 if $event =~ /^mm_(?:vmscan|shrink)/ && $fields =~ /\bpriority[= ](\d+)/;
	next unless defined $_->{pointer};
	$begun{$_->{pointer}} = $1, next if $event eq 'mm_shrink_slab_start' && $fields =~ / total_scan (\d+)/;
	my ($left, $freed) = $fields =~ / total_scan (-?\d+) last shrinker return val (-?\d+)/ or die "no counts: $_->{line}\n";
	$objects{$_->{pointer}}[0] += $freed;
	$objects{$_->{pointer}}[1] += delete($begun{$_->{pointer}}) - $left;
}
for (map { $_->{fields} // () } @records) {
	$name_of{$1} = "super_cache_scan[" . $2 . "]" if / shr=0x([0-9a-f]+) .* id="([^"]*)"/;
}

# From the task's switch to its wake-up it sleeps, and from there to its next switch it waits for a CPU.
my ($left, $woken, $sleeps);
for (grep { $_->{us} >= $from && $_->{us} <= $to && ($_->{event} // '') =~ /^sched_/ } @records) {
	my ($us, $fields) = @$_{qw(us fields)};

	($left, $woken, $sleeps) = ($us, undef, $1) if $fields =~ /prev_pid=$tid .*prev_state=(\w)/;
	$woken //= $us if defined $left && $_->{event} =~ /^sched_wak/ && $fields =~ / pid=$tid /;
	next unless defined $left && $fields =~ /next_pid=$tid /;
	$state{'asleep, uninterruptible'} += ($woken // $us) - $left if $sleeps eq 'D';
	$state{'waiting for a CPU'} += $us - ($sleeps eq 'D' ? $woken // $us : $left);
	undef $left;
}

# --- by the example ---

sub has {
	my ($what, $expected) = @_;

	wrong("$what is not '$expected': $head") if index($head, $expected) < 0;
}

has('what was asked for', $sum{asked}) if $sum{asked};
has('reclaimed', "$sum{from_end} pages reclaimed") if $sum{from_end};
has('the inactive list', "$sum{nr_scanned} pages scanned, $sum{nr_reclaimed} reclaimed") if $sum{nr_scanned};
has('dirty', "$sum{nr_dirty} dirty") if $sum{nr_dirty};
has('priority', 'priority down to ' . min(@priority)) if @priority;

my (%us, %shrinker);
for (split /\n/, $rows) {
	my ($title, $ms, $us) = /^[|` ]*- (.*?) +(\d+)\.(\d{3}) ms +<?\d+ %$/ or wrong("no row: $_"), next;

	$us{$title} += $ms * 1000 + $us;
	$shrinker{$1} = $2 if $title =~ /^(\w+\[.*?\]) \((freed .*)\)/;
}

sub near {
	my ($title, $own, $error) = @_;

	wrong("$title: ", $us{$title} // 'no row', " us, by the text $own") if abs(($us{$title} // 0) - $own) > $error;
}

near('direct reclaim', $ns{try_to_free_pages} / 1000, 1) if $ns{try_to_free_pages};
near('throttled', $ns{throttle_direct_reclaim} / 1000, 2) if $ns{throttle_direct_reclaim};
near('inactive list', $ns{try_to_shrink_lruvec} / 1000, 2)
	if $ns{try_to_shrink_lruvec} && $ns{try_to_shrink_lruvec} >= $window->{ns} / 100;
# Rows that are folded have some of it.
my $folded = sum0(map { $us{$_} } grep { /smaller parts/ } keys %us);
near($_, $state{$_}, 20 + $folded) for sort keys %state;
for my $name (sort keys %shrinker) {
	my ($freed, $scanned) = (0, 0);

	for my $pointer (grep { ($name_of{$_} // '') eq $name } keys %objects) {
		$freed += $objects{$pointer}[0];
		$scanned += $objects{$pointer}[1];
	}
	my $own = "freed $freed" . ($scanned ? " of $scanned" : '');
	wrong("$name $shrinker{$name}, by the text $own") if $shrinker{$name} ne $own;
}
my ($cause) = $head =~ /cause: .*?(\w+\[.*?\])(?: \(freed .*?\))? \d+ %/;
wrong("a shrinker that freed nothing is the cause: $cause")
	if defined $cause && ($shrinker{$cause} // 'freed 0') =~ /^freed 0\b/;
finish("$ms ms of $tid in $capture, ", scalar(@inside), ' records, states ', join ', ', map { "$_ $state{$_} us" } sort keys %state);
