# SPDX-License-Identifier: MIT
"""Where an object's elements lie, and of what type they are: by the buffer protocol, or by DLPack, of the CPU or CUDA."""
import ctypes
import enum

from ._library import InvalidArgument


class Type(enum.IntEnum):
    """Element types. One that Python has no name for is said beside a buffer: dtype=ringccl.BFLOAT16."""

    INT8 = 0
    UINT8 = 1
    INT32 = 2
    UINT32 = 3
    INT64 = 4
    UINT64 = 5
    FLOAT16 = 6
    FLOAT32 = 7
    FLOAT64 = 8
    BFLOAT16 = 9
    FLOAT8_E4M3 = 10
    FLOAT8_E5M2 = 11


BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)


class Buffer:
    """Elements in a row; the object that has them stays as it is until release()."""

    def __init__(self, address, count, type, release):
        self.address, self.count, self.type, self.release = address, count, type, release


# ---- the buffer protocol ---------------------------------------------------------------------------

class PyBuffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


FULL_READ_ONLY = 0x11C  # PyBUF_FULL_RO
get_buffer = ctypes.pythonapi.PyObject_GetBuffer
get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(PyBuffer), ctypes.c_int]
release_buffer = ctypes.pythonapi.PyBuffer_Release
release_buffer.argtypes = [ctypes.POINTER(PyBuffer)]
release_buffer.restype = None
is_contiguous = ctypes.pythonapi.PyBuffer_IsContiguous
is_contiguous.argtypes = [ctypes.POINTER(PyBuffer), ctypes.c_char]

FLOATS = {"e": Type.FLOAT16, "f": Type.FLOAT32, "d": Type.FLOAT64}
INTEGERS = {(1, True): Type.INT8, (4, True): Type.INT32, (8, True): Type.INT64,
            (1, False): Type.UINT8, (4, False): Type.UINT32, (8, False): Type.UINT64}


def type_of_format(format, itemsize):
    """None if the library has no such type. Bytes without a meaning, and bool, are uint8."""
    letter = format.lstrip("@=<|")
    if letter in FLOATS:
        return FLOATS[letter]
    if letter in ("?", "c", ""):
        return Type.UINT8 if itemsize == 1 else None
    if len(letter) == 1 and letter in "bhilqnBHILQN":
        return INTEGERS.get((itemsize, letter.islower()))
    return None


def by_protocol(thing, name, writes, wanted):
    view = PyBuffer()
    try:
        get_buffer(thing, ctypes.byref(view), FULL_READ_ONLY)
    except ValueError as error:  # a memoryview that was released, an array that was closed
        raise InvalidArgument(f"{name}: {error}: its memory is gone") from None
    try:
        format = view.format.decode() if view.format else ""
        if not is_contiguous(ctypes.byref(view), b"A"):
            raise InvalidArgument(f"{name} has gaps between its elements: give a contiguous copy")
        if writes and view.readonly:
            raise InvalidArgument(f"{name} is read-only, and the call writes to it")
        type = choose_type(name, type_of_format(format, view.itemsize), view.itemsize, wanted, format)
        return Buffer(view.buf, view.len // BYTES[type], type, lambda: release_buffer(ctypes.byref(view)))
    except BaseException:
        release_buffer(ctypes.byref(view))
        raise


def choose_type(name, found, itemsize, wanted, called):
    if wanted is not None:
        wanted = Type(wanted)
        if itemsize not in (1, BYTES[wanted]):
            raise InvalidArgument(f"{name} has elements of {itemsize} bytes, not of the {BYTES[wanted]} of "
                                  f"{wanted.name}")
        return wanted
    if found is None:
        raise InvalidArgument(f"{name} has elements of a type ({called!r}, {itemsize} bytes) that the library has not: "
                              "say by dtype= what to take them for")
    return found


# ---- DLPack ----------------------------------------------------------------------------------------

class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device", ctypes.c_int),
                ("ndim", ctypes.c_int), ("dtype", DataType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
LEGACY_STREAM = 1  # the one that DLPack's exporter is to make wait
DLPACK_TYPES = {(0, 8): Type.INT8, (0, 32): Type.INT32, (0, 64): Type.INT64,
                (1, 8): Type.UINT8, (1, 32): Type.UINT32, (1, 64): Type.UINT64,
                (2, 16): Type.FLOAT16, (2, 32): Type.FLOAT32, (2, 64): Type.FLOAT64,
                (4, 16): Type.BFLOAT16, (6, 8): Type.UINT8, (10, 8): Type.FLOAT8_E4M3, (12, 8): Type.FLOAT8_E5M2}
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def is_dense(tensor):
    """Whether the strides are those of rows, one behind the other."""
    expected = 1
    for axis in reversed(range(tensor.ndim)):
        if tensor.shape[axis] != 1 and tensor.strides and tensor.strides[axis] != expected:
            return False
        expected *= tensor.shape[axis]
    return True


def by_dlpack(thing, name, wanted):
    device = thing.__dlpack_device__()[0]
    if device not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise InvalidArgument(f"{name} lies on a device (DLPack's {int(device)}) that is neither the CPU nor CUDA")
    try:  # the capsule is not consumed: its memory is the exporter's, who lives as long as it does
        capsule = thing.__dlpack__() if device != CUDA else thing.__dlpack__(stream=LEGACY_STREAM)
    except (BufferError, RuntimeError, ValueError) as error:
        raise InvalidArgument(f"{name}: {error}") from None
    tensor = Tensor.from_address(capsule_pointer(capsule, b"dltensor"))
    if not is_dense(tensor):
        raise InvalidArgument(f"{name} has gaps between its elements: give a contiguous copy")
    count, bits, kept = 1, tensor.dtype.bits * tensor.dtype.lanes, [capsule, thing]
    for axis in range(tensor.ndim):
        count *= tensor.shape[axis]
    found = DLPACK_TYPES.get((tensor.dtype.code, bits))
    called = f"DLPack's code {tensor.dtype.code}, {bits} bits"
    type = choose_type(name, found, bits // 8, wanted, called)
    address = (tensor.data or 0) + tensor.byte_offset
    return Buffer(address, count * bits // 8 // BYTES[type], type, kept.clear)


# ---- either ----------------------------------------------------------------------------------------

def look(thing, name, writes, dtype=None):
    """The Buffer of an object; InvalidArgument says what is wrong with it. Whoever looks releases it."""
    if isinstance(thing, (list, tuple)) and len(thing) == 2 and isinstance(thing[1], Type):
        thing, dtype = thing  # as in mpi4py
    if hasattr(thing, "__dlpack__") and not hasattr(thing, "__array_interface__"):
        return by_dlpack(thing, name, dtype)
    try:
        return by_protocol(thing, name, writes, dtype)
    except TypeError:
        raise InvalidArgument(f"{name} is a {type(thing).__name__}, which has neither the buffer protocol nor "
                              "DLPack") from None
