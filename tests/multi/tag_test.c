/* SPDX-License-Identifier: MIT */
/*
 * Tags of calls: they stand in traces beside the calls that were made under them, blocking, on
 * streams, in groups, and in the sentence about a call that fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/multi/verdict.h"

#define N 3

/* 62 bytes, then a character of two: it is left out as a whole. */
#define SIXTY_TWO "12345678901234567890123456789012345678901234567890123456789012"

/* What each rank's trace must have, so often. */
static const struct {
	const char *text;
	int times;
} expected[] = {
	{"\"by\":\"program\",\"tag\":\"first\"", 2}, /* the second one is a kept call */
	{"\"tag\":\"second \\\"one\\\" \\\\ ?\"", 1},
	{"\"tag\":\"" SIXTY_TWO "\"", 1},
	{"\"tag\":\"queued\"", 2},
	{"\"tag\":\"later\"", 0},
	{"\"tag\":\"grouped \xc3\xa9\"", 1},
	{"\"tag\":\"\"", 0},
};

static int make_calls(struct ring_comm *comm, struct ring_stream *stream)
{
	float x[4] = {0};
	int err = 0;
	for (int i = 0; i < 4 && !err; i++) {
		ring_call_tag(i < 2 ? "first" : NULL);
		err = ring_all_reduce(comm, x, x, 4, RING_FLOAT32, RING_SUM, NULL);
	}
	ring_call_tag("second \"one\" \\ \n");
	err = err ? err : ring_barrier(comm, NULL);
	ring_call_tag(SIXTY_TWO "\xc3\xa9 and more");
	err = err ? err : ring_barrier(comm, NULL);
	ring_call_tag("queued");
	for (int i = 0; i < 2 && !err; i++)
		err = ring_all_reduce(comm, x, x, 4, RING_FLOAT32, RING_SUM, stream);
	ring_call_tag("later");
	err = err ? err : ring_stream_wait(stream, 2);
	err = err ? err : ring_group_start();
	ring_call_tag("grouped \xc3\xa9");
	err = err ? err : ring_barrier(comm, NULL);
	ring_call_tag("");
	return err ? err : ring_group_end();
}

static int be_rank(struct harness_rank *self)
{
	struct ring_options options;
	struct ring_comm *comm;
	struct ring_stream *stream;
	float x[8] = {0};
	harness_options(self, &options);
	options.trace = self->context;
	if (harness_join(self, &options, &comm) || ring_stream_create(comm, &stream))
		return 1;
	if (make_calls(comm, stream))
		return harness_fail(self, "%s", ring_comm_error(comm));
	harness_barrier(self);
	ring_call_tag("step 12");
	size_t count = self->rank == 1 ? 7 : 8;
	int err = ring_all_reduce(comm, x, x, count, RING_FLOAT32, RING_SUM, NULL);
	/* whichever rank found out names its own tag; a rank that heard in time began nothing */
	int bad = expect_verdict(self, "a mismatch", err, RING_EMISMATCH, comm,
				 " float, sum, \"step 12\", but rank ");
	ring_stream_destroy(stream);
	ring_comm_destroy(comm);
	return bad;
}

static int count_in(const char *text, const char *wanted)
{
	int times = 0;
	for (; (text = strstr(text, wanted)); text++)
		times++;
	return times;
}

/* returns 1 if the trace of `rank` lacks something */
static int check_trace(const char *folder, int rank)
{
	char path[256], *text = calloc(1, 1 << 20);
	snprintf(path, sizeof(path), "%s/%d.json", folder, rank);
	FILE *file = text ? fopen(path, "r") : NULL;
	int bad = !file || fread(text, 1, (1 << 20) - 1, file) == 0;
	for (size_t i = 0; !bad && i < sizeof(expected) / sizeof(expected[0]); i++)
		if (count_in(text, expected[i].text) != expected[i].times) {
			fprintf(stderr, "rank %d's trace has %s %d times, not %d\n", rank,
				expected[i].text, count_in(text, expected[i].text),
				expected[i].times);
			bad = 1;
		}
	if (file)
		fclose(file);
	unlink(path);
	free(text);
	return bad;
}

int main(void)
{
	char folder[] = "/tmp/ring_tag_XXXXXX", path[64];
	if (!mkdtemp(folder))
		return 1;
	int bad = 0;
	for (int w = 0; w < HARNESS_WORLDS && !bad; w++) {
		snprintf(path, sizeof(path), "%s/%%r.json", folder);
		struct harness team = {
			.world = &harness_worlds[w], .size = N, .body = be_rank, .context = path};
		bad = harness_run(&team);
		for (int rank = 0; rank < N; rank++)
			bad |= check_trace(folder, rank);
	}
	rmdir(folder);
	if (!bad)
		printf("tags stand in traces and in sentences\n");
	return bad;
}
