#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
#
# schema.py OUTPUT.JSON
#
# Validates each line of `-f json` with etc/allocfilt.schema.json, by jsonschema of Debian's package
# python3-jsonschema: the run first, then stalls, the summary last. What SIGUSR1 prints is summaries
# that are not final, and nothing else. --verify and diff print one object, account nothing but its tables.

import json
import sys

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

with open("etc/allocfilt.schema.json", encoding="utf-8") as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
whole = Draft202012Validator(schema)
of_type = {kind: whole.evolve(schema=schema["$defs"][kind])
           for kind in ("run", "stall", "summary", "verify", "account", "diff")}

types = []
wrong = []
with open(sys.argv[1], encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            wrong.append(f"line {number}: no JSON: {error}")
            continue
        types.append(record.get("type"))
        if not record.get("final", True):
            types[-1] = "summary so far"
        if whole.is_valid(record):
            continue
        # Of one type: else the first thing wrong would be that it is not of the others.
        error = best_match(of_type.get(record.get("type"), whole).iter_errors(record))
        wrong.append(f"line {number}: {error.json_path if error else '$'}: "
                     f"{error.message if error else 'no type or schema'}")

stalls = types.count("stall")
if types != ["run"] + ["stall"] * stalls + ["summary"] and types not in (["verify"], ["diff"]) and \
        set(types) not in ({"summary so far"}, {"account"}):
    wrong.append(f"not one run, then stalls, then the summary: {types[:2]} to {types[-2:]}")
if wrong:
    print("\n".join(wrong[:20]))
    sys.exit(1)
print(f"{len(types)} records are as the schema says")
