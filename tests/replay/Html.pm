# SPDX-License-Identifier: GPL-2.0-or-later
#
# Reads a page of `-f html`, more strictly than a browser: byte for byte it is etc/report/, but for the summary as
# text, which has no tag and no bare &, and the data, which have no '<'. So no name breaks out of its place. The
# policy has the hashes of the style and of the script, and nothing else is allowed.

package Html;

use strict;
use warnings;
use Digest::SHA qw(sha256_base64);
use Encode qw(decode FB_CROAK);
use Exporter 'import';
use FindBin;
use Json;

our @EXPORT = qw(html_parse html_policy);

my $sources = "$FindBin::Bin/../../etc/report";

sub source
{
	open my $in, '<:raw', "$sources/$_[0]" or die "$sources/$_[0]: $!\n";
	local $/;
	return scalar <$in>;
}

sub html_policy
{
	my ($js, $css) = map { sha256_base64("\n" . source("page.$_")) . '=' } qw(js css);

	return "default-src 'none'; script-src 'sha256-$js'; style-src 'sha256-$css'; base-uri 'none'; form-action 'none'";
}

# { text, data }: the summary as text, and the objects of the data. Dies where the page is wrong.
sub html_parse
{
	my ($page) = @_;
	my $expected = source('page.html');

	$expected =~ s/(Content-Security-Policy" content=")[^"]*/$1 . html_policy()/e or die "page.html has no policy\n";
	$expected =~ s/^\@\U$_\E\@\n/source("page.$_")/me or die "page.html has no $_\n" for qw(js css);
	die "the sources refer outside\n" if $expected =~ m{https?://(?!www\.w3\.org/2000/svg")|\@import|url\(}i;
	my @pieces = map { quotemeta } split /^\@(?:TEXT|DATA)\@\n/m, $expected;
	my ($text, $data) = $page =~ /\A$pieces[0]([^<]*)$pieces[1]([^<]*)$pieces[2]\z/ or die "not the page of etc/report/\n";

	for ($text, $data) {
		my $characters = decode('UTF-8', my $copy = $_, FB_CROAK);

		die "a control character\n" if $characters =~ /[^\P{Cc}\n]/;
	}
	die "a bare & in the text\n" if $text =~ /&(?!lt;|amp;)/;
	$text =~ s/&lt;/</g;
	$text =~ s/&amp;/&/g;
	return { text => decode('UTF-8', $text), data => [ map { decode_json($_) } split /\n/, $data ] };
}

1;
