# SPDX-License-Identifier: MIT
"""Training over "ring" loses what it loses over gloo: DDP of a small CNN and of a GPT, FSDP2, DTensor, and more."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel as DDP

import ranks

STEPS = 50


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(16 * 4 * 4, 10),
        )

    def forward(self, x):
        return self.body(x)

    @staticmethod
    def batch(generator):
        images = torch.randn(8, 1, 16, 16, generator=generator)
        return images, (images[:, 0, :8].mean((1, 2)) > images[:, 0, 8:].mean((1, 2))).long()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


class GPT(nn.Module):
    def __init__(self, words=32, length=16, width=64, layers=2, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x)).transpose(1, 2)

    @staticmethod
    def batch(generator):
        start = torch.randint(0, 32, (4, 1), generator=generator)
        text = (start + 3 * torch.arange(17)).remainder(32)
        return text[:, :-1], text[:, 1:]


def losses(kind, rank, group):
    torch.manual_seed(1)
    model = DDP(kind(), process_group=group, bucket_cap_mb=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + rank)
    found = []
    for _ in range(STEPS):
        inputs, wanted = kind.batch(generator)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def compare_with_gloo(rank, size, kind):
    ours = losses(kind, rank, None)
    theirs = losses(kind, rank, dist.new_group(backend="gloo"))
    furthest = max(abs(one - other) for one, other in zip(ours, theirs))
    assert furthest < 1e-5, f"losses differ by {furthest}"
    assert sum(ours[-10:]) < sum(ours[:10]), f"it does not learn: {ours}"
    return furthest, ours[-1]


def ddp(kind, sizes):
    def case():
        said = []
        for size in sizes:
            ends = ranks.run(size, compare_with_gloo, kind, seconds=120)
            said.append(f"{size} ranks: at most {max(end[0] for end in ends):.1e} from gloo, loss {ends[0][1]:.3f}")
        return "; ".join(said)

    return case


def hooks(rank, size):
    """Futures: a hook of DDP that makes further calls, and waits for them."""
    torch.manual_seed(1)
    model = DDP(nn.Linear(50, 50), bucket_cap_mb=0.001)

    def hook(_, bucket):
        def again(future):
            total = future.value()[0]
            dist.all_reduce(extra := torch.ones(1), async_op=True).get_future().wait()
            return total / (size * extra.item() / size)

        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(again)

    model.register_comm_hook(None, hook)
    inputs = torch.full((4, 50), float(rank + 1))
    for _ in range(3):
        model.zero_grad()
        model(inputs).sum().backward()
        wanted = 4.0 * sum(r + 1 for r in range(size)) / size
        assert torch.allclose(model.module.weight.grad, torch.full((50, 50), wanted))


def fsdp(rank, size):
    """The losses of one process with the whole batch."""
    torch.manual_seed(1)
    alone, sharded = GPT(), GPT()
    sharded.load_state_dict(alone.state_dict())
    mesh = init_device_mesh("cpu", (size,))
    for block in sharded.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-3) for model in (alone, sharded)]
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        inputs, wanted = zip(*(GPT.batch(generator) for _ in range(size)))
        for optimizer in optimizers:
            optimizer.zero_grad()
        whole = F.cross_entropy(alone(torch.cat(inputs)), torch.cat(wanted))
        mine = F.cross_entropy(sharded(inputs[rank]), wanted[rank])
        whole.backward()
        mine.backward()
        for optimizer in optimizers:
            optimizer.step()
        dist.all_reduce(mean := mine.detach().clone(), dist.ReduceOp.AVG)
        assert abs(mean - whole) < 1e-4, f"{mean} is not {whole}"


def dtensors(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(1)
    left, right = torch.randn(8 * size, 6), torch.randn(6, 5 * size + 1)
    rows = distribute_tensor(left, mesh, [Shard(0)])
    columns = distribute_tensor(right, mesh, [Shard(1)])  # the last is uneven
    assert torch.allclose((rows @ columns).full_tensor(), left @ right, atol=1e-5)
    assert torch.equal(rows.redistribute(mesh, [Shard(1)]).full_tensor(), left)
    assert torch.equal(rows.redistribute(mesh, [Replicate()]).to_local(), left)
    inner = distribute_tensor(left.t().contiguous(), mesh, [Shard(1)]) @ rows
    assert torch.allclose(inner.full_tensor(), left.t() @ left, atol=1e-4)
    assert isinstance(inner, DTensor)


def functions(rank, size):
    """Functional collectives, also as a compiler sees them."""
    group = dist.group.WORLD
    ones = torch.ones(4, 2) * (rank + 1)
    total = sum(r + 1 for r in range(size))
    assert (functional.all_reduce(ones, "sum", group) == total).all()
    assert functional.all_gather_tensor(ones, 0, group).shape == (4 * size, 2)
    assert (functional.reduce_scatter_tensor(ones.repeat(size, 1), "avg", 0, group) == total / size).all()
    swapped = functional.all_to_all_single(ones.repeat(size, 1), [4] * size, [4] * size, group)
    assert torch.equal(swapped[::4, 0], torch.arange(1.0, size + 1))

    @torch.compile(backend="aot_eager")
    def compiled(x):
        return functional.all_gather_tensor(functional.all_reduce(x * 2, "sum", group), 0, group).sum()

    assert compiled(ones).item() == 2 * total * 8 * size


def every(body, sizes=(2, 3)):
    def case():
        for size in sizes:
            ranks.run(size, body, seconds=120)

    return case


ranks.main({
    "cnn": ddp(CNN, (2, 3)),
    "gpt": ddp(GPT, (2, 3)),
    "hooks": every(hooks),
    "fsdp": every(fsdp),
    "dtensors": every(dtensors),
    "functions": every(functions),
})
