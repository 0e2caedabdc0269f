# SPDX-License-Identifier: MIT
"""Every call of torch.distributed on every type, against what one process computes."""

import functools
import itertools

import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

import ranks

INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2]
COMPLEX = [torch.complex64, torch.complex128]
OPS = ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
COUNTS = [0, 1, 17, 1000]


def values(dtype, rank, count, salt=0):
    """Small numbers, so that sums and products are exact in every type."""
    generator = torch.Generator().manual_seed(1000 * salt + rank)
    whole = torch.randint(0, 3, (count,), generator=generator)
    if dtype.is_complex:
        return torch.complex(whole.double(), whole.flip(0).double()).to(dtype)
    if dtype == torch.bool:
        return whole > 1
    return whole.to(dtype)


FOLDS = {
    "PRODUCT": torch.mul,
    "MIN": torch.minimum,
    "MAX": torch.maximum,
    "BAND": torch.bitwise_and,
    "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor,
}


def expected(op, parts):
    dtype, size = parts[0].dtype, len(parts)
    if dtype == torch.bool:
        folds = {**FOLDS, "SUM": torch.logical_or, "PRODUCT": torch.logical_and, "MIN": torch.logical_and, "MAX": torch.logical_or}
        return functools.reduce(folds[op], parts)
    wide = [part.to(torch.int64 if dtype in INTEGERS else torch.complex128 if dtype.is_complex else torch.float64) for part in parts]
    if op not in ("SUM", "AVG"):
        return functools.reduce(FOLDS[op], wide).to(dtype)
    total = functools.reduce(torch.add, wide)
    if op == "AVG" and dtype in INTEGERS:
        return torch.div(total, size, rounding_mode="trunc").to(dtype)
    if op == "AVG":
        total = total / size if total.is_complex() or dtype == torch.float64 else total.float() / size
    return total.to(dtype)


def has(op, dtype):
    if dtype.is_complex:
        return op in ("SUM", "AVG")
    if dtype == torch.bool:
        return op != "AVG"
    return dtype in INTEGERS or op not in ("BAND", "BOR", "BXOR")


def same(found, wanted, what):
    """Equal but for one rounding of averages."""
    close = found.dtype in (torch.float32, torch.float64, *COMPLEX) and torch.allclose(found, wanted)
    bits = torch.uint8
    equal = found.shape == wanted.shape and torch.equal(found.contiguous().view(bits), wanted.contiguous().view(bits)) if found.dim() else torch.equal(found, wanted)
    assert close or equal, f"{what}: {found} is not {wanted}"


def refuses(error, call, words):
    try:
        call()
    except error as raised:
        assert words in str(raised), f"{words!r} is not in {raised}"
        return
    raise AssertionError(f"no {error} with {words!r}")


def reductions(rank, size):
    for dtype, op in itertools.product([*INTEGERS, *FLOATS, *COMPLEX, torch.bool], OPS):
        for count in COUNTS:
            parts = [values(dtype, r, count) for r in range(size)]
            what = f"{op} {dtype} {count}"
            tensor = parts[rank].clone()
            if not has(op, dtype):
                backend = dist.group.WORLD._get_backend(torch.device("cpu"))
                options = dist.AllreduceOptions()
                options.reduceOp = getattr(ReduceOp, op)
                refuses(ValueError, lambda: backend.allreduce([tensor], options), op)
                continue
            wanted = expected(op, parts)
            dist.all_reduce(tensor, getattr(ReduceOp, op))
            same(tensor, wanted, f"all_reduce {what}")
            tensor = parts[rank].clone()
            dist.reduce(tensor, size - 1, getattr(ReduceOp, op))
            same(tensor, wanted if rank == size - 1 else parts[rank], f"reduce {what}")


def factors(rank, size):
    for dtype in [torch.int32, torch.float16, torch.bfloat16, torch.float32, torch.float64]:
        tensor = values(dtype, rank, 100)
        wanted = sum((r + 2) * values(dtype, r, 100).double() for r in range(size)).to(dtype)
        made = dist._make_nccl_premul_sum(float(rank + 2)) if rank % 2 else dist._make_nccl_premul_sum(torch.tensor([rank + 2.0]))
        dist.all_reduce(tensor, made)
        same(tensor, wanted, f"PREMUL_SUM {dtype}")


def scatters(rank, size):
    for dtype, op in itertools.product([torch.int16, torch.float32, torch.bfloat16, torch.bool, torch.complex64], ["SUM", "AVG", "MAX"]):
        if not has(op, dtype):
            continue
        whole = [values(dtype, r, 7 * size) for r in range(size)]
        wanted = expected(op, [part[7 * rank : 7 * rank + 7] for part in whole])
        output = torch.empty(7, dtype=dtype)
        dist.reduce_scatter_tensor(output, whole[rank].clone(), getattr(ReduceOp, op))
        same(output, wanted, f"reduce_scatter_tensor {op} {dtype}")
        output = torch.empty(7, dtype=dtype)
        dist.reduce_scatter(output, list(whole[rank].clone().chunk(size)), getattr(ReduceOp, op))
        same(output, wanted, f"reduce_scatter {op} {dtype}")
    lengths = [3 * r for r in range(size)]  # the first is empty
    whole = [values(torch.float32, r, sum(lengths)) for r in range(size)]
    output = torch.empty(lengths[rank])
    dist.reduce_scatter(output, list(whole[rank].split(lengths)))
    same(output, sum(whole).split(lengths)[rank], "reduce_scatter of uneven parts")


MOVED = [*INTEGERS, *FLOATS, *COMPLEX, torch.bool, torch.float8_e4m3fnuz, torch.complex32]


def filled(dtype, rank, count):
    """Any bits, as nothing is computed."""
    generator = torch.Generator().manual_seed(rank)
    size = torch.empty(0, dtype=dtype).element_size()
    raw = torch.randint(0, 2, (count * size,), generator=generator, dtype=torch.uint8)
    return raw.view(dtype)


def moves(rank, size):
    for dtype, count in itertools.product(MOVED, COUNTS):
        parts = [filled(dtype, r, count) for r in range(size)]
        whole = torch.cat([part.view(torch.uint8) for part in parts]).view(dtype)
        what = f"{dtype} {count}"
        tensor = parts[rank].clone()
        dist.broadcast(tensor, size - 1)
        same(tensor, parts[size - 1], f"broadcast {what}")
        output = torch.empty(size * count, dtype=dtype)
        dist.all_gather_into_tensor(output, parts[rank])
        same(output, whole, f"all_gather_into_tensor {what}")
        outputs = [torch.empty(count, dtype=dtype) for _ in range(size)]
        dist.all_gather(outputs, parts[rank])
        for r in range(size):
            same(outputs[r], parts[r], f"all_gather {what}")
        outputs = [torch.empty(count, dtype=dtype) for _ in range(size)] if rank == 0 else None
        dist.gather(parts[rank], outputs, 0)
        for r in range(size if rank == 0 else 0):
            same(outputs[r], parts[r], f"gather {what}")
        output = torch.empty(count, dtype=dtype)
        dist.scatter(output, parts if rank == size - 1 else None, size - 1)
        same(output, parts[rank], f"scatter {what}")
        output = torch.empty(size * count, dtype=dtype)
        dist.all_to_all_single(output, parts[rank].view(torch.uint8).repeat(size).view(dtype))
        same(output, whole, f"all_to_all_single {what}")
    in_place = torch.cat([filled(torch.float32, r, 5) * (r == rank) for r in range(size)])
    dist.all_gather_into_tensor(in_place, in_place[5 * rank : 5 * rank + 5])
    same(in_place, torch.cat([filled(torch.float32, r, 5) for r in range(size)]), "in place")


def uneven(rank, size):
    mine = torch.full((rank + 1, 2), float(rank))
    outputs = [torch.empty(r + 1, 2) for r in range(size)]
    dist.all_gather(outputs, mine)
    for r in range(size):
        same(outputs[r], torch.full((r + 1, 2), float(r)), "all_gather of uneven parts")
    outputs = [torch.empty(r + 1, 2) for r in range(size)] if rank == 0 else None
    dist.gather(mine, outputs, 0)
    for r in range(size if rank == 0 else 0):
        same(outputs[r], torch.full((r + 1, 2), float(r)), "gather of uneven parts")
    dist.scatter(got := torch.empty(rank + 1), [torch.full((r + 1,), r + 0.5) for r in range(size)] if rank == 0 else None, 0)
    same(got, torch.full((rank + 1,), rank + 0.5), "scatter of uneven parts")
    whole = [values(torch.complex64, r, size * (size + 1) // 2) for r in range(size)]
    dist.reduce_scatter(got := torch.empty(rank + 1, dtype=torch.complex64), list(whole[rank].split([r + 1 for r in range(size)])))
    same(got, sum(whole).split([r + 1 for r in range(size)])[rank], "reduce_scatter of uneven parts")
    # Rank r sends (r + to) rows to rank `to`, so rank 0 keeps none of its own.
    lengths = [rank + r for r in range(size)]
    rows = torch.cat([torch.full((rank + to, 3), 10.0 * rank + to) for to in range(size)])
    wanted = torch.cat([torch.full((rank + r, 3), 10.0 * r + rank) for r in range(size)])
    output = torch.empty_like(wanted)
    dist.all_to_all_single(output, rows, lengths, lengths)
    same(output, wanted, "all_to_all_single of uneven parts")
    outputs = [torch.empty(rank + r, 3) for r in range(size)]
    dist.all_to_all(outputs, list(rows.split(lengths)))
    same(torch.cat(outputs), wanted, "all_to_all of uneven parts")


def strides(rank, size):
    """Tensors that do not lie as they are read."""
    matrix = torch.arange(12.0).view(3, 4).t() + rank
    assert not matrix.is_contiguous()
    dist.all_reduce(matrix)
    same(matrix.contiguous(), sum(torch.arange(12.0).view(3, 4).t() + r for r in range(size)).contiguous(), "all_reduce")
    image = torch.full((2, 3, 4, 5), float(rank)).to(memory_format=torch.channels_last)
    if rank == 0:
        image = image.contiguous()  # strides differ from rank to rank
    dist.broadcast(image, size - 1)
    same(image.contiguous(), torch.full((2, 3, 4, 5), float(size - 1)), "broadcast")
    outputs = [torch.empty(4, 3).t() for _ in range(size)]
    dist.all_gather(outputs, torch.arange(12.0).view(4, 3).t() * (rank + 1))
    for r in range(size):
        same(outputs[r].contiguous(), (torch.arange(12.0).view(4, 3).t() * (r + 1)).contiguous(), "all_gather")
    conjugated = torch.tensor([1 + 2j, 3 - 1j]).conj()
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    backend._allgather_base(output := torch.empty(2 * size, dtype=torch.complex64), conjugated).wait()
    same(output, torch.tensor([1 - 2j, 3 + 1j] * size), "conjugated")
    leaf = torch.ones(3, requires_grad=True)
    dist.all_reduce(leaf.detach())
    same(leaf.detach(), torch.full((3,), float(size)), "leaf")


def sparse(rank, size):
    tensor = torch.sparse_coo_tensor([[rank, 0, 2 * rank]], [1.0, 2.0, 3.0], (2 * size,))
    dense = sum(torch.sparse_coo_tensor([[r, 0, 2 * r]], [1.0, 2.0, 3.0], (2 * size,)).to_dense() for r in range(size))
    dist.all_reduce(tensor)
    same(tensor.to_dense(), dense, "sparse all_reduce")
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    refuses(ValueError, lambda: backend.broadcast([tensor], dist.BroadcastOptions()), "takes dense tensors")


def coalesced(rank, size):
    tensors = [torch.full((n,), float(rank + n)) for n in (1, 5, 70000)]
    dist.all_reduce_coalesced(tensors)
    for n, tensor in zip((1, 5, 70000), tensors):
        same(tensor, torch.full((n,), float(sum(r + n for r in range(size)))), "all_reduce_coalesced")
    tensors = [torch.full((n,), float(rank)) for n in (3, 4)]
    outputs = [torch.empty(n * size) for n in (3, 4)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for output, tensor in zip(outputs, tensors):
            dist.all_gather_into_tensor(output, tensor)
    manager.wait()
    for n, output in zip((3, 4), outputs):
        same(output, torch.arange(float(size)).repeat_interleave(n), "coalesced all_gather")
    outputs = [torch.empty(n) for n in (3, 4)]
    with dist._coalescing_manager():
        for n, output in zip((3, 4), outputs):
            dist.reduce_scatter_tensor(output, torch.arange(float(size)).repeat_interleave(n))
    for output in outputs:
        same(output, torch.full_like(output, float(rank * size)), "coalesced reduce_scatter")
    with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.broadcast(first := torch.tensor([float(rank)]), 0)
        dist.broadcast(second := torch.tensor([float(rank)]), size - 1)
    manager.wait()
    assert first.item() == 0 and second.item() == size - 1


def objects(rank, size):
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "long": "x" * 1000 * rank})
    assert [one["rank"] for one in gathered] == list(range(size))
    assert len(gathered[-1]["long"]) == 1000 * (size - 1)
    said = [f"from {rank}", rank]
    dist.broadcast_object_list(said, size - 1)
    assert said == [f"from {size - 1}", size - 1]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object((rank, "!"), gathered, 0)
    assert rank or gathered == [(r, "!") for r in range(size)]


def mistakes(rank, size):
    """Each is refused with a sentence, at once, and the group goes on."""
    refuses(ValueError, lambda: dist.all_gather_into_tensor(torch.empty(size + 1), torch.empty(1)), "elements")
    refuses(TypeError, lambda: dist.all_gather_into_tensor(torch.empty(size, dtype=torch.int32), torch.empty(1)), "types")
    refuses(ValueError, lambda: dist.all_to_all_single(torch.empty(size), torch.empty(size), [1] * size, [2] * size), "split sizes")
    overlapping = torch.zeros(size + 1)
    if size > 1:
        wrong = 1 + (rank + 1) % size
        refuses(ValueError, lambda: dist.all_gather_into_tensor(overlapping[1:], overlapping[wrong : wrong + 1]), "overlap")
    dist.barrier()
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    assert tensor.item() == size


def every(body, sizes=(1, 2, 3)):
    def case():
        for size in sizes:
            ranks.run(size, body)

    return case


ranks.main({
    body.__name__: every(body)
    for body in (reductions, factors, scatters, moves, uneven, strides, sparse, coalesced, objects, mistakes)
})
