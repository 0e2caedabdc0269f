/* SPDX-License-Identifier: MIT */
/*
 * ring_model predict: a collective's time by the library's cost model. For all-reduce also that of
 * algorithms which the library does not have, and the sizes where they become faster than the
 * ring. Or a comparison with a record.
 */
#include <inttypes.h>
#include <stdio.h>

#include "algorithms.h"
#include "commands.h"
#include "compare.h"
#include "tools/csv.h"
#include "options.h"
#include "record.h"
#include "text.h"

struct predict_job {
	struct model_choice choice;
	struct model_machine machine;
	struct model_list ranks, sizes;
	const struct model_collective *collective;
	bool algorithms;
	const char *compare, *csv;
	struct model_errors most;
};

static void show_time(const struct predict_job *job, int ranks, double bytes, FILE *csv)
{
	struct model_call call = model_call_of(&job->machine, job->collective->kind, ranks, bytes);
	char size[MODEL_TEXT_ROOM], algbw[MODEL_TEXT_ROOM], busbw[MODEL_TEXT_ROOM];
	double sent = (double)call.sent, passed = call.sent > 0 ? bytes : 0;
	const char *carried = ranks > 1 ? ring_algorithm_name(call.choice.algorithm) : "-";
	printf("%-8d %10s %8" PRIu64 " %14" PRIu64 " %12.2f %8s %8s  %s\n", ranks,
	       model_size_text(bytes, size), call.hops, call.sent, call.seconds * 1e6,
	       model_ratio_text(passed, call.seconds * 1e9, 2, algbw),
	       model_ratio_text(sent, call.seconds * 1e9, 2, busbw), carried);
	if (csv)
		fprintf(csv, "%s,%d,%.0f,%" PRIu64 ",%" PRIu64 ",%.9g,%s\n", job->collective->name,
			ranks, bytes, call.hops, call.sent, call.seconds, carried);
}

static bool show_times(const struct predict_job *job, FILE *csv)
{
	printf("%-8s %10s %8s %14s %12s %8s %8s  %s\n", "# ranks", "size", "hops", "sent (B)",
	       "time (us)", "algbw", "busbw", "algorithm");
	if (csv)
		fputs("collective,ranks,bytes,hops,sent,seconds,algorithm\n", csv);
	for (int r = 0; r < job->ranks.count; r++)
		for (int s = 0; s < job->sizes.count; s++)
			show_time(job, (int)job->ranks.values[r], job->sizes.values[s], csv);
	return true;
}

static bool is_shown(const struct model_algorithm *algorithm, const struct model_machine *machine)
{
	return !algorithm->needs_hosts || machine->ranks_per_host > 0;
}

static void show_crossover(const struct model_algorithm *other, const struct model_machine *machine,
			   int ranks)
{
	double bytes = model_crossover(other, machine, ranks);
	double small = other->time(machine, ranks, 1);
	bool small_wins = small < model_algorithms[0].time(machine, ranks, 1);
	char size[MODEL_TEXT_ROOM];
	if (bytes > 0)
		printf("#   %-20s faster than the ring %s %s\n", other->name,
		       small_wins ? "below" : "above", model_size_text(bytes, size));
	else
		printf("#   %-20s %s the ring at every size\n", other->name,
		       small_wins ? "faster than" : "no faster than");
}

static void show_formulas(const struct model_machine *machine)
{
	puts("# a latency, B bandwidth, g reduction rate, S bytes, N ranks, c chunk");
	for (const struct model_algorithm *at = model_algorithms; at->name; at++)
		if (is_shown(at, machine))
			printf("#   %-20s %s\n", at->name, at->formula);
}

/* One row for each size, one column for each algorithm. */
static void show_table(const struct predict_job *job, const struct model_machine *machine, int ranks)
{
	printf("#\n# all_reduce on %d ranks, us\n%-10s", ranks, "# size");
	for (const struct model_algorithm *at = model_algorithms; at->name; at++)
		if (is_shown(at, machine))
			printf(" %18s", at->name);
	putchar('\n');
	for (int s = 0; s < job->sizes.count; s++) {
		double bytes = job->sizes.values[s];
		char size[MODEL_TEXT_ROOM];
		printf("%-10s", model_size_text(bytes, size));
		for (const struct model_algorithm *at = model_algorithms; at->name; at++)
			if (is_shown(at, machine))
				printf(" %18.2f", 1e6 * at->time(machine, ranks, bytes));
		putchar('\n');
	}
	for (const struct model_algorithm *at = model_algorithms + 1; at->name; at++)
		if (is_shown(at, machine))
			show_crossover(at, machine, ranks);
}

static bool show_algorithms(const struct predict_job *job)
{
	show_formulas(&job->machine);
	for (int r = 0; r < job->ranks.count; r++)
		if (job->ranks.values[r] > 1)
			show_table(job, &job->machine, (int)job->ranks.values[r]);
	return true;
}

/* A row's call by the algorithm that carried it, unless the options say another. */
static double predict_row(const struct predict_job *job, const struct model_machine *machine,
			  const struct model_sample *sample)
{
	const struct ring_plan_params *params = &sample->timed.params;
	struct model_timed timed = sample->timed;
	if (job->choice.algorithm != MODEL_ANY)
		return model_call_of(machine, params->kind, params->size, sample->bytes).seconds;
	if (job->choice.chunk > 0)
		timed.params.chunk_bytes = (uint64_t)job->choice.chunk;
	return model_fit_predict(&machine->model, &timed) * 1e-6;
}

static bool add_cases(const struct predict_job *job, const struct model_record *record,
		      struct model_cases *cases)
{
	struct model_machine machine;
	for (size_t i = 0; i < record->count; i++) {
		const struct model_sample *sample = &record->samples[i];
		struct model_case *at = model_cases_add(cases);
		bool other = i == 0 || sample->path != sample[-1].path;
		if (!at || (other && model_machine_make("predict", &job->choice, (int)sample->path,
							&machine)))
			return false;
		model_sample_name(sample, at->name, sizeof(at->name));
		at->predicted = predict_row(job, &machine, sample);
		at->measured = sample->timed.us * 1e-6;
	}
	return true;
}

static int compare(const struct predict_job *job)
{
	struct model_record record;
	struct model_cases cases = {0};
	if (!model_record_read(job->compare, &record))
		return STATUS_SYSTEM;
	model_record_remark(&record, stdout);
	int status = add_cases(job, &record, &cases) ? model_compare(&cases, &job->most, stdout)
						     : STATUS_SYSTEM;
	model_cases_free(&cases);
	model_record_free(&record);
	return status;
}

static bool show(const struct predict_job *job)
{
	struct model_csv csv;
	if (job->algorithms)
		return show_algorithms(job);
	return model_csv_begin(&csv, job->csv) && model_csv_end(&csv, show_times(job, csv.out));
}

#define AT(field) offsetof(struct predict_job, field)

static const struct option_row rows[] = {
	{OPTION_HEADING, .help = "The machine"},
	MODEL_CHOICE_ROWS,
	{OPTION_HEADING, .help = "The calls"},
	MODEL_ROW(ranks, "ranks", "LIST", AT(ranks), MODEL_RANKS_HELP),
	MODEL_ROW(sizes, "sizes", "LIST", AT(sizes), "of the whole vector, 1K..64M*4"),
	MODEL_ROW(collective, "collective", "NAME", AT(collective), "all_reduce"),
	{OPTION_HEADING, .help = "What is shown and written"},
	{OPTION_FLAG, 0, "algorithms", NULL, AT(algorithms),
	 .help = "compare the ring with trees and other all-reduces"},
	{OPTION_FILE, 0, "csv", "FILE", AT(csv), .help = "write the times there"},
	{OPTION_TEXT, 0, "compare", "FILE", AT(compare),
	 .help = "compare with a record of ring_perf"},
	MODEL_ROW(errors, "check", "MEDIAN,WORST", AT(most),
		  "fail above these errors, such as 0.10,0.25"),
	MODEL_HELP_ROW,
};

static const struct option_table table = {
	.program = "ring_model predict",
	.usage = "usage: ring_model predict [options]\nPredicts the time of a collective.\n",
	.examples = "  ring_model predict --model numbers --algorithm chosen --ranks 8\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

int model_predict_command(int argc, char **argv)
{
	struct predict_job job = {.choice = model_choice_none,
				  .ranks = {2, {2, 4}},
				  .collective = model_collective_find("all_reduce"),
				  .most = model_errors_any()};
	model_parse_list("1K..64M*4", model_parse_size, &job.sizes);
	int status;
	if (model_options_parse(&table, &job, argc, argv, &status) < 0)
		return status;
	if (job.compare)
		return compare(&job);
	status = model_machine_make("predict", &job.choice, MODEL_ANY, &job.machine);
	if (status == STATUS_OK && !show(&job))
		status = STATUS_SYSTEM;
	return status;
}
