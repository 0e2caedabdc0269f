/* SPDX-License-Identifier: MIT */
/*
 * Four ranks send to and receive from one another in a group, six calls each, in every order there
 * is: every rank goes through all 720, always beside other orders of the others. Whatever the sizes,
 * nobody waits for anybody in a circle, and every byte is right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"
#include "tests/place.h"

#define RANKS 4
#define CALLS (2 * (RANKS - 1)) /* of a rank in a group */
#define ORDERS 720              /* 6! */
#define LARGEST (64u << 20)
#define LARGEST_FAR (3u << 20)
#define MIXED UINT32_MAX /* every message has another size */

struct part {
	const char *name;
	uint32_t bytes;
	int orders, orders_long;
};

static const struct part parts[] = {
	{"0 B", 0, ORDERS, ORDERS},      {"1 B", 1, ORDERS, ORDERS},
	{"1 MiB", 1u << 20, 60, ORDERS}, {"mixed sizes", MIXED, 30, ORDERS},
	{"64 MiB", LARGEST, 3, ORDERS},
};
#define PARTS (int)(sizeof(parts) / sizeof(parts[0]))

struct plan {
	uint64_t seed;
	bool thorough;
};

struct buffers {
	uint64_t *send;        /* word i is this rank's i-th */
	uint64_t *recv[RANKS]; /* from each rank */
};

static uint64_t word(int from, uint64_t index)
{
	return (uint64_t)(from + 1) << 56 | index;
}

/* Different for the two directions of a pair, and for every group. */
static uint32_t bytes_of(const struct part *part, uint64_t seed, int group, int from, int to)
{
	static const uint32_t sizes[] = {0, 1, 4096, 65537, 1u << 20, 3u << 20};
	if (part->bytes != MIXED)
		return part->bytes;
	uint64_t state = seed + (uint64_t)group * 64 + (uint64_t)(from * RANKS + to);
	return sizes[harness_random(&state) % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* The number-th order of 0..CALLS-1. */
static void make_order(int number, int order[CALLS])
{
	int left[CALLS];
	for (int i = 0; i < CALLS; i++)
		left[i] = i;
	for (int i = 0, ways = ORDERS; i < CALLS; i++) {
		ways /= CALLS - i;
		int taken = number / ways % (CALLS - i);
		order[i] = left[taken];
		memmove(&left[taken], &left[taken + 1],
			(size_t)(CALLS - i - taken - 1) * sizeof(int));
	}
}

/* Call c < 3 sends to the c-th other rank, the next three receive from them. */
static int make_call(const struct harness_rank *self, struct ring_comm *comm,
		     const struct buffers *buffers, const struct part *part, int group, int call)
{
	const struct plan *plan = self->context;
	int other = (self->rank + 1 + call % (RANKS - 1)) % RANKS;
	if (call < RANKS - 1)
		return ring_send(comm, place_of(buffers->send + other),
				 bytes_of(part, plan->seed, group, self->rank, other), RING_UINT8,
				 other, NULL);
	return ring_recv(comm, place_of(buffers->recv[other]),
			 bytes_of(part, plan->seed, group, other, self->rank), RING_UINT8, other,
			 NULL);
}

static void forget(const struct buffers *buffers, int from, uint32_t bytes)
{
	unsigned char *at = (unsigned char *)buffers->recv[from];
	uint32_t edge = bytes < 4096 ? bytes : 4096;
	memset(at, 0xff, edge + 8);
	memset(at + bytes - edge, 0xff, edge + 8);
	place_put(at, edge + 8);
	place_put(at + bytes - edge, edge + 8);
}

static int check(const struct harness_rank *self, const struct buffers *buffers, int from,
		 uint32_t bytes)
{
	const uint64_t *got = buffers->recv[from];
	place_get(buffers->recv[from], bytes + 8);
	for (uint64_t i = 0; i < bytes / 8; i++)
		if (got[i] != word(from, i + (uint64_t)self->rank))
			return harness_fail(self, "from %d: word %llu is %llx", from,
					    (unsigned long long)i, (unsigned long long)got[i]);
	uint64_t last = word(from, bytes / 8 + (uint64_t)self->rank);
	memset((unsigned char *)&last + bytes % 8, 0xff, 8 - bytes % 8);
	if (memcmp(&got[bytes / 8], &last, 8) != 0)
		return harness_fail(self, "from %d: the end of %u bytes is wrong", from, bytes);
	return 0;
}

static int run_group(const struct harness_rank *self, struct ring_comm *comm,
		     const struct buffers *buffers, const struct part *part, int group)
{
	const struct plan *plan = self->context;
	int order[CALLS], bad = 0;
	place_mix(self->rank, group * 3);
	make_order((int)((group * 7 + self->rank * 181 + plan->seed % ORDERS) % ORDERS), order);
	for (int from = 0; from < RANKS; from++)
		if (from != self->rank)
			forget(buffers, from, bytes_of(part, plan->seed, group, from, self->rank));
	int err = ring_group_start();
	for (int i = 0; !err && i < CALLS; i++)
		err = make_call(self, comm, buffers, part, group, order[i]);
	err = err ? err : ring_group_end();
	if (err)
		return harness_fail(self, "%s, group %d: %s", part->name, group,
				    ring_comm_error(comm));
	for (int from = 0; !bad && from < RANKS; from++)
		if (from != self->rank)
			bad = check(self, buffers, from,
				    bytes_of(part, plan->seed, group, from, self->rank));
	return bad;
}

static int make_buffers(const struct harness_rank *self, struct buffers *buffers, uint32_t largest)
{
	*buffers = (struct buffers){.send = malloc(largest + 8 * RANKS + 8)};
	for (int from = 0; from < RANKS; from++)
		buffers->recv[from] = from == self->rank ? NULL : malloc(largest + 16);
	for (uint64_t i = 0; buffers->send && i < largest / 8 + RANKS + 1; i++)
		buffers->send[i] = word(self->rank, i);
	place_make(buffers->send, largest + 8 * RANKS + 8);
	place_put(buffers->send, largest + 8 * RANKS + 8);
	for (int from = 0; from < RANKS; from++)
		if (buffers->recv[from])
			place_make(buffers->recv[from], largest + 16);
	return buffers->send ? 0 : 1;
}

static void free_buffers(struct buffers *buffers)
{
	for (int from = 0; from < RANKS; from++) {
		if (buffers->recv[from])
			place_drop(buffers->recv[from]);
		free(buffers->recv[from]);
	}
	place_drop(buffers->send);
	free(buffers->send);
}

/* On a device, where all is late, fewer. */
static int orders_of(const struct part *part, bool thorough)
{
	int orders = thorough ? part->orders_long : part->orders;
	if (!place_is_far())
		return orders;
	return part->bytes == LARGEST ? 0 : orders / 20 + 1;
}

static int be_rank(struct harness_rank *self)
{
	const struct plan *plan = self->context;
	struct buffers buffers;
	struct ring_comm *comm;
	if (harness_join(self, NULL, &comm))
		return 1;
	int bad = make_buffers(self, &buffers, place_is_far() ? LARGEST_FAR : LARGEST);
	for (int p = 0; !bad && p < PARTS; p++) {
		int orders = orders_of(&parts[p], plan->thorough);
		double begin = harness_clock();
		for (int group = 0; !bad && group < orders; group++)
			bad = run_group(self, comm, &buffers, &parts[p], group);
		if (self->rank == 0 && !bad)
			printf("# %s, %s: %d groups of %d calls on each of %d ranks (%.1f s)\n",
			       self->team->world->name, parts[p].name, orders, CALLS, RANKS,
			       harness_clock() - begin);
		fflush(stdout);
	}
	free_buffers(&buffers);
	ring_comm_destroy(comm);
	return bad;
}

/* --world NAME: only there; the long form takes minutes for each. */
static bool is_wanted(const struct harness_world *world, int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--world") == 0)
			return strcmp(argv[i + 1], world->name) == 0;
	return true;
}

int main(int argc, char **argv)
{
	struct plan plan = {harness_seed(argc, argv), harness_is_long(argc, argv)};
	int bad = 0;
	printf("1..%d\n", HARNESS_WORLDS);
	for (int w = 0; w < HARNESS_WORLDS; w++) {
		struct harness team = {.world = &harness_worlds[w],
				       .size = RANKS,
				       .body = be_rank,
				       .context = &plan,
				       .seconds = plan.thorough ? 1500 : 120};
		snprintf(team.label, sizeof(team.label), "%s --seed %llu", team.world->name,
			 (unsigned long long)plan.seed);
		if (!is_wanted(team.world, argc, argv)) {
			printf("ok %d # SKIP %s\n", w + 1, team.world->name);
			continue;
		}
		int failed = harness_run(&team);
		printf("%sok %d - sends and receives in every order, %s\n", failed ? "not " : "",
		       w + 1, team.label);
		fflush(stdout);
		bad |= failed;
	}
	return bad != 0;
}
