/* SPDX-License-Identifier: MIT */
/*
 * Begins a run, with a new model or a checkpoint's, equal on all ranks.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "alike.h"
#include "loop.h"
#include "train/cuda/device.h"

#define LOCK_S 5 /* how long an earlier run may take to end */

/* What rank 0 read from a checkpoint and tells the others. */
struct restored {
	int32_t ok;
	int32_t anew; /* there is none, and that is fine */
	struct train_state state;
};

static int refuse_batch(const struct train_run *run, const struct train_state *saved)
{
	if (run->team->rank == 0)
		fprintf(stderr,
			"ring_train: the checkpoint is of a global batch of %" PRIu64
			", this run's is %" PRIu64 "; --global-batch %" PRIu64 " goes on\n",
			saved->global_batch, run->state.global_batch, saved->global_batch);
	return STATUS_USAGE;
}

/* All examples depend on the seed: their points, or their order and lengths. */
static int refuse_data(const struct train_run *run, const struct train_state *saved)
{
	if (run->team->rank == 0 && saved->seed != run->state.seed)
		fprintf(stderr,
			"ring_train: the checkpoint's examples are of --seed %" PRIu64
			", this run's of --seed %" PRIu64 "; --seed %" PRIu64 " goes on\n",
			saved->seed, run->state.seed, saved->seed);
	else if (run->team->rank == 0)
		fputs("ring_train: the checkpoint has other examples: --text or --lengths "
		      "differs\n",
		      stderr);
	return STATUS_USAGE;
}

static void read_checkpoint(struct train_run *run, struct restored *restored)
{
	const struct train_options *options = run->options;
	uint64_t step;
	restored->anew = options->resume_if_any &&
			 !train_checkpoint_find(options->checkpoint, &step);
	restored->ok = restored->anew || train_checkpoint_load(options->checkpoint, &restored->state,
							       run->model, &run->optimizer) == 0;
	if (restored->anew)
		printf("%s has no checkpoint: begins anew\n", options->checkpoint);
}

/* Rank 0 reads; the ddp broadcasts the parameters, this function the rest. */
static int resume(struct train_run *run)
{
	struct restored restored = {.state = run->state};
	struct train_team *team = run->team;
	if (team->rank == 0)
		read_checkpoint(run, &restored);
	int err = train_team_broadcast(team, &restored, sizeof(restored));
	if (err || !restored.ok)
		return err ? train_exit_of(err) : STATUS_SYSTEM;
	if (restored.anew)
		return STATUS_OK;
	if (restored.state.global_batch != run->state.global_batch)
		return refuse_batch(run, &restored.state);
	if (restored.state.data != run->state.data)
		return refuse_data(run, &restored.state);
	err = train_team_broadcast(team, run->optimizer.moments,
				   run->optimizer.count * sizeof(train_real));
	if (err)
		return train_exit_of(err);
	run->state = restored.state;
	run->saved = run->state.step;
	if (team->rank == 0)
		printf("goes on after step %" PRIu64 " of epoch %" PRIu64 "\n", run->state.step,
		       run->state.epoch);
	return STATUS_OK;
}

/* Sets where the learning rate's cosine ends, unless an option says it. */
static void settle_cosine(struct train_run *run, struct train_optimizer_options *optimizer,
			  size_t steps_per_epoch)
{
	if (optimizer->steps == 0)
		optimizer->steps = run->options->steps > 0
					   ? run->options->steps
					   : (long)steps_per_epoch * run->options->epochs;
}

static int begin_state(struct train_run *run)
{
	const struct train_options *options = run->options;
	run->state = (struct train_state){
		.seed = options->seed,
		.global_batch = (uint64_t)options->global_batch,
		.data = train_source_fingerprint(&run->source),
	};
	if (run->source.examples >= (size_t)options->global_batch)
		return STATUS_OK;
	if (run->team->rank == 0)
		fprintf(stderr, "ring_train: %zu examples are not enough for a batch of %d\n",
			run->source.examples, options->global_batch);
	return STATUS_USAGE;
}

/* The rows that a model needs: full ones, with room for the tokens of a micro-batch. */
static int rows_of(const struct train_options *options, const struct train_source *source)
{
	size_t tokens = (size_t)source->tokens, rows = (size_t)options->batch;
	if (options->batching == TRAIN_BY_TOKENS || options->batching == TRAIN_PACKED)
		rows = (train_feed_budget(options, source) + tokens - 1) / tokens;
	return (int)rows > options->batch ? (int)rows : options->batch;
}

/* So that the others see when rank 0 is dead, and no other run writes there. */
static int lock_folder(struct train_run *run)
{
	const char *folder = run->options->checkpoint;
	run->folder = train_checkpoint_lock(folder, LOCK_S);
	if (run->folder >= 0 || errno != EWOULDBLOCK) /* not every file system has locks */
		return STATUS_OK;
	fprintf(stderr, "ring_train: another run keeps its checkpoints in %s\n", folder);
	return STATUS_SYSTEM;
}

/* The ranks of a host take its GPUs in turn. */
static bool open_device(struct train_run *run)
{
	int gpu = run->options->gpu, count;
	run->device = &train_cpu;
	if (gpu < 0)
		return true;
	count = train_cuda_count();
	if (count > 0 && gpu != TRAIN_ANY_GPU && gpu >= count)
		fprintf(stderr, "ring_train: --device cuda:%d: devices are 0 to %d\n", gpu,
			count - 1);
	if (count == 0 || (gpu != TRAIN_ANY_GPU && gpu >= count))
		return false;
	run->device = train_cuda_open(gpu == TRAIN_ANY_GPU ? run->team->local % count : gpu,
				      (enum train_products)run->options->products);
	return run->device != NULL;
}

/* The model on its device, and what goes with it. */
static bool create_model(struct train_run *run)
{
	const struct train_options *options = run->options;
	const int rows = rows_of(options, &run->source);
	struct train_optimizer_options optimizer = options->optimizer;
	settle_cosine(run, &optimizer, run->source.examples / (size_t)options->global_batch);
	return open_device(run) && train_loaded_create(&run->loaded, &run->source, rows) == 0 &&
	       train_model_create_on(run->device, &run->model, &options->shape, rows,
				     options->seed) == 0 &&
	       train_optimizer_create(&run->optimizer, &optimizer, run->model) == 0 &&
	       (!options->profile ||
		train_profile_create(&run->profile, run->model, &options->ddp) == 0);
}

int train_run_create(struct train_run *run, const struct train_options *options,
		     struct train_team *team)
{
	*run = (struct train_run){
		.options = options,
		.team = team,
		.folder = -1,
		.journal.fd = -1,
		.trace.on = options->trace != NULL,
		.others = NAN,
		.alone = NAN,
		.held_out_loss = NAN,
		.products = NAN,
		.own = {NAN, NAN},
	};
	if (train_source_open(&run->source, &options->shape, options->text, &options->drawn,
			      options->seed) != 0)
		return STATUS_SYSTEM;
	int status = train_alike_examples(team, &run->source);
	if (status == STATUS_OK)
		status = begin_state(run);
	if (status != STATUS_OK)
		return status;
	if (!create_model(run) ||
	    train_faults_create(&run->faults, &options->faults, team->rank) != 0)
		return STATUS_SYSTEM;
	if (options->checkpoint && team->rank == 0)
		status = lock_folder(run);
	if (status == STATUS_OK && (options->resume || options->resume_if_any))
		status = resume(run);
	if (status != STATUS_OK)
		return status;
	if (train_feed_create(&run->feed, options, &run->source, team->size, team->rank,
			      run->state.seed) != 0)
		return STATUS_SYSTEM;
	int err = train_ddp_create(&run->ddp, team->comm, run->model, &options->ddp);
	return err ? train_exit_of(err) : train_journal_open(run);
}

void train_run_destroy(struct train_run *run)
{
	train_ddp_destroy(run->ddp);
	train_optimizer_destroy(&run->optimizer);
	train_model_destroy(run->model);
	train_cuda_close();
	train_loaded_destroy(&run->loaded);
	train_source_close(&run->source);
	train_trace_free(&run->trace);
	train_profile_destroy(&run->profile);
	train_faults_destroy(&run->faults);
	train_feed_destroy(&run->feed);
	train_waits_free(&run->waits);
	free(run->done.steps);
	free(run->controls.steps);
	train_journal_close(&run->journal, run->team->size);
	train_checkpoint_unlock(run->folder);
}
