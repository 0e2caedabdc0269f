/* SPDX-License-Identifier: MIT */
/*
 * Connecting and greeting with retries; see dial.h. Three failures may pass: nobody listens yet
 * (worth waiting for if the caller is patient), the listener says to come again or has no room
 * (always worth it), or it ends the connection (worth a few more attempts, or all there is time for
 * if the caller is early).
 */
#include "dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/waits.h"
#include "interface.h"

#define REFUSALS_MAX 9 /* they take 0.8 s: an unreachable peer is known within a second */

static bool is_local(const struct ring_dial *dial)
{
	return dial->to.ss_family == AF_UNIX;
}

void ring_dial_tcp(struct ring_dial *dial, const struct sockaddr_storage *to,
		   const struct sockaddr_storage *from)
{
	*dial = (struct ring_dial){.fd = -1, .to = *to};
	if (is_local(dial))
		return;
	if (!from || from->ss_family != to->ss_family || ring_address_is_loopback(from) ||
	    ring_address_is_loopback(to))
		return;
	dial->from = *from;
	((struct sockaddr_in *)&dial->from)->sin_port = 0; /* IPv6 has it at the same place */
}

void ring_dial_local(struct ring_dial *dial, const char *name)
{
	*dial = (struct ring_dial){.fd = -1};
	ring_address_set_local(&dial->to, name);
}

static socklen_t target_length(const struct ring_dial *dial)
{
	if (is_local(dial))
		return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				   strlen(ring_address_local(&dial->to)));
	return ring_address_length(&dial->to);
}

void ring_dial_stop(struct ring_dial *dial)
{
	ring_fd_close(dial->fd);
	dial->fd = -1;
	dial->connected = false;
}

/* The attempt came to nothing; another is due after a pause. */
static int try_later(struct ring_dial *dial)
{
	ring_dial_stop(dial);
	dial->pause_ms = dial->pause_ms ? dial->pause_ms * 2 : RING_DIAL_FIRST_MS;
	if (dial->pause_ms > RING_DIAL_LAST_MS)
		dial->pause_ms = RING_DIAL_LAST_MS;
	dial->retry_ms = ring_clock_ms() + (uint64_t)dial->pause_ms;
	return RING_EAGAIN;
}

/* An attempt that began in time may have been too early. */
static bool may_be_outage(const struct ring_dial *dial, int cause)
{
	return dial->lost_ms > 0 && ring_outage_is_cause(cause) &&
	       dial->begun_ms - dial->silent_ms < (uint64_t)dial->lost_ms;
}

static int connecting_failed(struct ring_dial *dial, int cause)
{
	bool full = cause == EAGAIN; /* the queue of those that wait to be let in */
	bool passing = cause == EADDRNOTAVAIL || cause == EINTR;
	dial->cause = cause;
	snprintf(dial->trouble, sizeof(dial->trouble), "connect: %s", strerror(cause));
	if (dial->patient || full || may_be_outage(dial, cause) ||
	    (passing && ++dial->refusals < REFUSALS_MAX))
		return try_later(dial);
	ring_dial_stop(dial);
	return RING_EPEER;
}

/* Waiting for descriptors does not help: this process has to close some, or be allowed more. */
static int starved(struct ring_dial *dial, int cause)
{
	char words[RING_FD_WORDS];
	dial->cause = cause;
	snprintf(dial->trouble, sizeof(dial->trouble), "socket: %s", ring_fd_words(cause, words));
	return RING_ESYSTEM;
}

static int start_connecting(struct ring_dial *dial)
{
	int yes = 1;
	dial->begun_ms = ring_clock_ms();
	if (!dial->silent_ms)
		dial->silent_ms = dial->begun_ms;
	dial->fd = ring_fd_socket(dial->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (dial->fd < 0)
		return ring_fd_ran_out(errno) ? starved(dial, errno)
					      : connecting_failed(dial, errno);
	if (!is_local(dial))
		setsockopt(dial->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (!is_local(dial) && dial->lost_ms > 0)
		ring_outage_bear(dial->fd, dial->lost_ms);
	if (dial->from.ss_family) {
		setsockopt(dial->fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
		if (bind(dial->fd, (struct sockaddr *)&dial->from, ring_address_length(&dial->from)))
			return connecting_failed(dial, errno);
	}
	if (connect(dial->fd, (struct sockaddr *)&dial->to, target_length(dial)) &&
	    errno != EINPROGRESS)
		return connecting_failed(dial, errno);
	dial->events = POLLOUT;
	return 0;
}

bool ring_local_is_own_user(int fd)
{
	struct ucred other;
	socklen_t length = sizeof(other);
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) && other.uid == geteuid();
}

static bool is_silent(const struct ring_dial *dial)
{
	return dial->lost_ms > 0 && ring_clock_ms() - dial->begun_ms >= RING_DIAL_SILENCE_MS;
}

static int finish_connecting(struct ring_dial *dial)
{
	struct pollfd writable = {.fd = dial->fd, .events = POLLOUT};
	if (poll(&writable, 1, 0) <= 0)
		return is_silent(dial) ? connecting_failed(dial, ETIMEDOUT) : RING_EAGAIN;
	int cause = 0;
	socklen_t length = sizeof(cause);
	if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &cause, &length) || cause)
		return connecting_failed(dial, cause ? cause : errno);
	if (is_local(dial) && !ring_local_is_own_user(dial->fd)) {
		snprintf(dial->trouble, sizeof(dial->trouble), "another user took its name");
		ring_dial_stop(dial);
		return RING_EPEER;
	}
	ring_greeting_connecting(&dial->greeting, dial->fd, &dial->hello, dial->secret);
	dial->connected = true;
	dial->silent_ms = 0;
	dial->outage = (struct ring_outage){0};
	return 0;
}

/* Checks now and then whether what was sent is acknowledged. */
static bool is_lost(struct ring_dial *dial)
{
	uint64_t now = ring_clock_ms();
	struct ring_sight sight;
	return dial->lost_ms > 0 && now - dial->outage.looked_ms >= RING_OUTAGE_LOOK_MS &&
	       ring_outage_look(dial->fd, &sight) &&
	       ring_outage_judge(&dial->outage, &sight, dial->lost_ms, now);
}

static int greet(struct ring_dial *dial)
{
	struct ring_failure refused = {0};
	int err = ring_greeting_step(&dial->greeting, &dial->events, &refused);
	if (err == RING_EAGAIN && is_lost(dial)) {
		ring_dial_stop(dial);
		dial->cause = ETIMEDOUT;
		return RING_EPEER;
	}
	if (err != RING_EPEER)
		return err;
	dial->cause = 0;
	snprintf(dial->trouble, sizeof(dial->trouble), "%.*s", (int)sizeof(dial->trouble) - 1,
		 refused.text);
	enum ring_stranger stranger = dial->greeting.stranger;
	bool passing = stranger == RING_STRANGER_AGAIN ||
		       (dial->early && stranger == RING_STRANGER_LEFT);
	if (passing || ++dial->refusals < REFUSALS_MAX)
		return try_later(dial);
	ring_dial_stop(dial);
	return RING_EPEER;
}

int ring_dial_step(struct ring_dial *dial, int *fd)
{
	int err = 0;
	if (dial->fd < 0 && ring_clock_ms() < dial->retry_ms)
		return RING_EAGAIN;
	if (dial->fd < 0)
		err = start_connecting(dial);
	if (!err && !dial->connected)
		err = finish_connecting(dial);
	if (!err)
		err = greet(dial);
	if (err)
		return err;
	*fd = dial->fd;
	dial->fd = -1;
	dial->connected = false;
	return 0;
}

int ring_dial_poll(const struct ring_dial *dial, struct pollfd *pollfd)
{
	*pollfd = (struct pollfd){.fd = dial->fd, .events = dial->events};
	if (dial->fd >= 0)
		return RING_DIAL_LAST_MS;
	uint64_t now = ring_clock_ms();
	return now < dial->retry_ms ? (int)(dial->retry_ms - now) : 0;
}
