# SPDX-License-Identifier: MIT
"""Ranks for tests: forked from a process that has imported torch, each with a deadline, all reaped."""

import faulthandler
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

torch.set_num_threads(1)
faulthandler.register(signal.SIGTERM, chain=True)  # a process that is ended while it hangs says where, as its children do
TIMEOUT = timedelta(seconds=60)


class Died(Exception):
    """What a rank ended with: an exception's text, or a signal."""


def init(rank, size, path, backend="ring", timeout=TIMEOUT):
    store = dist.FileStore(os.path.join(path, "store"), size)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)


def _child(rank, size, path, body, args, options, out):
    status = 1
    try:
        try:
            init(rank, size, path, **options)
            answer = ("ok", body(rank, size, *args))
            if dist.is_initialized():
                dist.destroy_process_group()
            status = 0
        except BaseException as error:
            answer = ("raised", f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        with os.fdopen(out, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
        sys.stdout.flush()
    finally:
        os._exit(status)  # whatever happens: the callers' frames, and their folders, are the parent's


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
            os.set_blocking(reads, False)  # read when the rank has ended; a process that it has left may still write there
            pids.append(pid)
            pipes.append(reads)
        if on_start:
            on_start(pids)
        return _collect(pipes, reap(pids, seconds))


def reap(pids, seconds=60):
    """Waits for children. Those that hang say where they are, and are ended. Returns the status of each."""
    ends, deadline = {}, time.monotonic() + seconds
    while len(ends) < len(pids):
        for pid in [pid for pid in pids if pid not in ends]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ends[pid] = status
        if time.monotonic() > deadline:
            for rank, pid in enumerate(pids):
                if pid not in ends:
                    print(f"process {pid}, number {rank}, hung for {seconds} s:", file=sys.stderr, flush=True)
                    ends[pid] = _end(pid)
        time.sleep(0.005)
    return [ends[pid] for pid in pids]


def _end(pid):
    """Ends a child that hangs: its threads' places in the kernel and in C, if gdb is there, and then in Python."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        said = []
        for name in ("comm", "wchan", "syscall", "stack"):
            try:
                with open(f"/proc/{pid}/task/{thread}/{name}", encoding="utf-8") as file:
                    said.append(file.read().strip().replace("\n", " < "))
            except OSError:
                pass  # it is not for everybody
        print(f"thread {thread}: {'; '.join(said)}", file=sys.stderr, flush=True)
    if shutil.which("gdb"):
        subprocess.run(["timeout", "60", "gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all backtrace"],
                       stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=subprocess.DEVNULL)
    os.kill(pid, signal.SIGTERM)
    for _ in range(100):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _collect(pipes, ends):
    found = []
    for pipe, end in zip(pipes, ends):
        with os.fdopen(pipe, "rb") as file:
            text = file.read()  # None: nothing
        found.append(pickle.loads(text) if text else ("died", f"status {end}"))
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
