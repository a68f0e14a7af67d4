#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# schema.pl OUTPUT.JSON
#
# Holds each line of `-f json` against the schema that the manual page describes: every field is
# there, is of its type, and no other field is; stalls first, the summary last.
#
# Types: i an integer that is not negative, n any integer, s a string, b a boolean, x an address
# ("0x…"), t a time of RFC 3339; with ? it may be null. A hash is an object with these fields, a
# list of one is an array of that.

use strict;
use warnings;
use B;
use FindBin;
use lib $FindBin::Bin;
use Json;

my @reclaim = (total_ns => 'i', own_ns => 'i', slab_ns => 'i', inactive_list_ns => 'i',
	       active_list_ns => 'i', throttle_ns => 'i', soft_limit_ns => 'i');
my %phases = (
	direct_reclaim => {@reclaim}, memcg_reclaim => {@reclaim}, node_reclaim => {@reclaim},
	other_reclaim => {@reclaim}, compaction => { total_ns => 'i' },
	memory_high => { total_ns => 'i' }, rest => { total_ns => 'i' },
);
my @latency = (count => 'i', total_ns => 'i', p50_ns => 'i', p99_ns => 'i', max_ns => 'i');
my @bounded = (@latency, error_ns => 'i');
my @stall = (
	time => 't?', ts_ns => 'i', duration_ns => 'i',
	task => { tid => 'i', name => 's', pid => 'i?', process => 's?', cgroup => 's?',
		  background => 'b', interrupt => 'b' },
	cpu => 'i', function => 's', role => 's?', depth => 'i', order => 'n?', gfp => 's?',
	gfp_flags => 'x?', nr_reclaimed => 'i?', compaction => 's?', memcg_id => 'i?',
	memcg => 's?', nodes => 's?', reclaim_priority => 'i?',
	(map { ("inactive_$_" => 'i?') } qw(scanned reclaimed dirty writeback)),
	compaction_attempts => 'i?', compaction_outcomes => 's?', phases => {%phases},
	shrinkers => [{ phase => 's', name => 's', shrinker => 'x', callback => 'x', count => 'i',
			total_ns => 'i' }],
	source => 's', stack => ['s'], windows => 'i', events => 'i', incomplete => 'b',
);
my %schema = (
	stall => { type => 's', schema => 'i', @stall },
	summary => {
		type => 's', schema => 'i', final => 'b', time => 't?', ts_ns => 'i',
		threshold_ns => 'i', report_ns => 'i',
		not_shown => { shorter => 'i', others => 'i' },
		shrinkers => [{ name => 's', callback => 'x', count => 'i', total_ns => 'i',
				max_ns => 'i', error_ns => 'i',
				superblocks => [{ name => 's', count => 'i', total_ns => 'i',
						  max_ns => 'i' }] }],
		functions => [{ function => 's?', role => 's?', @bounded,
				histogram => [{ from_ns => 'i', to_ns => 'i', count => 'i' }] }],
		stalls => { @latency, phases => {%phases} },
		background => { @latency, phases => {%phases} },
		most_explained => {@stall}, longest => {@stall},
		tasks => [{ tid => 'i', name => 's', @bounded }],
		cgroups => [{ cgroup => 's', @bounded }],
		kernel_threads => [{ tid => 'i', name => 's', @bounded }],
		incomplete => 'i',
		lost => [{ cpu => 'i', records => 'i', times_unknown => 'i' }],
		overflows => { map { $_ => 'i' } qw(tasks events cpus names stalls summary) },
		journal => { entries => 'i', held_back => 'i', dropped => 'i' },
	},
);
my %may_be_null = map { $_ => 1 } qw(journal most_explained longest);

my @wrong;

sub wrong { push @wrong, "line $.: " . join('', @_) if @wrong < 20; }

sub is_number {
	my ($value) = @_;
	my $flags = B::svref_2object(\$value)->FLAGS;

	return $flags & (B::SVp_IOK | B::SVp_NOK) && !($flags & B::SVp_POK);
}

sub is_string { defined $_[0] && !ref $_[0] && !is_number($_[0]) }

my %check = (
	i => sub { defined $_[0] && !ref $_[0] && is_number($_[0]) && $_[0] =~ /^\d+$/ },
	n => sub { defined $_[0] && !ref $_[0] && is_number($_[0]) && $_[0] =~ /^-?\d+$/ },
	s => \&is_string,
	x => sub { is_string($_[0]) && $_[0] =~ /^0x[0-9a-f]+$/ },
	t => sub { is_string($_[0]) && $_[0] =~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/ },
	b => sub { ref $_[0] eq 'JSON::PP::Boolean' },
);

sub check {
	my ($value, $type, $path) = @_;

	if (ref $type eq 'ARRAY') {
		return wrong("$path is no array") unless ref $value eq 'ARRAY';
		check($value->[$_], $type->[0], "$path\[$_]") for 0 .. $#$value;
	} elsif (ref $type eq 'HASH') {
		return wrong("$path is no object") unless ref $value eq 'HASH';
		for my $key (sort keys %$type) {
			next if !defined $value->{$key} && exists $value->{$key} && $may_be_null{$key};
			exists $value->{$key} ? check($value->{$key}, $type->{$key}, "$path.$key")
					      : wrong("$path has no $key");
		}
		exists $type->{$_} or wrong("$path has a field $_") for sort keys %$value;
	} else {
		my ($kind, $optional) = $type =~ /^(.)(\??)$/;

		return if $optional && !defined $value;
		wrong("$path is no '$kind': ", $value // 'null') unless $check{$kind}->($value);
	}
}

my ($file) = @ARGV;
open my $in, '<:raw', $file or die "$file: $!\n";
my ($stalls, $ended) = (0, 0);
while (my $line = <$in>) {
	my $object = eval { decode_json($line) };

	if (!$object) {
		wrong("no JSON: $@");
		next;
	}
	wrong("something behind the summary") if $ended;
	my $schema = $schema{$object->{type} // ''};
	if (!$schema) {
		wrong("no type that is known");
		next;
	}
	check($object, $schema, $object->{type});
	wrong("schema $object->{schema}") if $object->{schema} != 2;
	$object->{type} eq 'stall' ? $stalls++ : ($ended = 1);
}
wrong("no summary at the end") unless $ended;
if (@wrong) {
	print "$_\n" for @wrong;
	exit 1;
}
print "$stalls stalls and the summary are as the schema says\n";
