// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "account/forms.h"
#include "allocfilt/output/json_writer.h"

static void put_site_object(struct json *json, const struct account_site *site)
{
	json_open(json, NULL, '{');
	json_string(json, "call_site", site->name);
	json_address(json, "address", site->address);
	json_string(json, "event", account_event(site));
	json_string(json, "cache", site->cache && *site->cache ? site->cache : NULL);
	json_number(json, "count", site->count);
	json_number(json, "bytes_requested", site->requested);
	json_number(json, "bytes_allocated", site->allocated);
	json_number(json, "bytes_wasted", account_wasted(site));
	json_close(json, '}');
}

static void put_process_numbers(struct json *json, const struct account_process *process)
{
	int orders = ACCOUNT_ORDERS;

	json_number(json, "count", process->count);
	json_number(json, "pages", process->pages);
	while (orders && !process->orders[orders - 1])
		orders--;
	json_open(json, "orders", '[');
	for (int order = 0; order < orders; order++)
		json_number(json, NULL, process->orders[order]);
	json_close(json, ']');
	json_number(json, "fallbacks", process->fallbacks);
	json_number(json, "refilled", process->refilled);
	json_number(json, "drained", process->drained);
	json_number(json, "stalls", process->stalls);
	json_number(json, "waited_ns", process->waited);
}

static void put_slab(struct json *json, const struct account_tables *tables)
{
	json_open(json, "slab", '{');
	json_number(json, "count", tables->all_sites.count);
	json_number(json, "bytes_requested", tables->all_sites.requested);
	json_number(json, "bytes_allocated", tables->all_sites.allocated);
	json_number(json, "bytes_wasted", account_wasted(&tables->all_sites));
	json_number(json, "dropped", tables->dropped.sites);
	json_open(json, "call_sites", '[');
	for (size_t i = 0; i < tables->nr_sites; i++)
		put_site_object(json, &tables->sites[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_pages(struct json *json, const struct account_tables *tables)
{
	json_open(json, "pages", '{');
	put_process_numbers(json, &tables->all_processes);
	json_number(json, "dropped", tables->dropped.pages);
	json_number(json, "dropped_stalls", tables->dropped.processes);
	json_number(json, "dropped_tasks", tables->dropped.tasks);
	json_open(json, "processes", '[');
	for (size_t i = 0; i < tables->nr_processes; i++) {
		const struct account_process *process = &tables->processes[i];

		json_open(json, NULL, '{');
		json_signed(json, "pid", process->pid);
		json_string(json, "process",
			    strcmp(process->name, TASK_UNNAMED) ? process->name : NULL);
		put_process_numbers(json, process);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

void account_json(struct writer *writer, const struct summary_view *view,
		  const struct account_tables *tables)
{
	uint64_t realtime = resolver_realtime(view->resolver, view->ts);
	char time[TEXT_TIME_MAX];
	struct json json;

	json_begin_line(&json, writer, "account");
	json_bool(&json, "interval", view->is_interval);
	json_string(&json, "time", text_time(time, realtime, false) ? time : NULL);
	json_number(&json, "ts_ns", view->ts);
	json_number(&json, "duration_ns", view->ts - view->since);
	json_number(&json, "threshold_ns", view->plan->threshold);
	put_slab(&json, tables);
	put_pages(&json, tables);
	if (!view->lost_times)
		json_number(&json, "lost_records", view->lost);
	json_number(&json, "unreadable_rows", tables->unreadable);
	json_end(&json);
}
