# SPDX-License-Identifier: MIT
"""Reads what nccl-tests writes: the table of any version, or the JSON of its option -J."""

import json
import re
from dataclasses import dataclass

from results import Unreadable

# nccl-tests' names of calls, where ring_perf's differ.
CALLS = {"alltoall": "all_to_all"}


@dataclass(frozen=True)
class Row:
    """A row's figures: in place, or out of place if it has no others."""

    size: int
    datatype: str
    op: str
    time_us: float
    bus_gbs: float


@dataclass(frozen=True)
class Table:
    call: str
    version: str
    ranks: int
    rows: list


def call_of(program):
    """ "build/alltoall_perf_mpi" calls all_to_all."""
    name = re.sub(r"_perf[^/]*$", "", program).rpartition("/")[2]
    return CALLS.get(name, name)


def read_json(text):
    try:
        table = json.loads(text)
        config = table["config"]
        # Each process writes its first device only.
        ranks = len(config["devices"]) * config["nthreads"] * config["ngpus"]
        rows = []
        for result in table["results"]:
            place = result["in_place"] or result["out_of_place"]
            time = float(place.get("time", place.get("cpu_time")))
            rows.append(
                Row(result["size"], result["type"], result["redop"], time, float(place["bus_bw"]))
            )
        return Table(call_of(table["args"][0]), f"NCCL {table['nccl_version']}", ranks, rows)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as reason:
        raise Unreadable(f"this is not nccl-tests' JSON: {reason!r}") from None


def number_in(columns, words, *names):
    """The last number in a column of one of these names. A place without results has words there."""
    for column, word in reversed(list(zip(columns, words))):
        if column in names and re.fullmatch(r"[-+.\d]+(e[-+]?\d+)?", word):
            return float(word)
    raise Unreadable(f"no {names[0]} in this row: {' '.join(words)}")


def read_row(columns, line):
    words = line.split()
    texts = dict(zip(columns, words))
    time = number_in(columns, words, "time", "cputime")
    bus = number_in(columns, words, "busbw")
    return Row(int(texts["size"]), texts["type"], texts.get("redop", "none"), time, bus)


def match_of(pattern, text, default=None):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else default


def read_text(text):
    header = match_of(r"^#\s+(size\s+count\s.*)$", text)
    if not header:
        raise Unreadable("there is no line of nccl-tests' that names columns")
    columns = header.split()
    rows = [read_row(columns, line) for line in re.findall(r"^ *\d+ .*$", text, re.MULTILINE)]
    program = match_of(r"^# Collective test starting: (\S+)", text)
    # Older versions do not name the collective; with an operation, it was nearly always all_reduce.
    if not program and not all(row.op != "none" for row in rows):
        raise Unreadable("it does not say which collective this is")
    version = match_of(r"^# nccl-tests version (\S+)", text)
    return Table(
        call=call_of(program or "all_reduce_perf"),
        version=f"nccl-tests {version}" if version else "an old nccl-tests",
        ranks=len(re.findall(r"^#\s+Rank\s+\d+ ", text, re.MULTILINE)),
        rows=rows,
    )


def read(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    table = read_json(text) if text.lstrip().startswith("{") else read_text(text)
    if not table.rows or table.ranks == 0:
        raise Unreadable("it has no rows" if not table.rows else "it does not say who the ranks were")
    return table
