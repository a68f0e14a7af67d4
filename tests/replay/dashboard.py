#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dashboard.py DASHBOARD RULES METRICS DIR
#
# Checks the dashboard and the rules against each other and against METRICS, a text of the program
# with samples of each of its families: every metric and label is among them, counters and nothing
# else are in rate() or increase(), every variable is defined and used, and the dashboard is as
# tests/replay/grafana.schema.json says, with no panel on top of another. What is left for promtool
# to say is written to DIR: all expressions as rules, and a test that each panel finds something.

import json
import re
import sys

try:
    import yaml
    from jsonschema import Draft202012Validator
except ImportError as error:
    print(f"python3-{error.name} is not installed")
    sys.exit(77)

dashboard_file, rules_file, metrics_file, directory = sys.argv[1:]
wrong = []

# What a scrape adds, and the one family of node_exporter's own.
TARGET_LABELS = {"instance", "job"}
TARGET = 'instance="a",job="node"'
FOREIGN = 'node_textfile_mtime_seconds{file="/metrics/allocfilt.prom"}'

LABELS_FOLLOW = {"by", "without", "on", "ignoring", "group_left", "group_right"}
WORDS = LABELS_FOLLOW | {"and", "or", "unless", "bool", "offset"}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^]]*\]|[A-Za-z_:][\w:]*|[\d.]+|\S')
NAME = re.compile(r"[A-Za-z_:]")
SAMPLE = re.compile(r"([\w:]+)(?:\{(.*)\})? \S+$")
LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')


def read_metrics():
    """The families' types, each metric's labels, and the series."""
    types, labels, series = {}, {}, []
    with open(metrics_file, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines + [f"{FOREIGN} 1"]:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split()
            types[family] = kind
        elif not line.startswith("#"):
            name, text = SAMPLE.match(line).groups()
            labels.setdefault(name, set()).update(LABEL.findall(text or ""), TARGET_LABELS)
            series.append(f"{name}{{{TARGET}{',' + text if text else ''}}}")
    return types, labels, series


def is_counter(name):
    family = re.sub("_(bucket|sum|count)$", "", name)
    return types.get(name) == "counter" or types.get(family) == "histogram"


def check_expression(where, expr):
    """Say what is wrong with its names. Return the labels that its metrics have, and those it names."""
    tokens = TOKEN.findall(expr)
    has, named = set(), set()
    braces = False
    metric = group = None
    for i, token in enumerate(tokens):
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if token in "{}":
            braces = token == "{"
        elif token in LABELS_FOLLOW:
            group = token
        elif token == ")":
            group = None
        elif not NAME.match(token) or token in WORDS:
            continue
        elif braces:
            if token not in labels.get(metric, {token}):
                wrong.append(f"{where}: {metric} has no label {token}")
        elif group:
            named.add(token)
        elif following != "(" and following not in LABELS_FOLLOW:
            metric = token
            if metric not in labels:
                wrong.append(f"{where}: there is no metric {metric}")
                return set(), set()
            has |= labels[metric]
            inside = tokens[i - 2:i] in (["rate", "("], ["increase", "("])
            if inside != is_counter(metric):
                wrong.append(f"{where}: {metric} is {'not ' * (not inside)}in rate() or increase()")
    for label in sorted(named - has):
        wrong.append(f"{where}: no metric of it has a label {label}")
    return has, named


def check_rules():
    """Rules in their order: a recorded metric is known from there on."""
    with open(rules_file, encoding="utf-8") as file:
        rules = [rule for group in yaml.safe_load(file)["groups"] for rule in group["rules"]]
    for rule in rules:
        name = rule.get("record", rule.get("alert"))
        has, _ = check_expression(name, rule["expr"])
        if "record" in rule:
            gone = re.findall(r"without \((.*?)\)", rule["expr"])
            labels[name] = has - set(re.findall(r"\w+", " ".join(gone)))
            level = name.split(":")[0]
            if not set(level.split("_")) <= labels[name]:
                wrong.append(f"{name}: it has not the labels {level}")
            continue
        texts = rule.get("annotations") or {}
        for label in re.findall(r"\$labels\.(\w+)", json.dumps(texts)):
            if label not in has:
                wrong.append(f"{name}: no metric of it has a label {label}")
        if "severity" not in (rule.get("labels") or {}) or set(texts) != {"summary", "description"}:
            wrong.append(f"{name}: severity, summary or description is missing")
    return [rule["expr"] for rule in rules if "alert" in rule], len(rules)


def check_variables():
    defined = [variable["name"] for variable in dashboard["templating"]["list"]]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard))) - {"__all", "__rate_interval", "__range"}
    if len(set(defined)) != len(defined) or set(defined) != used:
        wrong.append(f"variables: defined {defined}, used {sorted(used)}")
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        where = f"variable {variable['name']}"
        query = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
        if not query:
            wrong.append(f"{where}: it is not label_values(METRIC, LABEL)")
            continue
        expr, label = query.groups()
        metric = expr.split("{")[0]
        if is_counter(metric):
            expr = f"rate({expr}[5m])"
        has, _ = check_expression(where, expr)
        if label not in has:
            wrong.append(f"{where}: {metric} has no label {label}")


def check_places():
    panels = dashboard["panels"]
    ids = [panel["id"] for panel in panels]
    if len(set(ids)) != len(ids):
        wrong.append(f"panels: an id twice: {ids}")
    taken = {}
    for panel in panels:
        pos = panel["gridPos"]
        if pos["x"] + pos["w"] > 24:
            wrong.append(f"{panel['title']}: wider than the 24 columns")
        for place in [(x, y) for x in range(pos["x"], pos["x"] + pos["w"])
                      for y in range(pos["y"], pos["y"] + pos["h"])]:
            if taken.setdefault(place, panel["title"]) != panel["title"]:
                wrong.append(f"{panel['title']}: on top of {taken[place]}")
                break


def check_panels():
    expressions = []
    for panel in dashboard["panels"]:
        targets = panel.get("targets", [])
        refs = [target["refId"] for target in targets]
        if len(set(refs)) != len(refs):
            wrong.append(f"{panel['title']}: a refId twice: {refs}")
        for target in targets:
            where = f"{panel['title']}, {target['refId']}"
            expr = re.sub(r"\$__(rate_interval|range)\b", "5m", target["expr"])
            expr = re.sub(r"\$\w+", ".*", expr)
            _, named = check_expression(where, expr)
            for label in re.findall(r"\{\{(.*?)\}\}", target.get("legendFormat", "")):
                if label not in named:
                    wrong.append(f"{where}: the legend has {label}, which the expression does not keep")
            expressions.append(expr)
    return expressions


def write(name, value):
    # JSON is YAML.
    with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)


def write_for_promtool(panels, alerts):
    rules = [{"record": f"expression:{i}", "expr": expr} for i, expr in enumerate(panels + alerts)]
    write("expressions.yml", {"groups": [{"name": "expressions", "rules": rules}]})
    # Each series of the program grows: what a panel then has nothing of, it has nothing of ever.
    write("panels.yml", {"evaluation_interval": "1m", "tests": [{
        "interval": "1m",
        "input_series": [{"series": one, "values": "1+1x20"} for one in series],
        "promql_expr_test": [{
            "expr": f"count({expr}) >= bool 1",
            "eval_time": "15m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        } for expr in panels],
    }]})


with open("tests/replay/grafana.schema.json", encoding="utf-8") as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
with open(dashboard_file, encoding="utf-8") as file:
    dashboard = json.load(file)
errors = list(Draft202012Validator(schema).iter_errors(dashboard))
if errors:
    print("\n".join(f"{error.json_path}: {error.message}"[:300] for error in errors))
    sys.exit(1)

types, labels, series = read_metrics()
alerts, nr_rules = check_rules()
check_variables()
check_places()
panels = check_panels()
write_for_promtool(panels, alerts)
if wrong:
    print("\n".join(wrong))
    sys.exit(1)
print(f"{len(panels)} expressions of the dashboard, {nr_rules} rules")
