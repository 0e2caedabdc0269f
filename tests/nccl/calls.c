/* SPDX-License-Identifier: MIT */
/* Every call with every type: alone, many in a group, on many streams, pre-multiplied. */
#include "checks.h"

#include <string.h>

/* ---- every call ------------------------------------------------------------------------------ */

int check_types_and_ops(struct bench *bench)
{
	static const enum kind kinds[] = {ALL_REDUCE, REDUCE, REDUCE_SCATTER};
	int bad = 0;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (int type = 0; type < TYPES && !bad; type++)
			for (int op = 0; op < OPS && !bad; op++) {
				struct call call = {.kind = kinds[k],
						    .type = type,
						    .op = op,
						    .root = bench->self->size - 1,
						    .size = bench->self->size,
						    .count = COUNT};
				bad = bench_check(bench, &call);
			}
	return bad;
}

int check_kinds_and_types(struct bench *bench)
{
	int bad = 0;
	for (int kind = ALL_GATHER; kind < KINDS && !bad; kind++)
		for (int type = 0; type < TYPES && !bad; type++) {
			struct call call = {.kind = kind,
					    .type = type,
					    .root = type % bench->self->size,
					    .size = bench->self->size,
					    .count = COUNT};
			bad = bench_check(bench, &call);
		}
	return bad;
}

int check_no_elements(struct bench *bench)
{
	int bad = 0;
	for (int kind = 0; kind < KINDS && !bad; kind++) {
		struct call call = {
			.kind = kind, .type = ncclFloat32, .size = bench->self->size, .count = 0};
		bad = bench_check(bench, &call);
	}
	return bad;
}

/* Calls of every kind, one behind the other on two streams, and nothing is waited for but the end. */
int check_many_in_a_group(struct bench *bench)
{
	struct call calls[KINDS];
	int bad = 0;
	for (int kind = 0; kind < KINDS; kind++) {
		calls[kind] = (struct call){.kind = kind,
					    .type = ncclInt32,
					    .op = ncclSum,
					    .size = bench->self->size,
					    .count = COUNT};
		bench_give(bench, &calls[kind], kind);
	}
	NCCL_MUST(ncclGroupStart());
	for (int kind = 0; kind < KINDS; kind++)
		bad |= bench_call(bench, &calls[kind], kind);
	NCCL_MUST(ncclGroupEnd());
	for (int kind = 0; kind < KINDS && !bad; kind++)
		bad = bench_look(bench, &calls[kind], kind);
	return bad;
}

/* More streams than a communicator remembers; those of before are gone, and their handles new. */
int check_many_streams(struct bench *bench)
{
	struct CUstream_st *first = bench->stream;
	struct call call = {.type = ncclInt32, .size = bench->self->size, .count = COUNT};
	int bad = 0;
	for (int i = 0; i < 70 && !bad; i++) {
		CUDA_MUST(cuda.stream_create(&bench->stream, RING_CUDA_STREAM_NON_BLOCKING, 0));
		bad = bench_check(bench, &call);
		CUDA_MUST(cuda.stream_destroy(bench->stream));
	}
	bench->stream = first;
	return bad;
}

/* Settings of one call: hints are taken, what cannot be done is refused. */
int check_configured(struct bench *bench)
{
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 31, 2)
	struct call call = {.type = ncclInt32, .size = bench->self->size, .count = COUNT};
	ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
	char *far = bench_far(bench, 0);
	config.minCTAs = 2;
	bench_give(bench, &call, 0);
	NCCL_MUST(ncclBroadcastConfig(far, far, COUNT, ncclInt32, 0, bench->comm, bench->stream,
				      &config));
	bench_give(bench, &call, 0);
	int bad = bench_call(bench, &call, 0) || bench_look(bench, &call, 0);
	config.algSelection = "ring";
	bad = bad || ncclAllReduceConfig(far, far, COUNT, ncclInt32, ncclSum, bench->comm,
					 bench->stream, &config) != ncclInvalidUsage;
	config.magic = 0;
	return bad || ncclAllReduceConfig(far, far, COUNT, ncclInt32, ncclSum, bench->comm,
					  bench->stream, &config) != ncclInvalidArgument;
#else
	return bench == NULL;
#endif
}

/* ---- pre-multiplied sums --------------------------------------------------------------------- */

int check_premultiplied(struct bench *bench)
{
	static const ncclDataType_t types[] = {ncclInt32, ncclFloat32, ncclFloat64};
	int bad = 0;
	for (int i = 0; i < 6 && !bad; i++) {
		bool on_device = i % 2;
		struct call call = {.kind = i < 4 ? ALL_REDUCE : REDUCE_SCATTER,
				    .type = types[i / 2],
				    .size = bench->self->size,
				    .count = COUNT,
				    .factor = 3};
		int32_t whole = 3 * (bench->self->rank + 1);
		float single = (float)whole;
		double both = whole;
		const void *scalar = call.type == ncclInt32     ? (void *)&whole
				     : call.type == ncclFloat32 ? (void *)&single
								: (void *)&both;
		if (on_device) { /* written by the stream, which has not come so far */
			memcpy(bench->scalar, scalar, type_bytes(call.type));
			CUDA_MUST(cuda.memory_copy(bench->far_scalar, bench->scalar, 8,
						   bench->stream));
		}
		NCCL_MUST(ncclRedOpCreatePreMulSum(
			&call.op, on_device ? bench->far_scalar : (void *)(uintptr_t)scalar,
			call.type, on_device ? ncclScalarDevice : ncclScalarHostImmediate,
			bench->comm));
		bad = call.op < ncclNumOps;
		bad = bad || bench_check(bench, &call);
		NCCL_MUST(ncclRedOpDestroy(call.op, bench->comm));
	}
	return bad;
}
