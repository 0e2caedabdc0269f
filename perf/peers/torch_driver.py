# SPDX-License-Identifier: MIT
"""
Gloo as PyTorch's users have it: driver.c measures torch.distributed's calls over TCP, like those of every peer. Ranks
meet in the folder that DRIVER_STORE names; ring_run numbers them.

    python torch_driver.py LIBRARY ARGUMENTS OF driver.c
"""

import ctypes
import os
import sys
import traceback

import torch
import torch.distributed as dist

INT, DOUBLE, SIZE = ctypes.c_int, ctypes.c_double, ctypes.c_size_t
FLOATS = ctypes.POINTER(ctypes.c_float)


class Job(ctypes.Structure):
    """struct job of peer.h."""

    _fields_ = [("collective", ctypes.c_char_p), ("algorithm", ctypes.c_char_p), ("rank", INT), ("size", INT),
                ("count", SIZE), ("part", SIZE), ("data", FLOATS), ("result", FLOATS)]


class Calls(ctypes.Structure):
    """struct calls of torch_driver.c."""

    _fields_ = [("join", ctypes.CFUNCTYPE(None, ctypes.POINTER(INT), ctypes.POINTER(INT))),
                ("barrier", ctypes.CFUNCTYPE(None)),
                ("max", ctypes.CFUNCTYPE(None, ctypes.POINTER(DOUBLE), INT)),
                ("prepare", ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(Job))),
                ("call", ctypes.CFUNCTYPE(None)),
                ("leave", ctypes.CFUNCTYPE(None))]


def ends_the_process(function):
    """Wraps a function that C calls: an exception cannot pass through C, so it ends the process."""

    def guarded(*arguments):
        try:
            return function(*arguments)
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
            os._exit(1)

    return guarded


def tensor(pointer, kind, count):
    """A tensor over the memory itself, not a copy."""
    return torch.frombuffer((kind * count).from_address(ctypes.addressof(pointer.contents)), dtype={
        ctypes.c_float: torch.float32, DOUBLE: torch.float64}[kind])


class Peer:
    """The functions of peer.h; `now` is the call that was prepared."""

    def join(self, rank, size):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        rank[0], size[0] = int(os.environ["RING_RANK"]), int(os.environ["RING_SIZE"])
        store = dist.FileStore(f"{os.environ['DRIVER_STORE']}/store", size[0])
        dist.init_process_group("gloo", store=store, rank=rank[0], world_size=size[0])

    def max(self, values, count):
        dist.all_reduce(tensor(values, DOUBLE, count), dist.ReduceOp.MAX)

    def prepare(self, job):
        job = job.contents
        whole = tensor(job.data, ctypes.c_float, job.count)
        part = whole[job.rank * job.part:][:job.part]
        result = tensor(job.result, ctypes.c_float, job.count) if job.result else None
        self.now = {
            b"all_reduce": lambda: dist.all_reduce(whole),
            b"all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            b"broadcast": lambda: dist.broadcast(whole, 0),
            b"all_to_all": lambda: dist.all_to_all_single(result, whole),
        }.get(job.collective)
        return self.now is not None

    def call(self):
        self.now()


def main():
    torch.set_num_threads(1)
    peer = Peer()
    library = ctypes.CDLL(sys.argv[1])
    functions = (peer.join, dist.barrier, peer.max, peer.prepare, peer.call, dist.destroy_process_group)
    calls = Calls.in_dll(library, "peer_calls")
    for (name, kind), function in zip(Calls._fields_, functions):
        setattr(calls, name, kind(ends_the_process(function)))
    words = [word.encode() for word in sys.argv[1:]]
    sys.exit(library.driver_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None)))


if __name__ == "__main__":
    main()
