#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# folded.pl OUTPUT.FOLDED OUTPUT.JSON
#
# Holds `-f folded` against the stalls of `-f json` of the same capture: each line is one that
# flamegraph.pl (stackcollapse's form) and speedscope take, none stands twice, and the lines are the
# chains of task, callers, function, phase, part, shrinker or state, each with the time that the stalls have
# there and nowhere deeper, to the nanosecond.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Json;

my ($folded_file, $json_file) = @ARGV;
die "usage: folded.pl OUTPUT.FOLDED OUTPUT.JSON\n" unless defined $json_file;

my %title = (
	own_ns => 'own time', shrinkers_ns => 'shrinkers', slab_ns => 'slab outside of shrinkers',
	inactive_list_ns => 'inactive list', active_list_ns => 'active list',
	short_runs_ns => 'short runs on the lists', throttle_ns => 'throttling sleep',
	soft_limit_ns => 'soft limit', memory_high => 'memory.high', other_reclaim => 'reclaim',
	oom_killer => 'OOM killer', drain => 'draining per-CPU lists',
);
my %title_of_state = (
	cpu_wait => 'waiting for a CPU', blocked => 'asleep, uninterruptible', slept => 'asleep',
);
my (%said, %expected, @wrong);
my ($sum, $whole) = (0, 0);

open my $in, '<:raw', $folded_file or die "$folded_file: $!\n";
while (my $line = <$in>) {
	my ($chain, $ns) = $line =~ /^(.*) (\d+)\n\z/ or push @wrong, "no chain and number: $line";

	next unless defined $ns;
	push @wrong, "twice: $line" if exists $said{$chain};
	push @wrong, "an empty frame: $line" if grep { $_ eq '' } split /;/, $chain, -1;
	push @wrong, "no time: $line" if !$ns;
	push @wrong, "a control character: $line" if $chain =~ /[\x00-\x1f\x7f]/;
	$said{$chain} = $ns;
	$sum += $ns;
}
close $in;

# A name is one frame, and what JSON has as control characters is escaped here.
sub frame {
	my ($name) = @_;

	utf8::encode($name);
	return $name =~ s/([\x00-\x1f\x7f;])/sprintf '\\x%02x', ord $1/ger;
}

sub add {
	my ($ns, @frames) = @_;

	$expected{join ';', map { frame($_) } @frames} += $ns if $ns;
}

# What the task did instead of running is a frame below.
sub add_states {
	my ($ns, $states, @frames) = @_;

	for my $state (grep { $states } qw(cpu_wait blocked slept)) {
		add($states->{"${state}_ns"}, @frames, $title_of_state{$state});
		$ns -= $states->{"${state}_ns"};
	}
	add($ns, @frames);
}

open $in, '<:raw', $json_file or die "$json_file: $!\n";
while (my $line = <$in>) {
	my $stall = decode_json($line);

	next if $stall->{type} ne 'stall';
	my @chain = ($stall->{task}{name});
	for my $caller (reverse @{$stall->{stack}}) {
		last if $caller eq $stall->{function};
		push @chain, $caller;
	}
	push @chain, $stall->{function};
	$whole += $stall->{duration_ns};
	for my $group (sort keys %{$stall->{phases}}) {
		my %parts = %{$stall->{phases}{$group}};
		my $total = delete $parts{total_ns};
		my @group = (@chain, $title{$group} // $group =~ tr/_/ /r);

		my %of_part = map { ($_->{part} // '') => $_ } grep { $_->{phase} eq $group } @{$stall->{off_cpu} // []};

		add_states($total, $of_part{''}, @group) if !%parts;
		for my $shrinker (grep { $_->{phase} eq $group } @{$stall->{shrinkers}}) {
			add($shrinker->{total_ns}, @group, $title{shrinkers_ns}, $shrinker->{name});
			$parts{shrinkers_ns} -= $shrinker->{total_ns};
		}
		for my $part (sort keys %parts) {
			my $states = $part eq 'shrinkers_ns' ? undef : $of_part{$part =~ s/_ns$//r};

			add_states($parts{$part}, $states, @group, $title{$part});
		}
	}
}
close $in;

push @wrong, "$sum ns in all, of stalls of $whole ns" if $sum != $whole;
for my $chain (sort keys %{{ %said, %expected }}) {
	push @wrong, "$chain: " . ($said{$chain} // 'not there') . ', by the stalls ' .
		($expected{$chain} // 'none') if ($said{$chain} // -1) != ($expected{$chain} // -1);
}
push @wrong, "nothing" if !%said && $whole;
if (@wrong) {
	chomp @wrong;
	print "$_\n" for @wrong[0 .. ($#wrong > 19 ? 19 : $#wrong)];
	exit 1;
}
print scalar(keys %said), " chains have the $sum ns of all stalls\n";
