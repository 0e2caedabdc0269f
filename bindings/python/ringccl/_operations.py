# SPDX-License-Identifier: MIT
"""Operations: those that there are, a scalar of a pre-multiplied sum, and functions of the program."""
import ctypes
import enum
import struct
import weakref

from ._buffers import BYTES, Type
from ._library import InvalidArgument


class Op(enum.IntEnum):
    """Reductions; Communicator.premultiplied_sum and Communicator.operation make more."""

    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4
    BAND = 5
    BOR = 6
    BXOR = 7


LETTERS = {Type.INT8: "b", Type.UINT8: "B", Type.INT32: "i", Type.UINT32: "I", Type.INT64: "q", Type.UINT64: "Q",
           Type.FLOAT16: "e", Type.FLOAT32: "f", Type.FLOAT64: "d"}
BITS = {Type.FLOAT16: "H", Type.BFLOAT16: "H", Type.FLOAT8_E4M3: "B", Type.FLOAT8_E5M2: "B"}  # to memoryviews


def pack(number, dtype):
    if dtype not in LETTERS:
        raise InvalidArgument("a number needs dtype=, of a type that Python can write; give a buffer of one element else")
    return struct.pack("=" + LETTERS[dtype], number)


# ---- functions -------------------------------------------------------------------------------------

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class Function:
    """function(to, other) as the library calls it, from whichever thread. Nothing can be raised there: the first
    exception waits until the call that it happened in lets go of its buffers, and of this with them."""

    def __init__(self, comm, function, dtype):
        if not callable(function):
            raise InvalidArgument(f"function is a {type(function).__name__}, which cannot be called")
        self.type, self._comm, self._function, self._raised = Type(dtype), comm, function, None
        self.pointer = CALLBACK(self._call)

    def _call(self, to, other, count, _):
        try:
            if self._raised is None:
                self._lend(to, other, count)
        except BaseException as error:
            self._raised = error

    def _lend(self, to, other, count):
        """As views, which the function may cast, slice and make arrays of, until it returns."""
        bytes, letter = count * BYTES[self.type], BITS.get(self.type) or LETTERS[self.type]
        elements = [(ctypes.c_ubyte * bytes).from_address(address) for address in (to, other)]
        kept = [weakref.ref(part) for part in elements]
        to, other = [memoryview(part).cast("B").cast(letter) for part in elements]
        other = other.toreadonly()
        del elements
        try:
            self._function(to, other)
        finally:
            to.release()
            other.release()
        if any(part() is not None for part in kept):
            raise BufferError("the operation's function has kept a buffer, which is its own only until it returns")

    def release(self):
        """The others may have got what this rank's function did not finish: nobody is to go on with it."""
        if self._raised is not None:
            error, self._raised = self._raised, None
            self._comm.abort()
            raise error
