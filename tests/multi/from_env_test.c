/* SPDX-License-Identifier: MIT */
/*
 * Ranks that find their place in the environment: a job makes one communicator after another, and ranks that
 * call differently, or were told different things, hear it in a sentence. This process serves the meetings
 * of ring_run's ranks, as ring_run would.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness.h"

#define RANKS 3
#define ROUNDS 3

static void set_number(const char *name, int number)
{
	char text[16];
	snprintf(text, sizeof(text), "%d", number);
	setenv(name, text, 1);
}

static int add_up(struct harness_rank *self, struct ring_comm *comm, int ranks)
{
	int sum = self->rank + 1, want = ranks * (ranks + 1) / 2;
	if (ring_all_reduce(comm, &sum, &sum, 1, RING_INT32, RING_SUM, NULL))
		return harness_fail(self, "all_reduce: %s", ring_comm_error(comm));
	return sum == want ? 0 : harness_fail(self, "the sum is %d, not %d", sum, want);
}

/* Whether a creation ends as it should, with a sentence that says all these words. */
static int expect_refusal(struct harness_rank *self, int err, const char *const words[3])
{
	struct ring_options options;
	struct ring_comm *comm;
	ring_options_init(&options);
	options.create_timeout_ms = err == RING_ETIMEDOUT ? 2000 : 20000;
	int got = ring_comm_create_from_env(&comm, &options);
	const char *said = ring_comm_error(NULL);
	if (got != err)
		return harness_fail(self, "%s, not %s: %s", ring_strerror(got), ring_strerror(err),
				    said);
	for (int i = 0; i < 3 && words[i]; i++)
		if (!strstr(said, words[i]))
			return harness_fail(self, "no \"%s\" in: %s", words[i], said);
	return 0;
}

/* ---- one communicator after another ---------------------------------------------------------- */

/* A user saw the second communicator of a job wait for a minute, for nobody. */
static int make_several(struct harness_rank *self)
{
	struct ring_comm *comms[2];
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++)
			if (ring_comm_create_from_env(&comms[i], NULL))
				return harness_fail(self, "number %d: %s", 2 * round + i,
						    ring_comm_error(NULL));
		if (add_up(self, comms[1], RANKS) || add_up(self, comms[0], RANKS))
			return 1;
		ring_comm_destroy(comms[0]);
		ring_comm_destroy(comms[1]);
	}
	return 0;
}

/* A rank that makes one more than the others hears who did not come. */
static int make_one_more(struct harness_rank *self)
{
	static const char *const words[3] = {"ranks 1, 2 never came within 2000 ms",
					     "is that port open to them?"};
	struct ring_comm *comm;
	if (ring_comm_create_from_env(&comm, NULL))
		return harness_fail(self, "%s", ring_comm_error(NULL));
	int bad = add_up(self, comm, RANKS);
	if (self->rank == 0)
		bad |= expect_refusal(self, RING_ETIMEDOUT, words);
	ring_comm_destroy(comm);
	return bad;
}

/*
 * A user saw ranks that were told different sizes wait for one another for a minute. Two ranks will do: a third
 * that came once they have found out and left would meet nobody.
 */
static int tell_other_sizes(struct harness_rank *self)
{
	static const char *const words[3] = {"rank 1 (host ", "expects 4", "expects 3"};
	const char *name = getenv("RANK") ? "WORLD_SIZE" : "RING_SIZE";
	if (self->rank > 1)
		return 0;
	if (self->rank == 1)
		set_number(name, RANKS + 1);
	return expect_refusal(self, RING_EMISMATCH, words);
}

/* ---- what ranks are told --------------------------------------------------------------------- */

static int by_ring_run(struct harness_rank *self)
{
	int (*task)(struct harness_rank *) = *(int (**)(struct harness_rank *))self->context;
	set_number("RING_RANK", self->rank);
	set_number("RING_SIZE", RANKS);
	return task(self);
}

static int by_torchrun(struct harness_rank *self)
{
	int (*task)(struct harness_rank *) = *(int (**)(struct harness_rank *))self->context;
	set_number("RANK", self->rank);
	set_number("WORLD_SIZE", RANKS);
	return task(self);
}

static int set_id(void)
{
	struct ring_unique_id id;
	char hex[2 * sizeof(id.bytes) + 1];
	if (ring_unique_id_create(&id))
		return fprintf(stderr, "no id: %s\n", ring_comm_error(NULL));
	for (size_t i = 0; i < sizeof(id.bytes); i++)
		sprintf(hex + 2 * i, "%02x", id.bytes[i]);
	return setenv("RING_ID", hex, 1);
}

/* A port with a free one after it, most likely: nobody else is told of it. */
static int set_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockname(fd, (struct sockaddr *)&address, &length))
		return perror("a free port"), 1;
	close(fd);
	set_number("RING_ROOT_PORT", ntohs(address.sin_port));
	return setenv("MASTER_ADDR", "127.0.0.1", 1) || setenv("MASTER_PORT", "29500", 1) ||
	       setenv("RING_SECRET", "of this test", 1);
}

static int run(const char *name, int (*task)(struct harness_rank *), harness_body *launcher)
{
	struct harness team = {
		.world = &harness_worlds[1], .size = RANKS, .body = launcher, .context = &task};
	snprintf(team.label, sizeof(team.label), "%s", name);
	int bad = launcher == by_ring_run ? set_id() : set_port();
	bad = bad || harness_run(&team);
	printf("%s: %s\n", name, bad ? "wrong" : "right");
	return bad;
}

int main(void)
{
	setenv("RING_INTERFACE", "lo", 0);
	setenv("RING_CREATE_TIMEOUT_MS", "20000", 1);
	unsetenv("RING_RANK");
	unsetenv("RANK");
	int bad = run("several, ring_run", make_several, by_ring_run) +
		  run("one more, ring_run", make_one_more, by_ring_run) +
		  run("other sizes, ring_run", tell_other_sizes, by_ring_run);
	unsetenv("RING_ID");
	bad += run("other sizes, torchrun", tell_other_sizes, by_torchrun) +
	       run("several, torchrun", make_several, by_torchrun) +
	       run("one more, torchrun", make_one_more, by_torchrun);
	return bad != 0;
}
