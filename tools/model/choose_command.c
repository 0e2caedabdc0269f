/* SPDX-License-Identifier: MIT */
/*
 * ring_model choose: which algorithm the library would choose for a collective, and the time that
 * it predicts for each that could carry it. It uses the library's built-in numbers, or the numbers
 * and rows of a file.
 */
#include <stdio.h>

#include "commands.h"
#include "options.h"
#include "text.h"

#define RANKS_MOST 4096
#define PS_OF_US 1e6

struct choose_job {
	const struct model_collective *collective;
	struct model_list ranks, sizes;
	const char *file;
	int path, memory;
	double cpus;
	struct ring_tuning_table table;
	struct model_machine machine;
};

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

static void show(const struct choose_job *job)
{
	printf("# %s, path %s, memory %s, ", job->collective->name,
	       ring_path_name(job->machine.path), ring_memory_name(job->machine.memory));
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
	for (int r = 0; r < job->ranks.count; r++)
		for (int s = 0; s < job->sizes.count; s++) {
			int ranks = (int)job->ranks.values[r];
			double bytes = job->sizes.values[s];
			struct model_call call = model_call_of(&job->machine, job->collective->kind,
							       ranks, bytes);
			show_row(ranks, bytes, &call.choice);
		}
}

/* The library's own numbers, or a file's. returns false with a sentence on stderr */
static bool find_numbers(struct choose_job *job)
{
	struct ring_failure failure = {0};
	struct ring_tuning tuning;
	const struct ring_tuning_table *table = job->file ? &job->table : NULL;
	int err = table ? ring_tuning_file_read(job->file, &job->table, &failure) : 0;
	if (!err)
		err = ring_tuning_load(&tuning, table, job->machine.path, &failure);
	if (err) {
		model_complain("choose", "%s", failure.text);
		return false;
	}
	job->machine.model = tuning.model;
	job->machine.table = table;
	return true;
}

/* Whether the options go together. returns false with a sentence on stderr */
static bool prepare(struct choose_job *job)
{
	for (int r = 0; r < job->ranks.count; r++)
		if (job->ranks.values[r] < 2 || job->ranks.values[r] > RANKS_MOST) {
			model_complain("choose", "--ranks may be from 2 to %d here", RANKS_MOST);
			return false;
		}
	if (job->collective->kind == RING_KIND_SEND) {
		model_complain("choose", "a message is carried one way only");
		return false;
	}
	job->machine.path = (enum ring_path)job->path;
	job->machine.memory = (enum ring_memory)job->memory;
	job->machine.algorithm = MODEL_CHOOSES;
	job->machine.cpus = job->cpus;
	return true;
}

#define AT(field) offsetof(struct choose_job, field)

static const struct option_row rows[] = {
	MODEL_ROW(collective, "collective", "NAME", AT(collective), "all_reduce"),
	MODEL_ROW(ranks, "ranks", "LIST", AT(ranks), MODEL_RANKS_HELP),
	MODEL_ROW(sizes, "sizes", "LIST", AT(sizes), "such as 8,64K or 1K..64M*4"),
	MODEL_ROW(path, "path", "NAME", AT(path), "memory, socket, network, verbs or mixed"),
	MODEL_ROW(memory, "memory", "NAME", AT(memory), "private, reachable or shared"),
	MODEL_ROW(count, "cpus", "N", AT(cpus), "CPUs of all ranks together; default: one each"),
	{OPTION_TEXT, 0, "tuning", "FILE", AT(file),
	 .help = "numbers of ring_perf --tune or ring_model fit"},
	MODEL_HELP_ROW,
};

static const struct option_table table = {
	.program = "ring_model choose",
	.usage = "usage: ring_model choose [options]\nShows what the library chooses, and the "
		 "times that it predicts.\n",
	.examples = "  ring_model choose --ranks 2..64*2 --sizes 1K..16M*4 --path network\n",
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};

int model_choose_command(int argc, char **argv)
{
	static struct choose_job job;
	job = (struct choose_job){.collective = model_collective_find("all_reduce"),
				  .ranks = {1, {4}},
				  .sizes = {5, {8, 4 << 10, 64 << 10, 1 << 20, 16 << 20}},
				  .path = RING_PATH_MEMORY,
				  .memory = RING_MEMORY_REACHABLE};
	int status;
	if (model_options_parse(&table, &job, argc, argv, &status) < 0)
		return status;
	if (!prepare(&job))
		return STATUS_USAGE;
	if (!find_numbers(&job))
		return STATUS_SYSTEM;
	show(&job);
	return STATUS_OK;
}
