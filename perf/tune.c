/* SPDX-License-Identifier: MIT */
/*
 * Each algorithm has its own communicator, which is told to use it; they are measured in turns. The
 * work of their plans is known (choose/work.h), so the times tell what that work costs.
 */
#include "tune.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/model/call.h"
#include "tools/model/numbers.h"
#include "tools/whole_file.h"
#include "choose/section.h"
#include "plan/record.h"
#include "report.h"

#define TURNS 3
#define CHUNKS_PER_ROUND 2

/* How an algorithm carries a call. */
struct carrier {
	bool carries; /* it has a plan for the call */
	int section;  /* whose numbers predict it */
	struct ring_carried carried;
};

/* A call that an algorithm carried. */
struct trial {
	int section;
	struct model_timed timed;
};

struct tuner {
	struct perf_run *run;
	struct perf_buffer *buffers;
	struct perf_team teams[PERF_ALGORITHMS]; /* all but PERF_PAIR */
	int *order;
	struct trial *trials;
	size_t count;
	size_t sizes, sizes_done; /* over all collectives */

	/* the text of the file; NULL on ranks other than 0 */
	FILE *lines;
	char *text;
	size_t bytes;
};

__attribute__((format(printf, 2, 3))) static void say(struct tuner *tuner, const char *format, ...)
{
	FILE *outs[] = {tuner->lines, stdout};
	for (int i = 0; i < 2 && tuner->lines; i++) {
		va_list arguments;
		va_start(arguments, format);
		vfprintf(outs[i], format, arguments);
		va_end(arguments);
	}
}

/* Notes what failed in a communicator of one algorithm. returns err */
static int failed(struct tuner *tuner, const struct perf_team *team, int err)
{
	struct perf_team *main_team = &tuner->run->team;
	if (err && !main_team->error[0])
		memcpy(main_team->error, team->error, sizeof(team->error));
	return err;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Makes the call once. returns 0; RING_ENOTSUP: nothing predicts it; another failure */
static int find_carrier(struct perf_team *team, const struct perf_placed *placed,
			const char *algorithm, struct carrier *carrier)
{
	struct ring_stats stats;
	int err = perf_placed_run(team, placed, 1);
	if (!err)
		err = perf_team_stats(team, &stats);
	if (err)
		return err;
	*carrier = (struct carrier){.carries = strcmp(stats.last.algorithm, algorithm) == 0,
				    .section = model_section_find(stats.numbers),
				    .carried = stats.last};
	if (carrier->section >= 0)
		return 0;
	snprintf(team->error, sizeof(team->error),
		 "--tune: GPUs carry these calls out by themselves, and no numbers predict them; "
		 "leave out --stream or RING_CUDA_ENGINE=kernel");
	return RING_ENOTSUP;
}

/* By each algorithm. One that has no plan for the call leaves it to another. */
static int find_carriers(struct tuner *tuner, const struct perf_placed *placed,
			 struct carrier carriers[PERF_ALGORITHMS])
{
	int err = 0;
	for (int a = 0; a < PERF_PAIR && !err; a++) {
		struct perf_team *team = &tuner->teams[a];
		err = find_carrier(team, placed, perf_algorithms[a], &carriers[a]);
		failed(tuner, team, err);
	}
	return err;
}

/*
 * The tuner's own team agrees when to begin: after a slow algorithm's barrier ranks would begin at
 * different times.
 */
static int measure(struct tuner *tuner, const struct perf_placed *placed,
		   const struct carrier carriers[PERF_ALGORITHMS], double us[PERF_ALGORITHMS])
{
	const struct perf_options *options = tuner->run->options;
	int err = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		for (int a = 0; a < PERF_PAIR && !err; a++) {
			struct perf_team *team = &tuner->teams[a];
			struct perf_times times[PERF_BUFFERS] = {0};
			if (!carriers[a].carries)
				continue;
			err = perf_measure_times(team, &tuner->run->team, options, placed, times);
			double median = times[options->effort.wanted[PERF_FRESH]].median;
			us[a] = turn == 0 ? median : fmin(us[a], median); /* least disturbed */
			failed(tuner, team, err);
		}
	}
	return err;
}

static enum ring_kind kind_of(const char *name)
{
	enum ring_kind kind = 0;
	while (kind < RING_KIND_ALL_TO_ALL && strcmp(ring_kind_name(kind), name) != 0)
		kind++;
	return kind;
}

static struct ring_plan_params params_of(const struct tuner *tuner, const struct perf_call *call,
					 const struct carrier *carrier)
{
	const struct ring_carried *carried = &carrier->carried;
	const bool apart = carrier->section >= RING_SECTION_APART;
	return (struct ring_plan_params){
		.kind = kind_of(call->collective->name),
		.algorithm = (enum ring_algorithm)ring_algorithm_find(carried->algorithm),
		.size = call->size,
		.order = tuner->order,
		.count = call->count,
		.element_bytes = (uint32_t)call->type->bytes,
		.chunk_bytes = carried->chunk_bytes,
		.chunks_per_round = CHUNKS_PER_ROUND,
		.place_bytes = carried->chunk_bytes,
		.channels = 1,
		.boards = ring_section_path(carrier->section) == RING_PATH_MEMORY && !apart,
		.apart = apart,
	};
}

static struct trial trial_of(const struct tuner *tuner, const struct perf_call *call,
			     const struct carrier *carrier, double us)
{
	return (struct trial){
		.section = carrier->section,
		.timed =
			{
				.params = params_of(tuner, call, carrier),
				.memory = (enum ring_memory)model_memory_find(
					carrier->carried.memory),
				.us = us,
			},
	};
}

static int try_size(struct tuner *tuner, const struct perf_call *call)
{
	struct perf_run *run = tuner->run;
	enum perf_place place = perf_call_is(call, PERF_BOTH_PLACES) ? PERF_IN_PLACE
								     : PERF_OUT_OF_PLACE;
	struct perf_placed placed = perf_place(call, place, tuner->buffers, run->team.rank);
	struct carrier carriers[PERF_ALGORITHMS] = {0};
	double us[PERF_ALGORITHMS] = {0};
	struct trial *trials = realloc(tuner->trials,
				       (tuner->count + PERF_ALGORITHMS) * sizeof(*trials));
	if (!trials)
		return perf_team_failed(&run->team, RING_ENOMEM, "tuning");
	tuner->trials = trials;
	report_progress(run, call, tuner->sizes_done++, tuner->sizes);
	int err = find_carriers(tuner, &placed, carriers);
	if (!err)
		err = measure(tuner, &placed, carriers, us);
	for (int a = 0; a < PERF_PAIR && !err; a++)
		if (carriers[a].carries)
			trials[tuner->count++] = trial_of(tuner, call, &carriers[a], us[a]);
	return err;
}

/* How many sizes will be tried of a collective, or some more where they round to the same. */
static size_t count_sizes(const struct perf_options *options,
			  const struct perf_collective *collective)
{
	const struct perf_call call = {.collective = collective};
	size_t count = 0;
	for (size_t bytes = options->min_bytes; bytes <= options->max_bytes;
	     bytes = perf_next_size(options, bytes))
		count++;
	return perf_call_is(&call, PERF_DATA) ? count : 1;
}

/* Uneven parts go the even ones' ways, and what has no data goes by the host. */
static bool is_tuned(const struct perf_options *options, int collective)
{
	const int traits = perf_collectives[collective].traits;
	bool wanted = options->collective == PERF_ALL || options->collective == collective;
	return wanted && !(traits & PERF_UNEVEN) && (traits & PERF_DATA || !options->device);
}

static int try_collective(struct tuner *tuner, const struct perf_collective *collective)
{
	struct perf_run *run = tuner->run;
	const struct perf_options *options = run->options;
	struct perf_call call = {.collective = collective,
				 .type = &perf_types[RING_FLOAT32],
				 .op = &perf_ops[RING_SUM],
				 .ring_op = RING_SUM,
				 .size = run->team.size};
	size_t before = 0;
	int err = 0;
	for (size_t bytes = options->min_bytes; bytes <= options->max_bytes && !err;
	     bytes = perf_next_size(options, bytes)) {
		perf_call_set_bytes(&call, bytes);
		if (call.bytes == before) /* rounded up to one element per rank */
			continue;
		before = call.bytes;
		err = try_size(tuner, &call);
		if (!perf_call_is(&call, PERF_DATA))
			break;
	}
	return err;
}

/* ---- fitting --------------------------------------------------------------------------------- */

/* Ranks per CPU, in 1024ths, on the host with the most of them. */
static int count_turns(const struct perf_run *run)
{
	const struct perf_rank_facts *ranks = run->facts.ranks;
	int most = 0;
	for (int rank = 0; rank < run->team.size; rank++) {
		int together = 0;
		for (int other = 0; other < run->team.size; other++)
			together += strcmp(ranks[rank].machine.host, ranks[other].machine.host) == 0;
		most = together > most ? together : most;
	}
	return most * RING_TURNS_NONE / (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The trials of a section. returns how many */
static size_t pick_section(const struct tuner *tuner, int section, struct model_timed *timed)
{
	int turns = count_turns(tuner->run);
	size_t count = 0;
	for (size_t i = 0; i < tuner->count; i++)
		if (tuner->trials[i].section == section) {
			timed[count] = tuner->trials[i].timed;
			timed[count++].turns = turns;
		}
	return count;
}

/* The numbers as these ranks find them. returns false without memory */
static bool fit_section(int section, uint64_t sharers, const struct model_timed *timed,
			size_t count, struct model_fit *fit)
{
	const struct ring_model *host = &ring_model_built_in[ring_section_path(section)];
	struct ring_model before = ring_section_built_in(section, host);
	before.touch *= sharers;
	return model_fit(timed, count, &before, fit);
}

/* The numbers as the file has them, below the calls. */
static void say_fit(struct tuner *tuner, int section, uint64_t sharers,
		    const struct model_timed *timed, size_t count, struct model_fit *fit)
{
	FILE *outs[] = {tuner->lines, stdout};
	for (int i = 0; i < 2 && tuner->lines; i++)
		model_numbers_write_calls(outs[i], timed, count, fit);
	fit->model.touch /= sharers;
	for (int i = 0; i < 2 && tuner->lines; i++)
		model_numbers_write(outs[i], section, fit);
}

static int say_section(struct tuner *tuner, int section)
{
	struct model_timed *timed = calloc(tuner->count + 1, sizeof(*timed));
	struct model_fit fit;
	size_t count = timed ? pick_section(tuner, section, timed) : 0;
	uint64_t sharers = ring_section_sharers(section, tuner->run->team.size);
	bool fitted = timed && (count == 0 || fit_section(section, sharers, timed, count, &fit));
	if (fitted && count > 0)
		say_fit(tuner, section, sharers, timed, count, &fit);
	free(timed);
	return fitted ? 0 : perf_team_failed(&tuner->run->team, RING_ENOMEM, "tuning");
}

/* ---- the file -------------------------------------------------------------------------------- */

static void say_beginning(struct tuner *tuner)
{
	const struct perf_run *run = tuner->run;
	const struct perf_facts *facts = &run->facts;
	say(tuner,
	    "# Written by ring_perf --tune for RING_TUNING: %d ranks over %s, %s buffers in %s "
	    "memory%s%s,\n# best medians of %d turns; %s, %s, %s.\n",
	    run->team.size, run->team.transports, perf_buffers_name(run->options),
	    perf_memory_name(run->options), facts->devices ? " of " : "",
	    facts->devices ? facts->devices[0].text : "", TURNS, facts->ranks[0].machine.cpu,
	    facts->kernel, facts->started);
}

/* Times of a busy machine make numbers that say little; whoever reads the file later must know. */
static void say_busyness(struct tuner *tuner)
{
	report_busyness(tuner->run, tuner->lines);
	report_busyness(tuner->run, stdout);
}

static void say_use(const struct perf_run *run)
{
	const char *path = run->options->tune;
	const char *folder = path[0] == '/' ? "" : "$PWD/";
	bool busy = perf_run_busyness(run).busy;
	printf("#\n# %sUse it: RING_TUNING=%s%s\n",
	       busy ? "Measure again when the machine is quiet. " : "", folder, path);
}

/* Writes no file if there are no numbers. */
static int write_file(struct tuner *tuner)
{
	struct perf_run *run = tuner->run;
	int err = 0;
	if (!tuner->lines)
		return 0;
	say_busyness(tuner);
	for (int section = 0; section < RING_SECTIONS && !err; section++)
		err = say_section(tuner, section);
	if (err)
		return err;
	bool ok = fflush(tuner->lines) == 0 &&
		  whole_file_put("ring_perf", run->options->tune, tuner->text, tuner->bytes);
	if (!ok)
		return perf_team_failed(&run->team, RING_ESYSTEM, "writing numbers");
	say_use(run);
	return 0;
}

static int open_teams(struct tuner *tuner)
{
	struct perf_run *run = tuner->run;
	int err = 0;
	tuner->order = calloc((size_t)run->team.size, sizeof(*tuner->order));
	if (!tuner->order)
		return perf_team_failed(&run->team, RING_ENOMEM, "tuning");
	for (int rank = 0; rank < run->team.size; rank++)
		tuner->order[rank] = rank;
	for (int a = 0; a < PERF_PAIR && !err; a++)
		err = failed(tuner, &tuner->teams[a],
			     perf_team_branch(&run->team, run->options, perf_algorithms[a],
					      &tuner->teams[a]));
	if (!err && run->team.rank == 0) {
		tuner->lines = open_memstream(&tuner->text, &tuner->bytes);
		if (!tuner->lines)
			err = perf_team_failed(&run->team, RING_ENOMEM, "tuning");
	}
	return err;
}

static int check_trials(struct tuner *tuner)
{
	struct perf_team *team = &tuner->run->team;
	if (tuner->count > 0)
		return 0;
	snprintf(team->error, sizeof(team->error),
		 "--tune has nothing to measure in these calls; name another --collective");
	return RING_ENOTSUP;
}

int perf_tune(struct perf_run *run, struct perf_buffer buffers[2])
{
	const struct perf_options *options = run->options;
	struct tuner tuner = {.run = run, .buffers = buffers};
	struct machine_use use = machine_use_now();
	int err = open_teams(&tuner);
	if (!err)
		say_beginning(&tuner);
	for (int c = 0; c < PERF_COLLECTIVES; c++)
		tuner.sizes += is_tuned(options, c) ? count_sizes(options, &perf_collectives[c]) : 0;
	for (int c = 0; c < PERF_COLLECTIVES && !err; c++)
		if (is_tuned(options, c))
			err = try_collective(&tuner, &perf_collectives[c]);
	progress_wipe();
	if (!err)
		err = check_trials(&tuner);
	if (!err)
		err = perf_facts_watch(&run->team, &run->facts, &use, options->threads);
	if (!err)
		err = write_file(&tuner);
	for (int a = 0; a < PERF_PAIR; a++)
		perf_team_leave(&tuner.teams[a]);
	if (tuner.lines)
		fclose(tuner.lines);
	free(tuner.text);
	free(tuner.trials);
	free(tuner.order);
	return err;
}
