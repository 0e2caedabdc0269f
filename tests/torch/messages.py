# SPDX-License-Identifier: MIT
"""Sends and receives: in any order, with tags, from any source, beside collectives."""

import os
import time

import torch
import torch.distributed as dist

import ranks

LARGE = 4 << 20  # elements; more than links hold


def crossed(rank, size):
    """Both send before they receive, with more than links hold."""
    for _ in range(3):
        outputs = [torch.empty(LARGE // 4) for _ in range(size)]
        works = [dist.isend(torch.full((LARGE // 4,), float(rank)), r) for r in range(size) if r != rank]
        works += [dist.irecv(outputs[r], r) for r in range(size) if r != rank]
        for work in works:
            work.wait()
        for r in range(size):
            assert r == rank or (outputs[r] == r).all()


def circle(rank, size):
    """A message goes around while all reduce something else."""
    to, source = (rank + 1) % size, (rank - 1) % size
    got = torch.empty(LARGE)
    receiving = dist.irecv(got, source)
    reduced = torch.ones(LARGE)
    reducing = dist.all_reduce(reduced, async_op=True)
    sending = dist.isend(torch.full((LARGE,), float(rank)), to)
    for work in (sending, reducing, receiving):
        work.wait()
    assert (got == source).all() and (reduced == size).all()
    assert receiving._source_rank() == source


def tags(rank, size):
    """What is asked for last may have been sent first."""
    if rank == 0:
        for tag in (1, 2, 3, 2):
            dist.send(torch.tensor([10 * tag, tag]), 1, tag=tag)
        dist.send(torch.ones(LARGE), 1, tag=9)
        dist.send(torch.zeros(0), 1, tag=4)
    elif rank == 1:
        found = []
        for tag in (3, 2, 2, 1):
            dist.recv(got := torch.zeros(2, dtype=torch.int64), 0, tag=tag)
            found.append(got.tolist())
        assert found == [[30, 3], [20, 2], [20, 2], [10, 1]], found
        dist.recv(torch.zeros(0), 0, tag=4)
        dist.recv(got := torch.zeros(LARGE), 0, tag=9)
        assert (got == 1).all()


def order(rank, size):
    """Messages of one tag come as they were sent, and each to the receive that was first."""
    if rank == 0:
        works = [dist.isend(torch.tensor([float(i)]), 1) for i in range(100)]
    elif rank == 1:
        got = [torch.empty(1) for _ in range(100)]
        works = [dist.irecv(one, 0) for one in got]
    else:
        return
    for work in works:
        work.wait()
    if rank == 1:
        assert [one.item() for one in got] == list(range(100))


def any_source(rank, size):
    if rank == 0:
        seen = {}
        for _ in range(3 * (size - 1)):
            source = dist.recv(got := torch.empty(1), tag=5)
            assert got.item() == source
            seen[source] = seen.get(source, 0) + 1
        assert seen == {r: 3 for r in range(1, size)}, seen
        dist.recv(got := torch.empty(2), 1, tag=6)
        assert got.tolist() == [6, 6]
    else:
        for _ in range(3):
            dist.send(torch.tensor([float(rank)]), 0, tag=5)
        if rank == 1:
            dist.send(torch.tensor([6.0, 6.0]), 0, tag=6)


def batched(rank, size):
    outputs = {r: torch.empty(1000) for r in range(size) if r != rank}
    ops = [dist.P2POp(dist.isend, torch.full((1000,), float(rank)), r) for r in outputs]
    ops += [dist.P2POp(dist.irecv, output, r) for r, output in outputs.items()]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    for r, output in outputs.items():
        assert (output == r).all()
    others = [f"object {rank}", rank]
    if rank == 0:
        dist.send_object_list(others, 1)
    elif rank == 1:
        dist.recv_object_list(got := [None, None], 0)
        assert got == ["object 0", 0]


def strided(rank, size):
    if rank == 0:
        dist.send(torch.arange(12.0).view(3, 4).t(), 1)
    elif rank == 1:
        got = torch.zeros(3, 4).t()
        dist.recv(got, 0)
        assert torch.equal(got, torch.arange(12.0).view(3, 4).t())


def misfits(rank, size):
    """The receiver learns that sizes or types differ; the next message is not concerned."""
    if rank == 0:
        dist.send(torch.ones(3), 1)
        dist.send(torch.ones(2, dtype=torch.int32), 1)
        dist.send(torch.ones(2), 1)
    elif rank == 1:
        for _ in range(2):
            try:
                dist.recv(torch.empty(2), 0)
            except dist.DistBackendError as error:
                assert "rank 0 sent" in str(error), error
            else:
                raise AssertionError("a message that does not fit was taken")
        dist.recv(got := torch.empty(2), 0)
        assert got.tolist() == [1, 1]


def late(rank, size):
    """A receive that nothing comes for ends when wait() says so, and leaves no trace."""
    dist.barrier()
    if rank == 1:
        work = dist.irecv(torch.empty(1), 0, tag=7)
        try:
            work.wait(ranks.timedelta(milliseconds=200))
        except dist.DistBackendError as error:
            assert "was not complete after 200 ms" in str(error), error
        else:
            raise AssertionError("it came")
    dist.barrier()
    if rank == 0:
        dist.send(torch.ones(1), 1, tag=8)
    elif rank == 1:
        dist.recv(got := torch.empty(1), 0, tag=8)
        assert got.item() == 1


def unread(rank, size):
    """What was sent before the sender left can still be received."""
    if rank == 0:
        dist.isend(torch.full((100,), 3.0), 1).wait()
        dist.destroy_process_group()
    elif rank == 1:
        dist.recv(first := torch.empty(100), 0)
        assert (first == 3).all()
        try:
            dist.recv(torch.empty(1), 0)
        except dist.DistBackendError as error:
            assert "rank 0" in str(error), error
        else:
            raise AssertionError("rank 0 had left")


def unheard(rank, size):
    """A rank leaves, though messages that nobody reads leave no room for its goodbye."""
    store = dist.distributed_c10d._get_default_store()
    for name in ("measured", "full"):
        group = dist.new_group([0, 1])
        if rank == 0:
            dist.send(torch.ones(1), 1, group)
            works = [dist.isend(torch.ones(0), 1, group, tag=1) for _ in range(fit if name == "full" else 100)]
            time.sleep(0.5)
            fit = sum(work.is_completed() for work in works)
        elif rank == 1:
            dist.recv(torch.empty(1), 0, group)
    if rank == 0:
        assert 0 < fit < 100
        dist.destroy_process_group()
        store.set("left", "")
    for _ in range(100):
        if store.check(["left"]):
            return
        time.sleep(0.1)
    raise AssertionError("rank 0 waits for as long as the others are there")


def forgotten(rank, size):
    """A rank leaves while a receive waits for one that never sends, though the file by which they would meet is gone."""
    if rank == 1:
        dist.irecv(torch.empty(1), 0)
    dist.barrier()
    store = dist.distributed_c10d._get_default_store()
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    if rank == 0:
        os.remove(store.path)
    dist.barrier()
    began = time.monotonic()
    dist.destroy_process_group()
    assert time.monotonic() - began < 30


def connections(port):
    """To a port here, of all ranks."""
    lines = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/self/net/{name}", encoding="ascii") as file:
            lines += [line.split() for line in file]
    return sum(line[2].endswith(f":{port:04X}") and line[3] == "01" for line in lines)


def released(rank, size):
    """Ranks that have met for messages keep no connection to the store."""
    files = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True)
        files.set("port", str(store.port))
    else:
        store = dist.TCPStore("127.0.0.1", int(files.get("port")))
    dist.destroy_process_group()
    dist.init_process_group("ring", store=store, rank=rank, world_size=size, timeout=ranks.TIMEOUT)
    dist.barrier()
    before = connections(store.port)
    dist.barrier()
    batched(rank, size)
    for _ in range(100):
        if connections(store.port) == before:
            break
        time.sleep(0.1)
    assert connections(store.port) == before > 0, f"{before} connections to the store, then {connections(store.port)}"
    dist.barrier()  # rank 0 serves the store


def every(body, sizes=(2, 3)):
    def case():
        for size in sizes:
            ranks.run(size, body)

    return case


ranks.main({
    body.__name__: every(body)
    for body in (crossed, circle, tags, order, any_source, batched, strided, misfits, late, unread, unheard, forgotten, released)
})
