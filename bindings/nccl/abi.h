/* SPDX-License-Identifier: MIT */
/*
 * What programs that were compiled for NCCL contain of it: numbers, layouts, and how its functions
 * are named. The text is our own: no header of NVIDIA's is needed to build this, or used.
 */
#ifndef NCCL_ABI_H
#define NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What ncclGetVersion() tells, as callers branch on it: the newest version all of whose collective
 * calls work here (2.28.3). Functions of later versions that are here, work as well.
 */
#define NCCL_VERSION_HERE 22803

enum nccl_result {
	NCCL_SUCCESS = 0,
	NCCL_CUDA_ERROR = 1,
	NCCL_SYSTEM_ERROR = 2,
	NCCL_INTERNAL_ERROR = 3,
	NCCL_INVALID_ARGUMENT = 4,
	NCCL_INVALID_USAGE = 5,
	NCCL_REMOTE_ERROR = 6,
	NCCL_IN_PROGRESS = 7,
	NCCL_TIMEOUT = 8, /* since 2.30, which callers of this version do not know */
};

enum nccl_residence { NCCL_SCALAR_ON_DEVICE = 0, NCCL_SCALAR_ON_HOST = 1 };

enum {
	NCCL_MAGIC = (int)0xcafebeef, /* of every struct that begins with its size */
	NCCL_UNDEFINED = INT32_MIN,   /* a field that was left out */
	NCCL_BUILT_IN_OPS = 5,        /* operations that were made have larger numbers */
	NCCL_SHRINK_ABORT = 1,        /* flags of ncclCommShrink() */
};

/*
 * Settings of a communicator. Versions have added fields at the end only; a program's struct is as
 * long as `size` says.
 */
struct nccl_config {
	size_t size;
	uint32_t magic, version; /* of the header that the program was compiled with */
	int32_t blocking, cga_cluster_size, min_ctas, max_ctas;
	const char *net_name;
	int32_t split_share, traffic_class;
	const char *comm_name;
	int32_t collnet_enable, cta_policy, shrink_share, nvls_ctas;
	int32_t channels_per_net_peer, nvlink_centric;
	int32_t graph_usage, rma_contexts;
	int32_t p2p_peers;
	int32_t graph_ordering;
};

/* What ncclCommQueryProperties() fills, as far as the caller's `size` goes. */
struct nccl_properties {
	size_t size;
	uint32_t magic, version;
	int32_t rank, size_of_comm, device, nvml_device;
	bool device_calls, multimem;
	int32_t gin;
	int32_t load_store_teams;
	bool host_rma;
	int32_t railed_gin;
};

/* Ranks first, first + stride ... as seen by one of them. */
struct nccl_team {
	int32_t size, rank, stride;
};

/* Of one element; 0: it is no type. */
static inline size_t nccl_type_bytes(int type)
{
	static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return type >= 0 && type < (int)sizeof(bytes) ? bytes[type] : 0;
}

/*
 * Begins the definition of a function. Each has two names: ncclX is weak, for tools that put a
 * function of their own in front of it, which then calls pncclX.
 */
#define NCCL_CALL(type, name, ...)                                                                 \
	__attribute__((visibility("default"))) type p##name(__VA_ARGS__);                          \
	__attribute__((visibility("default"), weak, alias("p" #name))) type name(__VA_ARGS__);     \
	type p##name(__VA_ARGS__)

#endif
