# SPDX-License-Identifier: GPL-2.0-or-later
#
# jq -c -f types.jq OUTPUT.JSON
#
# Prints each object of `-f json` in which a main field is missing or of another type than the
# manual page says.

def is($kind): type == $kind;
def maybe($kind): . == null or is($kind);
def text: is("string");
def flag: is("boolean");
def integer: is("number") and . == floor;
def amount: integer and . >= 0;
def address: text and test("^0x[0-9a-f]+$");
def moment: text and test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{9}Z$");
def objects(all): is("array") and all(.[]; is("object") and all);

def phases:
	keys == ["compaction", "direct_reclaim", "memcg_reclaim", "memory_high", "node_reclaim",
		 "other_reclaim", "rest"] and all(.[]; all(.[]; amount));

def task:
	(.tid | amount) and (.name | text) and (.pid | . == null or amount) and
	(.process | maybe("string")) and (.cgroup | maybe("string")) and (.background | flag) and
	(.interrupt | flag);

def fields:
	has("time") and (.time | . == null or moment) and (.ts_ns | amount) and
	(.duration_ns | amount) and (.task | task) and (.cpu | amount) and (.function | text) and
	has("order") and (.order | . == null or integer) and
	has("gfp") and (.gfp | maybe("string")) and
	has("gfp_flags") and (.gfp_flags | . == null or address) and
	has("nr_reclaimed") and (.nr_reclaimed | . == null or amount) and
	has("memcg") and (.memcg | maybe("string")) and
	(.phases | phases) and ([.phases[].total_ns] | add) == .duration_ns and
	(.shrinkers | objects((.name | text) and (.shrinker | address) and (.callback | address) and
			      (.count | amount) and (.total_ns | amount))) and
	(.source | text) and (.stack | is("array") and all(.[]; text)) and (.incomplete | flag);

def latency: (.count | amount) and (.total_ns | amount) and (.p99_ns | amount) and (.max_ns | amount);

def summary:
	(.final | flag) and (.threshold_ns | amount) and (.report_ns | amount) and
	(.not_shown | (.shorter | amount) and (.others | amount)) and
	(.shrinkers | objects((.name | text) and (.total_ns | amount) and (.max_ns | amount) and
			      (.superblocks | objects((.name | text) and (.total_ns | amount))))) and
	(.functions | objects(latency)) and (.stalls | latency and (.phases | phases)) and
	(.most_explained | . == null or fields) and (.longest | . == null or fields) and
	(.tasks | objects((.tid | amount) and (.name | text) and latency)) and
	(.cgroups | objects((.cgroup | text) and latency)) and (.incomplete | amount) and
	(.lost | objects((.cpu | amount) and (.records | amount))) and
	(.overflows | is("object") and all(.[]; amount));

select((.schema == 2 and
	(if .type == "stall" then fields elif .type == "summary" then summary else false end)) | not)
