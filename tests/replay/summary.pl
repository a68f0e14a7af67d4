#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# summary.pl JSON TEXT [TRACE.TXT]
#
# Holds the short summary at the end of TEXT against the stalls of the form json, over the same
# capture with the same options: counts, totals, median, why, in which state, who waited, why and whose
# memory was reclaimed for it, the longest stall, what is incomplete, the kernel threads; and the summary of
# JSON as well. Each figure is computed a second time. With TRACE.TXT, the kernel's text of a capture, also
# how long it looked.
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

use constant { MOST_LINES => 40, MOST_COLUMNS => 110, ROWS => 4 };

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

# Does the text stand for ns?
sub duration_is {
	my ($what, $text, $ns) = @_;

	wrong("$what: $text, by the stalls $ns ns") if $text ne duration_of($ns);
}

# At most one eighth above the true one, never above the maximum.
sub median_is {
	my ($what, $text, @times) = @_;
	my $true = percentile(50, @times);
	my $upper = min($true * 9 / 8, max(@times));
	my %factor = (us => 1e3, ms => 1e6, s => 1e9);
	my ($number, $point, $unit) = $text =~ /^(\d+(\.\d)?) (us|ms|s)$/ or return wrong("$what: $text");
	my $ns = $number * $factor{$unit};
	my $half = ($point ? 0.05 : 0.5) * $factor{$unit};

	wrong("$what: $text, by the stalls $true ns")
		if $ns + $half < $true - 1 || $ns - $half > $upper + 1;
}

# In the order of the program's enumeration, which decides between equal times.
my @cause_order = (@phases, 'mixed', @states[1 .. $#states]);
my %cause_order = map { $cause_order[$_] => $_ } 0 .. $#cause_order;

my $duration = qr/\d+(?:\.\d)? (?:us|ms|s)/;

# --- by the stalls ---

my @records = json_lines($json_file);
my ($end) = grep { $_->{type} eq 'summary' } @records;
my @all = grep { $_->{type} eq 'stall' } @records;
my @stalls = grep { !$_->{task}{background} } @all;
my @background = grep { $_->{task}{background} && !$_->{task}{on_purpose} } @all;
my $incomplete = grep { $_->{incomplete} } @all;
my @times = map { $_->{duration_ns} } @stalls;
my (%went, %parts, %of_task, %of_cgroup, %of_thread);
my $reclaiming = 0;	# ns: of those in %had, in reclaim of their own
my (%had, %in_state, %places, %causes, %causes_of, %pages_of);	# places: by state, what is a row's part

for my $stall (@stalls) {
	for my $key (keys %{$stall->{phases}}) {
		my $phase = $stall->{phases}{$key};

		$went{$title{$key}} += $phase->{total_ns};
		for (grep { $_ ne 'total_ns' && !ref $phase->{$_} } keys %$phase) {
			$parts{$title{$key}}{$title{s/_ns$//r}} += $phase->{$_};
		}
	}
	$causes{$stall->{cause}} += $stall->{duration_ns};
	$had{runner($_)} += $_->{total_ns} for @{$stall->{had_cpu} // []};
	$reclaiming += $_->{reclaiming_ns} // 0 for @{$stall->{had_cpu} // []};
	$had{'not recorded'} += $stall->{had_cpu_not_recorded_ns} // 0;
	for my $row (@{$stall->{off_cpu} // []}) {
		for (grep { $row->{"${_}_ns"} } @states) {
			$in_state{$title{$_}} += $row->{"${_}_ns"};
			$places{$title{$_}}{$title{$row->{part} // $row->{phase}}} += $row->{"${_}_ns"};
		}
	}
	for my $key (grep { !$stall->{off_cpu} } keys %{$stall->{phases}}) {
		my %part = %{$stall->{phases}{$key}};
		my $total = delete $part{total_ns};

		$in_state{unknown} += $total;
		$part{$key} = $total if !%part;
		$places{unknown}{$title{s/_ns$//r}} += $part{$_} for keys %part;
	}
	next if $stall->{task}{interrupt};
	my $name = "$stall->{task}{name}-$stall->{task}{tid}";

	$causes_of{$name}{$stall->{cause}} += $stall->{duration_ns};
	if (defined $stall->{task}{cgroup}) {
		my $cgroup = $stall->{task}{cgroup};

		$causes_of{$cgroup}{$stall->{cause}} += $stall->{duration_ns};
		$pages_of{$cgroup}{$stall->{memcg}} += $stall->{nr_reclaimed}
			if defined $stall->{memcg} && $stall->{nr_reclaimed};
	}
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

sub other_io_ns { $_[0] && $_[0]{other_io} ? $_[0]{other_io}{total_ns} : 0 }
sub short_ns { $_[0] ? $_[0]{total_ns} - $_[0]{long_ns} : 0 }

# --- the summary of JSON ---

sub same_causes {
	my ($what, $is, $of) = @_;
	my $text = join ' ', map { "$_->{cause}=$_->{total_ns}" } sort { $a->{cause} cmp $b->{cause} } @$is;
	my $should = join ' ', map { "$_=$of->{$_}" } sort keys %$of;

	wrong("$what: causes $text, by the stalls $should") if $text ne $should;
}

wrong("stalls: $end->{stalls}{count} and $end->{stalls}{total_ns} ns, by the stalls ", scalar @stalls, ' and ', sum0(@times))
	if $end->{stalls}{count} != @stalls || $end->{stalls}{total_ns} != sum0(@times);
same_causes('all', $end->{stalls}{causes}, \%causes);
for my $row (@{$end->{tasks}}, @{$end->{cgroups}}) {
	my $name = $row->{cgroup} // "$row->{name}-$row->{tid}";
	my $times = defined $row->{cgroup} ? $of_cgroup{$name} : $of_task{$name};

	next if $row->{error_ns};
	wrong("$name: $row->{count} and $row->{total_ns} ns")
		if $row->{count} != @$times || $row->{total_ns} != sum0(@$times);
	same_causes($name, $row->{causes}, $causes_of{$name} // {});
	next unless defined $row->{cgroup};
	my $pages = $pages_of{$name} // {};
	my %is = map { $_->{memcg} => $_->{pages} } @{$row->{reclaimed_from}};

	wrong("$name: reclaimed from ", join ' ', map { "$_=$is{$_}" } sort keys %is)
		if join(' ', %is{sort keys %is}) ne join(' ', %$pages{sort keys %$pages});
	wrong("$name: not in order")
		if grep { $row->{reclaimed_from}[$_]{pages} > $row->{reclaimed_from}[$_ - 1]{pages} }
			1 .. $#{$row->{reclaimed_from}};
}

# --- by the summary ---

my @lines = lines_of($text_file);
my ($head) = grep { $lines[$_] eq '' && $lines[$_ + 1] =~ /^(\d+|no) stalls? of .* or more/ } 0 .. $#lines - 1;
die "$text_file has no summary\n" unless defined $head;
splice @lines, 0, $head;
my $beside = grep { !/ : total time = |^  \(up to .* more\)$|^next: |^ {6}[A-Z]/ } @lines;
wrong("$beside lines beside the shrinkers'") if $beside > MOST_LINES;
wrong("longer than a line of a terminal: $_")
	for grep { length > 80 && !/ : total time = |^longest: |^background |^waits for memory|^reclaim ran |^  \d+ of |^  .*\d +\d+   \D|reclaimed from$|^who .* main cause$|^  .*(?:us|ms|s)   .* %(?:   |$)/ &&
		(length > 175 || !/^next: |^ {6}[A-Z]/) } @lines[(@stalls ? 4 : 3) .. $#lines];

shift @lines;
my $first = shift @lines;
my $threshold = $end->{threshold_ns} % 1_000_000 ? $end->{threshold_ns} / 1e3 . ' us' :
		$end->{threshold_ns} % 1_000_000_000 ? $end->{threshold_ns} / 1e6 . ' ms' :
		$end->{threshold_ns} / 1e9 . ' s';
my $count = @stalls == 1 ? '1 stall' : @stalls ? @stalls . ' stalls' : 'no stall';
my $looked = qr/(?: in [\d.]+ (?:us|ms|s))?/;
my ($run) = grep { $_->{type} eq 'run' } @records;
my $host = ($run->{host} // '(none)') eq '(none)' ? '' : $run->{host};
my $where = join ', ', grep { $_ ne '' } $host, $run->{release} // '';

$where = " on $where" if $where ne '';
wrong('not the machine of the run') for grep { ($run->{$_} // '') ne ($end->{$_} // '') } qw(host release);

if ($trace_file) {
	my @stamps = map { /^\s*(\d+\.\d{6}) \|/ ? $1 : () } lines_of($trace_file);
	my $seconds = sprintf '%.1f', $stamps[-1] - $stamps[0];

	# allocfilt itself keeps records of after the kernel printed its text, too.
	if (-e $trace_file =~ s/trace\.txt$/capture/r) {
		my ($said) = $first =~ / in ([\d.]+) s(?: on |:|$)/;

		wrong("of $seconds s: $first")
			if $seconds >= 1 && !($said && $said >= $seconds && $said < $seconds + 5);
	} elsif ($seconds >= 1) {
		$looked = qr/ in $seconds s/;
	}
}
if (!@stalls) {
	wrong("not '$count of $threshold or more': $first")
		unless $first =~ /^\Q$count of $threshold or more\E$looked\Q$where\E$/;
} else {
	my $times = shift @lines;

	wrong("not '$count of $threshold or more$looked$where': $first")
		unless $first =~ /^\Q$count of $threshold or more\E$looked\Q$where\E$/;
	if ($times !~ /^(?:they|it) took ($duration)(?: together)?, waiting or running(?:; median ($duration), longest ($duration))?$/ || !defined $2 != (@stalls == 1)) {
		wrong("not 'they took ...': $times");
	} else {
		my ($waited, $median, $longest) = ($1, $2, $3);

		duration_is('waited', $waited, sum0(@times));
		median_is('median', $median, @times) if @stalls > 1;
		duration_is('longest', $longest, max(@times)) if @stalls > 1;
	}
}

my $losses = shift @lines;
my $lost = sum0(map { $_->{records} + $_->{times_unknown} } @{$end->{lost}});
my $complete = $incomplete ? qr/; $incomplete stalls? (?:is|are) incomplete \(/ : @stalls ? qr/, all stalls complete/ : qr/(?:;|$)/;
wrong("lost $lost, incomplete $incomplete: $losses")
	unless $losses =~ ($lost ? qr/^(?:(?:at least )?\d+ )?records? (?:was|were) lost$complete/ : qr/^no records lost$complete/);

# Whom the OOM killer took: each line has its row of the JSON, and the rest is counted.
my $pressure = $end->{pressure};
my $some = $pressure ? $pressure->{after}{some_total_ns} - $pressure->{before}{some_total_ns} : 0;
my $counted = $pressure ? ($pressure->{after}{oom_kills} // 0) - ($pressure->{before}{oom_kills} // 0) : 0;
my @kills = @{$end->{oom_kills}};
my $killed = sum0(map { $_->{count} } @kills);
my $refaults = $pressure ? ($pressure->{after}{refaults} // 0) - ($pressure->{before}{refaults} // 0) : 0;
my $short = @kills || $counted || $some > $end->{duration_ns} / 100 || $refaults > 100 * $end->{duration_ns} / 1e9;
my @should = $counted > $killed ? "OOM kills: $counted by the kernel's count, $killed recorded" :
	$killed ? "OOM kills: $killed" : ();

for (grep { defined } @kills[0 .. ROWS - 1]) {
	my ($unit, $limit) = map { ($_ // '') =~ s{.*/(?=.)}{}r } @$_{'cgroup', 'limit'};

	push @should, "  $_->{count} of $_->{name}" . ($unit ne '' ? " in $unit" : ', cgroup not known') . ', ' .
		($limit eq '' ? 'limit not known' : $limit eq '/' ? "at no cgroup's limit" : "at the limit of $limit") .
		"; the last: $_->{tid}";
	$killed -= $_->{count};
}
push @should, "  $killed more" if $killed;
for my $should (@should) {
	my $line = shift @lines;

	wrong("not '$should': $line") if $line ne $should;
}

if ($pressure) {
	my $line = shift @lines;

	if ($line =~ /^memory pressure, as the kernel counts it \(PSI some\): ($duration) of ([\d.]+) s, ([\d.]+) %$/) {
		my ($time, $looked, $percent) = ($1, $2, $3);

		duration_is('PSI', $time, $some);
		wrong("not the time of the head: $line") if $first !~ / in \Q$looked\E s(?: on |$)/;
		wrong("$percent %: $line") if abs($percent - $some / 1e7 / $looked) > 0.1;
	} else {
		wrong("no memory pressure: $line");
	}
}
if ($waits) {
	my $line = shift @lines;
	my $open = join '; ', map {
		my $unit = ($_->{cgroup} // '') =~ s{.*/(?=.)}{}r;
		quotemeta("$_->{name}-$_->{tid}" . ($unit ne '' ? " in $unit" : '') . ' (' . wait_reason_title($_->{reason}) . ') since ') . '[\d:.]+Z?';
	} grep { defined } @{$end->{not_ended}}[0, 1];
	my $number = $waits->{count} - $waits->{long_count};
	my @reasons = sort { short_ns($b) <=> short_ns($a) } @{$waits->{reasons}};
	my $why = join ', ', map { wait_reason_title($_->{reason}) . ' ' . duration_of(short_ns($_)) }
		grep { $_ && short_ns($_) } @reasons[0, 1];
	my $ones = $number == 1 ? 'one' : 'ones';

	$why = " ($why)" if $why ne '';
	my $should = 'waits for memory: ' . (!$waits->{count} ? @stalls && !$lost && !$short && !$waits->{in_progress} ? 'none, so these stalls are no shortage of memory' : 'none' :
		duration_of($waits->{long_ns}) . ' in these stalls, ' .
		duration_of(short_ns($waits)) . " in $number shorter $ones$why");
	wrong("the waits that had not ended are not /$open/: $line") if $open ne '' && $line !~ s/: $open$//;
	$should .= "; $waits->{in_progress} more had not ended, " . duration_of($waits->{in_progress_ns}) . ' so far'
		if $waits->{in_progress};
	wrong("not '$should': $line") if $line ne $should;
	my ($not_in_psi) = grep { $_->{reason} eq 'refault_not_in_psi' } @{$waits->{reasons}};
	my @should = (
		$not_in_psi ? 'not in PSI: ' . duration_of($not_in_psi->{total_ns}) .
			' of these, reads of pages that were not in use when taken' : (),
		$waits->{other_io} ? 'other waits for I/O: ' . duration_of($waits->{other_io}{total_ns}) .
			', first reads among them; these are not for memory' : (),
	);

	for my $should (@should) {
		$line = shift @lines // '';
		wrong("not '$should': $line") if $line ne $should;
	}
}

# For whom reclaim ran, by the phases of the stalls, and whose limits it was; where that is not known, the cgroup
# of the task or one above it.
my @limited = grep { $_->{phases}{memcg_reclaim}{total_ns} || $_->{phases}{memory_high}{total_ns} } @stalls;
my $limits = @limited;
my $machine = (grep { $_->{phases}{direct_reclaim}{total_ns} } @stalls, @background) ||
	grep { $_->{phases}{other_reclaim}{total_ns} } @background;
my %limit_ns;

for my $stall (grep { defined($_->{limit} // $_->{task}{cgroup}) && !$_->{task}{interrupt} } @limited) {
	$limit_ns{$stall->{limit} // "$stall->{task}{cgroup}\0 or above it"} += $stall->{duration_ns};
}

if ($machine || $limits) {
	my $line = shift @lines // '';
	my @named = map { s{.*/(?=.)}{}r =~ s/\0//r } grep { defined }
		(sort { $limit_ns{$b} <=> $limit_ns{$a} || $a cmp $b } keys %limit_ns)[0 .. ROWS - 1];
	my $for = !$limits ? 'the machine, not for cgroups at their limits' :
		'cgroups at their limits' . (@named ? ' (' . join(', ', @named) . ')' : '') . ', ' .
		($machine ? 'and' : 'not') . ' for the machine';

	wrong("not 'reclaim ran for $for': $line") if $line ne "reclaim ran for $for";
}

# The lines of a block, up to the next blank line.
sub block {
	my @block;

	shift @lines if @lines && $lines[0] eq '';
	push @block, shift @lines while @lines && $lines[0] ne '';
	return @block;
}

# "pressure in batch.service", "kworker/u8"
sub runner {
	my ($of) = @_;
	my ($unit) = ($of->{cgroup} // '') =~ m{([^/]+)$};

	return 'nobody (waking up)' if $of->{idle};
	return $of->{task} =~ s/^(kworker\/[^:]*):.*/$1/sr . (defined $unit ? " in $unit" : '');
}

# Who had the CPUs: by the stalls, with shares of the time that they waited for one.
sub had_cpu {
	my ($row, $more, $waited) = @_;
	my $share = sub { sprintf '%s %.0f %%', $_[0], 100 * $_[1] / $waited };
	my $unknown = delete $had{'not recorded'} // 0;
	my @had = sort { $had{$b} <=> $had{$a} || $a cmp $b } keys %had;
	my %in_json;

	$in_json{runner($_)} += $_->{total_ns} for @{$end->{stalls}{had_cpu}};
	wrong("$row: not the time of those who had the CPUs") if sum0(values %had) + $unknown != $waited;
	wrong("JSON: $_ had $in_json{$_} ns, by the stalls ", $had{$_} // 'none')
		for grep { $in_json{$_} != ($had{$_} // -1) } keys %in_json;
	splice @had, 3 if @had > 3;
	my @shares = map { $share->($_, $had{$_}) } grep { $had{$_} >= int($waited / 100) } @had;

	my $title = 'had it' . ($reclaiming && $reclaiming >= int($waited / 100) ?
		sprintf(' (%.0f %% in reclaim): ', 100 * $reclaiming / $waited) : ': ');
	my $before = length($row) - length($more) + length $title;
	pop @shares while @shares > 1 && $before + length(join ', ', @shares) > MOST_COLUMNS;
	push @shares, $share->('not recorded', $unknown) if $unknown && $unknown >= int($waited / 100);
	wrong("not '$title", join(', ', @shares), "': $row") if $more ne $title . join ', ', @shares;
}

# rows_are(ROWS, TIMES, PLACES, MOST): as many rows as TIMES has, most time first, each with its places
sub rows_are {
	my ($rows, $times, $places, $most) = @_;
	my @names = sort { $times->{$b} <=> $times->{$a} } grep { $times->{$_} } keys %$times;
	my %left = %$times;
	my $percents = 0;

	for my $next (@names) {
		my $row = shift @$rows // '';
		my ($name, $ms, $percent, $more) = $row =~ /^  (\S.*?) +(\d[\d.]*) +(\d+)(?:   (\D.*))?$/;

		if (!defined $name) {
			wrong("not the row of $next: $row");
			next;
		}
		my $rest = --$most <= 0 && (grep { $_ } values %left) > 1;
		my $ns = $rest ? sum0(values %left) : delete $left{$name} // -1;

		$percents += $percent;
		wrong("not $next: $row") if $rest ? "$name " . ($more // '') ne 'others ' : $ns != $times->{$next};
		ms_is($name, $ms, $ns);
		wrong("$name: $percent %, by the stalls ", 100 * $ns / sum0(@times))
			if abs($percent - 100 * $ns / sum0(@times)) > 1;
		last if $rest;
		wrong(length $row, " columns: $row") if length $row > MOST_COLUMNS;
		if ($name eq $title{cpu_wait}) {
			had_cpu($row, $more // '', $ns);
			next;
		}
		my @shown = map { /^(.*) (\S+)$/ } split /, /, $more // '';
		my $parts = $places->{$name} // {};
		my @largest = grep { $parts->{$_} && $parts->{$_} >= int(sum0(@times) / 100) }
			sort { $parts->{$b} <=> $parts->{$a} } keys %$parts;

		while (my ($part, $time) = splice @shown, 0, 2) {
			my $largest = shift @largest;

			ms_is("$name: $part", $time, $parts->{$part} // 0);
			wrong("$name: '$part' is below 1 % of all, or not the next: $row")
				unless defined $largest && $parts->{$part} == $parts->{$largest};
		}
		# A part without room is left out: only the next one tells whether it had.
		wrong("$name lacks $largest[0]: $row")
			if @largest && length($row) + length(", $largest[0] 1234") <= MOST_COLUMNS;
	}
	wrong("$percents % in all rows") if @names && $percents != 100;
}

if (@stalls) {
	my @rows = block();
	my $header = shift @rows;

	wrong("not the header of why: $header") unless $header =~ /^why +ms +%$/;
	if ($end->{off_cpu}) {
		rows_are(\@rows, \%in_state, \%places, scalar keys %in_state);
		wrong("not the header of in: $header") unless ($header = shift @rows // '') =~ /^in +ms +%$/;
	}
	rows_are(\@rows, \%went, \%parts, $end->{off_cpu} ? ROWS : scalar keys %went);
	wrong("rows too many: $_") for @rows;
}

sub main_causes {
	my ($of) = @_;
	my $whole = sum0(values %$of);
	my @causes = sort { $of->{$b} <=> $of->{$a} || $cause_order{$a} <=> $cause_order{$b} } keys %$of;

	return map { sprintf '%s %.0f %%', $_ eq 'mixed' ? 'several causes' : $title{$_}, 100 * $of->{$_} / $whole }
		grep { defined && $of->{$_} >= $whole / 100 } @causes[0, 1];
}

if (%of_task || %of_cgroup) {
	my @rows = block();
	my (%names, %cost);

	for ([who => \%of_cgroup], [task => \%of_task]) {
		my ($title, $of) = @$_;

		$cost{$title}{$_} = sum0(@{$of->{$_}}) + short_ns($waits_of{$_}) for keys %$of;
		$names{$title} = [sort { $cost{$title}{$b} <=> $cost{$title}{$a} } keys %$of];
	}
	# Tasks are left out where each is alone in its cgroup.
	my @top = @{$names{who}}[0 .. min(ROWS, scalar @{$names{who}}) - 1];
	my $each = @top && !grep { ($cost{task}{$names{task}[$_] // ''} // -1) != $cost{who}{$top[$_]} } 0 .. $#top;

	for ([who => \%of_cgroup], [task => \%of_task]) {
		my ($title, $of) = @$_;
		my @names = @{$names{$title}};
		my $all = @names;

		splice @names, ROWS if @names > ROWS;
		next if !@names || $title eq 'task' && $each;
		my $from = $title eq 'who' && grep { $pages_of{$_} } @names;
		my $header = shift @rows // '';

		# JSON has ten tasks at most.
		$all = $1 if $title eq 'task' && $all == 10 && $header =~ /^task \(4 of (\d\d)\)/;
		$title .= ' (' . ROWS . " of $all)" if $all > ROWS;
		my $kind = $title =~ s/ .*//r;
		my $has_short = grep { short_ns($waits_of{$_}) && 100 * short_ns($waits_of{$_}) >= $cost{$kind}{$_} } @names;
		my $short = $has_short ? ' +shorter' : '';
		my $psi = $kind eq 'who' ? '(?: +PSI)?' : '';
		my $has_io = grep { other_io_ns($waits_of{$_}) > int($cost{$kind}{$_} / 100) } @names;
		my $io = $has_io ? ' other I/O' : '';
		my $reclaimed = $from ? ' +reclaimed from' : '';
		wrong("not the header of $title: $header")
			unless $header =~ /^\Q$title\E +stalls +total +max$short($psi)$io   stalls by main cause$reclaimed$/;
		my $has_psi = length($1 // '');
		my $column = index $header, 'stalls by main cause';
		for my $name (@names) {
			my @their = @{$of->{$name}};
			my $row = shift @rows // '';
			my $shown = $kind eq 'who' ? $name =~ s/.*\/(?=.)//r : $name;
			my @causes = @their ? main_causes($causes_of{$name}) : ();
			my $pages = $kind eq 'who' && $pages_of{$name};
			my @from = sort { $pages->{$b} <=> $pages->{$a} } keys %{$pages || {}};
			my @cells = (scalar @their, duration_of(sum0(@their)), duration_of(max(@their) // 0));

			push @cells, duration_of(short_ns($waits_of{$name})) if $has_short;
			pop @causes if $column + length join(', ', @causes) > 80 && @causes > 1;
			my $causes = join ', ', @causes;
			splice @from, 2 if @from > 2;
			my $last = join ', ', map { $_ eq $name ? 'itself' : s/.*\/(?=.)//r } @from;
			my @tail = map { quotemeta } grep { $_ ne '' } $causes, $last;
			my $should = join ' +', (map { quotemeta } $shown, @cells), ($has_psi ? "(?:$duration|-)" : ()),
				($has_io ? quotemeta duration_of(other_io_ns($waits_of{$name})) : ()), @tail;

			wrong("not the row of $name, $should: $row") unless $row =~ /^  $should$/;
			wrong("not below the header: $row") if $causes ne '' && index($row, $causes) != $column;
			wrong("not below the header: $row")
				if $last ne '' && substr($row, index $header, 'reclaimed from') ne $last;
		}
	}
	wrong("rows too many: $_") for @rows;
}

if (@stalls) {
	my @rows = block();
	my ($worst) = sort { $b->{duration_ns} <=> $a->{duration_ns} } @stalls;
	my $task = $worst->{task};
	my $when = defined $worst->{time} ? $worst->{time} =~ s/.*T(.*\.\d{3})\d{6}Z$/$1Z/r :
		   sprintf '%d.%06d', $worst->{ts_ns} / 1e9, $worst->{ts_ns} / 1e3 % 1e6;
	my $where = defined $task->{cgroup} ? ' in ' . $task->{cgroup} =~ s/.*\/(?=.)//r :
		    $task->{ended} ? ' (cgroup unknown: it had ended)' : '';
	my $order = defined $worst->{order} ? ", order $worst->{order}" : '';
	my $irq = $task->{interrupt} ? ' (interrupt)' : '';

	$irq .= " of $task->{process}-$task->{pid}"
		if defined $task->{process} && ($task->{pid} // $task->{tid}) != $task->{tid};

	my $should = "longest: $when $task->{name}-$task->{tid}$irq$where, " . duration_of($worst->{duration_ns}) . "$order: ";

	wrong("not '$should': $rows[0]") if index $rows[0], $should;
	wrong('why the longest was slow is not in its line') unless @rows == 1 && length $rows[0] > length $should;
}

my @last = block();
my ($threads) = grep { /^background / } @last;
wrong("no line of a shrinker: $_")
	for grep { !/^background |^ {0,2}\S.* : total time = |^no shrinker ran$|^shrinkers, all runs:$/ } @last;

# What to do is that of the form json, which remedies.test holds against the stalls.
my $waited = sum0(@times) + short_ns($waits);
my $next = join "\n", map {
	my $mostly = 2 * ($_->{cgroup_ns} // 0) >= $_->{total_ns} ?
		', felt by ' . $_->{cgroup} =~ s/.*\/(?=.)//r : '';

	my ($first) = @{$end->{stalls}{had_cpu}};

	$mostly .= ', caused by ' . $first->{cgroup} =~ s{.*/}{}r if $_->{key} eq 'cpu' && $first &&
		($first->{cgroup} // '/') ne '/' && $first->{task} ne 'allocfilt' &&
		2 * ($first->{total_ns} - ($first->{reclaiming_ns} // 0)) >= $_->{total_ns};
	my $share = $_->{total_ns} < int($waited / 100) ? 'an event' : sprintf '%.0f %%', 100 * $_->{total_ns} / $waited;

	"next: ($share$mostly) $_->{finding} $_->{change}"
} @{$end->{remedies}};
my $shown = join("\n", block()) =~ s/\n {6}/ /gr =~ s/(?:\(|, )\Kmost memory: \d+ MiB in [^,)]+//gr =~ s/, (?=\))//gr;
wrong("what to do: $shown\nnot $next") unless $shown eq $next;
wrong("there is more: $_") for @lines;
if (!@background) {
	wrong("no kernel thread worked: $threads") if defined $threads;
} elsif (!defined $threads) {
	wrong('no kernel thread is named');
} else {
	for my $part (split /; /, $threads =~ s/^background \(nobody waited\): //r) {
		my ($name, $runs, $ms) = $part =~ /^(\S+) (\d+) runs?, ($duration)$/ or wrong("no thread: $part"), next;
		my $their = delete $of_thread{$name} // [];

		wrong("$name: $runs runs, not ", scalar @$their) unless $runs == @$their;
		duration_is($name, $ms, sum0(@$their));
	}
	wrong("the kernel thread $_ is missing") for keys %of_thread;
}

finish(scalar @stalls, " stalls, $beside lines beside the shrinkers'");
