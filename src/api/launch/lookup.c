/* SPDX-License-Identifier: MIT */
/* Names, addresses, and which of them answers; see lookup.h. */
#include "lookup.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/waits.h"
#include "door/interface.h"
#include "ringccl.h"

static int left_ms(uint64_t deadline_ms)
{
	uint64_t now = ring_clock_ms();
	uint64_t left = now < deadline_ms ? deadline_ms - now : 0;
	return left < INT32_MAX ? (int)left : INT32_MAX;
}

/* ---- names ---- */

/* One question to the resolver, in a thread that may outlive who asked. */
struct question {
	char name[NI_MAXHOST], port[16];
	int cause, system; /* of getaddrinfo; errno */
	struct addrinfo *found;
};

static void ask(void *context)
{
	struct question *question = context;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	question->cause = getaddrinfo(question->name, question->port, &hints, &question->found);
	question->system = errno;
}

static void drop(void *context)
{
	struct question *question = context;
	if (!question->cause)
		freeaddrinfo(question->found);
	free(question);
}

static void take(const struct addrinfo *list, int family, bool others, struct ring_addresses *found)
{
	for (; list && found->count < RING_ADDRESSES_MAX; list = list->ai_next) {
		if ((list->ai_family == family) == others)
			continue;
		struct sockaddr_storage *address = &found->list[found->count++];
		*address = (struct sockaddr_storage){0};
		memcpy(address, list->ai_addr, list->ai_addrlen);
	}
}

/* returns 0, or why not in words */
static int look_up_once(const char *name, int port, uint64_t deadline_ms,
			struct ring_addresses *found, char why[RING_LOOKUP_WORDS])
{
	struct question *question = calloc(1, sizeof(*question));
	snprintf(why, RING_LOOKUP_WORDS, "no memory");
	if (!question)
		return RING_ENOMEM;
	snprintf(question->name, sizeof(question->name), "%s", name);
	snprintf(question->port, sizeof(question->port), "%d", port);
	if (ring_thread_await(ask, drop, question, deadline_ms)) {
		snprintf(why, RING_LOOKUP_WORDS, "the name server does not answer");
		return RING_ETIMEDOUT;
	}
	int cause = question->cause;
	found->count = 0;
	if (!cause) {
		take(question->found, AF_INET, false, found);
		take(question->found, AF_INET, true, found);
	} else {
		snprintf(why, RING_LOOKUP_WORDS, "%s",
			 cause == EAI_SYSTEM ? strerror(question->system) : gai_strerror(cause));
	}
	drop(question);
	return cause ? RING_EAGAIN : 0;
}

int ring_lookup(const char *name, int port, uint64_t deadline_ms, struct ring_addresses *found,
		char why[RING_LOOKUP_WORDS])
{
	uint64_t loud_ms = ring_clock_ms() + RING_NAME_QUIET_MS;
	int pause_ms = RING_NAME_FIRST_MS;
	while (look_up_once(name, port, deadline_ms, found, why)) {
		int left = left_ms(deadline_ms), nap_ms = pause_ms < left ? pause_ms : left;
		if (left == 0)
			return RING_ETIMEDOUT;
		if (ring_clock_ms() >= loud_ms) {
			ring_log(RING_LOUD, "%.200s: %s; asking again for %d s", name, why,
				 left / 1000);
			loud_ms = UINT64_MAX;
		}
		nanosleep(&(struct timespec){.tv_sec = nap_ms / 1000,
					     .tv_nsec = nap_ms % 1000 * 1000000L},
			  NULL);
		pause_ms = 2 * pause_ms < RING_NAME_LAST_MS ? 2 * pause_ms : RING_NAME_LAST_MS;
	}
	return 0;
}

/* ---- addresses ---- */

static bool is_own(const struct sockaddr_storage *address)
{
	struct sockaddr_storage at = *address;
	((struct sockaddr_in *)&at)->sin_port = 0; /* IPv6 has it at the same place */
	int fd = ring_fd_socket(at.ss_family, SOCK_DGRAM, 0);
	bool own = fd >= 0 && !bind(fd, (struct sockaddr *)&at, ring_address_length(&at));
	ring_fd_close(fd);
	return own;
}

/* Less is better; equal ones follow their bytes, as resolvers hand them out in turn. */
static int reluctance(const struct sockaddr_storage *address, bool at_home)
{
	return 4 * !is_own(address) + 2 * (!at_home && ring_address_is_loopback(address)) +
	       (address->ss_family != AF_INET);
}

const struct sockaddr_storage *ring_lookup_own(const struct ring_addresses *found, bool at_home)
{
	const struct sockaddr_storage *best = &found->list[0];
	for (int i = 1; i < found->count; i++) {
		const struct sockaddr_storage *other = &found->list[i];
		int worse = reluctance(other, at_home) - reluctance(best, at_home);
		if (worse < 0 || (worse == 0 && memcmp(other, best, sizeof(*other)) < 0))
			best = other;
	}
	return best;
}

/* ---- which one answers ---- */

struct attempt {
	int fd; /* -1: none goes on */
	uint64_t due_ms, begun_ms;
};

/* returns whether somebody listens */
static bool is_reached(struct attempt *attempt, const struct sockaddr_storage *to)
{
	int cause = 0;
	socklen_t length = sizeof(cause);
	struct pollfd writable = {.fd = attempt->fd, .events = POLLOUT};
	uint64_t now = ring_clock_ms();
	if (attempt->fd < 0 && now >= attempt->due_ms) {
		attempt->begun_ms = now;
		attempt->fd = ring_fd_socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		writable.fd = attempt->fd;
		if (attempt->fd >= 0 &&
		    connect(attempt->fd, (const struct sockaddr *)to, ring_address_length(to)) &&
		    errno != EINPROGRESS)
			cause = errno;
	}
	if (attempt->fd < 0)
		return false;
	bool over = cause || poll(&writable, 1, 0) > 0;
	if (over && !cause && !getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &cause, &length) &&
	    !cause)
		return true;
	if (over || now - attempt->begun_ms >= RING_DIAL_SILENCE_MS) {
		ring_fd_close(attempt->fd);
		*attempt = (struct attempt){.fd = -1, .due_ms = now + RING_REFUSED_MS};
	}
	return false;
}

int ring_lookup_reached(const struct ring_addresses *found, uint64_t deadline_ms,
			struct sockaddr_storage *reached)
{
	struct attempt attempts[RING_ADDRESSES_MAX];
	struct pollfd fds[RING_ADDRESSES_MAX];
	int got = -1;
	for (int i = 0; i < found->count; i++)
		attempts[i] = (struct attempt){
			.fd = -1, .due_ms = ring_clock_ms() + (uint64_t)i * RING_STAGGER_MS};
	while (got < 0 && left_ms(deadline_ms) > 0) {
		for (int i = 0; i < found->count && got < 0; i++) {
			if (is_reached(&attempts[i], &found->list[i]))
				got = i;
			fds[i] = (struct pollfd){.fd = attempts[i].fd, .events = POLLOUT};
		}
		if (got < 0)
			poll(fds, (nfds_t)found->count, RING_REFUSED_LOOK_MS);
	}
	for (int i = 0; i < found->count; i++)
		ring_fd_close(attempts[i].fd);
	if (got >= 0)
		*reached = found->list[got];
	return got >= 0 ? 0 : RING_ETIMEDOUT;
}
