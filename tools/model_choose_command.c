/* SPDX-License-Identifier: MIT */
/*
 * ring_model choose: which algorithm the library would choose for a collective, and the time that
 * it predicts for each that could carry it. It uses the library's own cost model, with its built-in
 * numbers or those of a file of ring_perf --tune.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "choose/options.h"
#include "choose/tuning.h"
#include "choose/tuning_file.h"
#include "model_commands.h"
#include "model_options.h"
#include "model_text.h"

#define RANKS_MOST 4096
#define PS_OF_US 1e6

struct choose_job {
	const struct model_collective *collective;
	struct model_list ranks, sizes;
	const char *path, *memory, *file;
	double cpus;
	struct ring_tuning_table table;
	enum ring_path path_found;
	enum ring_memory memory_found;
	int order[RANKS_MOST];
};

/* returns false with a sentence on stderr */
static bool find_names(struct choose_job *job)
{
	int path = 0, memory = 0;
	while (path < RING_PATHS && strcmp(ring_path_name((enum ring_path)path), job->path) != 0)
		path++;
	while (memory < RING_MEMORIES &&
	       strcmp(ring_memory_name((enum ring_memory)memory), job->memory) != 0)
		memory++;
	job->path_found = (enum ring_path)path;
	job->memory_found = (enum ring_memory)memory;
	if (path == RING_PATHS)
		model_complain("choose", "--path is memory, socket, network, verbs or mixed, not %s",
			       job->path);
	else if (memory == RING_MEMORIES)
		model_complain("choose", "--memory is private, reachable or shared, not %s",
			       job->memory);
	return path < RING_PATHS && memory < RING_MEMORIES;
}

/* Makes the tuning of a communicator of so many ranks. returns false with a sentence on stderr */
static bool make_tuning(const struct choose_job *job, int ranks, struct ring_tuning *tuning)
{
	bool memory = job->path_found == RING_PATH_MEMORY;
	struct ring_config config = {0};
	struct ring_failure failure = {0};
	*tuning = ring_tuning_make(&config, memory, ranks);
	tuning->turns = model_turns(ranks, job->cpus);
	if (ring_tuning_load(tuning, job->file ? &job->table : NULL, job->path_found, &failure) == 0)
		return true;
	model_complain("choose", "%s", failure.text);
	return false;
}

static struct ring_question question_of(const struct choose_job *job, int ranks, double bytes)
{
	enum ring_kind kind = job->collective->kind;
	return (struct ring_question){
		.kind = kind,
		.ranks = ranks,
		.order = job->order,
		.bytes = model_count_of(kind, ranks, bytes, 1),
		.path = job->path_found,
		.memory = job->memory_found,
		.staged = job->path_found == RING_PATH_MEMORY,
	};
}

static void show_row(int ranks, double bytes, const struct ring_choice *choice)
{
	char size[MODEL_TEXT_ROOM];
	printf("%-8d %10s  %-9s", ranks, model_size_text(bytes, size),
	       ring_algorithm_name(choice->algorithm));
	for (int a = 0; a < RING_ALGORITHMS; a++)
		if (!ring_algorithm_is_choice((enum ring_algorithm)a))
			continue;
		else if (choice->predicted_ps[a])
			printf(" %12.2f", (double)choice->predicted_ps[a] / PS_OF_US);
		else
			printf(" %12s", "-");
	putchar('\n');
}

static bool show(const struct choose_job *job)
{
	printf("# %s, path %s, memory %s, ", job->collective->name, job->path, job->memory);
	if (job->cpus > 0)
		printf("%.0f CPUs; ", job->cpus);
	else
		printf("a CPU for every rank; ");
	printf("numbers of %s; us\n%-8s %10s  %-9s", job->file ? job->file : "the library",
	       "# ranks", "size", "chosen");
	for (int a = 0; a < RING_ALGORITHMS; a++)
		if (ring_algorithm_is_choice((enum ring_algorithm)a))
			printf(" %12s", ring_algorithm_name((enum ring_algorithm)a));
	putchar('\n');
	for (int r = 0; r < job->ranks.count; r++) {
		int ranks = (int)job->ranks.values[r];
		struct ring_tuning tuning;
		if (!make_tuning(job, ranks, &tuning))
			return false;
		for (int s = 0; s < job->sizes.count; s++) {
			struct ring_question question = question_of(job, ranks,
								    job->sizes.values[s]);
			struct ring_choice choice = ring_tuning_choose(&tuning, &question);
			show_row(ranks, job->sizes.values[s], &choice);
		}
	}
	return true;
}

/* returns false with a sentence on stderr */
static bool prepare(struct choose_job *job)
{
	struct ring_failure failure = {0};
	for (int r = 0; r < job->ranks.count; r++)
		if (job->ranks.values[r] > RANKS_MOST) {
			model_complain("choose", "--ranks may be up to %d here", RANKS_MOST);
			return false;
		}
	for (int position = 0; position < RANKS_MOST; position++)
		job->order[position] = position;
	if (job->file && ring_tuning_file_read(job->file, &job->table, &failure)) {
		model_complain("choose", "%s", failure.text);
		return false;
	}
	return find_names(job);
}

int model_choose_command(int argc, char **argv)
{
	static struct choose_job job;
	job = (struct choose_job){.collective = model_collective_find("all_reduce"),
				  .ranks = {1, {4}},
				  .sizes = {5, {8, 4 << 10, 64 << 10, 1 << 20, 16 << 20}},
				  .path = "memory",
				  .memory = "reachable"};
	const struct model_option options[] = {
		{"collective", MODEL_COLLECTIVE, &job.collective, "NAME  all_reduce"},
		{"ranks", MODEL_RANKS_LIST, &job.ranks, MODEL_RANKS_HELP},
		{"sizes", MODEL_SIZES_LIST, &job.sizes, "LIST  such as 8,64K or 1K..64M*4"},
		{"path", MODEL_TEXT, &job.path, "NAME  memory, socket, network, verbs or mixed"},
		{"memory", MODEL_TEXT, &job.memory, "NAME  private, reachable or shared"},
		{"cpus", MODEL_COUNT, &job.cpus, "N  CPUs of all ranks together; default: one each"},
		{"tuning", MODEL_TEXT, &job.file, "FILE  numbers from ring_perf --tune"},
		{0}};
	const struct model_command command = {
		"choose", "", "Shows what the library chooses, and the times that it predicts.",
		options};
	int status, first = model_options_parse(&command, argc, argv, &status);
	if (first < 0)
		return status;
	if (first < argc)
		return model_complain("choose", "what is '%s'? See --help", argv[first]);
	if (!prepare(&job))
		return MODEL_EXIT_USAGE;
	return show(&job) ? MODEL_EXIT_OK : MODEL_EXIT_BAD;
}
