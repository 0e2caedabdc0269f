/* SPDX-License-Identifier: MIT */
/*
 * ring_perf measures and checks collectives, in the manner of nccl-tests. This file decides what
 * the ranks are: this process is one, if a launcher started it as such; else ranks are children
 * that run this program again, or threads.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/finish.h"
#include "tools/run/launcher.h"
#include "tools/run/role.h"
#include "tools/standard_files.h"
#include "perf/calls/alike.h"
#include "ending.h"
#include "export.h"
#include "options.h"
#include "run.h"

#define DEFAULT_RANKS 2

/* Measures as one rank. size, rank and id as for perf_team_join. */
static int run_rank(const struct perf_options *options, char **argv, int size, int rank,
		    const struct ring_unique_id *id)
{
	struct perf_run run = {.options = options, .argv = argv};
	signal(SIGPIPE, SIG_IGN); /* report_is_unread() looks */
	if (!options->threads && rank == 0)
		perf_ending_begin(options);
	int err = perf_team_join(&run.team, options, size, rank, id);
	if (!err)
		err = perf_alike(&run.team, options);
	int status = err == RING_ETIMEDOUT ? STATUS_TIMEOUT : STATUS_FAILED;
	if (err == RING_EMISMATCH && !run.team.error[0]) /* already printed */
		status = STATUS_USAGE;
	if (!err)
		status = perf_run_rows(&run);
	if (run.team.error[0])
		fprintf(stderr, "ring_perf: rank %d: %s\n", run.team.rank, run.team.error);
	perf_ending_lock();
	if (run.team.rank == 0 && status != STATUS_USAGE && !perf_export(&run) && status == STATUS_OK)
		status = STATUS_SYSTEM;
	perf_ending_forget();
	perf_ending_unlock();
	perf_team_leave(&run.team); /* the library writes its trace, or complains */
	bool traced = !options->trace || !ring_comm_error(NULL)[0];
	traced = perf_trace_end(&run.team.trace, options->trace) && traced;
	if (status == STATUS_OK && !traced)
		status = STATUS_SYSTEM;
	perf_run_free(&run);
	return status;
}

struct rank_thread {
	pthread_t thread;
	const struct perf_options *options;
	char **argv;
	const struct ring_unique_id *id;
	int rank, status;
};

static void *run_thread(void *argument)
{
	struct rank_thread *self = argument;
	self->status = run_rank(self->options, self->argv, self->options->ranks, self->rank,
				self->id);
	return NULL;
}

/*
 * All ranks are threads of this process. If one cannot be started, the others time out as they
 * meet.
 */
static int run_threads(const struct perf_options *options, char **argv)
{
	struct ring_unique_id id;
	perf_ending_begin(options);
	setenv("RING_INTERFACE", "lo", 0);
	int err = ring_unique_id_create(&id);
	struct rank_thread *ranks = calloc((size_t)options->ranks, sizeof(*ranks));
	if (err || !ranks) {
		fprintf(stderr, "ring_perf: %s\n", err ? ring_strerror(err) : "out of memory");
		free(ranks);
		return STATUS_SYSTEM;
	}
	int started = 0, status = STATUS_OK;
	for (; started < options->ranks && status == STATUS_OK; started++) {
		struct rank_thread *rank = &ranks[started];
		*rank = (struct rank_thread){
			.options = options, .argv = argv, .id = &id, .rank = started};
		if (pthread_create(&rank->thread, NULL, run_thread, rank) != 0)
			break;
	}
	if (started < options->ranks) {
		fprintf(stderr, "ring_perf: cannot start a thread for rank %d\n", started);
		exit(STATUS_SYSTEM);
	}
	for (int i = 0; i < started; i++) {
		pthread_join(ranks[i].thread, NULL);
		if (status == STATUS_OK)
			status = ranks[i].status;
	}
	free(ranks);
	return status;
}

/*
 * Starts this program again for every rank; the environment tells the children that they are ranks.
 */
static int run_children(const struct perf_options *options, char **argv)
{
	const struct launch launch = {
		.name = "ring_perf",
		.path = "/proc/self/exe",
		.argv = argv,
		.ranks = options->ranks,
		.bind = true,
		.grace_ms = 200,
		.signal_grace_ms = LAUNCH_SIGNAL_GRACE_MS,
	};
	return launch_ranks(&launch);
}

/* This process is a rank that a launcher started. */
static int run_as(const struct perf_options *options, char **argv, int rank)
{
	if (options->threads) {
		fprintf(stderr, "ring_perf: is a rank already; leave out --threads, -t and -g\n");
		return STATUS_USAGE;
	}
	return perf_export_check(options, rank) ? run_rank(options, argv, 0, rank, NULL)
						: STATUS_SYSTEM;
}

static int run(int argc, char **argv)
{
	struct perf_options options;
	int status;
	if (!perf_options_parse(&options, argc, argv, &status))
		return status;

	int rank;
	switch (role_find("ring_perf", options.ranks, &rank)) {
	case ROLE_REFUSED:
		return STATUS_USAGE;
	case ROLE_RANK:
		return run_as(&options, argv, rank);
	case ROLE_STARTS:
		break;
	}
	if (options.ranks == 0)
		options.ranks = perf_options_grid(&options);
	if (options.ranks == 0)
		options.ranks = DEFAULT_RANKS;
	if (!perf_export_check(&options, 0))
		return STATUS_SYSTEM;
	return options.threads ? run_threads(&options, argv) : run_children(&options, argv);
}

int main(int argc, char **argv)
{
	standard_files_open();
	int status = run(argc, argv);
	if (status == STATUS_UNREAD) /* that output was lost is known */
		return status;
	return finish_output("ring_perf", status);
}
