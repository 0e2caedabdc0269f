/* SPDX-License-Identifier: MIT */
/*
 * A rank is stopped while it reaches into another one's memory, for longer than that one waits. When the call has failed there,
 * the program uses its buffers for something else; then the stopped rank goes on. What a user would have seen: it wrote
 * its sums over what the program had there by now, or took that for right and returned 0.
 *
 * The late rank stops itself where it cannot be outside: it may not touch the place of its own result until it is told to
 * go on.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/forbid.h"
#include "tests/harness.h"

#define BYTES ((size_t)8 << 20) /* each of both ranks makes half of the sums */
#define COUNT (BYTES / sizeof(float))
#define CANARY 0xc7
#define CALL_MS 1500 /* much more than one that goes well takes */
#define PATIENCE_S 20

enum { SURVIVOR, LATE, RANKS };

struct fence_case {
	const char *name;
	bool shared;       /* memory is mapped; else copied */
	bool leaves;       /* the survivor frees and destroys all before the late one goes on */
	bool is_poor;      /* the survivor has no memory for a copy */
	bool lent_twice;   /* another communicator shares it */
	const char *words; /* what its sentence says; NULL: nothing of who does not move */
};

static const struct fence_case cases[] = {
	{"copied", false, false, false, false, NULL},
	{"copied, survivor leaves", false, true, false, false, NULL},
	{"mapped", true, false, false, false, NULL},
	{"mapped, survivor frees it and leaves", true, true, false, false, NULL},
	{"mapped, no memory for a copy", true, false, true, false, "no memory for a copy"},
	{"mapped, on two communicators", true, false, false, true, "another communicator"},
};

struct board {
	_Atomic int late_pid, late_is_done;
	_Atomic bool is_direct;
};

/* What one rank works with. */
struct act {
	struct harness_rank *self;
	const struct fence_case *wanted;
	struct board *board;
	struct ring_comm *comm, *second;
	float *send, *recv;
};

static bool await(const _Atomic int *word)
{
	double deadline = harness_clock() + PATIENCE_S;
	while (!atomic_load(word) && harness_clock() < deadline)
		usleep(1000);
	return atomic_load(word);
}

static int sum(struct act *act, struct ring_comm *comm)
{
	return ring_all_reduce(comm, act->send, act->recv, COUNT, RING_FLOAT32, RING_SUM, NULL);
}

/* ---- the late rank --------------------------------------------------------------------------- */

static char *forbidden; /* the late rank's half of its own result */

/* It may touch that when it has been stopped and told to go on. */
static void stop_here(int signal)
{
	(void)signal;
	kill(getpid(), SIGSTOP);
	mprotect(forbidden, BYTES / 2, PROT_READ | PROT_WRITE);
}

static int be_late(struct act *act)
{
	struct sigaction stop = {.sa_handler = stop_here};
	forbidden = (char *)act->recv + BYTES / 2;
	sigaction(SIGSEGV, &stop, NULL);
	mprotect(forbidden, BYTES / 2, PROT_NONE);
	int err = sum(act, act->comm);
	int bad = err ? 0 : harness_fail(act->self, "took for right what nobody waited for");
	atomic_store(&act->board->late_is_done, 1);
	return bad;
}

/* ---- the survivor ---------------------------------------------------------------------------- */

/* The kernel has nothing for who wants to put other memory where some is. */
static bool become_poor(void)
{
	const struct forbidden_call mapping = {SYS_mmap, ENOMEM, 3, MAP_FIXED, false};
	return forbid(&mapping, 1);
}

static int check_failure(const struct act *act, int err)
{
	const char *sentence = ring_comm_error(act->comm), *words = act->wanted->words;
	bool tells = strstr(sentence, "does not move");
	if (err != RING_ETIMEDOUT || tells != (words != NULL) || (words && !strstr(sentence, words)))
		return harness_fail(act->self, "%s: %s", ring_strerror(err), sentence);
	return 0;
}

/* Frees all that the call used; other memory is where its result was. */
static int leave(struct act *act)
{
	void *place = act->recv;
	if (act->wanted->shared)
		ring_mem_free(act->comm, act->send);
	else
		munmap(act->send, 2 * BYTES);
	ring_comm_destroy(act->comm);
	act->comm = NULL;
	void *other = mmap(place, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return other == place ? 0 : harness_fail(act->self, "the place is taken: %m");
}

static int survive(struct act *act)
{
	if (act->wanted->is_poor && !become_poor())
		return harness_fail(act->self, "calls cannot be forbidden here");
	int bad = check_failure(act, sum(act, act->comm));
	if (act->wanted->leaves)
		bad |= leave(act);
	memset(act->recv, CANARY, BYTES);
	kill(atomic_load(&act->board->late_pid), SIGCONT);
	if (!await(&act->board->late_is_done))
		return harness_fail(act->self, "the other rank did not go on");
	for (size_t i = 0; i < BYTES && !bad && !act->wanted->words; i++)
		if (((unsigned char *)act->recv)[i] != CANARY)
			bad = harness_fail(act->self, "byte %zu changed behind the error", i);
	return bad;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int allocate(struct act *act)
{
	void *memory = NULL;
	int err = 0;
	if (act->wanted->shared)
		err = ring_mem_alloc(act->comm, 2 * BYTES, &memory);
	else
		memory = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	if (err || memory == MAP_FAILED)
		return harness_fail(act->self, "no memory");
	memset(memory, 0, 2 * BYTES);
	act->send = memory;
	act->recv = act->send + COUNT;
	return 0;
}

/* Once, all goes well. Where the system lets nobody into private memory, none is reached into. */
static int begin(struct act *act)
{
	struct ring_stats stats = {.size = sizeof(stats)};
	if (sum(act, act->comm) || ring_comm_stats(act->comm, &stats))
		return harness_fail(act->self, "%s", ring_comm_error(act->comm));
	bool direct = strcmp(stats.last.algorithm, "direct") == 0;
	atomic_store(&act->board->is_direct, direct);
	if (!direct && act->wanted->shared)
		return harness_fail(act->self, "carried by %s", stats.last.algorithm);
	if (!act->wanted->lent_twice)
		return 0;
	int err = ring_comm_split(act->comm, 0, 0, &act->second);
	return err || sum(act, act->second) ? harness_fail(act->self, "no second communicator") : 0;
}

static int be_rank(struct harness_rank *self)
{
	struct act act = {.self = self, .wanted = self->context, .board = self->shared};
	struct ring_options options;
	harness_options(self, &options);
	options.algorithm = "direct";
	options.call_timeout_ms = CALL_MS;
	if (self->rank == LATE)
		atomic_store(&act.board->late_pid, getpid());
	int bad = harness_join(self, &options, &act.comm) || allocate(&act) || begin(&act);
	harness_barrier(self);
	if (!bad)
		bad = self->rank == LATE ? be_late(&act) : survive(&act);
	harness_barrier(self);
	ring_comm_destroy(act.second);
	ring_comm_destroy(act.comm);
	return bad;
}

static int run(const struct fence_case *wanted)
{
	struct harness team = {.world = &harness_worlds[1], /* processes, shared memory */
			       .size = RANKS,
			       .body = be_rank,
			       .context = (void *)wanted,
			       .shared_bytes = sizeof(struct board),
			       .seconds = 3 * PATIENCE_S};
	snprintf(team.label, sizeof(team.label), "%s", wanted->name);
	int bad = harness_start(&team) || harness_wait(&team);
	const struct board *board = team.shared;
	const char *skip = board && !board->is_direct ? " # SKIP memory cannot be reached" : "";
	printf("%s - %s%s\n", bad ? "not ok" : "ok", wanted->name, skip);
	harness_end(&team);
	return bad;
}

int main(void)
{
	int failed = 0, count = sizeof(cases) / sizeof(cases[0]);
	for (int i = 0; i < count; i++)
		failed += run(&cases[i]) != 0;
	printf("1..%d\n", count);
	return failed != 0;
}
