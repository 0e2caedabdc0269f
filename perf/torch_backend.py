# SPDX-License-Identifier: MIT
"""Measures "ring" beside gloo in one job, in turns, and what a call costs before it reaches the library.

    torchrun --nproc-per-node=2 perf/torch_backend.py

Medians, and in brackets the least and the most. Use a machine that is otherwise idle.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))

from built import NotBuilt, build_folder
from torch_models import Gpt

SIZES = {"8 B": 8, "64 KiB": 64 << 10, "1 MiB": 1 << 20, "25 MiB": 25 << 20}
GPT = {"activation": "relu", "vocabulary": 65, "context": 64, "biases": True, "tied": False, "dropout": 0}
MODELS = {  # shape, examples of a rank in a step, steps of a turn
    "seed000, 0.8 M floats": ({**GPT, "layers": 4, "width": 128, "heads": 4, "split_heads": True}, 8, 10),
    "GPT, 25 M floats": ({**GPT, "layers": 8, "width": 512, "heads": 8, "split_heads": False}, 1, 3),
}
TURNS = 5
torch.set_num_threads(1)


def seconds(step, times):
    """Of one step, by the slowest rank."""
    step()
    dist.barrier()
    began = time.perf_counter()
    for _ in range(times):
        step()
    took = torch.tensor([(time.perf_counter() - began) / times])
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def reducing(size, group):
    tensor = torch.ones(size // 4)
    return lambda: dist.all_reduce(tensor, group=group)


def training(shape, batch, group):
    torch.manual_seed(1)
    model = Gpt(shape)
    for parameter in (model.tokens, model.positions):
        torch.nn.init.normal_(parameter, std=0.02)
    model = DDP(model, process_group=group)
    optimizer = torch.optim.AdamW(model.parameters())
    text = torch.randint(0, shape["vocabulary"], (batch, shape["context"] + 1))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        optimizer.step()

    step()  # PyTorch rebuilds its buckets after the first
    return step


def say(name, columns):
    if dist.get_rank() == 0:
        print(f"{name:>28}" + "".join(f"{column:>34}" for column in columns), flush=True)


def spread(found):
    return f"{statistics.median(found) * 1e6:.1f} [{min(found) * 1e6:.1f}..{max(found) * 1e6:.1f}]"


def measure(name, make, times, groups):
    steps = {backend: make(group) for backend, group in groups.items()}
    found = {backend: [] for backend in groups}
    for _ in range(TURNS):
        for backend, step in steps.items():
            found[backend].append(seconds(step, times))
    ratio = statistics.median(found["gloo"]) / statistics.median(found["ring"])
    say(name, [spread(found["ring"]), spread(found["gloo"]), f"{ratio:.2f}"])


def measure_library():
    """What ring_perf says of the library's own call on 8 B, which waits here as the backend lets it wait."""
    try:
        folder = build_folder("perf/ring_perf")
    except NotBuilt as reason:
        return str(reason)
    launcher = ("RANK", "WORLD_SIZE", "LOCAL_", "GROUP_", "ROLE_", "MASTER_", "TORCHELASTIC_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(launcher)}
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "result")
        command = ["perf/ring_perf", "--ranks", os.environ["WORLD_SIZE"], "--sizes", "8", "--in-place", "--json", file]
        subprocess.run(command, cwd=folder, env={"RING_SPINS": "0", **own}, check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as result:
            times = json.load(result)["results"][0]["in_place"]
    return f"{times['time']:.1f} [{times['min_us']:.1f}..{times['max_us']:.1f}]"


def alone(backend):
    """A group of this rank only: nothing is exchanged."""
    return [dist.new_group([rank], backend=backend) for rank in range(dist.get_world_size())][dist.get_rank()]


def main():
    library = measure_library() if os.environ["RANK"] == "0" else None  # others wait without a CPU meanwhile
    dist.init_process_group("ring")
    groups = {"ring": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    say(f"{dist.get_world_size()} ranks, torch {torch.__version__}", ["ring, us", "gloo, us", "gloo/ring"])
    for name, size in SIZES.items():
        measure(f"all_reduce {name}", lambda group: reducing(size, group), max(3, min(2000, (16 << 20) // size)), groups)
    say("8 B, ring_perf", [library])
    measure("8 B, a group of one", lambda group: reducing(8, group), 2000, {name: alone(name) for name in groups})
    for name, (shape, batch, times) in MODELS.items():
        measure(f"DDP, {name}", lambda group: training(shape, batch, group), times, groups)
    dist.destroy_process_group()


main()
