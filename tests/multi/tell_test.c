/* SPDX-License-Identifier: MIT */
/*
 * A rank that waits long says so on stderr: in which call, for whom, and what the rank does that
 * keeps it. The rank that is late comes once the others have said so, and the job goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define N 4
#define LATE 2
#define TELL_AFTER_MS 600 /* a rank is hardly so late for other reasons */
#define SILENT_MS 800

static int spoken; /* a file: what all ranks say on stderr */

/* Of what was said since the last look: how many lines hold both texts. */
static int lines_with(const char *one, const char *other)
{
	static char said[1 << 16];
	ssize_t got = pread(spoken, said, sizeof(said) - 1, 0);
	int count = 0;
	said[got < 0 ? 0 : got] = '\0';
	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		count += strstr(line, one) && strstr(line, other);
	return count;
}

static int wait_for_lines(struct harness_rank *self, const char *one, const char *other, int wanted)
{
	double until = harness_clock() + 20 * HARNESS_ROOM;
	while (lines_with(one, other) < wanted && harness_clock() < until)
		usleep(10000);
	int found = lines_with(one, other);
	return found == wanted ? 0
			       : harness_fail(self, "%d lines of \"%s\" and \"%s\", not %d", found,
					      one, other, wanted);
}

static int sum(struct harness_rank *self, struct ring_comm *comm, size_t count)
{
	float ones[] = {1, 1};
	if (ring_all_reduce(comm, ones, ones, count, RING_FLOAT32, RING_SUM, NULL))
		return harness_fail(self, "%s", ring_comm_error(comm));
	return ones[0] == N ? 0 : harness_fail(self, "the sum is %g", ones[0]);
}

/* Three ranks wait in a sum for one that computes. */
static int late_for_a_sum(struct harness_rank *self, struct ring_comm *comm)
{
	int bad = 0;
	if (self->rank == LATE)
		bad = wait_for_lines(self, "all_reduce of 2 float, sum", "; rank 2 (host ", N - 1) ||
		      wait_for_lines(self, ": all_reduce of 2 float", ") is in no call", N - 1);
	return sum(self, comm, 2) || bad;
}

static int wait_until_rank_1_said_so(struct harness_rank *self)
{
	return wait_for_lines(self, "rank 1 has waited",
			      " in recv of 1 float from rank 2, for rank 2 (host ", 1);
}

/* Rank 0 waits for a message of a rank that waits for a message of the late one. */
static int late_for_a_message(struct harness_rank *self, struct ring_comm *comm)
{
	float value = 1;
	int bad = 0, err = 0;
	if (self->rank == 0) {
		bad = wait_until_rank_1_said_so(self);
		err = ring_recv(comm, &value, 1, RING_FLOAT32, 1, NULL);
	}
	if (self->rank == 1) {
		err = ring_recv(comm, &value, 1, RING_FLOAT32, LATE, NULL);
		err = err ? err : ring_send(comm, &value, 1, RING_FLOAT32, 0, NULL);
	}
	if (self->rank == LATE) {
		bad = wait_for_lines(self, "rank 0 has waited",
				     ") waits for rank 2, in recv of 1 float from rank 2", 1);
		err = ring_send(comm, &value, 1, RING_FLOAT32, 1, NULL);
	}
	return err ? harness_fail(self, "%s", ring_comm_error(comm)) : bad || sum(self, comm, 1);
}

/* Waits that are shorter are nobody's business, nor are they where the option is 0. */
static int silent(struct harness_rank *self, struct ring_options *options)
{
	struct ring_comm *comm;
	options->tell_after_ms = 0;
	if (harness_join(self, options, &comm))
		return 1;
	if (self->rank == LATE)
		usleep(SILENT_MS * 1000);
	int bad = sum(self, comm, 1);
	ring_comm_destroy(comm);
	return bad;
}

static int be_rank(struct harness_rank *self)
{
	struct ring_options options;
	struct ring_comm *comm;
	harness_options(self, &options);
	if (silent(self, &options))
		return 1;
	if (lines_with("has waited", ""))
		return harness_fail(self, "it says so though the option is 0");
	harness_barrier(self);
	options.tell_after_ms = TELL_AFTER_MS;
	if (harness_join(self, &options, &comm))
		return 1;
	int bad = sum(self, comm, 1) || late_for_a_sum(self, comm) || late_for_a_message(self, comm);
	ring_comm_destroy(comm);
	return bad;
}

static int run(const struct harness_world *world)
{
	char name[] = "/tmp/tell_test.XXXXXX";
	int kept = dup(STDERR_FILENO);
	spoken = mkstemp(name);
	if (kept < 0 || spoken < 0)
		return harness_report(world->name, 1);
	unlink(name);
	struct harness team = {.world = world, .size = N, .body = be_rank};
	dup2(spoken, STDERR_FILENO);
	int bad = harness_run(&team);
	dup2(kept, STDERR_FILENO);
	char said[4096];
	for (off_t at = 0; bad; at += (off_t)strlen(said)) {
		ssize_t got = pread(spoken, said, sizeof(said) - 1, at);
		if (got <= 0)
			break;
		said[got] = '\0';
		fputs(said, stderr);
	}
	close(kept);
	close(spoken);
	return harness_report(world->name, bad);
}

int main(void)
{
	int bad = 0;
	for (int w = 0; w < HARNESS_WORLDS; w++)
		bad |= run(&harness_worlds[w]);
	printf("1..%d\n", HARNESS_WORLDS);
	return bad ? 1 : 0;
}
