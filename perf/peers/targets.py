# SPDX-License-Identifier: MIT
"""Reads perf/targets, the table of what is measured and of its targets."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BUFFERS = ("hot", "fresh")
QUICK_BYTES = 1 << 20


def parse_size(text):
    """ "64K" is 65536."""
    if text[-1] in UNITS:
        return int(float(text[:-1]) * UNITS[text[-1]])
    return int(text)


def size_name(size):
    for unit in "GMK":
        if size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]} {unit}iB"
    return f"{size} B"


@dataclass(frozen=True)
class Wanted:
    """The targets of a cell for one kind of buffers; None: no such target."""

    ratio: float | None = None  # at least, to the best peer
    percent: float | None = None  # at least, of the limit
    most_ms: float | None = None
    most_times: float | None = None  # the undisturbed time

    def __str__(self):
        parts = [
            f">= {self.ratio:g}" if self.ratio is not None else "",
            f">= {self.percent:g} %" if self.percent is not None else "",
            f"<= {self.most_ms:g} ms" if self.most_ms is not None else "",
            f"<= {self.most_times:g}x" if self.most_times is not None else "",
        ]
        return ", ".join(filter(None, parts))


def parse_cell(text):
    """The targets for hot and for fresh buffers; None if the cell is not measured."""
    if text == "-":
        return None
    wanted = [{}, {}]
    for part in text.split(","):
        for kind, value in zip(wanted, (part.split("/") * 2)[:2]):
            if value.endswith("%"):
                kind["percent"] = float(value[:-1])
            elif value.startswith("<") and value.endswith("ms"):
                kind["most_ms"] = float(value[1:-2])
            elif value.startswith("<") and value.endswith("x"):
                kind["most_times"] = float(value[1:-1])
            else:
                kind["ratio"] = float(value)
    return {buffers: Wanted(**kind) for buffers, kind in zip(BUFFERS, wanted)}


def are_hosts(path):
    """Whether each rank has its own host. The name of such a path is the speed of the links."""
    return path.endswith("bit")


@dataclass(frozen=True)
class Measurement:
    """One measurement, which several contenders make in turn."""

    call: str
    path: str
    ranks: int
    size: int
    buffers: str

    def series(self):
        """What measurements of the same launches have in common."""
        return self.call, self.path, self.ranks

    def is_quick(self):
        """Whether measuring takes hardly longer than starting the ranks."""
        return self.size <= QUICK_BYTES and self.call != "start" and not are_hosts(self.path)

    def bus_bytes(self):
        """The bytes that the busiest rank sends, as in ring_perf."""
        others = (self.ranks - 1) / self.ranks
        shares = {"broadcast": 1, "reduce_scatter": others, "all_gather": others, "all_to_all": others}
        return self.size * shares.get(self.call, 2 * others)


@dataclass(frozen=True)
class Cell:
    """A measurement as one row of the table asks for it."""

    row: str
    memory: str
    measurement: Measurement
    wanted: Wanted

    def contender(self):
        """The name of this library with that memory."""
        return "ring" if self.memory == "private" else f"ring {self.memory}"


def cells_of(words, sizes):
    """All cells of one line of the table."""
    row, call, path, ranks, memory, *texts = words
    for size, text in zip(sizes, texts):
        for buffers, wanted in (parse_cell(text) or {}).items():
            if buffers == "hot" or call not in ("start", "busy"):
                yield Cell(row, memory, Measurement(call, path, int(ranks), size, buffers), wanted)


def read(path, rows="*", sizes=None):
    """The cells of rows that match one of the patterns, of all sizes or of those given."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    lines = [words for words in lines if words and not words[0].startswith("#")]
    columns = [parse_size(word) for word in lines[0][5:]]
    cells = []
    for words in lines[1:]:
        if any(fnmatch(words[0], pattern) for pattern in rows.split()):
            cells += cells_of(words, columns)
    return [cell for cell in cells if not sizes or cell.measurement.size in sizes]
