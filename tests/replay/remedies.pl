#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# remedies.pl JSON [KEY|!KEY]...
#
# Holds the remedies of the summary in the form json against its stalls and short memory waits: each
# nanosecond is explained a second time, by the conditions of allocfilt(8). A KEY must be among the remedies,
# one with "!" must not.
#
# Prints what is wrong, a line each, and exits 1; prints the keys and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(sum0);
use Checker;
use Json;

my ($file, @keys) = @ARGV;
die "usage: remedies.pl JSON [KEY|!KEY]...\n" unless defined $file;

sub asks_for_thp { ($_[0]{gfp} // '') =~ /TRANSHUGE/ }

# Where it was not the task's own: no capture of ours says which cgroups were at their limits in it, so that is
# known from the event alone.
sub limit_of_others {
	my ($stall) = @_;
	my $limit = $stall->{phases}{memcg_reclaim}{total_ns} ? $stall->{memcg} // '' : '';
	my $cgroup = $stall->{task}{cgroup} // '';

	wrong("$stall->{ts_ns}: a limit of $stall->{limit}, not of $limit") if ($stall->{limit} // '') ne $limit;
	return 'limit_above' if length $limit > 1 && $cgroup =~ /^\Q$limit\E\//;
	return $limit eq '' || $limit ne $cgroup ? 'limit_unknown' : undef;
}

sub asks_for_block {
	my ($stall) = @_;
	my $order = $stall->{order} // 0;

	return 4 * $stall->{phases}{compaction}{total_ns} >= $stall->{phases}{direct_reclaim}{total_ns} &&
		$order > 0 && $order < 9 &&
		($stall->{gfp} // '') !~ /__GFP_RETRY_MAYFAIL/;
}

# In which a condition alone says more than the phase: the first that holds.
sub reclaim_key {
	my ($stall, $phase, $part) = @_;
	my $first = $stall->{shrinkers}[0];
	my ($scanned, $reclaimed, $dirty) = @$stall{qw(inactive_scanned inactive_reclaimed inactive_dirty)};

	return 'inode_caches' if $part eq 'shrinkers' && $first && $first->{name} =~ /^super_cache_scan\b/ &&
		$first->{scanned} >= 1024 && $first->{freed};
	return 'dirty' if defined $dirty && $scanned >= 32 && 4 * $dirty >= 3 * $scanned;
	return 'throttled' if $part eq 'throttled';
	return 'huge_pages' if $phase eq 'direct_reclaim' && asks_for_thp($stall);
	return 'fragmentation' if $phase eq 'direct_reclaim' && asks_for_block($stall);
	return $phase if $phase ne 'memcg_reclaim';

	my $others = limit_of_others($stall);

	return $others if defined $others;
	return 'limit_in_use' if defined $scanned && $scanned >= 32 && $scanned >= 4 * $reclaimed &&
		defined $stall->{reclaim_priority} && !$stall->{reclaim_priority};
	return 'limit';
}

sub key {
	my ($stall, $phase, $part, $state) = @_;

	return reclaim_key($stall, $phase, $part) if $phase =~ /^(?:direct|memcg|node)_reclaim$/;
	if ($phase eq 'compaction') {
		return 'huge_pages' if asks_for_thp($stall);
		return asks_for_block($stall) ? 'fragmentation' : '';
	}
	if ($phase eq 'outside') {
		return '' if $stall->{incomplete};
		return { running => 'allocator_runs', unknown => 'not_recorded' }->{$state} // '';
	}
	return limit_of_others($stall) // 'memory_high' if $phase eq 'memory_high';
	return { swap_in => 'swap_in', refault => 'refault', oom_killer => 'oom' }
		->{$phase} // '';
}

my @lines = json_lines($file);
my $end = $lines[-1];
my (%ns, %of_cgroup);

sub add {
	my ($cgroup, $key, $ns) = @_;

	$ns{$key} += $ns;
	$of_cgroup{$key}{$cgroup} += $ns if defined $cgroup && $ns;
}

for my $stall (grep { $_->{type} eq 'stall' && !$_->{task}{background} } @lines) {
	my $cgroup = $stall->{task}{interrupt} ? undef : $stall->{task}{cgroup};

	my $waited = 0;
	for my $row (@{$stall->{off_cpu} // []}) {
		add($cgroup, key($stall, $row->{phase}, $row->{part} // '', $_), $row->{"${_}_ns"})
			for qw(running blocked slept off_cpu);
		$waited += $row->{cpu_wait_ns};
	}
	# A wait for a CPU counts by what those did meanwhile who had it.
	for my $runner (@{$stall->{had_cpu} // []}) {
		my $is_own = $runner->{task} eq 'allocfilt';
		my $ns = $runner->{total_ns} - ($is_own ? 0 : $runner->{reclaiming_ns} // 0);

		add($cgroup, $is_own ? 'cpu_own' : 'cpu', $ns);
		$waited -= $ns;
	}
	add($cgroup, 'cpu_reclaiming', $waited);
	next if $stall->{off_cpu};
	for my $phase (keys %{$stall->{phases}}) {
		my $of = $stall->{phases}{$phase};
		my @parts = grep { $_ ne 'total_ns' } keys %$of;

		add($cgroup, key($stall, $phase, s/_ns$//r, 'unknown'), $of->{$_}) for @parts ? @parts : 'total_ns';
	}
}
my %of_reason = (refault => 'refault', swap_in => 'swap_in', memory_high => 'limit_unknown',
	memcg_reclaim => 'limit_unknown', direct_reclaim => 'direct_reclaim', node_reclaim => 'node_reclaim');
for my $of ($end->{stalls}, @{$end->{cgroups}}) {
	for my $reason (@{($of->{memory_waits} // {})->{reasons} // []}) {
		my $key = $of_reason{$reason->{reason}} // '';
		my $ns = $reason->{total_ns} - $reason->{long_ns};

		$ns{$key} += $ns unless defined $of->{cgroup};
		$of_cgroup{$key}{$of->{cgroup}} += $ns if defined $of->{cgroup};
	}
}

my $all = sum0(values %ns);
delete $ns{''};
my %place = map { $_ => $_ eq 'oom' ? 0 : /^(?:allocator_runs|not_recorded)$/ ? 2 : 1 } keys %ns;
my $cpu = sum0(map { $ns{$_} // 0 } qw(cpu cpu_reclaiming cpu_own));
# Our own part counts as all waits for a CPU, from a twentieth of them on.
my %weight = (%ns, cpu_own => 20 * ($ns{cpu_own} // 0) > $cpu ? $cpu : 0);
my @expected = grep { $ns{$_} && ($_ eq 'oom' || ($weight{$_} && $weight{$_} >= int($all / 10))) }
	sort { $place{$a} <=> $place{$b} || $weight{$b} <=> $weight{$a} } keys %ns;
$#expected = 2 if @expected > 3;
my @shown = @{$end->{remedies}};
my $is = join ' ', map { "$_->{key} $_->{total_ns}" } @shown;
my $should = join ' ', map { "$_ $ns{$_}" } @expected;

wrong("$is\nby the stalls: $should, of $all") unless $is eq $should;
for my $key (@keys) {
	my $name = $key =~ s/^!//r;
	my $found = grep { $_->{key} eq $name } @shown;

	wrong($found ? "$name, which it must not have" : "no $name") if $found == ($key =~ /^!/);
}
for my $remedy (@shown) {
	my $most = $of_cgroup{$remedy->{key}} // {};
	my ($largest) = sort { $b <=> $a } values %$most;

	wrong("$remedy->{key}: of $remedy->{cgroup} $remedy->{cgroup_ns} ns, not ", $largest // 'any')
		if ($remedy->{cgroup_ns} // 0) != ($largest // 0) ||
		defined $remedy->{cgroup} && $most->{$remedy->{cgroup}} != $largest;
	my @texts = @{$remedy}{qw(finding look change)};

	wrong("$remedy->{key}: no sentence of 94 bytes: $_") for grep { !/^[A-Z].{10,92}\.$/ } @texts;
	wrong("$remedy->{key}: no source: $remedy->{source}")
		unless $remedy->{source} =~ m{^(?:(?:Documentation/[\w/-]+\.rst|[\w.-]+\([58]\))(?:, |$))+$};
}
finish(join(' ', map { $_->{key} } @shown) || 'none');
