/* SPDX-License-Identifier: MIT */
/*
 * Runs a function as every rank of a team, each in a process of its own or all as threads of one,
 * with a deadline for all of them. Whatever happens, every child is reaped; a rank that is not
 * content says why together with the team's label, which holds what is needed to run it again.
 *
 *	struct harness team = {.world = &harness_worlds[1], .size = 4, .body = check_sums};
 *	return harness_run(&team) ? 1 : 0;
 *
 * Needs only ringccl.h of the library.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ringccl.h"

#define HARNESS_RANKS 256

/*
 * A machine may be this many times slower than a quiet one: deadlines and promised bounds leave that room.
 */
#define HARNESS_ROOM 5

/* Where ranks live and what they talk over. */
struct harness_world {
	const char *name;
	bool threads;          /* of one process; else each rank is a process      */
	const char *transport; /* options.transport                                */
	int hosts;             /* rank r says that its host is r % hosts; 0: none   */
};

/* loopback (threads), shm, tcp, mixed (shared memory and TCP in one ring) */
#define HARNESS_WORLDS 4
extern const struct harness_world harness_worlds[HARNESS_WORLDS];

/* One rank, as its function sees it. */
struct harness_rank {
	struct harness *team;
	int rank, size;
	void *context; /* the team's; a process sees it as it was when the team started */
	void *shared;  /* the team's memory, the same for all ranks and the test */
};

typedef int harness_body(struct harness_rank *self); /* returns 0 if content */

struct harness {
	/* by the test */
	const struct harness_world *world;
	int size;
	harness_body *body;
	void *context;
	size_t shared_bytes; /* zeroed memory that ranks and the test share */
	int seconds;         /* that the whole team may take on a quiet machine; 0: 60 */
	uint64_t doomed;     /* bits of processes, of the first 64, that may end as they like */
	int together;        /* of ranks that are threads, so many in each process; 0: all */
	char label[256];     /* seed and parameters, for people */

	/* by harness_start */
	void *shared;
	struct harness_meeting *meeting;
	int children; /* processes */
	pid_t pids[HARNESS_RANKS];
	int status[HARNESS_RANKS]; /* as waitpid tells it, after harness_wait */
};

/* Starts the ranks and returns; 0, or -1 if they could not be started. */
int harness_start(struct harness *team);

/* Reaps all, killing those that pass the deadline. returns how many children were not content */
int harness_wait(struct harness *team);

/* Gives the shared memory back. */
void harness_end(struct harness *team);

/*
 * All three. RING_TEST_WIRE=verbs has what is said to go over tcp go over verbs, and only teams run
 * that have such links.
 */
int harness_run(struct harness *team);

/* Whether a team has links that RING_TEST_WIRE, if it is set, is about. */
bool harness_is_wanted(const struct harness_world *world);

/* ---- for ranks ---- */

/* Waits for all ranks. A rank that ended leaves the others to the deadline. */
void harness_barrier(struct harness_rank *self);

/* Rank 0 makes an identity, all get it; every rank must call. returns ring_unique_id_create's */
int harness_identity(struct harness_rank *self, struct ring_unique_id *id);

/* Defaults, and what the world says of this rank: transport and host. */
void harness_options(const struct harness_rank *self, struct ring_options *options);

/* The two above and ring_comm_create; options NULL takes harness_options. Says why it failed. */
int harness_join(struct harness_rank *self, const struct ring_options *options,
		 struct ring_comm **comm);

/* Says with label and rank what is wrong. returns 1 */
__attribute__((format(printf, 2, 3))) int harness_fail(const struct harness_rank *self,
						       const char *format, ...);

/* ---- for everybody ---- */

/* Prints the line of the next test, in TAP. returns failed */
int harness_report(const char *name, int failed);

/* True for the long form: --long, or RING_TEST_LONG in the environment. */
bool harness_is_long(int argc, char **argv);

/* True if RING_TEST_QUICK asks for fewer cases: under sanitizers each takes long. */
bool harness_is_quick(void);

/* --seed N, or a fresh one. */
uint64_t harness_seed(int argc, char **argv);

/* The next of a sequence of random numbers. */
uint64_t harness_random(uint64_t *state);

/* A text file, to be freed; NULL: there is none. */
char *harness_read(const char *name, size_t *bytes);

double harness_clock(void); /* seconds */

#endif
