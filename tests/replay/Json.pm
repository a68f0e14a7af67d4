# SPDX-License-Identifier: GPL-2.0-or-later
#
# JSON for the checkers: Cpanel::JSON::XS where it is installed, which is 25 times as fast as Perl's
# own JSON::PP. Else that writes, and a parser here reads, which takes a third of its time.

package Json;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(decode_json encode_json json_lines);

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

# The objects of a file with one a line.
sub json_lines
{
	open my $in, '<:raw', $_[0] or die "$_[0]: $!\n";
	return map { decode_json($_) } <$in>;
}

1;
