# SPDX-License-Identifier: MIT
"""Ranks for tests: forked from a process that has imported torch, each with a deadline, all reaped."""

import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

torch.set_num_threads(1)
TIMEOUT = timedelta(seconds=60)


class Died(Exception):
    """What a rank ended with: an exception's text, or a signal."""


def init(rank, size, path, backend="ring", timeout=TIMEOUT):
    store = dist.FileStore(os.path.join(path, "store"), size)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)


def _child(rank, size, path, body, args, options, out):
    status = 0
    try:
        init(rank, size, path, **options)
        answer = ("ok", body(rank, size, *args))
        if dist.is_initialized():
            dist.destroy_process_group()
    except BaseException as error:
        answer = ("raised", f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        status = 1
    with os.fdopen(out, "wb") as pipe:
        pipe.write(pickle.dumps(answer))
    sys.stdout.flush()
    os._exit(status)


def outcomes(size, body, *args, seconds=60, on_start=None, **options):
    """Runs body(rank, size, *args) in `size` ranks. Returns ("ok", value), ("raised", text) or ("died", text) of each."""
    with tempfile.TemporaryDirectory() as path:
        pids, pipes = [], []
        for rank in range(size):
            reads, writes = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reads)
                _child(rank, size, path, body, args, options, writes)
            os.close(writes)
            pids.append(pid)
            pipes.append(reads)
        if on_start:
            on_start(pids)
        return _reap(pids, pipes, time.monotonic() + seconds)


def _reap(pids, pipes, deadline):
    left = dict(enumerate(pids))
    ends = {}
    while left:
        for rank, pid in list(left.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ends[rank] = status
                del left[rank]
        if time.monotonic() > deadline:
            for pid in left.values():
                os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.005)
    found = []
    for rank, pipe in enumerate(pipes):
        with os.fdopen(pipe, "rb") as file:
            text = file.read()
        found.append(pickle.loads(text) if text else ("died", f"status {ends[rank]}"))
    return found


def run(size, body, *args, **options):
    """As outcomes(), but all must end well. Returns their values."""
    ends = outcomes(size, body, *args, **options)
    for rank, (kind, value) in enumerate(ends):
        if kind != "ok":
            raise Died(f"rank {rank} of {size} in {body.__name__}: {kind}: {value}")
    return [value for _, value in ends]


def main(cases):
    """Runs the cases, or those named by arguments; prints a line for each, and ends with their status."""
    failures, me = 0, os.getpid()
    for name, case in cases.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        began = time.monotonic()
        try:
            said = case() or ""
            print(f"ok   {name} ({time.monotonic() - began:.1f} s) {said}", flush=True)
        except BaseException as error:
            if os.getpid() != me:
                raise  # a case's own process ends
            failures += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
            if not isinstance(error, Died):
                traceback.print_exc(file=sys.stdout)
    sys.exit(failures != 0)
