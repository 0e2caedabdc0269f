/* SPDX-License-Identifier: MIT */
/*
 * A shm link between two processes: copies out of the other's memory and into it, and a gate whose
 * sender dies or stops inside. Where the system forbids the copies it must say so, and they are skipped.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ringccl.h"
#include "tests/transport/pair.h"

#define LARGE_BYTES (33 << 20) /* more than goes in one piece */
#define PAGE 4096
#define DEADLINE_MS 20000

/* What the test and its child share beside the link. */
struct board {
	_Atomic int step;      /* of the child: 1 when it is ready */
	_Atomic int leave;     /* to the child */
	unsigned char *memory; /* the child's, where nobody else has anything */
	unsigned char written[LARGE_BYTES];
};

typedef int live_fn(struct ring_link *link, struct board *board);

/* This process's end of a link, and the other one's process. */
struct stage {
	struct pair pair;
	struct ring_link *link;
	struct board *board;
	pid_t child;
};

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void await(const _Atomic int *word)
{
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	while (!atomic_load(word) && ring_clock_ms() < deadline)
		nap();
}

static int open_end(struct pair *pair, int end, int fd)
{
	if (fd < 0 || !pair_init(pair))
		return RING_ESYSTEM;
	struct ring_link_params params = pair_params(pair, end, fd, 2, 100);
	int err = ring_transport_shm.open(&params, &pair->ends[end]);
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	while (!err && (err = ring_transport_shm.finish(pair->ends[end])) == RING_EAGAIN &&
	       ring_clock_ms() < deadline)
		err = 0;
	return err;
}

/* ---- the child ------------------------------------------------------------------------------- */

static void be_child(const struct stage *stage, int end, int fd, live_fn *live)
{
	struct pair pair;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int err = open_end(&pair, end, fd);
	_exit(err ? 99 : live(pair.ends[end], stage->board));
}

static int be_there(struct ring_link *link, struct board *board)
{
	(void)link;
	unsigned char *memory = mmap(NULL, LARGE_BYTES + PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(memory + LARGE_BYTES, PAGE); /* what follows is a hole */
	for (size_t i = 0; i < LARGE_BYTES; i++)
		memory[i] = (unsigned char)(i % 251);
	board->memory = memory;
	atomic_store(&board->step, 1);
	await(&board->leave);
	memcpy(board->written, memory, LARGE_BYTES);
	return 0;
}

/* Writes as long as it is let in, which the test may stop at any time. */
static int write_inside(struct ring_link *link, struct board *board)
{
	for (int round = 1; ring_link_enter(link) == 0; round++) {
		memset(board->written, round, PAGE);
		atomic_store(&board->step, 1);
		ring_link_leave(link);
	}
	return 0;
}

static int stay_inside(struct ring_link *link, struct board *board)
{
	int err = ring_link_enter(link);
	atomic_store(&board->step, 1);
	await(&board->leave);
	ring_link_leave(link);
	return err;
}

/* ---- the stage ------------------------------------------------------------------------------- */

static int listen_somewhere(struct sockaddr_un *address, socklen_t *bytes)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	*bytes = sizeof(address->sun_family); /* the kernel finds a name */
	assert_int_equal(bind(listener, (struct sockaddr *)address, *bytes), 0);
	assert_int_equal(listen(listener, 1), 0);
	*bytes = sizeof(*address);
	assert_int_equal(getsockname(listener, (struct sockaddr *)address, bytes), 0);
	return listener;
}

/* The child connects itself, so that the socket tells whose it is. */
static int connect_to(const struct sockaddr_un *address, socklen_t bytes)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(fd, (const struct sockaddr *)address, bytes) == 0 ? fd : -1;
}

static void open_stage(struct stage *stage, int end, live_fn *live)
{
	struct sockaddr_un address;
	socklen_t bytes;
	int listener = listen_somewhere(&address, &bytes);
	stage->board = mmap(NULL, sizeof(*stage->board), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stage->child = fork();
	assert_true(stage->child >= 0);
	if (stage->child == 0)
		be_child(stage, !end, connect_to(&address, bytes), live);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	assert_int_equal(open_end(&stage->pair, end, fd), 0);
	stage->link = stage->pair.ends[end];
	await(&stage->board->step);
	assert_int_equal(atomic_load(&stage->board->step), 1);
}

/* returns the child's exit status, or -1 if it was killed */
static int end_child(struct stage *stage)
{
	int status;
	atomic_store(&stage->board->leave, 1);
	assert_int_equal(waitpid(stage->child, &status, 0), stage->child);
	stage->child = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int kill_child(struct stage *stage)
{
	kill(stage->child, SIGKILL);
	return end_child(stage);
}

static void close_stage(struct stage *stage)
{
	pair_close(&stage->pair);
	munmap(stage->board, sizeof(*stage->board));
}

static int get(struct stage *stage, size_t offset, void *local, size_t bytes)
{
	return ring_link_get(stage->link, (uintptr_t)stage->board->memory + offset, local, bytes);
}

static int put(struct stage *stage, size_t offset, const void *local, size_t bytes)
{
	return ring_link_put(stage->link, (uintptr_t)stage->board->memory + offset, local, bytes);
}

/* Opens a stage whose child is there to be reached; skips the test where it may not. */
static void open_reachable(struct stage *stage, int end)
{
	open_stage(stage, end, be_there);
	int err = get(stage, 0, NULL, 0);
	if (!err)
		return;
	assert_int_equal(err, RING_ENOTSUP);
	end_child(stage);
	close_stage(stage);
	print_message("this system lets no process into another one's memory\n");
	skip();
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The other one's begins with a page as well: so both ways just behind one another (copy.h) come up, and others. */
static _Alignas(PAGE) unsigned char local[LARGE_BYTES];

static void every_size_is_copied(void **state)
{
	(void)state;
	static const struct {
		size_t offset, bytes;
	} copies[] = {{0, 1},      {1, 15},       {3, 4093},       {4095, 2},
		      {77, 70000}, {4090, 70000}, {0, LARGE_BYTES}};
	for (int end = 0; end < 2; end++) {
		struct stage stage;
		open_reachable(&stage, end);
		for (size_t c = 0; c < sizeof(copies) / sizeof(copies[0]); c++) {
			size_t offset = copies[c].offset, bytes = copies[c].bytes, wrong = 0;
			memset(local, 255, sizeof(local));
			assert_int_equal(get(&stage, offset, local, bytes), 0);
			for (size_t i = 0; i < bytes; i++)
				wrong += local[i] != (offset + i) % 251;
			assert_int_equal(wrong, 0);
			assert_true(bytes == sizeof(local) || local[bytes] == 255);
		}
		for (size_t i = 0; i < sizeof(local); i++)
			local[i] = (unsigned char)(i % 241);
		assert_int_equal(put(&stage, 1, local, LARGE_BYTES - 2), 0);
		assert_int_equal(put(&stage, 10, "here", 4), 0);
		assert_int_equal(end_child(&stage), 0);
		memcpy(local + 9, "here", 4);
		assert_memory_equal(stage.board->written + 1, local, LARGE_BYTES - 2);
		assert_int_equal(stage.board->written[0], 0);
		assert_int_equal(stage.board->written[LARGE_BYTES - 1], (LARGE_BYTES - 1) % 251);
		close_stage(&stage);
	}
}

static void places_without_memory_are_refused(void **state)
{
	(void)state;
	struct stage stage;
	open_reachable(&stage, SENDER);
	for (int i = 0; i < 3; i++) {
		const uint64_t nowhere[] = {0, 1, UINT64_MAX - 100};
		assert_int_equal(ring_link_get(stage.link, nowhere[i], local, 10), RING_EPEER);
		assert_int_equal(ring_link_put(stage.link, nowhere[i], local, 10), RING_EPEER);
	}
	assert_int_equal(get(&stage, LARGE_BYTES - 10, local, 20), RING_EPEER);
	assert_int_equal(put(&stage, LARGE_BYTES - 10, local, 20), RING_EPEER);
	assert_int_equal(get(&stage, LARGE_BYTES - 10, local, 10), 0);
	assert_int_equal(end_child(&stage), 0);
	close_stage(&stage);
}

static void a_process_that_died_is_refused(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct stage stage;
		open_reachable(&stage, RECEIVER);
		assert_int_equal(put(&stage, 0, "x", 1), 0);
		assert_int_equal(kill_child(&stage), -1);
		for (int i = 0; i < 100 * late; i++)
			nap(); /* until the proof has aged */
		assert_int_equal(put(&stage, 0, "x", 1), RING_EPEER);
		assert_int_equal(get(&stage, 0, local, 1), RING_EPEER);
		close_stage(&stage);
	}
}

/* A socketpair says that this process is at its other end: the token knows better. */
static void another_process_is_refused(void **state)
{
	(void)state;
	struct stage stage;
	int fds[2];
	stage.board = mmap(NULL, sizeof(*stage.board), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(pair_sockets(RING_LANE_LOCAL, fds));
	stage.child = fork();
	assert_true(stage.child >= 0);
	if (stage.child == 0)
		be_child(&stage, RECEIVER, fds[RECEIVER], be_there);
	close(fds[RECEIVER]);
	assert_int_equal(open_end(&stage.pair, SENDER, fds[SENDER]), 0);
	stage.link = stage.pair.ends[SENDER];
	await(&stage.board->step);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get(&stage, 0, NULL, 0), RING_ENOTSUP);
		assert_int_equal(put(&stage, 0, "x", 1), RING_ENOTSUP);
	}
	assert_int_equal(end_child(&stage), 0);
	close_stage(&stage);
}

/* ---- the gate -------------------------------------------------------------------------------- */

static int close_gate(struct stage *stage)
{
	return ring_link_revoke(stage->link);
}

static int revoke_until_done(struct stage *stage)
{
	uint64_t deadline = ring_clock_ms() + DEADLINE_MS;
	int err;
	while ((err = close_gate(stage)) == RING_EAGAIN && ring_clock_ms() < deadline)
		nap();
	return err;
}

static void nothing_is_written_after_revoking(void **state)
{
	(void)state;
	for (int run = 0; run < 20; run++) {
		struct stage stage;
		open_stage(&stage, RECEIVER, write_inside);
		for (int i = 0; i < run; i++)
			nap();
		assert_int_equal(revoke_until_done(&stage), 0);
		unsigned char last = stage.board->written[0];
		for (int i = 0; i < PAGE; i++)
			assert_int_equal(stage.board->written[i], last);
		memset(stage.board->written, last + 1, PAGE);
		assert_int_equal(end_child(&stage), 0);
		assert_int_equal(stage.board->written[0], (unsigned char)(last + 1));
		close_stage(&stage);
	}
}

static void a_sender_that_dies_inside_is_out(void **state)
{
	(void)state;
	struct stage stage;
	open_stage(&stage, RECEIVER, stay_inside);
	assert_int_equal(close_gate(&stage), RING_EAGAIN);
	assert_int_equal(kill_child(&stage), -1);
	assert_int_equal(close_gate(&stage), 0);
	close_stage(&stage);
}

static void a_sender_that_stops_inside_is_in(void **state)
{
	(void)state;
	struct stage stage;
	int status;
	open_stage(&stage, RECEIVER, stay_inside);
	kill(stage.child, SIGSTOP);
	assert_int_equal(waitpid(stage.child, &status, WUNTRACED), stage.child);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(close_gate(&stage), RING_EAGAIN);
		nap();
	}
	kill(stage.child, SIGCONT);
	assert_int_equal(end_child(&stage), 0);
	assert_int_equal(revoke_until_done(&stage), 0);
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_is_copied),
		cmocka_unit_test(places_without_memory_are_refused),
		cmocka_unit_test(a_process_that_died_is_refused),
		cmocka_unit_test(another_process_is_refused),
		cmocka_unit_test(nothing_is_written_after_revoking),
		cmocka_unit_test(a_sender_that_dies_inside_is_out),
		cmocka_unit_test(a_sender_that_stops_inside_is_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
