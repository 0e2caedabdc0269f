/* SPDX-License-Identifier: MIT */
/* Reads the options of option_rows.c, and decides those that were not given. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "option_rows.h"

/* Reads all arguments into options. returns true to go on */
static bool read_all(struct train_options *options, int argc, char **argv, int *status)
{
	struct option_found found = {0};
	bool goes_on = options_read(&train_option_table, options, &found, argc, argv, status) >= 0;
	options->quiet = found.quiet;
	return goes_on;
}

static bool complain(const char *sentence)
{
	fprintf(stderr, "ring_train: %s\n", sentence);
	return false;
}

/* What is trained, and on what. */
static bool agree_on_data(const struct train_options *options)
{
	const bool is_mlp = options->shape.kind == TRAIN_MLP;
	if (options->sample && is_mlp)
		return complain("--sample is of models that write texts; an MLP does not");
	if (options->text && is_mlp)
		return complain("--text is for a GPT; an MLP trains on points");
	if (options->lengths && is_mlp)
		return complain("--lengths is for a GPT; an MLP trains on points");
	if (!is_mlp && options->shape.width % options->shape.heads != 0)
		return complain("--width must be a multiple of --heads");
	return true;
}

/* How examples become steps. */
static bool agree_on_steps(const struct train_options *options)
{
	const bool plans = options->batching != TRAIN_BY_SAMPLES;
	const bool budgets = options->batching == TRAIN_BY_TOKENS ||
			     options->batching == TRAIN_PACKED;
	if (options->batch && options->global_batch)
		return complain(
			"--batch is per rank and --global-batch of all ranks: give only one");
	if (options->scaling == TRAIN_STRONG_SCALING && options->batch)
		return complain("strong scaling keeps the global batch: give --global-batch");
	if ((options->resume || options->resume_if_any) && !options->checkpoint)
		return complain("--resume goes on from a checkpoint: give --checkpoint FOLDER");
	if (options->uneven && !options->drop_last)
		return complain("--uneven already decides how epochs end: leave out --keep-last");
	if (plans && !options->lengths)
		return complain("--batching is for examples of different lengths: give --lengths");
	if (plans && (options->uneven || !options->drop_last || options->checkpoint))
		return complain("--batching plans whole epochs: leave out --uneven, --keep-last "
				"and --checkpoint");
	if (options->token_budget && !budgets)
		return complain("--token-budget is for --batching tokens or packed");
	if (options->token_budget && options->token_budget < options->shape.context)
		return complain(
			"--token-budget must hold the longest example, of --context tokens");
	return true;
}

/* What some settings leave no room for. */
static bool agree_on_extras(const struct train_options *options)
{
	if (options->export &&
	    (options->resume || options->resume_if_any || options->uneven || !options->drop_last))
		return complain("--export has whole steps, from the first on: leave out --resume, "
				"--uneven and --keep-last");
	if (options->export && options->lengths)
		return complain(
			"--export needs examples that fill the context: leave out --lengths");
	if (options->export && options->sampler != TRAIN_SHARED_OUT)
		return complain(
			"--export is of examples that ranks share: leave out --sampler none");
	if (options->products && options->gpu < 0)
		return complain("--products is of GPUs: add --device cuda");
	if (options->gpu >= 0 && options->ddp.compressed)
		return complain("--compress rounds on the CPU: leave it out with --device");
	if (options->gpu >= 0 && options->profile)
		return complain("--profile has the CPU's times of tensors: leave it out with "
				"--device");
	if (options->profile && (options->uneven || options->sync_every_micro))
		return complain("--profile needs equal steps that average once: leave out --uneven "
				"and --sync-every-micro");
	return true;
}

/* Reads "cpu", "cuda" or "cuda:1". returns false after a complaint */
static bool read_device(struct train_options *options)
{
	int end = 0;
	options->gpu = -1;
	if (!options->device || strcmp(options->device, "cpu") == 0)
		return true;
	options->gpu = TRAIN_ANY_GPU;
	if (strcmp(options->device, "cuda") == 0)
		return true;
	if (sscanf(options->device, "cuda:%4d%n", &options->gpu, &end) == 1 && options->gpu >= 0 &&
	    options->device[end] == '\0')
		return true;
	return option_complain(&train_option_table,
			       "--device wants cpu, cuda or cuda:NUMBER, not '%s'", options->device);
}

/* A reference run writes only its record. */
static void leave_only(struct train_options *options, const char *record)
{
	options->json = record;
	options->trace = options->plot = options->model = options->checkpoint = NULL;
	options->export = options->profile = options->sweep = NULL;
	options->resume = options->resume_if_any = false;
	options->reference_count = 0;
	options->with_reference = options->with_control = false;
}

static void become_reference(struct train_options *options)
{
	leave_only(options, options->as_reference);
	options->ranks = 1;
	options->uneven = 0;
	options->faults = (struct train_fault_options){.slow_rank = -1, .slow_share = 1};
}

static void become_control(struct train_options *options)
{
	leave_only(options, options->as_control);
	options->ddp.mode = TRAIN_DDP_OFF;
}

/*
 * With another optimizer than the preset's, options of the rate that were not given have plain
 * defaults.
 */
static void adopt_kind(struct train_options *options, const struct train_optimizer_options *preset)
{
	struct train_optimizer_options usual;
	train_optimizer_defaults(&usual);
	options->optimizer.beta1 = usual.beta1;
	options->optimizer.beta2 = usual.beta2;
	options->optimizer.epsilon = usual.epsilon;
	if (options->optimizer.kind == TRAIN_ADAMW && options->optimizer.rate == preset->rate)
		options->optimizer.rate = usual.rate;
}

static const struct train_options defaults = {
	.preset = "seed000",
	.accumulate = 1,
	.drop_last = true,
	.seed = 1,
	.ddp = {.mode = TRAIN_DDP_OVERLAP,
		.bucket_bytes = TRAIN_BUCKET_BYTES,
		.first_bucket_bytes = TRAIN_FIRST_BUCKET_BYTES},
	.hash_every = 50,
	.every = 100,
	.evaluate = 256,
	.scaling = -1,
};

bool train_options_parse(struct train_options *options, int argc, char **argv, int *status)
{
	struct train_options parsed = defaults, given = defaults;
	if (!read_all(&given, argc, argv, status))
		return false;
	*status = STATUS_USAGE;
	struct train_recipe recipe;
	if (!train_preset(given.preset, &parsed.shape) ||
	    !train_preset_recipe(given.preset, &recipe)) {
		return option_complain(&train_option_table, "there is no preset '%s'", given.preset);
	}
	/* Reads again, over the preset: other options override it, wherever they stand. */
	parsed.optimizer = recipe.optimizer;
	parsed.usual_batch = recipe.rows;
	if (!read_all(&parsed, argc, argv, status))
		return false;
	*status = STATUS_USAGE;
	if (parsed.optimizer.kind != recipe.optimizer.kind)
		adopt_kind(&parsed, &recipe.optimizer);
	if (parsed.scaling < 0)
		parsed.scaling = parsed.global_batch ? TRAIN_STRONG_SCALING : TRAIN_WEAK_SCALING;
	if (!read_device(&parsed) || !train_lengths_parse(&parsed.drawn, parsed.lengths) ||
	    !train_faults_parse(&parsed.faults) || !agree_on_data(&parsed) ||
	    !agree_on_steps(&parsed) || !agree_on_extras(&parsed))
		return false;
	if (parsed.steps == 0 && parsed.epochs == 0)
		parsed.steps = 200;
	if (parsed.sweep && !*parsed.sweep) /* this is a run of a sweep */
		parsed.sweep = NULL;
	if (parsed.as_reference)
		become_reference(&parsed);
	if (parsed.as_control)
		become_control(&parsed);
	*status = STATUS_OK;
	*options = parsed;
	return true;
}

bool train_options_settle(struct train_options *options, int ranks)
{
	const int shares = ranks * options->accumulate, slow = options->faults.slow_rank;
	if (slow >= ranks && !options->as_reference) {
		fprintf(stderr, "ring_train: --slow-rank %d: ranks are 0 to %d\n", slow, ranks - 1);
		return false;
	}
	if (!options->batch && !options->global_batch) {
		if (options->scaling == TRAIN_STRONG_SCALING)
			options->global_batch = options->usual_batch;
		else
			options->batch = options->usual_batch;
	}
	if (!options->batch) {
		if (options->global_batch % shares != 0) {
			fprintf(stderr,
				"ring_train: --global-batch %d does not divide by %d ranks of %d "
				"micro-batches\n",
				options->global_batch, ranks, options->accumulate);
			return false;
		}
		options->batch = options->global_batch / shares;
	}
	options->global_batch = options->batch * shares;
	bool waits = options->ddp.mode == TRAIN_DDP_NAIVE || options->ddp.mode == TRAIN_DDP_FLAT;
	if (options->profile && ranks > 1 && waits)
		return complain("--profile needs one rank, --mode off or --mode overlap");
	if (options->profile && ranks > 1 && options->steps == 1)
		return complain("--profile of several ranks needs two steps or more");
	return true;
}
