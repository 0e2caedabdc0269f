/* SPDX-License-Identifier: MIT */
/*
 * Calls of the driver that the library never makes, but programs that use it do: the fake driver
 * has them too, and the tests call them. In the form of kernels/cuda/driver.h.
 */
#ifndef MORE_CALLS_H
#define MORE_CALLS_H

#include "kernels/cuda/driver.h"

struct CUgraph_st;     /* what was captured          */
struct CUgraphExec_st; /* the same, ready to launch  */

#define MORE_CUDA_CALLS(X)                                                                          \
	X(function_load, cuFuncLoad, (struct CUfunc_st * function))                                 \
	X(memory_alloc_pooled, cuMemAllocAsync,                                                     \
	  (void **memory, size_t bytes, struct CUstream_st *stream))                                \
	X(memory_alloc_managed, cuMemAllocManaged, (void **memory, size_t bytes, unsigned flags))   \
	X(memory_copy_now, cuMemcpy, (void *dst, const void *src, size_t bytes))                    \
	/* graphs */                                                                                \
	X(capture_begin, cuStreamBeginCapture_v2, (struct CUstream_st * stream, int mode))          \
	X(is_capturing, cuStreamIsCapturing, (struct CUstream_st * stream, int *status))            \
	X(capture_end, cuStreamEndCapture,                                                          \
	  (struct CUstream_st * stream, struct CUgraph_st * *graph))                                \
	X(graph_instantiate, cuGraphInstantiateWithFlags,                                           \
	  (struct CUgraphExec_st * *exec, struct CUgraph_st * graph, unsigned long long flags))     \
	X(graph_nodes, cuGraphGetNodes, (struct CUgraph_st * graph, void *nodes, size_t *count))    \
	X(graph_launch, cuGraphLaunch, (struct CUgraphExec_st * exec, struct CUstream_st * stream)) \
	X(graph_exec_destroy, cuGraphExecDestroy, (struct CUgraphExec_st * exec))                   \
	X(graph_destroy, cuGraphDestroy, (struct CUgraph_st * graph))

enum more_cuda_result {
	CUDA_INVALID_IMAGE = 200,
	CUDA_PEER_ACCESS_UNSUPPORTED = 217,
	CUDA_ILLEGAL_STATE = 401,
	CUDA_CAPTURE_MERGE = 902,
	CUDA_CAPTURE_UNMATCHED = 903,
	CUDA_CAPTURE_UNJOINED = 904,
	CUDA_CAPTURE_ISOLATION = 905,
	CUDA_CAPTURED_EVENT = 907,
	CUDA_CAPTURE_WRONG_THREAD = 908,
};

/* Who may make calls that are unsafe while streams are captured: cuStreamBeginCapture's modes. */
enum cuda_capture_mode {
	CUDA_CAPTURE_GLOBAL,       /* nobody                           */
	CUDA_CAPTURE_THREAD_LOCAL, /* whoever does not capture himself */
	CUDA_CAPTURE_RELAXED,      /* everybody                        */
};

enum {
	CUDA_POINTER_FOR_RDMA = 15, /* RDMA devices may move what lies there */
};

enum cuda_capture_status {
	CUDA_CAPTURE_STATUS_INVALIDATED = 2,
};

#endif
