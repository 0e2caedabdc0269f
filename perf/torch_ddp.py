#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains what ring_train --export wrote, with PyTorch's DistributedDataParallel over gloo.

It has the same parameters, the same examples in the same order, the same optimizer and the same bucket
caps. The record has the form of ring_train's --json, with one difference: backward_ms includes
ring_train's blocked_ms, because PyTorch's backward returns once gradients are averaged. Every other step
is a "control": it exchanges gradients only after its backward, and that is not timed.
"""

import argparse
import contextlib
import datetime
import inspect
import json
import os
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch and its BLAS are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from torch_models import Beginning, make_model

ALONE_REPEATS = 11
USUAL_BUCKET_BYTES = 25 * 2**20


def blas():
    """The file that torch multiplies matrices with, once it has done so; "built in" if none."""
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps", encoding="ascii") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    names = ("libblas", "libopenblas", "libmkl", "libblis")  # the first is Debian's name for any BLAS
    found = [path for name in names for path in paths if os.path.basename(path).startswith(name)]
    return found[0] if found else "built in"


class Examples:
    """A rank's share of every step: each N-th example of the global batch, as in the trainer's sampler."""

    def __init__(self, beginning, rank, ranks):
        inputs = "features" if beginning.facts["shape"]["kind"] == "mlp" else "tokens"
        self.inputs, self.targets = beginning.arrays[inputs], beginning.arrays["targets"]
        self.rank, self.ranks = rank, ranks

    def load(self, step):
        inputs = torch.from_numpy(self.inputs[step, self.rank :: self.ranks].copy())
        targets = torch.from_numpy(self.targets[step, self.rank :: self.ranks].copy())
        return inputs, targets.long().flatten()


def make_optimizer(model, recipe):
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": recipe["decay"]},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    if recipe["kind"] == "adamw":
        betas = recipe["beta1"], recipe["beta2"]
        return torch.optim.AdamW(groups, recipe["rate"], betas, recipe["epsilon"])
    if recipe["decay"] != 0:
        raise SystemExit("torch.optim.SGD adds decay to gradients, ring_train does not")
    return torch.optim.SGD(groups, recipe["rate"], recipe["momentum"])


def bucket_caps(first, others):
    """
    The arguments by which this version of torch gets both caps, which are in bytes. Some versions have only one
    cap and use it for the first bucket, too; then compare_torch says that buckets differ.
    """
    known = inspect.signature(DistributedDataParallel).parameters
    if "bucket_cap_mb_list" in known:
        return {"bucket_cap_mb_list": [first / 2**20, others / 2**20]}
    dist._DEFAULT_FIRST_BUCKET_BYTES = first
    if others == USUAL_BUCKET_BYTES:
        return {"bucket_cap_mb": known["bucket_cap_mb"].default}
    return {"bucket_cap_mb": others / 2**20}


class Rank:
    """One rank's training."""

    def __init__(self, options, rank):
        beginning = Beginning(options.beginning)
        self.facts = beginning.facts
        self.planned = beginning.bucket_bytes()
        self.zeroes_in_place = options.bucket_view
        self.examples = Examples(beginning, rank, options.ranks)
        self.rates = beginning.arrays["rates"]
        self.module = make_model(beginning)
        self.optimizer = make_optimizer(self.module, self.facts["optimizer"])
        self.ddp = DistributedDataParallel(
            self.module,
            gradient_as_bucket_view=options.bucket_view,
            **bucket_caps(self.facts["first_bucket_bytes"], self.facts["bucket_bytes"]),
        )

    def apply_gradients(self, step):
        clip = self.facts["optimizer"]["clip"]
        if clip > 0:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), clip)
        for group in self.optimizer.param_groups:
            group["lr"] = float(self.rates[step])
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=not self.zeroes_in_place)

    def average_gradients(self):
        for parameter in self.module.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()

    def do_step(self, step, control):
        """Returns the seconds of each part, and the loss of this rank's examples."""
        times = [time.monotonic()]
        inputs, targets = self.examples.load(step)
        times.append(time.monotonic())
        with self.ddp.no_sync() if control else contextlib.nullcontext():
            logits = self.ddp(inputs)
            loss = F.cross_entropy(logits.flatten(0, -2), targets)
            times.append(time.monotonic())
            loss.backward()
        times.append(time.monotonic())
        parts = dict(zip(("data", "forward", "backward"), durations(times)))
        if control:
            self.average_gradients()
        begin = time.monotonic()
        self.apply_gradients(step)
        parts["optimizer"] = time.monotonic() - begin
        return {"step": sum(parts.values()), **parts}, loss.item()

    def train(self):
        records = []
        for step in range(self.facts["steps"]):
            control = step % 2 == 0
            seconds, loss = self.do_step(step, control)
            times = {name + "_ms": 1e3 * value for name, value in seconds.items()}
            kind = "control" if control else "step"
            records.append({"record": kind, "step": step + 1, **times, "loss": loss})
        return records

    def buckets(self):
        """The bytes of the buckets, as torch rebuilt them in the second step."""
        sizes = self.ddp._get_ddp_logging_data().get("rebuilt_bucket_sizes", "")
        return [int(size) for size in sizes.split(",") if size.strip()]


def durations(times):
    return [end - begin for begin, end in zip(times, times[1:])]


def median(values):
    return sorted(values)[len(values) // 2]


def measure_alone(bucket_bytes):
    """Seconds of one step's all-reduces alone, on the slowest rank; a median."""
    buckets = [torch.zeros(size // 4) for size in bucket_bytes]
    seconds = []
    for _ in range(ALONE_REPEATS):
        dist.barrier()
        begin = time.monotonic()
        calls = [dist.all_reduce(bucket, async_op=True) for bucket in buckets]
        for call in calls:
            call.wait()
        seconds.append(time.monotonic() - begin)
    slowest = torch.tensor(seconds)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return median(slowest.tolist())


def write_record(options, rank, all_steps, alone):
    """Writes what ring_train's --json has: a line for the run, one for each step and rank, a summary."""
    facts = rank.facts
    run = {
        "record": "run",
        "preset": facts["preset"],
        "ranks": options.ranks,
        "global_batch": facts["global_batch"],
        "torch": torch.__version__,
        "matmul": blas(),
        "bucket_view": options.bucket_view,
        "planned_buckets": rank.planned,
        "buckets": rank.buckets(),
    }
    with open(options.json, "w", encoding="ascii") as out:
        print(json.dumps(run), file=out)
        for steps in zip(*all_steps):
            loss = sum(step["loss"] for step in steps) / len(steps)
            for number, step in enumerate(steps):
                print(json.dumps({**step, "rank": number, "loss": loss}), file=out)
        summary = {"record": "summary", "comm_alone_ms": alone and 1e3 * alone}
        print(json.dumps(summary), file=out)


def run_rank(number, options, store):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=number,
        world_size=options.ranks,
        timeout=datetime.timedelta(seconds=options.timeout),
    )
    rank = Rank(options, number)
    steps = rank.train()
    alone = measure_alone(rank.planned) if options.ranks > 1 else None
    all_steps = [None] * options.ranks
    dist.all_gather_object(all_steps, steps)
    if number == 0:
        write_record(options, rank, all_steps, alone)
    dist.barrier()
    # Runs no destructors: in torch 1.13 one of them may wait for gloo's threads for ever, while it
    # holds the interpreter's lock that a thread waits for.
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("beginning", help="what ring_train --export wrote")
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--bucket-view", action="store_true",
                        help="use gradient_as_bucket_view=True, which saves copies")
    parser.add_argument("--json", default="/dev/stdout", metavar="FILE")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each exchange")
    options = parser.parse_args()
    batch = Beginning(options.beginning).facts["global_batch"]
    if batch % options.ranks != 0:
        sys.exit(f"torch_ddp: a global batch of {batch} does not divide by {options.ranks} ranks")
    with tempfile.TemporaryDirectory() as folder:
        arguments = options, os.path.join(folder, "store")
        # Forks, because the locks of spawned processes are files in /dev/shm, which outlive a kill.
        multiprocessing.start_processes(run_rank, arguments, options.ranks, start_method="fork")


if __name__ == "__main__":
    main()
