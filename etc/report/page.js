"use strict";
/*
 * Builds the page from the lines of JSON in #data: the run, the summary and the longest stalls as `-f json` has
 * them, a heat map and a flame graph. A name is any text: it gets into the page as a text node, never as HTML.
 */

const lines = document.getElementById("data").textContent.trim().split("\n").map((line) => JSON.parse(line));
const of = (type) => lines.filter((line) => line.type === type);
const [run] = of("run"), [summary] = of("summary"), [graphics] = of("graphics");
const longest = of("stall").sort((a, b) => b.duration_ns - a.duration_ns || a.ts_ns - b.ts_ns);
const stalls = summary.stalls;
const all_kept = longest.length === stalls.count;

const SHOWN = 20;	// stalls, before the others are asked for
const HEAT_ROWS = 24;	// of a column; the first is up to HEAT_EDGE ns, each next one up to twice as long
const HEAT_EDGE = 16000;
const SHADES = 5;	// of the heat map

/* Keys of phases, parts and states: the title and what it means, as in the manual. */
const WORDS = {
	direct_reclaim: ["direct reclaim", "Memory was short, so the task had to free some itself before it got any."],
	memcg_reclaim: ["memcg reclaim", "The cgroup was at its limit, so the task had to free some of its memory before it got any."],
	node_reclaim: ["node reclaim", "Memory of one NUMA node was freed before memory of another node was used (vm.zone_reclaim_mode)."],
	other_reclaim: ["other reclaim", "Reclaim by kswapd, by vm.drop_caches, or with a caller that is not known."],
	compaction: ["compaction", "Pages were moved to make a large free block."],
	memory_high: ["memory.high", "The task's cgroup was above its memory.high, so the task slept or reclaimed before it went back to user space."],
	oom_killer: ["OOM killer", "A process was chosen and killed."],
	drain: ["draining per-CPU lists", "Every CPU gave back the free pages that it kept."],
	swap_in: ["swap-in", "A page was read back from swap."],
	refault: ["refault", "A page was read again that reclaim had taken."],
	refault_not_in_psi: ["refault, not in PSI", "A page was read again that was not in use when reclaim took it: the kernel does not count it."],
	outside: ["outside reclaim", "Nothing that is traced in memory management was slow: the task ran, or others had the CPU."],
	inactive_list: ["inactive list", "Pages were freed or written back."],
	active_list: ["active list", "Pages were moved to the inactive list."],
	short_scans: ["short list scans", "A cgroup's lists were scanned in runs shorter than the threshold."],
	shrinkers: ["shrinkers", "Caches of file systems and drivers were shrunk."],
	shrinker_lookup: ["shrinker lookup and locks", "The task looked for shrinkers, or waited for their locks."],
	throttled: ["throttled", "The task was made to wait for kswapd or for writeback."],
	soft_limit: ["soft limit", "Reclaim of a cgroup above its soft limit."],
	itself: ["reclaim itself", "All else in reclaim, including what was too short to be recorded."],
	running: ["running", "The task had a CPU."],
	cpu_wait: ["waiting for a CPU", "The task could run, but others had the CPU."],
	blocked: ["asleep, uninterruptible", "The task waited for a device or a lock."],
	slept: ["asleep", "The task slept until something woke it."],
	off_cpu: ["off the CPU (unknown why)", "The task did not run, and why was not recorded."],
	mixed: ["nothing is half of it", ""],
};
const STATES = ["running", "cpu_wait", "blocked", "slept", "off_cpu"];
const REASONS = {
	switch: "a switch of the task was not recorded",
	lost: "records were lost",
	dropped: "older records were dropped",
	in_progress: "a memory wait began before tracing, and took at least this long",
};
const KEYS = Object.fromEntries(Object.entries(WORDS).map(([key, [word]]) => [word, key]));
const title = (key) => WORDS[key] ? WORDS[key][0] : key.replace(/_/g, " ");
const meaning = (key) => WORDS[key] ? WORDS[key][1] : "";
const reason = (stall) => REASONS[stall.incomplete_reason] || title(stall.incomplete_reason);

/* ---- elements ---- */

/*
 * An element: "tag", "tag.class" or "tag#id"; its attributes, listeners (onclick) and custom properties (--w) in an
 * object, which may be left out; its children, of which null is none.
 */
function el(what, ...rest) {
	const [, tag, kind, word] = /^(\w+)(?:([.#])(.+))?$/.exec(what);
	const attributes = Object.getPrototypeOf(rest[0] || []) === Object.prototype ? rest.shift() : {};
	const node = /^(svg|rect|title)$/.test(tag) ?
		document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);

	if (kind)
		node.setAttribute(kind === "." ? "class" : "id", word.replace(/\./g, " "));
	for (const [key, value] of Object.entries(attributes))
		if (key.startsWith("--"))
			node.style.setProperty(key, value);
		else if (key.startsWith("on"))
			node.addEventListener(key.slice(2), value);
		else if (value !== undefined && value !== "")
			node.setAttribute(key, value);
	node.append(...rest.flat(9).filter((child) => child !== null && child !== undefined && child !== ""));
	return node;
}

const name = (text, full) => el("bdi", { title: full }, text);
const details = (text, ...content) => el("details", el("summary", text), ...content);
const bar = (part, whole) => el("span.bar", { "--w": `${whole ? 100 * part / whole : 0}%` }, percent(part, whole));
const joined = (list, last = ", ") => list.map((one, i) => [i ? i < list.length - 1 ? ", " : last : "", one]);

/* ---- numbers ---- */

const sum = (list, value) => list.reduce((total, one) => total + value(one), 0);
const number = (count) => count.toLocaleString("en");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const by_time = (list) => [...list].sort((a, b) => b.total_ns - a.total_ns);

/* The members KEY_ns of an object, most time first, as { key, total_ns }. */
const times = (object) => by_time(Object.entries(object || {}).filter(([key]) => /_ns$/.test(key) && key !== "total_ns")
	.map(([key, total_ns]) => ({ key: key.slice(0, -3), total_ns })));

/* "0.26 ms", "4.6 ms", "131 ms", "10.1 s": two or three digits. */
function duration(ns) {
	const units = [["days", 86400e9], ["h", 3600e9], ["min", 60e9], ["s", 1e9]];
	const [unit, per] = units.find(([, one]) => ns >= (one === 1e9 ? 1 : 2) * one) || ["ms", 1e6];
	const value = ns / per;
	const digits = unit !== "ms" ? 1 : !value || value >= 9.95 ? 0 : value >= 0.995 ? 1 : value >= 0.0995 ? 2 : 3;

	return `${value.toFixed(digits)}\u00a0${unit}`;
}

/* A threshold, exactly: "134 µs", "1 ms". */
function exactly(ns) {
	const [unit, per] = ns < 1e6 ? ["µs", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];

	return `${ns / per}\u00a0${unit}`;
}

/* A time with its nanoseconds, for whoever reads the page by program. */
const figure = (ns) => el("data", { value: ns, title: `${(ns / 1e6).toFixed(6)} ms` }, duration(ns));

function percent(part, whole) {
	const share = whole ? 100 * part / whole : 0;

	return share > 0 && share < 1 ? "<\u00a01\u00a0%" : `${Math.round(share)}\u00a0%`;
}

/* The last name of a cgroup's path, unless two that waited share it. */
function unit_name(path) {
	const last = path.slice(path.lastIndexOf("/") + 1);
	const same = summary.cgroups.filter((one) => one.cgroup.endsWith(`/${last}`));

	return name(!last || same.length > 1 ? path : last, path);
}

/* ---- time: UTC, or seconds of the trace clock ---- */

const second = summary.time ? Date.parse(`${summary.time.slice(0, 19)}Z`) : 0;	// ms; that of summary.ts_ns
const fraction = summary.time ? Number(summary.time.slice(20, 29)) : 0;		// ns
const date = (ts) => new Date(second + Math.floor((fraction + ts - summary.ts_ns) / 1e6));
const day = (ts) => summary.time ? `${date(ts).toISOString().slice(0, 10)} ` : "";

function clock(ts, decimals = 3) {
	if (!summary.time)
		return `${(ts / 1e9).toFixed(decimals)} s`;
	return date(ts).toISOString().slice(11, decimals ? 20 + decimals : 19);
}

/* ---- tables ---- */

/*
 * A table whose columns sort, null without rows. A column is { head, of(row), show(row), text }: `of` gives what is
 * compared, numbers unless it is a text, and `show` what is in the cell, without it the same. The first names the row.
 */
function table(id, caption, columns, rows) {
	const cell = (column, row, i) => el(i ? "td" : "th", {
		scope: i ? "" : "row", "data-label": column.head, class: column.text ? "text" : "",
	}, column.show ? column.show(row) : column.text ? column.of(row) : number(column.of(row)));
	const made = rows.map((row) => ({ row, line: el("tr", columns.map((column, i) => cell(column, row, i))) }));
	const body = el("tbody", made.map(({ line }) => line));
	const heads = columns.map((column) => el("th", { scope: "col", class: column.text ? "text" : "" },
		el("button", { type: "button", onclick: () => sort(column) }, column.head)));

	function sort(column) {
		const head = heads[columns.indexOf(column)], before = head.getAttribute("aria-sort");
		const up = before ? before !== "ascending" : !!column.text;
		const compare = (a, b) => column.text ?
			column.of(a).localeCompare(column.of(b), "en", { numeric: true }) : column.of(a) - column.of(b);

		heads.forEach((other) => other.removeAttribute("aria-sort"));
		head.setAttribute("aria-sort", up ? "ascending" : "descending");
		made.sort((a, b) => up ? compare(a.row, b.row) : compare(b.row, a.row));
		body.append(...made.map(({ line }) => line));
	}
	return rows.length ? el(columns.length > 4 ? "div.table.wide" : "div.table",
		el("table", { id }, el("caption", caption), el("thead", el("tr", heads)), body)) : null;
}

const text_column = (head, text, show) => ({ head, text: true, of: text, show });
const count_column = (head) => ({ head, of: (row) => row.count });
const time_column = (head, key = "total_ns") => ({
	head, of: (row) => row[key] || 0, show: (row) => row[key] === undefined ? "" : figure(row[key]),
});
const share_column = (whole) => ({
	head: "share", of: (row) => row.total_ns, show: (row) => bar(row.total_ns, whole),
});

/* ---- the finding ---- */

const runner = (one) => one.idle ? "nobody (waking up)" : [name(one.tid ? `${one.task}-${one.tid}` : one.task),
	one.cgroup && one.cgroup !== "/" ? [" in ", unit_name(one.cgroup)] : null];

function what() {
	const span = summary.duration_ns ? ` within ${duration(summary.duration_ns)}` : "";

	const stalls_of = `${plural(stalls.count, "stall")} of ${exactly(summary.report_ns)} or more${span}: `;

	if (stalls.count === 1)
		return [stalls_of, "it took ", el("b", duration(stalls.total_ns)), ", waiting or running."];
	return [stalls_of, "they took ", el("b", `${duration(stalls.total_ns)} together`),
		`, waiting or running; the median is ${duration(stalls.p50_ns)}, the longest ${duration(stalls.max_ns)}.`];
}

function who() {
	const rows = summary.cgroups.length ? summary.cgroups : summary.tasks;
	const label = (row) => row.cgroup === undefined ? name(`${row.name}-${row.tid}`) : unit_name(row.cgroup);
	const [first, ...others] = rows;

	/* Rows of a full table took their places from others, which may have waited as long. */
	if (first && first.error_ns > first.total_ns)
		return `More ${rows === summary.tasks ? "tasks" : "units"} waited than there are figures for: none stands out.`;
	return first ? [el("b", label(first)), others.length ? " suffered most: " : " alone suffered: ",
		`${duration(first.total_ns)} in ${plural(first.count, "stall")}`,
		others.length ? `, ${percent(first.total_ns, stalls.total_ns)} of it all` : "",
		others.slice(0, 2).map((row, i) => [i ? " and " : "; then ", label(row), ` with ${duration(row.total_ns)}`]),
		"."] : null;
}

function why() {
	const share = (key, ns) => [percent(ns, stalls.total_ns), " ", el("b", title(key).replace(",", ""))];
	const large = (part) => (one) => one.total_ns >= stalls.total_ns * part;
	const phases = Object.entries(stalls.phases).map(([key, phase]) => ({ key, ...phase })).filter(large(0.01));
	const states = times(stalls.states).filter(large(0.05));
	const had = stalls.had_cpu || [], ran = sum(had, (one) => one.total_ns);
	const sentences = [["The time went to: ", joined(by_time(phases).slice(0, 2).map((phase) => {
		const parts = times(phase).filter((part) => part.total_ns >= phase.total_ns / 5).slice(0, 2);

		return [share(phase.key, phase.total_ns),
			parts.length ? ` (mainly ${parts.map((part) => title(part.key)).join(" and ")})` : ""];
	}), " and "), "."]];

	if (states.length)
		sentences.push([" The tasks spent ", joined(states.map((one) => share(one.key, one.total_ns)), " and "), "."]);
	else if (phases.some((phase) => phase.key === "outside" && phase.total_ns >= stalls.total_ns / 2))
		sentences.push(" A run with --off-cpu tells what the tasks did outside reclaim.");
	if (had.length)
		sentences.push([" Meanwhile the CPU ran ", joined(had.slice(0, 3).filter((one) => one.total_ns >= ran / 20)
			.map((one) => [runner(one), ` (${percent(one.total_ns, ran)})`])), "."]);
	return sentences;
}

function finding() {
	const row = (word, text) => text ? el("div", el("dt", word), el("dd", text)) : null;

	if (stalls.count)
		return el("dl.finding", row("What", what()), row("Who", who()), row("Why", why()));
	return el("p.finding", `No task waited ${exactly(summary.report_ns)} or longer`,
		summary.duration_ns ? ` in ${duration(summary.duration_ns)}.` : ".");
}

function figures() {
	const one = (value, text) => el("div", el("dd", value), el("dt", text));

	return stalls.count ? el("dl.figures",
		one(el("data", { value: stalls.count }, number(stalls.count)), `${stalls.count === 1 ? "stall" : "stalls"} of ${exactly(summary.report_ns)} or more`),
		one(figure(stalls.total_ns), "together"), one(figure(stalls.p50_ns), "median"),
		one(figure(stalls.p99_ns), "99th percentile"), one(figure(stalls.max_ns), "longest")) : null;
}

function losses() {
	const records = sum(summary.lost, (cpu) => cpu.records), times_lost = sum(summary.lost, (cpu) => cpu.times_unknown);
	const incomplete = longest.filter((stall) => stall.incomplete);
	const reasons = [...new Set(incomplete.map(reason))].join("; ");
	const list = [];

	if (records)
		list.push([`${plural(records, "record")} of the kernel ${records === 1 ? "was" : "were"} lost.`]);
	if (times_lost)
		list.push([`Records were lost ${plural(times_lost, "time")} without a count.`]);
	if (summary.incomplete)
		list.push([`${plural(summary.incomplete, "stall")} ${summary.incomplete === 1 ? "is" : "are"} incomplete`,
			reasons ? ` (${reasons}).` : ".", incomplete.length ?
				el("button", { type: "button", onclick: () => search_stalls("incomplete") }, "show them") : null]);
	for (const [key, count] of Object.entries(summary.overflows))
		if (count)
			list.push([`A limit was reached: ${key.replace(/_/g, " ")} (${number(count)}).`]);
	return list.length ? list.map((text) => el("p.warn", text)) :
		el("p.soft", "No records were lost, and all stalls are complete.");
}

function kills() {
	const limit = (row) => !row.limit ? "not known" : row.limit === "/" ? "none" : row.limit;
	const path = (text) => text.startsWith("/") ? unit_name(text) : text;
	const pressure = summary.pressure || { before: {}, after: {} };
	const counted = (pressure.after.oom_kills || 0) - (pressure.before.oom_kills || 0);
	const recorded = sum(summary.oom_kills, (row) => row.count);

	return recorded || counted > 0 ? el("section#kills", el("h2", "OOM kills"),
		counted > recorded ? el("p", `${number(counted)} by the kernel's count, ${number(recorded)} recorded.`) : null,
		table("victims", "Tasks that the OOM killer took", [
			text_column("task", (row) => row.name, (row) => name(row.name)),
			text_column("unit", (row) => row.cgroup || "not known", (row) => path(row.cgroup || "not known")),
			text_column("at the limit of", limit, (row) => path(limit(row))),
			count_column("tasks"), { head: "the last", of: (row) => row.tid, show: (row) => String(row.tid) },
		], summary.oom_kills)) : null;
}

function not_ended() {
	return table("not_ended", "Tasks whose memory wait had not ended", [
		text_column("task", (row) => row.name, (row) => [name(row.name), `-${row.tid}`]),
		text_column("unit", (row) => row.cgroup || "", (row) => row.cgroup ? unit_name(row.cgroup) : ""),
		text_column("reason", (row) => title(row.reason)), text_column("since", (row) => clock(row.ts_ns)),
		time_column("so far", "duration_ns")], summary.not_ended || []);
}

function remedies() {
	const item = (one) => el("li",
		el("p", el("b", one.finding), ` (${duration(one.total_ns)}, ${percent(one.total_ns, stalls.total_ns)})`),
		el("p", `${one.look} ${one.change} `, el("small.soft", one.source)));

	return summary.remedies.length ?
		el("section#next", el("h2", "What to do"), el("ol.remedies", summary.remedies.map(item))) : null;
}

/* ---- when: the heat map ---- */

const edge = (row) => row < HEAT_ROWS - 1 ?
	duration(HEAT_EDGE * 2 ** row) : `> ${duration(HEAT_EDGE * 2 ** (HEAT_ROWS - 2))}`;

/* Marks at round times, as far right as their labels have room: on a narrow page the late ones have none. */
function ticks(from, span) {
	const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
		...[1, 2, 5, 10, 30, 100, 300].map((days) => days * 86400)];
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ms * 1e6).concat(seconds.map((s) => s * 1e9));
	const step = steps.find((one) => span / one <= 8) || span;
	const decimals = step >= 1e9 ? 0 : step >= 1e8 ? 1 : step >= 1e7 ? 2 : 3;
	const label = (ts) => step < 21600e9 ? clock(ts, decimals) : `${day(ts).slice(5)}${clock(ts, 0).slice(0, 5)}`;
	const marks = [];

	for (let at = step - (summary.time ? date(from) % 86400e3 * 1e6 : from) % step; at < span * 0.88; at += step)
		marks.push(el(at > span * 0.7 ? "span.late" : "span", { "--x": `${100 * at / span}%` }, label(from + at)));
	return el("div.x", { "aria-hidden": "true" }, marks);
}

function when() {
	const cells = graphics.heat.map((count, i) => ({ count, column: Math.floor(i / HEAT_ROWS), row: i % HEAT_ROWS }))
		.filter((cell) => cell.count);

	if (!cells.length)
		return null;

	const high = Math.max(...cells.map((cell) => cell.row)), low = Math.min(...cells.map((cell) => cell.row));
	const rows = Array.from({ length: high - low + 1 }, (_, i) => high - i);
	const columns = [...new Set(cells.map((cell) => cell.column))];
	const wide = Math.max(24, columns[columns.length - 1] + 1);
	const most = Math.max(...cells.map((cell) => cell.count));
	const shade = (count) => most === 1 ? SHADES :
		1 + Math.floor((SHADES - 1) * Math.log(count) / Math.log(most) + 1e-9);
	const at = (column) => graphics.from_ns + column * graphics.width_ns;
	const how_long = (row) => `${row < HEAT_ROWS - 1 ? "up to " : ""}${edge(row)}`;
	const told = (cell) => `${clock(at(cell.column))} to ${clock(at(cell.column + 1))}, ${how_long(cell.row)}: ` +
		plural(cell.count, "stall");
	const legend = [...new Set(cells.map((cell) => shade(cell.count)))].sort().map((one) => {
		const counts = cells.map((cell) => cell.count).filter((count) => shade(count) === one);
		const from = Math.min(...counts), to = Math.max(...counts);

		return el("span", el(`i.q${one}`), from === to ? plural(to, "stall") : `${number(from)} to ${number(to)} stalls`);
	});
	const table_rows = columns.map((column) => {
		const own = cells.filter((cell) => cell.column === column).reverse();

		return { column, own, count: sum(own, (cell) => cell.count) };
	});

	return el("section#when", el("h2", "When"),
		el("figure",
			el("figcaption", "Stalls by when they ended (",
				summary.time ? `UTC, ${day(graphics.from_ns).trim()}` : "seconds of the trace clock",
				`) and how long they took. Columns are ${duration(graphics.width_ns)} wide; a label is the longest time `,
				"in its row, and each row is double the one below."),
			el("div.map",
				el("div.y", { "aria-hidden": "true" }, rows.map((row) => el("div", edge(row)))),
				el("svg", {
					role: "img", "aria-label": "Heat map of stalls; the table below has its figures",
					viewBox: `0 0 ${wide} ${rows.length}`, preserveAspectRatio: "none", "--rows": rows.length,
				}, cells.map((cell) => el(`rect.q${shade(cell.count)}`,
					{ x: cell.column, y: high - cell.row, width: 1, height: 1 }, el("title", told(cell))))),
				ticks(graphics.from_ns, wide * graphics.width_ns)),
			el("p.legend", legend)),
		details("The heat map as a table", table("heat", "Stalls by when they ended and how long they took", [
			{ head: "from", of: (row) => row.column, show: (row) => day(at(row.column)) + clock(at(row.column)) },
			count_column("stalls"),
			text_column("how long", (row) => row.own.map((cell) => `${how_long(cell.row)}: ${number(cell.count)}`).join(", ")),
		], table_rows)));
}

/* ---- why: the flame graph ---- */

/*
 * The step of a box. It is one box with the step below that has all its time. What no step below has is a box too,
 * so that boxes fill the one above.
 */
function step_of(data, above) {
	const names = [data.name], level = above ? above.level + 1 : 0;
	let below = data.below;

	for (; below.length === 1 && below[0].total_ns === data.total_ns; below = below[0].below)
		names.push(below[0].name);

	const step = { label: [...new Set(names)].join(" › "), key: KEYS[names[names.length - 1]], above, level };
	const rest = data.total_ns - sum(below, (one) => one.total_ns);

	step.total_ns = data.total_ns;
	step.below = below.concat(below.length && rest > 0 ? { name: "other", total_ns: rest, below: [] } : [])
		.map((one) => step_of(one, step));
	step.kind = STATES.includes(step.key) || step.key === "outside" ? step.key : level < 2 && !step.key ? "all" : "work";
	return step;
}

function flame_graph() {
	/* With --longest the graphics have these stalls alone, and the summary has all. */
	const drawn = sum(graphics.heat, (count) => count);
	const whose = drawn === stalls.count ? "all stalls" : `the ${plural(drawn, "longest stall")}`;
	const root = step_of({ name: whose, total_ns: sum(graphics.flame, (one) => one.total_ns), below: graphics.flame });
	const steps = [], told = el("p.told"), found = el("output.soft");
	const share = (step) => `${duration(step.total_ns)}, ${percent(step.total_ns, root.total_ns)}`;
	const whole = el("button", { type: "button", onclick: () => zoom(root) }, "Whole graph");
	const graph = el("div.flame", {
		role: "tree", "aria-label": "Flame graph: arrow keys move, Enter zooms, Escape shows all", onkeydown: press,
	});
	let zoomed = root;

	function add_boxes(step) {
		step.box = el(`div.box.${step.kind}`, {
			role: "treeitem", "aria-level": step.level + 1, "aria-label": `${step.label}: ${share(step)}`,
			title: `${step.label}: ${share(step)}`, "--y": step.level,
			onclick: () => zoom(step), onfocus: () => tell(step), onmouseenter: () => tell(step),
		}, el("bdi", step.label), ` ${percent(step.total_ns, root.total_ns)}`);
		steps.push(step);
		step.below.forEach(add_boxes);
	}

	/* Says what a box is, with the boxes above it. */
	function tell(step) {
		const path = [];

		for (let at = step; at.above; at = at.above)
			path.unshift(at.label);
		told.replaceChildren(el("b", share(step)), " ", name(path.join(" › ") || root.label),
			meaning(step.key) ? `. ${meaning(step.key)}` : "");
	}

	/* Gives a step, and those below it, a part of the width: 1 is all of it. */
	function place(step, left, width) {
		step.box.hidden = width < 0.001;
		step.box.style.setProperty("--x", `${100 * left}%`);
		step.box.style.setProperty("--w", `${100 * width}%`);
		for (const below of step.below) {
			const part = width * below.total_ns / step.total_ns;

			place(below, left, part);
			left += part;
		}
	}

	function zoom(step) {
		zoomed = step;
		steps.forEach((one) => {
			one.box.hidden = true;
			one.box.classList.toggle("above", one.level < step.level);
		});
		place(step, 0, 1);
		for (let at = step.above; at; at = at.above) {
			at.box.hidden = false;
			at.box.style.setProperty("--x", "0%");
			at.box.style.setProperty("--w", "100%");
		}
		reach(step);
		graph.style.setProperty("--rows", 1 + Math.max(...visible(steps).map((one) => one.level)));
		whole.disabled = step === root;
	}

	/* The one box that the tab key reaches. */
	const reach = (step) => steps.forEach((one) => (one.box.tabIndex = one === step ? 0 : -1));
	const visible = (list) => list.filter((step) => !step.box.hidden);

	function press(event) {
		const step = steps.find((one) => one.box === event.target), beside = visible(step.above ? step.above.below : []);
		const at = beside.indexOf(step);
		const to = {
			ArrowUp: step.above, ArrowDown: visible(step.below)[0], ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1],
			Enter: step, " ": step, Escape: root,
		};

		if (!(event.key in to))
			return;
		event.preventDefault();
		if (!event.key.startsWith("Arrow"))
			zoom(to[event.key]);
		reach(to[event.key] || step);
		(to[event.key] || step).box.focus();
	}

	function search(event) {
		const wanted = event.target.value.trim().toLowerCase();
		const hit = (step) => wanted && step.label.toLowerCase().includes(wanted);
		const time = (step) => hit(step) ? step.total_ns : sum(step.below, time);
		const all = { total_ns: time(root) };

		steps.forEach((step) => step.box.classList.toggle("hit", !!hit(step)));
		graph.classList.toggle("searched", !!wanted);
		found.textContent = wanted ? share(all) : "";
	}

	const kinds = [["work", "memory management"], ...["outside", ...STATES].map((key) => [key, title(key)])];
	const step_label = (step) => el("span.step", { "--level": step.level - 1 },
		step.level > 1 ? el("span.vh", `${step.above.label}: `) : null, name(step.label));

	add_boxes(root);
	graph.append(...steps.map((step) => step.box));
	zoom(root);
	tell(root);
	return [el("figure",
		el("figcaption", `Where the time of ${whose} went. `, "The width of a box is its share of the time; the boxes ",
			"below it are its parts. Click a box to zoom."),
		el("div.tools", whole, el("label", "Search ", el("input", { type: "search", oninput: search })), found),
		graph, told,
		el("p.legend", kinds.filter(([kind]) => steps.some((step) => step.kind === kind))
			.map(([kind, text]) => el("span", el(`i.${kind}`), text)))),
	details("The flame graph as a table", table("causes", `Where the time of ${whose} went`,
		[text_column("phase", (step) => step.label, step_label), time_column("time"), share_column(root.total_ns)],
		steps.slice(1)))];
}

function why_section() {
	const word = (head) => text_column(head, (row) => title(row.key), (row) => el("span", { title: meaning(row.key) }, title(row.key)));
	const phases = Object.entries(stalls.phases).map(([key, phase]) => ({ key, total_ns: phase.total_ns }));
	const causes = stalls.causes.map((one) => ({ key: one.cause, ...one }));
	const waits = (stalls.memory_waits || { reasons: [] }).reasons.map((one) => ({ key: one.reason, ...one }));
	const unknown = stalls.had_cpu_not_recorded_ns || 0;
	const had = (stalls.had_cpu || []).concat(unknown ? { task: "not recorded", total_ns: unknown } : []);
	const filtered = Object.keys(run.options).some((key) => /^(pid|comm|cgroup|min-order|cause|from|to)$/.test(key));
	/* The one file system that has all of a shrinker's time stands for it. */
	const shrinkers = summary.shrinkers.flatMap((one) =>
		one.superblocks.length === 1 && one.superblocks[0].total_ns === one.total_ns ?
			one.superblocks : [one, ...one.superblocks]).filter((one) => one.total_ns >= stalls.total_ns / 1000);
	const time_and_share = [time_column("time"), share_column(stalls.total_ns)];

	return stalls.count ? el("section#why", el("h2", "Why"), flame_graph(), el("div.tables",
		table("phases", "Time by phase", [word("phase"), ...time_and_share], by_time(phases)),
		table("states", "Time by what the tasks did", [word("state"), ...time_and_share], times(stalls.states)),
		table("had", "Who had the CPU while these tasks waited for one",
			[text_column("task", (row) => row.task, runner), time_column("time"), share_column(sum(had, (row) => row.total_ns))],
			had),
		table("kinds", "Stalls by main cause (what took half of the stall or more)",
			[word("main cause"), count_column("stalls"), ...time_and_share], by_time(causes)),
		table("reasons", "Memory waits by reason",
			[word("reason"), count_column("waits"), time_column("time"), time_column("in stalls", "long_ns")], waits),
		table("shrinkers", `Shrinkers${filtered ? " of all tasks" : ""}, slow or not`,
			[text_column("shrinker", (row) => row.name, (row) => name(row.name)), count_column("runs"),
				time_column("total"), time_column("longest", "max_ns")], shrinkers))) : null;
}

/* ---- who ---- */

function waiters(id, caption, rows, side, first) {
	const cause = (row) => by_time(row.causes).slice(0, 3).filter((one) => one.total_ns >= row.total_ns / 10)
		.map((one) => `${title(one.cause)} ${percent(one.total_ns, row.total_ns)}`).join(", ");
	const from = (row) => row.reclaimed_from.slice(0, 3).map((one) =>
		[one.memcg === row.cgroup ? "itself" : unit_name(one.memcg), ` ${number(one.pages)}`]);
	const columns = [
		{ ...first, show: (row) => [first.show(row), row.error_ns ? el("small", ` (up to ${duration(row.error_ns)} more)`) : null] },
		count_column(side === stalls ? "stalls" : "runs"), time_column("total"), share_column(side.total_ns),
		time_column("99th percentile", "p99_ns"), time_column("longest", "max_ns"),
	];

	if (rows.some((row) => row.pressure_some_ns !== undefined))
		columns.push(time_column("PSI", "pressure_some_ns"));
	if (rows.some((row) => row.causes))
		columns.push(text_column("stalls by main cause", cause));
	if (rows.some((row) => row.reclaimed_from && row.reclaimed_from.length))
		columns.push(text_column("pages reclaimed from", (row) => row.reclaimed_from.map((one) => one.memcg).join(),
			(row) => joined(from(row))));
	return table(id, caption, columns, rows);
}

function who_section() {
	const unit = text_column("unit", (row) => row.cgroup, (row) => unit_name(row.cgroup));
	const task = (head) => text_column(head, (row) => row.name, (row) => [name(row.name), `-${row.tid}`]);
	const tables = [
		not_ended(),
		waiters("cgroups", "Units that waited (cgroups)", summary.cgroups, stalls, unit),
		waiters("tasks", "Tasks that waited", summary.tasks, stalls, task("task")),
		waiters("threads", "Background work of kernel threads (nobody waits for it)", summary.kernel_threads,
			summary.background, task("thread")),
	].filter(Boolean);

	return tables.length ? el("section#who", el("h2", "Who"), el("div.flow", tables)) : null;
}

/* ---- the longest stalls ---- */

/* The clock may have been set between a stall and the end of the run. */
const began = (stall) => stall.time ? stall.time.slice(11, 23) : clock(stall.ts_ns);
const task_text = (stall) => `${stall.task.name}-${stall.task.tid}`;

/* "direct reclaim 100 %: inactive list 95 %", "swap-in 95 %; asleep 90 %", "direct reclaim; waiting for a CPU 61 %" */
function cause_text(stall) {
	const detail = stall.cause_detail || "", share = `${title(stall.cause)} ${Math.round(100 * stall.cause_share)} %`;

	if (stall.cause === "mixed")
		return detail || title("mixed");
	if (STATES.includes(stall.cause))
		return detail ? `${detail.replace(/ \d+ %$/, "")}; ${share}` : share;
	/* A state is no part of the phase. */
	const separator = STATES.some((key) => detail.startsWith(`${title(key)} `)) ? "; " : detail ? ": " : "";

	return `${share}${separator}${detail}${stall.cause === "outside" && !stall.off_cpu ? ", not traced" : ""}`;
}

/* Rows { level, label, key, ns } of where the time went, most time first; those below 1 % of the stall share one. */
function tree(stall) {
	const rows = [], same = (one, phase, part) => one.phase === phase && one.part === part;

	/* @list: of { label, key, ns, below } */
	function add(level, list) {
		const small = list.filter((one) => one.ns > 0 && one.ns < stall.duration_ns / 100);
		const large = list.filter((one) => one.ns > 0 && !small.includes(one)).sort((a, b) => b.ns - a.ns);

		for (const one of large) {
			rows.push({ level, ...one });
			add(level + 1, one.below || []);
		}
		if (small.length)
			rows.push({ level, label: small.length === 1 ? small[0].label : `${small.length} smaller parts`, ns: sum(small, (one) => one.ns) });
	}

	/* @of: a shrinker of the part, which has states of its own */
	function states(phase, part, ns, of) {
		const off = times(of || (stall.off_cpu || []).find((one) => same(one, phase, part)))
			.filter(({ key }) => STATES.includes(key));
		const sleeps = (state) => (stall.sleeps || [])
			.filter((one) => same(one, phase, part) && one.state === state && (!of || one.shrinker === of.shrinker))
			.map((one) => ({ label: one.function, ns: one.total_ns }));
		const running = { key: "running", total_ns: ns - sum(off, (one) => one.total_ns) };

		return stall.off_cpu ? [running, ...off].map(({ key, total_ns }) =>
			({ label: title(key), key, ns: total_ns, below: sleeps(key) })) : [];
	}

	function shrinkers(phase, ns) {
		const list = (stall.shrinkers || []).filter((one) => one.phase === phase).map((one) => ({
			label: `${one.name} (freed ${number(one.freed)}${one.scanned ? ` of ${number(one.scanned)}` : ""})`,
			ns: one.total_ns, below: states(phase, "shrinkers", one.total_ns, one),
		}));

		return [...list, { label: "other shrinkers", ns: ns - sum(list, (one) => one.ns) }];
	}

	add(0, Object.entries(stall.phases).map(([phase, of_phase]) => {
		const parts = times(of_phase).map(({ key, total_ns: ns }) => ({
			label: title(key), key, ns, below: key === "shrinkers" ? shrinkers(phase, ns) : states(phase, key, ns),
		}));
		const ns = of_phase.total_ns;

		return { label: title(phase), key: phase, ns, below: parts.length ? parts : states(phase, undefined, ns) };
	}));
	return rows;
}

function facts(stall) {
	const task = stall.task, list = [];
	const add = (key, text) => stall[key] === undefined || list.push(text(stall[key]));

	list.push(stall.role && stall.role !== stall.function ? `${stall.function} (${stall.role})` : stall.function);
	add("order", (order) => `order ${order}`);
	add("gfp", (flags) => name(flags));
	add("cpu", (cpu) => `CPU ${cpu}`);
	add("nr_reclaimed", (pages) => [`${plural(pages, "page")} reclaimed`, stall.memcg ? [" from ", unit_name(stall.memcg)] : ""]);
	add("inactive_scanned", (pages) => `${plural(pages, "page")} scanned`);
	add("inactive_reclaimed", (pages) => `${number(pages)} of these reclaimed`);
	add("inactive_dirty", (pages) => pages ? `${number(pages)} dirty` : null);
	add("inactive_writeback", (pages) => pages ? `${number(pages)} in writeback` : null);
	add("reclaim_priority", (priority) => `effort ${12 - priority} of 12 (priority ${priority})`);
	add("compaction_outcomes", (outcomes) => ["compaction: ", name(outcomes)]);
	add("nodes", (nodes) => `node ${nodes}`);
	if (task.process !== undefined && task.pid !== task.tid)
		list.push(["process ", name(`${task.process}-${task.pid}`)]);
	list.push(task.ended ? "the task has ended" : null, task.interrupt ? "in an interrupt" : null);
	list.push(stall.depth ? "inner part: the outer call was not recorded" : null);
	list.push(stall.incomplete ? `incomplete: ${reason(stall)}` : null);
	return [joined(list.filter(Boolean)), "."];
}

function stall_body(stall) {
	const had = (stall.had_cpu || []).slice(0, 8), unknown = stall.had_cpu_not_recorded_ns || 0;
	const waited = sum(stall.off_cpu || [], (one) => one.cpu_wait_ns || 0);
	const others = waited - unknown - sum(had, (one) => one.total_ns);
	const head = (text) => el("th", { scope: "col" }, text);
	const row = (one) => el("tr",
		el("th", { scope: "row", title: meaning(one.key) }, el("span.step", { "--level": one.level }, name(one.label))),
		el("td", figure(one.ns)), el("td", bar(one.ns, stall.duration_ns)));
	const runners = [...had.map((one) => [runner(one), ` ${duration(one.total_ns)}`]),
		others > 0 ? `others ${duration(others)}` : null, unknown ? `not recorded ${duration(unknown)}` : null];

	return [
		el("p.soft", facts(stall)),
		el("table.tree", el("thead.vh", el("tr", head("phase"), head("time"), head("share"))), el("tbody", tree(stall).map(row))),
		had.length ? el("p", "Who had the CPU meanwhile: ", joined(runners.filter(Boolean)), ".") : null,
		stall.stack ? el("p", "Kernel stack, the innermost function first:") : null,
		stall.stack ? el("ol.stack", stall.stack.map((frame) => el("li", name(frame)))) : null,
	];
}

function stall_item(stall) {
	const unit = stall.task.cgroup ? [" in ", unit_name(stall.task.cgroup)] : "";
	const item = el("details", el("summary",
		el("b", figure(stall.duration_ns)), el("span.at", began(stall)), el("span", name(task_text(stall)), unit),
		el("span.cause", name(cause_text(stall)), stall.incomplete ? el("em", " incomplete") : null)));

	item.addEventListener("toggle", () => item.children.length > 1 || item.append(el("div.body", stall_body(stall))));
	return item;
}

const stall_text = (stall) => [task_text(stall), stall.task.process, stall.task.cgroup, cause_text(stall), began(stall),
	stall.incomplete ? "incomplete" : ""].join(" ").toLowerCase();
const items = longest.map((stall) => ({ text: stall_text(stall), item: stall_item(stall) }));
const stall_search = el("input", { type: "search", oninput: () => list_stalls() });
const stall_list = el("div.stalls"), listed = el("output.soft");
const more = el("button", { type: "button", onclick: () => list_stalls(longest.length) }, "Show more");

function list_stalls(most = SHOWN) {
	const wanted = stall_search.value.trim().toLowerCase();
	const chosen = items.filter(({ text }) => text.includes(wanted));

	stall_list.replaceChildren(...chosen.slice(0, most).map(({ item }) => item));
	more.hidden = chosen.length <= most;
	listed.textContent = `${Math.min(most, chosen.length)} of ${chosen.length}${wanted ? " that match" : ""}`;
}

function search_stalls(text) {
	stall_search.value = text;
	list_stalls(longest.length);
	document.getElementById("longest").scrollIntoView();
	stall_search.focus({ preventScroll: true });
}

function longest_section() {
	if (!longest.length)
		return null;
	list_stalls();
	items[0].item.open = true;
	return el("section#longest", el("h2", all_kept ? "The stalls, longest first" : `The ${longest.length} longest stalls`),
		el("div.tools", el("label", "Search task, unit or cause ", stall_search), listed), stall_list, more);
}

/* ---- the run ---- */

const host = run.host === "(none)" ? "" : run.host;	// the kernel's word for a machine without a name

function run_section() {
	const pressure = summary.pressure, span = summary.duration_ns, since = summary.ts_ns - span, hidden = summary.not_shown;
	const grew = (key) => pressure.after[`${key}_total_ns`] - pressure.before[`${key}_total_ns`];
	const psi = (key) => `${key} ${(100 * grew(key) / span).toFixed(1)}\u00a0%`;
	const options = Object.entries(run.options).filter(([key]) => key !== "format" && key !== "quiet");
	const rows = [
		["host", host], ["kernel", run.release], ["machine", run.machine],
		["started", run.time && `${run.time.slice(0, 19).replace("T", " ")} UTC`],
		["records", span > 0 && `${day(since)}${clock(since)} to ${clock(summary.ts_ns)}, ${duration(span)}`],
		["trace clock", run.clock], ["timed from", exactly(run.threshold_ns)], ["shown from", exactly(run.report_ns)],
		["shorter stalls, not shown", hidden.shorter], ["other stalls, not shown", hidden.others],
		["memory pressure (PSI)", pressure && span > 0 && `${psi("some")}, ${psi("full")} of the time`],
		...options.map(([key, value]) => [key === "pid" ? "only processes" : key, [].concat(value).join(", ")]),
		["allocfilt", run.version],
	];
	const row = ([key, value]) => el("tr", el("th", { scope: "row" }, key), el("td", name(String(value))));

	return el("section#run", el("h2", "The run"), el("table.facts", el("tbody", rows.filter(([, value]) => value).map(row))));
}

/* ---- the page ---- */

const page = document.getElementById("page");
const sections = [kills(), remedies(), when(), why_section(), who_section(), longest_section(), run_section()].filter(Boolean);
const since = summary.ts_ns - summary.duration_ns;
const period = summary.duration_ns ? [summary.time ? "" : "trace clock ", day(since), clock(since, 0),
	" to ", clock(summary.ts_ns, 0), summary.time ? " UTC" : ""].join("") : null;
const of_what = [host, run.release].filter(Boolean).map((text) => name(text));

page.append(
	el("header", el("p.soft", joined([...of_what, period].filter(Boolean))), finding(), figures(), losses(),
		el("nav", { "aria-label": "Sections" }, sections.map((section) =>
			el("a", { href: `#${section.id}` }, section.firstChild.textContent)))),
	el("main", sections));
page.append(details("The summary as text", document.getElementById("text")));
