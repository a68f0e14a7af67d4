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
use Checker;
use Json;

my %entry_of = (
	direct_reclaim => 'try_to_free_pages', memcg_reclaim => 'try_to_free_mem_cgroup_pages',
);
my ($file) = @ARGV;
my @stalls = grep { $_->{type} eq 'stall' && @{$_->{stack}} } json_lines($file);
my %seen = (direct_reclaim => 0);
for my $stall (@stalls) {
	my %has = map { s/\..*//r => 1 } @{$stall->{stack}};
	my @took = grep { $_ ne 'outside' && $stall->{phases}{$_}{total_ns} } keys %{$stall->{phases}};
	# Compaction that was too short for a phase may have left the stack.
	@took = () if $stall->{compaction_attempts};
	# A memory wait has the title of its reason in place of a function.
	my @expected = ($stall->{function} eq ($stall->{role} // '') ? () : $stall->{function},
			@took == 1 && $entry_of{$took[0]} || ());

	for (grep { !$has{s/\..*//r} } @expected) {
		wrong("no $_ in the stack of $stall->{task}{name} at $stall->{ts_ns}: @{$stall->{stack}}");
	}
	$seen{$took[0]}++ if @took == 1;
}
wrong('no stall of direct reclaim has a stack') unless $seen{direct_reclaim};

finish(scalar @stalls, " stacks lead into their stalls, $seen{direct_reclaim} of them of direct reclaim");
