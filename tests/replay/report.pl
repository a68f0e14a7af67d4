#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# report.pl FORM PLAIN.JSON PLAIN SHOWN CONDITION
#
# What SHOWN, in the form FORM (json, trace, perfetto), has to be: of the stalls in PLAIN.JSON those
# for which the Perl expression CONDITION about $_ is true, in their order, and of PLAIN what belongs
# to them, byte for byte: of the lines of its task, or the events of its track, those up to the last
# of so many windows as the stall has.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Checker;
use Json;

my ($form, $plain_json, $plain, $shown, $condition) = @ARGV;
my $wanted = eval "sub { $condition }" or die $@;

my @stalls = grep { $_->{type} eq 'stall' } map { my $stall = filled(decode_json($_)); $stall->{line} = $_; $stall }
	split /^/, bytes_of($plain_json);
for my $stall (@stalls) {
	local $_ = $stall;
	$stall->{shown} = $wanted->();
}
my @shown = grep { $_->{shown} } @stalls;
die "no stall is shown, or none is left out\n" if !@shown || @shown == @stalls;

sub same {
	my ($expected, $found, $what) = @_;
	my $count = @$expected > @$found ? @$expected : @$found;

	for my $i (0 .. $count - 1) {
		next if ($expected->[$i] // '') eq ($found->[$i] // '');
		die "$what ", $i + 1, ": ", $found->[$i] // "none\n", "and not ",
			$expected->[$i] // "none\n";
	}
	printf "%d of %d stalls, %d %ss\n", scalar @shown, scalar @stalls, scalar @$expected, $what;
}

# The lines in front of the summary, each with those of its stack.
sub trace_lines {
	my @lines;

	for (split /^/, bytes_of($_[0])) {
		last if $_ eq "\n";
		if (/ \|   *\d+\) .*-(\d+) *\| /) {
			push @lines, { tid => $1, text => $_ };
		} else {
			$lines[-1]{text} .= $_;
		}
	}
	return @lines;
}

# Is it a memory wait that nothing is around? Then its own end is the last of it.
sub is_wait { $_[0]{function} eq ($_[0]{role} // '') }

sub ends_wait {
	my ($text, $stall) = @_;
	my ($us, $side) = $text =~ /^\s*(\d+\.\d{6}) .*\bmemory_wait_(begin|end): / or return 0;
	my $end = $stall->{ts_ns} + $stall->{duration_ns};

	return $side eq 'end' && $us eq sprintf '%d.%06d', $end / 1e9, $end / 1e3 % 1e6;
}

sub check_trace {
	my (%of_task, @expected);

	push @{$of_task{$_->{tid}}}, $_->{text} for trace_lines($plain);
	for my $stall (@stalls) {
		my $lines = $of_task{$stall->{task}{tid}} // [];

		for (my $left = is_wait($stall) || $stall->{windows}; $left;) {
			my $text = shift @$lines // die "a stall without its lines: $stall->{line}";

			$left-- if is_wait($stall) ? ends_wait($text, $stall) : $text =~ / us +\|  *\}/;
			push @expected, $text if $stall->{shown};
		}
	}
	for my $tid (keys %of_task) {
		die "a line of no stall: $of_task{$tid}[0]" if @{$of_task{$tid}};
	}
	same(\@expected, [map { $_->{text} } trace_lines($shown)], 'line');
}

# Events but those with names of tracks, in their order.
sub trace_events {
	my @events = @{decode_json(bytes_of($_[0]))->{traceEvents}};

	filled($_->{args}) for grep { ($_->{cat} // '') eq 'stall' } @events;
	return @events;
}

sub check_perfetto {
	# The counters are of the stalls that are shown: trace_event.pl holds them against these.
	my @plain = grep { $_->{ph} !~ /^[MC]$/ } trace_events($plain);
	my @events = grep { $_->{ph} ne 'C' && ($_->{args}{name} // '') ne 'all tasks' }
		trace_events($shown);
	my (@expected, %of_track, %tids, %named);

	for my $event (@plain) {
		my $waiting = $of_track{"$event->{pid} $event->{tid}"} //= [];
		local $_ = $event->{args};

		if ($event->{cat} ne 'stall') {
			push @$waiting, $event;
			next;
		}
		for (my $left = is_wait($_) || $_->{windows}; $left;) {
			my $inside = shift @$waiting // die "a stall without its windows\n";

			$left-- if is_wait($_) ? $inside->{cat} eq 'pair' &&
						 abs($inside->{ts} + $inside->{dur} - $event->{ts}) < 0.001 &&
						 abs($inside->{dur} * 1000 - $_->{duration_ns}) < 1 :
						 $inside->{cat} eq 'function';
			push @expected, $inside if $wanted->();
		}
		# Its times off the CPU come last.
		while (@$waiting && $waiting->[0]{cat} eq 'state') {
			my $inside = shift @$waiting;
			push @expected, $inside if $wanted->();
		}
		push @expected, $event if $wanted->();
	}
	for my $event (@events) {
		if ($event->{ph} eq 'M') {
			$named{$event->{tid}} = 1 if $event->{name} eq 'thread_name';
		} else {
			$tids{$event->{tid}} = 1;
		}
	}
	die "names of other tracks than those with events\n"
		if join(' ', sort keys %tids) ne join(' ', sort keys %named);
	same([map { encode_json($_) . "\n" } @expected],
	     [map { encode_json($_) . "\n" } grep { $_->{ph} ne 'M' } @events], 'event');
}

if ($form eq 'json') {
	same([map { $_->{line} } @shown], [grep { /^\{"type":"stall"/ } split /^/, bytes_of($shown)], 'line');
} elsif ($form eq 'trace') {
	check_trace();
} else {
	check_perfetto();
}
