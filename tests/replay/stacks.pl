#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# stacks.pl OUTPUT.JSON
#
# Holds the stack of each stall of `-f json --stack` against the stall that it is said to be of: the
# stall's own function is among the callers, and so is the entry of what took the time, where only
# one kind of thing did: try_to_free_pages of direct reclaim, try_to_free_mem_cgroup_pages of
# reclaim of a cgroup. There has to be one of direct reclaim. No function of tracing is in one. The system
# call or fault that asked is what the outermost functions say.
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
my %asked;
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
	wrong("tracing in the stack at $stall->{ts_ns}: @{$stall->{stack}}")
		if grep { /^(?:trace_event|__traceiter)/ } @{$stall->{stack}};

	# On x86-64 the outermost function of a call has its name, unless it only calls another one. A fault
	# has the frame of the exception: the last one, but for a fault of the kernel's own, as in ret_from_fork().
	my ($call) = map { /^(?:k|__x64_|__do_|__se_)sys_(\w+)/ ? $1 : () } reverse @{$stall->{stack}};
	my $asked = defined $call ? "$call(2)" :
		(grep { $_ eq 'asm_exc_page_fault' } @{$stall->{stack}}) ? 'page fault' : 'null';

	wrong("asked by " . ($stall->{asked_by} // 'null') . ", by the stack $asked")
		if ($stall->{asked_by} // 'null') ne $asked;
	$asked{$asked}++;
}
wrong('no stall of direct reclaim has a stack') unless $seen{direct_reclaim};
wrong('nobody asked') unless grep { $_ ne 'null' } keys %asked;

finish(scalar @stalls, " stacks lead into their stalls, $seen{direct_reclaim} of them of direct reclaim, asked by ",
	join ', ', map { "$_ $asked{$_}" } sort keys %asked);
