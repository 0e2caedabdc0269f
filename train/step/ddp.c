/* SPDX-License-Identifier: MIT */
/*
 * One step of data parallelism: three counters over the buckets, which only grow: ready, launched,
 * complete. The mode decides how buckets are cut and when they are launched.
 */
#include "ddp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "clock.h"
#include "compress.h"
#include "train/model/device.h"

_Static_assert(sizeof(train_real) == sizeof(float), "gradients are RING_FLOAT32");

struct train_ddp {
	struct ring_comm *comm;
	struct train_model *model;
	struct train_ddp_options options;
	struct ring_stream *stream; /* OVERLAP; NULL: calls block */
	struct train_bucket *buckets;
	struct train_ddp_span *spans; /* of the buckets */
	int bucket_count;
	uint16_t *halves; /* compressed: the gradients as they travel */
	float *residuals; /* compressed: rounding errors of the last step */
	bool synchronises, holds_back;
	uint64_t promise; /* bytes that all ranks send for one averaging */

	/* of the current step */
	int ready, launched, complete; /* buckets */
	uint64_t position;             /* the stream's, before the first bucket */
	struct ring_stats before;
	int err; /* the first error; after it nothing is launched */
};

static int fail(struct train_ddp *ddp, int err)
{
	if (!ddp->err)
		ddp->err = train_agree_failed(ddp->comm, "exchanging gradients", err);
	return ddp->err;
}

/* ---- creation ---- */

static void plan_buckets(struct train_ddp *ddp, size_t *bytes)
{
	const struct train_model *model = ddp->model;
	const struct train_ddp_options *options = &ddp->options;
	for (int i = 0; i < model->tensor_count; i++)
		bytes[i] = model->tensors[i].count * sizeof(*model->gradients);
	const struct {
		size_t first_cap, cap;
	} caps[] = {
		[TRAIN_DDP_NAIVE] = {0, 0},
		[TRAIN_DDP_FLAT] = {SIZE_MAX, SIZE_MAX},
		[TRAIN_DDP_OVERLAP] = {options->first_bucket_bytes, options->bucket_bytes},
	};
	if (options->mode != TRAIN_DDP_OFF)
		ddp->bucket_count = train_buckets_plan(bytes, model->tensor_count,
						       caps[options->mode].first_cap,
						       caps[options->mode].cap, ddp->buckets);
}

/* A bucket in elements. */
static size_t offset_of(const struct train_bucket *bucket)
{
	return bucket->offset / sizeof(float);
}

static size_t count_of(const struct train_bucket *bucket)
{
	return bucket->bytes / sizeof(float);
}

/*
 * All-reduces a bucket. Compressed gradients were divided before. With a stream it returns at once.
 */
static int reduce(struct train_ddp *ddp, const struct train_bucket *bucket)
{
	size_t offset = offset_of(bucket), count = count_of(bucket);
	if (ddp->options.compressed) {
		uint16_t *halves = ddp->halves + offset;
		return ring_all_reduce(ddp->comm, halves, halves, count, RING_BFLOAT16, RING_SUM,
				       ddp->stream);
	}
	float *gradients = ddp->model->gradients + offset;
	return ring_all_reduce(ddp->comm, gradients, gradients, count, RING_FLOAT32, RING_AVG,
			       ddp->stream);
}

/* Allocates everything that a step needs. returns 0; RING_ENOMEM */
static int prepare(struct train_ddp *ddp)
{
	size_t tensors = (size_t)ddp->model->tensor_count, count = ddp->model->parameter_count;
	size_t *bytes = calloc(tensors + 1, sizeof(*bytes));
	ddp->buckets = calloc(tensors + 1, sizeof(*ddp->buckets));
	ddp->spans = calloc(tensors + 1, sizeof(*ddp->spans));
	bool complete = bytes && ddp->buckets && ddp->spans;
	if (ddp->options.compressed) {
		ddp->halves = calloc(count + 1, sizeof(*ddp->halves));
		ddp->residuals = calloc(count + 1, sizeof(*ddp->residuals));
		complete = complete && ddp->halves && ddp->residuals;
	}
	if (complete)
		plan_buckets(ddp, bytes);
	free(bytes);
	return complete ? 0 : RING_ENOMEM;
}

/* Checks that ranks agree, and gives all of them rank 0's parameters. */
static int begin_alike(struct train_ddp *ddp)
{
	struct train_model *model = ddp->model;
	int err = train_agree_on_shapes(ddp->comm, model);
	if (!err)
		err = train_agree_on_options(ddp->comm, &ddp->options);
	if (err)
		return err;
	err = ring_broadcast(ddp->comm, model->parameters, model->parameters,
			     model->parameter_count, RING_FLOAT32, 0, NULL);
	return err ? train_agree_failed(ddp->comm, "broadcasting rank 0's parameters", err) : 0;
}

/* How many times all ranks together send a bucket that this algorithm carries. */
static uint64_t times_sent(const char *algorithm, uint64_t n)
{
	uint64_t hops = 0; /* up a tree, of all ranks: one for each bit of a rank's place */
	if (strcmp(algorithm, "oneshot") == 0 || strcmp(algorithm, "bruck") == 0)
		return n * (n - 1);
	if (strcmp(algorithm, "tree") != 0)
		return 2 * (n - 1);
	for (uint64_t place = 0; place < n; place++)
		hops += (uint64_t)__builtin_popcountll(place);
	return hops + n - 1;
}

/* Averages each bucket once, which tells what carries it. */
static int learn_promise(struct train_ddp *ddp)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	uint64_t n = (uint64_t)ring_comm_size(ddp->comm);
	size_t element = ddp->options.compressed ? sizeof(*ddp->halves) : sizeof(float);
	int err = 0;
	for (int k = 0; k < ddp->bucket_count && !err; k++) {
		err = reduce(ddp, &ddp->buckets[k]);
		if (!err && ddp->stream)
			err = ring_stream_wait(ddp->stream, ring_stream_position(ddp->stream));
		if (!err)
			err = ring_comm_stats(ddp->comm, &stats);
		if (!err)
			ddp->promise += times_sent(stats.last.algorithm, n) *
					count_of(&ddp->buckets[k]) * element;
	}
	return err ? train_agree_failed(ddp->comm, "averaging for the first time", err) : 0;
}

/* Calls are ordered by the device's second stream, if it has one. */
static int open_stream(struct train_ddp *ddp)
{
	void *second = ddp->model->device->stream();
	return second ? ring_stream_from_cuda(ddp->comm, second, &ddp->stream)
		      : ring_stream_create(ddp->comm, &ddp->stream);
}

int train_ddp_create(struct train_ddp **ddp, struct ring_comm *comm, struct train_model *model,
		     const struct train_ddp_options *options)
{
	struct train_ddp *made = calloc(1, sizeof(*made));
	int err = RING_ENOMEM;
	if (made) {
		*made = (struct train_ddp){
			.comm = comm, .model = model, .options = *options, .synchronises = true};
		err = prepare(made);
	}
	if (!err && options->mode == TRAIN_DDP_OVERLAP)
		err = open_stream(made);
	if (err)
		fprintf(stderr, "train: rank %d: preparing to exchange gradients: %s\n",
			ring_comm_rank(comm), ring_strerror(err));
	if (!err)
		err = begin_alike(made);
	if (!err)
		err = learn_promise(made);
	if (err) {
		train_ddp_destroy(made);
		return err;
	}
	*ddp = made;
	return 0;
}

void train_ddp_destroy(struct train_ddp *ddp)
{
	if (!ddp)
		return;
	ring_stream_destroy(ddp->stream);
	free(ddp->buckets);
	free(ddp->spans);
	free(ddp->halves);
	free(ddp->residuals);
	free(ddp);
}

int train_ddp_buckets(const struct train_ddp *ddp, const struct train_bucket **buckets)
{
	*buckets = ddp->buckets;
	return ddp->bucket_count;
}

uint64_t train_ddp_promise(const struct train_ddp *ddp)
{
	return ddp->promise;
}

/* ---- a step ---- */

/* Comes before the first bucket, when no call is under way. */
static void open_step(struct train_ddp *ddp)
{
	ddp->position = ring_stream_position(ddp->stream);
	ddp->before.size = sizeof(ddp->before);
	int err = ring_comm_stats(ddp->comm, &ddp->before);
	if (err)
		fail(ddp, err);
}

static void compress(struct train_ddp *ddp, const struct train_bucket *bucket)
{
	size_t offset = offset_of(bucket);
	if (ddp->options.compressed)
		train_compress(ddp->halves + offset, ddp->residuals + offset,
			       ddp->model->gradients + offset, count_of(bucket),
			       1.0f / (float)ring_comm_size(ddp->comm));
}

static void expand(struct train_ddp *ddp, const struct train_bucket *bucket)
{
	size_t offset = offset_of(bucket);
	if (ddp->options.compressed)
		train_expand(ddp->model->gradients + offset, ddp->halves + offset, count_of(bucket));
}

/*
 * A device computes later than it is told to, and a call on its second stream is under way from
 * when that has come to it.
 */
static void correct(const struct train_ddp *ddp, struct train_ddp_span *span, int bucket)
{
	const struct train_device *device = ddp->model->device;
	if (!device->far || ddp->holds_back)
		return;
	span->ready = device->handed_over(bucket);
	if (span->ready > span->end)
		span->ready = span->end; /* by the rounding of two clocks */
	if (span->begin < span->ready)
		span->begin = span->ready;
}

/* Waits for a bucket on the stream, and asks the stream when the call ran. */
static int await(struct train_ddp *ddp, int bucket)
{
	uint64_t position = ddp->position + (uint64_t)bucket + 1, began_ns, ended_ns;
	int err = ring_stream_wait(ddp->stream, position);
	if (!err)
		err = ring_stream_times(ddp->stream, position, &began_ns, &ended_ns);
	if (err)
		return err;
	ddp->spans[bucket].begin = 1e-9 * (double)began_ns;
	ddp->spans[bucket].end = 1e-9 * (double)ended_ns;
	correct(ddp, &ddp->spans[bucket], bucket);
	return 0;
}

/* Completes the oldest bucket that is under way. */
static void complete_next(struct train_ddp *ddp)
{
	int k = ddp->complete++;
	int err = ddp->stream && !ddp->err ? await(ddp, k) : 0;
	if (err)
		fail(ddp, err);
	if (!ddp->err)
		expand(ddp, &ddp->buckets[k]);
}

/* A stream remembers the times of only this many calls, so no more are under way. */
static void launch_next(struct train_ddp *ddp)
{
	if (ddp->launched == 0)
		open_step(ddp);
	if (ddp->launched - ddp->complete == RING_STREAM_TIMES)
		complete_next(ddp);
	int k = ddp->launched++;
	if (ddp->err)
		return;
	compress(ddp, &ddp->buckets[k]);
	ddp->model->device->hand_over(k);
	ddp->spans[k].begin = train_now(); /* on a stream, await() corrects it */
	int err = reduce(ddp, &ddp->buckets[k]);
	ddp->spans[k].end = train_now();
	if (ddp->stream && ddp->model->device->far) {
		ddp->spans[k].launch = ddp->spans[k].begin;
		ddp->spans[k].launched = ddp->spans[k].end;
	}
	if (err)
		fail(ddp, err);
}

void train_ddp_synchronise(struct train_ddp *ddp, bool on)
{
	ddp->synchronises = on;
}

void train_ddp_hold_back(struct train_ddp *ddp, bool on)
{
	ddp->holds_back = on;
}

void train_ddp_ready(void *context, int tensor)
{
	struct train_ddp *ddp = context;
	if (!ddp->synchronises)
		return;
	while (ddp->ready < ddp->bucket_count) {
		const struct train_bucket *bucket = &ddp->buckets[ddp->ready];
		if (bucket->first_tensor + bucket->tensors - 1 > tensor)
			break;
		ddp->spans[ddp->ready++].ready = train_now();
		if (ddp->stream && !ddp->holds_back)
			launch_next(ddp);
	}
}

void train_ddp_shadow(struct train_ddp *ddp)
{
	struct train_model *model = ddp->model;
	model->device->clear(model->gradients, model->parameter_count * sizeof(*model->gradients));
	train_ddp_ready(ddp, model->tensor_count - 1);
}

/* ---- the end of a step ---- */

static void fill_times(struct train_ddp *ddp, struct train_ddp_times *times)
{
	struct ring_stats after = {.size = sizeof(after)};
	int err = ring_comm_stats(ddp->comm, &after);
	if (err)
		fail(ddp, err);
	times->calls = after.calls - ddp->before.calls;
	times->payload_bytes = after.sent_bytes - ddp->before.sent_bytes;
	times->span_count = ddp->bucket_count;
	times->spans = ddp->spans;
	for (int k = 0; k < ddp->bucket_count; k++)
		times->busy += ddp->spans[k].end - ddp->spans[k].begin;
}

/* Waits for calls under way after a failure: until they have failed they also use the gradients. */
static void let_go(struct train_ddp *ddp)
{
	if (ddp->stream && ddp->err)
		ring_stream_wait(ddp->stream, ring_stream_position(ddp->stream));
}

int train_ddp_finish(struct train_ddp *ddp, struct train_ddp_times *times)
{
	*times = (struct train_ddp_times){0};
	if (ddp->bucket_count > 0) {
		assert(ddp->ready == ddp->bucket_count); /* backward said so, while synchronising */
		double begin = train_now();
		while (ddp->complete < ddp->bucket_count) {
			if (ddp->launched == ddp->complete)
				launch_next(ddp);
			complete_next(ddp);
		}
		let_go(ddp);
		times->waited = train_now() - begin;
		fill_times(ddp, times);
	}
	ddp->ready = ddp->launched = ddp->complete = 0;
	return ddp->err;
}

/* ---- beside the gradients ---- */

int train_ddp_compare(struct train_ddp *ddp)
{
	return train_agree_on_parameters(ddp->comm, ddp->model);
}
