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
	my ($name, $role, $ns) = @_;

	expect("${name}_count", "role=$role", 1);
	expect("${name}_sum", "role=$role", $ns, 1);
	expect("${name}_bucket", "le=+Inf,role=$role", 1);
	expect("${name}_bucket", 'le=' . edge_text($_) . ",role=$role", $ns <= $_ ? 1 : 0)
		for @edges;
}

# As the manual page has them; the others are the role itself, with _ for a blank.
my %role_key = (
	'memory.high' => 'memory_high',
	"one node's lists" => 'node_lists',
	"one memcg's lists" => 'memcg_lists',
	"one memcg's lists (multi-gen LRU)" => 'memcg_lists',
	'inactive list (multi-gen LRU)' => 'inactive_list',
	'throttling in reclaim' => 'reclaim_throttle',
	'compaction of a zone' => 'zone_compaction',
	'draining per-CPU lists' => 'drain',
	'OOM killer' => 'oom_killer',
	'swap-in' => 'swap_in',
);

sub role_key
{
	my $role = shift // 'other';

	return $role_key{$role} // $role =~ s/ /_/gr;
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
	my ($name, $phases) = @_;

	for my $group (keys %$phases) {
		my %part = %{$phases->{$group}};
		my $total = delete $part{total_ns};

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

my $stalls = 0;
my %ended;
for my $object (json_lines($json)) {
	$summary = $object if $object->{type} eq 'summary';
	next if $object->{type} ne 'stall';
	my $whose = $object->{task}{background} ? 'background' : 'stall';
	my $phases = $object->{task}{background} ? 'background_phase' : 'phase';
	if (!$object->{task}{background}) {
		my $unit = unit_of($object->{task});
		my $labels = "cause=$object->{cause},unit=$unit";

		expect('allocfilt_stalls_total', $labels, 1);
		expect('allocfilt_stall_seconds_total', $labels, $object->{duration_ns}, 1);
		push @{$ended{$unit}}, [$object->{ts_ns} + $object->{duration_ns}, $object->{duration_ns}];
	}
	expect_histogram("allocfilt_${whose}_duration_seconds", role_key($object->{role}),
			 $object->{duration_ns});
	expect_phases("allocfilt_${phases}_seconds_total", $object->{phases});
	expect('allocfilt_incomplete_stalls_total', '', $object->{incomplete} ? 1 : 0);
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
		my $labels = "reason=$reason->{reason},unit=$unit";

		expect('allocfilt_memory_waits_total', $labels, $sign * $reason->{count});
		expect('allocfilt_memory_wait_seconds_total', $labels, $sign * $reason->{total_ns}, 1);
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

# Without any stall these are all zero.
expect_phases('allocfilt_phase_seconds_total', $summary->{stalls}{phases}) if !$stalls;
expect('allocfilt_threshold_seconds', '', $summary->{threshold_ns}, 1);
for my $shrinker (@{$summary->{shrinkers}}) {
	my $name = $shrinker->{name} =~ /^0x/ ? 'unknown' : $shrinker->{name};

	expect_totals('allocfilt_shrinker', "shrinker=$name", $shrinker);
	for my $superblock (@{$shrinker->{superblocks}}) {
		my ($label) = $superblock->{name} =~ /\[(.*)\]$/;

		next if $label =~ /^0x/;
		expect_totals('allocfilt_superblock_shrink', shown_label($label), $superblock);
	}
}
expect('allocfilt_lost_records_total', "cpu=$_->{cpu}", $_->{records}) for @{$summary->{lost}};
expect('allocfilt_unknown_losses_total', "cpu=$_->{cpu}", $_->{times_unknown})
	for @{$summary->{lost}};
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
		# What the JSON does not tell is 0: a CPU that lost nothing, no stall at all.
		$wanted //= $name =~ /_(?:phase_seconds|stall_seconds|losses|records|stalls)_total$/ ? 0 : 'none';
		$got = ns($got) if !$seconds{$name} && $name =~ /_seconds(?:_|$)/ && !$wanted;
		wrong("$name {$labels}: $got and not $wanted") if $got ne $wanted;
		$compared++;
	}
	wrong("$name {$_}: missing") for sort keys %left;
}
exists $value{$_} or wrong("$_: missing") for sort keys %expected;

finish("$compared values of $samples, $stalls stalls");
