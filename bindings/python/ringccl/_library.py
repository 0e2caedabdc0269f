# SPDX-License-Identifier: MIT
"""libringccl.so.0 as ctypes sees it: its functions, structs, numbers, and its errors as exceptions."""
import ctypes
import os
import pathlib
from ctypes import c_char_p, c_int, c_size_t, c_uint64, c_void_p

NAME = "libringccl.so.0"
INVALID, NO_MEMORY, SYSTEM, PEER, TIMED_OUT, MISMATCH, ABORTED, NOT_SUPPORTED, AGAIN = range(-1, -10, -1)


class Error(Exception):
    """A call failed. Its text is the library's sentence: who, where, what to do; `status` its number."""

    status = 0


class InvalidArgument(Error, ValueError):
    """Nothing happened, and the communicator can be used further."""

    status = INVALID


class NoMemory(Error, MemoryError):
    status = NO_MEMORY


class SystemFailure(Error, OSError):
    status = SYSTEM


class PeerLost(Error, ConnectionError):
    """Another rank was lost; the communicator cannot be used any more."""

    status = PEER


class TimedOut(Error, TimeoutError):
    status = TIMED_OUT


class Mismatch(Error):
    """The ranks made different calls; no buffer was touched."""

    status = MISMATCH


class Aborted(Error):
    status = ABORTED


class NotSupported(Error):
    status = NOT_SUPPORTED


ERRORS = {error.status: error for error in (InvalidArgument, NoMemory, SystemFailure, PeerLost, TimedOut, Mismatch,
                                            Aborted, NotSupported)}


class UniqueId(ctypes.Structure):
    """The identity of a communicator to be: bytes(id) goes to all ranks, UniqueId.of(bytes) takes them."""

    _fields_ = [("bytes", ctypes.c_ubyte * 128)]

    @classmethod
    def of(cls, data):
        if len(data) != 128:
            raise InvalidArgument(f"an id has 128 bytes, not {len(data)}")
        return cls.from_buffer_copy(data)


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_char_p) for name in (
        "transport", "interface", "port_range", "host", "congestion", "trace")] + [(name, c_int) for name in (
            "create_timeout_ms", "call_timeout_ms", "peer_lost_ms")] + [("chunk_bytes", c_size_t)] + [
                (name, c_int) for name in ("depth", "chunks_per_round", "channels", "spins", "yields")] + [
                    (name, c_char_p) for name in ("link", "algorithm", "tuning", "device")] + [
                        ("tell_after_ms", c_int), ("order", c_char_p)]


class Carried(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_char * 16), ("path", ctypes.c_char * 16), ("memory", ctypes.c_char * 16),
                ("chunk_bytes", c_uint64), ("channels", c_int), ("reason", ctypes.c_char * 320)]


class LinkStats(ctypes.Structure):
    _fields_ = [("peer", c_int), ("channel", c_int), ("outgoing", c_int), ("transport", ctypes.c_char * 16),
                ("messages", c_uint64), ("payload_bytes", c_uint64)]


class Stats(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in (
        "calls", "sent_bytes", "received_bytes", "sent_messages", "received_messages", "memory_bytes")] + [
            ("link_count", c_int), ("links", LinkStats * 32), ("last", Carried), ("numbers", ctypes.c_char * 16)]


# Their results and parameters: i a status or number, p a pointer, n a count, s a text, v nothing, u 64 bits.
FUNCTIONS = """
ring_version i
ring_strerror s i
ring_options_init_size v pn
ring_unique_id_create i p
ring_comm_create i piipp
ring_comm_create_from_env i pp
ring_job_find i ppp
ring_comm_split i piip
ring_comm_size i p
ring_comm_rank i p
ring_comm_status i p
ring_comm_error s p
ring_comm_stats i pp
ring_comm_abort i p
ring_comm_destroy v p
ring_all_reduce i pppniip
ring_reduce_scatter i pppniip
ring_all_gather i pppnip
ring_broadcast i pppniip
ring_reduce i pppniiip
ring_gather i pppniip
ring_scatter i pppniip
ring_all_to_all i pppnip
ring_reduce_scatterv i ppppiip
ring_all_gatherv i pppppip
ring_gatherv i ppnpppiip
ring_scatterv i pppppniip
ring_all_to_allv i pppppppip
ring_barrier i pp
ring_send i ppniip
ring_recv i ppniip
ring_group_start i
ring_group_end i
ring_op_create_premul_sum i ppip
ring_op_create i pppip
ring_op_destroy i pi
ring_mem_alloc i pnp
ring_mem_free i pp
ring_mem_register i ppnp
ring_mem_deregister i pp
ring_stream_create i pp
ring_stream_from_cuda i ppp
ring_stream_destroy v p
ring_stream_position u p
ring_stream_wait i pu
ring_stream_test i pu
ring_stream_fd i pup
"""
TYPES = {"i": c_int, "p": c_void_p, "n": c_size_t, "s": c_char_p, "v": None, "u": c_uint64}


def open_library():
    """RINGCCL_LIBRARY names a file; else what the loader finds, else beside an installation that has this package."""
    named = os.environ.get("RINGCCL_LIBRARY")
    beside = [parent / NAME for parent in pathlib.Path(__file__).resolve().parents[:5]]
    tried = [named] if named else [NAME] + [str(path) for path in beside if path.exists()] + ["/usr/local/lib/" + NAME]
    for path in tried:
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            refusal = error
    raise ImportError(f"ringccl: {NAME} does not open ({refusal}): install the library, or say by RINGCCL_LIBRARY "
                      "which file it is")


library, path = open_library()
for line in FUNCTIONS.split("\n"):
    if line:
        name, result, *parameters = line.split(" ")
        function = getattr(library, name)
        function.restype = TYPES[result]
        function.argtypes = [TYPES[letter] for letter in "".join(parameters)]
del line, name, result, parameters, function


def check(status, comm=None):
    """Raises what a call's status says, with the communicator's sentence or the thread's."""
    if status >= 0:
        return status
    sentence = library.ring_comm_error(comm).decode(errors="replace") or library.ring_strerror(status).decode()
    raise ERRORS.get(status, Error)(sentence)
