#!/bin/sh
# Print all settings of the tracing directory, for a comparison of before and after.
#
#   fingerprint.sh [DIR]
#
# Name and content of every readable file, but for what the kernel moves by itself (sizes of
# buffers, stats, saved_cmdlines, touched_functions, error_log, the buffers' own contents), what
# consumes or waits when it is read, and what does not change in a boot and is most of the files
# (format, id, lists of what is available).

cd "${1:-/sys/kernel/tracing}" || exit 1

find . ! -name format ! -name id ! -name 'available_*' ! -name printk_formats ! -name README \
	! -name buffer_size_kb ! -name buffer_total_size_kb ! -name stats \
	! -name 'saved_cmdlines' ! -name saved_tgids ! -name touched_functions ! -name error_log \
	! -name trace ! -name 'trace_pipe*' ! -name 'snapshot*' ! -name free_buffer \
	! -name 'trace_marker*' ! -name inject ! -name hist ! -name hist_debug |
	sort | tr '\n' '\0' | xargs -0 head -v -n 1000000 2>&1
exit 0
