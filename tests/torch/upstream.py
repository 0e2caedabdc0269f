# SPDX-License-Identifier: MIT
"""PyTorch's own tests of a backend for CPUs, torch.testing._internal.distributed.distributed_test, over "ring".

They name the backends that they know. What they ask of gloo, the backend for CPUs, is asked of "ring" here: their
text is read with that name in its place, and nothing else is changed.

    upstream.py RANKS              the named cases below
    upstream.py RANKS all          every case
    upstream.py RANKS test_...     these
"""

import collections
import importlib.util
import os
import re
import sys
import tempfile
import types
import unittest

RANKS = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory()
os.environ.update(BACKEND="ring", WORLD_SIZE=RANKS, MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1",
                  DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="100",  # of a case, whose ranks then say where they are
                  INIT_METHOD=f"file://{FOLDER.name}/store")

import torch
import torch_ring  # not found by itself: the tests look before they make a group
from torch.testing._internal import common_distributed

torch.set_num_threads(1)
NAME = "torch.testing._internal.distributed.distributed_test"

# What has no place here, and why. All other cases pass, or skip by themselves.
UNFIT = {
    "test_ddp_logging_data_cpu": "PyTorch calls all backends that it does not know \"custom\" there",
}

# What CI runs: what is not skipped on both 2 and 3 ranks.
NAMED = """
test_Backend_enum_class test_DistributedDataParallelCPU test_DistributedDataParallelCPU_grad_is_view
test_DistributedDataParallel_requires_grad test_accumulate_gradients_no_sync
test_accumulate_gradients_no_sync_allreduce_hook test_accumulate_gradients_no_sync_allreduce_with_then_hook
test_accumulate_gradients_no_sync_grad_is_view test_all_gather test_all_gather_coalesced_complex
test_all_gather_coalesced_full_group test_all_gather_coalesced_group test_all_gather_coalesced_simple
test_all_gather_coalesced_with_empty test_all_gather_complex test_all_gather_full_group test_all_gather_group
test_all_gather_object_default_pg test_all_gather_object_subgroup test_all_reduce_coalesced_full_group_max
test_all_reduce_coalesced_full_group_min test_all_reduce_coalesced_full_group_product
test_all_reduce_coalesced_full_group_sum test_all_reduce_coalesced_group_max test_all_reduce_coalesced_group_min
test_all_reduce_coalesced_group_product test_all_reduce_coalesced_group_sum test_all_reduce_coalesced_max
test_all_reduce_coalesced_max_complex_unsupported test_all_reduce_coalesced_min test_all_reduce_coalesced_product
test_all_reduce_coalesced_sum test_all_reduce_complex_unsupported_ops test_all_reduce_full_group_max
test_all_reduce_full_group_min test_all_reduce_full_group_product test_all_reduce_full_group_sum
test_all_reduce_group_max test_all_reduce_group_min test_all_reduce_group_product test_all_reduce_group_sum
test_all_reduce_max test_all_reduce_min test_all_reduce_product test_all_reduce_sum test_all_reduce_sum_async
test_all_reduce_sum_complex test_all_to_all test_all_to_all_complex test_all_to_all_full_group test_all_to_all_group
test_all_to_all_single_equal_split test_all_to_all_single_equal_split_complex
test_all_to_all_single_equal_split_full_group test_all_to_all_single_equal_split_group
test_all_to_all_single_unequal_split test_all_to_all_single_unequal_split_complex
test_all_to_all_single_unequal_split_full_group test_all_to_all_single_unequal_split_group test_barrier
test_barrier_full_group test_barrier_group test_barrier_timeout_full_group test_barrier_timeout_global
test_barrier_timeout_group test_batch_isend_irecv_gloo test_batch_isend_irecv_gloo_tags test_broadcast
test_broadcast_full_group test_broadcast_group test_ddp_create_graph test_destroy_full_group test_destroy_group
test_dump_DDP_relevant_env_vars test_gather test_gather_checks test_gather_full_group test_gather_group
test_get_backend test_get_future test_get_rank test_get_rank_size_full_group test_get_rank_size_group
test_grads_same_across_ranks_with_no_sync test_irecv test_isend test_isend_autograd_profiler test_isend_torch_profiler
test_monitored_barrier_failure_order test_monitored_barrier_gloo test_monitored_barrier_gloo_rank_0_timeout
test_monitored_barrier_gloo_subgroup test_monitored_barrier_wait_all_ranks test_reduce_full_group_max
test_reduce_full_group_min test_reduce_full_group_product test_reduce_full_group_sum test_reduce_group_max
test_reduce_group_min test_reduce_group_product test_reduce_group_sum test_reduce_max test_reduce_min
test_reduce_product test_reduce_sum test_reduce_sum_twice test_scatter test_scatter_checks test_scatter_complex
test_scatter_full_group test_scatter_group test_scatter_object_list test_send_recv test_send_recv_any_source
test_send_recv_any_source_autograd_profiler test_send_recv_any_source_torch_profiler test_send_recv_autograd_profiler
test_send_recv_torch_profiler test_send_recv_with_tag test_send_recv_with_tag_autograd_profiler
test_send_recv_with_tag_torch_profiler test_sparse_all_reduce_sum test_static_graph_api_cpu
"""


def load():
    """The module of the tests, in which "ring" is the backend for CPUs."""
    for feature, backends in common_distributed.DistTestCases.backend_feature.items():
        if feature == "plugin" or "gloo" in backends:
            backends.add("ring")
    if int(RANKS) > 2:  # those of subgroups have ranks 0 to 2; PyTorch itself asks others than MPI for 8
        common_distributed.skip_if_small_worldsize = lambda case: case
    path = importlib.util.find_spec(NAME).origin
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'(BACKEND\s*(?:!=|==)\s*)"gloo"', r'\1"ring"', text)
    text = re.sub(r'BACKEND != "mpi"(,\s+"Only MPI supports)', r'BACKEND != "ring"\1', text)
    text = text.replace('require_backend_is_available({"gloo"})', 'require_backend_is_available({"ring"})')
    text = text.replace("    dist.Backend.GLOO,\n", '    dist.Backend.GLOO,\n    "ring",\n')
    module = types.ModuleType(NAME)
    module.__file__ = path
    sys.modules[NAME] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


tests = load()


class TestRing(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)  # torch is imported once


def main():
    asked = sys.argv[2:]
    names = [name for name in dir(TestRing) if name.startswith("test_")]
    if not asked:
        names = [name for name in names if name in NAMED.split()]
    elif asked != ["all"]:
        names = [name for name in names if name in asked]
    suite = unittest.TestSuite(TestRing(name) for name in names if name not in UNFIT)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if asked == ["all"]:
        for reason, times in collections.Counter(reason for _, reason in result.skipped).most_common():
            print(f"{times:4} skipped: {reason}")
    print(f"{RANKS} ranks: {result.testsRun} cases, {len(result.skipped)} skipped, "
          f"{len(result.failures) + len(result.errors)} failed", flush=True)
    sys.exit(not result.wasSuccessful())


main()
