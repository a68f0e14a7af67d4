#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Check a file of metrics against the JSON of the same run, which is added up here once more, and
# against the rules of Prometheus' text format that promtool does not look at.
#
#   metrics.pl FILE.prom FILE.json
#
# Prints what was compared; exit status 1 and a line for each thing that is wrong.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(max sum0);
use Checker;
use Json;

my ($prom, $json) = @ARGV;
my (%value, %type, %series, $family);
my $samples = 0;

# Seconds as a text to whole ns: a double has too few digits.
sub ns
{
	my ($whole, $fraction) = $_[0] =~ /^(\d+)(?:\.(\d{1,9}))?$/ or return -1;

	return $whole * 1000000000 + substr(($fraction // '') . '0' x 9, 0, 9);
}

sub begin_family
{
	my ($name, $kind, $text) = @_;

	if ($kind eq 'HELP') {
		wrong("$name: a second HELP") if exists $type{$name};
		$family = $name;
		$type{$name} = undef;
	} else {
		wrong("$name: TYPE without HELP before it") if $family ne $name;
		wrong("$name: a second TYPE") if defined $type{$name};
		$type{$name} = $text;
	}
}

# Labels in one order, for comparing; the names in the order in which they stand are checked too.
sub labels_of
{
	my $text = shift // '';
	my %labels;

	while ($text =~ /\G([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/gc) {
		wrong("label $1 twice: $text") if exists $labels{$1};
		wrong("an empty label: $text") if $2 eq '';
		$labels{$1} = $2;
	}
	wrong("labels: $text") if (pos($text) // 0) != length $text;
	return \%labels;
}

sub sample
{
	my $line = shift;
	my ($name, $text, $number) = $line =~ /^([a-z_]+)(?:\{(.*)\})? ([0-9.]+)$/
		or return wrong("no sample: $line");
	my $labels = labels_of($text);
	my $key = join ',', $name, map { "$_=$labels->{$_}" } sort keys %$labels;
	my $base = $name;

	$base =~ s/_(?:bucket|sum|count)$// if ($type{$family} // '') eq 'histogram';
	wrong("$name outside of its family") if $base ne ($family // '');
	wrong("two series with the same labels: $key") if $series{$key}++;
	$value{$name}{join ',', map { "$_=$labels->{$_}" } sort keys %$labels} = $number;
	$samples++;
}

for my $line (split /^/, bytes_of($prom)) {
	wrong("no newline at the end") if $line !~ s/\n$//;
	utf8::decode(my $copy = $line) or wrong("no UTF-8: $line");
	if ($line =~ /^# (HELP|TYPE) ([a-z_]+) (.+)$/) {
		begin_family($2, $1, $3);
	} else {
		sample($line);
	}
}
defined $type{$_} or wrong("$_: no TYPE") for sort keys %type;

# From here on: what the JSON says.
my (%expected, %seconds, $summary);
my @edges = map { 1000 * 2 ** $_ } 4 .. 26;

sub expect
{
	my ($name, $labels, $number, $is_ns) = @_;

	$expected{$name}{$labels} += $number;
	$seconds{$name} = 1 if $is_ns;
}

sub expect_max
{
	my ($name, $labels, $number) = @_;

	$seconds{$name} = 1;
	$expected{$name}{$labels} = $number if $number >= ($expected{$name}{$labels} // 0);
}

sub edge_text
{
	my $text = sprintf '%d.%09d', int($_[0] / 1e9), $_[0] % 1000000000;

	$text =~ s/\.?0+$//;
	return $text;
}

sub expect_histogram
{
	my ($name, $ns) = @_;

	expect("${name}_count", '', 1);
	expect("${name}_sum", '', $ns, 1);
	expect("${name}_bucket", 'le=+Inf', 1);
	expect("${name}_bucket", 'le=' . edge_text($_), $ns <= $_ ? 1 : 0) for @edges;
}

# The first directory below the slices, if it is a unit.
sub unit_of
{
	my $task = shift;
	my $cgroup = $task->{interrupt} ? '' : $task->{cgroup} // '';
	my @directories = grep { $_ ne '' } split m{/}, $cgroup;

	shift @directories while @directories && $directories[0] =~ /\.slice$/;
	return $directories[0] if @directories && $directories[0] =~ /\.(?:service|scope)$/;
	return $cgroup eq '' ? 'none' : $cgroup;
}

sub expect_phases
{
	my ($name, $phases, $whole) = @_;

	for my $group (keys %$phases) {
		my %part = %{$phases->{$group}};
		my $total = delete $part{total_ns};

		if ($whole) {
			expect($name, "group=$group", $total, 1);
			next;
		}
		$part{itself_ns} //= $total;
		for my $key (keys %part) {
			(my $part = $key) =~ s/_ns$//;
			expect($name, "group=$group,part=$part", $part{$key}, 1);
		}
	}
}

sub expect_totals
{
	my ($prefix, $labels, $total) = @_;

	expect("${prefix}_seconds_total", $labels, $total->{total_ns}, 1);
	expect("${prefix}_runs_total", $labels, $total->{count});
	expect_max("${prefix}_max_seconds", $labels, $total->{max_ns});
}

sub shown_label
{
	my $text = shift;

	utf8::encode($text);
	$text =~ s/([\\"])/\\$1/g;
	return $text;
}

# At most so many series of a family, by a label, are told apart; the others add up to "other".
my ($KEYS, $SHRINKERS, $SUPERBLOCKS) = (6, 12, 6);

my $stalls = 0;
my %ended;
my %own_causes;	# of a unit: the first that it had
for my $object (json_lines($json)) {
	$summary = $object if $object->{type} eq 'summary';
	next if $object->{type} ne 'stall';
	expect('allocfilt_incomplete_stalls_total', '', $object->{incomplete} ? 1 : 0);
	if ($object->{task}{on_purpose}) {
		expect('allocfilt_on_purpose_seconds_total', '', $object->{duration_ns}, 1);
		next;
	}
	my $whose = $object->{task}{background} ? 'background' : 'stall';
	my $phases = $object->{task}{background} ? 'background_phase' : 'phase';
	if (!$object->{task}{background}) {
		my $unit = unit_of($object->{task});
		my $own = $own_causes{$unit} //= {};

		$own->{$object->{cause}} = 1 if keys %$own < $KEYS;
		my $cause = $own->{$object->{cause}} ? $object->{cause} : 'other';
		expect('allocfilt_stalls_total', "unit=$unit", 1);
		expect('allocfilt_stall_seconds_total', "cause=$cause,unit=$unit", $object->{duration_ns}, 1);
		push @{$ended{$unit}}, [$object->{ts_ns} + $object->{duration_ns}, $object->{duration_ns}];
	}
	expect_histogram("allocfilt_${whose}_duration_seconds", $object->{duration_ns});
	expect_phases("allocfilt_${phases}_seconds_total", $object->{phases},
		      $object->{task}{background});
	$stalls++;
}
$summary or die "$json: no summary\n";

# The minute in which the capture ends, and the two before.
my $minute = 60 * 1000000000;
for my $unit (keys %ended) {
	expect_max('allocfilt_stall_recent_max_seconds', "unit=$unit",
		   int($_->[0] / $minute) >= int($summary->{ts_ns} / $minute) - 2 ? $_->[1] : 0)
		for @{$ended{$unit}};
}

# Memory waits by unit: those of tasks of no cgroup are the others.
sub expect_waits
{
	my ($unit, $waits, $sign) = @_;

	for my $reason (@{$waits->{reasons}}) {
		expect('allocfilt_memory_waits_total', "unit=$unit", $sign * $reason->{count});
		expect('allocfilt_memory_wait_seconds_total', "reason=$reason->{reason},unit=$unit",
		       $sign * $reason->{total_ns}, 1);
	}
}
expect_waits('none', $summary->{stalls}{memory_waits}, 1);
for my $cgroup (@{$summary->{cgroups}}) {
	expect_waits('none', $cgroup->{memory_waits}, -1);
	expect_waits(unit_of($cgroup), $cgroup->{memory_waits}, 1);
}
for my $values (map { $expected{$_} // () } qw(allocfilt_memory_waits_total allocfilt_memory_wait_seconds_total)) {
	delete @$values{grep { !$values->{$_} } keys %$values};
}

expect('allocfilt_oom_kills_total', 'unit=' . unit_of($_), $_->{count}) for @{$summary->{oom_kills}};

# The JSON does not tell which came first: any $most of the file are right, and the sum of the others.
sub fold
{
	my ($name, $most, $add, $of, $other) = @_;
	my $values = $expected{$name} // return;
	my %labels;

	push @{$labels{s/$of//r}}, $_ for keys %$values;
	for my $rest (grep { @{$labels{$_}} > $most } keys %labels) {
		my @folded = grep { !exists $value{$name}{$_} } @{$labels{$rest}};

		wrong("$name: " . @folded . " of " . @{$labels{$rest}} . " are not told apart")
			if @folded != @{$labels{$rest}} - $most;
		$values->{$other . $rest} = $add->(delete @$values{@folded});
	}
}
fold('allocfilt_memory_wait_seconds_total', $KEYS, \&sum0, qr/^reason=[^,]*/, 'reason=other');

# Without any stall these are all zero.
expect_phases('allocfilt_phase_seconds_total', $summary->{stalls}{phases}) if !$stalls;
expect('allocfilt_on_purpose_seconds_total', '', 0, 1);
expect('allocfilt_threshold_seconds', '', $summary->{threshold_ns}, 1);
my @superblocks;
for my $shrinker (@{$summary->{shrinkers}}) {
	my $name = $shrinker->{name} =~ /^0x/ ? 'unknown' : $shrinker->{name};

	expect_totals('allocfilt_shrinker', "shrinker=$name", $shrinker);
	for my $superblock (@{$shrinker->{superblocks}}) {
		my ($label) = $superblock->{name} =~ /\[(.*)\]$/;

		next if $label =~ /^0x/;
		push @superblocks, [shown_label($label), $superblock];
	}
}
@superblocks = sort { $b->[1]{total_ns} <=> $a->[1]{total_ns} } @superblocks;
expect_totals('allocfilt_superblock_shrink', @$_) for grep { defined } @superblocks[0 .. $SUPERBLOCKS - 1];
fold("allocfilt_shrinker_$_", $SHRINKERS, /max/ ? \&max : \&sum0, qr/.*/, 'shrinker=other')
	for qw(seconds_total runs_total max_seconds);
expect('allocfilt_lost_records_total', '', $_->{records}) for @{$summary->{lost}};
expect('allocfilt_unknown_losses_total', '', $_->{times_unknown}) for @{$summary->{lost}};
expect('allocfilt_table_overflows_total', "table=$_", $summary->{overflows}{$_})
	for keys %{$summary->{overflows}};

# The JSON has device and mount point only where two superblocks have one name.
sub superblock_label
{
	my ($name, $labels) = @_;
	my %label = map { /^([a-z]+)=(.*)$/s } split /,(?=[a-z]+=)/, $labels;
	my $long = join ' ', grep { defined } @label{'superblock', 'device', 'mountpoint'};

	return exists $expected{$name}{$long} ? $long : $label{superblock};
}

my $compared = 0;
for my $name (sort keys %value) {
	my %left = %{$expected{$name} // {}};

	for my $labels (sort keys %{$value{$name}}) {
		my $got = $value{$name}{$labels};
		my $at = $name =~ /^allocfilt_superblock_/ ? superblock_label($name, $labels)
							   : $labels;
		my $wanted = delete $left{$at};

		next if $name =~ /^allocfilt_(?:build|function)_info$/;
		$got = ns($got) if $seconds{$name};
		# A value that the JSON does not have is 0: nothing lost, no stall at all.
		$wanted //= $name =~ /_(?:phase_seconds|stall_seconds|losses|records|stalls)_total$|_duration_seconds_/ ? 0 : 'none';
		$got = ns($got) if !$seconds{$name} && $name =~ /_seconds(?:_|$)/ && !$wanted;
		wrong("$name {$labels}: $got and not $wanted") if $got ne $wanted;
		$compared++;
	}
	wrong("$name {$_}: missing") for sort keys %left;
}
exists $value{$_} or wrong("$_: missing") for sort keys %expected;

finish("$compared values of $samples, $stalls stalls");
