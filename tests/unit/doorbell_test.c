/* SPDX-License-Identifier: MIT */
/* Doorbells: who is woken, how, and what is refused as one. Orderings are slot_fifo_test's. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/waits.h"
#include "ringccl.h"
#include "tests/unit/meet.h"
#include "transport/doorbell.h"
#include "transport/doorbell_words.h"

#define LONG_MS 20000
#define ROUNDS 20000

static struct ring_bell make_bell(void)
{
	struct ring_bell bell;
	assert_int_equal(ring_bell_create(&bell), 0);
	return bell;
}

static void *ring_soon(void *bell)
{
	usleep(20000);
	ring_bell_ring(bell);
	return NULL;
}

/* Sleeps until another thread rings; returns for how long. */
static uint64_t sleep_until_rung(struct ring_bell *bell, struct pollfd *fds, int nfds)
{
	pthread_t thread;
	uint64_t before = ring_clock_ms();
	uint32_t ticket = ring_bell_announce(bell, nfds > 0);
	assert_int_equal(pthread_create(&thread, NULL, ring_soon, bell), 0);
	ring_bell_sleep(bell, ticket, fds, nfds, LONG_MS);
	ring_bell_awake(bell);
	pthread_join(thread, NULL);
	return ring_clock_ms() - before;
}

static void ringing_ends_either_sleep(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell();
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	struct pollfd quiet[2] = {{.fd = pipe_fds[0], .events = POLLIN}};
	assert_true(sleep_until_rung(&bell, NULL, 0) < LONG_MS);
	assert_true(sleep_until_rung(&bell, quiet, 1) < LONG_MS);
	assert_true(sleep_until_rung(&bell, NULL, 0) < LONG_MS);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	ring_bell_close(&bell);
}

static void a_ring_between_announcing_and_sleeping_counts(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell();
	struct pollfd none[2] = {{.fd = -1}};
	for (int nfds = 0; nfds < 2; nfds++) {
		uint64_t before = ring_clock_ms();
		uint32_t ticket = ring_bell_announce(&bell, nfds > 0);
		ring_bell_ring(&bell);
		ring_bell_sleep(&bell, ticket, none, nfds, LONG_MS);
		ring_bell_awake(&bell);
		assert_true(ring_clock_ms() - before < LONG_MS);
	}
	ring_bell_close(&bell);
}

static void ringing_an_awake_owner_leaves_nothing_behind(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell();
	struct pollfd none[2] = {{.fd = -1}};
	ring_bell_ring(&bell);
	for (int nfds = 0; nfds < 2; nfds++) {
		uint64_t before = ring_clock_ms();
		ring_bell_sleep(&bell, ring_bell_announce(&bell, nfds > 0), none, nfds, 30);
		ring_bell_awake(&bell);
		assert_true(ring_clock_ms() - before >= 29);
	}
	ring_bell_close(&bell);
}

static void who_was_rung_does_not_sleep_again(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell();
	struct pollfd none[2] = {{.fd = -1}};
	uint64_t before = ring_clock_ms();
	for (int nfds = 0; nfds < 2; nfds++) {
		uint32_t ticket = ring_bell_announce(&bell, nfds > 0);
		ring_bell_sleep(&bell, ticket, none, nfds, 1);
		ring_bell_ring(&bell);
		ring_bell_sleep(&bell, ticket, none, nfds, LONG_MS);
		ring_bell_sleep(&bell, ticket, none, nfds, LONG_MS);
		ring_bell_awake(&bell);
	}
	assert_true(ring_clock_ms() - before < LONG_MS);
	ring_bell_close(&bell);
}

static void a_descriptor_ends_the_sleep(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell();
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	struct pollfd look[2] = {{.fd = pipe_fds[0], .events = POLLIN}};
	ring_bell_sleep(&bell, ring_bell_announce(&bell, true), look, 1, LONG_MS);
	ring_bell_awake(&bell);
	assert_true(look[0].revents & POLLIN);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	ring_bell_close(&bell);
}

/* As many as the links of a large team: the last one counts as the first does. */
static void the_last_of_many_descriptors_ends_the_sleep(void **state)
{
	(void)state;
	enum { MANY = 300 };
	struct ring_bell bell = make_bell();
	struct pollfd many[MANY + 1];
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	for (int i = 0; i < MANY; i++)
		many[i] = (struct pollfd){.fd = -1};
	many[MANY - 1] = (struct pollfd){.fd = pipe_fds[0], .events = POLLIN};
	uint64_t before = ring_clock_ms();
	ring_bell_sleep(&bell, ring_bell_announce(&bell, true), many, MANY, LONG_MS);
	ring_bell_awake(&bell);
	assert_true(ring_clock_ms() - before < LONG_MS);
	assert_true(many[MANY - 1].revents & POLLIN);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	ring_bell_close(&bell);
}

static void a_mapped_bell_wakes_the_owner(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell(), mapped;
	assert_int_equal(ring_bell_map(&mapped, dup(bell.memory_fd), dup(bell.event_fd)), 0);
	assert_int_equal(mapped.memory_fd, -1);
	uint32_t ticket = ring_bell_announce(&bell, false);
	ring_bell_ring(&mapped);
	uint64_t before = ring_clock_ms();
	ring_bell_sleep(&bell, ticket, NULL, 0, LONG_MS);
	assert_true(ring_clock_ms() - before < LONG_MS);
	ring_bell_close(&mapped);
	ring_bell_close(&bell);
	ring_bell_close(&bell); /* closed ones are accepted */
}

/* ---- light movers ---- */

static struct ring_bell make_light_bell(void)
{
	struct ring_bell bell = make_bell();
	ring_bell_lighten(&bell);
	if (!ring_doorbell_is_light(bell.page)) {
		ring_bell_close(&bell);
		skip(); /* the kernel cannot fence others */
	}
	return bell;
}

/* In every round one thread writes on a board and looks at the doorbell, and the other falls asleep. */
struct light_rounds {
	struct ring_bell bell;
	struct ring_board board;
	_Atomic uint64_t mover_round, sleeper_round;
	bool mover_saw[ROUNDS], sleeper_saw[ROUNDS];
};

static void *move_lightly(void *argument)
{
	struct light_rounds *rounds = argument;
	for (uint64_t k = 0; k < ROUNDS; k++) {
		meet(&rounds->mover_round, &rounds->sleeper_round, 2 * k);
		ring_board_end(&rounds->board, k + 1, 0);
		ring_doorbell_published_lightly();
		rounds->mover_saw[k] = ring_doorbell_is_awaited(rounds->bell.page);
		meet(&rounds->mover_round, &rounds->sleeper_round, 2 * k + 1);
	}
	return NULL;
}

static void *fall_asleep(void *argument)
{
	struct light_rounds *rounds = argument;
	for (uint64_t k = 0; k < ROUNDS; k++) {
		meet(&rounds->sleeper_round, &rounds->mover_round, 2 * k);
		ring_bell_announce(&rounds->bell, false);
		rounds->sleeper_saw[k] = ring_board_says(&rounds->board, k + 1, 0);
		meet(&rounds->sleeper_round, &rounds->mover_round, 2 * k + 1);
		ring_bell_awake(&rounds->bell);
	}
	return NULL;
}

/* On every CPU, so that the kernel leaves none out (doorbell_words.h). */
static void run_another_process(void)
{
	cpu_set_t allowed;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	for (int cpu = 0; child == 0 && cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (CPU_ISSET(cpu, &allowed) && sched_setaffinity(0, sizeof(one), &one))
			_exit(1);
	}
	if (child == 0)
		_exit(0);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void nobody_sleeps_through_what_a_light_mover_does(void **state)
{
	(void)state;
	static struct light_rounds rounds;
	rounds.bell = make_light_bell();
	run_another_process();
	run_two(move_lightly, fall_asleep, &rounds);
	int lost = 0;
	for (int k = 0; k < ROUNDS; k++)
		lost += !rounds.mover_saw[k] && !rounds.sleeper_saw[k];
	assert_int_equal(lost, 0);
	ring_bell_close(&rounds.bell);
}

static void only_light_bells_nap(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell(), light = make_light_bell();
	assert_int_equal(ring_bell_nap_ms(&bell), 0);
	assert_int_equal(ring_bell_nap_ms(&light), RING_NAP_MS);
	ring_bell_close(&bell);
	ring_bell_close(&light);
}

/* Of this thread, from now on. returns 0; -1 where that cannot be had */
static int forbid_fencing_others(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
	int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return err ? err : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* returns the bell once it has slept; NULL where nothing can be forbidden */
static void *sleep_without_fences(void *argument)
{
	struct ring_bell *bell = argument;
	struct pollfd none[2] = {{.fd = -1}};
	if (forbid_fencing_others())
		return NULL;
	for (int nfds = 0; nfds < 2; nfds++) {
		ring_bell_sleep(bell, ring_bell_announce(bell, nfds > 0), none, nfds, LONG_MS);
		ring_bell_awake(bell);
	}
	return bell;
}

static void who_can_fence_nobody_does_not_sleep(void **state)
{
	(void)state;
	struct ring_bell bell = make_light_bell();
	pthread_t thread;
	void *slept;
	uint64_t before = ring_clock_ms();
	assert_int_equal(pthread_create(&thread, NULL, sleep_without_fences, &bell), 0);
	pthread_join(thread, &slept);
	assert_true(ring_clock_ms() - before < LONG_MS);
	ring_bell_close(&bell);
	if (!slept)
		skip();
}

/* ---- strangers ---- */

static int memory_of(size_t bytes, int seals)
{
	int fd = ring_fd_memory("test");
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Not taken: the descriptors stay the caller's. */
static void assert_refused(int memory_fd, int event_fd)
{
	struct ring_bell bell;
	assert_int_equal(ring_bell_map(&bell, memory_fd, event_fd), RING_EPEER);
	assert_true(fcntl(memory_fd, F_GETFD) >= 0);
	assert_true(fcntl(event_fd, F_GETFD) >= 0);
}

static void what_is_no_doorbell_is_refused(void **state)
{
	(void)state;
	struct ring_bell bell = make_bell();
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int wrong[] = {memory_of(4096, 0),
		       memory_of(4096, F_SEAL_GROW | F_SEAL_SEAL),
		       memory_of(4095, all),
		       memory_of(8192, all),
		       memory_of(4096, all | F_SEAL_WRITE),
		       open("/dev/null", O_RDWR)};
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_refused(wrong[i], bell.event_fd);
		assert_refused(bell.memory_fd, wrong[i]); /* ... and no eventfd either */
		ring_fd_close(wrong[i]);
	}
	ring_bell_close(&bell);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ringing_ends_either_sleep),
		cmocka_unit_test(a_ring_between_announcing_and_sleeping_counts),
		cmocka_unit_test(ringing_an_awake_owner_leaves_nothing_behind),
		cmocka_unit_test(who_was_rung_does_not_sleep_again),
		cmocka_unit_test(a_descriptor_ends_the_sleep),
		cmocka_unit_test(the_last_of_many_descriptors_ends_the_sleep),
		cmocka_unit_test(a_mapped_bell_wakes_the_owner),
		cmocka_unit_test(nobody_sleeps_through_what_a_light_mover_does),
		cmocka_unit_test(only_light_bells_nap),
		cmocka_unit_test(who_can_fence_nobody_does_not_sleep),
		cmocka_unit_test(what_is_no_doorbell_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
