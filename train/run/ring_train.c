/* SPDX-License-Identifier: MIT */
/*
 * ring_train trains a small model data-parallel over ringccl. This file decides what the ranks are:
 * this process is one, if a launcher started it as such; else ranks are children that run this
 * program again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/finish.h"
#include "tools/quiet.h"
#include "tools/run/role.h"
#include "tools/standard_files.h"
#include "again.h"
#include "alike.h"
#include "export.h"
#include "files.h"
#include "loop.h"
#include "train/model/device.h"
#include "train/model/matmul.h"
#include "train/step/options.h"
#include "outcome.h"
#include "train/report/show.h"

static void print_beginning(const struct train_run *run)
{
	const struct train_options *options = run->options;
	char examples[192];
	train_source_describe(&run->source, examples, sizeof(examples));
	printf("%s%s: %zu parameters, %s\n",
	       options->as_reference ? "reference: "
	       : options->as_control ? "control: "
				     : "",
	       options->preset, run->model->parameter_count, run->device->matmul_name());
	printf("%d rank%s, global batch %d; %s\n", run->team->size, run->team->size == 1 ? "" : "s",
	       options->global_batch, examples);
	fflush(stdout);
}

/* A run that goes on from a finished one makes no step, and its report has no times. */
static void print_done(const struct train_run *run)
{
	if (run->done.count + run->controls.count == 0 && !run->stop)
		printf("nothing was left to do: step %" PRIu64
		       " is the last; more --steps or --epochs go on\n",
		       run->state.step);
}

/* Waits until rank 0 has written everything: a launcher may end it once others are gone. */
static int end_early(struct train_run *run, int status)
{
	const char *folder = run->options->checkpoint;
	if (run->team->rank == 0)
		fprintf(stderr,
			"ring_train: got signal %d (%s): stopped after step %" PRIu64 "; %s%s\n",
			run->stop, strsignal(run->stop), run->state.step,
			folder ? "--resume goes on from " : "there is no checkpoint (--checkpoint)",
			folder ? folder : "");
	train_team_barrier(run->team);
	return status == STATUS_OK ? STATUS_SIGNAL + run->stop : status;
}

/* Trains as one rank of a team. */
static int train(struct train_options *options, struct train_team *team)
{
	struct train_run run;
	int status = train_run_create(&run, options, team);
	if (status == STATUS_OK && team->rank == 0)
		print_beginning(&run);
	if (status == STATUS_OK)
		status = train_export(&run);
	if (status == STATUS_OK) {
		status = train_run_steps(&run);
		if (status == STATUS_OK && team->rank == 0)
			print_done(&run);
		if (status == STATUS_OK && !run.stop)
			status = train_run_alone(&run);
		if (status == STATUS_OK && !run.stop)
			status = train_run_evaluate(&run);
		if (status == STATUS_OK && !run.stop)
			status = train_run_products(&run);
		if (status != STATUS_OK)
			train_run_rescue(&run, status);
	}
	if (status == STATUS_OK)
		status = train_outcome(&run);
	if (run.stop)
		status = end_early(&run, status);
	train_run_destroy(&run);
	return status;
}

static int run_rank(struct train_options *options, int rank)
{
	struct train_team team;
	if (rank == 0 && !train_files_check(options))
		return STATUS_SYSTEM;
	if (train_matmul_start() != 0)
		return STATUS_SYSTEM;
	int err = train_team_join(&team, options, rank);
	if (err)
		return train_exit_of(err);
	int status = train_options_settle(options, team.size) ? train_alike_options(&team, options)
							      : STATUS_USAGE;
	if (status == STATUS_OK)
		status = train(options, &team);
	train_team_leave(&team);
	return status;
}

/* A launcher has started these ranks, and nobody starts others before them. */
static bool suits_launcher(const struct train_options *options)
{
	const char *reference = options->with_reference ? "--with-reference"
				: options->with_control ? "--with-control"
							: NULL;
	if (options->sweep)
		fputs("ring_train: --sweep starts its ranks itself; leave out the launcher\n",
		      stderr);
	else if (reference)
		fprintf(stderr,
			"ring_train: %s starts its ranks itself: leave out the launcher and say "
			"--ranks N, or give --reference FILE, an earlier run's record\n",
			reference);
	return !options->sweep && !reference;
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
	if (options.quiet)
		quiet_begin();
	int rank;
	switch (role_find("ring_train", options.ranks, &rank)) {
	case ROLE_REFUSED:
		return STATUS_USAGE;
	case ROLE_RANK:
		return suits_launcher(&options) ? run_rank(&options, rank) : STATUS_USAGE;
	case ROLE_STARTS:
		break;
	}
	return options.sweep ? train_sweep(&options, argc, argv) : train_again(&options, argc, argv);
}

int main(int argc, char **argv)
{
	standard_files_open();
	return finish_output("ring_train", run(argc, argv));
}
