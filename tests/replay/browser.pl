#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# browser.pl DOM OUTPUT.JSON
#
# Holds the page of `-f html`, as a browser has it after the page's script ran, against `-f json` of the same
# data: every table and graphic has a row or shape for what is there, with its figures to the nanosecond.
#
# Prints what is wrong, a line each, and exits 1; prints counts and exits 0.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min sum0);
use Checker;
use Json;
use Phases;

binmode STDOUT, ':utf8';

my ($dom_file, $json_file) = @ARGV;
die "usage: browser.pl DOM OUTPUT.JSON\n" unless defined $json_file;

my $dom = bytes_of($dom_file);
my @objects = map { decode_json($_) } lines_of($json_file);
my ($summary) = grep { $_->{type} eq 'summary' } @objects;
my @stalls = grep { $_->{type} eq 'stall' && !$_->{task}{background} } @objects;
my $figures = 0;

utf8::decode($dom) or die "not UTF-8\n";
$dom =~ s/<script.*//s;

sub plain
{
	my ($html) = @_;

	$html =~ s/<[^>]*>//g;
	$html =~ s/&lt;/</g;
	$html =~ s/&gt;/>/g;
	$html =~ s/&amp;/&/g;
	$html =~ s/\xa0|&nbsp;/ /g;
	return $html;
}

# A row of a table as "NAME FIGURE...": exact times, other cells as they are; shares are left out.
sub rows
{
	my ($id) = @_;
	my ($table) = $dom =~ m{<table id="\Q$id\E">.*?<tbody>(.*?)</tbody>}s or return ();

	return map {
		my ($head, @cells) = /<t[hd][^>]*>(.*?)<\/t[hd]>/gs;
		join ' ', plain($head), map { /<data value="(\d+)"/ ? $1 : plain($_) =~ s/,//gr } grep { !/class="bar"/ } @cells;
	} $table =~ m{<tr>(.*?)</tr>}gs;
}

sub table_is
{
	my ($id, @expected) = @_;
	my @rows = rows($id);

	wrong("$id: ", scalar @rows, ' rows, expected ', scalar @expected) if @rows != @expected;
	for my $i (0 .. $#expected) {
		my $row = $rows[$i] // 'nothing';

		wrong("$id: $row, expected $expected[$i]") if index($row, $expected[$i]) != 0;
		$figures++;
	}
}

sub by_time { sort { $b->{total_ns} <=> $a->{total_ns} } @_ }

my $s = $summary->{stalls};
my @head = map { /<data value="(\d+)"/ ? $1 : () } $dom =~ m{<dl class="figures">(.*?)</dl>}s ? $1 =~ /(<data[^>]*>)/g : ();

wrong("head: @head") if "@head" ne join ' ', $s->{count} ? @$s{qw(count total_ns p50_ns p99_ns max_ns)} : ();

# --- who ---

my %seen;

$seen{ $_->{cgroup} =~ s{.*/}{}r }++ for @{ $summary->{cgroups} };

sub unit
{
	my $last = $_[0] =~ s{.*/}{}r;

	return $last ne '' && ($seen{$last} // 0) < 2 ? $last : $_[0];
}

sub runner
{
	my ($of) = @_;
	my $unit = ($of->{cgroup} // '/') ne '/' ? ' in ' . unit($of->{cgroup}) : '';

	return $of->{idle} ? 'nobody (waking up)' : $of->{task} . $unit;
}

# The three causes with most time, of those with a tenth of it.
sub main_cause
{
	my ($row) = @_;
	my @causes = grep { defined } (by_time(@{ $row->{causes} }))[ 0 .. 2 ];

	return join ' ', map { sprintf '%s %.0f %%', $title{ $_->{cause} } // $_->{cause}, 100 * $_->{total_ns} / $row->{total_ns} }
		grep { $_->{total_ns} >= $row->{total_ns} / 10 } @causes;
}

sub reclaimed
{
	my ($row) = @_;
	my @from = grep { defined } @{ $row->{reclaimed_from} }[ 0 .. 2 ];

	return join ' ', map { ($_->{memcg} eq $row->{cgroup} ? 'itself' : unit($_->{memcg})) . " $_->{pages}" } @from;
}

for my $who ([ cgroups => 'cgroups' ], [ tasks => 'tasks' ], [ threads => 'kernel_threads' ]) {
	my ($id, $key) = @$who;

	my @rows = @{ $summary->{$key} };
	my %any = map { $_ => 1 } map { keys %$_ } @rows;
	my $any_reclaimed = grep { @{ $_->{reclaimed_from} // [] } } @rows;

	table_is($id, map {
		join ' ', defined $_->{cgroup} ? unit($_->{cgroup}) : "$_->{name}-$_->{tid}", @$_{qw(count total_ns p99_ns max_ns)},
			$any{pressure_some_ns} ? $_->{pressure_some_ns} // '' : (), $any{causes} ? main_cause($_) : (),
			$any_reclaimed ? reclaimed($_) : ()
	} @rows);
}

# --- why ---

my %phases = map { $_ => { key => $_, total_ns => $s->{phases}{$_}{total_ns} } } keys %{ $s->{phases} };
my @states = map { { key => s/_ns$//r, total_ns => $s->{states}{$_} } } keys %{ $s->{states} // {} };

if ($s->{count}) {
	table_is('phases', map { "$title{ $_->{key} } $_->{total_ns}" } by_time(values %phases));
	table_is('states', map { "$title{ $_->{key} } $_->{total_ns}" } by_time(@states));
	table_is('had', map { runner($_) . " $_->{total_ns}" } @{ $s->{had_cpu} // [] },
		$s->{had_cpu_not_recorded_ns} ? { task => 'not recorded', total_ns => $s->{had_cpu_not_recorded_ns} } : ());
	table_is('kinds', map { "$title{ $_->{cause} } $_->{count} $_->{total_ns}" } by_time(@{ $s->{causes} }));
	table_is('reasons', map { ($title{ $_->{reason} } // $_->{reason} =~ s/_/ /gr) . " $_->{count} $_->{total_ns} $_->{long_ns}" }
		@{ ($s->{memory_waits} // {})->{reasons} // [] })
		if !grep { !exists $title{ $_->{reason} } } @{ ($s->{memory_waits} // {})->{reasons} // [] };
}

# Boxes fill the one above, and each is in the table.
my @boxes = $dom =~ /<div [^>]*role="treeitem" aria-level="(\d+)"/g;
my @steps = rows('causes');

wrong(scalar @boxes, ' boxes, ', scalar @steps, ' rows') if @boxes && @boxes != @steps + 1;
my %sum;    # of the boxes of a level below the ones above
my @above;
for my $i (@boxes == @steps + 1 ? 0 .. $#steps : ()) {
	my ($ns) = $steps[$i] =~ / (\d+)$/ or wrong("causes: $steps[$i]");
	my $level = $boxes[ $i + 1 ];

	splice @above, $level - 2;
	$sum{ $above[-1][0] }{ns} += $ns if @above;
	push @above, [ $i, $ns ];
	$sum{$i}{whole} = $ns;
}
for (grep { defined $sum{$_}{ns} } keys %sum) {
	wrong("boxes below $steps[$_] make $sum{$_}{ns} ns") if $sum{$_}{ns} != $sum{$_}{whole};
}

# --- what to do ---

my @remedies = $dom =~ m{<section id="next">(.*?)</section>}s ? map { plain($_) } $1 =~ m{<li>(.*?)</li>}gs : ();

wrong('remedies: ', scalar @remedies) if @remedies != @{ $summary->{remedies} // [] };
for my $remedy (@{ $summary->{remedies} // [] }) {
	my $said = shift @remedies // '';

	wrong("a remedy: $said") if grep { index($said, $remedy->{$_}) < 0 } qw(finding look change source);
}

# --- when ---

my $rects = () = $dom =~ /<rect /g;
my @counts = map { /: ([\d,]+) stalls?<\/title>/ ? $1 =~ s/,//gr : () } $dom =~ /(<rect .*?<\/rect>)/gs;

wrong("the heat map has ", sum0(@counts), " stalls") if sum0(@counts) != @stalls || @counts != $rects;
wrong("the table of the heat map has ", sum0(map { / (\d+)/ ? $1 : () } map { s/^.*?(?:Z| s|\d\.\d{3}) / /r } rows('heat')), " stalls")
	if sum0(map { (split ' ', s/^(?:\d{4}-\S+ )?\S+(?: s)? //r)[0] } rows('heat')) != @stalls;

# --- the longest ---

my @shown = $dom =~ m{<details[^>]*><summary><b><data value="(\d+)"}g;
my @longest = map { $_->{duration_ns} } sort { $b->{duration_ns} <=> $a->{duration_ns} } @stalls;

wrong("the longest are @shown") if "@shown" ne join ' ', @longest[ 0 .. min(20, scalar @longest) - 1 ];
if (@longest) {
	my ($longest) = sort { $b->{duration_ns} <=> $a->{duration_ns} } @stalls;
	my ($tree) = $dom =~ m{<table class="tree">(.*?)</table>}s or wrong('the longest stall is not open');
	my %of = map { $title{$_} => $longest->{phases}{$_}{total_ns} } keys %{ $longest->{phases} };
	my @top = ($tree // '') =~ m{<tr><th[^>]*><span class="step" style="--level: ?0;?"><bdi>(.*?)</bdi></span></th><td><data value="(\d+)"}g;

	while (my ($name, $ns) = splice @top, 0, 2) {
		wrong("$name of the longest: $ns") if exists $of{$name} && $of{$name} != $ns || !exists $of{$name} && $name !~ /smaller/;
	}
}

finish(scalar @stalls, " stalls, $figures rows, ", scalar @boxes, ' boxes, ', scalar @counts, ' cells');
