/* SPDX-License-Identifier: MIT */
/*
 * Who am I: finds the launcher that started this process, and creates the communicator of its job.
 * What each launcher says, and how its ranks find one another, is in its own file.
 */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork_lock.h"
#include "base/waits.h"
#include "kvs.h"
#include "meet/describe.h"
#include "door/watcher.h"

/*
 * The first whose marker is set counts, so inner ones come first: ranks inherit an outer launcher's
 * variables. ring_run and torchrun run under all others, mpirun and mpiexec within steps of Slurm.
 */
static const struct ring_launcher *const launchers[] = {
	&ring_launcher_ring_run,    &ring_launcher_torchrun, &ring_launcher_pmix,
	&ring_launcher_pmi,         &ring_launcher_slurm,    &ring_launcher_torch_variables,
	&ring_launcher_indexed_job,
};
#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

const char *ring_launch_variable(const char *name)
{
	const char *text = getenv(name);
	return text && text[0] ? text : NULL;
}

int ring_launch_text(const struct ring_launcher *launcher, const char *name, const char **text,
		     struct ring_failure *failure)
{
	*text = ring_launch_variable(name);
	if (*text)
		return 0;
	return ring_fail(failure, RING_EINVAL, "%s is not set, but %s is: %s sets %s", name,
			 launcher->marker, launcher->name, launcher->variables);
}

int ring_launch_number(const struct ring_launcher *launcher, const char *name, int least, int most,
		       int *number, struct ring_failure *failure)
{
	const char *text;
	char *end;
	int err = ring_launch_text(launcher, name, &text, failure);
	if (err)
		return err;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most)
		return ring_fail(failure, RING_EINVAL, "%s=%.64s must be a number from %d to %d",
				 name, text, least, most);
	*number = (int)value;
	return 0;
}

static int fail_without_launcher(struct ring_failure *failure)
{
	char known[RING_FAILURE_TEXT - 100];
	size_t length = 0;
	for (size_t i = 0; i < LAUNCHERS && length < sizeof(known); i++) {
		if (launchers[i] == &ring_launcher_torch_variables ||
		    launchers[i] == &ring_launcher_indexed_job) /* as torchrun's */
			continue;
		length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s of %s",
					   i ? "; " : "", launchers[i]->variables,
					   launchers[i]->name);
	}
	return ring_fail(failure, RING_EINVAL,
			 "no launcher started this process; understood are %s: try ring_run -n 4 "
			 "PROGRAM",
			 known);
}

int ring_launcher_find(const struct ring_launcher **launcher, struct ring_failure *failure)
{
	*launcher = NULL;
	for (size_t i = 0; i < LAUNCHERS && !*launcher; i++)
		if (ring_launch_variable(launchers[i]->marker))
			*launcher = launchers[i];
	return *launcher ? 0 : ring_launch_refuse_foreign(failure);
}

/* ---- am I one of its ranks? ---- */

static int read_place(const struct ring_launcher *launcher, struct ring_launch *launch,
		      struct ring_failure *failure)
{
	int here = 0;
	int err = ring_launch_number(launcher, launcher->size, 1, RING_SIZE_MAX, &launch->size,
				     failure);
	if (!err)
		err = ring_launch_number(launcher, launcher->rank, 0, launch->size - 1,
					 &launch->rank, failure);
	if (!err && launcher->local_size && ring_launch_variable(launcher->local_size))
		err = ring_launch_number(launcher, launcher->local_size, 1, launch->size, &here,
					 failure);
	launch->one_host = here == launch->size;
	return err;
}

static int find_place(const struct ring_launcher **launcher, struct ring_launch *launch,
		      struct ring_failure *failure)
{
	int err = ring_launcher_find(launcher, failure);
	if (err || !*launcher)
		return err;
	return (*launcher)->find_place ? (*launcher)->find_place(*launcher, launch, failure)
				       : read_place(*launcher, launch, failure);
}

int ring_job_find(const char **name, int *rank, int *size)
{
	struct ring_failure failure = {0};
	struct ring_launch launch = {.size = 1, .deadline_ms = ring_clock_ms() + RING_FIND_MS};
	struct ring_config config;
	const struct ring_launcher *launcher = NULL;
	if (!ring_config_resolve(&config, NULL, NULL))
		launch.deadline_ms = ring_clock_deadline(ring_clock_ms(), config.create_timeout_ms);
	if (!name || !rank || !size)
		return ring_refuse(RING_EINVAL, "ring_job_find: launcher, rank or size is NULL");
	int err = find_place(&launcher, &launch, &failure);
	if (err) {
		ring_failure_remember(&failure);
		return err;
	}
	*name = launcher ? launcher->name : NULL;
	*rank = launch.rank;
	*size = launch.size;
	return 0;
}

/* ---- which communicator of the job? ---- */

RING_FORK_LOCK(counting)

static char counted_job[512]; /* its name */
static unsigned calls;        /* made of that job so far */

/*
 * All ranks make the same calls in the same order, so each counts for itself and all get the same
 * number. A call that was refused because of the environment has met nobody and does not count.
 */
static unsigned count_call(const struct ring_launcher *launcher)
{
	const char *job = launcher->job ? ring_launch_variable(launcher->job) : NULL;
	char name[sizeof(counted_job)];
	snprintf(name, sizeof(name), "%s %s", launcher->name, job ? job : "");
	counting_take();
	if (strcmp(name, counted_job) != 0) {
		strcpy(counted_job, name);
		calls = 0;
	}
	unsigned number = calls++;
	counting_give();
	return number;
}

static void uncount_call(void)
{
	counting_take();
	calls--;
	counting_give();
}

static int enter(struct ring_launch *launch, const struct ring_options *options,
		 struct ring_failure *failure)
{
	struct ring_config config;
	int err = ring_config_resolve(&config, options, failure);
	const struct ring_launcher *launcher = NULL;
	launch->deadline_ms = ring_clock_deadline(ring_clock_ms(), config.create_timeout_ms);
	if (!err)
		err = find_place(&launcher, launch, failure);
	if (!err && !launcher)
		err = fail_without_launcher(failure);
	if (err)
		return err;
	launch->number = count_call(launcher);
	err = launcher->kvs ? ring_kvs_hand_out(launcher->kvs, &config, launch, failure)
			    : launcher->enter(launcher, &config, launch, failure);
	if (err == RING_EINVAL)
		uncount_call();
	return err;
}

int ring_comm_create_from_env(struct ring_comm **comm, const struct ring_options *options)
{
	struct ring_failure failure = {0};
	struct ring_launch launch = {0};
	int err = comm ? enter(&launch, options, &failure)
		       : ring_fail(&failure, RING_EINVAL, "ring_comm_create_from_env: comm is NULL");
	if (err) {
		ring_fail(&failure, err, "ring_comm_create_from_env: %s", ring_strerror(err));
		ring_failure_remember(&failure);
	}
	if (!err)
		err = ring_comm_create(comm, launch.size, launch.rank, &launch.id, options);
	if (launch.watcher)
		ring_watcher_drop(launch.watcher);
	return err;
}
