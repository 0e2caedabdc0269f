# SPDX-License-Identifier: MIT
"""DTensor: two layers are divided among the ranks, the first by columns, the second by rows (tensor parallelism).

    torchrun --nproc-per-node=2 dtensor.py
"""

import copy

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

dist.init_process_group("ring")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))

torch.manual_seed(1)  # the same model and the same input everywhere
whole = nn.Sequential(nn.Linear(32, 96), nn.GELU(), nn.Linear(96, 32))
divided = parallelize_module(copy.deepcopy(whole), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
inputs = torch.randn(8, 32)

wanted, got = whole(inputs), divided(inputs)  # one all_reduce, behind the second layer
wanted.square().sum().backward()
got.square().sum().backward()
gradient = divided[0].weight.grad.full_tensor()  # an all_gather

print(f"rank {dist.get_rank()} has {tuple(divided[0].weight.to_local().shape)} of {tuple(divided[0].weight.shape)}; "
      f"the output differs by {(got - wanted).abs().max().item():.0e}")
torch.testing.assert_close(got, wanted)
torch.testing.assert_close(gradient, whole[0].weight.grad)
dist.destroy_process_group()
