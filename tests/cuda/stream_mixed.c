/* SPDX-License-Identifier: MIT */
/* Calls on CUDA streams where memory of some ranks is the host's; see stream_test.c. */
#include <stdlib.h>
#include <unistd.h>

#include "streams.h"

/* In each call those of another rank; kernels refuse it (launched_test). */
int streams_host_memory_of_one(struct bench *bench)
{
	const int calls = getenv("RING_CUDA_ENGINE") ? 0 : CALLS;
	struct ring_stream *stream = order_by(bench, bench->streams[0]), *hosts;
	int bad = !stream || ring_stream_create(bench->comm, &hosts);
	hold(bench, bench->streams[0]);
	for (int call = 0; !bad && call < calls; call++)
		bad = call % bench->self->size == bench->self->rank
			      ? all_reduce(bench, bench->in[call], bench->out[call], hosts)
			      : give_call(bench, bench->streams[0], stream, call);
	let_go(bench);
	CUDA_MUST(cuda.stream_synchronize(bench->streams[0]));
	ring_stream_destroy(hosts);
	for (int call = 0; !bad && call < calls; call++)
		bad = check_sum(bench, bench->out[call], call, 1);
	ring_stream_destroy(stream);
	return bad;
}

/* Rank 0's memory is the host's, so from here on all calls go as on a device's. */
static int mix(struct bench *bench)
{
	static _Thread_local int32_t host[2][2];
	const bool far = bench->self->rank > 0;
	int err = ring_all_reduce(bench->comm, far ? bench->far[0] : host[0],
				  far ? bench->far[1] : host[1], 2, RING_INT32, RING_SUM, NULL);
	return err ? harness_fail(bench->self, "mixed: %s", ring_comm_error(bench->comm)) : 0;
}

/* A barrier goes otherwise than those that made links for streams, before there was a mixture. */
int streams_barriers_when_mixed(struct bench *bench)
{
	struct ring_stream *stream = order_by(bench, bench->streams[0]);
	int bad = !stream;
	for (int turn = 0; turn < 2 && !bad; turn++) {
		if (bench->self->rank == 2)
			usleep(100000);
		bad = mix(bench);
		if (!bad && ring_barrier(bench->comm, NULL))
			bad = harness_fail(bench->self, "%s", ring_comm_error(bench->comm));
	}
	ring_stream_destroy(stream);
	return bad;
}

/* What makes links for a stream is no barrier of the program's, also where all memory counts alike. */
int streams_links_and_barriers(struct bench *bench)
{
	struct ring_stream *stream;
	if (mix(bench))
		return 1;
	int err = bench->self->rank ? 0
				    : ring_stream_from_cuda(bench->comm, bench->streams[0], &stream);
	for (int turn = 0; turn < 4 && !err; turn++)
		err = ring_barrier(bench->comm, NULL);
	return check_refused(bench, err, RING_EMISMATCH, "stream_from_cuda");
}
