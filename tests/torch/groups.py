# SPDX-License-Identifier: MIT
"""The life of process groups: made in any order, ended in any order, beside forks, threads and launchers."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.utils.data import DataLoader, TensorDataset

import ranks


def reduced(value, group=None):
    dist.all_reduce(tensor := torch.tensor([float(value)]), group=group)
    return tensor.item()


def found(rank, size):
    """By its entry point, as nobody imported torch_ring."""
    assert dist.get_backend() == "ring" and dist.get_world_size() == size
    assert dist.group.WORLD._get_backend(torch.device("cpu")).name() == "ring"


def subgroups(rank, size):
    whole = dist.new_group()
    pairs = [dist.new_group([r, (r + 1) % size]) for r in range(size)]
    mine = [pairs[r] for r in range(size) if rank in (r, (r + 1) % size)]
    for work in [dist.all_reduce(torch.ones(1), group=pair, async_op=True) for pair in (mine if rank else reversed(mine))]:
        work.wait()
    assert reduced(rank, whole) == sum(range(size))
    if rank in (0, 1):
        dist.destroy_process_group(pairs[0])
    assert reduced(1) == size


def local(rank, size):
    """A group of which only its members know."""
    if rank < 2:
        assert reduced(rank, dist.new_group([0, 1], use_local_synchronization=True)) == 1
    assert reduced(1) == size


def again(rank, size):
    """The same store, and the same names in it."""
    store = dist.distributed_c10d._get_default_store()
    for _ in range(3):
        assert reduced(1) == size
        dist.destroy_process_group()
        dist.init_process_group("ring", store=store, rank=rank, world_size=size, timeout=ranks.TIMEOUT)
    assert reduced(1) == size


def numbers(rank, size):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    before = backend._get_sequence_number_for_group()
    for _ in range(5):
        reduced(1)
    assert backend._get_sequence_number_for_group() == before + 5


def threads(rank, size):
    """Works are waited for by threads that did not issue them, and futures call back."""
    works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(20)]
    called = []
    future = works[-1].get_future().then(lambda done: called.append(done.value()[0][0].item()))
    waiting = [threading.Thread(target=work.wait) for work in works]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(30)
        assert not thread.is_alive()
    future.wait()
    assert called == [size] and all(work.is_completed() and work.is_success() for work in works)


def own_deadline(rank, size):
    """A deadline of wait() ends the group on all ranks, with a sentence."""
    group = dist.new_group()
    reduced(1, group)
    try:
        if rank == 0:
            dist.all_reduce(torch.ones(1), group=group, async_op=True).wait(timedelta(milliseconds=300))
        else:
            time.sleep(3)
            reduced(1, group)
    except dist.DistBackendError as error:
        assert ("was not complete after 300 ms" if rank == 0 else "rank 0") in str(error), error
    else:
        raise AssertionError("it went on")
    assert reduced(1) == size  # other groups are not concerned


def monitored(rank, size):
    dist.monitored_barrier()
    if rank == size - 1:
        time.sleep(4)
        return
    try:
        dist.monitored_barrier(timeout=timedelta(milliseconds=1500))  # in which all others come
    except dist.DistBackendError as error:
        assert (f"Rank {size - 1} failed to pass" if rank == 0 else "while waiting") in str(error), error
    else:
        raise AssertionError("a rank was missing")


def aborted(rank, size):
    reduced(1)
    if rank == 0:
        time.sleep(0.3)
        dist.distributed_c10d._abort_process_group()
        return
    try:
        reduced(1)
    except dist.DistBackendError as error:
        assert "rank 0" in str(error), error
    else:
        raise AssertionError("rank 0 aborted")


def mismatch(rank, size):
    """Calls that differ are named on every rank."""
    try:
        if rank == 0:
            dist.all_reduce(torch.ones(3))
        else:
            dist.all_reduce(torch.ones(4))
    except dist.DistBackendError as error:
        assert "all_reduce" in str(error), error
    else:
        raise AssertionError("3 and 4 elements were added")


def loaders(rank, size):
    """Processes that load data, forked and spawned, while the group works."""
    data = TensorDataset(torch.arange(64.0))
    for context, workers in (("fork", 2), ("spawn", 1)):
        total = 0.0
        for (batch,) in DataLoader(data, batch_size=8, num_workers=workers, multiprocessing_context=context):
            total += reduced(batch.sum())
        assert total == size * sum(range(64))


def forked(rank, size):
    """A child may not use its parent's group, is told so, and may end as it likes."""
    reduced(1)
    pid = os.fork()
    if pid == 0:
        try:
            reduced(1)
        except ValueError as error:
            ok = "fork" in str(error)
            dist.destroy_process_group()
            os._exit(0 if ok else 3)
        os._exit(4)
    assert ranks.reap([pid], 20) == [0]
    assert reduced(1) == size


# ---- deaths ----


def killed_body(rank, size, victim):
    for step in range(3):
        reduced(step)
    if rank == victim:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    try:
        if rank == (victim + 1) % size and size > 2:
            dist.recv(torch.empty(1), victim)
        else:
            reduced(1)
    except dist.DistBackendError as error:
        return time.monotonic() - began, str(error)
    raise AssertionError("nobody died")


def killed():
    slowest = 0.0
    for size, victim in ((2, 1), (3, 0), (3, 2)):
        ends = ranks.outcomes(size, killed_body, victim)
        for rank, (kind, value) in enumerate(ends):
            if rank == victim:
                assert kind == "died", ends
                continue
            assert kind == "ok", value
            seconds, text = value
            assert f"rank {victim}" in text, text
            slowest = max(slowest, seconds)
    assert slowest < 5.3, f"known after {slowest} s, 0.3 of which it lived"  # a second, and a busy machine's room
    return f"named everywhere within {max(0.0, slowest - 0.3):.2f} s"


def absent():
    """A rank that never makes the group is named when the time is over."""
    def body(rank, size, path):
        store = dist.FileStore(os.path.join(path, "store"), size)
        if rank == size - 1:
            return
        try:
            dist.init_process_group("ring", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=3))
        except dist.DistBackendError as error:
            assert f"had not come: {size - 1}" in str(error), error
        else:
            raise AssertionError("a rank was missing")

    with tempfile.TemporaryDirectory() as path:
        pids = []
        for rank in range(3):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    body(rank, 3, path)
                    status = 0
                finally:
                    os._exit(status)
            pids.append(pid)
        assert ranks.reap(pids) == [0, 0, 0]


# ---- programs ----


def kept_group():
    dist.keeper = dist.group.WORLD  # until modules are taken apart


def exited():
    raise SystemExit(0)


ENDS = {
    "destroyed": dist.destroy_process_group,
    "left": lambda: None,
    "left in the middle": lambda: dist.all_reduce(torch.ones(1), async_op=True) if dist.get_rank() == 0 else None,
    "exited": exited,
    "kept": kept_group,
}


def program(rank, path, end):
    """A whole program: Python ends as it does after the last line."""
    ranks.init(rank, 2, path)
    dist.all_reduce(tensor := torch.ones(4), group=dist.new_group())
    assert (tensor == 2).all()
    if rank == 0:
        dist.isend(torch.ones(1), 1).wait()
    else:
        dist.recv(torch.ones(1), 0)
    end()
    raise SystemExit(0)


def exits():
    """Programs end with status 0, however they end."""
    slowest = 0.0
    for name, end in ENDS.items():
        began = time.monotonic()
        path = tempfile.mkdtemp()  # with no `with`, which children would leave, too: a store waits for its folder
        pids = []
        for rank in range(2):
            pid = os.fork()
            if pid == 0:
                program(rank, path, end)
            pids.append(pid)
        found = ranks.reap(pids)
        shutil.rmtree(path)  # it is still there
        assert found == [0, 0], f"{name}: {found}"
        slowest = max(slowest, time.monotonic() - began)
    return f"the slowest took {slowest:.1f} s"


RESTARTS = """
import faulthandler, os, torch, torch.distributed as dist
faulthandler.dump_traceback_later(45, exit=True)  # torchrun would wait for it
dist.init_process_group("ring")
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
for step in range(5):
    dist.all_reduce(tensor := torch.ones(1))
    if attempt == 0 and step == 2 and dist.get_rank() == 1:
        os.kill(os.getpid(), 9)
os.write(1, f"done {attempt} {tensor.item()}\\n".encode())  # at once, as both ranks write there
dist.destroy_process_group()
"""


def restarts():
    """torchrun starts all ranks again when one was killed, with the same store."""
    with tempfile.TemporaryDirectory() as path:
        name = os.path.join(path, "program.py")
        with open(name, "w", encoding="utf-8") as file:
            file.write(RESTARTS)
        command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
                   "--max-restarts=1", "--monitor-interval=0.1", name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("done 1 2.0") == 2, done.stdout


def every(body, sizes=(2, 3)):
    def case():
        for size in sizes:
            ranks.run(size, body)

    return case


if __name__ == "__main__":
    bodies = (found, subgroups, local, again, numbers, threads, own_deadline, monitored, aborted, mismatch, loaders, forked)
    cases = {body.__name__: every(body) for body in bodies}
    cases["loaders"] = every(loaders, (2,))
    ranks.main({**cases, "killed": killed, "absent": absent, "exits": exits, "restarts": restarts})
