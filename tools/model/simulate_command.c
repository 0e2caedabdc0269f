/* SPDX-License-Identifier: MIT */
/*
 * ring_model simulate: the library's own channels and plans among virtual ranks, over links that
 * may differ, beside the closed form, which knows only one link. Or a comparison with a record.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "commands.h"
#include "compare.h"
#include "tools/csv.h"
#include "options.h"
#include "record.h"
#include "text.h"
#include "world.h"
#include "ringccl.h"

#define RANKS_MOST 4096

struct simulate_job {
	struct model_choice choice;
	struct model_world world;
	struct model_list ranks, sizes;
	const struct model_collective *collective;
	double chunks_per_round, depth, channels, root, copy_rate, repeat, seed;
	bool whole_blocks;
	const char *compare, *csv;
	struct model_errors most;
};

/* One row: the medians over the runs. */
struct simulated {
	double seconds;    /* from when the first rank may enter */
	double after_last; /* from when the last one does        */
	double sent;       /* bytes, by the busiest rank         */
	uint64_t steps, wakes;
	double wall; /* seconds that the simulation took, all runs */
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Bytes of the largest message: the library's, or blocks in one piece. */
static size_t chunk_of(const struct simulate_job *job, const struct model_call *call, int ranks,
		       double bytes)
{
	return job->whole_blocks ? (size_t)bytes / (size_t)ranks + 1 : call->choice.chunk_bytes;
}

static struct ring_simulation_params params_of(struct simulate_job *job, enum ring_kind kind,
					       int ranks, double bytes)
{
	struct model_call call = model_call_of(&job->world.machine, kind, ranks, bytes);
	struct ring_simulation_params params = {
		.kind = kind,
		.algorithm = ranks > 1 ? call.choice.algorithm : ring_algorithm_of(kind),
		.size = ranks,
		.root = (int)job->root,
		.count = model_count_of(kind, ranks, bytes, 1),
		.type = RING_UINT8,
		.op = RING_SUM,
		.chunk_bytes = ranks > 1 ? chunk_of(job, &call, ranks, bytes) : (size_t)bytes + 1,
		.chunks_per_round = job->whole_blocks ? 1 : (int)job->chunks_per_round,
		.channels = (int)job->channels,
		.depth = (int)job->depth,
		.link_between = model_world_link,
		.context = &job->world,
	};
	params.device.reduce_bytes_per_second = model_world_reduce_rate(&job->world);
	params.device.copy_bytes_per_second = job->copy_rate;
	return params;
}

static bool run_once(struct simulate_job *job, const struct ring_simulation_params *params,
		     uint64_t last_ns, struct simulated *row)
{
	struct ring_simulation simulation;
	int err = ring_simulate(params, &simulation);
	if (err) {
		model_complain("simulate", "%d ranks: %s", params->size, ring_strerror(err));
		return false;
	}
	double overhead = model_world_overhead(&job->world);
	row->seconds = (double)simulation.end_ns * 1e-9 + overhead;
	row->after_last = row->seconds - (double)last_ns * 1e-9;
	row->steps = simulation.steps;
	row->wakes = simulation.wakes;
	for (int rank = 0; rank < params->size; rank++)
		row->sent = fmax(row->sent, (double)simulation.sent_bytes[rank]);
	ring_simulation_free(&simulation);
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	double first = ((const struct simulated *)a)->seconds;
	double second = ((const struct simulated *)b)->seconds;
	return (first > second) - (first < second);
}

/* Simulates some runs. Sets *median to the run of median time. */
static bool simulate(struct simulate_job *job, enum ring_kind kind, int ranks, double bytes,
		     struct simulated *median)
{
	int runs = (int)job->repeat;
	double start = now();
	job->world.ranks = ranks;
	struct ring_simulation_params params = params_of(job, kind, ranks, bytes);
	uint64_t *enter_ns = calloc((size_t)ranks, sizeof(*enter_ns));
	struct simulated *rows = calloc((size_t)runs, sizeof(*rows));
	bool done = enter_ns && rows;
	if (!done)
		model_complain("simulate", "out of memory");
	params.enter_ns = enter_ns;
	for (int run = 0; run < runs && done; run++) {
		uint64_t last_ns = model_world_enter(&job->world, run, ranks, enter_ns);
		done = run_once(job, &params, last_ns, &rows[run]);
	}
	if (done) {
		qsort(rows, (size_t)runs, sizeof(*rows), compare_rows);
		*median = rows[runs / 2];
		median->wall = now() - start;
	}
	free(enter_ns);
	free(rows);
	return done;
}

/* ---- a table ------------------------------------------------------------------------------ */

static double closed_form(const struct simulate_job *job, int ranks, double bytes)
{
	struct model_machine machine = job->world.machine;
	if (job->whole_blocks)
		machine.chunk = MODEL_WHOLE_BLOCKS;
	return model_call_of(&machine, job->collective->kind, ranks, bytes).seconds;
}

static void show_row(const struct simulate_job *job, int ranks, double bytes,
		     const struct simulated *row, FILE *csv)
{
	double closed = closed_form(job, ranks, bytes);
	char size[MODEL_TEXT_ROOM], ratio[MODEL_TEXT_ROOM], busbw[MODEL_TEXT_ROOM];
	printf("%-8d %10s %8lu %14.0f %14.2f %14.2f %14.2f %7s %8s %10lu %8.2f\n", ranks,
	       model_size_text(bytes, size), (unsigned long)row->steps, row->sent,
	       row->seconds * 1e6, row->after_last * 1e6, closed * 1e6,
	       model_ratio_text(row->seconds, closed, 3, ratio),
	       model_ratio_text(row->sent, row->seconds * 1e9, 3, busbw), (unsigned long)row->wakes,
	       row->wall);
	if (csv)
		fprintf(csv, "%s,%d,%.0f,%lu,%.0f,%.9g,%.9g,%.9g\n", job->collective->name, ranks,
			bytes, (unsigned long)row->steps, row->sent, row->seconds, row->after_last,
			closed);
}

static bool can_simulate(int ranks)
{
	if (ranks > RANKS_MOST)
		model_complain("simulate", "%d ranks are too many, %d the most", ranks, RANKS_MOST);
	return ranks <= RANKS_MOST;
}

static bool show_rows(struct simulate_job *job, FILE *csv)
{
	printf("%-8s %10s %8s %14s %14s %14s %14s %7s %8s %10s %8s\n", "# ranks", "size", "steps",
	       "sent (B)", "time (us)", "after last", "closed (us)", "ratio", "busbw", "wakes",
	       "took (s)");
	if (csv)
		fputs("collective,ranks,bytes,steps,sent,seconds,after_last,closed\n", csv);
	for (int r = 0; r < job->ranks.count; r++)
		for (int s = 0; s < job->sizes.count; s++) {
			int ranks = (int)job->ranks.values[r];
			double bytes = job->sizes.values[s];
			struct simulated row;
			if (!can_simulate(ranks) ||
			    !simulate(job, job->collective->kind, ranks, bytes, &row))
				return false;
			show_row(job, ranks, bytes, &row, csv);
		}
	return true;
}

static bool show(struct simulate_job *job)
{
	struct model_csv csv;
	return model_csv_begin(&csv, job->csv) && model_csv_end(&csv, show_rows(job, csv.out));
}

/* ---- beside a record ---------------------------------------------------------------------- */

/* Memory that ranks share is not simulated. */
static bool is_simulated(const struct model_sample *sample)
{
	return !ring_algorithm_has(sample->timed.params.algorithm,
				   RING_NEEDS_STAGES | RING_NEEDS_REACH);
}

/* Links, chunks and CPUs are the row's, unless the options say another. */
static bool take_row(struct simulate_job *job, const struct model_sample *sample)
{
	const struct ring_plan_params *params = &sample->timed.params;
	struct model_machine *machine = &job->world.machine;
	if (!can_simulate(params->size) ||
	    model_machine_make("simulate", &job->choice, (int)sample->path, machine))
		return false;
	machine->algorithm = (int)params->algorithm;
	if (job->choice.chunk == 0)
		machine->chunk = params->chunk_bytes;
	if (job->choice.cpus == 0 && sample->timed.turns > 0)
		machine->cpus = params->size * (double)RING_TURNS_NONE / sample->timed.turns;
	return true;
}

static bool add_case(struct simulate_job *job, const struct model_sample *sample,
		     struct model_cases *cases)
{
	const struct ring_plan_params *params = &sample->timed.params;
	struct simulated row;
	struct model_case *at = model_cases_add(cases);
	if (!at || !take_row(job, sample) ||
	    !simulate(job, params->kind, params->size, sample->bytes, &row))
		return false;
	model_sample_name(sample, at->name, sizeof(at->name));
	at->predicted = row.seconds;
	at->measured = sample->timed.us * 1e-6;
	return true;
}

static int compare(struct simulate_job *job)
{
	struct model_record record;
	struct model_cases cases = {0};
	if (!model_record_read(job->compare, &record))
		return STATUS_SYSTEM;
	model_record_remark(&record, stdout);
	bool good = true;
	for (size_t i = 0; i < record.count && good; i++)
		good = !is_simulated(&record.samples[i]) ||
		       add_case(job, &record.samples[i], &cases);
	int status = good ? model_compare(&cases, &job->most, stdout) : STATUS_SYSTEM;
	model_cases_free(&cases);
	model_record_free(&record);
	return status;
}

/* ---- the command line --------------------------------------------------------------------- */

#define AT(field) offsetof(struct simulate_job, field)

static const struct option_row rows[] = {
	{OPTION_HEADING, .help = "The machine"},
	MODEL_CHOICE_ROWS,
	MODEL_ROW(rate, "copy-rate", "RATE", AT(copy_rate), "of copying; default: takes no time"),
	{OPTION_HEADING, .help = "The calls"},
	MODEL_ROW(ranks, "ranks", "LIST", AT(ranks), MODEL_RANKS_HELP),
	MODEL_ROW(sizes, "sizes", "LIST", AT(sizes), "of the whole vector, 1M"),
	MODEL_ROW(collective, "collective", "NAME", AT(collective), "all_reduce"),
	MODEL_ROW(real, "root", "RANK", AT(root), "0"),
	MODEL_ROW(count, "chunks-per-round", "N", AT(chunks_per_round), "RING_CHUNKS_PER_ROUND, 2"),
	MODEL_ROW(count, "depth", "N", AT(depth), "RING_DEPTH, 4"),
	MODEL_ROW(count, "channels", "N", AT(channels), "RING_CHANNELS, 1"),
	{OPTION_FLAG, 0, "whole-blocks", NULL, AT(whole_blocks), .help = "one chunk for each block"},
	{OPTION_HEADING, .help = "Links and ranks that are different"},
	MODEL_ROW(wire, "wire", "FROM-TO=RATE[,LATENCY]", AT(world), "this link is different"),
	MODEL_ROW(slow, "slow", "RANK=FACTOR", AT(world), "its links are slower"),
	MODEL_ROW(late, "late", "RANK=TIME", AT(world), "it enters later"),
	MODEL_ROW(time, "jitter", "TIME", AT(world.jitter),
		  "all enter later, half a normal distribution"),
	MODEL_ROW(count, "seed", "N", AT(seed), "of the jitter, 1"),
	MODEL_ROW(count, "repeat", "N", AT(repeat), "runs, of which the median is shown"),
	{OPTION_HEADING, .help = "What is shown and written"},
	{OPTION_FILE, 0, "csv", "FILE", AT(csv), .help = "write the times there"},
	{OPTION_TEXT, 0, "compare", "FILE", AT(compare),
	 .help = "compare with a record of ring_perf"},
	MODEL_ROW(errors, "check", "MEDIAN,WORST", AT(most),
		  "fail above these errors, such as 0.10,0.25"),
	MODEL_HELP_ROW,
};

static const struct option_table table = {
	.program = "ring_model simulate",
	.usage = "usage: ring_model simulate [options]\nSimulates a collective, message by "
		 "message.\n",
	.examples = "  ring_model simulate --link 10GB/s,5us --ranks 1024 --slow 7=4\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

int model_simulate_command(int argc, char **argv)
{
	struct simulate_job job = {.choice = model_choice_none,
				   .ranks = {4, {2, 4, 8, 16}},
				   .sizes = {1, {1 << 20}},
				   .collective = model_collective_find("all_reduce"),
				   .chunks_per_round = 2,
				   .depth = 4,
				   .channels = 1,
				   .repeat = 1,
				   .seed = 1,
				   .most = model_errors_any()};
	int status;
	if (model_options_parse(&table, &job, argc, argv, &status) < 0)
		return status;
	job.world.seed = (uint64_t)job.seed;
	if (job.compare)
		return compare(&job);
	status = model_machine_make("simulate", &job.choice, MODEL_ANY, &job.world.machine);
	if (status == STATUS_OK && !show(&job))
		status = STATUS_SYSTEM;
	return status;
}
