#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# examples.pl [-u] DOCUMENT...
#
# The examples in the documents that have the command above them which printed them:
#
#   <!-- $ COMMAND -->    in Markdown, before a block that is indented by four blanks
#   .\" $ COMMAND         in a manual page, before .Bd -literal and up to .Ed
#
# COMMAND is for a shell in the root of the tree, and its build/allocfilt is the program in $ALLOCFILT.
# The block has to be what it prints, byte for byte; with -u it is replaced by that. A link in Markdown
# to another file of the tree, or to a heading, has to lead there.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use File::Basename;

my $update = @ARGV && $ARGV[0] eq '-u' && shift;
my ($examples, $links, $commands, @wrong) = (0, 0, 0);

sub printed
{
	my ($command, $where) = @_;
	my $run = $command =~ s{\bbuild/allocfilt\b}{"\$ALLOCFILT"}gr;

	open my $pipe, '-|', 'bash', '-o', 'pipefail', '-c', "$run 2>&1" or die "bash: $!\n";
	my $text = join '', <$pipe>;
	push @wrong, "$where: '$command' fails: $text" unless close $pipe;
	push @wrong, "$where: '$command' prints nothing" if $text eq '';
	$examples++;
	return $text;
}

sub compared
{
	my ($where, $command, $there, $text) = @_;

	return $text if $there eq $text || $update;
	my @there = split /\n/, $there;
	my @text = split /\n/, $text;
	my ($line) = grep { ($there[$_] // '') ne ($text[$_] // '') } 0 .. $#there + $#text + 1;
	push @wrong, "$where: not what $command prints (examples.pl -u): '" . ($there[$line] // '') . "', now '" .
		($text[$line] // '') . "'";
	return $there;
}

sub anchors
{
	my ($text) = @_;

	$text =~ s/^    .*\n//mg;
	return map { lc =~ s/[^\w\- ]//gr =~ s/ /-/gr } $text =~ /^#+ (.*)$/mg;
}

sub file_text
{
	open my $file, '<', $_[0] or die "$_[0]: $!\n";
	return join '', <$file>;
}

for my $name (@ARGV) {
	my $old = my $text = file_text($name);

	if ($name =~ /\.md$/) {
		$text =~ s{(^<!-- \$ (.*) -->\n\n)((?:    .*\n|\n(?=    ))+)}{
			my ($head, $command, $block) = ($1, $2, $3);
			my $shown = printed($command, $name) =~ s/^(?=.)/    /mgr;
			$head . compared($name, $command, $block, $shown)
		}mge;
		while ($text =~ /\]\(([^)#:]*)(?:#([^)]*))?\)/g) {
			my ($path, $anchor) = ($1 eq '' ? $name : dirname($name) . "/$1", $2);

			$links++;
			if (!-e $path) {
				push @wrong, "$name: no $path";
			} elsif (defined $anchor && !grep { $_ eq $anchor } anchors(file_text($path))) {
				push @wrong, "$name: no heading $anchor in $path";
			}
		}
	} else {
		$text =~ s{(^\.\\" \$ ([^\n]*)\n\.Bd -literal[^\n]*\n)(.*?)(?=^\.Ed)}{
			my ($head, $command, $block) = ($1, $2, $3);
			my $shown = printed($command, $name) =~ s/\\/\\e/gr =~ s/`/\\(ga/gr =~ s/^(?=[.'])/\\&/mgr;
			$head . compared($name, $command, $block, $shown)
		}msge;
	}
	$commands += () = $text =~ /^(?:<!--|\.\\") \$ /mg;
	push @wrong, "$name: a command without a block" if $commands != $examples;
	if ($update && $text ne $old) {
		open my $file, '>', $name or die "$name: $!\n";
		print $file $text;
		close $file or die "$name: $!\n";
	}
}
print "$_\n" for @wrong;
exit 1 if @wrong;
print "$examples examples, $links links\n";
