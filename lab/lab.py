# SPDX-License-Identifier: MIT
"""What an experiment needs: programs to run, a folder for their files, and numbers to note."""

import re
import tempfile
from collections import namedtuple
from pathlib import Path
from statistics import mean

import files
import programs
import record

CPU = "cpu"

# source is the command that measured it, or the formula
Number = namedtuple("Number", "value unit source")

# title, unit of y, {name: [(x, y), ...]}; bars have texts for x
Chart = namedtuple("Chart", "kind title x_label y_label series", defaults=({},))


# Steps that only show whether there is such a device.
TINY = ("--preset", "lab", "--layers", 1, "--width", 1, "--inputs", 1, "--outputs", 2, "--batch", 1,
        "--steps", record.SKIPPED + 1, "--evaluate", 0)


def find_device(device):
    """The name of the device that ring_train finds, and of what multiplies matrices there. Raises
    programs.Failed if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.jsonl"
        programs.run("ring_train", "--device", device, *TINY, "--json", path)
        return record.read(path).run["matmul"]


class Lab:
    """One article's experiment. short: only enough to show that it works. device: where ring_train
    trains, and where ring_perf's buffers lie."""

    def __init__(self, folder, short, device, say):
        self.folder, self.short, self.device, self.say = folder, short, device, say
        self.numbers, self.charts, self.commands = {}, [], []
        self.busy, self.runs = [], 0  # names of disturbed runs of the trainer; how many runs
        files.make_own_folder(self.folder)

    def pick(self, short, full):
        return short if self.short else full

    def note(self, name, value, unit, source):
        self.numbers[name] = Number(value, unit, source)
        return value

    def chart(self, kind, title, x_label, y_label, series):
        self.charts.append(Chart(kind, title, x_label, y_label, series))

    def run(self, name, *arguments, variables=None):
        shown = programs.command_line((name, *arguments), variables or {}).replace(
            f"{self.folder}/", ""
        )
        self.say(shown)
        self.commands.append(shown)
        return programs.run(name, *arguments, variables=variables)

    def on_device(self, *arguments):
        """Options of a program for the device, and with it these."""
        return () if self.device == CPU else ("--device", self.device, *arguments)

    # ---- the trainer

    def train(self, name, ranks, *arguments, steps=None):
        """Runs ring_train. Returns its record."""
        path = self.folder / f"{name}.jsonl"
        hashes = () if "--hash-every" in arguments else ("--hash-every", 0)
        length = ("--steps", steps or self.pick(8, 20), "--evaluate", 0, *hashes)
        self.run("ring_train", "-n", ranks, *arguments, *length, *self.on_device(), "--json", path)
        result = record.read(path)
        self.runs += 1
        if result.summary.get("machine_is_busy"):
            self.busy.append(name)
        self.note("busy_share", len(self.busy) / self.runs, "",
                  "runs of ring_train that other programs disturbed / all runs")
        return result

    def in_turns(self, runs):
        """Makes runs to compare; each name has ranks and arguments. In the full form each runs
        three times, in turns, because a machine's speed changes; the run with the median step
        counts."""
        repeats = self.pick(1, 3)
        done = {name: [] for name in runs}
        for repeat in range(repeats):
            for name, run in runs.items():
                done[name].append(self.train(f"{name}.{repeat}" if repeats > 1 else name, *run))
        return {name: middle_of(results) for name, results in done.items()}

    def note_step(self, name, result):
        """Notes a run's median step; the mean would show other programs' work."""
        return self.note(
            name,
            result.summary["step_median_ms"],
            "ms",
            f"median over steps of the slowest rank, {result.path.name}",
        )

    # ---- tables of ring_model

    def table(self, *arguments):
        """The rows of a table of ring_model, as lists of numbers."""
        rows = []
        for line in self.run("ring_model", *arguments).splitlines():
            if line.startswith("#") or not line.strip():
                continue
            words = re.sub(r"(\d) (B|[KMGT]iB)\b", r"\1\2", line).split()
            rows.append(
                [float(word) if re.fullmatch(r"[-+0-9.e]+", word) else word for word in words]
            )
        return rows

    def ddp(self, *arguments):
        """The predictions of ring_model ddp, by number of ranks."""
        names = ("communication", "sum", "max", "event", "exposed", "eff_sum", "eff_max", "eff")
        return {int(row[0]): dict(zip(names, row[1:])) for row in self.table("ddp", *arguments)}

    def plan(self, *arguments):
        """The numbers of tensors and buckets, and all lines, of ring_train --plan-only."""
        lines = self.run("ring_train", *arguments, "--plan-only").splitlines()
        tensors, buckets = map(int, re.findall(r"\d+", lines[-1]))
        return tensors, buckets, lines

    def sent_share(self, call, ranks):
        """The bytes that the busiest rank sent, counted by its links / those of the vector."""
        path = self.folder / f"{call}-{ranks}.json"
        # divides into blocks of whole elements for up to 8 ranks
        self.run(
            "ring_perf",
            "--ranks",
            ranks,
            "--collective",
            call,
            "--sizes",
            840 * 1024,
            "-n",
            1,
            "-w",
            0,
            "--in-place",
            *self.on_device("--ranks-per-gpu", ranks),
            "--json",
            path,
            variables={"RING_ALGORITHM": "ring"},
        )
        row = files.read_json(path)["results"][0]
        return row["in_place"]["sent_bytes_most"] / row["size"]

    def steps(self, ranks):
        """What ring_steps writes about a ring's all-reduce."""
        path = self.folder / f"steps-{ranks}.json"
        self.run("ring_steps", "-n", ranks, "--algorithm", "ring", "--json", path)
        return files.read_json(path)


def middle_of(results):
    by_step = sorted(results, key=lambda result: result.summary["step_median_ms"])
    return by_step[len(results) // 2]


def mean_of(result, name, ranks=None):
    return mean(
        result.mean(rank, name) for rank in (range(result.ranks) if ranks is None else ranks)
    )
