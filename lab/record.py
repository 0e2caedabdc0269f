# SPDX-License-Identifier: MIT
"""Reads records of ring_train --json: the facts of a run, each rank's steps, and the metrics."""

import files
from files import Unreadable

NUMBER_MOST = 1e15  # larger ones, infinity and NaN are refused
RANKS_MOST = 1024
SKIPPED = 2  # steps that warm up, as in ring_train's own metrics

# The parts that a rank does by itself. Blocked time and small sums depend on other ranks.
OWN_PHASES = ("data", "forward", "backward", "optimizer", "host")


class Record:
    """A run. steps[rank] is the list of a rank's steps, as in JSON, without those that warm up."""

    def __init__(self, path, run, steps, summary):
        self.path, self.run, self.steps, self.summary = path, run, steps, summary

    @property
    def ranks(self):
        return len(self.steps)

    def values(self, rank, name):
        return [step[name] for step in self.steps[rank]]

    def mean(self, rank, name):
        values = self.values(rank, name)
        return sum(values) / len(values)


NUMBERS = ("step", "step_ms", "waiting_ms", "exposed_ms", "extra_ms", "tokens", "computed_tokens",
           *(phase + "_ms" for phase in OWN_PHASES))


def is_number(value, kinds=(int, float)):
    return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) < NUMBER_MOST


def parse_line(place, line):
    parsed = files.parse(place, line)
    if not isinstance(parsed, dict):
        raise Unreadable(f"{place}: no object")
    return parsed


def check_run(place, run):
    if not is_number(run.get("ranks"), int) or not 1 <= run["ranks"] <= RANKS_MOST:
        raise Unreadable(f"{place}: no number of ranks")


def check_step(place, step, ranks):
    """Older records do not have computed_tokens; they had no padding."""
    step.setdefault("computed_tokens", step.get("tokens"))
    for name in NUMBERS:
        if not is_number(step.get(name)):
            raise Unreadable(
                f"{place}: a step without a number {name}; is it of an older ring_train?")
    if not is_number(step.get("rank"), int) or not 0 <= step["rank"] < ranks:
        raise Unreadable(f"{place}: a step of no rank")
    if step["step_ms"] <= 0:
        raise Unreadable(f"{place}: a step that takes no time")


def check_steps(path, steps):
    if len({len(mine) for mine in steps}) != 1 or not steps[0]:
        raise Unreadable(
            f"{path}: too few steps, or different numbers for ranks; {SKIPPED} only warm up")


def read(path):
    run, summary, steps = None, None, []
    for number, line in files.lines_of(path):
        place = f"{path}:{number}"
        parsed = parse_line(place, line)
        kind = parsed.get("record")
        if kind == "run":  # the last one counts; it goes on from those before
            check_run(place, parsed)
            run, summary, steps = parsed, None, [[] for _ in range(parsed["ranks"])]
        elif kind == "step" and parsed.get("waiting_ms", 0) is None:
            continue  # the run failed before ranks could tell
        elif kind == "step" and run:
            check_step(place, parsed, run["ranks"])
            if parsed["step"] > SKIPPED:
                steps[parsed["rank"]].append(parsed)
        elif kind == "summary":
            summary = parsed
    if not run or not summary:
        raise Unreadable(f"{path}: no record of a whole run of ring_train (--json)")
    check_steps(path, steps)
    return Record(path, run, steps, summary)
