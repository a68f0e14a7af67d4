// SPDX-License-Identifier: GPL-2.0-or-later
/* kernelshark FILE.dat: what KernelShark reads of a trace.dat: ns, CPU, task and event of each record. */
#include <inttypes.h>
#include <stdio.h>

#include <libkshark.h>

int main(int argc, char **argv)
{
	struct kshark_context *context = NULL;
	struct kshark_entry **rows = NULL;
	ssize_t count;
	int stream;

	if (argc != 2 || !kshark_instance(&context))
		return 1;
	stream = kshark_open(context, argv[1]);
	count = stream < 0 ? -1 : kshark_load_entries(context, stream, &rows);
	for (ssize_t i = 0; i < count; i++)
		printf("%" PRId64 " %d %d %s\n", rows[i]->ts, rows[i]->cpu, rows[i]->pid,
		       kshark_get_event_name(rows[i]));
	return count < 0;
}
