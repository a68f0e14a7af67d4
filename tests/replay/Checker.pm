# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the checkers have in common: they read whole files, and print what is wrong, a line each, and
# exit 1, or print counts and exit 0.

package Checker;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(@wrong wrong finish bytes_of lines_of);
our @wrong;

sub wrong { push @wrong, join('', @_) if @wrong < 20 }

sub finish
{
	chomp @wrong;
	print map { "$_\n" } @wrong ? @wrong : join('', @_);
	exit(@wrong ? 1 : 0);
}

sub bytes_of
{
	open my $in, '<:raw', $_[0] or die "$_[0]: $!\n";
	local $/;
	return scalar <$in>;
}

sub lines_of
{
	open my $in, '<:raw', $_[0] or die "$_[0]: $!\n";
	chomp(my @lines = <$in>);
	return @lines;
}

1;
