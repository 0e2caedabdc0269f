# SPDX-License-Identifier: MIT
"""FSDP2: each rank keeps its share of the parameters, and gathers those of a layer while it computes that layer.

    torchrun --nproc-per-node=2 fsdp.py
"""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("ring")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))

torch.manual_seed(1)  # all begin with the same parameters
layers = [nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(4)]
model = nn.Sequential(*layers, nn.Linear(64, 1))
for layer in layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

torch.manual_seed(100 + rank)  # each has examples of its own
for step in range(30):
    inputs = torch.randn(64, 64)
    loss = (model(inputs).squeeze() - inputs.mean(1)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    dist.all_reduce(mean := loss.detach(), dist.ReduceOp.AVG)
    first = mean.item() if step == 0 else first

here = sum(parameter.to_local().numel() for parameter in model.parameters())
print(f"rank {rank} keeps {here} of {sum(p.numel() for p in model.parameters())} parameters; "
      f"the mean loss went from {first:.4f} to {mean.item():.4f}")
assert mean < first / 2
dist.destroy_process_group()
