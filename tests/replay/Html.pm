# SPDX-License-Identifier: GPL-2.0-or-later
#
# Reads a page of `-f html`, more strictly than a browser: each element that is opened is closed, each
# attribute is in quotes, elements and attributes are those that a report needs, and nothing refers
# outside. A name that broke out of its place would be none of these.

package Html;

use strict;
use warnings;
use Encode qw(decode FB_CROAK);
use Exporter 'import';

our @EXPORT = qw(html_parse html_text html_find html_by_id);

my %void = map { $_ => 1 } qw(meta);
my %elements = map { $_ => 1 } keys %void, qw(html head title style body header main section nav h1 h2
	h3 p div span ul ol li dl dt dd b i small bdi a table caption thead tbody tr th td details
	summary figure figcaption svg rect);
my %attributes = (
	style => qr/^(?:--w|left|width|height):\d+\.\d+(?:%|rem)$/,
	class => qr/^[a-z]+\d?(?: [a-z]+)*$/,
	id => qr/^[a-z]+$/,
	href => qr/^#[a-z]+$/,
	title => qr/^/,
	(map { $_ => qr/^[A-Za-z0-9 ,;:.%-]*$/ } qw(lang charset name scope role tabindex open x y width
		height viewBox preserveAspectRatio shape-rendering aria-label aria-hidden)),
	'http-equiv' => qr/^Content-Security-Policy$/,
	content => qr/^[a-z0-9 ,;='-]+$/,
);
my $policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

sub unescape
{
	my ($text) = @_;

	die "a bare & in '$text'\n" if $text =~ /&(?!#\d+;)/;
	die "a quote in '$text'\n" if $text =~ /["']/;
	$text =~ s/&#(\d+);/chr $1/ge;
	return $text;
}

# The element html, with { name, attributes, children }; a text is a string. Dies where it is wrong.
sub html_parse
{
	my $page = decode('UTF-8', $_[0], FB_CROAK);
	my $root = { name => '', children => [] };
	my @open = ($root);

	die "a control character\n" if $page =~ /[^\P{Cc}\n\t]/;
	$page =~ s/^<!DOCTYPE html>\n// or die "no DOCTYPE\n";
	for ($page) {
		while (!/\G\z/gc) {
			my $in = $open[-1];

			if ($in->{name} eq 'style' && m{\G([^<]*)}gc && length $1) {
				die "a reference in the style\n" if $1 =~ /url|\@import|expression|\\/i;
			} elsif (/\G([^<>]+)/gc) {
				push @{ $in->{children} }, unescape($1);
			} elsif (m{\G</([a-z0-9]+)>}gc) {
				die "</$1> in $in->{name}\n" if $in->{name} ne $1 || @open == 1;
				pop @open;
			} elsif (m{\G<([a-zA-Z0-9]+)((?: [A-Za-z-]+="[^"<>]*")*)(/?)>}gc) {
				my $new = { name => $1, attributes => {}, children => [] };
				my ($list, $empty) = ($2, $3);

				die "<$1>\n" unless $elements{$1};
				die "<$1$empty>\n" if !!$void{$1} != !!$empty;
				for my $one ($list =~ /[A-Za-z-]+="[^"]*"/g) {
					my ($key, $value) = $one =~ /(.*?)="(.*)"/s;

					# Ours has quotes, which no name may have.
					$value = unescape($value) if $value ne $policy;
					die "$one\n" unless $value =~ ($attributes{$key} // die "$one\n");
					die "$key twice\n" if exists $new->{attributes}{$key};
					$new->{attributes}{$key} = $value;
				}
				push @{ $in->{children} }, $new;
				push @open, $new unless $empty;
			} else {
				die 'what is not HTML: ' . substr($_, pos // 0, 60) . "\n";
			}
		}
	}
	die "$open[-1]{name} is open\n" if @open > 1;
	my @policies = grep { ($_->{attributes}{content} // '') eq $policy } html_find($root, 'meta');
	die "no policy\n" unless @policies == 1;
	return $root;
}

sub html_text
{
	my ($node) = @_;

	return ref $node ? join '', map { html_text($_) } @{ $node->{children} } : $node;
}

# All elements of a name below one, in order.
sub html_find
{
	my ($node, $name) = @_;

	return map {
		(($_->{name} eq $name ? $_ : ()), html_find($_, $name))
	} grep { ref } @{ $node->{children} };
}

sub html_by_id
{
	my ($node, $id) = @_;

	for my $child (grep { ref } @{ $node->{children} }) {
		return $child if ($child->{attributes}{id} // '') eq $id;
		my $found = html_by_id($child, $id);
		return $found if $found;
	}
	return undef;
}

1;
