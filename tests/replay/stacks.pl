#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# stacks.pl OUTPUT.JSON
#
# Holds the stack of each stall of `-f json --stack` against the stall that it is said to be of: the
# stall's own function is among the callers, and so is the entry of what took the time, where only
# one kind of thing did: try_to_free_pages of direct reclaim, try_to_free_mem_cgroup_pages of
# reclaim of a cgroup. There has to be one of direct reclaim.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Json;

my %entry_of = (
	direct_reclaim => 'try_to_free_pages', memcg_reclaim => 'try_to_free_mem_cgroup_pages',
);
my ($file) = @ARGV;
open my $in, '<:raw', $file or die "$file: $!\n";
my @stalls = grep { $_->{type} eq 'stall' && @{$_->{stack}} } map { decode_json($_) } <$in>;
my %seen = (direct_reclaim => 0);
my @wrong;
for my $stall (@stalls) {
	my %has = map { s/\..*//r => 1 } @{$stall->{stack}};
	my @took = grep { $_ ne 'rest' && $stall->{phases}{$_}{total_ns} } keys %{$stall->{phases}};
	my @expected = ($stall->{function}, @took == 1 && $entry_of{$took[0]} || ());

	for (grep { !$has{s/\..*//r} } @expected) {
		push @wrong, "no $_ in the stack of $stall->{task}{name} at $stall->{ts_ns}: " .
			"@{$stall->{stack}}";
	}
	$seen{$took[0]}++ if @took == 1;
}
push @wrong, 'no stall of direct reclaim has a stack' unless $seen{direct_reclaim};

if (@wrong) {
	print "$_\n" for @wrong;
	exit 1;
}
printf "%d stacks lead into their stalls, %d of them of direct reclaim\n", scalar @stalls,
	$seen{direct_reclaim};
