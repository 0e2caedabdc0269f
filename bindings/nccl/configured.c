/* SPDX-License-Identifier: MIT */
/*
 * Calls with settings of their own, which NCCL 2.31 added. How much of a GPU they may use is a hint
 * here; what programs rely on is done, or refused.
 */
#include "error.h"
#include "group.h"

/* Settings of one call; programs' structs are as long as `size` says. */
struct call_config {
	size_t size;
	uint32_t magic, version;
	const void *extensions; /* other vendors' */
	int32_t min_ctas, max_ctas, nvls_ctas, cga_cluster_size;
	const char *algorithm;
	int32_t must_be_that, cta_policy;
	uint64_t tag;
	void *launched; /* an event */
};

static bool says(const struct call_config *config, size_t end, const void *value)
{
	return config->size >= end && value;
}

/* returns NCCL_SUCCESS; what the call ends with instead */
static int check(const struct call_config *config, const char *call)
{
#define SAYS(field)                                                                                \
	says(config, offsetof(struct call_config, field) + sizeof(config->field), config->field)
	if (!config)
		return NCCL_SUCCESS;
	if (config->size < offsetof(struct call_config, extensions) ||
	    config->magic != (uint32_t)NCCL_MAGIC)
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "%s: the configuration was not initialized: begin with "
				   "NCCL_COLLCONFIG_INITIALIZER",
				   call);
	if (SAYS(launched))
		return nccl_refuse(NCCL_INVALID_USAGE,
				   "%s: launchCompletionEvent: no kernel is launched here", call);
	if (SAYS(algorithm) && *config->algorithm && config->must_be_that)
		return nccl_refuse(NCCL_INVALID_USAGE,
				   "%s: algSelection: RING_ALGORITHM says which algorithm is to be "
				   "used, for all calls of a communicator",
				   call);
	return NCCL_SUCCESS;
#undef SAYS
}

#define UNPACK(...) __VA_ARGS__

/* CONFIGURED(name, (parameters), (arguments)): of the call without settings. */
#define CONFIGURED(name, parameters, arguments)                                                    \
	int p##name(UNPACK parameters);                                                            \
	NCCL_CALL(int, name##Config, UNPACK parameters, const struct call_config *config)          \
	{                                                                                          \
		int refused = check(config, #name "Config");                                       \
		return refused ? nccl_group_note(refused) : p##name arguments;                     \
	}

CONFIGURED(ncclAllReduce,
	   (const void *send, void *recv, size_t count, int type, int op, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, op, comm, stream))
CONFIGURED(ncclReduceScatter,
	   (const void *send, void *recv, size_t count, int type, int op, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, op, comm, stream))
CONFIGURED(ncclReduce,
	   (const void *send, void *recv, size_t count, int type, int op, int root,
	    struct ncclComm *comm, void *stream),
	   (send, recv, count, type, op, root, comm, stream))
CONFIGURED(ncclAllGather,
	   (const void *send, void *recv, size_t count, int type, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, comm, stream))
CONFIGURED(ncclAlltoAll,
	   (const void *send, void *recv, size_t count, int type, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, comm, stream))
CONFIGURED(ncclBroadcast,
	   (const void *send, void *recv, size_t count, int type, int root, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, root, comm, stream))
CONFIGURED(ncclGather,
	   (const void *send, void *recv, size_t count, int type, int root, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, root, comm, stream))
CONFIGURED(ncclScatter,
	   (const void *send, void *recv, size_t count, int type, int root, struct ncclComm *comm,
	    void *stream),
	   (send, recv, count, type, root, comm, stream))
