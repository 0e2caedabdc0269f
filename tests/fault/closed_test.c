/* SPDX-License-Identifier: MIT */
/*
 * A program that closes all descriptors, the library's, too, as daemons do with closefrom(3), and opens files of its own there.
 * What a user would have seen: ring_comm_destroy() never returned, a call spun until its time was over, and files of the program
 * were written to and closed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness.h"

#define SIZE 3
#define CLOSER 1
#define FIRST 3
#define FDS 64
#define WITHIN_S 15 /* much less than the time of a call */

struct closing {
	bool calls;   /* before it destroys */
	bool reopens; /* files of its own */
};

static bool keeps(const struct closing *closing, int fd)
{
	struct stat status;
	return !closing->reopens || (fstat(fd, &status) == 0 && status.st_size == 0);
}

/*
 * A call that needs no descriptor may still go well, and another rank may have been first to say that it lost this one; else
 * the call says what happened.
 */
static bool ends_in_words(struct ring_comm *comm)
{
	int32_t number = 1;
	int err = ring_all_reduce(comm, &number, &number, 1, RING_INT32, RING_SUM, NULL);
	const char *words = err == RING_ESYSTEM ? "has closed" : "rank 1 ";
	return !err || strstr(ring_comm_error(comm), words);
}

static int close_all(struct harness_rank *self, struct ring_comm *comm)
{
	const struct closing *closing = self->context;
	int bad = 0;
	closefrom(FIRST);
	for (int fd = FIRST; fd < FDS && closing->reopens; fd++)
		bad |= memfd_create("program", 0) != fd;
	double begin = harness_clock();
	if (closing->calls && !ends_in_words(comm))
		bad = harness_fail(self, "a call: \"%s\"", ring_comm_error(comm));
	ring_comm_destroy(comm);
	if (harness_clock() - begin > WITHIN_S)
		bad = harness_fail(self, "it took %.1f s", harness_clock() - begin);
	for (int fd = FIRST; fd < FDS && !bad; fd++)
		if (!keeps(closing, fd))
			bad = harness_fail(self, "descriptor %d was the program's", fd);
	return bad;
}

static int be_rank(struct harness_rank *self)
{
	int32_t number = 1;
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = 0;
	if (ring_all_reduce(comm, &number, &number, 1, RING_INT32, RING_SUM, NULL))
		bad = harness_fail(self, "%s", ring_comm_error(comm));
	harness_barrier(self);
	if (self->rank == CLOSER)
		return bad | close_all(self, comm);
	ring_all_reduce(comm, &number, &number, 1, RING_INT32, RING_SUM, NULL); /* as it may end */
	ring_comm_destroy(comm);
	return bad;
}

int main(void)
{
	int failed = 0, cases = 0;
	for (int w = 1; w < 3; w++) /* shm, tcp */
		for (int k = 0; k < 4; k++) {
			struct closing closing = {.calls = k & 1, .reopens = k & 2};
			struct harness team = {.world = &harness_worlds[w],
					       .size = SIZE,
					       .body = be_rank,
					       .context = &closing,
					       .seconds = 2 * WITHIN_S};
			int bad = harness_run(&team);
			printf("%s %d - %s: %s%s\n", bad ? "not ok" : "ok", ++cases,
			       harness_worlds[w].name, closing.calls ? "a call" : "destroying",
			       closing.reopens ? ", files of its own" : "");
			failed += bad != 0;
		}
	printf("1..%d\n", cases);
	return failed != 0;
}
