#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tables of doc/peers.md, and that of the README, from what tests/bench/peers left:
#
#   tests/bench/peers.pl DIR...     one for each kernel, as build/peers/6.1
#
# A table stands below the comment with its name, up to the next empty line. All times are brought to the
# clock of allocfilt's records: those of `felt` by the wall clock, those of a peer by the distance at which
# most of its waits end together with one of allocfilt that is as long.

use strict;
use warnings;
use FindBin;
use List::Util qw(max min sum0);
use Time::Local qw(timegm);
use lib "$FindBin::Bin/../replay";
use Json;

use constant LONG => 1;	# ms
# The first reads of a file are no trouble of memory, and in no sum.
my @troubles = qw(refault first high swap short huge);
my ($REFAULT, $FIRST) = (0, 1);
my @peers = qw(PSI drsnoop funclatency offcputime bpftrace trace-cmd perf-record perf-trace pair);
my %title = (pair => 'the scripts of 2016', 'perf-record' => '`perf record`', 'perf-trace' => '`perf trace`',
	'trace-cmd' => '`trace-cmd`', PSI => 'PSI', allocfilt => '**allocfilt**', felt => 'the program itself');
my %measures = (
	felt => 'its accesses to memory', drsnoop => 'direct reclaim', bpftrace => 'memory waits',
	'trace-cmd' => 'direct and memcg reclaim, compaction', 'perf-record' => 'the same',
	'perf-trace' => 'direct and memcg reclaim', pair => 'direct reclaim, with throttling',
);
my $allocfilt = $ENV{ALLOCFILT} // 'build/allocfilt';

sub title { return $title{ $_[0] } // "`$_[0]`" }

sub lines
{
	open my $file, '<', $_[0] or return;
	return <$file>;
}

sub replay
{
	my ($capture, @options) = @_;

	open my $pipe, '-|', $allocfilt, qw(-q -c /dev/null -t 1ms -s), $capture, @options
		or die "$allocfilt: $!\n";
	my @lines = <$pipe>;
	close $pipe or die "$allocfilt -s $capture: exit status $?\n";
	return @lines;
}

sub wall_ms
{
	my ($year, $month, $day, $hour, $minute, $second) = $_[0] =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):([\d.]+)Z$/
		or die "no time: $_[0]\n";

	return timegm(0, $minute, $hour, $day, $month - 1, $year) * 1e3 + $second * 1e3;
}

# Waits are {tid, ms, end, kind}, end in ms. Accesses of 1 ms and more, as `felt` felt them, have the name of a trouble,
# or are first reads.
sub felt
{
	my ($dir, $wall) = @_;
	my ($name, $tid, @felt);

	for (lines("$dir/felt")) {
		my @words = split;

		($name, $tid) = @words if @words == 4;
		push @felt, { name => $words[2] // $name, tid => $tid, ms => $words[1] / 1e6,
			end => ($words[0] + $words[1]) / 1e6 - $wall } if @words < 4;
	}
	return \@felt;
}

# Pairs of events, given in order as [time in s, tid, name]
my %begins = (mm_vmscan_direct_reclaim_begin => 'direct', mm_vmscan_memcg_reclaim_begin => 'memcg',
	mm_compaction_begin => 'compaction', memory_wait_begin => 'wait');
my %kinds = map { $_ => 1 } values %begins;
my %ends = map { s/_begin$/_end/r => $begins{$_} } keys %begins;

sub pairs
{
	my (%depth, %start, @pairs);

	for (@_) {
		my ($time, $tid, $name) = @$_;

		if (my $kind = $begins{$name}) {
			$depth{$kind, $tid}++;
			$depth{$kind, $tid} = 1 if $kind ne 'wait'; # only these nest; an end was lost
			$start{$kind, $tid} = $time if $depth{$kind, $tid} == 1;
		} elsif ($kind = $ends{$name}) {
			next if !$depth{$kind, $tid} || --$depth{$kind, $tid};
			push @pairs, { tid => $tid, ms => ($time - $start{$kind, $tid}) * 1e3, kind => $kind, end => $time * 1e3 };
		}
	}
	return @pairs;
}

# Pairs and windows of the kernel's own text of function_graph
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

# Each stack has one sum. Stacks of page faults, of memory.high and of reclaim count, not those where felt pauses.
sub offcputime
{
	my ($tid, $stack, @sums) = (0, '');

	for (@_) {
		if (/^\s+-\s+.*\((\d+)\)$/) {
			$tid = $1;
		} elsif (/^\s+(\d+)$/) {
			my $ms = $1 / 1e3;

			push @sums, { tid => $tid, ms => $ms } if $stack =~ /page_fault|over_high|reclaim|swap/;
			$stack = '';
		} else {
			$stack .= $_;
		}
	}
	return @sums;
}

# Waits that each peer tells, by a function of its lines
my %told = (
	drsnoop => sub { map { /^[\d:]+\s+\S.*?\s+(\d+)\s+([\d.]+)\s+\d+$/ ? { tid => $1, ms => $2, kind => 'direct' } : () } @_ },
	bpftrace => sub { map { /^wait (\d+) (\d+) (\d+) / ? { tid => $2, ms => $3 / 1e6, end => $1 / 1e6 } : () } @_ },
	offcputime => \&offcputime,
	# With a loss, the events that they print beside a function are of another run of it. This one is called
	# within a memory wait.
	pair => sub { map { { %$_, kind => $_->{kind} =~ s/^try_to_free_pages$/wait/r } } grep { !$kinds{ $_->{kind} } } graph_text(@_) },
	'trace-cmd' => events(qr/-(?<tid>\d+)\s+\[\d+\]\s+(?<time>[\d.]+): (?<name>\w+):/, 1),
	'perf-record' => events(qr/\s(?<tid>\d+) \[\d+\]\s+(?<time>[\d.]+):\s+\w+:(?<name>\w+):/, 1),
	'perf-trace' => events(qr{^\s*(?<time>[\d.]+) .*/(?<tid>\d+) \w+:(?<name>\w+)\(}, 1e3),
);

# events PATTERN, UNIT: pairs of the lines that are like PATTERN, whose times are in seconds once divided by UNIT
sub events
{
	my ($pattern, $unit) = @_;

	return sub { pairs(map { /$pattern/ ? [$+{time} / $unit, $+{tid}, $+{name}] : () } @_) };
}

# Lines that a reader gets of a run; allocfilt prints the list of stalls and the summary
sub printed
{
	my ($dir, $peer) = @_;

	return replay("$dir/capture", qw(-f list)) if $peer eq 'allocfilt';
	return lines("$dir/$peer." . ($peer eq 'perf-trace' ? 'err' : 'txt'));
}

# read_run DIR: all that is told of one run
sub read_run
{
	my ($dir) = @_;
	my @json = map { filled(decode_json($_)) } replay("$dir/capture", qw(-f json));
	my @stalls = grep { $_->{type} eq 'stall' } @json;
	my %run = (dir => $dir, release => $json[0]{release} =~ s/^(\d+\.\d+).*/$1/r);

	$run{felt} = felt($dir, wall_ms($stalls[0]{time}) - $stalls[0]{ts_ns} / 1e6);
	$run{name}{ $_->{tid} } = $_->{name} for of_memory(@{ $run{felt} });
	$run{told}{allocfilt} = [map { { tid => $_->{task}{tid}, ms => $_->{duration_ns} / 1e6,
		end => ($_->{ts_ns} + $_->{duration_ns}) / 1e6 } } @stalls];
	# The summary adds up the memory waits that are no stalls, as they are shorter.
	$run{shorter}{ $run{name}{ $_->{tid} } // '' } += ($_->{memory_waits}{total_ns} - $_->{memory_waits}{long_ns}) / 1e6
		for grep { $_->{memory_waits} } @{ $json[-1]{tasks} };
	$run{shorter}{first} = sum0(map { $_->{memory_waits}{other_io}{long_ns} / 1e6 }
		grep { $_->{cgroup} eq '/refault' && $_->{memory_waits}{other_io} } @{ $json[-1]{cgroups} });
	$run{ours} = [grep { $run{name}{ $_->{tid} } } graph_text(replay("$dir/capture", qw(-f trace)))];
	for my $peer (grep { $told{$_} && -e "$dir/$_.txt" } @peers) {
		my @told = grep { $run{name}{ $_->{tid} } } $told{$peer}->(printed($dir, $peer));

		give_times($run{ours}, \@told) if $peer eq 'drsnoop';
		set_clock($run{ours}, \@told) if $peer ne 'drsnoop' && $peer ne 'offcputime';
		$run{told}{$peer} = \@told;
	}
	for (lines("$dir/start")) {
		my ($peer, @start) = split;

		$run{start}{$peer} = \@start;
	}
	return \%run;
}

sub of_memory { return grep { $_->{name} ne 'first' } @_ }
sub alike { return abs($_[0]{ms} - $_[1]{ms}) <= 0.05 * $_[0]{ms} }

sub set_clock
{
	my ($ours, $theirs) = @_;
	my (%of_task, %apart);

	push @{ $of_task{ $_->{tid} } }, $_ for grep { $_->{ms} >= LONG } @$ours;
	for my $their (grep { $_->{ms} >= LONG } @$theirs) {
		for my $our (@{ $of_task{ $their->{tid} } // [] }) {
			push @{ $apart{ sprintf '%.0f', $our->{end} - $their->{end} } }, $our->{end} - $their->{end} if alike($our, $their);
		}
	}
	my ($most) = sort { @$b <=> @$a } values %apart;
	$most = $most ? (sort { $a <=> $b } @$most)[@$most / 2] : 0;
	$_->{end} += $most for @$theirs;
}

# drsnoop has seconds: its long waits have the times of those of ours that come next and are as long.
sub give_times
{
	my ($ours, $theirs) = @_;
	my %next;

	for my $their (grep { $_->{ms} >= LONG } @$theirs) {
		my @left = grep { $_->{tid} == $their->{tid} && $_->{kind} eq $their->{kind} && $_->{ms} >= LONG } @$ours;
		my $from = $next{ $their->{tid} } // 0;
		my ($at) = grep { alike($left[$_], $their) } $from .. min($from + 4, $#left);

		next if !defined $at;
		$their->{end} = $left[$at]{end};
		$next{ $their->{tid} } = $at + 1;
	}
}

# How much of each of @$waits, ms, is in waits of @$told
sub parts_told
{
	my ($waits, $told) = @_;
	my %of_task;

	push @{ $of_task{ $_->{tid} } }, $_ for grep { defined $_->{end} } @$told;
	return map {
		my ($from, $to) = ($_->{end} - $_->{ms}, $_->{end});

		min($_->{ms}, sum0(map { max(0, min($_->{end}, $to) - max($_->{end} - $_->{ms}, $from)) }
			@{ $of_task{ $_->{tid} } // [] }));
	} @$waits;
}

# Long waits that a peer tells: how many there are, how many end together with one of ours, how many of these are
# as long, and both sums
sub compare
{
	my ($run, $peer) = @_;
	my @ours = grep { $_->{ms} >= LONG } @{ $peer eq 'felt' ? $run->{told}{allocfilt} : $run->{ours} };
	my @theirs = grep { $_->{ms} >= LONG && (!$_->{kind} || $kinds{ $_->{kind} }) }
		$peer eq 'felt' ? of_memory(@{ $run->{felt} }) : @{ $run->{told}{$peer} };
	my %result = (theirs => scalar @theirs, both => 0, agree => 0, their_ms => 0, our_ms => 0);

	for my $their (grep { defined $_->{end} } @theirs) {
		my ($same) = sort { abs($a->{ms} - $their->{ms}) <=> abs($b->{ms} - $their->{ms}) }
			grep { $_->{tid} == $their->{tid} && abs($_->{end} - $their->{end}) <= 1 } @ours or next;

		$result{both}++;
		$result{agree}++ if alike($same, $their);
		$result{their_ms} += $their->{ms};
		$result{our_ms} += $same->{ms};
	}
	return \%result;
}

sub row { return '| ' . join(' | ', map { $_ // '' } @_) . " |\n" }
sub heading { return row(@_) . '|' . '---|' x @_ . "\n" }
sub rounded { return sprintf '%.0f', $_[0] }
sub percent { return $_[1] ? sprintf('%.0f %%', 100 * $_[0] / $_[1]) : '-' }

# The ms of each trouble that a peer tells: of what was felt, or of all where it has no times
sub told_by_trouble
{
	my ($run, $peer) = @_;
	my %sum;

	if ($peer eq 'PSI') {
		%sum = map { join('', lines("$run->{dir}/$_.pressure")) =~ /^some .*total=(\d+)/ ? ($_ => $1 / 1e3) : () } @troubles;
	} elsif ($peer eq 'offcputime') {
		$sum{ $run->{name}{ $_->{tid} } } += $_->{ms} for @{ $run->{told}{$peer} };
	} else {
		my @parts = $peer eq 'felt' ? map { $_->{ms} } @{ $run->{felt} } : parts_told($run->{felt}, $run->{told}{$peer});

		$sum{ $_->{name} } += shift @parts for @{ $run->{felt} };
	}
	return map { $sum{$_} // 0 } @troubles;
}

# Who has only sums does not tell first reads from others.
sub has_sums { return $_[0] =~ /^(PSI|offcputime)$/ }

# shares PEER, TOLD, FELT: of each trouble, and of all
sub shares
{
	my ($peer, $told, $felt) = @_;
	my @felt = @$felt;
	my $all = sum0(@$felt) - (has_sums($peer) ? 0 : $felt->[$FIRST]);
	my $sum = sum0(@$told) - (has_sums($peer) ? 0 : $told->[$FIRST]);

	$felt[$REFAULT] += $felt[$FIRST] if has_sums($peer);
	return (map({ $_ != $FIRST || !has_sums($peer) ? percent($told->[$_], $felt[$_]) : 'with these' } 0 .. $#troubles),
		percent($sum, $all));
}

sub told_rows
{
	my ($run, $of_pair) = @_;
	my @felt = told_by_trouble($run, 'felt');
	my @of_memory = of_memory(@{ $run->{felt} });
	my @stalls = grep { $run->{name}{ $_->{tid} } } @{ $run->{told}{allocfilt} };
	my $text = $of_pair ? '' : row('felt', $run->{release}, (map { sprintf '%.0f ms', $_ } @felt, sum0(@felt) - $felt[$FIRST]),
		scalar @of_memory, scalar @stalls);

	for my $peer ($of_pair ? 'pair' : ('allocfilt', grep { !/^(funclatency|pair)$/ } @peers)) {
		my @told = told_by_trouble($run, $peer);
		my @counts = has_sums($peer) ? ('', '')
			: map { scalar grep { $_ } parts_told($_, $run->{told}{$peer}) } \@of_memory, \@stalls;

		$text .= row(title($peer), $run->{release}, shares($peer, \@told, \@felt), @counts);
		next if $peer ne 'allocfilt' || $of_pair;
		$told[$_] += $run->{shorter}{ $troubles[$_] } // 0 for 0 .. $#troubles;
		$text .= row('and its shorter waits and other I/O', $run->{release}, shares($peer, \@told, \@felt), '', '');
	}
	return $text;
}

sub duration_rows
{
	my ($run, @of) = @_;

	return join '', map {
		my $same = compare($run, $_);

		row(title($_), $run->{release}, $measures{$_}, $same->{theirs}, $same->{both}, $same->{agree},
			$same->{our_ms} ? sprintf('%.3f', $same->{their_ms} / $same->{our_ms}) : '-');
	} grep { $measures{$_} && ($_ eq 'felt' || $run->{told}{$_}) } @of;
}

# How many records each says that it has lost, of buffers of 16 MiB
my %lost = (
	allocfilt => ['(\d+) records lost', 'record.err'], 'trace-cmd' => ['(\d+) EVENTS DROPPED', 'trace-cmd.txt'],
	'perf-record' => ['lost (\d+) ', 'perf-record.err'], 'perf-trace' => ['LOST (\d+) events', 'perf-trace.err'],
	pair => ['(?:overrun|dropped events): (\d+)', 'stats'],
);

sub lost
{
	my ($dir, $peer) = @_;
	my ($pattern, $file) = @{ $lost{$peer} // return '' };

	return sum0(map { /$pattern/ ? $1 : () } lines("$dir/$file"));
}

sub run_rows
{
	my ($run, @of) = @_;

	return join '', map {
		my $peer = $_;
		my ($ms, $kib) = @{ $run->{start}{$peer} };
		my @left = map { s/\s+$//r } lines("$run->{dir}/$peer.left");

		row(title($peer), $run->{release}, $ms < 50 ? '< 0.1' : sprintf('%.1f', $ms / 1e3), sprintf('%.0f', $kib / 1024),
			scalar(() = printed($run->{dir}, $peer)), lost($run->{dir}, $peer),
			!-e "$run->{dir}/$peer.left" ? '' : @left > 3 ? @left . ' settings' : join(', ', @left) || 'nothing');
	} grep { $run->{start}{$_} } @of;
}

# The cost of each peer, ns: the difference from the runs without it before and after
sub cost
{
	my (%cost, %last, %with);

	for (lines($_[0])) {
		my ($state, $what, $value) = split;

		if ($state ne 'without') {
			$cost{$state}{$what} = $value;
			$with{$what} = $state;
			next;
		}
		if (my $peer = delete $with{$what}) {
			$cost{$peer}{$what} -= ($last{$what} + $value) / 2;
		}
		push @{ $cost{without}{$what} }, $value;
		$last{$what} = $value;
	}
	return \%cost;
}

sub cost_rows
{
	my ($kernel) = @_;
	my $cost = $kernel->{cost};

	return join '', map {
		my $peer = $_;

		row($peer eq 'without' ? 'none' : title($peer), $kernel->{beside}{release}, map {
			$peer eq 'without' ? sprintf('%.0f to %.0f', min(@{ $cost->{$peer}{$_} }), max(@{ $cost->{$peer}{$_} }))
				: sprintf('%+d', rounded($cost->{$peer}{$_}))
		} qw(fault switch reclaim));
	} grep { $cost->{$_} } 'without', 'allocfilt', @peers;
}

# As they were started on the first kernel that has them
sub command_rows
{
	my %seen;

	return join '', map {
		my $run = $_;

		map {
			my $command = join('', lines("$run->{dir}/$_.command")) =~ s/.*stdbuf -oL //r =~ s/\s+$//r;

			$command && !$seen{$_}++ ? row(title($_), "`$command`") : ();
		} @peers;
	} @_;
}

# The shares that a row of the table above has, of each kernel; of the last one, how much more a fault and a switch take
sub readme_rows
{
	my ($cost, @runs) = @_;
	my @felt = map { [told_by_trouble($_, 'felt')] } @runs;

	return join '', map {
		my $peer = $_;
		my @shares = map { [shares($peer, [told_by_trouble($runs[$_], $peer)], $felt[$_])] } 0 .. $#runs;

		row(title($peer), map({ my $trouble = $_; join ', ', map { $_->[$trouble] } @shares } grep { $_ != $FIRST } 0 .. $#troubles),
			join ', ', map { $cost->{$peer} ? sprintf '%+d %%', rounded(100 * $cost->{$peer}{$_} / $cost->{without}{$_}[0]) : () }
				qw(fault switch));
	} qw(allocfilt bpftrace offcputime trace-cmd drsnoop);
}

# fill FILE, NAME => TABLE...
sub fill
{
	my ($name, %tables) = @_;
	my $text = join '', lines($name);

	for my $table (keys %tables) {
		$text =~ s/(<!-- tests\/bench\/peers$table -->\n\n).*?\n\n/$1$tables{$table}\n/s or die "$name: no place for$table\n";
	}
	open my $file, '>', $name or die "$name: $!\n";
	print $file $text;
	close $file or die "$name: $!\n";
}

chdir "$FindBin::Bin/../.." or die "$FindBin::Bin: $!\n";
my @kernels = map {
	my $dir = $_;
	my %kernel = map { -e "$dir/$_/felt" ? ($_ => read_run("$dir/$_")) : () } qw(beside pair);

	die "$dir: nothing of mode beside\n" if !$kernel{beside};
	$kernel{cost} = cost("$dir/cost/cost");
	\%kernel;
} @ARGV ? @ARGV : glob 'build/peers/*';
my @runs = map { $_->{beside} } @kernels;
my @pairs = map { $_->{pair} // () } @kernels;

fill('doc/peers.md',
	' commands' => heading('', 'command') . command_rows(@runs, @pairs),
	' told' => heading('', 'kernel', (map { s/^first$/first reads/r } @troubles), 'all', 'accesses', 'stalls')
		. join('', map({ told_rows($_) } @runs), map { told_rows($_, 1) } @pairs),
	' durations' => heading('', 'kernel', 'measures', 'its waits', 'also in allocfilt', 'within 5 %', 'sum, theirs to ours')
		. join('', map({ duration_rows($_, 'felt', @peers) } @runs), map { duration_rows($_, 'pair') } @pairs),
	' runs' => heading('', 'kernel', 'start-up, s', 'memory, MiB', 'lines', 'records lost', 'left after SIGKILL')
		. join('', map({ run_rows($_, 'allocfilt', @peers) } @runs), map { run_rows($_, 'pair') } @pairs),
	' cost' => heading('', 'kernel', 'page fault', 'switch', 'reclaim') . join('', map { cost_rows($_) } @kernels));
fill('README.md', '' => heading('', 'files in `memory.max`', '`memory.high`', 'swap', 'all memory taken', 'huge pages',
	'page fault, switch') . readme_rows($kernels[-1]{cost}, @runs));
