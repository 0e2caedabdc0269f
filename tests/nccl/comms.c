/* SPDX-License-Identifier: MIT */
/* Communicators from others, and how they are configured and created. */
#include "checks.h"

#include <stddef.h>
#include <string.h>

/* ---- communicators from others --------------------------------------------------------------- */

/* A call on another communicator, among whose ranks this one has a place. */
static int check_on(struct bench *bench, ncclComm_t comm, const int *members, int size)
{
	ncclComm_t before = bench->comm;
	int32_t sum = 0, *in = bench_host(bench, 0), *out = bench_host(bench, 1);
	bench->comm = comm;
	for (int i = 0; i < size; i++)
		sum += 1 << members[i];
	*in = 1 << bench->self->rank;
	CUDA_MUST(cuda.memory_copy(bench_far(bench, 0), in, sizeof(*in), bench->stream));
	NCCL_MUST(ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), 1, ncclInt32, ncclSum,
				comm, bench->stream));
	CUDA_MUST(cuda.memory_copy(out, bench_far(bench, 0), sizeof(*out), bench->stream));
	CUDA_MUST(cuda.stream_synchronize(bench->stream));
	bench->comm = before;
	return *out == sum ? 0
			   : harness_fail(bench->self, "the ranks add up to %x, not %x",
					  (unsigned)*out, (unsigned)sum);
}

/* Even and odd ranks apart, in reverse order; the first rank joins none the second time. */
int check_split(struct bench *bench)
{
	int rank = bench->self->rank, size = bench->self->size, members[HARNESS_RANKS], count = 0;
	ncclComm_t part = NULL, none = bench->comm;
	NCCL_MUST(ncclCommSplit(bench->comm, rank % 2, -rank, &part, NULL));
	for (int other = rank % 2; other < size; other += 2)
		members[count++] = other;
	int part_size, part_rank, device, bad = 0;
	NCCL_MUST(ncclCommCount(part, &part_size));
	NCCL_MUST(ncclCommUserRank(part, &part_rank));
	NCCL_MUST(ncclCommCuDevice(part, &device));
	if (part_size != count || part_rank != count - 1 - rank / 2 || device != bench->device)
		bad = harness_fail(bench->self, "rank %d of %d of a part, on device %d", part_rank,
				   part_size, device);
	bad = bad || check_on(bench, part, members, count);
	NCCL_MUST(ncclCommDestroy(part));
	NCCL_MUST(ncclCommSplit(bench->comm, rank ? 3 : NCCL_SPLIT_NOCOLOR, rank, &none, NULL));
	if ((none == NULL) != (rank == 0))
		bad = harness_fail(bench->self, "a rank without a color has a communicator");
	if (none)
		NCCL_MUST(ncclCommDestroy(none));
	return bad;
}

/* Without the last rank, and with it again. */
int check_shrink_and_grow(struct bench *bench)
{
	int rank = bench->self->rank, size = bench->self->size, last = size - 1;
	int members[HARNESS_RANKS];
	ncclUniqueId *id = bench->self->shared;
	ncclComm_t fewer = NULL, all = NULL;
	for (int i = 0; i < size; i++)
		members[i] = i;
	if (size == 1)
		return 0;
	int bad = 0;
	if (rank != last) {
		NCCL_MUST(ncclCommShrink(bench->comm, &last, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT));
		bad = check_on(bench, fewer, members, last);
	}
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 2)
	if (rank == 0)
		NCCL_MUST(ncclCommGetUniqueId(fewer, id));
	harness_barrier(bench->self);
	if (rank == last)
		NCCL_MUST(ncclCommGrow(NULL, size, id, rank, &all, NULL));
	else
		NCCL_MUST(ncclCommGrow(fewer, size, rank ? NULL : id, -1, &all, NULL));
	bad = bad || check_on(bench, all, members, size);
	NCCL_MUST(ncclCommDestroy(all));
#else
	(void)id;
	(void)all;
#endif
	NCCL_MUST(ncclCommDestroy(fewer));
	return bad;
}

/* ---- configurations -------------------------------------------------------------------------- */

static int create_with(struct bench *bench, ncclConfig_t *config, ncclResult_t should)
{
	ncclComm_t comm = NULL;
	ncclUniqueId *id = bench->self->shared;
	if (bench->self->rank == 0)
		NCCL_MUST(ncclGetUniqueId(id));
	harness_barrier(bench->self);
	ncclUniqueId mine = *id;
	harness_barrier(bench->self);
	ncclResult_t is = ncclCommInitRankConfig(&comm, bench->self->size, mine, bench->self->rank,
						 config);
	if (is == ncclSuccess)
		NCCL_MUST(ncclCommDestroy(comm));
	return is == should
		       ? 0
		       : harness_fail(bench->self,
				      "a configuration of version %u and %zu bytes: %s, not %s",
				      config->version, config->size, ncclGetErrorString(is),
				      ncclGetErrorString(should));
}

/* What is behind a program's struct is no number of ours, and what is in it counts. */
int check_configurations(struct bench *bench)
{
	struct {
		ncclConfig_t known;
		int of_a_later_version[8];
	} config;
	int bad = 0;
#define AGAIN                                                                                      \
	(memset(&config, 0x5a, sizeof(config)),                                                    \
	 config.known = (ncclConfig_t)NCCL_CONFIG_INITIALIZER)
	AGAIN;
	bad |= create_with(bench, &config.known, ncclSuccess);
	AGAIN; /* of 2.14 */
	config.known.size = offsetof(ncclConfig_t, cgaClusterSize);
	config.known.version = 21400;
	config.known.minCTAs = -5;
	bad |= create_with(bench, &config.known, ncclSuccess);
	AGAIN; /* of 2.18, which lies about its size */
	config.known.version = 21800;
	config.known.trafficClass = -5;
	bad |= create_with(bench, &config.known, ncclSuccess);
	AGAIN; /* of the future; those of its fields that others know are left out */
	config.known.size = sizeof(config);
	config.known.version = 29900;
	for (int i = 0; i < 8; i++)
		config.of_a_later_version[i] = NCCL_CONFIG_UNDEF_INT;
	bad |= create_with(bench, &config.known, ncclSuccess);
	AGAIN;
	config.known.magic = 7;
	bad |= create_with(bench, &config.known, ncclInvalidArgument);
	AGAIN;
	config.known.blocking = 2;
	bad |= create_with(bench, &config.known, ncclInvalidArgument);
	AGAIN;
	config.known.minCTAs = 3;
	config.known.maxCTAs = 2;
	bad |= create_with(bench, &config.known, ncclInvalidArgument);
#undef AGAIN
	return bad;
}

int check_does_not_block(struct bench *bench)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t comm = NULL, part = NULL;
	ncclUniqueId *id = bench->self->shared;
	int all[] = {0, 1, 2, 3};
	config.blocking = 0;
	if (bench->self->rank == 0)
		NCCL_MUST(ncclGetUniqueId(id));
	harness_barrier(bench->self);
	ncclResult_t result = ncclCommInitRankConfig(&comm, bench->self->size, *id,
						     bench->self->rank, &config);
	if (result != ncclInProgress || !comm)
		return harness_fail(bench->self, "creation: %s", ncclGetErrorString(result));
	if (bench_await(comm) != ncclSuccess)
		return harness_fail(bench->self, "creation: %s", ncclGetLastError(comm));
	int bad = check_on(bench, comm, all, bench->self->size);
	result = ncclCommSplit(comm, 0, bench->self->rank, &part, NULL);
	if (result != ncclInProgress || bench_await(comm) != ncclSuccess || !part)
		bad = harness_fail(bench->self, "split: %s: %s", ncclGetErrorString(result),
				   ncclGetLastError(comm));
	bad = bad || check_on(bench, part, all, bench->self->size);
	result = ncclCommFinalize(part);
	if ((result != ncclInProgress && result != ncclSuccess) || bench_await(part) != ncclSuccess)
		bad = harness_fail(bench->self, "finalize: %s", ncclGetErrorString(result));
	result = ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), 1, ncclInt32, ncclSum,
			       part, bench->stream);
	if (result != ncclInvalidUsage || !strstr(ncclGetLastError(NULL), "finalized"))
		bad = harness_fail(bench->self, "a call behind finalize: %s",
				   ncclGetErrorString(result));
	NCCL_MUST(ncclCommDestroy(part));
	NCCL_MUST(ncclCommDestroy(comm));
	return bad;
}

/* What a creation in the background came to is its communicator's to tell, whoever asks. */
int check_does_not_come_to_be(struct bench *bench)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId nonsense = {{0}};
	ncclComm_t comm = NULL;
	config.blocking = 0;
	ncclResult_t result = ncclCommInitRankConfig(&comm, 1, nonsense, 0, &config);
	if (result != ncclInProgress || bench_await(comm) != ncclInvalidArgument ||
	    !strstr(ncclGetLastError(comm), "not an id"))
		return harness_fail(bench->self, "%s: %s", ncclGetErrorString(result),
				    ncclGetLastError(comm));
	result = ncclAllReduce(bench_far(bench, 0), bench_far(bench, 0), 1, ncclInt32, ncclSum,
			       comm, bench->stream);
	NCCL_MUST(ncclCommDestroy(comm));
	comm = bench->comm;
	NCCL_MUST(ncclGroupStart());
	NCCL_MUST(ncclCommInitRank(&comm, 1, nonsense, 0));
	ncclResult_t ended = ncclGroupEnd();
	if (result != ncclInvalidArgument || ended != ncclInvalidArgument || comm ||
	    !strstr(ncclGetLastError(NULL), "not an id"))
		return harness_fail(bench->self, "%s, %s: %s", ncclGetErrorString(result),
				    ncclGetErrorString(ended), ncclGetLastError(NULL));
	return 0;
}
