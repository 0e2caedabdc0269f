#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads Chrome traces as Perfetto's trace processor does, and complains of whatever that would drop or not name.

Times become whole nanoseconds, which versions of it round or cut off: both must do. A slice that partly overlaps
another one of its row is dropped there. usage: perfetto.py RANKS FILE...
"""

import json
import sys
from collections import defaultdict

DEEDS = {"send", "signal", "copy", "hold", "add", "scale", "average"}


def to_ns(us, cuts):
    return int(us * 1000.0) if cuts else round(us * 1000.0)


def find_overlaps(slices):
    """As its SliceTracker: a slice ends those that end before it begins; it must lie within the one that is left."""
    open_ends, overlaps = [], []
    for begin, end, name in slices:
        while open_ends and open_ends[-1] <= begin and (open_ends[-1] < begin or end > begin):
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            overlaps.append(f"{name} begins at {begin} ns and ends {end - open_ends[-1]} ns behind what it lies in")
        open_ends.append(end)
    return overlaps


def check_slices(events, cuts):
    rows = defaultdict(list)
    complaints = []
    for event in events:
        begin, length = to_ns(event["ts"], cuts), to_ns(event["dur"], cuts)
        if begin < 0 or length < 0:
            complaints.append(f"{event['name']} begins at {begin} ns and takes {length} ns")
        rows[event["pid"], event["tid"]].append((begin, begin + length, event["name"]))
    for (pid, tid), slices in rows.items():
        slices.sort(key=lambda one: one[0])
        complaints += [f"rank {pid}, row {tid}: {overlap}" for overlap in find_overlaps(slices)]
    return complaints


def check_names(events):
    """Every rank and every row of slices is called something."""
    named = {(e["name"], e["pid"], e.get("tid", 0)) for e in events if e["ph"] == "M" and e["args"]["name"]}
    complaints = []
    for pid in sorted({e["pid"] for e in events}):
        if not any(kind == "process_name" and of == pid for kind, of, _ in named):
            complaints.append(f"nobody names process {pid}")
    for pid, tid in sorted({(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}):
        if ("thread_name", pid, tid) not in named:
            complaints.append(f"rank {pid}: nobody names row {tid}")
    return complaints


def check_pairs(events):
    """What begins by itself ends, under the same name and not before. What is still under way at the end may."""
    begun, complaints = {}, []
    for event in events:
        key = event["pid"], event["cat"], event["id"], event["name"]
        if event["ph"] == "b":
            if key in begun:
                complaints.append(f"{key} begins twice")
            begun[key] = event
        elif key not in begun:
            complaints.append(f"{key} ends, but never began")
        elif event["ts"] < begun.pop(key)["ts"]:
            complaints.append(f"{key} ends before it begins")
    return complaints + [f"{key} never ends" for key in begun]


def check_deeds(events):
    """Who moves bytes says how many, of what, and what for."""
    complaints = []
    for event in events:
        args = event["args"]
        moves = "index" in args or "bucket" in args
        if moves and not (args.get("bytes", -1) >= 0 and args.get("does") in DEEDS and ("block" in args or "bucket" in args)):
            complaints.append(f"{event['name']} does not tell what it does: {args}")
    return complaints


def check(path, ranks):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    pairs = [e for e in events if e["ph"] in "be"]
    complaints = check_slices(slices, True) + check_slices(slices, False)
    complaints += check_names(events) + check_pairs(pairs) + check_deeds(slices + pairs)
    found = sorted({e["pid"] for e in slices + pairs})
    if found != list(range(ranks)):
        complaints.append(f"ranks {found} instead of {ranks}")
    for complaint in complaints[:5]:
        print(f"{path}: {complaint}")
    print(f"{path}: {len(slices) + len(pairs)} events of {len(found)} ranks, {len(complaints)} complaints")
    return not complaints


def main():
    ranks = int(sys.argv[1])
    return 0 if all([check(path, ranks) for path in sys.argv[2:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
