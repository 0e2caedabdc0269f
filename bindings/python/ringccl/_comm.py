# SPDX-License-Identifier: MIT
"""Communicators: calls on buffers, blocking or on streams; memory that ranks of a host share."""
import ctypes
import os
import weakref

from ._buffers import BYTES, Type, look
from ._library import Carried, InvalidArgument, Options, Stats, UniqueId, check, library
from ._mpi_names import IN_PLACE, MpiNames
from ._operations import Function, Op, pack
from ._streams import Stream, release, the_group


# ---- memory ----------------------------------------------------------------------------------------

class Memory:
    """Memory that ranks of one host share; `view` is its memoryview, which casts and arrays are made of."""

    def __init__(self, comm, count):
        self._pointer, self._comm = ctypes.c_void_p(), comm
        check(library.ring_mem_alloc(comm.pointer(), count, ctypes.byref(self._pointer)), comm.pointer())
        self._show((ctypes.c_ubyte * count).from_address(self._pointer.value))

    def _show(self, elements):
        """Every cast and array holds `elements`, so these tell whether there are any."""
        self._elements, self.view = elements, memoryview(elements).cast("B")

    def free(self):
        """Refused while an array or a cast uses it."""
        if not self._pointer:
            return
        elements, self._elements = weakref.ref(self._elements), None
        self.view.release()
        if elements():
            self._show(elements())
            raise InvalidArgument("an array or a cast still uses this memory: delete it first")
        check(library.ring_mem_free(self._comm.pointer(), self._pointer), self._comm.pointer())
        self._pointer = None
        self._comm.memories.remove(self)


# ---- communicators ---------------------------------------------------------------------------------

def make_options(options):
    """struct ring_options, with what RING_* variables say, and then what the caller does."""
    made = Options()
    library.ring_options_init_size(ctypes.byref(made), ctypes.sizeof(made))
    known = [name for name, _ in Options._fields_ if name != "size"]
    for name, value in options.items():
        if name not in known:
            raise InvalidArgument(f"there is no option {name}: there are {', '.join(known)}")
        setattr(made, name, os.fsencode(value) if isinstance(value, (str, os.PathLike)) else value)
    return ctypes.byref(made)


def unique_id():
    """The identity of a communicator to be; bytes(id) goes to all ranks. This process serves their meeting."""
    made = UniqueId()
    check(library.ring_unique_id_create(ctypes.byref(made)))
    return made


class Communicator(MpiNames):
    """One rank's end of a communicator. One thread at a time uses it; abort() is for any.

    `with` closes it; if an exception leaves the block, all ranks' calls are aborted first, as nobody can count on this
    rank any more.
    """

    def __init__(self, pointer):
        self._pointer, self._streams, self.memories, self._made_for = pointer, [], [], {}
        self.functions = {}
        self.rank, self.size = library.ring_comm_rank(pointer), library.ring_comm_size(pointer)

    def pointer(self):
        if not self._pointer:
            raise InvalidArgument("the communicator was closed")
        return self._pointer

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind and self._pointer:
            self.abort()
        self.close()

    def __repr__(self):
        return f"<ringccl rank {self.rank} of {self.size}{'' if self._pointer else ', closed'}>"

    def close(self):
        """Waits for calls on streams, says goodbye to the others, and frees everything."""
        if not self._pointer:
            return
        for memory in list(self.memories):
            memory.free()
        try:
            for stream in self._streams:
                stream.close()
        finally:
            library.ring_comm_destroy(self._pointer)
            self._pointer, self._streams, self._made_for = None, [], {}

    def abort(self):
        """Ends the calls of all ranks, running and to come, with Aborted. Any thread."""
        library.ring_comm_abort(self.pointer())

    def check(self):
        """Raises what the communicator has failed of. Never blocks."""
        check(library.ring_comm_status(self.pointer()), self.pointer())

    def stats(self):
        """Counters, as a dict; `last` tells how the last call was carried and why so, `numbers` what predicts it."""
        stats = Stats(size=ctypes.sizeof(Stats))
        check(library.ring_comm_stats(self.pointer(), ctypes.byref(stats)), self.pointer())
        told = {name: getattr(stats, name) for name, kind in Stats._fields_ if kind is ctypes.c_uint64}
        told["last"] = {name: value.decode() if isinstance(value, bytes) else value
                        for name, value in ((name, getattr(stats.last, name)) for name, _ in Carried._fields_)}
        told["numbers"] = stats.numbers.decode()
        return told

    def split(self, color, key=0):
        """Ranks of one color get a communicator of their own, by key, then rank. color None: this one gets None."""
        made = ctypes.c_void_p()
        check(library.ring_comm_split(self.pointer(), -1 if color is None else color, key, ctypes.byref(made)),
              self.pointer())
        return type(self)(made) if made else None

    def stream(self, cuda_stream=None):
        """A Stream; of a cudaStream_t, as a number, its calls are ordered by that."""
        made = Stream(self, cuda_stream)
        self._streams.append(made)
        return made

    def stream_for(self, what):
        """A stream of the communicator's own, one for each purpose: calls of different ones make progress together."""
        if what not in self._made_for:
            self._made_for[what] = self.stream()
        return self._made_for[what]

    def allocate(self, count):
        """Memory of `count` bytes that ranks of this host share, which saves copies. A local call."""
        made = Memory(self, count)
        self.memories.append(made)
        return made

    def premultiplied_sum(self, scalar, dtype=None):
        """An operation: the sum of all elements, each multiplied by its rank's scalar first, a buffer of one element or,
        with dtype, a number. drop_op() forgets it."""
        made = ctypes.c_int()
        if isinstance(scalar, (int, float)):
            scalar, dtype = pack(scalar, dtype), Type(dtype)
        one = look(scalar, "scalar", False, dtype)
        try:
            if one.count != 1:
                raise InvalidArgument(f"scalar has {one.count} elements, not one")
            check(library.ring_op_create_premul_sum(self.pointer(), one.address, one.type, ctypes.byref(made)),
                  self.pointer())
        finally:
            one.release()
        return made.value

    def operation(self, function, dtype):
        """An operation on elements of dtype: function(to, other), both memoryviews, makes each element of `to` that one
        and the one of `other`, reduced, in any number of pieces. It must be associative and commute; all ranks must give
        the same one. If it raises, so does the call, and all ranks' calls are aborted. drop_op() forgets it."""
        made, called = ctypes.c_int(), Function(self, function, dtype)
        check(library.ring_op_create(self.pointer(), called.pointer, None, called.type, ctypes.byref(made)),
              self.pointer())
        self.functions[made.value] = called
        return made.value

    def drop_op(self, op):
        """Calls that were made with it keep it until they are complete."""
        check(library.ring_op_destroy(self.pointer(), op), self.pointer())
        self.functions.pop(op, None)

    # ---- calls: blocking without a stream; with one they return a Handle ----

    def all_reduce(self, send, recv=None, op=Op.SUM, dtype=None, stream=None):
        """Every rank receives the reduction of all ranks' `send`; without `recv` in place."""
        with self._buffers(stream, dtype, op, send=(send, recv is None), recv=(recv, True)) as call:
            call.need("recv", 1, "send", 1)
            call.make("ring_all_reduce", call.send, call.recv or call.send, call.count("send"), call.type, op)
        return call.handle

    def reduce_scatter(self, send, recv, op=Op.SUM, dtype=None, stream=None):
        """Rank r receives the r-th part of the reduction."""
        with self._buffers(stream, dtype, op, send=(send, False), recv=(recv, True)) as call:
            call.need("send", 1, "recv", self.size)
            call.make("ring_reduce_scatter", call.send, call.recv, call.count("recv"), call.type, op)
        return call.handle

    def all_gather(self, send, recv, dtype=None, stream=None):
        """Every rank receives all ranks' `send`, in their order; IN_PLACE: its own part lies in `recv` already."""
        part = None if send is IN_PLACE else send
        with self._buffers(stream, dtype, send=(part, False), recv=(recv, True)) as call:
            call.need("recv", 1, "send", self.size)
            count = call.count("recv") // self.size
            own = call.send or call.place("recv", self.rank * count)
            call.make("ring_all_gather", own, call.recv, count, call.type)
        return call.handle

    def broadcast(self, buffer, root=0, dtype=None, stream=None):
        """Every rank's buffer becomes root's."""
        with self._buffers(stream, dtype, send=(buffer, self.rank != root)) as call:
            call.make("ring_broadcast", call.send, call.send, call.count("send"), call.type, root)
        return call.handle

    def reduce(self, send, recv=None, op=Op.SUM, root=0, dtype=None, stream=None):
        """Root receives the reduction; without `recv` in place."""
        is_root = self.rank == root
        with self._buffers(stream, dtype, op, send=(send, is_root and recv is None),
                           recv=(recv if is_root else None, True)) as call:
            call.need("recv", 1, "send", 1)
            call.make("ring_reduce", call.send, call.recv or call.send, call.count("send"), call.type, op, root)
        return call.handle

    def gather(self, send, recv=None, root=0, dtype=None, stream=None):
        """Root receives all ranks' `send`, in their order."""
        is_root = self.rank == root
        if is_root and recv is None:
            raise InvalidArgument("gather: root needs recv")
        with self._buffers(stream, dtype, send=(send, False), recv=(recv if is_root else None, True)) as call:
            call.need("recv", 1, "send", self.size)
            call.make("ring_gather", call.send, call.recv, call.count("send"), call.type, root)
        return call.handle

    def scatter(self, send, recv, root=0, dtype=None, stream=None):
        """Rank r receives the r-th part of root's `send`."""
        is_root = self.rank == root
        if is_root and send is None:
            raise InvalidArgument("scatter: root needs send")
        with self._buffers(stream, dtype, send=(send if is_root else None, False), recv=(recv, True)) as call:
            call.need("send", 1, "recv", self.size)
            call.make("ring_scatter", call.send, call.recv, call.count("recv"), call.type, root)
        return call.handle

    def all_to_all(self, send, recv, dtype=None, stream=None):
        """Part r of `send` goes to rank r, and becomes part `rank` of its `recv`."""
        with self._buffers(stream, dtype, send=(send, False), recv=(recv, True)) as call:
            call.need("recv", 1, "send", 1)
            call.need_parts("send", self.size)
            call.make("ring_all_to_all", call.send, call.recv, call.count("send") // self.size, call.type)
        return call.handle

    # ---- with uneven parts: counts of elements, one for each rank; begins says where parts are, else one behind the other

    def reduce_scatterv(self, send, recv, counts, op=Op.SUM, dtype=None, stream=None):
        """Rank r receives part r of the reduction, of counts[r] elements."""
        with self._buffers(stream, dtype, op, send=(send, False), recv=(recv, True)) as call:
            call.need_room("send", sum(counts))
            call.need_room("recv", counts[self.rank])
            call.make("ring_reduce_scatterv", call.send, call.recv, self._numbers(counts), call.type, op)
        return call.handle

    def all_gatherv(self, send, recv, counts, begins=None, dtype=None, stream=None):
        """Every rank receives counts[r] elements of each rank r; IN_PLACE: its own lie in `recv` already."""
        part = None if send is IN_PLACE else send
        begins = begins or begins_of(counts)
        with self._buffers(stream, dtype, send=(part, False), recv=(recv, True)) as call:
            call.need_room("send", counts[self.rank])
            call.need_parts_in("recv", counts, begins)
            own = call.send or call.place("recv", begins[self.rank])
            call.make("ring_all_gatherv", own, call.recv, self._numbers(counts), self._numbers(begins), call.type)
        return call.handle

    def gatherv(self, send, recv=None, counts=None, begins=None, root=0, dtype=None, stream=None):
        """Root receives counts[r] elements of each rank r, which is what that rank sends."""
        recv, counts, begins = self._on(root, "gatherv", recv, counts, begins)
        with self._buffers(stream, dtype, send=(send, False), recv=(recv, True)) as call:
            call.need_parts_in("recv", counts, begins)
            call.make("ring_gatherv", call.send, call.count("send"), call.recv, self._numbers(counts),
                      self._numbers(begins), call.type, root)
        return call.handle

    def scatterv(self, send, recv, counts=None, begins=None, root=0, dtype=None, stream=None):
        """Rank r receives counts[r] elements of root's `send`, as many as its `recv` has."""
        send, counts, begins = self._on(root, "scatterv", send, counts, begins)
        with self._buffers(stream, dtype, send=(send, False), recv=(recv, True)) as call:
            call.need_parts_in("send", counts, begins)
            call.make("ring_scatterv", call.send, self._numbers(counts), self._numbers(begins), call.recv,
                      call.count("recv"), call.type, root)
        return call.handle

    def all_to_allv(self, send, send_counts, recv, recv_counts, send_begins=None, recv_begins=None, dtype=None,
                    stream=None):
        """Every rank sends send_counts[r] elements to each rank r, and receives recv_counts[r] of it."""
        send_begins = send_begins or begins_of(send_counts)
        recv_begins = recv_begins or begins_of(recv_counts)
        with self._buffers(stream, dtype, send=(send, False), recv=(recv, True)) as call:
            call.need_parts_in("send", send_counts, send_begins)
            call.need_parts_in("recv", recv_counts, recv_begins)
            call.make("ring_all_to_allv", call.send, self._numbers(send_counts), self._numbers(send_begins), call.recv,
                      self._numbers(recv_counts), self._numbers(recv_begins), call.type)
        return call.handle

    def _on(self, root, name, buffer, counts, begins):
        """What only root says."""
        if self.rank != root:
            return None, None, None
        if buffer is None or counts is None:
            raise InvalidArgument(f"{name}: root needs a buffer with all parts, and counts")
        return buffer, counts, begins or begins_of(counts)

    def _numbers(self, numbers):
        """An array of size_t, which the library copies."""
        if numbers is None:
            return None
        if len(numbers) != self.size or min(numbers) < 0:
            raise InvalidArgument(f"counts and begins are {self.size} numbers, one for each rank, from 0 on")
        return (ctypes.c_size_t * self.size)(*numbers)

    def barrier(self, stream=None):
        """Until every rank has entered."""
        with self._buffers(stream, None) as call:
            call.make("ring_barrier")
        return call.handle

    def send(self, buffer, peer, dtype=None, stream=None):
        """To rank `peer`, which must receive as many; messages between two ranks arrive in order."""
        with self._buffers(stream, dtype, send=(buffer, False)) as call:
            call.make("ring_send", call.send, call.count("send"), call.type, peer)
        return call.handle

    def recv(self, buffer, peer, dtype=None, stream=None):
        with self._buffers(stream, dtype, recv=(buffer, True)) as call:
            call.make("ring_recv", call.recv, call.count("recv"), call.type, peer)
        return call.handle

    def _buffers(self, stream, dtype, op=None, **things):
        return Call(self, stream, dtype, things, self.functions.get(op))


class Call:
    """A call that is being made: the buffers it looks at, and who keeps them until it is over."""

    def __init__(self, comm, stream, dtype, things, function):
        self.comm, self.stream, self.dtype, self.things, self.function = comm, stream, dtype, things, function
        self.found, self.handle, self.kept = {}, None, False

    def __enter__(self):
        try:
            for name, (thing, writes) in self.things.items():
                if thing is not None:
                    self.found[name] = look(thing, name, writes, self.dtype)
            types = {buffer.type for buffer in self.found.values()}
            if len(types) > 1:
                raise InvalidArgument(f"send has {self.found['send'].type.name} and recv "
                                      f"{self.found['recv'].type.name}")
        except BaseException:
            release(self.found.values())
            raise
        self.type = types.pop() if types else None
        if self.function:
            self.found["function"] = self.function  # the last that lets go, as it may raise
        return self

    def __exit__(self, kind, error, trace):
        if not self.kept:
            release(self.found.values())

    @property
    def send(self):
        return self.found["send"].address if "send" in self.found else None

    @property
    def recv(self):
        return self.found["recv"].address if "recv" in self.found else None

    def count(self, name):
        return self.found[name].count

    def place(self, name, element):
        return self.found[name].address + element * BYTES[self.type]

    def need(self, name, times, other, parts):
        """If both are there, `name` has `parts` times as many elements as `other`."""
        if name not in self.found or other not in self.found:
            return
        if self.count(name) * times != self.count(other) * parts:
            raise InvalidArgument(f"{name} has {self.count(name)} elements, not {self.count(other) * parts}: {other} has "
                                  f"{self.count(other)}" + (f", for each of {parts} ranks" if parts > 1 else ""))

    def need_parts(self, name, parts):
        if self.count(name) % parts:
            raise InvalidArgument(f"{name} has {self.count(name)} elements, which {parts} ranks cannot share evenly")

    def need_room(self, name, count):
        if name in self.found and self.count(name) < count:
            raise InvalidArgument(f"{name} has {self.count(name)} elements, and needs {count}")

    def need_parts_in(self, name, counts, begins):
        if counts is not None:
            self.need_room(name, max(begin + count for begin, count in zip(begins, counts)))

    def make(self, function, *arguments):
        pointer = self.comm.pointer()
        stream = self.stream.pointer() if self.stream else None
        check(getattr(library, function)(pointer, *arguments, stream), pointer)
        buffers = list(self.found.values())
        if the_group.depth:
            the_group.buffers.extend(buffers)
        self.kept = bool(the_group.depth or self.stream)
        if self.stream and not the_group.depth:
            self.handle = self.stream.note(buffers)


def begins_of(counts):
    """Where parts begin that lie one behind the other."""
    return [sum(counts[:rank]) for rank in range(len(counts))]


# ---- making one ------------------------------------------------------------------------------------

def refuse_groups(name):
    if the_group.depth:
        raise InvalidArgument(f"{name}: not in a group")


def create(id, size, rank, **options):
    """Joins the communicator that id, 128 bytes of unique_id(), names. Options are those of struct ring_options:
    transport="shm", call_timeout_ms=5000 ..."""
    refuse_groups("create")
    made = ctypes.c_void_p()
    id = id if isinstance(id, UniqueId) else UniqueId.of(id)
    check(library.ring_comm_create(ctypes.byref(made), size, rank, ctypes.byref(id), make_options(options)))
    return Communicator(made)


def from_env(**options):
    """Joins the communicator of all ranks of the job that a launcher started this process in: ring_run, mpirun, srun,
    torchrun ... A process that no launcher started is alone."""
    refuse_groups("from_env")
    made = ctypes.c_void_p()
    check(library.ring_comm_create_from_env(ctypes.byref(made), make_options(options)))
    return Communicator(made)


def find_job():
    """(launcher, rank, size) of this process; launcher None if none started it."""
    launcher, rank, size = ctypes.c_char_p(), ctypes.c_int(), ctypes.c_int()
    check(library.ring_job_find(ctypes.byref(launcher), ctypes.byref(rank), ctypes.byref(size)))
    return launcher.value.decode() if launcher.value else None, rank.value, size.value


def version():
    """(major, minor, patch) of the library."""
    number = library.ring_version()
    return number // 10000, number // 100 % 100, number % 100
