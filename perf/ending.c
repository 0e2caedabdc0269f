/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "export.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t watched;
static struct perf_run *measured; /* rank 0's; NULL: nothing yet */

void perf_ending_lock(void)
{
	pthread_mutex_lock(&lock);
}

void perf_ending_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Until there is something to write, a signal does what it always does. */
static void *wait_for_signal(void *argument)
{
	int number;
	(void)argument;
	if (sigwait(&watched, &number) != 0)
		return NULL;
	pthread_sigmask(SIG_UNBLOCK, &watched, NULL); /* a second one ends at once */
	perf_ending_lock();
	if (!measured) {
		signal(number, SIG_DFL);
		raise(number);
	}
	struct perf_team *team = &measured->team;
	snprintf(team->error, sizeof(team->error), "ended by signal %d (%s)", number,
		 strsignal(number));
	perf_export(measured);
	fprintf(stderr, "ring_perf: rank %d: %s, after %zu rows\n", team->rank, team->error,
		measured->row_count);
	_exit(STATUS_SIGNAL + number);
}

void perf_ending_begin(const struct perf_options *options)
{
	struct sigaction before;
	pthread_t thread;
	if (!options->json && !options->csv)
		return;
	sigemptyset(&watched);
	for (size_t i = 0; i < NUMBERS; i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaddset(&watched, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &watched, NULL);
	if (pthread_create(&thread, NULL, wait_for_signal, NULL) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &watched, NULL);
}

void perf_ending_watch(struct perf_run *run)
{
	if (run->team.rank != 0)
		return;
	perf_ending_lock();
	measured = run;
	perf_ending_unlock();
}

void perf_ending_forget(void)
{
	measured = NULL;
}
