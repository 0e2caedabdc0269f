# SPDX-License-Identifier: MIT
"""Functional collectives return their results, so torch.compile takes them into its graph like any other operation.

    torchrun --nproc-per-node=2 compiled.py
"""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

dist.init_process_group("ring")
rank, size = dist.get_rank(), dist.get_world_size()
group = dist.group.WORLD


def centred(rows):
    """The rows of all ranks, less the mean of them all."""
    mean = functional.all_reduce(rows.mean(0), "avg", group)
    return functional.all_gather_tensor(rows - mean, 0, group)


rows = torch.arange(6.0).reshape(3, 2) + 10 * rank
# fullgraph: an error if it had to leave the graph. Without the backend named here, code is generated for a C++ compiler.
got = torch.compile(centred, fullgraph=True, backend="aot_eager")(rows)

print(f"rank {rank} has {len(got)} rows, the first of which is {got[0].tolist()}")
everything = torch.cat([torch.arange(6.0).reshape(3, 2) + 10 * r for r in range(size)])
torch.testing.assert_close(got, everything - everything.mean(0))
dist.destroy_process_group()
