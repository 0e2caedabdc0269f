/* SPDX-License-Identifier: MIT */
/*
 * The steps. Which examples a step has depends on the seed and on how many all ranks have done before,
 * not on how many ranks there are.
 */
#include "loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "sampler.h"

int train_exit_of(int err)
{
	if (err == RING_ETIMEDOUT)
		return TRAIN_EXIT_TIMEOUT;
	return err ? TRAIN_EXIT_FAILED : TRAIN_EXIT_OK;
}

/* ---- which examples ----------------------------------------------------------------------- */

static struct train_sampler make_sampler(const struct train_run *run)
{
	return (struct train_sampler){
		.examples = run->source.examples,
		.ranks = run->team->size,
		.rank = run->team->rank,
		.seed = run->state.seed,
		.shuffles = true,
		.drops_last = run->options->drop_last,
	};
}

/* This rank's examples of a whole step. */
static size_t share_of_step(const struct train_run *run)
{
	return (size_t)run->options->batch * (size_t)run->options->accumulate;
}

/* How many examples this rank has in an epoch: whole steps only, or whatever the sampler gives. */
static size_t length_of_epoch(const struct train_run *run)
{
	const struct train_sampler sampler = make_sampler(run);
	size_t length = train_sampler_length(&sampler), share = share_of_step(run);
	if (!run->options->drop_last)
		return length;
	size_t steps = length / share;
	size_t fewer = (size_t)run->options->uneven * (size_t)run->team->rank;
	return (steps > fewer ? steps - fewer : 0) * share;
}

/* Fetches the examples of a micro-batch. returns how many there are; none if the rank ran out */
static int load_batch(struct train_run *run, int micro)
{
	const struct train_sampler sampler = make_sampler(run);
	size_t batch = (size_t)run->options->batch;
	size_t first = (size_t)run->state.position / (size_t)run->team->size + (size_t)micro * batch;
	size_t rows = first < run->length ? run->length - first : 0;
	if (rows > batch)
		rows = batch;
	for (size_t row = 0; row < rows; row++)
		run->loaded.examples[row] = train_sampler_example(&sampler, run->state.epoch,
								  first + row);
	train_source_load(&run->source, &run->loaded, (int)rows);
	if (run->model->shape.dropout > 0) /* never 0, which would leave nothing out */
		run->loaded.batch.dropout_key = train_random(run->state.seed, run->state.step) | 1;
	return (int)rows;
}

/* Begins the next epoch once no rank has examples left. Uneven ranks must ask one another. */
static int begin_epoch_if_over(struct train_run *run)
{
	size_t index = (size_t)run->state.position / (size_t)run->team->size;
	double left = index < run->length;
	if (run->options->uneven) {
		int err = train_team_sum(run->team, &left, 1);
		if (err)
			return err;
	}
	if (left == 0) {
		run->state.epoch++;
		run->state.position = 0;
	}
	return 0;
}

static bool is_done(const struct train_run *run)
{
	const struct train_options *options = run->options;
	return (options->steps > 0 && run->state.step >= (uint64_t)options->steps) ||
	       (options->epochs > 0 && run->state.epoch >= (uint64_t)options->epochs);
}

/* ---- one step ----------------------------------------------------------------------------- */

/* Says what was done since *since, in the trace, and adds its time to *part. */
static void account(struct train_run *run, enum train_row row, const char *name, double *since,
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

/* What the ddp says of its calls: when they ran, and that nothing was left to do but to wait from `came` on. */
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
	}
	return err ? RING_ENOMEM : 0;
}

/* Sums over this rank's targets of a step. */
struct sums {
	double loss;
	long targets;
};

/* train_ready of train_model_backward; context is the run. */
static void note_ready(void *context, int tensor)
{
	struct train_run *run = context;
	train_profile_ready(&run->profile, tensor);
	train_ddp_ready(run->ddp, tensor);
}

/* One micro-batch, from its data to its gradients, averaged if it is time. */
static int do_micro(struct train_run *run, int micro, struct train_step *step, struct sums *sums)
{
	const struct train_options *options = run->options;
	bool last = micro == options->accumulate - 1;
	bool averages = last || options->sync_every_micro;
	double at = train_now();
	int rows = load_batch(run, micro);
	account(run, TRAIN_ROW_CPU, "data", &at, &step->data);

	long targets = 0;
	if (rows > 0)
		sums->loss += train_model_forward(run->model, &run->loaded.batch, &targets);
	account(run, TRAIN_ROW_COMPUTE, "forward", &at, &step->forward);

	train_ddp_synchronise(run->ddp, averages);
	if (rows > 0) {
		/* As if all ranks had full batches; the optimizer is told by how much they had not. */
		double usual = (double)share_of_step(run) * run->source.tokens;
		train_profile_begin(&run->profile, step->backward);
		train_model_backward(run->model, &run->loaded.batch, (train_real)(1 / usual),
				     note_ready, run);
	} else if (averages) {
		train_ddp_shadow(run->ddp);
	}
	account(run, TRAIN_ROW_COMPUTE, "backward", &at, &step->backward);
	sums->targets += targets;
	step->examples += (uint64_t)rows;
	if (!averages)
		return 0;

	double came = at;
	struct train_ddp_times times;
	int err = train_ddp_finish(run->ddp, &times);
	account(run, TRAIN_ROW_CPU, "blocked", &at, &step->blocked);
	return err ? err : account_calls(run, &times, came, at, step);
}

/*
 * The loss of all ranks, and what the average over ranks must be multiplied by to become the mean
 * over targets. Ranks that average nothing do not tell one another anything either.
 */
static int agree(struct train_run *run, const struct sums *own, double *loss, double *scale)
{
	double sums[2] = {own->loss, (double)own->targets};
	bool alone = run->options->ddp.mode == TRAIN_DDP_OFF || run->team->size == 1;
	int err = alone ? 0 : train_team_sum(run->team, sums, 2);
	double usual = (double)share_of_step(run) * run->source.tokens;
	if (!alone)
		usual *= run->team->size;
	*loss = sums[1] > 0 ? sums[0] / sums[1] : NAN;
	*scale = sums[1] > 0 ? usual / sums[1] : 0;
	return err;
}

static bool overlaps(const struct train_run *run)
{
	return run->team->size > 1 && run->options->ddp.mode == TRAIN_DDP_OVERLAP;
}

/*
 * A profile of ranks that overlap is of steps that do not: every other one, so that whatever slows the
 * machine down slows both kinds.
 */
static bool is_control(const struct train_run *run)
{
	return run->profile.on && overlaps(run) && run->state.step % 2 == 0;
}

static int do_step(struct train_run *run, struct train_step *step)
{
	struct sums sums = {0};
	double scale;
	int err = 0;
	*step = (struct train_step){.step = run->state.step + 1,
				    .begin = train_now(),
				    .control = is_control(run)};
	for (int micro = 0; !err && micro < run->options->accumulate; micro++)
		err = do_micro(run, micro, step, &sums);
	if (err)
		return err;

	double at = train_now();
	err = agree(run, &sums, &step->loss, &scale);
	account(run, TRAIN_ROW_CPU, "agree", &at, &step->agree);
	if (err)
		return err;
	long index = (long)run->state.step;
	step->tokens = (uint64_t)sums.targets;
	step->rate = train_optimizer_rate(&run->optimizer.options, index);
	step->length = train_optimizer_step(&run->optimizer, run->model, scale, index);
	account(run, TRAIN_ROW_COMPUTE, "optimizer", &at, &step->optimizer);
	step->total = at - step->begin;
	run->state.step++;
	run->state.position += run->state.global_batch;
	return 0;
}

/* ---- between steps ------------------------------------------------------------------------ */

/* A step is kept even if the next one fails. */
static int keep(struct train_steps *kept, const struct train_step *step)
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

/* Twenty lines a run, and at a terminal one that is overwritten. */
static void talk(const struct train_run *run, const struct train_step *step, bool last)
{
	const struct train_options *options = run->options;
	uint64_t every = options->steps > 20 ? (uint64_t)options->steps / 20 : 1;
	if (run->team->rank != 0 || options->as_reference)
		return;
	bool overwrites = isatty(STDERR_FILENO);
	if (last || step->step == 1 || step->step % every == 0) {
		printf("%sstep %4" PRIu64 "  epoch %" PRIu64
		       "  loss %.4f  %8.2f ms  blocked %.2f ms\n",
		       overwrites ? "\r" : "", step->step, run->state.epoch, step->loss,
		       step->total * 1e3, step->blocked * 1e3);
		fflush(stdout);
	} else if (overwrites) {
		fprintf(stderr, "\rstep %4" PRIu64 "  loss %.4f  ", step->step, step->loss);
	}
}

static int compare_if_due(struct train_run *run, bool last)
{
	int every = run->options->hash_every;
	if (every == 0 || run->team->size == 1 || run->options->ddp.mode == TRAIN_DDP_OFF)
		return TRAIN_EXIT_OK;
	if (!last && run->state.step % (uint64_t)every != 0)
		return TRAIN_EXIT_OK;
	int err = train_ddp_compare(run->ddp);
	return err == RING_EMISMATCH ? TRAIN_EXIT_WRONG : train_exit_of(err);
}

static int save_if_due(struct train_run *run, bool last)
{
	const struct train_options *options = run->options;
	if (!options->checkpoint || run->team->rank != 0)
		return TRAIN_EXIT_OK;
	if (!last && run->state.step % (uint64_t)options->every != 0)
		return TRAIN_EXIT_OK;
	int err = train_checkpoint_save(options->checkpoint, &run->state, run->model,
					&run->optimizer);
	return err ? TRAIN_EXIT_SYSTEM : TRAIN_EXIT_OK;
}

/* Who waited for whom is told now, where it takes time from no step. */
static int settle(struct train_run *run)
{
	struct train_steps *pending = &run->waits.pending;
	int err = train_waits_divide(&run->waits, run->team);
	if (err)
		return train_exit_of(err);
	for (size_t i = 0; i < pending->count; i++) {
		const struct train_step *step = &pending->steps[i];
		if (keep(step->control ? &run->controls : &run->done, step) != 0)
			return TRAIN_EXIT_SYSTEM;
	}
	pending->count = 0;
	return TRAIN_EXIT_OK;
}

/* What there is to do behind a step. */
static int end_step(struct train_run *run, struct train_step *step)
{
	double at = train_now();
	bool last = is_done(run);
	talk(run, step, last);
	int status = compare_if_due(run, last);
	if (status == TRAIN_EXIT_OK)
		status = save_if_due(run, last);
	account(run, TRAIN_ROW_CPU, "between steps", &at, &step->rest);
	if (keep(&run->waits.pending, step) != 0)
		return TRAIN_EXIT_SYSTEM;
	if ((step->control || !overlaps(run)) && train_profile_end(&run->profile) != 0)
		return TRAIN_EXIT_SYSTEM;
	if (status == TRAIN_EXIT_OK && train_waits_are_many(&run->waits))
		status = settle(run);
	return status;
}

int train_run_steps(struct train_run *run)
{
	int status = TRAIN_EXIT_OK;
	run->length = length_of_epoch(run);
	struct machine_use use = machine_use_now();
	while (status == TRAIN_EXIT_OK) {
		int err = begin_epoch_if_over(run);
		if (err)
			return train_exit_of(err);
		if (is_done(run))
			break;
		struct train_step step;
		train_ddp_hold_back(run->ddp, is_control(run));
		err = do_step(run, &step);
		if (err) {
			fprintf(stderr, "ring_train: rank %d: training ended in step %" PRIu64 "\n",
				run->team->rank, run->state.step + 1);
			return train_exit_of(err);
		}
		status = end_step(run, &step);
	}
	if (status == TRAIN_EXIT_OK)
		status = settle(run);
	if (status == TRAIN_EXIT_OK)
		status = train_exit_of(train_team_others(run->team, &use, &run->others));
	return status;
}

/* ---- behind the steps --------------------------------------------------------------------- */

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

int train_run_alone(struct train_run *run)
{
	enum { REPEATS = 11 };
	double seconds[REPEATS];
	int err = 0;
	if (run->team->size == 1 || run->options->ddp.mode == TRAIN_DDP_OFF)
		return TRAIN_EXIT_OK;
	train_ddp_synchronise(run->ddp, true);
	train_ddp_hold_back(run->ddp, false);
	for (int i = 0; !err && i < REPEATS; i++) {
		struct train_ddp_times times;
		err = train_team_barrier(run->team);
		double begin = train_now();
		/* The optimizer left zeros: they move as any others, and stay zeros. */
		train_ddp_ready(run->ddp, run->model->tensor_count - 1);
		if (!err)
			err = train_ddp_finish(run->ddp, &times);
		seconds[i] = train_now() - begin;
	}
	if (!err)
		err = train_team_max(run->team, seconds, REPEATS);
	if (err)
		return train_exit_of(err);
	qsort(seconds, REPEATS, sizeof(seconds[0]), compare_doubles);
	run->alone = seconds[REPEATS / 2];
	if (run->options->sync_every_micro)
		run->alone *= run->options->accumulate;
	return TRAIN_EXIT_OK;
}

/* What the source itself would lose on the examples that are evaluated. */
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
		return TRAIN_EXIT_OK;
	while (next < examples) {
		int rows = 0;
		long targets;
		for (; rows < (int)batch && next < examples; next += ranks)
			run->loaded.examples[rows++] = run->source.examples + next;
		train_source_load(&run->source, &run->loaded, rows);
		sums[0] += train_model_forward(run->model, &run->loaded.batch, &targets);
		sums[1] += (double)targets;
	}
	int err = train_team_sum(run->team, sums, 2);
	if (err)
		return train_exit_of(err);
	run->held_out_loss = sums[0] / sums[1];
	ask_source(run, examples);
	return TRAIN_EXIT_OK;
}
