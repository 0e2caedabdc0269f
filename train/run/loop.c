/* SPDX-License-Identifier: MIT */
/* Runs the steps, what comes between them, and the measurements after the last. */
#include "loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "outcome.h"
#include "sample.h"
#include "tools/quiet.h"
#include "train/model/device.h"
#include "train/step/stop.h"

#define RESCUE_S 0.5 /* how long rank 0 may take to die, or to save */

int train_exit_of(int err)
{
	if (err == RING_ETIMEDOUT)
		return STATUS_TIMEOUT;
	return err ? STATUS_FAILED : STATUS_OK;
}

/*
 * Begins the next epoch once no rank has examples left. Ranks with different numbers of steps ask
 * one another.
 */
static int begin_epoch_if_over(struct train_run *run)
{
	double left[1 + TRAIN_STOPS] = {train_feed_has_more(&run->feed, run->state.position)};
	if (run->options->uneven) {
		train_stop_note(left + 1);
		int err = train_team_sum(run->team, left, 1 + TRAIN_STOPS);
		if (err)
			return err;
		run->stop = train_stop_signal(left + 1);
	}
	if (left[0] == 0) {
		run->state.epoch++;
		run->state.position = 0;
	}
	return 0;
}

static bool is_done(const struct train_run *run)
{
	const struct train_options *options = run->options;
	return run->stop || (options->steps > 0 && run->state.step >= (uint64_t)options->steps) ||
	       (options->epochs > 0 && run->state.epoch >= (uint64_t)options->epochs);
}

/* ---- between steps ------------------------------------------------------------------------ */

/* Keeps a step for the record, even if the next one fails. */
int train_steps_keep(struct train_steps *kept, const struct train_step *step)
{
	if (kept->count == kept->room) {
		size_t room = kept->room ? 2 * kept->room : 256;
		struct train_step *more = realloc(kept->steps, room * sizeof(*more));
		if (!more) {
			fputs("ring_train: out of memory for records\n", stderr);
			return -1;
		}
		kept->steps = more;
		kept->room = room;
	}
	kept->steps[kept->count++] = *step;
	return 0;
}

static bool overlaps(const struct train_run *run)
{
	return run->team->size > 1 && run->options->ddp.mode == TRAIN_DDP_OVERLAP;
}

/*
 * For a profile of an overlapped run every other step is a control, which does not overlap. So
 * whatever slows the machine down slows both kinds of steps.
 */
static bool is_control(const struct train_run *run)
{
	return run->profile.on && overlaps(run) && run->state.step % 2 == 0;
}

static bool is_silent(const struct train_options *options)
{
	return quiet_is_on() || options->as_reference || options->as_control;
}

/* Prints twenty lines per run; on a terminal also one that is overwritten. */
static void talk(struct train_run *run, const struct train_step *step, bool last)
{
	const struct train_options *options = run->options;
	uint64_t every = options->steps > 20 ? (uint64_t)options->steps / 20 : 1;
	if (run->team->rank != 0 || is_silent(options))
		return;
	if (last || step->step == 1 || step->step % every == 0) {
		progress_wipe();
		printf("step %4" PRIu64 "  epoch %" PRIu64
		       "  loss %.4f  %8.2f ms  blocked %.2f ms\n",
		       step->step, run->state.epoch, step->loss, step->total * 1e3,
		       step->blocked * 1e3);
		fflush(stdout);
	}
	if (!last)
		progress_show(&run->progress, step->step, (size_t)options->steps, "loss %.4f",
			      step->loss);
}

static int compare_if_due(struct train_run *run, bool last)
{
	int every = run->options->hash_every;
	if (every == 0 || run->team->size == 1 || run->options->ddp.mode == TRAIN_DDP_OFF)
		return STATUS_OK;
	if (!last && run->state.step % (uint64_t)every != 0)
		return STATUS_OK;
	int err = train_ddp_compare(run->ddp);
	return err == RING_EMISMATCH ? STATUS_FOUND : train_exit_of(err);
}

static int save(struct train_run *run)
{
	int err = train_checkpoint_save(run->options->checkpoint, &run->state, run->model,
					&run->optimizer);
	if (!err)
		run->saved = run->state.step;
	return err ? STATUS_SYSTEM : STATUS_OK;
}

static int save_if_due(struct train_run *run, bool last)
{
	const struct train_options *options = run->options;
	if (!options->checkpoint || run->team->rank != 0 || run->saved == run->state.step)
		return STATUS_OK;
	if (!last && run->state.step % (uint64_t)options->every != 0)
		return STATUS_OK;
	return save(run);
}

/* Ranks tell one another when they came, between steps, so that it takes no step's time. */
static int settle(struct train_run *run)
{
	struct train_steps *pending = &run->waits.pending;
	int err = train_waits_divide(&run->waits, run->team);
	if (err)
		return train_exit_of(err);
	for (size_t i = 0; i < pending->count; i++) {
		const struct train_step *step = &pending->steps[i];
		if (train_steps_keep(step->control ? &run->controls : &run->done, step) != 0)
			return STATUS_SYSTEM;
	}
	pending->count = 0;
	return STATUS_OK;
}

/* Does what comes after a step. */
static int end_step(struct train_run *run, struct train_step *step)
{
	double at = train_now();
	bool last = is_done(run);
	talk(run, step, last);
	int status = compare_if_due(run, last);
	if (status == STATUS_OK)
		status = train_sample_if_due(run, last);
	if (status == STATUS_OK)
		status = save_if_due(run, last);
	train_run_account(run, TRAIN_ROW_CPU, "between steps", &at, &step->rest);
	if (train_steps_keep(&run->waits.pending, step) != 0)
		return STATUS_SYSTEM;
	if ((step->control || !overlaps(run)) && train_profile_end(&run->profile) != 0)
		return STATUS_SYSTEM;
	if (status == STATUS_OK && (run->due || train_waits_are_many(&run->waits)))
		status = settle(run);
	if (status == STATUS_OK && run->due)
		status = train_journal_take(run, run->options->ddp.mode != TRAIN_DDP_OFF);
	return status;
}

static void say_end(const struct train_run *run, const char *where, uint64_t step)
{
	fprintf(stderr, "ring_train: rank %d: training ended %s step %" PRIu64 "\n",
		run->team->rank, where, step);
}

int train_run_steps(struct train_run *run)
{
	int status = STATUS_OK;
	struct machine_use use = machine_use_now();
	train_stop_listen(run->team->rank == 0 && !is_silent(run->options));
	while (status == STATUS_OK) {
		int err = begin_epoch_if_over(run);
		if (err) {
			say_end(run, "behind", run->state.step);
			return train_exit_of(err);
		}
		if (is_done(run))
			break;
		struct train_step step;
		bool control = is_control(run);
		train_ddp_hold_back(run->ddp, control);
		err = train_run_step(run, &step);
		step.control = control;
		if (err) {
			say_end(run, "in", run->state.step + 1);
			return train_exit_of(err);
		}
		status = end_step(run, &step);
		if (status != STATUS_OK)
			say_end(run, "behind", run->state.step);
	}
	if (status == STATUS_OK)
		status = save_if_due(run, true);
	if (status == STATUS_OK)
		status = settle(run);
	if (status == STATUS_OK)
		status = train_journal_take(run, true);
	if (status == STATUS_OK)
		status = train_exit_of(train_team_others(run->team, &use, &run->others));
	return status;
}

/*
 * Saves the model as it was after the last step, unless the folder has that already, or rank 0
 * lives and does.
 */
static void rescue_model(struct train_run *run)
{
	const char *folder = run->options->checkpoint;
	uint64_t step = 0;
	if (!folder || run->team->host != 0 || run->state.step == run->saved)
		return;
	int lock = run->team->rank == 0 ? -1 : train_checkpoint_lock(folder, RESCUE_S);
	if (run->team->rank != 0 && lock < 0)
		return;
	bool is_there = train_checkpoint_find(folder, &step) && step >= run->state.step;
	if (!is_there && save(run) == STATUS_OK)
		fprintf(stderr, "ring_train: rank %d: %s has step %" PRIu64 "\n", run->team->rank,
			folder, run->state.step);
	train_checkpoint_unlock(lock);
}

void train_run_rescue(struct train_run *run, int status)
{
	bool speaks = train_journal_end(run, status);
	/* Else the model may be wrong, or the disk full. */
	if (status == STATUS_FAILED || status == STATUS_TIMEOUT)
		rescue_model(run);
	if (speaks)
		train_outcome_rescue(run);
}

/* ---- after the steps ---------------------------------------------------------------------- */

int train_run_alone(struct train_run *run)
{
	enum { REPEATS = 11 };
	double seconds[REPEATS];
	int err = 0;
	if (run->team->size == 1 || run->options->ddp.mode == TRAIN_DDP_OFF)
		return STATUS_OK;
	train_ddp_synchronise(run->ddp, true);
	train_ddp_hold_back(run->ddp, false);
	for (int i = 0; !err && i < REPEATS; i++) {
		struct train_ddp_times times;
		err = train_team_barrier(run->team);
		double begin = train_now();
		/* Averages the zeros that the optimizer left, which stay zeros. */
		train_ddp_ready(run->ddp, run->model->tensor_count - 1);
		if (!err)
			err = train_ddp_finish(run->ddp, &times);
		seconds[i] = train_now() - begin;
	}
	if (!err)
		err = train_team_max(run->team, seconds, REPEATS);
	if (err)
		return train_exit_of(err);
	run->alone = train_quantile(seconds, REPEATS, 0.5);
	if (run->options->sync_every_micro)
		run->alone *= run->options->accumulate;
	return STATUS_OK;
}

/* Computes the loss of the source itself on the evaluated examples. */
static void ask_source(struct train_run *run, size_t examples)
{
	const struct train_text *text = &run->source.text;
	if (text->source)
		run->own = train_markov_own_loss(text->source, text->tokens,
						 text->count - text->held_out + 1,
						 examples * (size_t)run->source.tokens);
}

int train_run_evaluate(struct train_run *run)
{
	size_t batch = (size_t)run->options->batch, examples = (size_t)run->options->evaluate;
	size_t ranks = (size_t)run->team->size, next = (size_t)run->team->rank;
	double sums[2] = {0};
	if (examples > run->source.held_out)
		examples = run->source.held_out;
	if (examples == 0)
		return STATUS_OK;
	while (next < examples) {
		int rows = 0;
		long targets;
		for (; rows < (int)batch && next < examples; next += ranks)
			run->loaded.examples[rows++] = run->source.examples + next;
		train_source_load(&run->source, &run->loaded, rows, TRAIN_FULL);
		sums[0] += train_model_forward(run->model, &run->loaded.batch, &targets);
		sums[1] += (double)targets;
	}
	int err = run->device->wait() == 0 ? train_team_sum(run->team, sums, 2) : RING_ESYSTEM;
	if (err)
		return train_exit_of(err);
	run->held_out_loss = sums[0] / sums[1];
	ask_source(run, examples);
	return STATUS_OK;
}
