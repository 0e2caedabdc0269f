# SPDX-License-Identifier: MIT
"""Reads records of ring_train --json: the facts of a run, each rank's steps, and the metrics."""

import json

NUMBER_MOST = 1e300  # larger ones, infinity and NaN are refused
SKIPPED = 2  # steps that warm up, as in ring_train's own metrics

# The parts that a rank does by itself. Blocked time and small sums depend on other ranks.
OWN_PHASES = ("data", "forward", "backward", "optimizer", "host")


class Unreadable(Exception):
    """A file is not such a record; the text says why."""


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


def parse_line(path, number, line):
    try:
        parsed = json.loads(line)
    except ValueError as reason:
        raise Unreadable(f"{path}:{number}: no JSON: {reason}") from None
    if not isinstance(parsed, dict):
        raise Unreadable(f"{path}:{number}: no object")
    return parsed


def check_step(path, number, step, ranks):
    names = (
        "step_ms",
        "waiting_ms",
        "exposed_ms",
        "extra_ms",
        "tokens",
        "step",
        *(phase + "_ms" for phase in OWN_PHASES),
    )
    for name in names:
        if not isinstance(step.get(name), (int, float)) or not abs(step[name]) < NUMBER_MOST:
            raise Unreadable(
                f"{path}:{number}: a step without a number {name}; is it of an older ring_train?"
            )
    if not isinstance(step.get("rank"), int) or not 0 <= step["rank"] < ranks:
        raise Unreadable(f"{path}:{number}: a step of no rank")


def note_step(steps, step):
    """Adds a step. Older records do not have computed_tokens; they had no padding."""
    if step["step"] > SKIPPED:
        step.setdefault("computed_tokens", step["tokens"])
        steps[step["rank"]].append(step)


def parse_lines(path, lines):
    run, summary, steps = None, None, []
    for number, line in enumerate(lines, 1):
        parsed = parse_line(path, number, line)
        kind = parsed.get("record")
        if kind == "run":
            run = parsed
            if not isinstance(run.get("ranks"), int) or not 1 <= run["ranks"] <= 1024:
                raise Unreadable(f"{path}:{number}: no number of ranks")
            steps = [[] for _ in range(run["ranks"])]
        elif kind == "step" and run:
            check_step(path, number, parsed, run["ranks"])
            note_step(steps, parsed)
        elif kind == "summary":
            summary = parsed
    if not run or not summary:
        raise Unreadable(f"{path}: no record of a whole run of ring_train (--json)")
    if len({len(mine) for mine in steps}) != 1 or not steps[0]:
        raise Unreadable(
            f"{path}: too few steps, or different numbers for ranks; {SKIPPED} only warm up"
        )
    return Record(path, run, steps, summary)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return parse_lines(path, file)
    except (OSError, UnicodeDecodeError) as reason:
        raise Unreadable(f"{path}: {getattr(reason, 'strerror', None) or reason}") from None
