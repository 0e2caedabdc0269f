/* SPDX-License-Identifier: MIT */
/*
 * A scene: a communicator whose ranks are processes that may be killed, stopped or starved. Each
 * rank writes down what it sees, in memory that its death does not take along: its first error and
 * when, how long destroying took, and what it failed to give back.
 *
 * Everything here is on top of tests/harness.h and ringccl.h.
 */
#ifndef SCENE_H
#define SCENE_H

#include <stdatomic.h>

#include "tests/harness.h"

#define SCENE_DESTROY_S (1.0 * HARNESS_ROOM) /* ring_comm_destroy promises a second */

enum scene_stage {
	SCENE_STARTED = 1, /* the process runs                          */
	SCENE_MEETING,     /* it has the id and joins                   */
	SCENE_CREATED,     /* it has a communicator                     */
	SCENE_ACTING,      /* it has begun what the scene is about      */
	SCENE_OVER,        /* everything has been destroyed and counted */
};

/* What one rank saw; read by the test once the rank has ended. */
struct scene_report {
	_Atomic int stage; /* enum scene_stage, only grows */
	int err;           /* its first error ... */
	char sentence[512];
	double failed_at; /* ... and when it saw it */
	double began_at;  /* its last call, if the act tells */
	double created_s; /* how long creation took ... */
	double destroy_s; /* ... and destruction */
	int wrong;        /* results that were not right */
	int calls;        /* calls that succeeded */
	pid_t child;      /* a process it has forked, which outlives it; 0: none */
	char leaks[256];  /* what was there after destruction but not before creation */
};

struct scene_memory {
	struct ring_unique_id id;
	_Atomic int id_is_made; /* 1, or the error */
	_Atomic bool gate;      /* is open */
	_Atomic bool curtain;   /* all ranks are over: helpers may go */
	struct scene_report reports[HARNESS_RANKS];
};

struct scene;

/* One rank on stage. */
struct scene_actor {
	struct scene *scene;
	int rank, size;
	struct ring_comm *comm;
	struct scene_report *report;
};

struct scene {
	/* by the test; ranks see it as it was at the start */
	int size;   /* ranks of the communicator */
	int server; /* who makes the id: a rank, or size: a process of its own */
	int hosts;  /* rank r says its host is r % hosts; 0: the true one */
	struct ring_options options;
	int seconds;          /* deadline of all; 20 */
	uint64_t absent;      /* bits of ranks that never come */
	bool gated;           /* ranks do not join before scene_open_gate() */
	const char *label;    /* to run it again */
	const void *material; /* what else the functions below want to know */

	/* Before creation: rank, size and options may be changed, limits set. NULL: nothing. */
	void (*prepare)(struct scene_actor *actor);
	/* Between creation and destruction. returns 0 or its error, which is written down. */
	int (*act)(struct scene_actor *actor);
	/* After destruction. NULL: nothing. */
	void (*finish)(struct scene_actor *actor);

	/* by scene_start */
	struct harness team;
	struct scene_memory *memory;
};

/* A scene of `size` ranks with default options, served by rank 0. */
void scene_init(struct scene *scene, int size);

/* returns 0, or -1 if processes could not be started */
int scene_start(struct scene *scene);

/* Waits until all ranks that are present have reached `stage`. False after ms of a quiet machine. */
bool scene_await(struct scene *scene, enum scene_stage stage, int ms);

/* Waits until the id is made: somebody serves the meeting. */
bool scene_await_id(const struct scene *scene, int ms);
void scene_open_gate(struct scene *scene);

/*
 * Waits for the ranks, then lets helpers go; reaps everybody, also orphans. returns how many things
 * went wrong
 */
int scene_wait(struct scene *scene);
void scene_end(struct scene *scene);

/* Kills rank's process (the serving one is `size`), whose end is fine then. returns when */
double scene_kill(struct scene *scene, int rank);

pid_t scene_pid(const struct scene *scene, int rank);

/* ---- for ranks ---- */

/* All-reduces count floats until a call fails or `calls` succeeded; checks results. */
int scene_all_reduce(struct scene_actor *actor, size_t count, int calls);

/* Writes the first error down. returns err */
int scene_note(struct scene_actor *actor, int err);

void scene_reach(struct scene_actor *actor, enum scene_stage stage);

/* ---- for tests ---- */

/* True if the sentence names "rank N" and, if pid is not 0, "pid P". */
bool scene_names(const char *sentence, int rank, pid_t pid);

/* Complains about what must never be: leaks, wrong results, late or silent ranks. returns how often */
int scene_check_report(const struct scene *scene, int rank);

__attribute__((format(printf, 3, 4))) int scene_fail(const struct scene *scene, int rank,
						     const char *format, ...);

void scene_sleep(double seconds);

/* A random number of [0, below). */
double scene_random(uint64_t *state, double below);

/*
 * Gives this process, and those that it starts, a /dev/shm of their own, which is empty. False where
 * that is not allowed.
 */
bool scene_own_dev_shm(bool writable);

/* One case of a test, as TAP; `wrong` is how many things went wrong in it. */
__attribute__((format(printf, 2, 3))) void scene_case(int wrong, const char *format, ...);
void scene_skip(const char *name, const char *reason);

/* Prints the plan. returns main's result */
int scene_cases_end(void);

#endif
