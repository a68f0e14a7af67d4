#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# folded.pl OUTPUT.FOLDED OUTPUT.JSON
#
# Holds `-f folded` against the stalls of `-f json` of the same capture: each line is one that
# flamegraph.pl (stackcollapse's form) and speedscope take, none stands twice, and the lines are the
# chains of task, callers, function, phase, part, shrinker and state, each with the time that the stalls have
# there and nowhere deeper, to the nanosecond.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(sum0);
use Checker;
use Json;
use Phases;

my ($folded_file, $json_file) = @ARGV;
die "usage: folded.pl OUTPUT.FOLDED OUTPUT.JSON\n" unless defined $json_file;

my (%said, %expected);
my $whole = 0;

for my $line (split /^/, bytes_of($folded_file)) {
	my ($chain, $ns) = $line =~ /^(.*) (\d+)\n\z/ or wrong("no chain and number: $line"), next;

	wrong("twice: $line") if exists $said{$chain};
	wrong("an empty frame: $line") if grep { $_ eq '' } split /;/, $chain, -1;
	wrong("no time: $line") if !$ns;
	wrong("a control character: $line") if $chain =~ /[\x00-\x1f\x7f]/;
	$said{$chain} = $ns;
}

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

# What the task did is a frame below.
sub add_states {
	my ($ns, $off_cpu, @frames) = @_;

	return add($ns, @frames) if !$off_cpu;
	add($off_cpu->{"${_}_ns"}, @frames, $title{$_}) for @states;
}

for my $stall (grep { $_->{type} eq 'stall' } json_lines($json_file)) {
	my @chain = ($stall->{task}{interrupt} ? '(interrupt)' : $stall->{task}{name});
	for my $caller (reverse @{$stall->{stack}}) {
		last if $caller eq $stall->{function};
		push @chain, $caller;
	}
	push @chain, $stall->{function};
	$whole += $stall->{duration_ns};
	for my $group (sort keys %{$stall->{phases}}) {
		my %parts = %{$stall->{phases}{$group}};
		my $total = delete $parts{total_ns};
		my @group = (@chain, $title{$group});
		my ($off_cpu) = off_cpu($stall, $group, '');

		add_states($total, $off_cpu, @group) if !%parts;
		for my $shrinker (grep { $_->{phase} eq $group } @{$stall->{shrinkers}}) {
			add_states($shrinker->{total_ns}, $stall->{off_cpu} && $shrinker, @group, $title{shrinkers}, $shrinker->{name});
			$parts{shrinkers_ns} -= $shrinker->{total_ns};
		}
		for (sort keys %parts) {
			my $part = s/_ns$//r;
			my ($off_cpu) = off_cpu($stall, $group, $part);

			add_states($parts{$_}, $part ne 'shrinkers' && $off_cpu, @group, $title{$part});
		}
	}
}

my $sum = sum0(values %said);
wrong("$sum ns in all, of stalls of $whole ns") if $sum != $whole;
for my $chain (sort keys %{{ %said, %expected }}) {
	wrong("$chain: ", $said{$chain} // 'not there', ', by the stalls ', $expected{$chain} // 'none')
		if ($said{$chain} // -1) != ($expected{$chain} // -1);
}
wrong('nothing') if !%said && $whole;
finish(scalar keys %said, " chains have the $sum ns of all stalls");
