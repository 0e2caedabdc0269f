# SPDX-License-Identifier: MIT
"""Who takes part in a measurement, and how each is measured once."""

import csv
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from launching import Failed, run, started
from peers import on_hosts
from targets import are_hosts

CHECK_S = 300  # of one in which ring_perf compares every element
HERE = Path(__file__).parent
TYPES = ("half", "bfloat16")

# Runs a command where loopback is the only network and has reno.
RENO_NETWORK = (
    'ip link set lo up && echo reno >/proc/sys/net/ipv4/tcp_congestion_control && exec "$@"'
)


def system_congestion():
    return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="utf-8").strip()


def network(path):
    """What to write before a command for this path, so that it runs in the right network."""
    if path != "tcp-reno" or system_congestion() == "reno":
        return []
    return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--net", "sh", "-c", RENO_NETWORK, "sh"]


def can_have(path):
    """Whether this path can be had here."""
    command = on_hosts(path, 2) if are_hosts(path) else network(path)
    return subprocess.run([*map(str, command), "true"], capture_output=True, check=False).returncode == 0


def limit_us(measurement, row):
    """The one in ring_perf's row; between hosts, by what one TCP flow carries right after it."""
    if not are_hosts(measurement.path):
        return float(row["limit_us"])
    rate = float(run([*on_hosts(measurement.path, 2), sys.executable, HERE / "flow.py"]))
    return 1e6 * measurement.bus_bytes() / rate


@contextmanager
def busy_cpus():
    """A loop on every CPU, of a program that has nothing to do with the ranks."""
    with ExitStack() as loops:
        for cpu in os.sched_getaffinity(0):
            loop = ["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"]
            loops.enter_context(started(loop))
        yield


def is_crowded(measurement):
    return measurement.ranks > len(os.sched_getaffinity(0))


def samples_of(measurement, quick):
    """How many samples, after how many calls to warm up.

    Where ranks have a CPU each but begin on one, the scheduler needs some milliseconds to see that.
    """
    size, crowded = measurement.size, is_crowded(measurement)
    if quick:
        return 5, 2
    if size < 1 << 20:
        return 40, 10 if crowded else 1000
    if size < 16 << 20:
        return 20, 5 if crowded else 50
    if size < 64 << 20:
        return 10, 2
    return (3, 1) if measurement.ranks * size > 1 << 30 else (5, 1)


def call_of(measurement):
    """The collective that is called."""
    return "all_reduce" if measurement.call in (*TYPES, "busy", "start") else measurement.call


@dataclass(frozen=True)
class Setting:
    """How everything is measured."""

    folder: Path  # for files that nobody keeps
    quick: bool


class RingPerf:
    """This library, as ring_perf measures it."""

    def __init__(self, name="ring", memory="private", datatype="float", op="sum"):
        self.name, self.memory, self.datatype, self.op = name, memory, datatype, op

    def launcher(self, path, ranks):
        if are_hosts(path):
            return [*on_hosts(path, ranks), "perf/ring_perf"]
        transport = "shm" if path == "shm" else "tcp"
        return [*network(path), "perf/ring_perf", "--ranks", ranks, "--transport", transport]

    def measure(self, measurement, launch, setting):
        """The first launch on hot buffers compares every element, but for the most, where it takes minutes."""
        samples, warmup = samples_of(measurement, setting.quick)
        most = measurement.ranks**2 * measurement.size > 1 << 31
        checks = 1 if launch == 0 and measurement.buffers == "hot" and not most else 0
        record = setting.folder / "ring_perf.csv"
        command = self.launcher(measurement.path, measurement.ranks)
        command += ["--collective", call_of(measurement), "-d", self.datatype, "-o", self.op]
        command += ["-b", measurement.size, "-e", measurement.size]
        command += ["-n", samples, "-w", warmup, "-c", checks, "--memory", self.memory]
        command += ["--fresh"] if measurement.buffers == "fresh" else []
        run([*command, "--csv", record], limit_s=CHECK_S)
        with record.open(encoding="utf-8") as file:
            row = list(csv.DictReader(file))[-1]  # in place, if it can be
        return {"time_us": float(row["time_us"]), "limit_us": limit_us(measurement, row)}


class Driver:
    """A library by its driver."""

    def __init__(self, peer, algorithm=""):
        self.name = f"{peer.name} {algorithm}".strip()
        self.peer, self.algorithm = peer, algorithm

    def drive(self, measurement, arguments):
        """Runs the driver; the one row that it writes."""
        launcher, variables = self.peer.launcher(measurement.path, measurement.ranks)
        command = [*network(measurement.path), *launcher, self.peer.driver(), *arguments]
        return next(csv.DictReader(run(command, variables).splitlines()))

    def measure_start(self, measurement):
        row = self.drive(measurement, ["first", time.monotonic()])
        return {"time_us": 1e3 * float(row["first_ms"]), "join_us": 1e3 * float(row["join_ms"])}

    def measure(self, measurement, launch, setting):
        if measurement.call == "start":
            return self.measure_start(measurement)
        samples = samples_of(measurement, setting.quick)
        arguments = ["time", call_of(measurement), measurement.size, measurement.buffers, *samples]
        row = self.drive(measurement, [*arguments, self.algorithm])
        if row["nwrong"] != "0":
            raise Failed(f"{self.name}: {row['nwrong']} wrong elements in {measurement}")
        return {"time_us": float(row["time_us"])}


class Beside:
    """A contender beside a busy loop on every CPU."""

    def __init__(self, contender):
        self.name, self.contender = contender.name, contender

    def measure(self, measurement, launch, setting):
        with busy_cpus():
            return self.contender.measure(measurement, launch, setting)


def drivers(peers, path, call):
    """Every algorithm of every peer that there is on this path."""
    for peer in peers:
        if path in peer.paths:
            for algorithm in peer.algorithms.get(call, ("",)):
                yield Driver(peer, algorithm)


def contenders_for(measurement, memories, ring, peers):
    """Who takes part: this library, with each kind of memory by name, then whom it is compared with."""
    others = list(drivers(peers, measurement.path, call_of(measurement)))
    if measurement.call == "start":
        return [Driver(ring), *(Driver(peer) for peer in peers)]
    if measurement.call == "busy":
        return [Beside(RingPerf()), RingPerf("undisturbed"), *map(Beside, others)]
    if measurement.call in TYPES:
        return [RingPerf(datatype=measurement.call), RingPerf("float")]
    return [*(RingPerf(name, memory) for name, memory in memories.items()), *others]
