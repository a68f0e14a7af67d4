# SPDX-License-Identifier: GPL-2.0-or-later
#
# JSON for the checkers: Cpanel::JSON::XS where it is installed, which is 25 times as fast as Perl's
# own JSON::PP. Else that writes, and a parser here reads, which takes a third of its time.

package Json;

use strict;
use warnings;
use Exporter 'import';
use Phases qw(@phases @parts @states);

our @EXPORT = qw(decode_json encode_json filled json_lines);

eval { require Cpanel::JSON::XS } or require JSON::PP;
my $xs = $INC{'Cpanel/JSON/XS.pm'};
my $json = ($xs ? 'Cpanel::JSON::XS' : 'JSON::PP')->new->utf8->canonical;
my %escaped = (b => "\b", f => "\f", n => "\n", r => "\r", t => "\t", map { $_ => $_ } qw(" \\ /));

sub decode_json { $xs ? $json->decode($_[0]) : parsed($_[0]) }
sub encode_json { $json->encode($_[0]) }

sub parsed
{
	local $_ = $_[0];

	utf8::decode($_) or die "JSON: not UTF-8\n";
	/\G\s*/gc;
	my $value = value();
	pos() == length() or unexpected();
	return $value;
}

sub unexpected { die 'JSON: unexpected at byte ', pos() // 0, ': ', substr($_, pos() // 0, 20), "\n" }

# Of $_ from pos() on, as the rest here.
sub value
{
	return string() if /\G"/gc;
	return $1 + 0 if /\G(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*/gc;
	return members({}, '\}') if /\G\{\s*/gc;
	return members([], '\]') if /\G\[\s*/gc;
	return undef if /\Gnull\b\s*/gc;
	return JSON::PP::true() if /\Gtrue\b\s*/gc;
	return JSON::PP::false() if /\Gfalse\b\s*/gc;
	unexpected();
}

sub string
{
	/\G([^"\\\x00-\x1f]*)/gc;
	my $string = $1;

	until (/\G"\s*/gc) {
		if (/\G\\u(d[89ab]..)\\u(d[c-f]..)/gci) {
			$string .= chr(0x10000 + ((hex($1) & 0x3ff) << 10 | hex($2) & 0x3ff));
		} elsif (/\G\\u([[:xdigit:]]{4})/gc) {
			$string .= chr hex $1;
		} elsif (/\G\\(["\\\/bfnrt])/gc) {
			$string .= $escaped{$1};
		} else {
			unexpected();
		}
		/\G([^"\\\x00-\x1f]*)/gc and $string .= $1;
	}
	return $string;
}

sub members
{
	my ($into, $end) = @_;

	return $into if /\G$end\s*/gc;
	do {
		if (ref $into eq 'ARRAY') {
			push @$into, value();
		} else {
			/\G"/gc or unexpected();
			my $key = string();
			/\G:\s*/gc && !exists $into->{$key} or unexpected();
			$into->{$key} = value();
		}
	} while (/\G,\s*/gc);
	/\G$end\s*/gc or unexpected();
	return $into;
}

# An object of -f json leaves out what is not known, and a stall what says nothing. Here it is filled in
# as etc/allocfilt.schema.json has it, so that the checkers can compare every field.

my $false = decode_json('[false]')->[0];
my @of_stall = qw(time role order gfp gfp_flags nr_reclaimed compaction memcg_id memcg nodes
	inactive_scanned inactive_reclaimed inactive_dirty inactive_writeback reclaim_priority
	compaction_attempts compaction_outcomes off_cpu cause_detail asked_by);

sub fill
{
	my ($object, $value, @keys) = @_;

	exists $object->{$_} or $object->{$_} = $value for @keys;
}

sub fill_phases
{
	my ($of) = @_;

	for my $phase (@phases) {
		fill($of->{$phase} //= {}, 0, 'total_ns', map { "${_}_ns" } $phase =~ /reclaim$/ ? @parts : ());
	}
}

# The phases and parts with time, each with the time of every state: the task ran for what is left.
sub fill_off_cpu
{
	my ($stall) = @_;
	my %row = map { ($_->{phase} . '/' . ($_->{part} // '')) => $_ } @{$stall->{off_cpu}};

	$stall->{off_cpu} = [];
	for my $phase (@phases) {
		my $of = $stall->{phases}{$phase};

		for my $part ($phase =~ /reclaim$/ ? reverse @parts : undef) {
			my $ran = $of->{defined $part ? "${part}_ns" : 'total_ns'} or next;
			my $row = delete $row{"$phase/" . ($part // '')} // { phase => $phase };

			$row->{part} = $part;
			fill($row, 0, map { "${_}_ns" } @states[1 .. $#states]);
			$ran -= $row->{"${_}_ns"} for @states[1 .. $#states];
			$ran >= 0 or die "$phase: more time off the CPU than in all\n";
			$row->{running_ns} = $ran;
			push @{$stall->{off_cpu}}, $row;
		}
	}
	die "off_cpu has a phase without time\n" if %row;
}

sub fill_stall
{
	my ($stall) = @_;

	fill($stall, undef, @of_stall);
	fill($stall, 0, 'depth');
	fill($stall, $false, 'incomplete');
	$stall->{$_} //= [] for qw(shrinkers sleeps stack had_cpu);
	for my $shrinker ($stall->{off_cpu} ? @{$stall->{shrinkers}} : ()) {
		fill($shrinker, 0, map { "${_}_ns" } @states[1 .. $#states]);
		$shrinker->{running_ns} = $shrinker->{total_ns};
		$shrinker->{running_ns} -= $shrinker->{"${_}_ns"} for @states[1 .. $#states];
		$shrinker->{running_ns} >= 0 or die "$shrinker->{name}: more time off the CPU than in all\n";
	}
	fill($stall, 0, 'had_cpu_not_recorded_ns');
	fill($stall->{task}, undef, qw(pid process cgroup));
	fill($stall->{task}, $false, qw(background interrupt));
	fill_phases($stall->{phases});
	fill_off_cpu($stall) if $stall->{off_cpu};
	fill($_, undef, 'part', 'shrinker') for @{$stall->{sleeps}};
}

sub fill_summary
{
	my ($summary) = @_;

	fill($summary, undef, qw(time most_explained longest pressure journal off_cpu));
	fill($_, undef, qw(function role)) for @{$summary->{functions}};
	fill_phases($summary->{$_}{phases}) for qw(stalls background);
	fill($summary->{stalls}, 0, 'had_cpu_not_recorded_ns');
	$summary->{stalls}{had_cpu} //= [];
	fill_stall($_) for grep { defined } @$summary{qw(most_explained longest)};
}

sub filled
{
	my ($object) = @_;
	my $type = $object->{type} // 'stall';	# in perfetto's args it has none

	fill_stall($object) if $type eq 'stall';
	fill_summary($object) if $type eq 'summary';
	fill($object, undef, qw(host release machine time clock directory)) if $type eq 'run';
	return $object;
}

# The objects of a file with one a line, filled.
sub json_lines
{
	open my $in, '<:raw', $_[0] or die "$_[0]: $!\n";
	return map { filled(decode_json($_)) } <$in>;
}

1;
