/* SPDX-License-Identifier: MIT */
#include "again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/run/launcher.h"
#include "tools/temporary.h"
#include "files.h"
#include "train/cuda/device.h"

bool train_arguments_copy(struct train_arguments *arguments, int argc, char **argv)
{
	*arguments = (struct train_arguments){.argv = calloc((size_t)argc + TRAIN_MORE + 1,
							     sizeof(*arguments->argv)),
					      .argc = argc};
	if (!arguments->argv) {
		fputs("ring_train: out of memory for arguments\n", stderr);
		return false;
	}
	memcpy(arguments->argv, argv, (size_t)argc * sizeof(*argv));
	return true;
}

void train_arguments_add(struct train_arguments *arguments, const char *word)
{
	arguments->argv[arguments->argc++] = (char *)word;
}

void train_arguments_free(struct train_arguments *arguments)
{
	free(arguments->argv);
	arguments->argv = NULL;
}

/*
 * Starts this program again for every rank; the environment tells the children that they are ranks.
 */
static int run_children(char **argv, int ranks)
{
	const struct launch launch = {
		.name = "ring_train",
		.path = "/proc/self/exe",
		.argv = argv,
		.ranks = ranks,
		.grace_ms = LAUNCH_SIGNAL_GRACE_MS, /* to keep what was measured and learned */
		.signal_grace_ms = LAUNCH_SIGNAL_GRACE_MS,
	};
	return launch_ranks(&launch);
}

/* ---- references --------------------------------------------------------------------------- */

/* A run that only makes a record, with which the main run is compared. */
struct reference {
	char path[TEMPORARY_MAX];
	const char *option; /* --as-reference or --as-control */
	int ranks;
};

static int make_file(struct reference *reference)
{
	int fd = temporary_name(reference->path, "ring_train") ? mkstemp(reference->path) : -1;
	if (fd < 0) {
		fprintf(stderr, "ring_train: a temporary file: %s: %m\n", reference->path);
		return STATUS_SYSTEM;
	}
	close(fd);
	return STATUS_OK;
}

static int run_reference(struct reference *reference, int argc, char **argv)
{
	struct train_arguments arguments;
	char ranks[16];
	int status = make_file(reference);
	if (status != STATUS_OK)
		return status;
	if (!train_arguments_copy(&arguments, argc, argv))
		return STATUS_SYSTEM;
	snprintf(ranks, sizeof(ranks), "%d", reference->ranks);
	train_arguments_add(&arguments, "--ranks");
	train_arguments_add(&arguments, ranks);
	train_arguments_add(&arguments, reference->option);
	train_arguments_add(&arguments, reference->path);
	status = run_children(arguments.argv, reference->ranks);
	train_arguments_free(&arguments);
	return status;
}

static int run_with_references(const struct train_options *options, int argc, char **argv, int ranks)
{
	struct reference all[2];
	struct train_arguments arguments;
	int count = 0, status = STATUS_OK;
	if (!train_arguments_copy(&arguments, argc, argv))
		return STATUS_SYSTEM;
	if (options->with_reference && ranks > 1)
		all[count++] = (struct reference){.option = "--as-reference", .ranks = 1};
	if (options->with_control && ranks > 1)
		all[count++] = (struct reference){.option = "--as-control", .ranks = ranks};
	for (int i = 0; i < count && status == STATUS_OK; i++) {
		status = run_reference(&all[i], argc, argv);
		train_arguments_add(&arguments, "--reference");
		train_arguments_add(&arguments, all[i].path);
	}
	train_arguments_add(&arguments, "--main-run");
	if (status == STATUS_OK)
		status = run_children(arguments.argv, ranks);
	for (int i = 0; i < count; i++)
		unlink(all[i].path);
	train_arguments_free(&arguments);
	return status;
}

/* Checks batches and files here, so that complaints come once, not from every rank. */
int train_again(const struct train_options *options, int argc, char **argv)
{
	struct train_options settled = *options;
	int ranks = options->ranks > 0 ? options->ranks : 1;
	if (!train_options_settle(&settled, ranks))
		return STATUS_USAGE;
	if (!train_files_check(options) || (options->gpu >= 0 && train_cuda_count() == 0))
		return STATUS_SYSTEM;
	return run_with_references(options, argc, argv, ranks);
}
