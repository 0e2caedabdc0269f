# SPDX-License-Identifier: MIT
"""For programs written for mpi4py: `from ringccl import MPI`. Buffers only: no tags, no objects that are pickled."""
import atexit
import platform
import time

from ._buffers import Type
from ._comm import Communicator as Comm, from_env
from ._library import Error as Exception  # as mpi4py has it
from ._mpi_names import IN_PLACE, Request
from ._operations import Op

SUM, PROD, MAX, MIN, BAND, BOR, BXOR = Op.SUM, Op.PROD, Op.MAX, Op.MIN, Op.BAND, Op.BOR, Op.BXOR
SIGNED_CHAR, UNSIGNED_CHAR, BYTE, BOOL = Type.INT8, Type.UINT8, Type.UINT8, Type.UINT8
INT, UNSIGNED, LONG, UNSIGNED_LONG = Type.INT32, Type.UINT32, Type.INT64, Type.UINT64
INT32_T, UINT32_T, INT64_T, UINT64_T = Type.INT32, Type.UINT32, Type.INT64, Type.UINT64
FLOAT, DOUBLE = Type.FLOAT32, Type.FLOAT64
Wtime = time.monotonic
Get_processor_name = platform.node


def __getattr__(name):
    """COMM_WORLD meets the other ranks when it is first asked for; it is closed when the process exits."""
    if name != "COMM_WORLD":
        raise AttributeError(f"ringccl.MPI has no {name}")
    world = globals()["COMM_WORLD"] = from_env()
    atexit.register(world.close)
    return world


__all__ = [name for name in dir() if name[0].isupper()]
