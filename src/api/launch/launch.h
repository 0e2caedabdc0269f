/* SPDX-License-Identifier: MIT */
/*
 * Launchers: programs that start the ranks of a job and tell each its place through the
 * environment. Each is one row of the table in launch.c, in a file of its own.
 */
#ifndef RING_LAUNCH_H
#define RING_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "choose/options.h"

/* A rank's place in the job, all that creating a communicator needs. */
struct ring_launch {
	/* which communicator of the job, from 0, and until when it may be waited for; given */
	unsigned number;
	uint64_t deadline_ms;
	int size, rank;
	bool one_host; /* all ranks are known to be on this host */
	struct ring_unique_id id;
	struct ring_watcher *watcher; /* held until the communicator holds it itself, or NULL */
};

struct ring_kvs; /* kvs.h */

struct ring_launcher {
	const char *name;
	const char *marker;    /* this launcher started us if this variable is set */
	const char *variables; /* all that it must have set, for people */
	const char *job;       /* the one that differs between jobs; NULL: a process has one job */

	/* The variables that say them; local_size may be NULL, and its variable unset. */
	const char *size, *rank, *local_size;

	/* For a launcher without such variables: sets size, rank and one_host. Meets nobody. */
	int (*find_place)(const struct ring_launcher *launcher, struct ring_launch *launch,
			  struct ring_failure *failure);

	/* How ranks exchange values, and get the id of the launch->number-th communicator. */
	const struct ring_kvs *kvs;

	/*
	 * Without, sets that id; may start to serve its meeting. Sets launch->watcher also on
	 * failure.
	 */
	int (*enter)(const struct ring_launcher *launcher, const struct ring_config *config,
		     struct ring_launch *launch, struct ring_failure *failure);
};

extern const struct ring_launcher ring_launcher_ring_run, ring_launcher_torchrun,
	ring_launcher_pmix, ring_launcher_pmi, ring_launcher_slurm, ring_launcher_torch_variables,
	ring_launcher_indexed_job;

/*
 * launcher   NULL if none started this process
 * returns    0; RING_EINVAL with a sentence if one did that is not understood
 */
int ring_launcher_find(const struct ring_launcher **launcher, struct ring_failure *failure);

/* returns 0; RING_EINVAL if a launcher that is not understood left its marker */
int ring_launch_refuse_foreign(struct ring_failure *failure);

/* A variable's value, NULL also if it is empty. */
const char *ring_launch_variable(const char *name);

/* The same for one that the launcher must have set. returns 0; RING_EINVAL naming the variable */
int ring_launch_text(const struct ring_launcher *launcher, const char *name, const char **text,
		     struct ring_failure *failure);
int ring_launch_number(const struct ring_launcher *launcher, const char *name, int least, int most,
		       int *number, struct ring_failure *failure);

#endif
