#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# phases.pl TRACE.TXT THRESHOLD_US OUTPUT.JSON [goes-on]
#
# goes-on: the run began before the text, and went on where it ends
#
# Holds the stalls of `-f json` against the kernel's own text of the same buffer. Where the time of
# each outermost function went is computed here a second time and in another way: the tree of calls
# is built from the depth at which the text shows each function, and walked from its root down.
#
#   every outermost function of the text is a stall, and no other
#   phases add up to the stall's time, to the nanosecond
#   each phase agrees (the text cuts long times, and has microseconds for events)
#   shrinkers add up to what is said of them, at most
#   the cause is what the phases say, and what the text says, and none under half is named
#   with sched_switch and sched_wakeup in the text: what the task did in each part agrees as well, and
#     who had the CPU while it waited; what is not recorded makes that the time waited, to the nanosecond
#   its facts are those of all events between its begin and its end, of fast calls too
#   memory waits of the text, the short ones too, add up to those of the summary, by task and reason
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(max min sum0);
use Checker;
use Json;
use Phases;
use TraceText;
use Waits;

my ($text_file, $threshold, $output_file, $goes_on) = @ARGV;
die "usage: phases.pl TRACE.TXT THRESHOLD_US OUTPUT.JSON\n" unless defined $output_file;

# How late the exit record of a function inside a stall may be, in us; for the outermost see same().
use constant LATE => 10_000;

# By how much an edge of a function may be off against a switch, in us.
use constant EDGE => 50;

# --- the tree of calls, from the text ---

my %group_of = (
	try_to_free_pages => 'direct_reclaim', try_to_free_mem_cgroup_pages => 'memcg_reclaim',
	node_reclaim => 'node_reclaim', compact_zone => 'compaction',
	compact_zone_order => 'compaction', try_to_compact_pages => 'compaction',
	mem_cgroup_handle_over_high => 'memory_high', __mem_cgroup_handle_over_high => 'memory_high',
	out_of_memory => 'oom_killer', drain_all_pages => 'drain', do_swap_page => 'swap_in',
);
# The phases of memory waits whose reasons have another name.
my %group_of_wait = (
	direct_compaction => 'compaction', zone_compaction => 'compaction', node_lists => 'other_reclaim',
	memory_wait => 'other_reclaim',
);
my %part_of = (
	shrink_slab => 'shrinker_lookup', shrink_active_list => 'active_list',
	shrink_inactive_list => 'inactive_list', evict_folios => 'inactive_list',
	try_to_shrink_lruvec => 'inactive_list', shrink_lruvec => 'inactive_list',
	shrink_node_memcg => 'inactive_list', reclaim_throttle => 'throttled',
	throttle_direct_reclaim => 'throttled', congestion_wait => 'throttled',
	mem_cgroup_soft_limit_reclaim => 'soft_limit', memcg1_soft_limit_reclaim => 'soft_limit',
);
my %of_reclaim = (shrink_node => 1);
my %has_parts = map { $_ => 1 } qw(direct_reclaim memcg_reclaim node_reclaim other_reclaim);

# Where the inactive list has a function of its own, the time of a memcg's lists is short scans.
@part_of{qw(shrink_lruvec shrink_node_memcg)} = ('short_scans') x 2
	if grep { /^shrink_inactive_list\b/ } lines_of($text_file =~ s/trace\.txt$/set_ftrace_filter/r);

my %pending;	# task => nodes without the one around them, in the order of the text
my %open;	# task => begins of slab
my $hashed;	# pointers are all the same: early after the boot the kernel has no hash for them
my %events;	# task => events that stand for themselves
my %left;	# task => since when it is off the CPU, its state, when it was woken
my %off;	# task => [from, woken, to, state, CPU that it waited for] of each time that it was, in us
my %switches;	# CPU => [us, task that leaves, task that comes, its name] in order
my %alone;	# task => [us, it came] of each switch without the other one
my %ran;	# task => when it is known to have run, but for its functions, in us
my $first_switch;
my @roots;

my @records = trace_text($text_file);
my %first;	# CPU => time of its first record, in us
$first{$_->{cpu}} //= $_->{us} for @records;
# The text has all records between these two, in ns. Stalls that begin or end elsewhere are not compared.
my ($from, $to) = $goes_on ? (1000 * max(values %first), 1000 * max(map { $_->{us} } @records) + 999) :
			     (0, 'inf');
my @waits = memory_waits($text_file, @records);
my %sleeps = io_sleeps($threshold, \@waits, @records);
my (%begins_at, %ends_at);	# index of a record => waits
my %inside;	# task => where in %pending the wait began that it is in
my %ended;	# task => ns: end of the last function of depth 0 that is a stall
$begins_at{$_->{first} // 0}{$_->{task}} = $_ for @waits;
$ends_at{$_->{last}}{$_->{task}} = $_ for grep { !$_->{in_progress} } @waits;

# Takes what came since the node began: deeper functions, and pairs whose middle lies in it. Its record
# may be later than its return, and so its start by the text; but it began before the functions inside.
sub adopt {
	my ($node) = @_;
	my $list = $pending{$node->{task}} //= [];
	my @inside = map { $_->{wait} ? @{$_->{children}} : $_ } @$list;

	for my $inside (grep { defined $_->{depth} } reverse @inside) {
		last if $inside->{depth} <= $node->{depth} || $inside->{us} < $node->{start} - LATE;
		$node->{start} = min($node->{start}, $inside->{start});
	}
	# A wait without its begin began in the function that it ended in.
	for my $part (grep { $_->{wait} && !defined $_->{wait}{first} } @$list) {
		next if $part->{us} < $node->{start} || $part->{wait}{start} / 1000 > $node->{start};
		$part->{ns} = ($part->{us} - $node->{start}) * 1000;
		$part->{middle} = ($node->{start} + $part->{us}) / 2;
		$part->{error} = 2000;	# of two times in us
	}
	while (@$list && ($list->[-1]{middle} // $list->[-1]{us}) >= $node->{start}) {
		last if defined $list->[-1]{depth} && $list->[-1]{depth} <= $node->{depth};
		unshift @{$node->{children}}, pop @$list;
	}
}

sub take_function {
	my ($task, $us, $duration, $digits, $depth, $name, $sleep) = @_;
	my $node = {
		task => $task, us => $us, ns => $duration, depth => $depth, name => $name,
		start => $us - $duration / 1000, children => [],
		error => $digits == 3 ? 1 : $digits == 2 ? 10 : $digits == 1 ? 100 : 1000,
	};

	if ($sleep && $sleep->{refault}) {
		my $late = $depth ? 0 : ($ended{$task} // 0) - $sleep->{start};

		# A stall of its own may lie between the page and the sleep.
		$late = 0 if $late < 0;
		$node->{refault} = 1;
		$node->{start} = ($sleep->{start} + $late) / 1000;
		$node->{ns} = $sleep->{ns} - $late;
		$node->{error} += $sleep->{error};
	}
	adopt($node);
	$node->{no_stall} = $sleep && !$sleep->{refault};
	my $slow = $duration + $node->{error} > $threshold * 1000 && !$node->{no_stall};

	if ($depth == 0 && ($slow || !defined $inside{$task})) {
		push @roots, @{$pending{$task}}, $node;
		$pending{$task} = [];
		$inside{$task} = 0 if defined $inside{$task};
		$ended{$task} = $us * 1000 if $slow;
	} else {
		push @{$pending{$task}}, $node;
	}
}

# The objects that a shrinker scanned and freed: the end has how many are left to scan. -EINVAL and the like are no objects.
sub objects {
	my ($begin, $end) = @_;
	my ($to_scan) = $begin =~ / total_scan (\d+)/ or return [0, 0];
	my ($left, $freed) = $end =~ / total_scan (-?\d+) last shrinker return val (-?\d+)/ or return [0, 0];

	return [$to_scan - $left, $freed > 0 ? $freed : 0];
}

sub take_slab {
	my ($task, $us, $name, $pointer, $fields) = @_;
	my $begins = $open{$task} //= [];

	$hashed ||= $pointer =~ /ptrval/;

	if ($name eq 'mm_shrink_slab_start') {
		push @$begins, { us => $us, at => scalar @{$pending{$task} //= []}, pointer => $pointer,
				 fields => $fields };
		return;
	}
	while (my $begin = pop @$begins) {
		next if $begin->{pointer} ne $pointer;
		push @{$events{$task}}, { us => $begin->{us}, name => 'slab', fields => $begin->{fields} };
		my $list = $pending{$task};
		my @children = splice @$list, $begin->{at} < @$list ? $begin->{at} : scalar @$list;

		push @$list, {
			task => $task, us => $us, ns => ($us - $begin->{us}) * 1000, error => 1000,
			middle => ($us + $begin->{us}) / 2, name => 'shrinker', pair => $pointer,
			objects => objects($begin->{fields}, $fields),
			children => \@children,
		};
		return;
	}
}

# A slow one is a node unless functions of depth 0 in it are stalls already. Of one whose begin the text
# does not have nobody knows whether what is slow was in it.
sub take_wait {
	my ($wait) = @_;
	my $task = $wait->{task};
	my $at = delete $inside{$task} // 0;
	my $list = $pending{$task} //= [];

	return if $wait->{ns} < $threshold * 1000 || ($ended{$task} // 0) > $wait->{start};
	return if !defined $wait->{first} && grep { !$_->{no_stall} && $_->{ns} + $_->{error} > $threshold * 1000 } @$list;
	my @children = splice @$list, min($at, scalar @$list);

	push @$list, {
		task => $task, us => $wait->{end} / 1000, ns => $wait->{ns},
		error => $records[$wait->{last}]{error},
		middle => ($wait->{start} + $wait->{end}) / 2000, name => 'wait', pair => 'wait',
		wait => $wait, children => \@children,
	};
}

sub take_switch {
	my ($us, $fields, $cpu) = @_;
	my ($task, $state, $comm, $next) =
		$fields =~ /prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=\d+$/s
		or return;
	push @{$switches{$cpu}}, [$us, $task, $next, $next ? $comm : $comm =~ s/\/\d+$//r];
	my $came = delete $left{$next};

	$first_switch //= $us;
	push @{$ran{$next}}, $us;
	push @{$alone{$next}}, [$us, 1] if !$came;
	push @{$alone{$task}}, [$left{$task}{us}, 0] if $left{$task};
	# Without a wake-up in between it could run, or the wake-up is lost.
	push @{$off{$next}}, [$came->{us}, $came->{state} eq 'cpu_wait' ? $came->{us} :
					   $came->{woken} // $us, $us, $came->{state}, $came->{cpu}]
		if $came;
	delete $left{$task};
	$left{$task} = { us => $us, cpu => $cpu, state => $state =~ /^R/ ? 'cpu_wait' :
						  $state =~ /D/ ? 'blocked' : 'slept' }
		if $task && $state !~ /[XZ]/;
}

for my $index (0 .. $#records) {
	my $record = $records[$index];
	my ($us, $task, $event, $fields) = @$record{qw(us task event fields)};

	$inside{$_} = @{$pending{$_} // []} for keys %{$begins_at{$index} // {}};
	take_wait($_) for values %{$ends_at{$index} // {}};

	push @{$ran{$task}}, $us if ($event // '') !~ /^sched_/ && !defined $record->{function};

	if (!$event) {
		take_function($task, $us, @$record{qw(ns digits depth function)}, $sleeps{$index});
	} elsif ($event =~ /^mm_shrink_slab_/) {
		take_slab($task, $us, $event, $record->{pointer}, $fields);
	} elsif ($event eq 'sched_switch') {
		take_switch($us, $fields, $record->{cpu});
	} elsif ($event eq 'sched_wakeup' && $fields =~ /pid=(\d+) prio=\d+ target_cpu=(\d+)$/s) {
		my $of = $left{$1};

		$of->{cpu} = $2 + 0 if $of && !defined $of->{woken} && $of->{state} ne 'cpu_wait';
		$of->{woken} //= $us if $of;
	} else {
		push @{$events{$task}}, { us => $us, name => $event, fields => $fields };
	}
}
for my $wait (grep { $goes_on && $_->{in_progress} } @waits) {
	my $list = $pending{$wait->{task}} //= [];

	# Its inside is told when it ends, but for windows that are stalls. An end that came while the text
	# was read is lost: then what is slow inside is a stall of its own.
	next if ($ended{$wait->{task}} // 0) > $wait->{start};
	$_->{within_open} = 1 for @$list[min($inside{$wait->{task}} // 0, scalar @$list) .. $#$list];
}
push @roots, @{$pending{$_}} for keys %pending;
push @{$alone{$_}}, [$left{$_}{us}, 0] for keys %left;
# What is fast is no stall. The text may cut what is just slow enough.
@roots = grep { !$_->{no_stall} && $_->{ns} + ($_->{pair} ? 0 : $_->{error} - 1) >= $threshold * 1000 } @roots;

# --- where its time went, from the root down ---

sub place_in {
	my ($node, $group, $part) = @_;
	my $name = $node->{name} =~ s/\..*//r;

	return $group eq 'outside' ? ('refault', 'itself') : ($group, $part) if $node->{refault};
	if ($node->{wait}) {
		my $reason = $group_of_wait{$node->{wait}{reason}} // $node->{wait}{reason};

		# Who needs the page says more.
		return ($group, $part) if $reason eq 'refault' && $group ne 'outside' ||
					  $reason eq 'other_reclaim' && $has_parts{$group};
		return ($reason, 'itself');
	}
	return ($has_parts{$group} ? $group : 'other_reclaim', 'shrinkers') if $node->{pair};

	return ($group_of{$name}, 'itself') if $group_of{$name};
	return ($has_parts{$group} ? $group : 'other_reclaim', $part_of{$name}) if $part_of{$name};
	return ('other_reclaim', 'itself') if $of_reclaim{$name} && !$has_parts{$group};
	return ($group, $part);
}

sub spread {
	my ($node, $group, $part, $sum, $shrinkers, $within) = @_;
	my $own = $node->{ns};

	($group, $part) = place_in($node, $group, $part);
	$within = $node->{pair} if $node->{pair} && !$node->{wait};
	$sum->{error} += $node->{error};
	for my $child (@{$node->{children}}) {
		$own -= $child->{ns};
		spread($child, $group, $part, $sum, $shrinkers, $within);
	}
	$sum->{"$group/$part"} += $own;
	$shrinkers->{$group}{$within} += $own if $part eq 'shrinkers' && $within;
}

# --- what the program says ---

my @objects = json_lines($output_file);
my $run = shift @objects;
wrong("the first line is no run") unless $run && $run->{type} eq 'run';
my $summary = pop @objects;
wrong("the last line is no summary") unless $summary && $summary->{type} eq 'summary';

my %stalls;	# tid => in the order of their ends
my %ends_after;	# tid => begin, in ns, of the stall that ends after the text
for my $stall (@objects) {
	my ($tid, $end) = ($stall->{task}{tid}, $stall->{ts_ns} + $stall->{duration_ns});

	push @{$stalls{$tid}}, $stall if $end >= $from && $end <= $to;
	$ends_after{$tid} //= $stall->{ts_ns} if $end > $to;
}

sub said {
	my ($stall) = @_;
	my %said;

	for my $group (keys %{$stall->{phases}}) {
		my $times = $stall->{phases}{$group};

		if ($has_parts{$group}) {
			for my $key (grep { $_ ne 'total_ns' } keys %$times) {
				$said{"$group/" . $key =~ s/_ns$//r} = $times->{$key};
			}
		} else {
			$said{"$group/itself"} = $times->{total_ns};
		}
	}
	return \%said;
}

# The objects of all shrinkers in a node.
sub objects_in {
	my ($node) = @_;
	my @sum = @{$node->{objects} // [0, 0]};

	for my $child (map { [objects_in($_)] } @{$node->{children}}) {
		$sum[$_] += $child->[$_] for 0, 1;
	}
	return @sum;
}

sub check_objects {
	my ($root, $stall, $what) = @_;
	my @said = map { my $key = $_; sum0(map { $_->{$key} } @{$stall->{shrinkers}}) } qw(scanned freed);
	my @own = objects_in($root);

	wrong("$what: shrinkers scanned $said[0] objects and freed $said[1], by the text $own[0] and $own[1]")
		if "@said" ne "@own";
}

sub check_sums {
	my ($stall, $said, $what) = @_;
	my %slab;
	my $sum = sum0(values %$said);

	wrong("$what: phases make $sum ns of $stall->{duration_ns}") if $sum != $stall->{duration_ns};
	$slab{$_->{phase}} += $_->{total_ns} for @{$stall->{shrinkers}};
	for my $group (keys %slab) {
		wrong("$what: shrinkers of $group make $slab{$group} ns of " .
		      $stall->{phases}{$group}{shrinkers_ns})
			if $slab{$group} > $stall->{phases}{$group}{shrinkers_ns};
	}
}

# "0,2-3"
sub ranges {
	my @nodes = sort { $a <=> $b } @_;
	my @ranges;

	for my $node (@nodes) {
		if (@ranges && $node == $ranges[-1][1] + 1) {
			$ranges[-1][1] = $node;
		} else {
			push @ranges, [$node, $node];
		}
	}
	return join ',', map { $_->[0] == $_->[1] ? $_->[0] : "$_->[0]-$_->[1]" } @ranges;
}

# What the events of a task between two times say.
sub facts_between {
	my ($task, $from, $to) = @_;
	my @inside = sort { $a->{us} <=> $b->{us} }
		     grep { $_->{us} >= $from && $_->{us} <= $to } @{$events{$task} // []};
	my (%facts, %nodes, @outcomes);

	for my $event (@inside) {
		my ($name, $fields) = @{$event}{qw(name fields)};

		if (!defined $facts{order} && $fields =~ /order=(\d+) gfp_\w+=(\S+)/) {
			@facts{qw(order gfp)} = ($1, $2);
		}
		# 0 is no cgroup: all of them were reclaimed. Shrinkers are asked for each cgroup in turn.
		$facts{memcg_id} //= $1
			if $name =~ /^mm_vmscan_\w+_reclaim_begin$/ && $fields =~ /memcg_id=([1-9]\d*)/;
		$facts{nr_reclaimed} += $1
			if $name =~ /^mm_vmscan_\w+_reclaim_end$/ && $fields =~ /nr_reclaimed=(\d+)/;
		if ($name eq 'mm_vmscan_lru_shrink_inactive') {
			$facts{"inactive_$_"} += $fields =~ /\bnr_$_=(\d+)/ && $1
				for qw(scanned reclaimed dirty writeback);
		}
		$nodes{$1} = 1 if $fields =~ /\bnid(?:=|: )(\d+)/;
		if ($name =~ /^(?:slab|mm_vmscan_lru_shrink_inactive)$/ && $fields =~ /\bpriority[= ](\d+)/) {
			$facts{reclaim_priority} = $1
				unless ($facts{reclaim_priority} // 99) < $1;
		}
		$facts{compaction_attempts}++ if $name eq 'mm_compaction_try_to_compact_pages';
		if ($name eq 'mm_compaction_end' && $fields =~ / status=(\S+)/) {
			$facts{compaction} = $1;
			@outcomes && $outcomes[-1][0] eq $1 ? $outcomes[-1][1]++
							    : push @outcomes, [$1, 1];
		}
	}
	$facts{nodes} = ranges(keys %nodes) if %nodes;
	$facts{compaction_outcomes} =
		join ', ', map { $_->[1] > 1 ? "$_->[0] x$_->[1]" : $_->[0] } @outcomes
		if @outcomes;
	return \%facts;
}

my %known;
sub check_facts {
	my ($root, $stall, $what) = @_;
	my $end = $stall->{ts_ns} + $stall->{duration_ns};
	my $from = $root->{from} // $stall->{ts_ns} / 1000;
	my $facts = facts_between($root->{task}, int($from), int($end / 1000));

	for my $name (qw(order gfp memcg_id nr_reclaimed nodes reclaim_priority inactive_scanned
			 inactive_reclaimed inactive_dirty inactive_writeback compaction
			 compaction_attempts compaction_outcomes)) {
		my ($own, $program) = map { $_ // 'null' } $facts->{$name}, $stall->{$name};

		wrong("$what: $name is $program, by the text $own") if $own ne $program;
		$known{$name}++ if $own ne 'null';
	}
}

# [state, ns] of the state with half of the stall, in all of its phases. Of two, a wait for a CPU is the
# first, and that the task ran the last.
sub state_step {
	my ($stall, $whole) = @_;
	my ($state) = grep { 2 * $_->[1] >= $whole && $_->[1] }
		map { [$_, state_ns($_, off_cpu($stall))] } qw(cpu_wait blocked slept off_cpu running);

	return $state;
}

# The cause by times of groups and parts: its name, its time, the state that is told beside it, and the
# steps, [name, ns], each at least half of the whole. Where nothing is half, the two groups with most.
sub chain {
	my ($sum, $whole, $stall) = @_;
	my $state = state_step($stall, $whole);
	my $sleeps = $state && $state->[0] !~ /^(?:cpu_wait|running)$/;
	my %group;

	$group{s{/.*}{}r} += $sum->{$_} for keys %$sum;
	my ($first, $second) = sort { $group{$b} <=> $group{$a} } grep { $group{$_} } @phases;
	my @steps = map { [$_, $group{$_}] } grep { defined } $first;
	@steps = () if @steps && 2 * $group{$first} < $whole;
	# No reclaim makes a task wait for a CPU, but it may make it sleep.
	return (@$state, undef, @steps) if $state &&
		($state->[0] eq 'cpu_wait' || $sleeps && (!@steps || $first eq 'outside'));
	return ('mixed', $group{$first // ''} // 0, undef,
		map { [$_, $group{$_}] } grep { defined } $first, $second) if !@steps;
	my ($part) = sort { $sum->{"$first/$b"} <=> $sum->{"$first/$a"} }
		map { m{^$first/(.*)} ? $1 : () } keys %$sum;
	push @steps, [$part, $sum->{"$first/$part"}]
		if $has_parts{$first} && 2 * $sum->{"$first/$part"} >= $whole;
	return (@{$steps[0]}, $sleeps || $first eq 'outside' ? $state : undef, @steps);
}

my ($causes, $named) = (0, 0);
sub check_cause {
	my ($sum, $shrinkers, $stall, $error, $what) = @_;
	my $whole = $stall->{duration_ns};
	my ($cause, undef, $state, @steps) = chain(said($stall), $whole, $stall);
	my $share_of = sub {
		my ($name, $ns) = @{$_[0]};
		my $percent = percent($ns, $whole);

		$percent = 49 if $cause eq 'mixed' && $percent > 49;
		return (exists $title{$name} ? $title{$name} : $name) . " $percent %";
	};

	if (@steps && $steps[-1][0] eq 'shrinkers') {
		my ($top) = sort { $b->{total_ns} <=> $a->{total_ns} }
			grep { $_->{phase} eq $cause } @{$stall->{shrinkers}};
		my ($most) = sort { $b <=> $a } values %{$shrinkers->{$cause}};

		if ($top && 2 * $top->{total_ns} >= $whole) {
			my $how = $top->{scanned} || $stall->{off_cpu} ? '' : ' (asleep, or not running)';

			push @steps, [$top->{freed} ? $top->{name} . freed_of($top) : "one that freed nothing$how",
				      $top->{total_ns}];
		}
		wrong("$what: the largest shrinker has $top->{total_ns} ns, by the text $most")
			if $top && !$hashed && abs($top->{total_ns} - $most) > $error;
	}
	shift @steps if @steps && $steps[0][0] eq $cause;
	my $detail = join $cause eq 'mixed' ? ', ' : ': ', map { $share_of->($_) } @steps;
	$detail = join '; ', grep { $_ ne '' } $detail, $share_of->($state) if $state;
	$detail = 'null' if $detail eq '';
	wrong("$what: the cause is $stall->{cause}, by its phases $cause") if $cause ne $stall->{cause};
	wrong("$what: the cause's detail is " . ($stall->{cause_detail} // 'null') . ", by its phases $detail")
		if $detail ne ($stall->{cause_detail} // 'null');
	# By the text alone. A share near one half may be on either side of it.
	my ($by_text, $ns) = chain($sum, $whole, $stall);
	my $share = $ns / $whole;
	wrong("$what: the cause is $stall->{cause}, by the text $by_text of $share")
		if $by_text ne $cause && abs($share - 0.5) > 2 * $error / $whole &&
		   abs($share - $stall->{cause_share}) > $error / $whole;
	wrong("$what: the cause has $stall->{cause_share}, by the text $share")
		if $by_text eq $cause && abs($share - $stall->{cause_share}) > $error / $whole + 0.0001;
	wrong("$what: a cause of $stall->{cause_share}")
		if ($cause ne 'mixed') != ($stall->{cause_share} >= 0.5);
	$causes++;
	$named += $detail ne 'null';
}

# The innermost function or pair around a time, and where that is.
sub innermost {
	my ($node, $group, $part, $us) = @_;

	($group, $part) = place_in($node, $group, $part);
	for my $child (@{$node->{children}}) {
		my $from = $child->{pair} ? $child->{middle} - $child->{ns} / 2000 : $child->{start};

		return innermost($child, $group, $part, $us)
			if $us > $from && $us < $from + $child->{ns} / 1000;
	}
	return "$group/$part";
}

my ($split, $runners, $moved) = (0, 0, 0);

# Where functions return, and are called if their records are not late.
sub edges {
	my ($node, $late) = @_;
	my @own = $node->{pair} ? () : $node->{start} + $node->{ns} / 1000;

	push @own, $node->{start} unless $node->{pair} || $late;
	return (@own, map { edges($_, $late) } @{$node->{children}});
}

# The times off the CPU in a stall, [from, woken, to, state], if the program split it. A task runs when
# it calls a function, returns, or writes an event: a switch beyond that is not the other one, and
# the task was off its CPU up to there. Such a stall is marked; if it is not, a record was late.
sub spans_in {
	my ($root, $stall, $late) = @_;
	my ($from, $to) = map { $_ / 1000 } $stall->{ts_ns}, $stall->{ts_ns} + $stall->{duration_ns};
	my $task = $root->{task};
	my (@spans, @alone);

	return unless $stall->{off_cpu} && $from > $first_switch;
	return if $stall->{incomplete} && $root->{children}[0] && $root->{depth};
	my @ran = sort { $a <=> $b } grep { $_ > $from - 1 && $_ < $to + 1 } $from, $to,
		(map { edges($_, $late) } @{$root->{children}}), @{$ran{$task} // []};
	for my $span (@{$off{$task} // []}) {
		next if $span->[2] < $from || $span->[0] > $to;
		if (grep { $_ > $span->[0] + EDGE && $_ + EDGE < $span->[2] } @ran) {
			push @alone, [$span->[0], 0], [$span->[2], 1];
		} elsif ($span->[0] >= $from - 1 && $span->[2] <= $to + 1) {
			push @spans, $span;
		}
	}
	return spans_in($root, $stall, 1) if @alone && !$late && !$stall->{incomplete};
	for (@alone, @{$alone{$task} // []}) {
		my ($us, $came) = @$_;

		next if $us < $from + ($came ? EDGE : 0) || $us > $to;
		my @off = $came ? ((grep { $_ < $us - 1 } @ran)[-1], $us) :
				  ($us, (grep { $_ > $us + 1 } @ran)[0]);
		push @spans, [$off[0], $off[1], $off[1], 'off_cpu'];
		wrong("$root->{name} of $task at ", $root->{us} / 1e6, ": not incomplete for a switch")
			unless $stall->{incomplete};
	}
	return \@spans;
}

sub states_by_text {
	my ($root, $spans) = @_;
	my %states;

	for my $span (@$spans) {
		my ($left, $woken, $came, $state) = @$span;
		my $place = innermost($root, 'outside', 'itself', ($left + $came) / 2);

		$states{"$place/$state"} += ($woken - $left) * 1000;
		$states{"$place/cpu_wait"} += ($came - $woken) * 1000;
	}
	return \%states;
}

sub states_said {
	my ($stall) = @_;
	my %said;

	for my $row (@{$stall->{off_cpu}}) {
		my $place = "$row->{phase}/" . ($row->{part} // 'itself');

		$said{"$place/$_"} = $row->{"${_}_ns"} for grep { $_ ne 'running' } @states;
	}
	return \%said;
}

# How long a task was between the begin and the end of reclaim, compaction, a shrinker or a memory wait, by the
# text: { task => [from, to] in us }. One within another is a part of it.
my %work;
{
	my (%depth, %since);

	for (@records) {
		my ($kind) = ($_->{event} // '') =~
			/^(?:mm_(?:vmscan_\w+_reclaim|compaction|shrink_slab)|memory_wait)_(begin|start|end)$/ or next;
		my ($task, $begins) = ($_->{task}, $kind ne 'end');

		$since{$task} = $_->{us} if $begins && !$depth{$task};
		$depth{$task} += $begins ? 1 : $depth{$task} ? -1 : next;
		push @{$work{$task}}, [$since{$task}, $_->{us}] if !$depth{$task};
	}
	push @{$work{$_}}, [$since{$_}, 9e15] for grep { $depth{$_} } keys %depth;
}

sub work_between {
	my ($task, $from, $to) = @_;

	return sum0(map { max(0, min($_->[1], $to) - max($_->[0], $from)) } @{$work{$task} // []});
}

# Who had the CPU in these spans, by the switches of the CPU that the task waited for: "tid name" => ns,
# and 'none' where the text does not tell. Also how many switches that were.
sub runners_by_text {
	my ($spans, $from, $to) = @_;
	my (%runners, $count, %reclaiming);

	for my $span (@$spans) {
		my (undef, $woken, $came, undef, $cpu) = @$span;
		my ($start, $end) = (max($woken, $from), min($came, $to));
		my $known = 0;

		next if $start >= $end;
		my @switches = @{$switches{$cpu} // []};
		for my $i (0 .. $#switches) {
			my ($us, undef, $task, $comm) = @{$switches[$i]};
			my $next = $switches[$i + 1];
			my $ns = 1000 * (min($next ? $next->[0] : $end, $end) - max($us, $start));

			next if $ns <= 0;
			$count++;
			next if $next && $next->[1] != $task;
			$runners{"$task $comm"} += $ns;
			$reclaiming{"$task $comm"} += $comm =~ /^(?:kswapd|ksoftirqd)/ ? $ns :
				1000 * work_between($task, max($us, $start), min($next ? $next->[0] : $end, $end));
			$known += $ns;
		}
		$runners{none} += 1000 * ($end - $start) - $known;
	}
	return (\%runners, $count // 0, \%reclaiming);
}

sub check_runners {
	my ($stall, $spans, $what) = @_;
	my ($said, $waited) = ({}, state_ns('cpu_wait', off_cpu($stall)));

	$said->{"$_->{tid} $_->{task}"} += $_->{total_ns} for @{$stall->{had_cpu}};
	$said->{none} = $stall->{had_cpu_not_recorded_ns};
	my $sum = sum0(values %$said);
	for (@{$stall->{had_cpu}}) {
		my $ns = $_->{reclaiming_ns} // 0;

		wrong("$what: $_->{task}-$_->{tid} reclaimed for $ns ns of $_->{total_ns}") if $ns > $_->{total_ns};
	}
	wrong("$what: $sum ns had the CPU in $waited ns of waits") if $sum != $waited;
	return unless $spans;
	my ($own, $count, $reclaiming) = runners_by_text($spans, $stall->{ts_ns} / 1000,
							 ($stall->{ts_ns} + $stall->{duration_ns}) / 1000);
	my %reclaiming = map { ("$_->{tid} $_->{task}" => $_->{reclaiming_ns} // 0) } @{$stall->{had_cpu}};
	wrong("$what: $_->[0] reclaimed for $_->[1] ns, by the text $_->[2] (+-$_->[3])")
		for differing(\%reclaiming, $reclaiming, 4000 * ($count + @$spans + 1));
	wrong("$what: $_->[0] had the CPU for $_->[1] ns, by the text $_->[2] (+-$_->[3])")
		for differing($said, $own, 2000 * ($count + @$spans));
	$runners += grep { $_ ne 'none' && $said->{$_} } keys %$said;
}

# The cgroups of tasks are those that the capture has.
my %cgroup_of = -e $text_file =~ s/trace\.txt$/tasks/r ?
	map { (split ' ')[0, 4] } lines_of($text_file =~ s/trace\.txt$/tasks/r) : ();

# The runners of the summary are those of the stalls, by name and cgroup.
sub check_summary_runners {
	my ($of, @stalls) = @_;
	my %own;

	for my $runner (map { @{$_->{had_cpu}} } grep { !$_->{task}{background} } @stalls) {
		my $name = $runner->{task} =~ s/^(kworker\/[^:]*):.*/$1/sr;

		wrong("$name-$runner->{tid} in ", $runner->{cgroup} // 'no cgroup', ", not $cgroup_of{$runner->{tid}}")
			if ($cgroup_of{$runner->{tid}} // $runner->{cgroup} // '') ne ($runner->{cgroup} // '');
		$own{$runner->{tid} ? "by $name in " . ($runner->{cgroup} // '') : 'idle'} += $runner->{total_ns};
	}
	my %said = map { ($_->{idle} ? 'idle' : "by $_->{task} in " . ($_->{cgroup} // '')) => $_->{total_ns} }
		@{$of->{had_cpu}};
	my $waited = sum0(map { state_ns('cpu_wait', off_cpu($_)) } grep { !$_->{task}{background} } @stalls);

	wrong("summary: $_->[0] had the CPU for $_->[1] ns, by the stalls $_->[2]")
		for differing(\%said, \%own, 0);
	wrong("summary: not those with most time first")
		if grep { $of->{had_cpu}[$_]{total_ns} > $of->{had_cpu}[$_ - 1]{total_ns} } 1 .. $#{$of->{had_cpu}};
	wrong("summary: who had the CPU does not make $waited ns")
		if sum0(values %said) + $of->{had_cpu_not_recorded_ns} != $waited;
}

# Where two tables of times differ by more than an error: [place, the one, the other, error].
sub differing {
	my ($said, $own, $error) = @_;

	return grep { abs($_->[1] - $_->[2]) > $error }
		map { [$_, $said->{$_} // 0, $own->{$_} // 0, $error] } sort keys %{{ %$said, %$own }};
}

# By how much, in all.
sub excess { return sum0(map { abs($_->[1] - $_->[2]) - $_->[3] } @{$_[0]}) }

# Where the program has other times than the text, and the tables of the text.
sub differences {
	my ($root, $stall, $spans) = @_;
	my (%sum, %shrinkers);

	spread($root, 'outside', 'itself', \%sum, \%shrinkers);
	my $error = 100 + 2 * delete $sum{error};
	my @differing = differing(said($stall), \%sum, $error);
	# Edges of the text are as late as records are.
	push @differing, differing(states_said($stall), states_by_text($root, $spans),
		2000 * (@$spans + 1) + 20_000 * grep { $_->[3] eq 'off_cpu' } @$spans)
		if $spans;
	return (\@differing, \%sum, \%shrinkers, $error);
}

sub functions_in {
	my ($node) = @_;

	return map { ($_->{pair} ? () : [$node, $_], functions_in($_)) } @{$node->{children}};
}

# Lets a function begin earlier: it takes the pairs before it that lie inside.
sub begin_at {
	my ($parent, $node, $start) = @_;
	my $list = $parent->{children};
	my ($at) = grep { $list->[$_] == $node } 0 .. $#$list;
	my $take = 0;

	$node->{start} = $start;
	$take++ while $take < $at && ($list->[$at - $take - 1]{middle} // 0) >= $start;
	unshift @{$node->{children}}, splice @$list, $at - $take, $take;
}

# A function whose record is late began and ended before its times by the text: it may have pairs and
# times off the CPU inside that lie before it, and not have those before its record. It is shifted if
# the program is then nearer to the text; before those that call it, which would leave it behind.
sub shift_late {
	my ($root, $stall, $spans) = @_;
	my ($differing) = differences($root, $stall, $spans);

	for my $late (reverse functions_in($root)) {
		my ($parent, $node) = @$late;
		my ($start, @outside) = ($node->{start}, @{$parent->{children}});
		my @inside = @{$node->{children}};
		my $best;

		last unless @$differing;
		my @middles = ((map { $_->{middle} // () } @{$parent->{children}}),
			       map { ($_->[0] + $_->[2]) / 2 } @{$spans // []});
		for my $to (map { ($_ - 0.001, $_ - 0.001 - $node->{ns} / 1000) } @middles) {
			next if $to >= $start || $to < $start - LATE;
			begin_at($parent, $node, $to);
			my ($now) = differences($root, $stall, $spans);

			($best, $differing) = ($to, $now) if excess($now) < excess($differing);
			$node->{start} = $start;
			@{$parent->{children}} = @outside;
			@{$node->{children}} = @inside;
		}
		next unless defined $best;
		begin_at($parent, $node, $best);
		$moved++;
	}
}

my ($compared, $apart) = (0, 0);
sub compare {
	my ($root, $stall) = @_;
	my $what = "$root->{name} of $root->{task} at " . $root->{us} / 1e6;
	my $spans = spans_in($root, $stall);
	my $said = said($stall);

	shift_late($root, $stall, $spans);
	my ($differing, $sum, $shrinkers, $error) = differences($root, $stall, $spans);
	check_sums($stall, $said, $what);
	check_runners($stall, $spans, $what);
	# A task that was off the CPU between its return and its record has the inside before it.
	if (@$differing && defined $root->{depth} &&
	    $root->{us} - ($stall->{ts_ns} + $stall->{duration_ns}) / 1000 > 100) {
		$moved++;
		$compared++;
		return;
	}
	check_cause($sum, $shrinkers, $stall, $error, $what);
	check_objects($root, $stall, $what);
	wrong("$what: in progress: ", $stall->{incomplete_reason} // 'no')
		if ($root->{wait} && $root->{wait}{part} ? 1 : 0) !=
		   (($stall->{incomplete_reason} // '') eq 'in_progress');
	check_facts($root, $stall, $what);
	wrong("$what: $_->[0] is $_->[1] ns, by the text $_->[2] (+-$_->[3])") for @$differing;
	$apart += grep { $said->{$_} && $_ ne 'outside/itself' } keys %$said;
	$split += grep { $_ } values %{states_said($stall)} if $spans;
	$compared++;
}

sub same {
	my ($root, $stall) = @_;

	return 0 if abs($root->{ns} - $stall->{duration_ns}) > $root->{error} + 1;
	return abs($stall->{ts_ns} - $root->{wait}{start}) < $root->{error} &&
		abs($stall->{duration_ns} - $root->{ns}) < $root->{error} &&
		$stall->{role} eq wait_reason_title($root->{wait}{reason}) if $root->{wait};
	return 1 if $root->{pair};
	# Between its return and its record another task may run for a while.
	my $late = $root->{us} - ($stall->{ts_ns} + $stall->{duration_ns}) / 1000;
	return $stall->{function} eq $root->{name} && $late > -2 && $late < 50_000;
}

# Where a function that is still open has many inside it, the program folds them: their sum is one
# stall, incomplete. The same of the text, as one root with them inside.
sub fold {
	my ($roots, $stall) = @_;
	my $end = ($stall->{ts_ns} + $stall->{duration_ns}) / 1000;
	my ($last) = grep { abs($roots->[$_]{us} - $end) < 2 } 0 .. $#$roots;
	my ($ns, $error) = (0, 1);

	return if !defined $last || !$roots->[$last]{depth} || grep { same($_, $stall) } @$roots;
	for my $first (reverse 0 .. $last) {
		my $root = $roots->[$first];

		$ns += $root->{ns};
		$error += $root->{error};
		next if $ns < $stall->{duration_ns} - $error;
		splice @$roots, $first, $last + 1 - $first, {
			%$root, from => $root->{start}, us => $roots->[$last]{us}, ns => $ns,
			error => $error, children => [@$roots[$first .. $last]],
		} if $first < $last && $ns < $stall->{duration_ns} + $error;
		return;
	}
}

# Which of the objects of the summary count the waits of a task.
my %of_background = map { $_->{tid} => 1 } @{$summary->{kernel_threads}};

sub places_of {
	my ($task) = @_;
	my $tid = $task =~ s/^idle.*/0/r;

	return 'background' if $of_background{$tid};
	return ('stalls', "tasks $tid", defined $cgroup_of{$tid} ? "cgroups $cgroup_of{$tid}" : ());
}

# Sleeps for I/O that nothing else counts, where it is known which of them are refaults. Those of tasks are not told.
sub sleeps_alone {
	return if !-e $text_file =~ s,trace\.txt$,events/allocfilt/refault/format,r;
	return map {
		my $sleep = $sleeps{$_};

		$sleep->{within} || $records[$_]{depth} ? () :
			{ %$sleep, ns => $sleep->{wait_ns}, reason => $sleep->{refault} ? 'refault_not_in_psi' : 'io' };
	} sort { $a <=> $b } keys %sleeps;
}

sub check_waits {
	my %own;

	for my $wait (@waits, sleeps_alone()) {
		my $long = $wait->{ns} >= $threshold * 1000;

		for my $place (places_of($wait->{task})) {
			my $sums = $own{$place} //= {};

			if ($wait->{in_progress}) {
				next if $place =~ / /;    # of the run alone
				$sums->{in_progress}++;
				$sums->{in_progress_ns} += $wait->{ns};
				next;
			}
			my @sums = $wait->{reason} eq 'io' ? $sums->{io} //= {} :
				   ($sums, $sums->{reasons}{$wait->{reason}} //= {});

			next if $wait->{reason} eq 'io' && $place =~ /^tasks/;
			for my $sum (@sums) {
				$sum->{count}++;
				$sum->{total_ns} += $wait->{ns};
				$sum->{long_count} += $long;
				$sum->{long_ns} += $long ? $wait->{ns} : 0;
				$sum->{error} += $wait->{error} // 0;
			}
			$sums->{began_before} += $wait->{part} // 0;
		}
	}
	for my $object (@$summary{qw(stalls background)}, map { @{$summary->{$_}} } qw(tasks cgroups)) {
		my ($place) = grep { ref $summary->{$_} eq 'HASH' && $summary->{$_} == $object } qw(stalls background);

		$place //= defined $object->{cgroup} ? "cgroups $object->{cgroup}" : "tasks $object->{tid}";
		my $own = delete $own{$place} // {};
		my $said = $object->{memory_waits} // {};
		my %said = map { $_->{reason} => $_ } @{$said->{reasons}};
		my @reasons = sort { $own->{reasons}{$b}{total_ns} <=> $own->{reasons}{$a}{total_ns} }
			keys %{$own->{reasons}};

		wrong("$place: memory waits ", $object->{memory_waits} ? '' : 'not ', 'told')
			if !@waits != !$object->{memory_waits};
		wrong("$place: reasons: ", join ' ', map { $_->{reason} } @{$said->{reasons}})
			if "@reasons" ne join ' ', map { $_->{reason} } @{$said->{reasons}};
		$said{'other I/O'} = $said->{other_io} // {};
		$own->{reasons}{'other I/O'} = $own->{io} // {};
		for my $reason ('', @reasons, 'other I/O') {
			my ($program, $text) = $reason ? ($said{$reason}, $own->{reasons}{$reason}) : ($said, $own);

			for my $key (qw(count total_ns long_count long_ns), $reason ? () :
				qw(began_before in_progress in_progress_ns)) {
				wrong("$place: $reason $key of memory waits: ", $program->{$key} // 0,
				      ', by the text ', $text->{$key} // 0)
					if abs(($program->{$key} // 0) - ($text->{$key} // 0)) >
						($key =~ /_ns$/ ? $text->{error} // 0 : 0);
			}
		}
	}
	# It has ten tasks at most.
	delete @own{grep { /^tasks/ } keys %own} if @{$summary->{tasks}} == 10;
	wrong("the summary has no memory waits of $_") for grep { $own{$_}{count} } sort keys %own;
}

check_waits() unless $goes_on;
check_summary_runners($summary->{stalls}, @objects) unless $goes_on;
my %roots;
push @{$roots{$_->{task} =~ s/^idle.*/0/r}}, $_ for @roots;
for my $task (sort keys %roots) {
	my $list = $stalls{$task} // [];

	fold($roots{$task}, $_) for grep { $_->{incomplete} } @$list;
	for my $root (@{$roots{$task}}) {
		my ($at) = grep { same($root, $list->[$_]) } 0 .. $#$list;

		if (!defined $at) {
			my $start = $root->{us} - $root->{ns} / 1000;
			my $inside = ($start + $root->{us}) / 2 >= ($ends_after{$task} // 'inf') / 1000;

			# The text may lack its begin, or the end of the function around it.
			next if $goes_on && ($start <= $from / 1000 + LATE || $inside || $root->{within_open});
			wrong("no stall: $root->{name} of $root->{task} at ", $root->{us} / 1e6,
			      ", $root->{ns} ns");
			next;
		}
		my ($stall) = splice @$list, $at, 1;

		compare($root, $stall) if $stall->{ts_ns} > $from;
	}
}
for my $left (map { @$_ } values %stalls) {
	# The text does not show when a sleep with a late record began, nor if it was for the page before it.
	if (grep { is_unsure_sleep($left, $_) } values %sleeps) {
		$moved++;
		next;
	}
	wrong("the text has no such stall: ", encode_json($left)) if $left->{ts_ns} > $from;
}
wrong("$moved late records in $compared stalls, $split times off the CPU")
	if $moved * 100 > $compared + $split + 100;

finish("$compared stalls, $apart times in phases other than outside reclaim, $causes causes, $named with a detail, agree, ",
	@waits ? @waits . ' memory waits, ' : '',
	$split ? "$split times off the CPU, $runners tasks that had it, " : '',
	$moved ? "$moved records late, " : '',
	"facts: ", join(', ', map { "$_ of $known{$_}" } sort keys %known));
