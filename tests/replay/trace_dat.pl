#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Make a trace.dat from captures, as trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) describe it:
#
#   trace_dat.pl old6|6|7 none|zlib FILE CAPTURE [NAME=CAPTURE]...
#
# The first capture is the top level's buffer and has the formats; each NAME is one more buffer. What
# trace-cmd of Debian does not write: zlib, the other byte order, several buffers of one kernel, and old6,
# version 6 as it was before trace-cmd 3.0: the clock of a buffer follows its places. DATE in the environment is
# what trace-cmd record --date adds, in microseconds.

use strict;
use warnings;
use Compress::Zlib qw(compress);

my ($version, $compression, $to, $top, @more) = @ARGV;
my $old = $version =~ s/^old//;
my ($big, $long, $page) = (0, 8, 4096);
my $out = '';

sub text_of
{
	my ($path) = @_;
	local $/;

	open my $file, '<:raw', $path or return '';
	return scalar(<$file>) // '';
}

sub u16 { pack $big ? 'n' : 'v', $_[0] }
sub u32 { pack $big ? 'N' : 'V', $_[0] }
sub u64 { pack $big ? 'Q>' : 'Q<', $_[0] }
sub sized { u64(length $_[0]) . $_[0] }

# The commit of a page is smaller than a page in one order only.
sub find_layout
{
	my $first = substr text_of((glob "$top/per_cpu/cpu*/trace_pipe_raw")[0]), 0, 16;
	my $header = text_of("$top/events/header_page");

	($long) = $header =~ /commit;\s+offset:8;\s+size:(\d)/;
	$page = $1 + $2 if $header =~ /data;\s+offset:(\d+);\s+size:(\d+)/;
	$big = unpack($long == 8 ? 'Q<' : 'V', substr $first, 8, $long) > $page;
}

sub formats { map { sized(text_of($_)) } @_ }

sub header_info
{
	return "header_page\0" . sized(text_of("$top/events/header_page")) .
		"header_event\0" . sized(text_of("$top/events/header_event"));
}

sub ftrace_events
{
	my @formats = formats(glob "$top/events/ftrace/*/format");

	return join '', u32(scalar @formats), @formats;
}

sub event_formats
{
	my @systems = grep { -d && !m,/ftrace$, } glob "$top/events/*";
	my $text = u32(scalar @systems);

	for my $system (@systems) {
		my @formats = formats(glob "$system/*/format");

		$text .= $system =~ s,.*/,,r . "\0" . join '', u32(scalar @formats), @formats;
	}
	return $text;
}

sub kallsyms { my $text = text_of("$top/kallsyms"); u32(length $text) . $text }
sub printk { my $text = text_of("$top/printk_formats"); u32(length $text) . $text }
sub cmdlines { sized(text_of("$top/saved_cmdlines")) }

sub clock_of { text_of("$_[0]/trace_clock") =~ /\[(.*)\]/ ? $1 : 'local' }

sub cpus_of { sort { $a <=> $b } map { m,cpu(\d+)/, } glob "$_[0]/per_cpu/cpu*/trace_pipe_raw" }

sub align { $out .= "\0" x (-length($out) % $page) }

sub option { u16($_[0]) . u32(length $_[1]) . $_[1] }

sub date { $ENV{DATE} ? option(1, sprintf "0x%x\0", $ENV{DATE}) : '' }

sub uname { 'Linux a-host ' . (text_of("$top/release") =~ s/\n//r) . ' a-machine' . "\0" }

# ---- version 6 ----

# Puts data of a buffer after its places: "flyrecord", and offset and size of each CPU.
sub put_flyrecord
{
	my ($capture) = @_;
	my @cpus = cpus_of($capture);
	my $places;

	$out .= "flyrecord\0";
	$places = length $out;
	$out .= "\0" x (16 * @cpus);
	$out .= sized(text_of("$capture/trace_clock")) if $old;
	for my $cpu (@cpus) {
		my $data = text_of("$capture/per_cpu/cpu$cpu/trace_pipe_raw");

		align();
		substr($out, $places, 16) = u64(length $out) . u64(length $data);
		$places += 16;
		$out .= $data;
	}
}

sub version_6
{
	my @places;

	$out .= header_info() . ftrace_events() . event_formats() . kallsyms() . printk() .
		cmdlines() . u32(scalar(my @cpus = cpus_of($top))) . "options  \0" . date() . option(5, uname()) .
		option(4, $old ? '' : "[" . clock_of($top) . "] other\0");
	for my $more (@more) {
		my ($name) = split /=/, $more;

		push @places, 6 + length $out;
		$out .= option(3, u64(0) . "$name\0");
	}
	$out .= u16(0);
	put_flyrecord($top);
	for my $more (@more) {
		substr($out, shift @places, 8) = u64(length $out);
		put_flyrecord($more =~ s/.*?=//r);
	}
}

# ---- version 7 ----

sub packed
{
	my ($text) = @_;

	return $text if $compression eq 'none';
	my $small = compress($text);
	return u32(length $small) . u32(length $text) . $small;
}

my $flags = $compression eq 'none' ? 0 : 1;

sub put_section
{
	my ($id, $text, $packs) = @_;
	my $at = length $out;

	$text = packed($text) if $packs;
	$out .= u16($id) . u16($packs ? $flags : 0) . u32(0) . u64(length $text) . $text;
	return $at;
}

sub data_of_cpu
{
	my ($data) = @_;
	my $chunk = 10 * $page;

	return $data if $compression eq 'none';
	my @chunks = map { packed($_) } unpack "(a$chunk)*", $data;
	return join '', u32(scalar @chunks), @chunks;
}

# Puts the data of a buffer and returns its option.
sub buffer_option
{
	my ($name, $capture) = @_;
	my @cpus = cpus_of($capture);
	my $text = u64(put_section(3, '', 0)) . "$name\0" . clock_of($capture) . "\0" . u32($page) .
		u32(scalar @cpus);

	substr($out, -14, 2) = u16($flags);
	for my $cpu (@cpus) {
		my $data = data_of_cpu(text_of("$capture/per_cpu/cpu$cpu/trace_pipe_raw"));

		align();
		# trace-cmd does not count the number of the chunks.
		$text .= u32($cpu) . u64(length $out) . u64(length($data) - 4 * $flags);
		$out .= $data;
	}
	return option(3, $text);
}

sub version_7
{
	my $first = 8 + length($out) + length "$compression\0001\0";
	my $at = $first - 8;
	my ($options, $second);

	$out .= "$compression\0001\0" . u64(0);
	$options = option(16, u64(put_section(16, header_info(), 1))) .
		option(17, u64(put_section(17, ftrace_events(), 1))) .
		option(18, u64(put_section(18, event_formats(), 1))) .
		option(19, u64(put_section(19, kallsyms(), 1))) .
		option(20, u64(put_section(20, printk(), 1))) .
		option(21, u64(put_section(21, cmdlines(), 1))) . date() . option(5, uname());
	# A second section of options, as trace-cmd has it.
	$second = put_section(0, join('', map { buffer_option(split /=/, $_, 2) } "=$top", @more) .
		option(0, u64(0)), 0);
	$first = put_section(0, $options . option(0, u64($second)), 0);
	substr($out, $at, 8) = u64($first);
}

die "usage: trace_dat.pl old6|6|7 none|zlib FILE CAPTURE [NAME=CAPTURE]...\n" if !defined $top;
find_layout();
$out = "\x17\x08\x44tracing$version\0" . pack('CC', $big, $long) . u32($page);
$version == 6 ? version_6() : version_7();
open my $file, '>:raw', $to or die "$to: $!\n";
print $file $out;
close $file or die "$to: $!\n";
