# SPDX-License-Identifier: GPL-2.0-or-later
#
# JSON for the checkers: Cpanel::JSON::XS where it is installed, which is 25 times as fast as Perl's
# own JSON::PP, else that.

package Json;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(decode_json encode_json json_lines);

eval { require Cpanel::JSON::XS } or require JSON::PP;
my $json = ($INC{'Cpanel/JSON/XS.pm'} ? 'Cpanel::JSON::XS' : 'JSON::PP')->new->utf8->canonical;

sub decode_json { $json->decode($_[0]) }
sub encode_json { $json->encode($_[0]) }

# The objects of a file with one a line.
sub json_lines
{
	open my $in, '<:raw', $_[0] or die "$_[0]: $!\n";
	return map { decode_json($_) } <$in>;
}

1;
