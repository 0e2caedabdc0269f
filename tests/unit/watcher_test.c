/* SPDX-License-Identifier: MIT */
/* The watcher's life: its thread, its port, its alarms, and what a forked child makes of it. */
#include "door/watcher.h"

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/holdings.h"

static struct ring_config config;

static int resolve(void **state)
{
	(void)state;
	return ring_config_resolve(&config, NULL, NULL);
}

static struct ring_watcher *hold(void)
{
	struct ring_watcher *watcher;
	struct ring_failure failure = {0};
	if (ring_watcher_hold(&watcher, &config, NULL, &failure))
		fail_msg("%s", failure.text);
	return watcher;
}

/* A joined thread leaves /proc a little later. */
static void assert_falls_to(int wanted, int (*count)(void))
{
	uint64_t until_ms = ring_clock_ms() + 5000;
	while (count() != wanted && ring_clock_ms() < until_ms)
		usleep(1000);
	assert_int_equal(count(), wanted);
}

static int port_of(const struct ring_watcher *watcher)
{
	const struct sockaddr_storage *address = ring_watcher_address(watcher);
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

static int threads_at_rest; /* without a watcher */

/* Counts beside a watcher, as a sanitizer may start a thread of its own with the first one. */
static int count_threads(void **state)
{
	resolve(state);
	struct ring_watcher *watcher = hold();
	threads_at_rest = holdings_threads() - 1;
	ring_watcher_drop(watcher);
	return 0;
}

static void one_thread_while_held(void **state)
{
	(void)state;
	int fds = holdings_fds();
	assert_falls_to(threads_at_rest, holdings_threads);
	struct ring_watcher *first = hold(), *second = hold();
	assert_ptr_equal(first, second);
	assert_int_equal(holdings_threads(), threads_at_rest + 1);
	ring_watcher_drop(first);
	assert_int_equal(holdings_threads(), threads_at_rest + 1);
	ring_watcher_drop(second);
	assert_falls_to(threads_at_rest, holdings_threads);
	assert_int_equal(holdings_fds(), fds);
}

/* A free port: the kernel chose it a moment ago. */
static int free_port(void)
{
	struct ring_watcher *watcher = hold();
	int port = port_of(watcher);
	ring_watcher_drop(watcher);
	return port;
}

static void port_is_free_again(void **state)
{
	(void)state;
	int port = free_port();
	config.port_first = config.port_last = port;
	for (int i = 0; i < 20; i++) {
		struct ring_watcher *watcher = hold();
		assert_int_equal(port_of(watcher), port);
		ring_watcher_drop(watcher);
	}
}

/* Holds a watcher in a child, as another process would. Returns its port; *pid ends with the pipe. */
static int port_in_child(pid_t *pid, int *leash)
{
	int ports[2], leashes[2], port = -1;
	assert_int_equal(pipe(ports) || pipe(leashes), 0);
	*pid = fork();
	if (!*pid) {
		close(leashes[1]);
		struct ring_watcher *watcher;
		port = -1;
		if (!ring_watcher_hold(&watcher, &config, NULL, NULL))
			port = port_of(watcher);
		_exit(write(ports[1], &port, sizeof(port)) < 0 || read(leashes[0], &port, 1) < 0);
	}
	assert_int_equal(read(ports[0], &port, sizeof(port)), sizeof(port));
	close(ports[0]);
	close(ports[1]);
	close(leashes[0]);
	*leash = leashes[1];
	return port;
}

/* Processes of one range take its ports; when there are no more, the sentence names the range. */
static void range_confines_ports(void **state)
{
	(void)state;
	pid_t pids[2];
	int leashes[2], ports[2];
	struct ring_watcher *watcher;
	struct ring_failure failure = {0};
	config.port_first = free_port();
	config.port_last = config.port_first + 1;
	for (int i = 0; i < 2; i++)
		ports[i] = port_in_child(&pids[i], &leashes[i]);
	assert_int_equal(ports[0], config.port_first);
	assert_true(ports[1] == config.port_last || ports[1] == -1); /* -1: a stranger has it */
	assert_int_equal(ring_watcher_hold(&watcher, &config, NULL, &failure), RING_ESYSTEM);
	char range[64];
	snprintf(range, sizeof(range), "on any port of RING_PORT_RANGE %d-%d", config.port_first,
		 config.port_last);
	assert_non_null(strstr(failure.text, range));
	for (int i = 0; i < 2; i++)
		close(leashes[i]); /* a later child holds an earlier one's, so all before the wait */
	for (int i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
}

static bool answers(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool connected = !connect(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
	return connected;
}

/* A further listener is opened once, lives as long as the watcher, and says whose port it may not have. */
static void listens_elsewhere_too(void **state)
{
	(void)state;
	pid_t pid;
	int leash, port = free_port();
	struct sockaddr_storage any = {.ss_family = AF_INET};
	((struct sockaddr_in *)&any)->sin_port = htons((uint16_t)port);
	for (int i = 0; i < 2; i++) {
		struct ring_watcher *watcher = hold();
		assert_false(answers(port));
		assert_int_equal(ring_watcher_listen(watcher, &any, NULL), 0);
		assert_int_equal(ring_watcher_listen(watcher, &any, NULL), 0);
		assert_true(answers(port));
		ring_watcher_drop(watcher);
		assert_false(answers(port));
	}

	struct ring_watcher *watcher = hold();
	struct ring_failure failure = {0};
	char sentence[64];
	config.port_first = config.port_last = port;
	assert_int_equal(port_in_child(&pid, &leash), port);
	assert_int_equal(ring_watcher_listen(watcher, &any, &failure), RING_ESYSTEM);
	snprintf(sentence, sizeof(sentence), "cannot listen at 0.0.0.0:%d", port);
	assert_non_null(strstr(failure.text, sentence));
	ring_watcher_drop(watcher);
	close(leash);
	waitpid(pid, NULL, 0);
}

/* All zeros of IPv6 is every address there is, of IPv4 too. */
static void any_address_is_of_both_versions(void **state)
{
	(void)state;
	struct sockaddr_storage any = {.ss_family = AF_INET6};
	int port = free_port();
	((struct sockaddr_in6 *)&any)->sin6_port = htons((uint16_t)port);
	struct ring_watcher *watcher = hold();
	if (ring_watcher_listen(watcher, &any, NULL)) {
		ring_watcher_drop(watcher);
		skip(); /* a kernel without IPv6 */
	}
	assert_true(answers(port));
	ring_watcher_drop(watcher);
}

static atomic_int rings;

static void count_ring(void *owner)
{
	(void)owner;
	atomic_fetch_add(&rings, 1);
}

static void wait_for_rings(int wanted)
{
	uint64_t until_ms = ring_clock_ms() + 5000;
	while (atomic_load(&rings) < wanted && ring_clock_ms() < until_ms)
		usleep(1000);
	assert_int_equal(atomic_load(&rings), wanted);
}

static void alarms_ring_once(void **state)
{
	(void)state;
	int owners[3];
	struct ring_watcher *watcher = hold();
	atomic_store(&rings, 0);
	ring_watcher_lock(watcher); /* none rings before all are there */
	ring_watcher_alarm(watcher, &owners[0], count_ring, 20);
	ring_watcher_alarm(watcher, &owners[1], count_ring, 10);
	ring_watcher_alarm(watcher, &owners[2], count_ring, 30);
	ring_watcher_alarm(watcher, &owners[2], NULL, -1);
	ring_watcher_alarm(watcher, &owners[0], count_ring, 40); /* replaces */
	ring_watcher_unlock(watcher);
	wait_for_rings(2);
	usleep(50000);
	assert_int_equal(atomic_load(&rings), 2);
	ring_watcher_drop(watcher);
}

static _Atomic uint64_t rung_ns;

static void note_time(void *owner)
{
	(void)owner;
	atomic_store(&rung_ns, ring_clock_ns());
}

/* However often the watcher looks at its clock. */
static void alarms_are_never_early(void **state)
{
	(void)state;
	int owner;
	struct ring_watcher *watcher = hold();
	for (int round = 0; round < 20; round++) {
		uint64_t begun_ns = ring_clock_ns();
		atomic_store(&rung_ns, 0);
		ring_watcher_alarm(watcher, &rung_ns, note_time, 2);
		for (; !atomic_load(&rung_ns); usleep(50))
			ring_watcher_alarm(watcher, &owner, count_ring, 60000); /* wakes it */
		assert_true(atomic_load(&rung_ns) - begun_ns >= 2000000);
	}
	ring_watcher_drop(watcher);
}

static void drop_from_alarm(void *owner)
{
	ring_watcher_drop(owner);
	atomic_fetch_add(&rings, 1);
}

/* The last holder may be a callback; then nobody waits for the thread, but it ends. */
static void callback_may_drop(void **state)
{
	(void)state;
	int fds = holdings_fds();
	struct ring_watcher *watcher = hold();
	atomic_store(&rings, 0);
	ring_watcher_alarm(watcher, watcher, drop_from_alarm, 0);
	wait_for_rings(1);
	assert_falls_to(threads_at_rest, holdings_threads);
	assert_falls_to(fds, holdings_fds);
	ring_watcher_drop(hold());
}

/* A child finds its parent's watcher dead, leaves it alone, and may have one of its own. */
static void child_starts_anew(void **state)
{
	(void)state;
	struct ring_watcher *watcher = hold();
	uint64_t process = ring_watcher_process(watcher);
	pid_t pid = fork();
	if (!pid) {
		bool mine = ring_watcher_is_mine(watcher);
		ring_watcher_drop(watcher);
		struct ring_watcher *own = hold();
		bool fresh = own != watcher && ring_watcher_process(own) != process;
		ring_watcher_drop(own);
		_exit(mine || !fresh);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	ring_watcher_drop(watcher);
}

/* Signals are the program's: the watcher's thread takes none. */
static void signals_are_blocked(void **state)
{
	(void)state;
	struct ring_watcher *watcher = hold();
	char path[300], line[256];
	unsigned long long blocked = 0;
	DIR *dir = opendir("/proc/self/task");
	for (struct dirent *task; (task = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		FILE *status = atoi(task->d_name) == getpid() ? NULL : fopen(path, "r");
		bool watching = false;
		while (status && fgets(line, sizeof(line), status)) {
			watching = watching || !strcmp(line, "Name:\tring-watcher\n");
			if (watching)
				sscanf(line, "SigBlk: %llx", &blocked);
		}
		if (status)
			fclose(status);
	}
	closedir(dir);
	assert_int_equal(blocked >> 9 & 1, 1);  /* SIGUSR1 */
	assert_int_equal(blocked >> 14 & 1, 1); /* SIGTERM */
	ring_watcher_drop(watcher);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, resolve)
	const struct CMUnitTest tests[] = {
		TEST(one_thread_while_held),  TEST(port_is_free_again),
		TEST(range_confines_ports),   TEST(alarms_ring_once),
		TEST(alarms_are_never_early), TEST(callback_may_drop),
		TEST(child_starts_anew),      TEST(signals_are_blocked),
		TEST(listens_elsewhere_too),  TEST(any_address_is_of_both_versions),
	};
	return cmocka_run_group_tests(tests, count_threads, NULL);
}
