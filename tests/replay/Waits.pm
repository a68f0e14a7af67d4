# SPDX-License-Identifier: GPL-2.0-or-later
#
# Memory waits of a capture, from psi_memstall_enter() to psi_memstall_leave(), by the kernel's own
# text, with the times of the raw pages. The text has them in the same order, CPU by CPU. And sleeps for I/O,
# which are refaults where the task has just come upon a page that reclaim had taken.

package Waits;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(max min);
use Checker;

our @EXPORT = qw(memory_waits io_sleeps is_unsure_sleep wait_reason_title);

# Which functions call psi_memstall_enter(): mm/, block/ and kernel/ of Linux 4.20 to 7.3.
my %reason_of = (
	mem_cgroup_handle_over_high => 'memory_high', __mem_cgroup_handle_over_high => 'memory_high',
	reclaim_high => 'memory_high',
	try_charge => 'memcg_reclaim', try_charge_memcg => 'memcg_reclaim',
	try_to_free_mem_cgroup_pages => 'memcg_reclaim',
	__perform_reclaim => 'direct_reclaim', __alloc_pages_direct_reclaim => 'direct_reclaim',
	__alloc_pages_slowpath => 'direct_reclaim',
	__alloc_pages_direct_compact => 'direct_compaction',
	node_reclaim => 'node_reclaim', __node_reclaim => 'node_reclaim',
	balance_pgdat => 'node_lists', kcompactd => 'zone_compaction',
	swap_readpage => 'swap_in', swap_read_page => 'swap_in', swap_read_folio => 'swap_in',
	read_pages => 'file', filemap_read_folio => 'file', submit_bio => 'file',
	add_ra_bio_pages => 'file',
	wait_on_page_bit_common => 'page', folio_wait_bit_common => 'page',
	migration_entry_wait_on_locked => 'page',
);

my %title_of = (
	memory_high => 'memory.high', memcg_reclaim => 'memcg reclaim', direct_reclaim => 'direct reclaim',
	direct_compaction => 'direct compaction', node_reclaim => 'node reclaim',
	node_lists => "one node's lists", zone_compaction => 'compaction of a zone',
	swap_in => 'swap-in', refault => 'refault', refault_not_in_psi => 'refault, not in PSI', memory_wait => 'memory wait',
);

sub wait_reason_title { $title_of{$_[0]} }

# TRACE_STACK of the kernel's enum trace_type: the text has such a record below that of its event.
my $STACK = 4;

# Times in ns of the records of a little-endian page, but for stacks.
sub times_of_page
{
	my ($page) = @_;
	my ($time, $commit) = unpack 'Q<Q<', $page;
	my ($at, $end) = (16, 16 + ($commit & 0xfffff));
	my @times;

	while ($at < $end) {
		my ($head, $next) = unpack 'VV', substr $page, $at, 8;
		my ($type, $delta) = ($head & 31, $head >> 5);

		if ($type == 31) {	# an absolute time
			$time = ($next << 27) + $delta;
			$at += 8;
		} elsif ($type == 30) {	# of an interval that does not fit
			$time += ($next << 27) + $delta;
			$at += 8;
		} elsif ($type == 29) {	# nothing, up to the end or for so many bytes
			last if !$delta;
			$time += $delta;
			$at += 4 + $next;
		} else {
			$time += $delta;
			push @times, $time if unpack('v', substr $page, $at + ($type ? 4 : 8), 2) != $STACK;
			$at += 4 + ($type ? 4 * $type : $next + 3 & ~3);
		}
	}
	return @times;
}

# Gives each record of the text its time in ns, and the error of that. Without pages it is that of the
# text, to 1 us. Pages may have records that are older than the text.
sub set_times
{
	my ($dir, @records) = @_;

	@$_{qw(at error)} = ($_->{us} * 1000, 1000) for @records;
	for my $cpu (map { m,cpu(\d+)/, } glob "$dir/per_cpu/cpu*/trace_pipe_raw") {
		my @times = map { times_of_page($_) }
			unpack '(a4096)*', bytes_of("$dir/per_cpu/cpu$cpu/trace_pipe_raw");
		my @of_cpu = grep { $_->{cpu} == $cpu } @records;

		shift @times while @of_cpu && @times && int($times[0] / 1000) < $of_cpu[0]{us};
		for my $record (@of_cpu) {
			@$record{qw(at error)} = (shift @times, 1);
			wrong("not the order of the pages: $record->{line}")
				if int($record->{at} / 1000) != $record->{us};
		}
	}
}

# Returns the name of the function around an address, without a compiler's suffix.
sub caller_names
{
	my ($dir) = @_;
	my @lines = -e "$dir/kallsyms" ? lines_of("$dir/kallsyms") : ();
	my @symbols = sort { $a->[0] cmp $b->[0] } map { [(split ' ')[0, 2]] } @lines;

	return sub {
		my $address = sprintf '%016s', $_[0];
		my ($name) = map { $_->[1] } grep { $_->[0] lt $address } reverse @symbols;

		return ($name // '') =~ s/\..*//r;
	};
}

# Returns the waits of all tasks, the outermost ones: { task, reason, start and end in ns, ns, first
# and last (indices of their records), part (in progress when the text begins), in_progress (when it
# ends; then it has no last) }.
sub memory_waits
{
	my ($text_file, @records) = @_;
	my $dir = $text_file =~ s,/[^/]*$,,r;
	my (%open, %reads, %until, @waits);

	return if !grep { ($_->{event} // '') =~ /^memory_wait_/ } @records;
	set_times($dir, @records);
	my $name_of = caller_names($dir);
	my ($from, $to) = (min(map { $_->{at} } @records), max(map { $_->{at} } @records));
	my $close = sub {
		my ($task, $last, $end, $part) = @_;
		my $wait = delete $open{$task} // { start => max($until{$task} // 0, $from), reason => 'memory_wait' };

		# Where direct compaction is inlined, the caller is that of direct reclaim.
		$wait->{reason} = 'direct_compaction'
			if $wait->{reason} eq 'direct_reclaim' && $wait->{compacts} && !$wait->{reclaims};
		$wait->{page} = $wait->{reason} eq 'page';
		# A task waits for the page that it began to read.
		$reads{$task} = $wait->{reason} if $wait->{reason} =~ /^(?:file|swap_in)$/;
		$wait->{reason} = ($reads{$task} // '') eq 'swap_in' ? 'swap_in' : 'refault'
			if $wait->{reason} =~ /^(?:file|page)$/;
		@$wait{qw(task end ns last part)} = ($task, $end, $end - $wait->{start}, $last, $part);
		$wait->{in_progress} = 1 if !defined $last;
		$until{$task} = $end;
		push @waits, $wait;
	};

	for my $index (0 .. $#records) {
		my ($task, $event, $fields, $at) = @{$records[$index]}{qw(task event fields at)};

		if ($open{$task}) {
			$open{$task}{compacts} = 1
				if ($event // '') =~ /^mm_compaction_(?:begin|try_to_compact_pages)$/;
			$open{$task}{reclaims} = 1 if ($event // '') eq 'mm_vmscan_direct_reclaim_begin';
		}
		next if ($event // '') !~ /^memory_wait_/;
		if ($event eq 'memory_wait_begin') {
			my ($caller) = $fields =~ /\bcaller=0x([0-9a-f]+)/;
			my $reason = $reason_of{$name_of->($caller)} // 'memory_wait';

			$open{$task} //= { first => $index, start => $at, reason => $reason, depth => 0 };
			$open{$task}{depth}++;
		} elsif (!$open{$task}) {
			$close->($task, $index, $at, 1);
		} elsif (!--$open{$task}{depth}) {
			$close->($task, $index, $at, 0);
		}
	}
	$close->($_, undef, $to, 0) for sort keys %open;
	return @waits;
}

# In ns: from such a page to the sleep until it is read.
my $GAP = 1_000_000;

# How much later than the return of a function its record may be, in ns.
my $LATE = 50_000_000;

# The sleeps for I/O of so many us or more, by the index of the record of their return: { task, start and ns (of
# a refault from the page on), error (of both, in ns), wait_ns (ns after the last memory wait), refault, unsure (it
# may be one), page (when the last one was taken in, in ns), within (a memory wait) }. After memory_waits(), whose
# waits it takes.
sub io_sleeps
{
	my ($threshold, $waits, @records) = @_;
	my (%begins, %ends, %in, %until, %taken, %sleeps);

	push @{$begins{$_->{first} // 0}}, $_ for @$waits;
	push @{$ends{$_->{last}}}, $_ for grep { !$_->{in_progress} } @$waits;
	for my $index (0 .. $#records) {
		my ($task, $ns) = @{$records[$index]}{qw(task ns)};
		my $at = $records[$index]{at} // $records[$index]{us} * 1000;
		my $since = $taken{$task};

		$in{$_->{task}} = $_ for @{$begins{$index} // []};
		if (($records[$index]{event} // '') eq 'refault') {
			$taken{$task} = $at;
		} elsif (($records[$index]{function} // '') =~ /^io_schedule(?:\.|$)/ && $ns >= $threshold * 1000) {
			my $gap = defined $since ? $at - $ns - $since : 'inf';
			my $refault = $gap <= $GAP;
			my $outermost = $refault && !$records[$index]{depth};

			$gap = 0 if $gap < 0;
			my $whole = $ns + ($outermost ? $gap : 0);
			$sleeps{$index} = {
				task => $task, refault => $refault, unsure => !$refault && $gap <= $GAP + $LATE,
				page => $since,
				start => $outermost ? $since : $at - $ns, ns => $whole,
				error => 1000 + ($outermost ? $gap : 0), within => $in{$task},
				wait_ns => min($whole, $at - ($until{$task} // 0)),
			};
			$taken{$task} = $refault && $in{$task} ? $at : undef;
		}
		for my $wait (@{$ends{$index} // []}) {
			delete $in{$wait->{task}};
			$until{$wait->{task}} = $wait->{end};
			# It slept for the page in a wait for one.
			delete $taken{$wait->{task}} if $wait->{page} || ($taken{$wait->{task}} // 0) > $wait->{start};
		}
	}
	return %sleeps;
}

# Whether a stall can be a sleep that is unsure: it has the task and begins with the page, and what it has
# beside the time in the function is no more than may lie between them.
sub is_unsure_sleep
{
	my ($stall, $sleep) = @_;
	my $gap = $stall->{duration_ns} - $sleep->{ns};

	return $sleep->{unsure} && $stall->{role} eq 'refault' && $stall->{task}{tid} eq $sleep->{task} &&
		abs($stall->{ts_ns} - $sleep->{page}) < 1000 && $gap >= 0 && $gap <= $GAP;
}

1;
