# SPDX-License-Identifier: MIT
"""Every call of the package, on the ranks that a launcher started, with what it must come to."""
import array
import ctypes
import mmap
import os
import select
import struct
import sys
import threading
import time

import ringccl

TYPES = {ringccl.INT8: "b", ringccl.UINT8: "B", ringccl.INT32: "i", ringccl.UINT32: "I", ringccl.INT64: "q",
         ringccl.UINT64: "Q", ringccl.FLOAT32: "f", ringccl.FLOAT64: "d"}


class Tensor:
    """What torch's tensors are to others: DLPack, and no buffer protocol."""

    class Layout(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device", ctypes.c_int),
                    ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]

    def __init__(self, count, code=2, bits=32, strides=None, device=1):
        self.data = array.array("B", bytes(count * bits // 8))
        self.shape = (ctypes.c_int64 * 2)(count // 2, 2)
        self.strides = (ctypes.c_int64 * 2)(*strides) if strides else None
        self.device = device
        self.layout = self.Layout(self.data.buffer_info()[0], device, 0, 2, code, bits, 1, self.shape, self.strides, 0)

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.layout), b"dltensor", None)


def must_raise(error, word, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except error as is_raised:
        assert word in str(is_raised), f"no {word!r} in {is_raised}"
        return
    raise AssertionError(f"no {error.__name__} with {word!r}")


def every_call(comm):
    rank, size = comm.rank, comm.size
    for type, letter in TYPES.items():
        def of(*values):
            return array.array(letter, values)
        mine, zeros = of(rank + 1, 2), of(*[0] * 2 * size)
        total = of(0, 0)
        comm.all_reduce(mine, total)
        assert list(total) == [size * (size + 1) // 2, 2 * size], (type, total)
        comm.all_reduce(total, op=ringccl.MAX)
        assert total[1] == 2 * size
        comm.all_gather(mine, zeros)
        assert list(zeros) == [x for r in range(size) for x in (r + 1, 2)]
        part = of(0, 0)
        comm.reduce_scatter(zeros, part, op=ringccl.SUM)
        assert list(part) == [size * (rank + 1), 2 * size]
        comm.broadcast(part, root=size - 1)
        assert list(part) == [size * size, 2 * size]
        comm.reduce(mine, total, op=ringccl.SUM, root=0)
        assert rank or list(total) == [size * (size + 1) // 2, 2 * size]
        comm.gather(mine, zeros if rank == 0 else None)
        comm.scatter(zeros if rank == 0 else None, part)
        assert list(part) == [rank + 1, 2]
        exchanged = of(*[0] * 2 * size)
        comm.all_to_all(of(*[rank + 1] * 2 * size), exchanged)
        assert list(exchanged) == [r + 1 for r in range(size) for _ in range(2)]
        part = of(0, 0)
        with ringccl.group():
            comm.send(mine, (rank + 1) % size)
            comm.recv(part, (rank - 1) % size)
        assert list(part) == [(rank - 1) % size + 1, 2]
        op = comm.premultiplied_sum(rank + 1, type)
        comm.all_reduce(of(1, 2), total, op=op)
        comm.drop_op(op)
        assert list(total) == [size * (size + 1) // 2, size * (size + 1)]
    comm.barrier()


def uneven_parts(comm):
    """Rank r's part has r elements: none of rank 0."""
    rank, size = comm.rank, comm.size
    counts = list(range(size))
    total = sum(counts)
    all_parts = [r for r in range(size) for _ in range(r)]
    mine, everyone = array.array("i", [rank] * rank), array.array("i", [-1] * (total + 1))
    comm.all_gatherv(mine, everyone, counts)
    assert list(everyone) == all_parts + [-1]
    comm.all_gatherv(ringccl.IN_PLACE, everyone, counts)
    apart = array.array("i", [-1] * (2 * size * size + 1))
    comm.all_gatherv(mine, apart, counts, begins=[2 * size * r for r in range(size)])
    assert all(list(apart[2 * size * r:2 * size * r + r + 1]) == [r] * r + [-1] for r in range(size))
    root, collected = size - 1, array.array("i", [-1] * total)
    comm.gatherv(mine, collected if rank == root else None, counts if rank == root else None, root=root)
    assert rank != root or list(collected) == all_parts
    part = array.array("i", [-1] * rank)
    comm.scatterv(everyone if rank == 0 else None, part, counts)
    assert list(part) == [rank] * rank
    part = array.array("i", [-1] * rank)
    comm.reduce_scatterv(array.array("i", all_parts), part, counts)
    assert list(part) == [rank * size] * rank
    received = array.array("i", [-1] * (rank * size))  # each rank sends r elements to rank r
    comm.all_to_allv(array.array("i", [rank] * total), counts, received, [rank] * size)
    assert list(received) == [r for r in range(size) for _ in range(rank)]
    must_raise(ringccl.InvalidArgument, "one for each rank", comm.all_gatherv, mine, everyone, counts + [0])
    must_raise(ringccl.InvalidArgument, "and needs 100", comm.all_gatherv, mine, everyone, [1000] + counts[1:])
    from ringccl import MPI
    again = array.array("i", [-1] * total)
    comm.Allgatherv(mine, [again, counts, MPI.INT])
    comm.Gatherv(mine, [again, (counts, [sum(counts[:r]) for r in range(size)])] if rank == 0 else None)
    comm.Scatterv([again, counts] if rank == 0 else None, part)
    comm.Reduce_scatter(again, part, counts, MPI.MAX)
    assert list(again) == all_parts and list(part) == [rank] * rank


def other_buffers(comm):
    size = comm.size
    whole = bytearray(struct.pack("=3f", 1, 2, 3))
    comm.all_reduce(whole, dtype=ringccl.FLOAT32)
    assert struct.unpack("=3f", whole) == (size, 2 * size, 3 * size)
    ones = bytearray(b"\x80\x3f" * 4)  # 1 in bfloat16
    comm.all_reduce(ones, dtype=ringccl.BFLOAT16, op=ringccl.MAX)
    assert ones == b"\x80\x3f" * 4
    comm.all_reduce(b"\x01\x02", part := bytearray(2))
    assert list(part) == [size, 2 * size]
    with mmap.mmap(-1, 4096) as pages:
        comm.broadcast(pages)
    matrix = memoryview(array.array("i", range(12))).cast("B").cast("i", (3, 4))
    comm.all_reduce(matrix)
    assert matrix[2, 3] == 11 * size
    tensor = Tensor(8)
    tensor.data[:] = array.array("B", array.array("f", [1.5] * 8).tobytes())
    comm.all_reduce(tensor)
    assert array.array("f", tensor.data.tobytes())[7] == 1.5 * size
    memory = comm.allocate(4096)
    words = memory.view.cast("i")
    words[5] = 7
    comm.all_reduce(words)
    assert words[5] == 7 * size
    must_raise(ringccl.InvalidArgument, "still uses", memory.free)
    words.release()
    memory.free()
    memory.free()


def wrong_buffers(comm):
    """Each is a sentence, and nothing has happened on any rank."""
    invalid, floats = ringccl.InvalidArgument, array.array("f", [1, 2, 3, 4])
    must_raise(invalid, "recv is read-only", comm.all_reduce, floats, bytes(16), dtype=ringccl.FLOAT32)
    must_raise(invalid, "send is read-only", comm.broadcast, b"1234", root=(comm.rank + 1) % (comm.size + 1))
    must_raise(invalid, "gaps", comm.all_reduce, memoryview(floats)[::2])
    must_raise(invalid, "say by dtype=", comm.all_reduce, array.array("h", [1]))
    must_raise(invalid, "elements of 4 bytes", comm.all_reduce, floats, dtype=ringccl.FLOAT64)
    must_raise(invalid, "send has FLOAT32 and recv INT32", comm.all_reduce, floats, array.array("i", [0] * 4))
    must_raise(invalid, "recv has 3 elements, not 4", comm.all_reduce, floats, array.array("f", [0] * 3))
    must_raise(invalid, "neither the buffer protocol nor DLPack", comm.all_reduce, [1.0, 2.0])
    must_raise(invalid, "neither the buffer protocol nor DLPack", comm.all_reduce, None or "text")
    view = memoryview(floats)
    view.release()
    must_raise(invalid, "memory is gone", comm.all_reduce, view)
    pages = mmap.mmap(-1, 4096)
    pages.close()
    must_raise(invalid, "memory is gone", comm.all_reduce, pages)
    must_raise(invalid, "gaps", comm.all_reduce, Tensor(8, strides=(1, 4)))
    must_raise(invalid, "say by dtype=", comm.all_reduce, Tensor(8, code=5, bits=64))
    must_raise(invalid, "neither the CPU nor CUDA", comm.all_reduce, Tensor(8, device=7))
    must_raise(invalid, "root 99", comm.broadcast, floats, root=99)
    must_raise(invalid, "there is no option colour", ringccl.from_env, colour=1)
    must_raise(invalid, "128 bytes, not 3", ringccl.create, b"123", 1, 0)
    if comm.size > 1:
        must_raise(invalid, "cannot share evenly", comm.all_to_all, bytearray(comm.size + 1), bytearray(comm.size + 1))
    try:  # a group with a wrong call makes none of its calls
        with ringccl.group():
            comm.all_reduce(floats)
            comm.all_reduce(view)
    except invalid:
        pass
    assert list(floats) == [1, 2, 3, 4]
    floats.append(5)  # nobody holds it any more
    comm.all_reduce(floats)
    assert floats[4] == 5 * comm.size


def handles(comm):
    stream, size = comm.stream(), comm.size
    many = [array.array("d", [1.0] * 3000) for _ in range(20)]
    given = [comm.all_reduce(one, stream=stream) for one in many]
    must_raise(BufferError, "", many[-1].append, 1.0) if not given[-1].test() else None
    given[-1].wait()
    assert given[0].test() and all(one[2999] == size for one in many)
    for handle in given:
        handle.wait()
        handle.wait()
    many[-1].append(1.0)
    for _ in range(100):  # nobody waits, and nothing is kept for ever
        comm.all_reduce(array.array("d", [1.0]), stream=stream)
    comm.barrier(stream=stream).wait()
    comm.barrier(stream=stream).wait()
    assert len(stream._handles) < 3
    handle = comm.barrier(stream=stream)
    fd = handle.open_fd()
    assert select.select([fd], [], [], 60)[0] == [fd] and handle.test()
    os.close(fd)
    elsewhere = threading.Thread(target=comm.barrier(stream=stream).wait)
    elsewhere.start()
    elsewhere.join()
    stream.close()
    must_raise(ringccl.InvalidArgument, "closed", comm.barrier, stream)


def functions(comm):
    """Operations that are functions: on every type, in every call that reduces, on streams and in groups."""
    rank, size = comm.rank, comm.size

    def multiply(to, other):  # modulo a prime: neither the library's product nor its sum
        for i, x in enumerate(other):
            to[i] = to[i] * x % 10007
    should = 1
    for r in range(size):
        should = should * (r + 2) % 10007
    op, stream = comm.operation(multiply, ringccl.INT64), comm.stream()
    for count in 1, 100, 3000:
        mine = array.array("q", [rank + 2] * count * size)
        comm.all_reduce(mine, total := array.array("q", [0] * count * size), op=op)
        assert list(total) == [should] * count * size
        part = array.array("q", [0] * count)
        comm.reduce_scatter(mine, part, op=op)
        assert list(part) == [should] * count
        with ringccl.group():
            comm.reduce(mine, total, op=op, root=size - 1)
            comm.reduce_scatterv(mine, part, [count] * size, op=op)
        assert list(part) == [should] * count
        handle = comm.all_reduce(mine, op=op, stream=stream)
        handle.wait()
        assert list(mine) == [should] * count * size
    handle = comm.all_reduce(total, op=op, stream=stream)
    comm.drop_op(op)
    handle.wait()
    must_raise(ringccl.InvalidArgument, "not an operation", comm.all_reduce, total, op=op)
    letters = {**TYPES, ringccl.FLOAT16: "H", ringccl.BFLOAT16: "H", ringccl.FLOAT8_E4M3: "B"}

    def larger(to, other):
        assert to.format == letters[type] and other.readonly and len(to) == len(other)
        to[:] = array.array(to.format, map(max, to, other))
    for type, letter in letters.items():
        op = comm.operation(larger, type)
        comm.all_reduce(whole := array.array("B", array.array(letter, [rank + 1, 5]).tobytes()), op=op, dtype=type)
        assert whole == array.array("B", array.array(letter, [size, 5]).tobytes())
        comm.drop_op(op)
    must_raise(ringccl.InvalidArgument, "cannot be called", comm.operation, 7, ringccl.INT64)
    op = comm.operation(larger, ringccl.FLOAT32)
    must_raise(ringccl.InvalidArgument, "was made for float", comm.all_reduce, bytearray(4), op=op)


def wrong_functions(comm):
    """What a function raises its call raises, blocking or not, and nobody goes on."""
    kept = []

    def divide(to, other):
        to[0] //= 0
    for error, function in ((ZeroDivisionError, divide), (BufferError, lambda to, other: kept.append(to[:1])),
                            (BufferError, lambda to, other: kept.append(memoryview(to)))):
        for on_stream in False, True:
            part, seen, one = comm.split(0), array.array("i", [0]), array.array("i", [1])
            op, stream = part.operation(function, ringccl.INT32), part.stream()
            try:
                part.all_reduce(one, op=op, stream=stream).wait() if on_stream else part.all_reduce(one, op=op)
            except error:
                seen[0] = 1
            except ringccl.Aborted as is_raised:  # another rank's function was first
                assert "rank" in str(is_raised)
            comm.all_reduce(seen, op=ringccl.MAX)
            assert seen[0] == (comm.size > 1)  # one rank alone reduces nothing
            must_raise(ringccl.Aborted, "rank", part.barrier) if comm.size > 1 else None
            part.close()


def mpi_names(comm):
    from ringccl import MPI
    rank, size = comm.Get_rank(), comm.Get_size()
    total, mine = array.array("i", [0]), array.array("i", [rank])
    comm.Allreduce(mine, total)
    assert total[0] == size * (size - 1) // 2
    comm.Allreduce(MPI.IN_PLACE, mine, op=MPI.MAX)
    assert mine[0] == size - 1
    parts = array.array("i", [rank] * size)
    comm.Allgather(MPI.IN_PLACE, parts)
    assert list(parts) == list(range(size))
    comm.Sendrecv([parts, MPI.INT], (rank + 1) % size, [other := array.array("i", [0] * size), MPI.INT],
                  (rank - 1) % size)
    assert other == parts
    requests = [comm.Iallreduce(mine, total), comm.Ibcast(parts)]
    MPI.Request.Waitall(requests)
    if size > 1:  # everybody sends first, more than fits into any slot
        large = array.array("i", [rank] * 500000)
        from_all = [array.array("i", [-1] * 500000) for _ in range(size)]
        others = [r for r in range(size) if r != rank]
        requests = [comm.Isend(large, other) for other in others]
        requests += [comm.Irecv(from_all[other], other) for other in reversed(others)]
        MPI.Request.Waitall(requests)
        assert all(from_all[other][-1] == other for other in others)
    part = comm.Split(0, -rank)
    assert part.Get_rank() == size - 1 - rank
    part.Free()
    comm.Barrier()
    bits = array.array("I", [1 << rank])
    comm.Allreduce(MPI.IN_PLACE, bits, op=MPI.BOR)
    assert bits[0] == (1 << size) - 1


def ends(comm):
    """A communicator ends with its block; an exception that leaves the block ends everybody's."""
    before = comm.stats()["calls"]
    with comm.split(0) as part:
        part.barrier()
    must_raise(ringccl.InvalidArgument, "closed", part.barrier)
    assert comm.stats()["calls"] >= before
    none = comm.split(None)
    assert none is None
    doomed = comm.split(0)
    if comm.size == 1:
        doomed.close()
        return
    try:
        with doomed:
            comm.barrier()  # all have it
            if comm.rank == 0:
                raise KeyError("mine")
            started = time.monotonic()
            must_raise(ringccl.Aborted, "rank 0", doomed.barrier)
            assert time.monotonic() - started < 10
            must_raise(ringccl.Aborted, "rank 0", doomed.check)
    except KeyError:
        assert comm.rank == 0
    late = comm.split(0)
    comm.barrier()
    if comm.rank == 0:
        late.abort()
    else:
        thread = threading.Thread(target=must_raise, args=(ringccl.Aborted, "rank 0", late.barrier))
        thread.start()
        thread.join()
    late.close()
    odd = comm.split(0)
    error = ringccl.Mismatch
    must_raise(error, "all_reduce", odd.all_reduce, bytearray(8 if comm.rank else 4))
    odd.close()


def main():
    with ringccl.from_env(call_timeout_ms=60000) as comm:
        for check in (every_call, uneven_parts, other_buffers, wrong_buffers, handles, functions, wrong_functions,
                      mpi_names, ends):
            check(comm)
            comm.barrier()
            if comm.rank == 0:
                print(f"{check.__name__} on {comm.size} ranks", flush=True)


sys.exit(main())
