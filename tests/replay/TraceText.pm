# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel's own text of a buffer (tracefs' file `trace`), as function_graph writes it.

package TraceText;

use strict;
use warnings;
use Exporter 'import';
use Checker;

our @EXPORT = qw(trace_text);

# The functions and events of a file, in its order: { line, us, cpu, task }, and of the return of a
# function { function, ns, digits behind the point of its µs, depth }, of an event { event, fields },
# of a shrinker { shrinker, pointer } besides. There is an idle task for each CPU.
sub trace_text
{
	my ($file) = @_;
	my @records;

	for my $line (lines_of($file)) {
		$line =~ /^\s*(\d+)\.(\d{6}) \|\s+(\d+)\) .*?-(\d+)\s+\| (.*)$/s or next;
		my %record = (
			line => $line, us => $1 * 1_000_000 + $2, cpu => $3, task => $4 == 0 ? "idle$3" : $4,
		);
		my $rest = $5;

		if ($rest =~ /^[\$\@*#!+ ] (\d+)(?:\.(\d+))? us\s+\|  ( *)\} \/\* (\S+)(?: \[\w+\])? \*\/$/) {
			my $fraction = $2 // '';

			@record{qw(function depth digits ns)} = ($4, length($3) / 2, length $fraction,
								 $1 * 1000 + substr($fraction . '000', 0, 3));
		} elsif ($rest =~ /^\s+\|\s+\/\* (\w+): (.*) \*\/$/s) {
			@record{qw(event fields)} = ($1, $2);
			@record{qw(shrinker pointer)} = ($1, $2)
				if $record{event} =~ /^mm_shrink_slab_/ &&
				   $record{fields} =~ /^(\S+?)(?:\+0x\S+)?(?: \[\w+\])? (\S+): nid/;
		} else {
			next;
		}
		push @records, \%record;
	}
	return @records;
}

1;
