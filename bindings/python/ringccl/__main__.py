# SPDX-License-Identifier: MIT
"""python3 -m ringccl: which library this is, and what it can do here."""
import ctypes
import importlib.util
import sys

import ringccl
from ringccl._library import library


def device(comm):
    """The sentence of why there is no CUDA, or None."""
    stream = ctypes.c_void_p()
    if library.ring_stream_from_cuda(comm.pointer(), None, ctypes.byref(stream)) == 0:
        library.ring_stream_destroy(stream)
        return None
    return library.ring_comm_error(comm.pointer()).decode()


def main():
    launcher, rank, size = ringccl.find_job()
    print("ringccl    ", ".".join(map(str, ringccl.version())))
    print("library    ", ringccl.library_path)
    print("python     ", sys.version.split()[0], sys.executable)
    print("launcher   ", f"{launcher}: rank {rank} of {size}" if launcher else "none: this process is alone")
    with ringccl.create(ringccl.unique_id(), 1, 0) as comm:
        data = bytearray(8)
        comm.all_reduce(data)
        print("calls      ", "work, carried by " + comm.stats()["last"]["algorithm"])
        why = device(comm)
        print("CUDA       ", "no: " + why if why else "yes")
    for name in "numpy", "torch":
        print(f"{name:11}", "its arrays can be given" if importlib.util.find_spec(name) else "not installed, not needed")


if __name__ == "__main__":
    try:
        main()
    except ringccl.Error as error:
        sys.exit(f"ringccl: {error}")
