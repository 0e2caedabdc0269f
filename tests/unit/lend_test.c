/* SPDX-License-Identifier: MIT */
/*
 * Memory from ring_mem_alloc(): finding it by any place in it, across communicators; and what links are
 * told of it. The links only take down what is asked of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "base/fd.h"

#define LINKS 3
#define MANY 200

/* Links that count, and can be told to have no room. */
struct recorder {
	struct ring_link link;
	int shared, forgotten, err;
	uint64_t last_shared, last_forgotten;
};

static int record_share(struct ring_link *link, const struct ring_region *region)
{
	struct recorder *recorder = (struct recorder *)link;
	recorder->shared++;
	recorder->last_shared = region->number;
	return recorder->err;
}

static void record_forget(struct ring_link *link, uint64_t region)
{
	struct recorder *recorder = (struct recorder *)link;
	recorder->forgotten++;
	recorder->last_forgotten = region;
}

static const struct ring_reach_ops recording = {.share = record_share, .forget = record_forget};
static const struct ring_transport sharing = {.reach = &recording};
static const struct ring_transport aloof = {.name = "aloof"};

/* A communicator with nothing but memory and a mesh; one of its ranks is itself. */
struct rig {
	struct ring_comm comm;
	struct ring_route routes[LINKS + 1];
	struct recorder recorders[LINKS];
};

static void open_rig(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->comm.team.fork_generation = ring_fork_generation();
	pthread_mutex_init(&rig->comm.failure.lock, NULL);
	pthread_mutex_init(&rig->comm.run.lock, NULL);
	rig->comm.links.channels[0].routes = rig->routes;
	rig->comm.links.channels[0].route_count = LINKS + 1;
	for (int i = 0; i < LINKS; i++) {
		rig->recorders[i].link.transport = &sharing;
		rig->routes[i + 1].out = &rig->recorders[i].link;
	}
}

static void close_rig(struct rig *rig)
{
	ring_memory_close(&rig->comm.memory);
	pthread_mutex_destroy(&rig->comm.failure.lock);
}

static char *allocate(struct rig *rig, size_t bytes)
{
	void *memory;
	assert_int_equal(ring_mem_alloc(&rig->comm, bytes, &memory), 0);
	return memory;
}

static int lend(struct rig *rig, struct ring_region *region)
{
	return ring_memory_lend(&rig->comm.memory, &rig->comm.links.channels[0], region);
}

static void recall(struct rig *rig)
{
	ring_memory_recall(&rig->comm.memory, &rig->comm.links.channels[0]);
}

static const void *home_of(const char *start, size_t bytes)
{
	const struct ring_region *found = ring_region_find(start, bytes);
	return found && found->fd >= 0 ? found->start : NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

static void every_place_is_found(void **state)
{
	(void)state;
	struct rig rig;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	open_rig(&rig);
	char *one = allocate(&rig, 3 * page), *other = allocate(&rig, 1);
	for (int again = 0; again < 2; again++) {
		assert_ptr_equal(home_of(one, 3 * page), one);
		assert_ptr_equal(home_of(one + 5, 3 * page - 5), one);
		assert_ptr_equal(home_of(one + 3 * page - 1, 1), one);
		assert_ptr_equal(home_of(other, page), other); /* whole pages */
		assert_null(home_of(one + 5, 3 * page - 4));
		assert_null(home_of(one - 1, 2));
		assert_null(home_of(one, SIZE_MAX));
		assert_null(home_of((char *)&rig, 1));
	}
	close_rig(&rig);
}

static void many_are_told_apart(void **state)
{
	(void)state;
	static char *all[MANY];
	struct rig rig;
	open_rig(&rig);
	for (int i = 0; i < MANY; i++)
		all[i] = allocate(&rig, 1 + (size_t)i * 100);
	for (int i = 0; i < MANY; i += 3)
		assert_int_equal(ring_mem_free(&rig.comm, all[i]), 0);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(home_of(all[i] + i, 1), i % 3 ? all[i] : NULL);
	close_rig(&rig);
}

static void all_communicators_find_it(void **state)
{
	(void)state;
	struct rig owner, user;
	open_rig(&owner);
	open_rig(&user);
	char *memory = allocate(&owner, 100);
	assert_ptr_equal(home_of(memory, 100), memory);
	assert_int_equal(ring_mem_free(&user.comm, memory), RING_EINVAL);
	assert_ptr_equal(home_of(memory, 100), memory);
	close_rig(&owner);
	assert_null(home_of(memory, 100));
	close_rig(&user);
}

static void registered_memory_is_private(void **state)
{
	(void)state;
	static char mine[100];
	struct rig rig;
	struct ring_region *region;
	open_rig(&rig);
	assert_int_equal(ring_mem_register(&rig.comm, mine, sizeof(mine), &region), 0);
	allocate(&rig, 1);
	assert_null(home_of(mine, 1));
	assert_int_equal(ring_mem_deregister(&rig.comm, region), 0);
	close_rig(&rig);
}

/* ---- lending --------------------------------------------------------------------------------- */

static void all_links_are_told(void **state)
{
	(void)state;
	struct rig rig;
	open_rig(&rig);
	char *memory = allocate(&rig, 1), *kept = allocate(&rig, 1);
	struct ring_region *found = ring_region_find(memory, 1);
	uint64_t region = found->number;
	assert_int_equal(lend(&rig, found), 0);
	assert_int_equal(lend(&rig, ring_region_find(kept, 1)), 0);
	assert_int_equal(ring_mem_free(&rig.comm, memory), 0);
	for (int i = 0; i < LINKS; i++) {
		assert_int_equal(rig.recorders[i].shared, 2);
		assert_int_equal(rig.recorders[i].last_shared, region + 1);
		assert_int_equal(rig.recorders[i].forgotten, 1);
		assert_int_equal(rig.recorders[i].last_forgotten, region);
	}
	close_rig(&rig);
}

static void what_was_not_lent_is_not_recalled(void **state)
{
	(void)state;
	struct rig rig;
	open_rig(&rig);
	assert_int_equal(ring_mem_free(&rig.comm, allocate(&rig, 1)), 0);
	recall(&rig);
	assert_int_equal(rig.recorders[0].forgotten, 0);
	close_rig(&rig);
}

/* Freed while calls run, or by another communicator: whoever runs the calls tells it afterwards. */
static void others_recall_it_later(void **state)
{
	(void)state;
	struct rig owner, user;
	open_rig(&owner);
	open_rig(&user);
	char *memory = allocate(&owner, 100);
	for (int i = 0; i < 2; i++) {
		struct rig *rig = i ? &user : &owner;
		struct ring_region *found = ring_region_find(memory, 1);
		assert_int_equal(lend(rig, found), 0);
	}
	pthread_mutex_lock(&owner.comm.run.lock);
	assert_int_equal(ring_mem_free(&owner.comm, memory), 0);
	pthread_mutex_unlock(&owner.comm.run.lock);
	for (int i = 0; i < 2; i++) {
		struct rig *rig = i ? &user : &owner;
		assert_int_equal(rig->recorders[0].forgotten, 0);
		recall(rig);
		recall(rig);
		assert_int_equal(rig->recorders[0].forgotten, 1);
	}
	close_rig(&owner);
	close_rig(&user);
}

static void a_link_may_refuse(void **state)
{
	(void)state;
	struct rig rig;
	open_rig(&rig);
	struct ring_region *found = ring_region_find(allocate(&rig, 1), 1);
	rig.recorders[1].err = RING_EAGAIN;
	assert_int_equal(lend(&rig, found), RING_EAGAIN);
	rig.recorders[1].err = 0;
	assert_int_equal(lend(&rig, found), 0);
	rig.recorders[2].link.transport = &aloof;
	assert_int_equal(lend(&rig, found), RING_ENOTSUP);
	recall(&rig);
	close_rig(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_is_found),
		cmocka_unit_test(many_are_told_apart),
		cmocka_unit_test(all_communicators_find_it),
		cmocka_unit_test(registered_memory_is_private),
		cmocka_unit_test(all_links_are_told),
		cmocka_unit_test(what_was_not_lent_is_not_recalled),
		cmocka_unit_test(others_recall_it_later),
		cmocka_unit_test(a_link_may_refuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
