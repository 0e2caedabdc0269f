# SPDX-License-Identifier: MIT
"""The records of launches, as CSV, and the outcome of each cell of the targets."""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass, fields
from statistics import median

import figures
from targets import Cell, Measurement

UNDISTURBED = "undisturbed"


class Unreadable(Exception):
    """A file is not in the expected format; the text says why."""


@dataclass(frozen=True)
class Record:
    """One launch of one contender. 0: not known."""

    measurement: Measurement
    contender: str
    launch: int
    time_us: float
    limit_us: float = 0
    join_us: float = 0


COLUMNS = [field.name for field in fields(Measurement)]
COLUMNS += [field.name for field in fields(Record)][1:]


def write_csv(path, facts, records):
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {fact}\n" for fact in facts)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for record in records:
            writer.writerow([*astuple(record.measurement), *astuple(record)[1:]])


def read_csv(path):
    """The facts and the records of an earlier comparison."""
    lines = path.read_text(encoding="utf-8").splitlines()
    facts = [line[2:] for line in lines if line.startswith("# ")]
    records = []
    try:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            call, path, ranks, size, buffers, contender, launch, *times = (row[name] for name in COLUMNS)
            measurement = Measurement(call, path, int(ranks), int(size), buffers)
            records.append(Record(measurement, contender, int(launch), *map(float, times)))
    except (KeyError, TypeError, ValueError) as reason:
        raise Unreadable(f"this is not what --csv writes: {reason!r}") from None
    return facts, records


def is_ours(contender):
    return contender.split()[0] in ("ring", UNDISTURBED)


def is_peer(contender):
    return not is_ours(contender)


@dataclass(frozen=True)
class Outcome:
    """The result of all launches for one cell."""

    cell: Cell
    times: dict  # microseconds of every launch, by contender: ours first
    percent: float | None  # of the limit, median
    join_us: float | None  # the part of our time in which ranks met
    ratio: float | None  # how many times as fast as the best peer we are
    interval: tuple | None  # of that ratio, 95 %
    limit_ratio: float | None  # how many times as fast as the best peer a call would be that takes the limit's time
    limit_interval: tuple | None

    def time_us(self):
        return median(next(iter(self.times.values())))

    def is_missed_at_limit(self):
        """Whether a call that takes the limit's time would miss the ratio, too. A limit that we beat is none."""
        wanted = self.cell.wanted.ratio
        if wanted is None or self.limit_interval is None or self.percent > 100:
            return False
        return self.limit_interval[0] < wanted

    def is_undecided(self):
        """Whether the target may be reached or not: the interval of the ratio contains it."""
        wanted = self.cell.wanted.ratio
        return wanted is not None and self.interval is not None and self.interval[0] < wanted <= self.interval[1]

    def is_met(self):
        """Whether all targets of the cell are met; a ratio counts by the lower end of its interval."""
        wanted = self.cell.wanted
        good = [wanted.most_ms is None or self.time_us() <= 1e3 * wanted.most_ms]
        if wanted.ratio is not None:
            good.append(self.interval is not None and self.interval[0] >= wanted.ratio)
        if wanted.percent is not None:
            good.append(self.percent is not None and self.percent >= wanted.percent)
        if wanted.most_times is not None:
            good.append(self.time_us() <= wanted.most_times * median(self.times[UNDISTURBED]))
        return all(good)


def outcome_of(cell, records, seed):
    """The outcome of a cell; None if it was not measured."""
    launches = {}
    for record in records:
        if record.measurement == cell.measurement:
            launches.setdefault(record.contender, []).append(record)
    mine = launches.get(cell.contender())
    if not mine:
        return None
    times = {cell.contender(): [record.time_us for record in mine]}
    for name, theirs in launches.items():
        if name.split()[0] != "ring" and len(theirs) == len(mine):  # else it failed in one
            times[name] = [record.time_us for record in theirs]
    first = times[cell.contender()]
    peers = [values for name, values in times.items() if is_peer(name)]
    limits = [record.limit_us for record in mine]
    shares = [100 * record.limit_us / record.time_us for record in mine]
    bounded = peers and all(limits)
    return Outcome(
        cell=cell,
        times=times,
        percent=median(shares) if all(shares) else None,
        join_us=median(record.join_us for record in mine) or None,
        ratio=figures.ratio(first, peers) if peers else None,
        interval=figures.interval(first, peers, seed) if peers else None,
        limit_ratio=figures.ratio(limits, peers) if bounded else None,
        limit_interval=figures.interval(limits, peers, seed) if bounded else None,
    )
