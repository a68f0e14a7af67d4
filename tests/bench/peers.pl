#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# doc/peers.md, and its table in the README, from what tests/bench/peers left:
#
#   tests/bench/peers.pl DIR...     one for each kernel, as build/peers/6.1
#
# The first column of results counts what `felt` itself felt by its own clock. Waits are compared by task
# and in order: perf and bpftrace have clocks of their own, and drsnoop has seconds.

use strict;
use warnings;
use FindBin;
use List::Util qw(max min sum0);
use lib "$FindBin::Bin/../replay";
use Json;

use constant LONG => 1;	# ms
my @troubles = qw(refault high swap short huge);
my @peers = qw(PSI drsnoop funclatency offcputime bpftrace trace-cmd perf-record perf-trace pair);
my %title = (pair => 'the scripts of 2016', 'perf-record' => '`perf record`', 'perf-trace' => '`perf trace`',
	'trace-cmd' => '`trace-cmd record`', PSI => 'PSI', allocfilt => '**allocfilt**');
my $allocfilt = $ENV{ALLOCFILT} // 'build/allocfilt';

sub title { return $title{ $_[0] } // "`$_[0]`" }

sub lines
{
	open my $file, '<', $_[0] or return;
	return <$file>;
}

# The tasks: $felt->{TID} has the name of the trouble and what the task felt, ms.
sub felt
{
	my %felt;

	for (lines("$_[0]/felt")) {
		my ($name, $tid, $count, $ns) = split;

		$felt{$tid} = { name => $name, count => $count, ms => $ns / 1e6 };
	}
	return \%felt;
}

sub command
{
	my ($capture, @options) = @_;

	open my $pipe, '-|', $allocfilt, qw(-q -c /dev/null -t 1ms -s), $capture, @options
		or die "$allocfilt: $!\n";
	my @lines = <$pipe>;
	close $pipe or die "$allocfilt -s $capture: exit status $?\n";
	return @lines;
}

# Pairs of events, given in order as [time in s, tid, name]; of each pair {tid, ms, kind}.
my %begins = (mm_vmscan_direct_reclaim_begin => 'direct', mm_vmscan_memcg_reclaim_begin => 'memcg',
	mm_compaction_begin => 'compaction', memory_wait_begin => 'wait');
my %ends = map { s/_begin$/_end/r => $begins{$_} } keys %begins;

sub pairs
{
	my (%depth, %start, @pairs);

	for (@_) {
		my ($time, $tid, $name) = @$_;

		if (my $kind = $begins{$name}) {
			$depth{$kind, $tid}++;
			$depth{$kind, $tid} = 1 if $kind ne "wait"; # only these nest; an end was lost
			$start{$kind, $tid} = $time if $depth{$kind, $tid} == 1;
		} elsif ($kind = $ends{$name}) {
			next if !$depth{$kind, $tid} || --$depth{$kind, $tid};
			push @pairs, { tid => $tid, ms => ($time - $start{$kind, $tid}) * 1e3, kind => $kind, end => $time * 1e3 };
		}
	}
	return @pairs;
}

# Pairs and windows of what the kernel's own text of function_graph has.
sub graph_text
{
	my (@events, @windows);

	for (@_) {
		my ($time, $tid, $rest) = /^\s*([\d.]+) \|\s+\d+\)\s+\S.*?-(\d+)\s+\| (.*)/ or next;

		if ($rest =~ m{/\* (\w+): }) {
			push @events, [$time, $tid, $1];
		} elsif ($rest =~ m{([\d.]+) us +\|\s+\} /\* ([\w.]+)}) {
			push @windows, { tid => $tid, ms => $1 / 1e3, kind => $2, end => $time * 1e3 };
		}
	}
	return (pairs(@events), @windows);
}

# The waits that each peer tells: {tid, ms, kind}, and end where it has a time. Events have a time in s, a tid, a name.
my %events = (
	'trace-cmd' => [qr/-(?<tid>\d+)\s+\[\d+\]\s+(?<time>[\d.]+): (?<name>\w+):/, 'trace-cmd.txt', 1],
	'perf-record' => [qr/\s(?<tid>\d+) \[\d+\]\s+(?<time>[\d.]+):\s+\w+:(?<name>\w+):/, 'perf-record.txt', 1],
	'perf-trace' => [qr{^\s*(?<time>[\d.]+) .*/(?<tid>\d+) \w+:(?<name>\w+)\(}, 'perf-trace.err', 1e3],
);

sub told_by
{
	my ($peer, $dir) = @_;

	if (my $events = $events{$peer}) {
		my ($pattern, $file, $unit) = @$events;

		return pairs(map { /$pattern/ ? [$+{time} / $unit, $+{tid}, $+{name}] : () } lines("$dir/$file"));
	}
	return graph_text(lines("$dir/pair.txt")) if $peer eq 'pair';
	return offcputime($dir) if $peer eq 'offcputime';
	return map {
		/^[\d:]+\s+\S.*?\s+(\d+)\s+([\d.]+)\s+\d+$/ ? { tid => $1, ms => $2, kind => 'direct' } : ()
	} lines("$dir/drsnoop.txt") if $peer eq 'drsnoop';
	return map {
		/^wait (\d+) (\d+) (\d+) / ?
			{ tid => $2, ms => $3 / 1e6, kind => 'wait', end => $1 / 1e6 } : ()
	} lines("$dir/bpftrace.txt");
}

# Each stack has one sum. Stacks of page faults, of memory.high and of reclaim count, not those where felt pauses.
sub offcputime
{
	my ($tid, $stack, @sums) = (0, '');

	for (lines("$_[0]/offcputime.txt")) {
		if (/^\s+-\s+.*\((\d+)\)$/) {
			$tid = $1;
		} elsif (/^\s+(\d+)$/) {
			my $ms = $1 / 1e3;

			push @sums, { tid => $tid, ms => $ms, kind => "off-CPU" }
				if $stack =~ /page_fault|over_high|reclaim|swap/;
			$stack = '';
		} else {
			$stack .= $_;
		}
	}
	return @sums;
}

# funclatency's calls of 1024 us and more
sub long_calls
{
	return sum0(map { /^\s*(\d+) -> \d+\s+: (\d+)/ && $1 >= 1024 ? $2 : () } lines("$_[0]/funclatency.txt"));
}

# The cost of each peer, ns: the difference from the runs without it before and after. Its own start and memory, too.
sub cost
{
	my (%cost, %last, %with);

	for (lines($_[0])) {
		my ($state, $what, $value) = split;

		if ($state ne "without") {
			$cost{$state}{$what} = $value;
			$with{$what} = $state;
			next;
		}
		if (my $peer = delete $with{$what}) {
			$cost{$peer}{$what} -= ($last{$what} + $value) / 2;
		}
		$cost{without}{$what} //= $value;
		$last{$what} = $value;
	}
	return \%cost;
}

# read_kernel DIR: all that a document needs of it
sub read_kernel
{
	my ($dir) = @_;
	my %kernel = (name => $dir =~ s,.*/,,r);

	for my $mode (qw(beside pair)) {
		next if !-e "$dir/$mode/felt";
		my $run = $kernel{$mode} = { dir => "$dir/$mode", felt => felt("$dir/$mode") };
		my @stalls = grep { $_->{type} eq 'stall' } map { filled(decode_json($_)) }
			command("$dir/$mode/capture", qw(-f json));

		$run->{ours} = [graph_text(command("$dir/$mode/capture", qw(-f trace)))];
		$run->{told}{allocfilt} = [map { { tid => $_->{task}{tid}, ms => $_->{duration_ns} / 1e6 } } @stalls];
		$run->{stalls} = \@stalls;
		for my $peer (grep { $_ !~ /PSI|funclatency/ && -e "$dir/$mode/$_.txt" } @peers) {
			$run->{told}{$peer} = [told_by($peer, "$dir/$mode")];
		}
		for my $name (@troubles) {
			my $some = join "", lines("$dir/$mode/$name.pressure");

			$run->{psi}{$name} = $some =~ /^some .*total=(\d+)/ ? $1 / 1e3 : 0;
		}
	}
	$kernel{cost} = cost("$dir/cost/cost");
	$kernel{name} = $kernel{beside}{stalls} ? release($dir) : $kernel{name};
	return \%kernel;
}

sub release
{
	for (lines("$_[0]/beside/capture/capture")) {
		return $1 if /\b(\d+\.\d+)\.\d/;
	}
	return $_[0] =~ s,.*/,,r;
}

# Waits of 1 ms and more of the tasks in %$felt, by trouble: their ms and their number
sub by_trouble
{
	my ($felt, $told) = @_;
	my %sum;

	for (@$told) {
		my $task = $felt->{ $_->{tid} } or next;

		next if $_->{ms} < LONG;
		$sum{ $task->{name} }{ms} += $_->{ms};
		$sum{ $task->{name} }{count}++;
	}
	return \%sum;
}

# The clock of @$theirs against ours, ms: most waits of one task and one length, within 5 %, end so far apart.
sub offset
{
	my ($ours, $theirs) = @_;
	my (%of_task, %votes);

	push @{ $of_task{ $_->{tid} } }, $_ for @$ours;
	for my $their (@$theirs) {
		for my $our (@{ $of_task{ $their->{tid} } // [] }) {
			$votes{ sprintf '%.0f', $our->{end} - $their->{end} }++
				if abs($our->{ms} - $their->{ms}) <= 0.05 * $our->{ms};
		}
	}
	return (sort { $votes{$b} <=> $votes{$a} || $a <=> $b } keys %votes)[0] // 0;
}

# drsnoop's waits in the order of ours, which have a time
sub give_times
{
	my ($ours, $theirs) = @_;
	my %next;

	for my $their (@$theirs) {
		my @left = grep { $_->{tid} == $their->{tid} && $_->{kind} eq $their->{kind} } @$ours;
		my $from = $next{ $their->{tid} } // 0;
		my ($at) = grep { abs($left[$_]{ms} - $their->{ms}) <= 0.05 * $their->{ms} } $from .. $#left;

		next if !defined $at;
		$their->{end} = $left[$at]{end};
		$next{ $their->{tid} } = $at + 1;
	}
}

# Long waits that a peer tells of these tasks: how many there are, how many end with one of ours, how many of these
# are as long, within 5 %, and both sums.
sub compare
{
	my ($run, $peer) = @_;
	my @ours = grep { $run->{felt}{ $_->{tid} } && $_->{ms} >= LONG } @{ $run->{ours} };
	my @theirs = grep { $run->{felt}{ $_->{tid} } && $_->{ms} >= LONG } @{ $run->{told}{$peer} };
	my %result = (theirs => scalar @theirs, both => 0, agree => 0, their_ms => 0, our_ms => 0);
	my $offset;

	give_times(\@ours, \@theirs) if $peer eq 'drsnoop';
	@theirs = grep { defined $_->{end} } @theirs;
	$offset = $peer eq 'drsnoop' ? 0 : offset(\@ours, \@theirs);
	$_->{end} += $offset for @theirs;
	for my $their (@theirs) {
		my @same = sort { abs($a->{ms} - $their->{ms}) <=> abs($b->{ms} - $their->{ms}) }
			grep { $_->{tid} == $their->{tid} && abs($_->{end} - $their->{end}) <= 2 } @ours;

		next if !@same;
		$result{both}++;
		$result{their_ms} += $their->{ms};
		$result{our_ms} += $same[0]{ms};
		$result{agree}++ if abs($same[0]{ms} - $their->{ms}) <= 0.05 * $same[0]{ms};
	}
	$run->{timed}{$peer} = \@theirs;
	return \%result;
}

# Our stalls of these tasks: in how many a peer has a wait, and how much of their time that is.
sub covered
{
	my ($run, $peer) = @_;
	my %result = (stalls => 0, told => 0, ms => 0, told_ms => 0);

	for my $stall (@{ $run->{stalls} }) {
		next if !$run->{felt}{ $stall->{task}{tid} };
		my ($from, $ms) = ($stall->{ts_ns} / 1e6, $stall->{duration_ns} / 1e6);
		my $told = sum0(map { max(0, min($_->{end}, $from + $ms) - max($_->{end} - $_->{ms}, $from)) }
			grep { $_->{tid} == $stall->{task}{tid} } @{ $run->{timed}{$peer} });

		$result{stalls}++;
		$result{ms} += $ms;
		$result{told}++ if $told;
		$result{told_ms} += min($told, $ms);
	}
	return \%result;
}

# A row of a table.
sub row { return '| ' . join(' | ', map { $_ // '' } @_) . " |\n" }
sub heading { return row(@_) . '|' . '---|' x @_ . "\n" }

sub percent { return $_[1] ? sprintf('%.0f %%', 100 * $_[0] / $_[1]) : '-' }

# Where a peer took part: in the run of its own, or with the others.
sub run_of
{
	my ($kernel, $peer) = @_;

	return $kernel->{ $peer eq 'pair' ? 'pair' : 'beside' };
}

# The ms that a peer tells, by trouble
sub told_by_trouble
{
	my ($run, $peer) = @_;

	return map { $run->{psi}{$_} } @troubles if $peer eq 'PSI';
	my $sums = by_trouble($run->{felt}, $run->{told}{$peer} // []);
	return map { $sums->{$_}{ms} // 0 } @troubles;
}

sub felt_by_trouble
{
	my ($run) = @_;
	my %felt = map { $_->{name} => $_->{ms} } values %{ $run->{felt} };

	return @felt{@troubles};
}

sub told_table
{
	my ($kernel) = @_;
	my $run = $kernel->{beside};
	my @felt = felt_by_trouble($run);
	my $text = "On $kernel->{name}:\n\n" . heading('', @troubles, 'stalls', 'their time');

	$text .= row('felt, ms', map { sprintf '%.0f', $_ } @felt) =~ s/\n$/ | |\n/r;
	for my $peer ('allocfilt', grep { $_ ne 'funclatency' } @peers) {
		my $its = run_of($kernel, $peer) or next;
		my @its_felt = felt_by_trouble($its);
		my @told = told_by_trouble($its, $peer);
		my $covered = $its->{timed}{$peer} ? covered($its, $peer) : undef;

		$text .= row(title($peer), (map { percent($told[$_], $its_felt[$_]) } 0 .. $#troubles),
			$peer eq 'allocfilt' ? (scalar(grep { $its->{felt}{ $_->{task}{tid} } } @{ $its->{stalls} }), '100 %')
			: $covered ? ($covered->{told}, percent($covered->{told_ms}, $covered->{ms})) : ('', ''));
	}
	return "$text\n";
}

my %measures = (
	drsnoop => 'direct reclaim', bpftrace => 'memory waits', 'trace-cmd' => 'direct and memcg reclaim, compaction',
	'perf-record' => 'the same', 'perf-trace' => 'direct and memcg reclaim', pair => 'direct reclaim, and functions',
);

sub duration_table
{
	my ($kernel) = @_;
	my $text = '';

	for my $peer (grep { $measures{$_} } @peers) {
		my $run = run_of($kernel, $peer) or next;
		my $same = $run->{compared}{$peer};

		$text .= row(title($peer), $kernel->{name}, $measures{$peer}, $same->{theirs}, $same->{both}, $same->{agree},
			$same->{our_ms} ? sprintf('%.3f', $same->{their_ms} / $same->{our_ms}) : '-');
	}
	return $text;
}

sub cost_table
{
	my ($kernel) = @_;
	my $cost = $kernel->{cost};
	my $text = '';

	for my $peer ('allocfilt', grep { $_ ne 'PSI' } @peers) {
		my $its = $cost->{$peer} or next;
		my $run = run_of($kernel, $peer);

		$text .= row(title($peer), $kernel->{name}, sprintf('%.1f', $its->{'start-ms'} / 1000),
			sprintf('%.0f', $its->{'resident-kib'} / 1024),
			(map { sprintf '%+.0f', $its->{$_} } qw(fault switch reclaim)), lines_of($run, $peer));
	}
	return row('without', $kernel->{name}, '', '', (map { sprintf '%.0f', $cost->{without}{$_} } qw(fault switch reclaim)), '')
		. $text;
}

# The lines that a reader gets of a run. Those of allocfilt are its list and its summary.
sub lines_of
{
	my ($run, $peer) = @_;

	return '' if !$run;
	return scalar command("$run->{dir}/capture", qw(-f list)) if $peer eq 'allocfilt';
	my @lines = lines("$run->{dir}/$peer." . ($peer eq 'perf-trace' ? 'err' : 'txt'));
	return scalar @lines;
}

# Judged by reading what they print, not measured.
my @questions = (
	['PSI', 'how much time in all, for the machine and each cgroup', 'cgroup', '', '', '', 'yes', ''],
	['drsnoop', 'each direct reclaim', 'task', '', '', '', 'yes', ''],
	['funclatency', 'a histogram of one function', '', '', '', '', 'yes', ''],
	['offcputime', 'time asleep or waiting for a CPU, by stack', 'task', 'the stack', '', '', '', ''],
	['bpftrace', 'each wait', 'task', 'the stack', 'if the program asks', '', 'yes', ''],
	['trace-cmd', 'begin and end of reclaim and compaction, to be paired', 'task', 'the events in between', '', '', '', 'yes'],
	['perf-record', 'the same', 'task', 'the events in between; with `-g` stacks', '', '', '', 'yes'],
	['perf-trace', 'the same', 'task', 'the events in between', '', '', 'yes', ''],
	['pair', 'each slow function, and the shrinkers\' times', 'task', 'the functions inside', '', '', 'yes', ''],
	['allocfilt', 'each wait, from function to return', 'task, process, cgroup', 'phases, parts, shrinkers by file system, states',
		'whose memory was reclaimed, who had the CPU', 'remedies', 'yes', 'yes'],
);

sub question_table
{
	return heading('', 'tells', 'of whom', 'why', 'whose fault', 'what to change', 'live', 'kept for later')
		. join('', map { my ($peer, @answers) = @$_; row(title($peer), @answers) } @questions);
}

sub document
{
	my (@kernels) = @_;
	my $kernels = join ' and ', map { $_->{name} } @kernels;
	my $told = join '', map { told_table($_) } @kernels;
	my $durations = heading('', 'kernel', 'measures', 'its waits', 'also in allocfilt', 'within 5 %', 'sum, theirs to ours')
		. join '', map { duration_table($_) } @kernels;
	my $cost = heading('', 'kernel', 'start-up, s', 'memory, MiB', 'page fault', 'switch', 'reclaim', 'lines')
		. join '', map { cost_table($_) } grep { %{ $_->{cost} } } @kernels;
	my $bt = () = lines("tests/bench/peers.bt");
	my $lost = join "; ", map { "on $_->{name} " . lost($_->{beside}{dir}) } @kernels;
	my $calls = join ' and ', map { sprintf '%d of %d on %s', calls_of_ours($_), long_calls($_->{beside}{dir}), $_->{name} } @kernels;

	return <<"END" =~ s/\n\n\n+/\n\n/gr;
# Peers

Other programs tell something of waits for memory, too. `tests/bench/peers` runs them beside allocfilt, at the
same time and on the same five troubles, and makes this page. The kernels are Debian's $kernels; the programs
are those of Debian 12. Each machine has one CPU, 1 GiB and slow disks.

| trouble | |
|---|---|
| refault | 4 MiB at most for a cgroup (`memory.max`) that reads a mapped file of 5 MiB, over and over |
| high | a cgroup grows to 9 MiB, and its `memory.high` is 8 MiB |
| swap | 4 MiB at most for a cgroup that has 5 MiB, and swap on a slow disk |
| short | a task takes all memory but 28 MiB, and then fills, frees and reads files |
| huge | a task asks for huge pages of memory that is fragmented |
$durations
## Which of the waits each tells

A program suffers from each trouble, and takes down each of its own accesses to memory that took 1 ms or more
(felt). The columns with names of troubles are the waits of 1 ms or more of that task, as a share of this. PSI is
`memory.pressure` of its cgroup. The last two columns are of the stalls of these five tasks that allocfilt shows:
in how many the other program has a wait, and which part of their time that is.

$told
- **PSI** counts waits that are asleep or in reclaim, of any length. It costs nothing and is always on.
- **drsnoop** sees direct reclaim alone: not a cgroup at its limit, `memory.high`, swap-in, refault or compaction.
  It tells the reclaim of a throttled task, but not the sleep before it.
- **offcputime** sees time off the CPU, so not the reclaim and the compaction that a task does itself. Only stacks
  of page faults, reclaim and `memory.high` are counted here, which its reader would have to pick out. It
  had room for 65,536 stacks: with its default of 1,024 it lost most of them.
- **bpftrace** ran the program `tests/bench/peers.bt`: the two functions between which the kernel counts memory
  pressure. Whoever writes that program has to know them.
- **trace-cmd, perf** have the tracepoints of reclaim and compaction, which say nothing of swap-in, refault and
  `memory.high`. They print each begin and end; the pairs are made by `tests/bench/peers.pl`.
- **funclatency** has a histogram of one function, without tasks. It counts calls of the page
  allocator, and allocfilt shows of those from 1,024 us on $calls.
- **The scripts of 2016** (posted to linux-mm on 2016-09-11, the origin of allocfilt's output) ran alone beside an
  allocfilt without functions, as both take the function graph tracer at the top level. They know the page
  allocator by a name that 5.10 has and 6.1 has not, and know nothing of the limits of cgroups.

## The same waits, the same durations

Waits of 1 ms or more of the five tasks that the other program has, those that allocfilt has too (same task, same
end), and those of them whose durations agree within 5 %:

$durations
Records that were lost of buffers of 16 MiB, as the programs say: $lost.

## Which question each answers

${\ question_table() }
## Cost

Instructions, in a machine that takes one nanosecond for each: added to a page fault, to a switch of tasks, and to a
reclaim of a cgroup at its limit that reads a file. Start-up is the time until the program waits for records, and
memory is what is resident (all of its processes; kernel buffers are not counted). Lines are those that a reader
got of the run above: of allocfilt the list of all stalls, and the summary.

$cost
## Where they are better

- PSI costs nothing, is there on each machine, and has triggers. It is where to look first.
- bpftrace can be asked anything. Its program here has $bt lines, and tells most of the same time.
- perf has stacks of everything, and of user space; its recordings are what other programs read.
- drsnoop, trace-cmd and perf do not touch the page allocator or the switch of tasks.
- offcputime tells of every reason to sleep, not of memory alone.

## Not run

- compactsnoop of bpfcc compiles its program in the machine, and needs the headers of the running kernel.
END
}

# A line each: of both kernels, the shares of all that five tasks felt, and of waits that agree.
sub readme_table
{
	my (@kernels) = @_;
	my $text = heading("", "waits told", "as long, within 5 %", "page fault", "start-up");

	for my $peer (qw(allocfilt PSI drsnoop offcputime bpftrace trace-cmd perf-record pair)) {
		my @runs = grep { run_of($_, $peer) } @kernels or next;
		my $each = sub { my ($value) = @_; join ", ", map { $value->($_, run_of($_, $peer)) // () } @runs };

		$text .= row(title($peer),
			$each->(sub { percent(sum0(told_by_trouble($_[1], $peer)), sum0(felt_by_trouble($_[1]))) }),
			$each->(sub { my $same = $_[1]{compared}{$peer}; $same && "$same->{agree} of $same->{theirs}" }),
			$each->(sub { my $its = $_[0]{cost}{$peer}; $its && sprintf "%+.0f %%", 100 * $its->{fault} / $_[0]{cost}{without}{fault} }),
			$each->(sub { my $its = $_[0]{cost}{$peer}; $its && sprintf "%.1f s", $its->{"start-ms"} / 1000 }));
	}
	return $text;
}

sub put
{
	my ($name, $text) = @_;

	open my $file, ">", $name or die "$name: $!\n";
	print $file $text;
	close $file or die "$name: $!\n";
}

# Each buffer has 16 MiB.
sub lost
{
	my ($dir) = @_;
	my %lost = (
		allocfilt => ['(\d+) records lost', "allocfilt.err"],
		"trace-cmd" => ['(\d+) EVENTS DROPPED', "trace-cmd.txt"],
		"perf-record" => ['lost (\d+) ', "perf-record.err"],
		"perf-trace" => ['LOST (\d+) events', "perf-trace.err"],
	);

	return join ", ", map {
		my ($pattern, $file) = @{ $lost{$_} };
		title($_) . " " . sum0(map { /$pattern/ ? $1 : () } lines("$dir/$file"))
	} sort keys %lost;
}

# Windows of the page allocator, of all tasks: funclatency has no others.
sub calls_of_ours
{
	my ($kernel) = @_;

	return scalar grep { $_->{kind} =~ /^__alloc_(frozen_)?pages/ && $_->{ms} >= 1.024 } @{ $kernel->{beside}{ours} };
}

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin: $!\n";
my @kernels = map { read_kernel($_) } @ARGV ? @ARGV : glob 'build/peers/*';
for my $kernel (@kernels) {
	for my $peer (grep { $measures{$_} } @peers) {
		my $run = run_of($kernel, $peer) or next;
		$run->{compared}{$peer} = compare($run, $peer);
	}
}
put('doc/peers.md', document(@kernels));
put('README.md', join('', lines('README.md')) =~ s/(<!-- tests\/bench\/peers -->\n\n).*?\n\n/$1 . readme_table(@kernels) . "\n"/esr);
