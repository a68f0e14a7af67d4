#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# summary.pl JSON TEXT [TRACE.TXT]
#
# Holds the short summary at the end of TEXT against the stalls of the form json, over the same
# capture with the same options: counts, totals, percentiles, where the time went, who waited, the
# worst stall, what is incomplete, the kernel threads. Each figure is computed a second time. With
# TRACE.TXT, the kernel's text of a capture, also how long it looked.
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
use Waits;

my ($json_file, $text_file, $trace_file) = @ARGV;
die "usage: summary.pl JSON TEXT [TRACE.TXT]\n" unless defined $text_file;

use constant { MOST_LINES => 40, MOST_COLUMNS => 100, ROWS => 5, REASONS => 4 };

# Is the text a number of ms that stands for ns, with two digits that count from 0.1 ms on?
sub is_ms {
	my ($text, $ns) = @_;

	return 0 unless $text =~ /^\d+(?:\.(\d+))?$/;
	my $unit = 10 ** -length($1 // '');
	my $digits = $text =~ s/^0\.0*//r;

	$digits =~ s/\.//;
	return 0 if length $digits < 2 && $ns >= 100_000;
	return abs($text - $ns / 1e6) <= $unit / 2 + 1e-9;
}

sub ms_is {
	my ($what, $text, $ns) = @_;

	wrong("$what: $text ms, by the stalls $ns ns") unless is_ms($text, $ns);
}

sub percentile {
	my ($percent, @times) = @_;
	my $wanted = int((@times * $percent + 99) / 100);

	return (sort { $a <=> $b } @times)[$wanted - 1];
}

# At most one eighth above the true one, never above the maximum, and rounded when it is shown.
sub percentile_is {
	my ($what, $text, $percent, @times) = @_;
	my $true = percentile($percent, @times);
	my $upper = min($true * 9 / 8, max(@times));
	my $unit = 10 ** -length(($text =~ /\.(\d+)/)[0] // '');

	wrong("$what: $text ms, by the stalls $true ns")
		if $text + $unit / 2 < $true / 1e6 - 1e-9 || $text - $unit / 2 > $upper / 1e6 + 1e-9;
}

# --- by the stalls ---

my @records = json_lines($json_file);
my ($end) = grep { $_->{type} eq 'summary' } @records;
my @all = grep { $_->{type} eq 'stall' } @records;
my @stalls = grep { !$_->{task}{background} } @all;
my @background = grep { $_->{task}{background} } @all;
my $incomplete = grep { $_->{incomplete} } @all;
my @times = map { $_->{duration_ns} } @stalls;
my (%had, %went, %parts, %of_task, %of_cgroup, %of_thread);

for my $stall (@stalls) {
	for my $key (keys %{$stall->{phases}}) {
		my $phase = $stall->{phases}{$key};

		$went{$title{$key}} += $phase->{total_ns};
		for (grep { $_ ne 'total_ns' && !ref $phase->{$_} } keys %$phase) {
			$parts{$title{$key}}{$title{s/_ns$//r}} += $phase->{$_};
		}
	}
	$had{$_->{idle} ? 'nobody (idle)' : $_->{task} =~ s/^(kworker\/[^:]*):.*/$1/r} += $_->{total_ns}
		for @{$stall->{had_cpu}};
	$had{'not recorded'} += $stall->{had_cpu_not_recorded_ns};
	$had{''} += state_ns('cpu_wait', off_cpu($stall));
	next if $stall->{task}{interrupt};
	push @{$of_task{"$stall->{task}{name}-$stall->{task}{tid}"}}, $stall->{duration_ns};
	push @{$of_cgroup{$stall->{task}{cgroup}}}, $stall->{duration_ns}
		if defined $stall->{task}{cgroup};
}
push @{$of_thread{$_->{task}{name}}}, $_->{duration_ns} for @background;

# Memory waits, which phases.pl holds against the kernel's text.
my $waits = $end->{stalls}{memory_waits};
my %waits_of = ((map { $_->{cgroup} => $_->{memory_waits} } @{$end->{cgroups}}),
		map { ("$_->{name}-$_->{tid}" => $_->{memory_waits}) } @{$end->{tasks}});
$of_task{"$_->{name}-$_->{tid}"} //= [] for @{$end->{tasks}};
$of_cgroup{$_->{cgroup}} //= [] for @{$end->{cgroups}};

sub short_ns { $_[0] ? $_[0]{total_ns} - $_[0]{long_ns} : 0 }

# --- by the summary ---

my @lines = lines_of($text_file);
my ($head) = grep { $lines[$_] eq '' && $lines[$_ + 1] =~ /^(\d+|no) stalls? of .* or more/ } 0 .. $#lines - 1;
die "$text_file has no summary\n" unless defined $head;
splice @lines, 0, $head;
my $beside = grep { !/ : total time = |^  \(up to .* more\)$|^next: |^ {6}[A-Z]/ } @lines;
wrong("$beside lines beside the shrinkers'") if $beside > MOST_LINES;
wrong("longer than a line of a terminal: $_")
	for grep { length > 80 && !/ : total time = |^worst: |^background: |^memory pressure|\bmemory waits? |^  waiting for a CPU, who had it: |^  .*\d +\d+   \D/ &&
		(length > 100 || !/^next: |^ {6}[A-Z]/) } @lines[3 .. $#lines];

shift @lines;
my $first = shift @lines;
my $threshold = $end->{threshold_ns} % 1_000_000 ? $end->{threshold_ns} / 1e3 . ' us' :
		$end->{threshold_ns} % 1_000_000_000 ? $end->{threshold_ns} / 1e6 . ' ms' :
		$end->{threshold_ns} / 1e9 . ' s';
my $count = @stalls == 1 ? '1 stall' : @stalls ? @stalls . ' stalls' : 'no stall';
my $looked = qr/(?: in [\d.]+ (?:us|ms|s))?/;

if ($trace_file) {
	my @stamps = map { /^\s*(\d+\.\d{6}) \|/ ? $1 : () } lines_of($trace_file);
	my $seconds = sprintf '%.1f', $stamps[-1] - $stamps[0];

	# allocfilt itself keeps records of after the kernel printed its text, too.
	if (-e $trace_file =~ s/trace\.txt$/capture/r) {
		my ($said) = $first =~ / in ([\d.]+) s(?:;|$)/;

		wrong("of $seconds s: $first")
			if $seconds >= 1 && !($said && $said >= $seconds && $said < $seconds + 5);
	} elsif ($seconds >= 1) {
		$looked = qr/ in $seconds s/;
	}
}
if (!@stalls) {
	wrong("not '$count of $threshold or more': $first")
		unless $first =~ /^\Q$count of $threshold or more\E$looked$/;
} elsif ($first !~ /^\Q$count of $threshold or more\E$looked; waited (\S+) ms; p50 (\S+) ms, p99 (\S+) ms, max (\S+) ms$/) {
	wrong("not '$count of $threshold or more$looked; waited ...': $first");
} else {
	ms_is('waited', $1, sum0(@times));
	percentile_is('p50', $2, 50, @times);
	percentile_is('p99', $3, 99, @times);
	ms_is('max', $4, max(@times));
}

my $losses = shift @lines;
my $lost = sum0(map { $_->{records} + $_->{times_unknown} } @{$end->{lost}});
wrong("'nothing lost': $losses") if ($losses =~ /^nothing lost, /) != !$lost;
wrong("$incomplete incomplete: $losses")
	unless $losses =~ ($incomplete ? qr/\b$incomplete stalls? (?:is|are) incomplete\b/ : qr/, 0 incomplete/);

# Does the text stand for ns, to its last digit?
sub duration_is {
	my ($what, $text, $ns) = @_;
	my %factor = (ns => 1, us => 1e3, ms => 1e6, s => 1e9);
	my ($number, $unit) = $text =~ /^([\d.]+)(?: (ns|us|ms|s))?$/ or return wrong("$what: $text");
	my $digit = ($number =~ /\.(\d+)$/ ? 10 ** -length $1 : 1) * $factor{$unit // 's'};

	wrong("$what: $text, not $ns ns") if abs($number * $factor{$unit // 's'} - $ns) > $digit / 2 + 1;
}

my $pressure = $end->{pressure};
if (@lines && $lines[0] =~ /^memory pressure|\bmemory wait(?:s? of|$)/) {
	my $line = my $whole = shift @lines;

	if ($pressure) {
		my $some = $pressure->{after}{some_total_ns} - $pressure->{before}{some_total_ns};

		if ($line =~ s/^memory pressure by the kernel's own count \(PSI\): (\S+(?: \w+)?) of (\S+ s), (\d+) %(?:; |$)//) {
			my ($time, $looked, $percent) = ($1, $2, $3);

			duration_is('PSI', $time, $some);
			wrong("not the time of the head: $whole") if $first !~ / in \Q$looked\E(?:;|$)/;
			wrong("$percent %: $whole")
				if abs($percent - $some / 1e7 / ($looked =~ s/ s//r)) > 0.6;
		} else {
			wrong("no memory pressure: $whole");
		}
	}
	if ($waits && !$waits->{count}) {
		wrong("there is none: $whole") if $line ne 'no memory wait';
	} elsif ($waits) {
		my $number = $waits->{count} - $waits->{long_count};
		my $parts = $waits->{in_progress} ? "; of $waits->{in_progress} only a part is in the run" : '';

		if ($line =~ /^(\S+(?: \w+)?) in (\d+) memory waits? of \Q$threshold\E or more, (\S+(?: \w+)?) in (\d+) shorter ones?\Q$parts\E$/) {
			duration_is('long waits', $1, $waits->{long_ns});
			wrong("$2 waits, not $waits->{long_count}: $whole") if $2 != $waits->{long_count};
			duration_is('shorter waits', $3, short_ns($waits));
			wrong("$4 waits, not $number: $whole") if $4 != $number;
		} else {
			wrong("no memory waits: $whole");
		}
	}
} elsif ($pressure || $waits) {
	wrong('no line of memory pressure');
}

# The lines of a block, up to the next blank line.
sub block {
	my @block;

	shift @lines if @lines && $lines[0] eq '';
	push @block, shift @lines while @lines && $lines[0] ne '';
	return @block;
}

if (@stalls) {
	my @rows = block();
	my $header = shift @rows;
	my ($percents, $before) = (0);
	my ($who) = map { /^  waiting for a CPU, who had it: (.*)$/ } @rows;

	@rows = grep { !/ who had it: / } @rows;
	wrong("not who had the CPU, of $had{''} ns: ", $who // '') if !$had{''} != !defined $who;
	for (split /(?:,|;) /, $who // '') {
		my ($name, $percent) = /^(.*) (\d+) %$/;
		my $ns = delete $had{$name};

		wrong("who had the CPU: $_, and not ", $ns // 'nothing', " of $had{''} ns")
			if !$ns || abs($ns * 100 / $had{''} - $percent) > 0.5;
		wrong("who had the CPU: more had $_ than before $name")
			for grep { !/^(?:not recorded)?$/ && $had{$_} > $ns } $name eq 'not recorded' ? () : keys %had;
	}

	wrong("not the header of where it went: $header") unless $header =~ /^where it went +ms +%$/;
	for (@rows) {
		if (!/^  (\S.*?) +(\d[\d.]*) +(\d+)(?:   (\D.*))?$/) {
			wrong("no row of where it went: $_");
			next;
		}
		my ($name, $ms, $percent, $more) = ($1, $2, $3, $4 // '');
		my $ns = delete $went{$name};
		my @shown = map { /^(.*) (\S+)$/ } split /, /, $more;

		if (!$ns) {
			wrong("no stall was in '$name', or the row is there twice: $_");
			next;
		}
		ms_is($name, $ms, $ns);
		wrong("$name: $percent %, by the stalls ", 100 * $ns / sum0(@times))
			if abs($percent - 100 * $ns / sum0(@times)) >= 1;
		$percents += $percent;
		wrong("not in order: $_") if defined $before && $ns > $before;
		$before = $ns;
		if (my $parts = $parts{$name}) {
			my @largest = grep { $parts->{$_} * 100 >= sum0(@times) }
				sort { $parts->{$b} <=> $parts->{$a} } keys %$parts;

			while (my ($part, $time) = splice @shown, 0, 2) {
				my $largest = shift @largest;

				ms_is("$name: $part", $time, $parts->{$part} // 0);
				wrong("$name: '$part' is below 1 % of all, or not the next: $more")
					unless defined $largest && $parts->{$part} == $parts->{$largest};
			}
			# What has no room is left out: only the next one tells whether it had.
			wrong("$name lacks $largest[0]: $more")
				if @largest && length($_) + length(", $largest[0] 1234") <= MOST_COLUMNS;
		}
		wrong(length, ' columns: ', $_) if length > MOST_COLUMNS;
	}
	wrong("where it went lacks $_") for grep { $went{$_} } keys %went;
	wrong("where it went: $percents %") unless $percents == 100;
}

if ($waits && $waits->{count}) {
	my @rows = block();
	my $header = shift @rows;
	my @reasons = sort { $b->{total_ns} <=> $a->{total_ns} } @{$waits->{reasons}};

	wrong("not the header of memory waits: $header")
		unless $header =~ /^memory waits +ms +number +short \(ms\) +number$/;
	splice @reasons, REASONS if @reasons > REASONS;
	for my $reason (@reasons) {
		my $name = wait_reason_title($reason->{reason});
		my $row = shift @rows // '';

		if ($row !~ /^  \Q$name\E +(\S+) +(\d+) +(\S+) +(\d+)$/) {
			wrong("not the row of $name: $row");
			next;
		}
		ms_is("waits: $name", $1, $reason->{total_ns});
		ms_is("short waits: $name", $3, short_ns($reason));
		wrong("$name: $2 and $4 waits: $row") if $2 != $reason->{count} ||
			$4 != $reason->{count} - $reason->{long_count};
	}
	wrong("rows too many: $_") for @rows;
}

if (%of_task || %of_cgroup) {
	my @rows = block();
	for (['cgroup', \%of_cgroup], ['task', \%of_task]) {
		my ($title, $of) = @$_;
		my %cost = map { $_ => sum0(@{$of->{$_}}) + short_ns($waits_of{$_}) } keys %$of;
		my @names = sort { $cost{$b} <=> $cost{$a} } keys %$of;
		my $all = @names;

		splice @names, ROWS if @names > ROWS;
		next unless @names;
		$title .= ' (' . ROWS . " of $all)" if $all > ROWS;
		my $header = shift @rows;
		my $more = $waits ? qr/ +waits/ : '';
		wrong("not the header of $title: $header")
			unless $header =~ /^\Q$title\E +stalls +total +p99 +max$more   \(ms\)$/;
		for my $name (@names) {
			my @their = @{$of->{$name}};
			my $row = shift @rows // '';
			my $shown = $title =~ /^cgroup/ ? $name =~ s/.*\/(?=.)//r : $name;

			if ($row !~ /^  \Q$shown\E +(\d+) +(\S+) +(\S+) +(\S+?)(?: +(\S+))?$/ || !$waits != !defined $5) {
				wrong("not the row of $name: $row");
				next;
			}
			wrong("$name: $1 stalls, not ", scalar @their) unless $1 == @their;
			ms_is("$name: waits", $5, $waits_of{$name}{total_ns}) if $waits;
			ms_is("$name: total", $2, sum0(@their));
			percentile_is("$name: p99", $3, 99, @their) if @their;
			ms_is("$name: max", $4, max(@their) // 0);
		}
	}
	wrong("rows too many: $_") for @rows;
}

if (@stalls) {
	my @rows = block();
	my ($worst) = sort { $b->{duration_ns} <=> $a->{duration_ns} } @stalls;
	my $task = $worst->{task};
	my $when = defined $worst->{time} ? $worst->{time} =~ s/\.(\d{3})\d{6}Z$/.$1Z/r :
		   sprintf '%d.%06d', $worst->{ts_ns} / 1e9, $worst->{ts_ns} / 1e3 % 1e6;
	my $where = defined $task->{cgroup} ? ' in ' . $task->{cgroup} =~ s/.*\/(?=.)//r : '';
	my $order = defined $worst->{order} ? ", order $worst->{order}" : '';
	my $irq = $task->{interrupt} ? ' (interrupt)' : '';

	$irq .= " of $task->{process}-$task->{pid}"
		if defined $task->{process} && ($task->{pid} // $task->{tid}) != $task->{tid};

	if ($rows[0] =~ /^worst: \Q$when $task->{name}-$task->{tid}$irq$where\E, (\S+) ms\Q$order\E$/) {
		ms_is('the worst', $1, $worst->{duration_ns});
	} else {
		wrong("not the worst, $when $task->{name}-$task->{tid}$where$order: $rows[0]");
	}
	wrong('why the worst was slow is not one line') unless @rows == 2 && $rows[1] =~ /^  \S/;
}

my @last = block();
my ($threads) = grep { /^background: / } @last;
wrong("no line of a shrinker: $_")
	for grep { !/^background: |^ {0,2}\S.* : total time = |^no shrinker ran$/ } @last;

# What to do is that of the form json, which remedies.test holds against the stalls.
my $waited = sum0(@times) + short_ns($waits);
my $next = join "\n", map {
	sprintf 'next: (%.0f %%) %s %s', 100 * $_->{total_ns} / $waited, @{$_}{qw(finding change)}
} @{$end->{remedies}};
my $shown = join("\n", block()) =~ s/\n {6}/ /gr;
wrong("what to do: $shown\nnot $next") unless $shown eq $next;
wrong("there is more: $_") for @lines;
if (!@background) {
	wrong("no kernel thread worked: $threads") if defined $threads;
} elsif (!defined $threads) {
	wrong('no kernel thread is named');
} else {
	for my $part (split /; /, $threads =~ s/^background: //r) {
		my ($name, $runs, $ms) = $part =~ /^(\S+) (\d+) runs?, (\S+) ms$/ or wrong("no thread: $part"), next;
		my $their = delete $of_thread{$name} // [];

		wrong("$name: $runs runs, not ", scalar @$their) unless $runs == @$their;
		ms_is($name, $ms, sum0(@$their));
	}
	wrong("the kernel thread $_ is missing") for keys %of_thread;
}

finish(scalar @stalls, " stalls, $beside lines beside the shrinkers'");
