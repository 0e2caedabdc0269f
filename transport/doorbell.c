/* SPDX-License-Identifier: MIT */
/*
 * Doorbells: making and mapping them, and the system calls of sleeping and waking. The words in
 * doorbell_words.h decide when a sleeper must be woken.
 */
#include "doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "doorbell_words.h"
#include "base/fd.h"
#include "base/fork_lock.h"
#include "base/log.h"
#include "sealed.h"
#include "base/status.h"
#include "base/waits.h"

#define PAGE_BYTES ((sizeof(struct ring_doorbell_page) + 4095) / 4096 * 4096)

/* Its first holder. returns 0; RING_ENOMEM */
static int take(struct ring_bell *bell, struct ring_doorbell_page *page)
{
	bell->holders = calloc(1, sizeof(*bell->holders));
	if (!bell->holders) {
		munmap(page, PAGE_BYTES);
		return RING_ENOMEM;
	}
	atomic_init(&bell->holders->count, 1);
	bell->page = page;
	return 0;
}

/* ---- bells of peers, mapped once each ---- */

RING_FORK_LOCK(mapping)

static struct ring_doorbell_holders *mapped_bells;

/* Another hold on the bell if this file is mapped already. */
static bool hold_mapped(struct ring_bell *bell, const struct stat *file)
{
	mapping_take();
	struct ring_doorbell_holders *holders = mapped_bells;
	while (holders && (holders->device != file->st_dev || holders->inode != file->st_ino))
		holders = holders->next;
	if (holders) {
		ring_doorbell_hold(holders);
		*bell = (struct ring_bell){.page = holders->page,
					   .memory_fd = -1,
					   .event_fd = holders->event_fd,
					   .holders = holders};
	}
	mapping_give();
	return holders != NULL;
}

static void list_mapped(const struct ring_bell *bell, const struct stat *file)
{
	struct ring_doorbell_holders *holders = bell->holders;
	holders->page = bell->page;
	holders->event_fd = bell->event_fd;
	holders->device = file->st_dev;
	holders->inode = file->st_ino;
	mapping_take();
	holders->next = mapped_bells;
	mapped_bells = holders;
	mapping_give();
}

/* returns whether it was the last hold; then nobody finds the bell any more */
static bool let_go(struct ring_doorbell_holders *holders)
{
	mapping_take();
	bool last = ring_doorbell_let_go(holders);
	struct ring_doorbell_holders **link = &mapped_bells;
	while (last && *link && *link != holders)
		link = &(*link)->next;
	if (last && *link)
		*link = holders->next;
	mapping_give();
	return last;
}

void ring_bell_hold(const struct ring_bell *bell, struct ring_bell *held)
{
	ring_doorbell_hold(bell->holders);
	*held = *bell;
	held->memory_fd = -1;
}

/* returns whether the kernel could */
static bool have_kernel_fence(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static bool may_be_event(int fd);

/* Memory that can be passed on; where the system has none, this process's own. */
static int make_page(struct ring_bell *bell, void **page)
{
	int err = ring_sealed_create("ringccl-doorbell", PAGE_BYTES, &bell->memory_fd, page);
	if (err != RING_ENOTSUP)
		return err;
	*page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return *page == MAP_FAILED ? RING_ENOMEM : 0;
}

/* Other processes get all of it or nothing. */
static void keep_to_oneself(struct ring_bell *bell)
{
	ring_log(RING_INFO,
		 "doorbell: this system has no %s that can be passed on: other processes "
		 "are reached over TCP, not shared memory",
		 bell->memory_fd < 0 ? "memory" : "eventfd");
	ring_fd_close(bell->memory_fd);
	bell->memory_fd = -1;
}

/*
 * Registers the process for fences now, whether its bell will be light or not: with more threads
 * that would take some milliseconds instead of a microsecond.
 */
int ring_bell_create(struct ring_bell *bell)
{
	struct ring_bell made = {.memory_fd = -1, .event_fd = -1};
	void *page;
	int err = make_page(&made, &page);
	if (err)
		return err;
	err = take(&made, page);
	if (err) {
		ring_fd_close(made.memory_fd);
		return err;
	}
	made.event_fd = ring_fd_event();
	if (made.event_fd < 0) {
		ring_log(RING_WARN, "doorbell: eventfd: %s", strerror(errno));
		ring_bell_close(&made);
		return RING_ESYSTEM;
	}
	if (made.memory_fd < 0 || !may_be_event(made.event_fd))
		keep_to_oneself(&made);
	made.fenced = have_kernel_fence(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
	*bell = made;
	return 0;
}

void ring_bell_lighten(struct ring_bell *bell)
{
	bell->light = bell->fenced;
	if (bell->light)
		ring_doorbell_lighten(bell->page);
}

/*
 * All that can be told of an eventfd: a descriptor without a file, pipe, socket or device behind
 * it, on which write() does not block. Other kinds of that sort refuse the write, which is
 * harmless.
 */
static bool may_be_event(int fd)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);
	return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0 && flags >= 0 &&
	       (flags & O_NONBLOCK) && (flags & O_ACCMODE) == O_RDWR;
}

int ring_bell_map(struct ring_bell *bell, int memory_fd, int event_fd)
{
	if (!may_be_event(event_fd)) {
		ring_log(RING_WARN, "doorbell: what the peer passed is not an eventfd");
		return RING_EPEER;
	}
	struct stat file;
	if (fstat(memory_fd, &file) == 0 && hold_mapped(bell, &file)) {
		ring_fd_close(memory_fd);
		ring_fd_close(event_fd);
		return 0;
	}
	void *page;
	struct ring_bell mapped = {.memory_fd = -1, .event_fd = event_fd};
	int err = ring_sealed_map(memory_fd, PAGE_BYTES, &page);
	if (!err)
		err = take(&mapped, page);
	if (err)
		return err;
	list_mapped(&mapped, &file);
	ring_fd_close(memory_fd);
	*bell = mapped;
	return 0;
}

void ring_bell_close(struct ring_bell *bell)
{
	if (bell->page && let_go(bell->holders)) {
		munmap(bell->page, PAGE_BYTES);
		ring_fd_close(bell->event_fd);
		free(bell->holders);
	}
	ring_fd_close(bell->memory_fd);
	*bell = (struct ring_bell){.memory_fd = -1, .event_fd = -1};
}

void ring_bell_wake(const struct ring_bell *bell)
{
	enum ring_sleep sleeps = ring_doorbell_look(bell->page);
	if (sleeps == RING_SLEEPS_ON_WORD) {
		syscall(SYS_futex, &bell->page->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	} else if (sleeps == RING_SLEEPS_ON_EVENT) {
		uint64_t one = 1;
		/* It fails only when the count is full, and then the owner wakes anyway. */
		ssize_t written = write(bell->event_fd, &one, sizeof(one));
		(void)written;
	}
}

void ring_bell_ring(const struct ring_bell *bell)
{
	ring_doorbell_published();
	if (ring_doorbell_is_awaited(bell->page))
		ring_bell_wake(bell);
}

bool ring_bell_is_awaited(const struct ring_bell *bell)
{
	ring_doorbell_published();
	return ring_doorbell_is_awaited(bell->page);
}

struct ring_board *ring_bell_board(const struct ring_bell *bell)
{
	return &bell->page->board;
}

/* If movers could not be fenced, the sleep is over before it begins. */
uint32_t ring_bell_announce(struct ring_bell *bell, bool with_fds)
{
	enum ring_sleep how = with_fds ? RING_SLEEPS_ON_EVENT : RING_SLEEPS_ON_WORD;
	if (!bell->light)
		return ring_doorbell_announce(bell->page, how);
	uint32_t ticket = ring_doorbell_say_sleep(bell->page, how);
	if (!have_kernel_fence(MEMBARRIER_CMD_GLOBAL_EXPEDITED))
		ring_bell_wake(bell);
	return ticket;
}

static void sleep_on_word(struct ring_bell *bell, uint32_t ticket, int timeout_ms)
{
	struct timespec timeout = {.tv_sec = timeout_ms / 1000,
				   .tv_nsec = timeout_ms % 1000 * 1000000L};
	syscall(SYS_futex, &bell->page->word, FUTEX_WAIT, ticket, timeout_ms < 0 ? NULL : &timeout,
		NULL, 0);
}

static void sleep_on_event(struct ring_bell *bell, struct pollfd *fds, int nfds, int timeout_ms)
{
	fds[nfds] = (struct pollfd){.fd = bell->event_fd, .events = POLLIN};
	if (poll(fds, nfds + 1, timeout_ms) > 0 && fds[nfds].revents & POLLIN) {
		uint64_t count;
		ssize_t taken = read(bell->event_fd, &count, sizeof(count));
		(void)taken; /* somebody who read it first would be as welcome */
	}
}

void ring_bell_sleep(struct ring_bell *bell, uint32_t ticket, struct pollfd *fds, int nfds,
		     int timeout_ms)
{
	if (!ring_doorbell_is_awaited(bell->page))
		return;
	if (nfds > 0)
		sleep_on_event(bell, fds, nfds, timeout_ms);
	else
		sleep_on_word(bell, ticket, timeout_ms);
}

void ring_bell_awake(struct ring_bell *bell)
{
	ring_doorbell_awake(bell->page);
}

int ring_bell_nap_ms(const struct ring_bell *bell)
{
	return bell->light ? RING_NAP_MS : 0;
}
