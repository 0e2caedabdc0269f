/* SPDX-License-Identifier: MIT */
/*
 * ring_train: trains a small model data-parallel over ringccl. This file decides who the ranks are:
 * this process, if a launcher started it as one; else children that run this program again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/finish.h"
#include "../tools/launcher.h"
#include "../tools/role.h"
#include "../tools/standard_files.h"
#include "alike.h"
#include "export.h"
#include "files.h"
#include "loop.h"
#include "matmul.h"
#include "options.h"
#include "outcome.h"
#include "show.h"

static void print_beginning(const struct train_run *run)
{
	const struct train_options *options = run->options;
	char examples[192];
	train_source_describe(&run->source, examples, sizeof(examples));
	printf("%s%s: %zu parameters, %s\n", options->as_reference ? "reference: " : "",
	       options->preset, run->model->parameter_count, train_matmul_name());
	printf("%d rank%s, global batch %d; %s\n", run->team->size, run->team->size == 1 ? "" : "s",
	       options->global_batch, examples);
	fflush(stdout);
}

/* Trains as one rank of a team. */
static int train(struct train_options *options, struct train_team *team)
{
	struct train_run run;
	int status = train_run_create(&run, options, team);
	if (status == TRAIN_EXIT_OK && team->rank == 0)
		print_beginning(&run);
	if (status == TRAIN_EXIT_OK)
		status = train_export(&run);
	if (status == TRAIN_EXIT_OK)
		status = train_run_steps(&run);
	if (status == TRAIN_EXIT_OK)
		status = train_run_alone(&run);
	if (status == TRAIN_EXIT_OK)
		status = train_run_evaluate(&run);
	if (status == TRAIN_EXIT_OK)
		status = train_outcome(&run);
	train_run_destroy(&run);
	return status;
}

static int run_rank(struct train_options *options, int rank)
{
	struct train_team team;
	if (rank == 0 && !train_files_check(options))
		return TRAIN_EXIT_SYSTEM;
	if (train_matmul_start() != 0)
		return TRAIN_EXIT_SYSTEM;
	int err = train_team_join(&team, options, rank);
	if (err)
		return train_exit_of(err);
	int status = train_options_settle(options, team.size) ? train_alike_options(&team, options)
							      : TRAIN_EXIT_USAGE;
	if (status == TRAIN_EXIT_OK)
		status = train(options, &team);
	train_team_leave(&team);
	return status;
}

/* This program again for every rank; the children find out from their environment. */
static int run_children(char **argv, int ranks)
{
	const struct launch launch = {
		.name = "ring_train",
		.path = "/proc/self/exe",
		.argv = argv,
		.ranks = ranks,
		.grace_ms = 200,
	};
	return launch_ranks(&launch);
}

/* The arguments with four more, which win as the last ones do. */
static char **extend(char **argv, int argc, const char *ranks, const char *option, const char *value)
{
	char **longer = calloc((size_t)argc + 5, sizeof(*longer));
	if (!longer)
		return NULL;
	memcpy(longer, argv, (size_t)argc * sizeof(*longer));
	longer[argc] = "--ranks";
	longer[argc + 1] = (char *)ranks;
	longer[argc + 2] = (char *)option;
	longer[argc + 3] = (char *)value;
	return longer;
}

/* First the same on one rank; its record becomes one of the references. */
static int run_with_reference(int argc, char **argv, int ranks)
{
	char path[] = "/tmp/ring_train.XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0) {
		perror("ring_train: a temporary file");
		return TRAIN_EXIT_SYSTEM;
	}
	close(fd);
	char all[16];
	snprintf(all, sizeof(all), "%d", ranks);
	char **as_reference = extend(argv, argc, "1", "--as-reference", path);
	char **with_record = extend(argv, argc, all, "--reference", path);
	int status = TRAIN_EXIT_SYSTEM;
	if (as_reference && with_record) {
		status = run_children(as_reference, 1);
		if (status == 0)
			status = run_children(with_record, ranks);
	}
	free(as_reference);
	free(with_record);
	unlink(path);
	return status;
}

/* Complaints about batches and files come once, from here. */
static int run_here(const struct train_options *options, int argc, char **argv)
{
	struct train_options settled = *options;
	int ranks = options->ranks > 0 ? options->ranks : 1;
	if (!train_options_settle(&settled, ranks))
		return TRAIN_EXIT_USAGE;
	if (!train_files_check(options))
		return TRAIN_EXIT_SYSTEM;
	return options->with_reference && ranks > 1 ? run_with_reference(argc, argv, ranks)
						    : run_children(argv, ranks);
}

static int run(int argc, char **argv)
{
	struct train_options options;
	int status;
	if (!train_options_parse(&options, argc, argv, &status))
		return status;
	if (options.print_model)
		return train_show_model(&options);
	if (options.plan_only)
		return train_show_plan(&options);
	int rank;
	switch (role_find("ring_train", options.ranks, &rank)) {
	case ROLE_REFUSED:
		return TRAIN_EXIT_USAGE;
	case ROLE_RANK:
		return run_rank(&options, rank);
	case ROLE_STARTS:
		break;
	}
	return run_here(&options, argc, argv);
}

int main(int argc, char **argv)
{
	standard_files_open();
	return finish_output("ring_train", run(argc, argv), TRAIN_EXIT_SYSTEM);
}
