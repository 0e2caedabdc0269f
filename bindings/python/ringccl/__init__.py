# SPDX-License-Identifier: MIT
"""Collective communication over shared memory, TCP and RDMA verbs: the C library ringccl, by ctypes alone.

    import array, ringccl
    with ringccl.from_env() as comm:                 # started by ring_run -n 4 python3 program.py
        x = array.array("f", [comm.rank] * 1000)     # numpy arrays, torch tensors, bytearrays ...
        comm.all_reduce(x)

docs/PYTHON.md has five examples; ringccl(7) is the manual of the library.
"""
from ._buffers import Type
from ._comm import Communicator, Memory, create, find_job, from_env, unique_id, version
from ._library import (Aborted, Error, InvalidArgument, Mismatch, NoMemory, NotSupported, PeerLost, SystemFailure,
                       TimedOut, UniqueId, path)
from ._mpi_names import IN_PLACE
from ._operations import Op
from ._streams import Handle, Stream, group

INT8, UINT8, INT32, UINT32, INT64, UINT64 = Type.INT8, Type.UINT8, Type.INT32, Type.UINT32, Type.INT64, Type.UINT64
FLOAT16, FLOAT32, FLOAT64, BFLOAT16 = Type.FLOAT16, Type.FLOAT32, Type.FLOAT64, Type.BFLOAT16
FLOAT8_E4M3, FLOAT8_E5M2 = Type.FLOAT8_E4M3, Type.FLOAT8_E5M2
SUM, PROD, MAX, MIN, AVG, BAND, BOR, BXOR = Op

library_path = path
__all__ = [name for name in dir() if not name.startswith("_") and name != "path"]
