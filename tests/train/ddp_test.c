/* SPDX-License-Identifier: MIT */
/*
 * Data parallelism over real ranks and a fake model: averages in every mode, bits, bytes, order,
 * micro-batches, uneven data, compression.
 *
 *	ddp_test [--only NAME]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_model.h"
#include "comm/comm.h"
#include "tests/harness.h"
#include "tests/multi/choice.h"
#include "train/step/ddp.h"
#include "train/model/hash.h"

#define RANKS 8
#define TENSORS 40

/* What a rank has; the scene's body sets up what it needs of it. */
struct trainer {
	struct harness_rank *self;
	struct ring_comm *comm;
	struct train_model *model;
	struct train_ddp *ddp;
	struct train_ddp_times times;
};

/* All worth trying: a bucket per tensor, some, one. */
static const struct train_ddp_options settings[] = {
	{.mode = TRAIN_DDP_NAIVE},
	{.mode = TRAIN_DDP_FLAT},
	{.mode = TRAIN_DDP_OVERLAP},
	{.mode = TRAIN_DDP_OVERLAP, .first_bucket_bytes = 1000, .bucket_bytes = 5000},
	{.mode = TRAIN_DDP_OVERLAP, .first_bucket_bytes = 20000, .bucket_bytes = 30000},
	{.mode = TRAIN_DDP_OVERLAP, .first_bucket_bytes = SIZE_MAX, .bucket_bytes = SIZE_MAX},
};
#define SETTINGS (int)(sizeof(settings) / sizeof(settings[0]))

/* ---- a trainer's life ---- */

static int start_tensors(struct trainer *trainer, const struct train_ddp_options *options,
			 int tensors)
{
	trainer->model = fake_model_create(tensors, 1);
	if (!trainer->model)
		return harness_fail(trainer->self, "no memory");
	trainer->model->parameters[0] += (float)trainer->self->rank;
	return train_ddp_create(&trainer->ddp, trainer->comm, trainer->model, options);
}

static int start(struct trainer *trainer, const struct train_ddp_options *options)
{
	return start_tensors(trainer, options, TENSORS);
}

static void stop(struct trainer *trainer)
{
	train_ddp_destroy(trainer->ddp);
	fake_model_destroy(trainer->model);
	trainer->ddp = NULL;
	trainer->model = NULL;
}

static void zero_gradients(struct train_model *model)
{
	memset(model->gradients, 0, model->parameter_count * sizeof(*model->gradients));
}

static void backward(struct trainer *trainer, int step, int rows)
{
	fake_backward(trainer->model, trainer->self->rank, step, rows, train_ddp_ready,
		      trainer->ddp);
}

static int finish(struct trainer *trainer)
{
	return train_ddp_finish(trainer->ddp, &trainer->times);
}

static int run_step(struct trainer *trainer, int step, int rows)
{
	zero_gradients(trainer->model);
	backward(trainer, step, rows);
	return finish(trainer);
}

/* ---- what gradients should be ---- */

/* How many rows each rank had in `steps` steps from `step` on. */
struct expected {
	int step, steps, rows[RANKS];
	double tolerance; /* relative to the mean of magnitudes */
};

static int check_gradients(const struct trainer *trainer, const struct expected *expected)
{
	for (size_t i = 0; i < trainer->model->parameter_count; i++) {
		double mean = 0, magnitude = 0, is = (double)trainer->model->gradients[i];
		int size = trainer->self->size;
		for (int rank = 0; rank < size; rank++)
			for (int step = 0; step < expected->steps; step++) {
				double mine = (double)fake_gradient(rank, expected->step + step,
								    expected->rows[rank], i);
				mean += mine / size;
				magnitude += fabs(mine) / size;
			}
		if (!(fabs(is - mean) <= expected->tolerance * magnitude))
			return harness_fail(trainer->self, "gradient %zu is %.9g, not %.9g", i, is,
					    mean);
	}
	return 0;
}

/* Of one step in which every rank had as many rows. */
static struct expected everywhere(int step, int rows)
{
	struct expected expected = {.step = step, .steps = 1, .tolerance = 1e-6};
	for (int rank = 0; rank < RANKS; rank++)
		expected.rows[rank] = rows;
	return expected;
}

static uint64_t hash_gradients(const struct trainer *trainer)
{
	return train_hash(trainer->model->gradients,
			  trainer->model->parameter_count * sizeof(float));
}

/* All ranks say a number; returns rank 0's, and whether all said the same. */
static uint64_t exchange(struct harness_rank *self, uint64_t mine, bool *alike, uint64_t *sum)
{
	uint64_t *board = self->shared;
	harness_barrier(self);
	board[self->rank] = mine;
	harness_barrier(self);
	*alike = true;
	*sum = 0;
	for (int rank = 0; rank < self->size; rank++) {
		*alike = *alike && board[rank] == board[0];
		*sum += board[rank];
	}
	return board[0];
}

/* ---- averages ---- */

static int check_parameters(const struct trainer *trainer)
{
	struct train_model *first = fake_model_create(trainer->model->tensor_count, 1);
	int differ = !first || memcmp(first->parameters, trainer->model->parameters,
				      first->parameter_count * sizeof(float));
	fake_model_destroy(first);
	return differ ? harness_fail(trainer->self, "these are not rank 0's parameters") : 0;
}

/* Gradients of two ranks have the same bits in every mode. */
static int average_in(struct trainer *trainer, const struct train_ddp_options *options,
		      uint64_t *bits)
{
	if (start(trainer, options) || check_parameters(trainer))
		return 1;
	for (int step = 0; step < 3; step++) {
		struct expected expected = everywhere(step, 1);
		bool alike;
		uint64_t sum;
		if (run_step(trainer, step, 1) || check_gradients(trainer, &expected))
			return harness_fail(trainer->self, "mode %d, cap %zu, step %d",
					    options->mode, options->bucket_bytes, step);
		uint64_t hash = exchange(trainer->self, hash_gradients(trainer), &alike, &sum);
		if (!alike)
			return harness_fail(trainer->self, "the ranks have different gradients");
		if (trainer->self->size <= 2 && bits[step] && bits[step] != hash)
			return harness_fail(trainer->self, "mode %d, cap %zu has other bits",
					    options->mode, options->bucket_bytes);
		bits[step] = hash;
	}
	stop(trainer);
	return 0;
}

static int average(struct trainer *trainer)
{
	uint64_t bits[3] = {0};
	for (int s = 0; s < SETTINGS; s++)
		if (average_in(trainer, &settings[s], bits))
			return 1;
	return 0;
}

/* More buckets than a stream remembers. */
static int many_buckets(struct trainer *trainer)
{
	struct train_ddp_options options = {.mode = TRAIN_DDP_OVERLAP};
	if (start_tensors(trainer, &options, RING_STREAM_TIMES + 100))
		return 1;
	for (int step = 0; step < 2; step++) {
		struct expected expected = everywhere(step, 1);
		if (run_step(trainer, step, 1) || check_gradients(trainer, &expected))
			return 1;
		if (trainer->times.span_count != RING_STREAM_TIMES + 100)
			return harness_fail(trainer->self, "%d buckets", trainer->times.span_count);
		for (int k = 1; k < trainer->times.span_count; k++)
			if (trainer->times.spans[k].begin < trainer->times.spans[k - 1].end)
				return harness_fail(trainer->self, "bucket %d began too early", k);
	}
	stop(trainer);
	return 0;
}

/* The control run: everything is there but the exchange. */
static int switched_off(struct trainer *trainer)
{
	struct train_ddp_options options = {.mode = TRAIN_DDP_OFF};
	const struct train_bucket *buckets;
	if (start(trainer, &options) || check_parameters(trainer) || run_step(trainer, 0, 1))
		return 1;
	for (size_t i = 0; i < trainer->model->parameter_count; i++)
		if (trainer->model->gradients[i] != fake_gradient(trainer->self->rank, 0, 1, i))
			return harness_fail(trainer->self, "gradient %zu has changed", i);
	if (trainer->times.calls || trainer->times.payload_bytes || trainer->times.span_count ||
	    train_ddp_buckets(trainer->ddp, &buckets))
		return harness_fail(trainer->self, "there was communication");
	stop(trainer);
	return 0;
}

/* ---- bytes ---- */

/* What the rank at a position must send for all buckets. */
static uint64_t formula_at(const struct trainer *trainer, bool compressed, int position)
{
	const struct train_bucket *buckets;
	int count = train_ddp_buckets(trainer->ddp, &buckets);
	uint64_t bytes = 0;
	for (int k = 0; k < count; k++) {
		struct call call = {.kind = ALL_REDUCE,
				    .count = buckets[k].bytes / sizeof(float),
				    .type = compressed ? RING_BFLOAT16 : RING_FLOAT32};
		struct call_way way = choice_of(trainer->comm, &call, false);
		bytes += call_sent_bytes(&call, &way, position);
	}
	return bytes;
}

static uint64_t formula(const struct trainer *trainer, bool compressed)
{
	return formula_at(trainer, compressed, trainer->comm->team.placement.position);
}

static uint64_t formula_of_all(const struct trainer *trainer, bool compressed)
{
	uint64_t bytes = 0;
	for (int position = 0; position < trainer->comm->team.size; position++)
		bytes += formula_at(trainer, compressed, position);
	return bytes;
}

static int count_bytes_in(struct trainer *trainer, struct train_ddp_options options)
{
	if (start(trainer, &options))
		return 1;
	uint64_t own = formula(trainer, options.compressed);
	if (train_ddp_promise(trainer->ddp) != formula_of_all(trainer, options.compressed))
		return harness_fail(trainer->self, "all ranks are to send %llu bytes",
				    (unsigned long long)train_ddp_promise(trainer->ddp));
	static const int batches[] = {4, 64, 4};
	for (int b = 0; b < 3; b++) {
		double other = 1; /* does not count */
		if (ring_all_reduce(trainer->comm, &other, &other, 1, RING_FLOAT64, RING_SUM, NULL) ||
		    run_step(trainer, b, batches[b]))
			return 1;
		const struct train_bucket *buckets;
		uint64_t sent = trainer->times.payload_bytes;
		if (sent != own)
			return harness_fail(trainer->self, "batch %d: sent %llu bytes, not %llu",
					    batches[b], (unsigned long long)sent,
					    (unsigned long long)own);
		if (trainer->times.calls != (uint64_t)train_ddp_buckets(trainer->ddp, &buckets))
			return harness_fail(trainer->self, "%llu calls",
					    (unsigned long long)trainer->times.calls);
	}
	stop(trainer);
	return 0;
}

static int count_bytes(struct trainer *trainer)
{
	for (int s = 0; s < SETTINGS; s++) {
		struct train_ddp_options options = settings[s];
		options.compressed = s % 2;
		if (count_bytes_in(trainer, options))
			return 1;
	}
	return 0;
}

/* ---- order and overlap ---- */

struct slow_backward {
	struct trainer *trainer;
	uint64_t calls; /* complete before */
	int bucket;     /* the first one that is not ready */
	int stuck;
};

/* Goes on only when every bucket that is ready has been exchanged: backward and calls overlap. */
static void await_exchange(void *context, int tensor)
{
	struct slow_backward *slow = context;
	struct ring_stats stats = {.size = sizeof(stats)};
	const struct train_bucket *buckets;
	int count = train_ddp_buckets(slow->trainer->ddp, &buckets);
	double deadline = harness_clock() + 20;
	train_ddp_ready(slow->trainer->ddp, tensor);
	while (slow->bucket < count &&
	       buckets[slow->bucket].first_tensor + buckets[slow->bucket].tensors - 1 <= tensor)
		slow->bucket++;
	while (!slow->stuck && ring_comm_stats(slow->trainer->comm, &stats) == 0 &&
	       stats.calls < slow->calls + (uint64_t)slow->bucket) {
		usleep(100);
		slow->stuck = harness_clock() > deadline;
	}
}

static int check_spans(const struct trainer *trainer, double begin, double end)
{
	const struct train_ddp_times *times = &trainer->times;
	double busy = 0, done = begin;
	for (int k = 0; k < times->span_count; k++) {
		const struct train_ddp_span *span = &times->spans[k];
		if (span->begin < done || span->end <= span->begin || span->end > end)
			return harness_fail(trainer->self, "bucket %d began or ended too early", k);
		if (span->ready > span->begin || (k > 0 && span->ready < span[-1].ready))
			return harness_fail(trainer->self, "bucket %d was ready at another time", k);
		busy += span->end - span->begin;
		done = span->end;
	}
	if (fabs(busy - times->busy) > 1e-6 || times->waited < 0 || times->waited > end - begin)
		return harness_fail(trainer->self, "busy %.6f s of %.6f, waited %.6f", times->busy,
				    busy, times->waited);
	return 0;
}

static int overlap(struct trainer *trainer)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	if (start(trainer, &settings[3]))
		return 1;
	for (int step = 0; step < 3; step++) {
		double begin = harness_clock();
		zero_gradients(trainer->model);
		if (ring_comm_stats(trainer->comm, &stats))
			return 1;
		struct slow_backward slow = {.trainer = trainer, .calls = stats.calls};
		fake_backward(trainer->model, trainer->self->rank, step, 1, await_exchange, &slow);
		struct expected expected = everywhere(step, 1);
		if (slow.stuck || finish(trainer) || check_gradients(trainer, &expected))
			return harness_fail(trainer->self, "stuck before bucket %d", slow.bucket);
		if (check_spans(trainer, begin, harness_clock()))
			return 1;
	}
	stop(trainer);
	return 0;
}

/* The control: the same buckets and gradients, but no call begins before backward is over. */
static int held_back(struct trainer *trainer)
{
	if (start(trainer, &settings[3]))
		return 1;
	train_ddp_hold_back(trainer->ddp, true);
	for (int step = 0; step < 3; step++) {
		struct expected expected = everywhere(step, 1);
		zero_gradients(trainer->model);
		backward(trainer, step, 1);
		double over = harness_clock();
		if (finish(trainer) || check_gradients(trainer, &expected) ||
		    check_spans(trainer, over, harness_clock()))
			return 1;
	}
	stop(trainer);
	return 0;
}

/* Behind backward as well, times tell the truth. */
static int one_after_the_other(struct trainer *trainer)
{
	for (int s = 0; s < SETTINGS; s++) {
		if (start(trainer, &settings[s]))
			return 1;
		double begin = harness_clock();
		if (run_step(trainer, 0, 1) || check_spans(trainer, begin, harness_clock()))
			return 1;
		stop(trainer);
	}
	return 0;
}

/* ---- micro-batches, uneven data ---- */

/* Three micro-batches, one exchange. */
static int accumulate_in(struct trainer *trainer, const struct train_ddp_options *options)
{
	if (start(trainer, options))
		return 1;
	for (int round = 0; round < 2; round++) {
		struct expected expected = everywhere(3 * round, 2);
		expected.steps = 3;
		zero_gradients(trainer->model);
		for (int micro = 0; micro < 3; micro++) {
			train_ddp_synchronise(trainer->ddp, micro == 2);
			backward(trainer, 3 * round + micro, 2);
		}
		if (finish(trainer) || check_gradients(trainer, &expected))
			return 1;
		if (trainer->times.payload_bytes != formula(trainer, false))
			return harness_fail(trainer->self, "micro-batches cost extra");
	}
	stop(trainer);
	return 0;
}

static int accumulate(struct trainer *trainer)
{
	for (int s = 0; s < SETTINGS; s++)
		if (accumulate_in(trainer, &settings[s]))
			return 1;
	return 0;
}

/* Rank r has data for r + 1 steps, and then takes part without, until nobody has any. */
static int run_out(struct trainer *trainer, const struct train_ddp_options *options)
{
	int rank = trainer->self->rank, size = trainer->self->size;
	if (start(trainer, options))
		return 1;
	for (int step = 0; step < size; step++) {
		struct expected expected = {.step = step, .steps = 1, .tolerance = 1e-6};
		for (int r = 0; r < size; r++)
			expected.rows[r] = step <= r;
		if (step <= rank) {
			zero_gradients(trainer->model);
			backward(trainer, step, 1);
		} else {
			train_ddp_shadow(trainer->ddp); /* whatever the gradients were */
		}
		if (finish(trainer) || check_gradients(trainer, &expected))
			return 1;
	}
	stop(trainer);
	return 0;
}

static int join(struct trainer *trainer)
{
	for (int s = 0; s < SETTINGS; s++)
		if (run_out(trainer, &settings[s]))
			return 1;
	return 0;
}

/* ---- compression ---- */

/* Half the bytes; an error of 2^-8 for every rounding; bits alike on all ranks. */
static int compress(struct trainer *trainer)
{
	struct train_ddp_options options = settings[4];
	options.compressed = true;
	if (start(trainer, &options))
		return 1;
	for (int step = 0; step < 20; step++) {
		struct expected expected = everywhere(0, 1);
		bool alike;
		uint64_t sum;
		expected.tolerance = 0x1p-8 * (trainer->self->size + 1);
		if (run_step(trainer, 0, 1) || check_gradients(trainer, &expected))
			return 1;
		exchange(trainer->self, hash_gradients(trainer), &alike, &sum);
		if (!alike || trainer->times.payload_bytes != formula(trainer, true))
			return harness_fail(trainer->self, "step %d: bits or bytes", step);
	}
	stop(trainer);
	return 0;
}

/* ---- all of it ---- */

static const struct scene {
	const char *name;
	int (*run)(struct trainer *trainer);
	int most; /* ranks */
} scenes[] = {
	{"average", average, 4},
	{"many-buckets", many_buckets, 3},
	{"switched-off", switched_off, 4},
	{"bytes", count_bytes, RANKS}, /* blocks do not divide by some of them */
	{"overlap", overlap, 4},
	{"held-back", held_back, 4},
	{"one-after-the-other", one_after_the_other, 4},
	{"accumulate", accumulate, 4},
	{"join", join, 4},
	{"compress", compress, 4},
};
#define SCENES (int)(sizeof(scenes) / sizeof(scenes[0]))

static int be_rank(struct harness_rank *self)
{
	const char *only = self->context;
	struct trainer trainer = {.self = self};
	if (harness_join(self, NULL, &trainer.comm))
		return 1;
	int bad = 0;
	for (int s = 0; s < SCENES && !bad; s++) {
		if (self->size > scenes[s].most || (only && strcmp(only, scenes[s].name)))
			continue;
		if (scenes[s].run(&trainer))
			bad = harness_fail(self, "scene %s", scenes[s].name);
		stop(&trainer);
	}
	ring_comm_destroy(trainer.comm);
	return bad;
}

/* Few ranks meet in all worlds, many in two. A short run has few or all of them. */
static int worlds_of(int size)
{
	if (size <= 3 || (size == 4 && !harness_is_quick()))
		return HARNESS_WORLDS;
	return !harness_is_quick() ? 2 : size == RANKS ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *only = argc == 3 && !strcmp(argv[1], "--only") ? argv[2] : NULL;
	for (int size = 1; size <= RANKS; size++)
		for (int w = 0; w < worlds_of(size); w++) {
			struct harness team = {.world = &harness_worlds[w],
					       .size = size,
					       .body = be_rank,
					       .context = (void *)only,
					       .shared_bytes = RANKS * sizeof(uint64_t)};
			if (harness_run(&team))
				return 1;
		}
	printf("few ranks: averages, bits, order, micro-batches, uneven data, compression; "
	       "up to %d: bytes as in the formula\n",
	       RANKS);
	return 0;
}
