#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trace_event.pl OUTPUT.JSON OUTPUT.DAT
#
# Holds a file of `-f perfetto` against the rules of the trace-event format ("Trace Event Format",
# the JSON object form: X, i, C and M events), and against the form `trace` of the same capture:
#
#   one JSON object; traceEvents is an array, displayTimeUnit is known
#   each event has ph, name, pid, tid; X a ts and a dur, i a ts and a scope, M a name in its args
#   each thread that has events has a name, and so has each process
#   slices of a thread nest: none begins in another and ends outside
#   pages reclaimed are what the stalls' own fields add up to, at each time
#   as many function slices as functions in the form trace, as many slab slices as pairs
#   slices of states have the time of the stall's states, and those that had the CPU their time, to the ns

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Checker;
use Json;
use Phases;

my ($file, $trace) = @ARGV;
die "usage: trace_event.pl OUTPUT.JSON OUTPUT.DAT\n" unless defined $trace;

my $object = decode_json(bytes_of($file));

wrong("displayTimeUnit") unless $object->{displayTimeUnit} =~ /^(ms|ns)$/;
wrong("traceEvents is no array") unless ref $object->{traceEvents} eq 'ARRAY';
wrong("no summary") unless $object->{allocfilt}{type} eq 'summary';

my (%count, %named, %slices, %counter, @reclaimed);
my $number = qr/^\d+(\.\d+)?$/;

# In ns, of microseconds with three decimals, which a float may not hold exactly.
sub ns_of { return sprintf '%.0f', $_[0] * 1000 }

my @state_slices;	# of the stall whose event follows

sub runner { return "by $_[0]{tid} $_[0]{task} in " . ($_[0]{cgroup} // '') }

sub check_states {
	my ($stall) = @_;
	my (%shown, %said);

	for my $slice (@state_slices) {
		$shown{$slice->{name}} += ns_of($slice->{dur});
		$shown{runner($_)} += $_->{total_ns} for @{$slice->{args}{had_cpu} // []};
		wrong("a state outside of the stall at $slice->{ts}")
			if ns_of($slice->{ts}) < $stall->{ts_ns} ||
			   ns_of($slice->{ts} + $slice->{dur}) > $stall->{ts_ns} + $stall->{duration_ns};
	}
	for my $row (@{$stall->{off_cpu} // []}) {
		$said{$title{$_}} += $row->{"${_}_ns"} // 0 for qw(cpu_wait blocked slept);
	}
	$said{runner($_)} += $_->{total_ns} for @{$stall->{had_cpu} // []};
	for my $what (keys %{{ %shown, %said }}) {
		wrong("the stall at $stall->{ts_ns}: $what: ", $shown{$what} // 0, ' ns, and not ', $said{$what} // 0)
			if ($shown{$what} // 0) != ($said{$what} // 0);
	}
	@state_slices = ();
}

sub take_stall {
	my ($stall, $name) = @_;

	check_states($stall);
	my $end = $stall->{ts_ns} + $stall->{duration_ns};

	wrong("no cause: $name") unless $name =~ /^stall: \w/;
	push @reclaimed, [$end, $stall->{nr_reclaimed}] if defined $stall->{nr_reclaimed};
}

sub check_counters {
	my ($pages, $latest) = (0, 0);
	my @pages = map {
		$latest = $_->[0] if $_->[0] > $latest;
		[$latest, $pages += $_->[1]]
	} @reclaimed;
	my $text = sub { join ' ', map { "$_->[0]:$_->[1]" } @_ };

	wrong("pages") if $text->(@pages) ne $text->(@{$counter{'reclaimed pages'} // []});
}

sub take_event {
	my ($event) = @_;
	my $what = sub { encode_json($event) };

	for my $key (qw(ph name pid tid)) {
		return wrong("no $key: ", $what->()) unless defined $event->{$key};
	}
	return wrong("ids: ", $what->()) unless "$event->{pid} $event->{tid}" =~ /^\d+ \d+$/;
	if ($event->{ph} eq 'M') {
		wrong("no name: ", $what->()) unless defined $event->{args}{name};
		$named{"$event->{name} $event->{pid}"} = 1 if $event->{name} eq 'process_name';
		$named{"$event->{name} $event->{tid}"} = 1 if $event->{name} eq 'thread_name';
		return;
	}
	wrong("no name before it: ", $what->()) unless $named{"process_name $event->{pid}"} &&
						 $named{"thread_name $event->{tid}"};
	wrong("ts: ", $what->()) unless ($event->{ts} // '') =~ $number;
	wrong("args: ", $what->()) unless ref $event->{args} eq 'HASH';
	$count{"$event->{ph} $event->{cat}"}++;
	if ($event->{ph} eq 'X') {
		wrong("dur: ", $what->()) unless ($event->{dur} // '') =~ $number;
		push @{$slices{"$event->{pid} $event->{tid}"}}, $event;
		push @state_slices, $event if $event->{cat} eq 'state';
	} elsif ($event->{ph} eq 'i') {
		wrong("scope: ", $what->()) unless $event->{s} =~ /^[gpt]$/;
		take_stall($event->{args}, $event->{name}) if $event->{cat} eq 'stall';
	} elsif ($event->{ph} eq 'C') {
		my ($key, @more) = keys %{$event->{args}};

		wrong("not one number: ", $what->()) if @more || $event->{args}{$key} !~ /^\d+$/;
		push @{$counter{"$event->{name} $key"}}, [ns_of($event->{ts}), $event->{args}{$key}];
	} else {
		wrong("ph: ", $what->());
	}
}

sub check_nesting {
	my (@slices) = sort { $a->{from} <=> $b->{from} || $b->{dur} <=> $a->{dur} }
		       map { { %$_, from => ns_of($_->{ts}) } } @_;
	my @around;

	for my $slice (@slices) {
		my $end = $slice->{from} + ns_of($slice->{dur});

		pop @around while @around && $around[-1] <= $slice->{from};
		wrong("$slice->{name} at $slice->{ts} of $slice->{tid} ends outside of what is around it")
			if @around && $end > $around[-1] + 2;
		push @around, $end;
	}
}

take_event($_) for @{$object->{traceEvents}};
check_nesting(@$_) for values %slices;
check_counters();

my $text = bytes_of($trace) =~ s/\n\n.*//sr;
my $functions = () = $text =~ m/ us +\|  +\} \/\* /g;
my $slabs = () = $text =~ m/\/\* mm_shrink_slab_end: /g;
wrong("functions: ", $count{'X function'} // 0, " of $functions")
	if ($count{'X function'} // 0) != $functions;
wrong("slab: ", $count{'X slab'} // 0, " of $slabs") if ($count{'X slab'} // 0) != $slabs;

finish(join ', ', map { "$count{$_} $_" } sort keys %count);
