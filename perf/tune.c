/* SPDX-License-Identifier: MIT */
/*
 * For every algorithm there is a communicator of its own that is told to use it; they are measured in
 * turns. Which of them has a plan for a collective, a first call tells.
 */
#include "tune.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/whole_file.h"
#include "samples.h"

#define TURNS 3

/* A row ends only where another algorithm takes at most this share of the time. */
#define NOTABLE 0.95

/* The algorithms at one size. */
struct trial {
	size_t part; /* bytes as rows count them       */
	double us[PERF_ALGORITHMS];
	enum perf_algorithm best;
};

struct tuner {
	struct perf_run *run;
	struct perf_buffer *buffers;
	struct perf_team teams[PERF_ALGORITHMS]; /* not of PERF_PAIR */

	/* of the current collective */
	bool can[PERF_ALGORITHMS];
	struct ring_carried carried; /* how the last of those was */
	struct trial *trials;
	int trial_count;

	/* what rank 0 writes; NULL on others */
	FILE *rows;
	char *text;
	size_t bytes;
};

__attribute__((format(printf, 2, 3))) static void say(struct tuner *tuner, const char *format, ...)
{
	FILE *outs[] = {tuner->rows, stdout};
	for (int i = 0; i < 2 && tuner->rows; i++) {
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

/* Makes a call by each algorithm: it has a plan if that is what carried it. */
static int find_candidates(struct tuner *tuner, const struct perf_placed *placed, int *candidates)
{
	int err = 0;
	*candidates = 0;
	for (int a = 0; a < PERF_PAIR && !err; a++) {
		struct perf_team *team = &tuner->teams[a];
		struct ring_stats stats;
		err = perf_placed_run(team, placed, 1);
		if (!err)
			err = perf_team_stats(team, &stats);
		tuner->can[a] = !err && strcmp(stats.last.algorithm, perf_algorithms[a]) == 0;
		if (tuner->can[a])
			tuner->carried = stats.last;
		*candidates += tuner->can[a];
		failed(tuner, team, err);
	}
	return err;
}

/* The tuner's own team agrees when to begin: behind a slow algorithm's barrier ranks would come less together, and wait. */
static int measure(struct tuner *tuner, const struct perf_placed *placed, struct trial *trial)
{
	const struct perf_options *options = tuner->run->options;
	double us[PERF_ALGORITHMS][TURNS];
	int err = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		for (int a = 0; a < PERF_PAIR && !err; a++) {
			struct perf_team *team = &tuner->teams[a];
			struct perf_times times[PERF_BUFFERS] = {0};
			if (tuner->can[a])
				err = perf_measure_times(team, &tuner->run->team, options, placed,
							 times);
			us[a][turn] = times[options->effort.wanted[PERF_FRESH]].median;
			failed(tuner, team, err);
		}
	}
	for (int a = 0; a < PERF_PAIR && !err; a++) {
		perf_sort(us[a], TURNS);
		trial->us[a] = us[a][0]; /* the least disturbed */
	}
	return err;
}

/* The fastest, or, where that is hardly faster, the one before. */
static enum perf_algorithm choose_best(const struct tuner *tuner, const struct trial *trial)
{
	int best = -1;
	for (int a = 0; a < PERF_PAIR; a++)
		if (tuner->can[a] && (best < 0 || trial->us[a] < trial->us[best]))
			best = a;
	if (tuner->trial_count > 0) {
		enum perf_algorithm before = tuner->trials[tuner->trial_count - 1].best;
		if (trial->us[best] > NOTABLE * trial->us[before])
			return before;
	}
	return (enum perf_algorithm)best;
}

static int try_size(struct tuner *tuner, const struct perf_call *call)
{
	struct perf_run *run = tuner->run;
	enum perf_place place = perf_call_is(call, PERF_BOTH_PLACES) ? PERF_IN_PLACE
								     : PERF_OUT_OF_PLACE;
	struct perf_placed placed = perf_place(call, place, tuner->buffers, run->team.rank);
	struct trial trial = {.part = perf_call_part_bytes(call)};
	size_t bytes = (size_t)(tuner->trial_count + 1) * sizeof(trial);
	struct trial *trials = realloc(tuner->trials, bytes);
	if (!trials)
		return perf_team_failed(&run->team, RING_ENOMEM, "tuning");
	tuner->trials = trials;
	int err = measure(tuner, &placed, &trial);
	if (err)
		return err;
	trial.best = choose_best(tuner, &trial);
	tuner->trials[tuner->trial_count++] = trial;

	say(tuner, "# %12zu", trial.part);
	for (int a = 0; a < PERF_PAIR; a++)
		if (tuner->can[a])
			say(tuner, "  %10.2f", trial.us[a]);
	say(tuner, "\n");
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void say_row(struct tuner *tuner, const struct perf_call *call, int last, const char *memory)
{
	char bytes[24] = "any";
	const struct trial *trial = &tuner->trials[last];
	if (last + 1 < tuner->trial_count)
		snprintf(bytes, sizeof(bytes), "%zu", trial->part);
	say(tuner, "%s %s %s %d %s %s\n", call->collective->name, tuner->carried.path, memory,
	    call->size, bytes, perf_algorithms[trial->best]);
}

/*
 * Memory counts as private where ranks do not ask one another whose it is: what can do with any has a
 * row for that, too. No row is for any memory, lest it keep DIRECT from memory that was not measured.
 */
static void say_rows_of(struct tuner *tuner, const struct perf_call *call, int last)
{
	const char *unasked = "private", *asked = tuner->carried.memory;
	if (tuner->trials[last].best != PERF_DIRECT)
		say_row(tuner, call, last, unasked);
	if (strcmp(asked, unasked) != 0)
		say_row(tuner, call, last, asked);
}

/* One for each stretch of sizes that one algorithm carries best; the last goes on for ever. */
static void say_rows(struct tuner *tuner, const struct perf_call *call)
{
	for (int i = 0; i < tuner->trial_count; i++)
		if (i + 1 == tuner->trial_count ||
		    tuner->trials[i + 1].best != tuner->trials[i].best)
			say_rows_of(tuner, call, i);
}

static void say_heading(struct tuner *tuner, const struct perf_call *call)
{
	bool parts = perf_call_is(call, PERF_PER_RANK);
	say(tuner, "#\n# %s: bytes of %s, microseconds of a call\n# %12s", call->collective->name,
	    parts ? "a part" : "the vector", "");
	for (int a = 0; a < PERF_PAIR; a++)
		if (tuner->can[a])
			say(tuner, "  %10s", perf_algorithms[a]);
	say(tuner, "\n");
}

static bool is_new(const struct tuner *tuner, const struct perf_call *call)
{
	int last = tuner->trial_count - 1;
	return last < 0 || tuner->trials[last].part < perf_call_part_bytes(call);
}

static int tune_collective(struct tuner *tuner, const struct perf_collective *collective)
{
	struct perf_run *run = tuner->run;
	const struct perf_options *options = run->options;
	struct perf_call call = {.collective = collective,
				 .type = &perf_types[RING_FLOAT32],
				 .op = &perf_ops[RING_SUM],
				 .ring_op = RING_SUM,
				 .size = run->team.size};
	int candidates;
	perf_call_set_bytes(&call, options->min_bytes);
	struct perf_placed placed = perf_place(&call, PERF_OUT_OF_PLACE, tuner->buffers,
					       run->team.rank);
	int err = find_candidates(tuner, &placed, &candidates);
	if (err || candidates < 2)
		return err;
	tuner->trial_count = 0;
	say_heading(tuner, &call);
	for (size_t bytes = options->min_bytes; bytes <= options->max_bytes && !err;
	     bytes = perf_next_size(options, bytes)) {
		perf_call_set_bytes(&call, bytes);
		if (!is_new(tuner, &call)) /* every rank has at least an element */
			continue;
		err = try_size(tuner, &call);
		if (!perf_call_is(&call, PERF_DATA))
			break;
	}
	if (!err)
		say_rows(tuner, &call);
	return err;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void say_beginning(struct tuner *tuner)
{
	const struct perf_run *run = tuner->run;
	const struct perf_facts *facts = &run->facts;
	say(tuner,
	    "# Written by ring_perf --tune for RING_TUNING: %d ranks over %s, %s buffers in %s "
	    "memory,\n# best medians of %d turns; %s, %s, %s.\n"
	    "# kind path memory ranks bytes algorithm\n",
	    run->team.size, run->team.transports, perf_buffers_name(run->options),
	    perf_memory_name(run->options), TURNS, facts->ranks[0].machine.cpu, facts->kernel,
	    facts->started);
}

/* A file without rows would only look like a table. */
static int write_file(struct tuner *tuner)
{
	struct perf_run *run = tuner->run;
	if (!tuner->rows)
		return 0;
	bool ok = fflush(tuner->rows) == 0 &&
		  whole_file_put("ring_perf", run->options->tune, tuner->text, tuner->bytes);
	return ok ? 0 : perf_team_failed(&run->team, RING_ESYSTEM, "writing rows");
}

static int open_teams(struct tuner *tuner)
{
	struct perf_run *run = tuner->run;
	int err = 0;
	for (int a = 0; a < PERF_PAIR && !err; a++)
		err = failed(tuner, &tuner->teams[a],
			     perf_team_branch(&run->team, run->options, perf_algorithms[a],
					      &tuner->teams[a]));
	if (!err && run->team.rank == 0) {
		tuner->rows = open_memstream(&tuner->text, &tuner->bytes);
		if (!tuner->rows)
			err = perf_team_failed(&run->team, RING_ENOMEM, "tuning");
	}
	return err;
}

int perf_tune(struct perf_run *run, struct perf_buffer buffers[2])
{
	const struct perf_options *options = run->options;
	struct tuner tuner = {.run = run, .buffers = buffers};
	int err = open_teams(&tuner);
	if (!err)
		say_beginning(&tuner);
	for (int c = 0; c < PERF_COLLECTIVES && !err; c++)
		if (options->collective == PERF_ALL || options->collective == c)
			err = tune_collective(&tuner, &perf_collectives[c]);
	if (!err)
		err = write_file(&tuner);
	for (int a = 0; a < PERF_PAIR; a++)
		perf_team_leave(&tuner.teams[a]);
	if (tuner.rows)
		fclose(tuner.rows);
	free(tuner.text);
	free(tuner.trials);
	return err;
}
