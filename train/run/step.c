/* SPDX-License-Identifier: MIT */
/* One step on one rank. */
#include <math.h>
#include <stdio.h>

#include "loop.h"
#include "train/model/device.h"
#include "train/model/random.h"
#include "train/step/stop.h"

void train_run_account(struct train_run *run, enum train_row row, const char *name, double *since,
		       double *part)
{
	double now = train_now();
	struct train_event event = {
		.row = row, .bucket = -1, .begin = *since, .end = now, .step = run->state.step + 1};
	snprintf(event.name, sizeof(event.name), "%s", name);
	train_trace_add(&run->trace, &event);
	*part += now - *since;
	*since = now;
}

/* On a device the host makes a call before it can run. */
static void trace_launch(struct train_run *run, const struct train_ddp_span *span, int bucket)
{
	struct train_event event = {.row = TRAIN_ROW_CPU,
				    .bucket = -1,
				    .begin = span->launch,
				    .end = span->launched,
				    .step = run->state.step + 1};
	snprintf(event.name, sizeof(event.name), "launch %d", bucket);
	if (span->launched > 0)
		train_trace_add(&run->trace, &event);
}

/* Notes when the ddp's calls ran, and that this rank only waited from `came` on. */
static int account_calls(struct train_run *run, const struct train_ddp_times *times, double came,
			 double end, struct train_step *step)
{
	const struct train_bucket *buckets;
	int count = train_ddp_buckets(run->ddp, &buckets), err = 0;
	step->calls += times->calls;
	step->payload_bytes += times->payload_bytes;
	if (times->span_count > 0)
		err = train_waits_add(&run->waits, TRAIN_WAIT_GRADIENTS, came, end);
	for (int i = 0; !err && i < times->span_count; i++) {
		const struct train_ddp_span *span = &times->spans[i];
		err = train_waits_add(&run->waits, TRAIN_WAIT_CALL, span->begin, span->end);
		struct train_event event = {.row = TRAIN_ROW_COMMUNICATION,
					    .bucket = i,
					    .begin = span->begin,
					    .end = span->end,
					    .step = run->state.step + 1,
					    .bytes = i < count ? buckets[i].bytes : 0};
		snprintf(event.name, sizeof(event.name), "all-reduce %d", i);
		train_trace_add(&run->trace, &event);
		trace_launch(run, span, i);
	}
	return err ? RING_ENOMEM : 0;
}

static bool communicates(const struct train_run *run)
{
	return run->team->size > 1 && run->options->ddp.mode != TRAIN_DDP_OFF;
}

/* Sums over this rank's targets of a step. */
struct sums {
	double loss;
	long targets;
};

/* returns how many examples there are; -1 without memory */
static int load(struct train_run *run, int micro)
{
	const struct train_state *state = &run->state;
	int rows = train_feed_load(&run->feed, &run->loaded, state->epoch, state->position, micro);
	if (run->model->shape.dropout > 0) /* a key is never 0, which means no dropout */
		run->loaded.batch.dropout_key = train_random(state->seed, state->step) | 1;
	return rows;
}

static double forward(struct train_run *run, long *targets)
{
	train_slow_begin(&run->faults);
	double loss = train_model_forward(run->model, &run->loaded.batch, targets);
	train_slow_end(&run->faults);
	return loss;
}

/* train_ready of train_model_backward; context is the run. */
static void note_ready(void *context, int tensor)
{
	struct train_run *run = context;
	train_slow_go_on(&run->faults);
	train_profile_ready(&run->profile, tensor);
	train_ddp_ready(run->ddp, tensor);
}

/*
 * This rank's targets in a step with full batches. Gradients are divided by it; if batches are not
 * full, agree() finds the correction.
 */
static double usual_targets(const struct train_run *run)
{
	return (double)run->feed.share * run->source.tokens;
}

/* returns 0; RING_ESYSTEM if the device has failed, which has said so */
static int await_device(const struct train_run *run)
{
	return run->device->wait() == 0 ? 0 : RING_ESYSTEM;
}

/*
 * Runs backward, until its last gradient is final; that of earlier micro-batches took `earlier`
 * seconds.
 */
static int backward(struct train_run *run, double earlier)
{
	train_profile_begin(&run->profile, earlier);
	train_slow_begin(&run->faults);
	train_model_backward(run->model, &run->loaded.batch, (train_real)(1 / usual_targets(run)),
			     note_ready, run);
	int err = await_device(run);
	train_slow_end(&run->faults);
	return err;
}

static int shadow(struct train_run *run)
{
	train_ddp_shadow(run->ddp);
	return await_device(run);
}

static int finish(struct train_run *run, double *at, struct train_step *step)
{
	struct train_ddp_times times;
	double came = *at;
	int err = train_ddp_finish(run->ddp, &times);
	train_run_account(run, TRAIN_ROW_CPU, "blocked", at, &step->blocked);
	return err ? err : account_calls(run, &times, came, *at, step);
}

/*
 * Does one micro-batch: data, forward, backward; averages gradients if it is the last, or after
 * each if so asked.
 */
static int do_micro(struct train_run *run, int micro, struct train_step *step, struct sums *sums)
{
	const struct train_options *options = run->options;
	bool last = micro == options->accumulate - 1;
	bool averages = last || options->sync_every_micro;
	double at = train_now();
	int rows = load(run, micro);
	train_run_account(run, TRAIN_ROW_CPU, "data", &at, &step->data);
	if (rows < 0)
		return RING_ENOMEM;

	long targets = 0;
	if (rows > 0)
		sums->loss += forward(run, &targets);
	train_run_account(run, TRAIN_ROW_COMPUTE, "forward", &at, &step->forward);

	train_ddp_synchronise(run->ddp, averages);
	int err = 0;
	if (rows > 0)
		err = backward(run, step->backward);
	else if (averages)
		err = shadow(run);
	train_run_account(run, TRAIN_ROW_COMPUTE, "backward", &at, &step->backward);
	sums->targets += targets;
	step->examples += (uint64_t)rows;
	step->computed += rows > 0 ? run->loaded.computed : 0;
	return averages && !err ? finish(run, &at, step) : err;
}

/*
 * Computes the loss of all ranks, and the factor that turns the average over ranks into the mean
 * over targets; and what is to be done after this step. Ranks that average nothing do not exchange
 * these either.
 */
static int agree(struct train_run *run, const struct sums *own, double *loss, double *scale)
{
	enum { DUE = 2, STOPS, SUMS = STOPS + TRAIN_STOPS };
	double sums[SUMS] = {own->loss, (double)own->targets, train_journal_is_due(run)};
	bool alone = !communicates(run);
	train_stop_note(sums + STOPS);
	int err = alone ? 0 : train_team_sum(run->team, sums, SUMS);
	run->due = sums[DUE] > 0;
	if (!alone || !run->options->uneven) /* else they ask one another as epochs end */
		run->stop = train_stop_signal(sums + STOPS);
	double usual = usual_targets(run);
	if (!alone)
		usual *= run->team->size;
	*loss = sums[1] > 0 ? sums[0] / sums[1] : NAN;
	*scale = sums[1] > 0 ? usual / sums[1] : 0;
	return err;
}

/* Makes the extra all-reduce, on the communicator of the gradients. */
static int call_extra(struct train_run *run, double *at, struct train_step *step)
{
	struct train_faults *faults = &run->faults;
	if (faults->extra_count == 0 || !communicates(run))
		return 0;
	if (!faults->extra) {
		if (train_extra_prepare(faults) != 0)
			return RING_ENOMEM;
		train_run_account(run, TRAIN_ROW_CPU, "extra memory", at, &step->host);
	}
	double came = *at;
	int err = train_team_average(run->team, faults->extra, faults->extra_count);
	train_run_account(run, TRAIN_ROW_COMMUNICATION, "extra all-reduce", at, &step->blocked);
	train_extra_release(faults);
	if (err)
		return err;
	return train_waits_add(&run->waits, TRAIN_WAIT_EXTRA, came, *at) == 0 ? 0 : RING_ENOMEM;
}

/* Does rank 0's work, and a barrier, which makes all ranks wait for it. */
static int work_and_meet(struct train_run *run, double *at, struct train_step *step)
{
	if (run->faults.work_s > 0) {
		train_sleep(run->faults.work_s);
		train_run_account(run, TRAIN_ROW_CPU, "rank 0's work", at, &step->host);
	}
	if (!run->options->faults.barrier || !communicates(run))
		return 0;
	double came = *at;
	int err = train_team_barrier(run->team);
	train_run_account(run, TRAIN_ROW_CPU, "barrier", at, &step->blocked);
	if (err)
		return err;
	return train_waits_add(&run->waits, TRAIN_WAIT_BARRIER, came, *at) == 0 ? 0 : RING_ENOMEM;
}

static int optimize(struct train_run *run, double scale, struct train_step *step)
{
	long index = (long)run->state.step;
	train_slow_begin(&run->faults);
	step->rate = train_optimizer_rate(&run->optimizer.options, index);
	step->length = train_optimizer_step(&run->optimizer, run->model, scale, index);
	int err = await_device(run);
	train_slow_end(&run->faults);
	return err;
}

int train_run_step(struct train_run *run, struct train_step *step)
{
	struct sums sums = {0};
	double scale;
	int err = 0;
	*step = (struct train_step){.step = run->state.step + 1, .begin = train_now()};
	double at = step->begin;
	if (run->faults.delay_s > 0) {
		train_sleep(run->faults.delay_s);
		train_run_account(run, TRAIN_ROW_CPU, "late", &at, &step->data);
	}
	for (int micro = 0; !err && micro < run->options->accumulate; micro++)
		err = do_micro(run, micro, step, &sums);
	at = train_now();
	if (!err)
		err = call_extra(run, &at, step);
	if (!err)
		err = agree(run, &sums, &step->loss, &scale);
	train_run_account(run, TRAIN_ROW_CPU, "agree", &at, &step->agree);
	if (err)
		return err;
	err = optimize(run, scale, step);
	train_run_account(run, TRAIN_ROW_COMPUTE, "optimizer", &at, &step->optimizer);
	if (!err)
		err = work_and_meet(run, &at, step);
	step->tokens = (uint64_t)sums.targets;
	step->total = at - step->begin;
	run->state.step++;
	run->state.position += run->state.global_batch;
	return err;
}
