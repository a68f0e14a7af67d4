#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rules.pl TRACE.TXT SET_FTRACE_FILTER THRESHOLD_US OUTPUT [live | FUNCTION:EVENT...]
#
# live: the output is of a run, not of the capture that the text was read with. It may begin before
# the text's first line, with what had been read by then, and go on after the last, and it knows
# names of tasks that the kernel's text had forgotten.
# FUNCTION:EVENT: the configuration gave the event that owner besides.
#
# Holds what allocfilt printed for a capture against the kernel's own text of the same buffer, by
# the rules of what is shown, computed here a second time and in another way: from the order of the
# text's lines, not from the records' times.
#
#   every printed line is one of the kernel's lines, and is printed once
#   every line that the rules select is printed, and no other
#   of memory waits that reach the threshold the begin and the end are, but for those around functions
#   of depth 0 that are shown
#   windows of a task come in the order in which they end; what a window owns stands right before it
#   lines of a stall stand together; stalls whose function nothing is around come in the order of their ends
#   the shrinkers' totals and maxima agree (the text has microseconds: 1 us for each pair)
#   the lines of superblocks, indented below a shrinker's, add up to it
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Checker;
use TraceText;
use Waits;

my ($text_file, $filter_file, $threshold, $output_file, @more) = @ARGV;
die "usage: rules.pl TRACE.TXT SET_FTRACE_FILTER THRESHOLD_US OUTPUT [live | FUNCTION:EVENT...]\n"
	unless defined $output_file;
my $live = grep { $_ eq 'live' } @more;

# A hashed pointer is known to the kernel only.
sub masked {
	my ($line) = @_;

	$line =~ s/(\+0x[0-9a-f]+\/0x[0-9a-f]+(?: \[\w+\])?) (?:[0-9a-f]{8}|[0-9a-f]{16}|\(_+ptrval_+\)): /$1 PTR: /;
	$line =~ s/^(\s*\S+ \|\s+\d+\)) .*?-(\d+)\s+\| /$1 $2 | / if $live;
	return $line;
}

# --- the kernel's text ---

my @records = trace_text($text_file);
# Some kernels record our own task, which is never shown.
@records = grep { $_->{line} !~ /\|\s+\d+\)\s+allocfi-\d+\s/ } @records if $live;
die "$text_file: no record in it\n" unless @records;

my %traced = map { /^(\w+)/ ? ($1 => 1) : () } lines_of($filter_file);

# --- the rules ---

my %owner_of = (	# what writes the event once a call: its latest events are those of the call
	mm_vmscan_direct_reclaim_begin => ['try_to_free_pages'],
	mm_vmscan_direct_reclaim_end => ['try_to_free_pages'],
	mm_vmscan_memcg_reclaim_begin => ['try_to_free_mem_cgroup_pages'],
	mm_vmscan_memcg_reclaim_end => ['try_to_free_mem_cgroup_pages'],
	mm_vmscan_node_reclaim_begin => ['node_reclaim'],
	mm_vmscan_node_reclaim_end => ['node_reclaim'],
	mm_compaction_begin => ['compact_zone', 'compact_zone_order'],
	mm_compaction_end => ['compact_zone', 'compact_zone_order'],
	mm_compaction_try_to_compact_pages => ['try_to_compact_pages'],
	mm_vmscan_throttled => ['reclaim_throttle'],
);
my @inactive = ('shrink_inactive_list', 'evict_folios');
push @inactive, 'shrink_lruvec', 'shrink_node_memcg' unless $traced{shrink_inactive_list};

my %owns;	# function => { event => 1 }
my %given;	# events of which nobody knows how often such an owner writes them in one call
for my $event (keys %owner_of) {
	my @owners = grep { $traced{$_} } @{$owner_of{$event}};

	$owns{$_}{$event} = 1 for @owners;
	if (!@owners && $event eq 'mm_vmscan_throttled') {
		$owns{$_}{$event} = $given{$event} = 1 for keys %traced;
	}
}
for (grep { $traced{$_} } @inactive) {
	$owns{$_}{mm_vmscan_lru_shrink_inactive} = 1;
}
for (@more) {
	$owns{$1}{$2} = $given{$2} = 1 if /^(\w+):(\w+)$/;
}
my %pair_without_owner;	# events whose owner is not traced, but which have a partner
for my $event (keys %owner_of) {
	next unless $event =~ /_(begin|end)$/;
	$pair_without_owner{$event} = 1 unless grep { $traced{$_} } @{$owner_of{$event}};
}

sub slow { $_[0] >= $threshold * 1000 }

# The text cuts a long duration; one that is cut to just the threshold's microsecond is slow still.
my (%must, %may, %group_of);	# by index of @records
my %could;	# event => { windows that may own it besides }
my %waiting;	# task => [ indices of events, oldest first ]
my %open;	# task => [ indices of begins ]
my %shrinkers;	# name => { total, max, count } in us

sub take_pair {
	my ($begin, $end) = @_;
	my $us = $records[$end]{us} - $records[$begin]{us};

	if ($records[$end]{event} eq 'mm_shrink_slab_end') {
		my $total = $shrinkers{$records[$end]{shrinker}} //= { total => 0, max => 0, count => 0 };

		$total->{total} += $us;
		$total->{max} = $us if $us > $total->{max};
		$total->{count}++;
	}
	# both times are cut to microseconds
	if ($us > $threshold) {
		$must{$_} = 1 for $begin, $end;
	} elsif ($us >= $threshold - 1) {
		$may{$_} = 1 for $begin, $end;
	}
	$group_of{$begin} = $end;
}

sub take_end {
	my ($index) = @_;
	my $record = $records[$index];
	my $stack = $open{$record->{task}} //= [];
	my $begin_event = $record->{event} =~ s/_end$/_begin/r;

	$begin_event = 'mm_shrink_slab_start' if $record->{event} eq 'mm_shrink_slab_end';
	for (my $i = $#$stack; $i >= 0; $i--) {
		my $begin = $records[$stack->[$i]];

		next unless $begin->{event} eq $begin_event;
		next if defined $record->{pointer} && $begin->{pointer} ne $record->{pointer};
		take_pair($stack->[$i], $index);
		$#$stack = $i - 1;
		return;
	}
}

# How long after its return a window's record was written at most, as far as the task's own next
# line tells; under emulation that can be tens of microseconds. On a busy machine it can be any
# time, as the emulated CPU stands still in between: a run's output may have what lies further back
# by up to $STOOD_STILL, and where all that a window may own lies before the time at which the text
# lets it begin, nobody can tell by the text whether it is its own.
my $LATE = 300;
my $STOOD_STILL = 1_000_000;

sub take_window {
	my ($index) = @_;
	my $window = $records[$index];
	my $events = $waiting{$window->{task}} //= [];
	my $owned = $owns{$window->{function}} or return;
	my $from = $window->{us} - $window->{ns} / 1000;
	my ($newest) = grep { $owned->{$records[$_]{event}} } reverse @$events;
	my $unsure = $live && defined $newest && $records[$newest]{us} < $from;
	my (%seen, @keep);

	for my $i (reverse @$events) {
		my $event = $records[$i];
		my $once = $event->{event} ne 'mm_vmscan_lru_shrink_inactive' &&
			   $event->{event} !~ /softlimit/ && !$given{$event->{event}};

		if (!$owned->{$event->{event}} || ($once && $seen{$event->{event}}++) ||
		    $event->{us} < $from - ($live ? $STOOD_STILL : $LATE)) {
			unshift @keep, $i;
			next;
		}
		if (!$unsure && $event->{us} >= $from - $LATE &&
		    ($once || $event->{us} >= $from + 1)) {
			$must{$i} = 1;
			delete $may{$i};
		} else {
			$may{$i} = 1 unless $must{$i};
			$could{$i}{$index} = 1 if $live;
			unshift @keep, $i;
		}
		$group_of{$i} = $index;
	}
	$waiting{$window->{task}} = \@keep;
}

my @waits = memory_waits($text_file, @records);
my %sleeps = io_sleeps($threshold, \@waits, @records);
# By index: a sleep for I/O that is no refault is no stall.
my %other_io = map { $_ => 1 } grep { !$sleeps{$_}{refault} } keys %sleeps;

for my $index (0 .. $#records) {
	my $record = $records[$index];

	if ($record->{function}) {
		next unless slow($record->{ns});
		$may{$index} = 1 if $sleeps{$index} && $sleeps{$index}{unsure};
		next if $other_io{$index};
		$must{$index} = 1;
		take_window($index);
	} elsif ($record->{event} =~ /^(?:memory_wait_|refault$)/) {
		next;
	} elsif ($record->{event} =~ /^mm_shrink_slab_/ || $pair_without_owner{$record->{event}}) {
		if ($record->{event} =~ /_(start|begin)$/) {
			push @{$open{$record->{task}}}, $index;
		} else {
			take_end($index);
		}
	} else {
		push @{$waiting{$record->{task}}}, $index;
	}
}

my $exact = -d $text_file =~ s,[^/]*$,per_cpu,r;	# times are of the pages
for my $wait (@waits) {
	my ($first, $last) = @$wait{qw(first last)};
	my $sure = ($exact || abs($wait->{ns} - $threshold * 1000) > 1000) && !($live && $wait->{part});

	next if $wait->{in_progress};
	next if $sure ? !slow($wait->{ns}) : $wait->{ns} + 1000 < $threshold * 1000;
	next if grep { $records[$_]{task} eq $wait->{task} && defined $records[$_]{depth} && slow($records[$_]{ns}) &&
		       !$other_io{$_} && (!$records[$_]{depth} || !defined $first) } $first // 0 .. $last // $#records;
	($sure ? \%must : \%may)->{$_} = 1 for grep { defined } $first, $last;
	$group_of{$first} = $last if defined $first && defined $last;
}

# --- what was printed ---

my @output = lines_of($output_file);
my @summary;
for my $i (0 .. $#output) {
	if ($output[$i] eq '') {
		@summary = splice @output, $i;
		last;
	}
}
shift @summary while @summary && $summary[0] !~ /^\S+ : total time = |^no shrinker ran$/;

# CPU by CPU: of one more may have been read before the run was stopped than of another.
sub is_of_the_text {
	my ($line, $first, $last) = @_;

	return unless $line =~ /^\s*(\d+)\.(\d{6}) \|\s+(\d+)\) /;
	my $us = $1 * 1_000_000 + $2;
	return defined $first->{$3} && $us >= $first->{$3} && $us <= $last->{$3};
}

if ($live) {
	my (%first, %last);

	for (@records) {
		$first{$_->{cpu}} //= $_->{us};
		$last{$_->{cpu}} = $_->{us};
	}
	@output = grep { is_of_the_text($_, \%first, \%last) } @output;
	%shrinkers = ();
}

my %left;	# masked line => indices not printed yet
push @{$left{masked($records[$_]{line})}}, $_ for 0 .. $#records;

my ($last_end, $of_interrupts, %last_end, $open_task, %printed, @group) = (-1, 0);
# Is a window of the task that has not been printed yet around it? Edges are known to 1 us.
sub is_inside {
	my ($index, $left) = @_;
	my $record = $records[$index];

	for my $other (@$left) {
		next unless $records[$other]{function};
		return 1 if $records[$other]{us} - $records[$other]{ns} / 1000 < $record->{us} - 1 &&
			    $other > $index;
	}
	return 0;
}

# Does a window or a pair end here?
sub is_end {
	my ($record) = @_;

	return $record->{function} || $record->{event} =~ /_end$/ &&
		($record->{event} =~ /slab|memory_wait/ || $pair_without_owner{$record->{event}});
}

my %ends_of;	# task => indices of ends that are to be printed, in the order of the text
for my $index (sort { $a <=> $b } keys %must) {
	push @{$ends_of{$records[$index]{task}}}, $index if is_end($records[$index]);
}

for my $line (@output) {
	my $indices = $left{masked($line)};
	my $index;

	if (!$indices || !@$indices) {
		wrong("not a line of the kernel's, or printed twice: $line");
		next;
	}
	$index = shift @$indices;
	$printed{$index} = 1;
	wrong("not selected: $line") unless $must{$index} || $may{$index};
	if (is_end($records[$index])) {
		my $task = $records[$index]{task};
		my $left = $ends_of{$task} //= [];
		my $late = $index < ($last_end{$task} // -1);

		# By the text a window of an interrupt is one of the task, at a depth. It is a stall
		# of its own: it may come before what the task was in, and it may wait for the CPU's
		# next interrupt, or for the end of the run.
		if ($live && $records[$index]{depth} &&
		    ($late || @$left && $left->[0] < $index)) {
			$of_interrupts++;
			@$left = grep { $_ != $index } @$left;
		} else {
			wrong("out of order: $line") if $late;
			$last_end{$task} = $index;
			shift @$left while @$left && $left->[0] <= $index;
		}
		wrong("in the middle of another stall: $line")
			if defined $open_task && $open_task ne $task;
		$open_task = is_inside($index, $left) ? $task : undef;
		if ($records[$index]{function} && $line =~ /\|  \} /) {
			wrong("out of order: $line") if $index < $last_end;
			$last_end = $index;
		}
		for (@group) {
			wrong("stands with another window than its own: $records[$_]{line}")
				if $must{$_} && defined $group_of{$_} && $group_of{$_} != $index &&
				   !$could{$_}{$index};
		}
		@group = ();
	} else {
		push @group, $index;
	}
}
wrong("events without a line behind them that owns them") if @group;
wrong("$of_interrupts of ", scalar @output, " lines are not in the order of their task's ends")
	if $of_interrupts * 100 > @output;
for my $index (sort { $a <=> $b } keys %must) {
	wrong("missing: $records[$index]{line}") unless $printed{$index};
}

# --- the summary ---

# Exactly: both are ns, only the sum is held against the text.
my $sum;	# the line of a shrinker and what its superblocks have not accounted for yet, in ns

sub check_sum {
	return unless $sum && $sum->{superblocks};
	wrong("$sum->{left} ns of it are of no superblock: $sum->{line}") if $sum->{left};
	wrong("no superblock has its maximum: $sum->{line}") if $sum->{max} != $sum->{largest};
}

sub take_superblock {
	my ($line) = @_;

	return unless $line =~
		/^  \S+\[.+\] : total time = (\d+)\.(\d{6}) ms, max latency = (\d+)\.(\d{6}) ms$/;
	if (!$sum) {
		wrong("a superblock without a shrinker above it: $line");
		return 1;
	}
	$sum->{superblocks}++;
	$sum->{left} -= $1 * 1_000_000 + $2;
	$sum->{largest} = $3 * 1_000_000 + $4 if $3 * 1_000_000 + $4 > $sum->{largest};
	return 1;
}

my $last_total;
wrong("the summary lacks that no shrinker ran") if !$live && !%shrinkers && !grep { $_ eq 'no shrinker ran' } @summary;
for my $line (@summary) {
	next if $line eq 'no shrinker ran' && !%shrinkers;
	next if take_superblock($line);
	check_sum();
	undef $sum;
	if ($line !~ /^(\S+) : total time = (\d+\.\d{6}) ms, max latency = (\d+\.\d{6}) ms$/) {
		last if $line =~ /^$|^background: / || !%shrinkers;	# what else the summary has
		wrong("no line of the summary: $line");
		next;
	}
	my ($name, $total, $max) = ($1, $2 * 1000, $3 * 1000);

	$sum = {
		line => $line, left => sprintf('%.0f', $2 * 1_000_000),
		max => sprintf('%.0f', $3 * 1_000_000), largest => 0, superblocks => 0,
	};
	next if $live;
	my $own = delete $shrinkers{$name};

	if (!$own) {
		wrong("the text has no such shrinker: $line");
		next;
	}
	wrong("total of $name: $total us, by the text $own->{total} us in $own->{count} pairs")
		if abs($total - $own->{total}) > $own->{count};
	wrong("maximum of $name: $max us, by the text $own->{max} us")
		if abs($max - $own->{max}) > 1;
	wrong("not in the order of total time: $line") if defined $last_total && $total > $last_total;
	$last_total = $total;
}
check_sum();
wrong("the summary lacks $_") for sort keys %shrinkers;

my $windows = grep { $records[$_]{function} } keys %printed;
finish(scalar @records, " records, $windows windows and ", keys(%printed) - $windows, ' events shown');
