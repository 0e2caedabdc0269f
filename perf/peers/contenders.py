# SPDX-License-Identifier: MIT
"""The contenders: how each measures, in one launch, all sizes and kinds of buffers of a series."""

import csv
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from launching import Failed, run, started
from peers import SAVED_US, on_hosts
from targets import BUFFERS, are_hosts

HERE = Path(__file__).parent
TYPES = ("half", "bfloat16")
HEADERS = ("collective,", "ranks,")

# Runs a command in a network of loopback alone, with reno.
RENO_NETWORK = (
    'ip link set lo up && echo reno >/proc/sys/net/ipv4/tcp_congestion_control && exec "$@"'
)


def system_congestion():
    return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="utf-8").strip()


def network(path):
    """The words before a command that run it in the network of this path."""
    if path != "tcp-reno" or system_congestion() == "reno":
        return []
    return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net", "sh", "-c", RENO_NETWORK, "sh"]


def can_have(path):
    """Whether this machine can provide this path."""
    command = on_hosts(path, 2) if are_hosts(path) else network(path)
    return subprocess.run([*map(str, command), "true"], capture_output=True, check=False).returncode == 0


def flow_rate(path):
    """Bytes per second that one TCP flow carries between hosts."""
    return float(run([*on_hosts(path, 2), sys.executable, HERE / "flow.py"]))


def rest_s(path):
    """The rest before each sample. Links between hosts save up all they can in it, after any library's barrier."""
    return 2e-6 * SAVED_US if are_hosts(path) else 0


def wire_us(measurement, rate):
    """The least time of a call between hosts: that of the bytes that links had not saved up for."""
    return max(0, 1e6 * measurement.bus_bytes() / rate - SAVED_US)


@contextmanager
def busy_cpus():
    """Runs a loop of another program on every CPU."""
    with ExitStack() as loops:
        for cpu in os.sched_getaffinity(0):
            loop = ["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"]
            loops.enter_context(started(loop))
        yield


def checks_of(launch):
    """How many calls of each kind a launch checks: the first launch one."""
    return 1 if launch == 0 else 0


def rows_of(said):
    """The rows of CSV, without a launcher's lines before it and without an incomplete last line."""
    lines = said.splitlines(keepends=True)[: said.count("\n")]
    return csv.DictReader(dropwhile(lambda line: not line.startswith(HEADERS), lines))


def call_of(measurement):
    """The collective that a measurement calls."""
    return "all_reduce" if measurement.call in (*TYPES, "busy", "start") else measurement.call


@dataclass(frozen=True)
class Effort:
    """How much is measured, by the rules of sampling.h."""

    samples: int
    warmup: int  # calls
    seconds: float  # of one size and kind of buffers


EFFORT, QUICK = Effort(40, 5, 0.15), Effort(5, 1, 0.02)


@dataclass(frozen=True)
class Setting:
    """How everything is measured."""

    folder: Path  # for temporary files
    effort: Effort


def sizes_of(measurements):
    return ",".join(str(size) for size in dict.fromkeys(which.size for which in measurements))


def buffers_of(measurements):
    return {which.buffers for which in measurements}


def rows_for(measurements, rows):
    """Pairs of a measurement and its row. Rows are of every size with every kind of buffers, asked for or not."""
    sizes, kinds = dict.fromkeys(which.size for which in measurements), buffers_of(measurements)
    every = [(size, buffers) for size in sizes for buffers in BUFFERS if buffers in kinds]
    asked = {(which.size, which.buffers): which for which in measurements}
    return [(asked[key], row) for key, row in zip(every, rows) if key in asked]


class RingPerf:
    """This library, measured by ring_perf."""

    def __init__(self, name="ring", memory="private", datatype="float", op="sum"):
        self.name, self.memory, self.datatype, self.op = name, memory, datatype, op

    def launcher(self, path, ranks):
        if are_hosts(path):
            return [*on_hosts(path, ranks), "perf/ring_perf"]
        transport = "shm" if path == "shm" else "tcp"
        return [*network(path), "perf/ring_perf", "--ranks", ranks, "--transport", transport]

    def measure(self, measurements, launch, setting):
        first, effort = measurements[0], setting.effort
        record = setting.folder / "ring_perf.csv"
        command = self.launcher(first.path, first.ranks)
        command += ["--collective", call_of(first), "-d", self.datatype, "-o", self.op]
        command += ["--sizes", sizes_of(measurements), "--memory", self.memory, "--in-place"]
        command += [f"--{buffers}" for buffers in buffers_of(measurements)]
        command += ["-n", effort.samples, "-w", effort.warmup, "--seconds", effort.seconds]
        command += ["--rest", rest_s(first.path)] if rest_s(first.path) else []
        run([*command, "-c", checks_of(launch), "--csv", record])
        rate = flow_rate(first.path) if are_hosts(first.path) else None
        with record.open(encoding="utf-8") as file:
            for which, row in rows_for(measurements, csv.DictReader(file)):
                limit_us = wire_us(which, rate) if rate else float(row["limit_us"])
                yield which, {"time_us": float(row["time_us"]), "limit_us": limit_us}


class Driver:
    """A library, measured by its driver."""

    def __init__(self, peer, algorithm=""):
        self.name = f"{peer.name} {algorithm}".strip()
        self.peer, self.algorithm = peer, algorithm

    def drive(self, measurement, arguments):
        """Runs the driver. Returns what it writes."""
        launcher, variables = self.peer.launcher(measurement.path, measurement.ranks)
        return run([*network(measurement.path), *launcher, self.peer.driver(), *arguments], variables)

    def measure_start(self, measurement):
        row = next(rows_of(self.drive(measurement, ["first", time.monotonic()])))
        return {"time_us": 1e3 * float(row["first_ms"]), "join_us": 1e3 * float(row["join_ms"])}

    def judge(self, measurements, said):
        for which, row in rows_for(measurements, rows_of(said)):
            if row["nwrong"] != "0":
                raise Failed(f"{self.name}: {row['nwrong']} wrong elements in {which}")
            yield which, {"time_us": float(row["time_us"])}

    def measure(self, measurements, launch, setting):
        first, effort = measurements[0], setting.effort
        if first.call == "start":
            yield first, self.measure_start(first)
            return
        buffers = buffers_of(measurements)
        arguments = ["time", call_of(first), sizes_of(measurements), "both" if len(buffers) > 1 else buffers.pop()]
        arguments += [effort.samples, effort.warmup, effort.seconds, rest_s(first.path), checks_of(launch), self.algorithm]
        try:
            said = self.drive(first, arguments)
        except Failed as failed:  # the results before the failure are good
            yield from self.judge(measurements, failed.said)
            raise
        yield from self.judge(measurements, said)


class Beside:
    """A contender beside a busy loop on every CPU."""

    def __init__(self, contender):
        self.name, self.contender = contender.name, contender

    def measure(self, measurements, launch, setting):
        with busy_cpus():
            yield from self.contender.measure(measurements, launch, setting)


def drivers(peers, path, call):
    """A driver for every algorithm of every peer on this path."""
    for peer in peers:
        if path in peer.paths:
            for algorithm in peer.algorithms.get(call, ("",)):
                yield Driver(peer, algorithm)


def rings_for(cells, every):
    """This library with each kind of memory, and what it measures with it."""
    wanted = {}
    for cell in cells:
        wanted.setdefault((cell.contender(), cell.memory), set()).add(cell.measurement)
    return {RingPerf(*kind): [which for which in every if which in some] for kind, some in wanted.items()}


def contenders_for(cells, ring, peers):
    """The contenders for cells of one series, ours first, and what each measures."""
    every = sorted({cell.measurement for cell in cells}, key=lambda which: (which.size, which.buffers == "fresh"))
    first = every[0]
    others = list(drivers(peers, first.path, call_of(first)))
    if first.call == "start":
        field = [Driver(ring), *(Driver(peer) for peer in peers)]
    elif first.call == "busy":
        field = [Beside(RingPerf()), RingPerf("undisturbed"), *map(Beside, others)]
    elif first.call in TYPES:
        field = [RingPerf(datatype=first.call), RingPerf("float")]
    else:
        return {**rings_for(cells, every), **dict.fromkeys(others, every)}
    return dict.fromkeys(field, every)
