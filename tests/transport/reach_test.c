/* SPDX-License-Identifier: MIT */
/*
 * Reaching the other end's memory, for every transport that can: shared regions, what a broken or
 * hostile owner may say about them, and the gate. What takes another process is in attach_test.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "ringccl.h"
#include "tests/listen.h"
#include "tests/transport/pair.h"
#include "transport/memory/fifo_link.h"
#include "transport/sealed.h"

#define DEPTH 2
#define SLOT_BYTES 100
#define REGION_BYTES 12288
#define DEADLINE_MS 20000

static const struct pair_kind kinds[] = {
	{.name = "loopback", .transport = &ring_transport_loopback},
	{.name = "shm", .transport = &ring_transport_shm},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void make_pair(struct pair *pair, void **state)
{
	assert_true(pair_init(pair));
	assert_int_equal(pair_open(pair, *state, DEPTH, SLOT_BYTES, 0), 0);
}

static bool is_shm(void **state)
{
	return ((const struct pair_kind *)*state)->transport == &ring_transport_shm;
}

static struct ring_region make_region(uint64_t number)
{
	struct ring_region made = {.number = number, .bytes = REGION_BYTES};
	assert_int_equal(ring_sealed_create("region", made.bytes, &made.fd, &made.start), 0);
	return made;
}

static void free_region(struct ring_region *region)
{
	munmap(region->start, region->bytes);
	ring_fd_close(region->fd);
}

static int share(const struct pair *pair, const struct ring_region *region)
{
	struct ring_link *sender = pair->ends[SENDER];
	return ring_link_share(sender, region);
}

static void forget(const struct pair *pair, uint64_t region)
{
	struct ring_link *sender = pair->ends[SENDER];
	ring_link_forget(sender, region);
}

static int map(const struct pair *pair, uint64_t region, uint64_t offset, size_t bytes,
	       unsigned char **address)
{
	struct ring_link *receiver = pair->ends[RECEIVER];
	void *there = NULL;
	int err = ring_link_map(receiver, region, offset, bytes, &there);
	*address = there;
	return err;
}

static int tidy(const struct pair *pair)
{
	struct ring_link *receiver = pair->ends[RECEIVER];
	return ring_link_tidy(receiver);
}

/* How often a region is mapped in this process. */
static int mapped_regions(void)
{
	char line[512];
	int count = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:region") != NULL;
	fclose(maps);
	return count;
}

static int open_descriptors(void)
{
	int count = 0;
	DIR *folder = opendir("/proc/self/fd");
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* ---- mapped memory --------------------------------------------------------------------------- */

static void a_shared_region_lies_at_the_other_end(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	unsigned char *mine = region.start, *there, *again;
	make_pair(&pair, state);
	assert_int_equal(share(&pair, &region), 0);
	assert_int_equal(map(&pair, 7, 100, 50, &there), 0);
	mine[100] = 'a';
	assert_int_equal(there[0], 'a');
	there[49] = 'b';
	assert_int_equal(mine[149], 'b');
	if (!is_shm(state))
		assert_ptr_equal(there, mine + 100);

	int mappings = mapped_regions();
	assert_int_equal(share(&pair, &region), 0);
	assert_int_equal(map(&pair, 7, 0, REGION_BYTES, &again), 0);
	assert_ptr_equal(again, there - 100);
	assert_int_equal(mapped_regions(), mappings);
	pair_close(&pair);
	free_region(&region);
}

static void places_outside_a_region_are_refused(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	unsigned char *there;
	make_pair(&pair, state);
	assert_int_equal(share(&pair, &region), 0);
	assert_int_equal(map(&pair, 7, REGION_BYTES, 0, &there), 0);
	assert_int_equal(map(&pair, 7, REGION_BYTES, 1, &there), RING_EPEER);
	assert_int_equal(map(&pair, 7, REGION_BYTES - 1, 2, &there), RING_EPEER);
	assert_int_equal(map(&pair, 7, UINT64_MAX, 2, &there), RING_EPEER);
	assert_int_equal(map(&pair, 7, 1, SIZE_MAX, &there), RING_EPEER);
	assert_int_equal(map(&pair, 8, 0, 1, &there), RING_EPEER);
	assert_int_equal(map(&pair, 0, 0, 0, &there), RING_EPEER);
	pair_close(&pair);
	free_region(&region);
}

/* A pair, with the region at the receiver. */
static void make_mapped(struct pair *pair, void **state, const struct ring_region *region,
			unsigned char **there)
{
	make_pair(pair, state);
	assert_int_equal(share(pair, region), 0);
	assert_int_equal(map(pair, region->number, 0, 1, there), 0);
}

static void a_forgotten_region_stays_until_tidied(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7), other = make_region(9);
	unsigned char *there;
	make_mapped(&pair, state, &other, &there);
	assert_int_equal(share(&pair, &region), 0);
	assert_int_equal(map(&pair, 7, 0, 1, &there), 0);
	forget(&pair, 7);
	forget(&pair, 7);
	forget(&pair, 8); /* never shared */
	int mappings = mapped_regions();
	there[0] = 'x';
	assert_int_equal(tidy(&pair), 0);
	assert_int_equal(mapped_regions(), mappings - is_shm(state));
	assert_int_equal(map(&pair, 7, 0, 1, &there), RING_EPEER);
	assert_int_equal(map(&pair, 9, 0, 1, &there), 0);
	assert_int_equal(tidy(&pair), 0);
	pair_close(&pair);
	free_region(&region);
	free_region(&other);
}

static int keep(const struct pair *pair, uint64_t region)
{
	struct ring_link *receiver = pair->ends[RECEIVER];
	return ring_link_keep(receiver, region);
}

static void what_is_kept_stays_whatever_its_owner_says(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	unsigned char *there;
	make_mapped(&pair, state, &region, &there);
	assert_int_equal(keep(&pair, 7), 0);
	assert_int_equal(tidy(&pair), 0);
	int mappings = mapped_regions();
	forget(&pair, 7);
	assert_int_equal(tidy(&pair), RING_EPEER);
	assert_int_equal(mapped_regions(), mappings);
	there[0] = 'x';
	assert_int_equal(((char *)region.start)[0], 'x');
	pair_close(&pair);
	free_region(&region);
}

static void only_what_is_shared_can_be_kept(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	unsigned char *there;
	make_mapped(&pair, state, &region, &there);
	assert_int_equal(keep(&pair, 8), RING_EPEER);
	pair_close(&pair);

	make_pair(&pair, state);
	assert_int_equal(share(&pair, &region), 0);
	forget(&pair, 7); /* before the other end has looked */
	assert_int_equal(map(&pair, 7, 0, 1, &there), 0);
	assert_int_equal(keep(&pair, 7), RING_EPEER);
	pair_close(&pair);
	free_region(&region);
}

/* Shares until that is refused; the receiver hears of it only when it must. Returns the last error. */
static int share_up_to(const struct pair *pair, struct ring_region *region, int *tidied)
{
	int err;
	do {
		region->number++;
		while ((err = share(pair, region)) == RING_EAGAIN) {
			assert_int_equal(tidy(pair), 0);
			++*tidied;
		}
	} while (!err);
	return err;
}

static void many_regions_have_a_limit(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(0);
	unsigned char *there;
	int tidied = 0;
	make_pair(&pair, state);
	assert_int_equal(share_up_to(&pair, &region, &tidied), RING_ENOTSUP);
	assert_int_equal(region.number, RING_REACH_MAX + 1);
	assert_true(tidied > 0);
	forget(&pair, 5);
	assert_int_equal(share(&pair, &region), 0);
	assert_int_equal(tidy(&pair), 0);
	for (int number = 1; number <= RING_REACH_MAX + 1; number++)
		assert_int_equal(map(&pair, (uint64_t)number, 0, 1, &there),
				 number == 5 ? RING_EPEER : 0);
	pair_close(&pair);
	free_region(&region);
}

/* Nobody listens, so at some time it cannot even be said that a region is forgotten. */
static void what_cannot_be_forgotten_now_is_later(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(0);
	int before = mapped_regions(), tidied = 0;
	make_pair(&pair, state);
	share_up_to(&pair, &region, &tidied);
	for (uint64_t number = 1; number < region.number; number++)
		forget(&pair, number);
	assert_int_equal(tidy(&pair), 0);
	assert_true(mapped_regions() > before || !is_shm(state));
	for (int i = 0; i < 4; i++) {
		forget(&pair, 1); /* already: but it is an occasion */
		assert_int_equal(tidy(&pair), 0);
	}
	assert_int_equal(mapped_regions(), before);
	pair_close(&pair);
	free_region(&region);
}

static void nothing_is_left_behind(void **state)
{
	struct ring_region regions[3] = {make_region(1), make_region(2), make_region(3)};
	int descriptors = open_descriptors(), mappings = mapped_regions();
	for (int round = 0; round < 8; round++) {
		struct pair pair;
		unsigned char *there;
		make_pair(&pair, state);
		for (int i = 0; i < 3; i++)
			assert_int_equal(share(&pair, &regions[i]), 0);
		if (round & 1)
			assert_int_equal(map(&pair, 2, 0, 1, &there), 0);
		if (round & 2)
			forget(&pair, 2);
		if (round & 4)
			assert_int_equal(tidy(&pair), 0);
		pair_close_end(&pair, round & 1);
		pair_close(&pair);
		assert_int_equal(open_descriptors(), descriptors);
		assert_int_equal(mapped_regions(), mappings);
	}
	for (int i = 0; i < 3; i++)
		free_region(&regions[i]);
}

static void notices_do_not_hide_a_death(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	make_pair(&pair, state);
	struct ring_link *receiver = pair.ends[RECEIVER];
	assert_int_equal(share(&pair, &region), 0);
	for (int looks = 0; looks < 5000; looks++)
		assert_int_equal(ring_link_poll(receiver), 0);
	shutdown(((struct ring_fifo_link *)pair.ends[SENDER])->fd, SHUT_RDWR);
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	while (ring_link_poll(receiver) == 0)
		assert_true(ring_clock_ms() < deadline);
	pair_close(&pair);
	free_region(&region);
}

/* ---- what an owner may say ------------------------------------------------------------------- */

/* Puts bytes on the connection that pass for `notices` notices. */
static void say(const struct pair *pair, const void *bytes, size_t count, const int *fds, int nfds,
		uint32_t notices)
{
	struct ring_fifo_link *sender = (struct ring_fifo_link *)pair->ends[SENDER];
	if (count > 0)
		assert_int_equal(ring_fd_send_with(sender->fd, bytes, count, fds, nfds), count);
	ring_fifo_notify(sender->end.fifo, notices);
}

/* What a receiver that is told so answers when the region is named. */
static int heard(void **state, const struct ring_notice *notice, const int *fds, int nfds)
{
	struct pair pair;
	unsigned char *there;
	int descriptors = open_descriptors(), mappings = mapped_regions();
	make_pair(&pair, state);
	say(&pair, notice, sizeof(*notice), fds, nfds, 1);
	int err = map(&pair, notice->region, 0, 1, &there);
	pair_close(&pair);
	assert_int_equal(open_descriptors(), descriptors);
	assert_int_equal(mapped_regions(), mappings);
	return err;
}

static struct ring_notice right_notice(const struct ring_region *region)
{
	return (struct ring_notice){.kind = RING_SHARE,
				    .region = region->number,
				    .bytes = region->bytes,
				    .address = (uintptr_t)region->start};
}

static void wrong_memory_is_refused(void **state)
{
	struct ring_region region = make_region(7);
	struct ring_notice right = right_notice(&region), wrong = right;
	assert_int_equal(heard(state, &right, &region.fd, 1), 0);
	for (int i = 0; i < 4; i++) {
		const uint64_t sizes[] = {0, REGION_BYTES - 1, REGION_BYTES + 4096, UINT64_MAX};
		wrong.bytes = sizes[i];
		assert_int_equal(heard(state, &wrong, &region.fd, 1), RING_EPEER);
	}
	int unsealed = ring_fd_memory("region"), event = ring_fd_event();
	assert_int_equal(ftruncate(unsealed, REGION_BYTES), 0);
	assert_int_equal(heard(state, &right, &unsealed, 1), RING_EPEER);
	assert_int_equal(heard(state, &right, &event, 1), RING_EPEER);
	assert_int_equal(ftruncate(unsealed, 0), 0);
	assert_int_equal(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	wrong.bytes = 0; /* which is true */
	assert_int_equal(heard(state, &wrong, &unsealed, 1), RING_EPEER);
	ring_fd_close(unsealed);
	ring_fd_close(event);
	free_region(&region);
}

static void memory_of_another_user_is_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	struct ring_region region = make_region(7);
	assert_int_equal(fchown(region.fd, 1, (gid_t)-1), 0);
	struct ring_notice notice = right_notice(&region);
	assert_int_equal(heard(state, &notice, &region.fd, 1), RING_EPEER);
	free_region(&region);
}

/* Whoever asks again has the same answer, as what was lost does not come again. */
static void descriptors_that_ran_out_are_told_again(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	struct rlimit is, none;
	unsigned char *there;
	make_pair(&pair, state);
	assert_int_equal(share(&pair, &region), 0);
	getrlimit(RLIMIT_NOFILE, &is);
	const int next = dup(STDIN_FILENO);
	close(next);
	none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = is.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	int err = tidy(&pair);
	setrlimit(RLIMIT_NOFILE, &is);
	assert_int_equal(err, is_shm(state) ? RING_ESYSTEM : 0);
	errno = 0;
	assert_int_equal(map(&pair, 7, 0, 1, &there), err);
	assert_int_equal(errno, err ? EMFILE : 0);
	pair_close(&pair);
	free_region(&region);
}

static void wrong_descriptors_are_refused(void **state)
{
	struct ring_region region = make_region(7);
	struct ring_notice notice = right_notice(&region);
	int fds[] = {region.fd, region.fd};
	assert_int_equal(heard(state, &notice, fds, 2), RING_EPEER);
	assert_int_equal(heard(state, &notice, fds, is_shm(state) ? 0 : 1), RING_EPEER);
	notice.kind = RING_FORGET;
	assert_int_equal(heard(state, &notice, fds, 1), RING_EPEER);
	free_region(&region);
}

static void nonsense_is_refused(void **state)
{
	struct ring_region region = make_region(7);
	struct ring_notice notice = right_notice(&region);
	notice.kind = RING_FORGET;
	assert_int_equal(heard(state, &notice, NULL, 0), RING_EPEER); /* never shared */
	notice.kind = 0;
	assert_int_equal(heard(state, &notice, &region.fd, 1), RING_EPEER);

	for (size_t cut = 0; cut < sizeof(notice); cut += 8) { /* half a notice, or none at all */
		struct pair pair;
		make_pair(&pair, state);
		say(&pair, &notice, cut, NULL, 0, 1);
		assert_int_equal(tidy(&pair), RING_EPEER);
		pair_close(&pair);
	}
	free_region(&region);
}

static void the_same_region_twice_is_refused(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	struct ring_notice notice = right_notice(&region);
	make_pair(&pair, state);
	assert_int_equal(share(&pair, &region), 0);
	say(&pair, &notice, sizeof(notice), &region.fd, is_shm(state), 2);
	assert_int_equal(tidy(&pair), RING_EPEER);
	pair_close(&pair);
	free_region(&region);
}

static void too_many_regions_are_refused(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(0);
	struct ring_notice notice = right_notice(&region);
	make_pair(&pair, state);
	int err = 0;
	for (uint32_t said = 1; said <= RING_REACH_MAX + 1; said++) {
		assert_int_equal(err, 0);
		notice.region = said;
		say(&pair, &notice, sizeof(notice), &region.fd, is_shm(state), said);
		err = tidy(&pair);
	}
	assert_int_equal(err, RING_EPEER);
	pair_close(&pair);
	free_region(&region);
}

/* ---- the gate -------------------------------------------------------------------------------- */

static void a_revoked_gate_lets_nobody_in(void **state)
{
	struct pair pair;
	make_pair(&pair, state);
	struct ring_link *sender = pair.ends[SENDER], *receiver = pair.ends[RECEIVER];
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ring_link_enter(sender), 0);
		assert_int_equal(ring_link_leave(sender), 0);
	}
	assert_int_equal(ring_link_enter(sender), 0);
	assert_int_equal(ring_link_revoke(receiver), RING_EAGAIN);
	assert_int_equal(ring_link_revoke(receiver), RING_EAGAIN);
	assert_int_equal(ring_link_leave(sender), RING_EPEER); /* what it read may be anything */
	assert_int_equal(ring_link_revoke(receiver), 0);
	assert_int_equal(ring_link_enter(sender), RING_EPEER);
	assert_int_equal(ring_link_revoke(receiver), 0);
	pair_close(&pair);
}

/* A program that frees its memory while a peer is leaving in order would be told of a broken pipe. */
static void freeing_behind_a_peer_that_left_is_no_alarm(void **state)
{
	struct pair pair;
	struct ring_region region = make_region(7);
	make_pair(&pair, state);
	assert_int_equal(share(&pair, &region), 0);
	pair_close_end(&pair, RECEIVER);
	listen_begin();
	forget(&pair, 7);
	char *said = listen_end();
	if (*said)
		fail_msg("it says: %s", said);
	free(said);
	pair_close(&pair);
	free_region(&region);
}

static const struct {
	const char *name;
	void (*run)(void **state);
} cases[] = {
	{"a shared region lies at the other end", a_shared_region_lies_at_the_other_end},
	{"places outside a region are refused", places_outside_a_region_are_refused},
	{"a forgotten region stays until tidied", a_forgotten_region_stays_until_tidied},
	{"what is kept stays, whatever its owner says", what_is_kept_stays_whatever_its_owner_says},
	{"only what is shared can be kept", only_what_is_shared_can_be_kept},
	{"many regions have a limit", many_regions_have_a_limit},
	{"what cannot be forgotten now is later", what_cannot_be_forgotten_now_is_later},
	{"nothing is left behind", nothing_is_left_behind},
	{"notices do not hide a death", notices_do_not_hide_a_death},
	{"wrong memory is refused", wrong_memory_is_refused},
	{"memory of another user is refused", memory_of_another_user_is_refused},
	{"descriptors that ran out are told again", descriptors_that_ran_out_are_told_again},
	{"wrong descriptors are refused", wrong_descriptors_are_refused},
	{"nonsense is refused", nonsense_is_refused},
	{"the same region twice is refused", the_same_region_twice_is_refused},
	{"too many regions are refused", too_many_regions_are_refused},
	{"a revoked gate lets nobody in", a_revoked_gate_lets_nobody_in},
	{"freeing behind a peer that left is no alarm", freeing_behind_a_peer_that_left_is_no_alarm},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Only between processes does memory pass as a descriptor. */
static bool has(const struct pair_kind *kind, void (*run)(void **state))
{
	bool shm_only = run == wrong_memory_is_refused || run == memory_of_another_user_is_refused;
	return !shm_only || kind->transport == &ring_transport_shm;
}

int main(void)
{
	static struct CMUnitTest tests[KINDS * CASES];
	static char names[KINDS * CASES][80];
	setenv("RING_LOG", "warn", 1);
	for (size_t i = 0; i < KINDS * CASES; i++) {
		const struct pair_kind *kind = &kinds[i / CASES];
		snprintf(names[i], sizeof(names[i]), "%s: %s", kind->name, cases[i % CASES].name);
		void (*run)(void **state) = cases[i % CASES].run;
		tests[i] = (struct CMUnitTest){.name = names[i], /* left out without a function */
					       .test_func = has(kind, run) ? run : NULL,
					       .initial_state = (void *)kind};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
