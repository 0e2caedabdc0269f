# SPDX-License-Identifier: MIT
"""The backend "ring" of torch.distributed: collectives of the library ringccl, for tensors on CPUs.

PyTorch finds it by its entry point when a process group asks for "ring"; importing this package
registers it, too:

    torch.distributed.init_process_group("ring")
"""

import atexit

import torch  # its libraries come first
import torch.distributed

from torch_ring import _C

__version__ = "0.2.0"
__all__ = ["register"]


def _create(options, backend_options):
    if backend_options is not None:
        raise ValueError("ring takes no pg_options: variables RING_* set what can be set, see ringccl(7)")
    return _C.create(options)


def register():
    """Makes "ring" known to torch.distributed. Calling it again changes nothing."""
    if "RING" not in torch.distributed.Backend._plugins:
        torch.distributed.Backend.register_backend("ring", _create, extended_api=True, devices=["cpu"])


register()
atexit.register(_C.leave_all)
