/* SPDX-License-Identifier: MIT */
/*
 * Line-wise forwarding. Only a line longer than the buffer is passed on in parts.
 */
#include "relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t written = write(fd, bytes, count);
		if (written < 0 && errno == EAGAIN)
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (written < 0 && errno != EINTR)
			return errno;
		if (written > 0) {
			bytes += written;
			count -= (size_t)written;
		}
	}
	return 0;
}

/* One line or a part of one, with its tag, in a single write. */
static int write_tagged(struct relay *relay, const char *line, size_t count)
{
	char out[sizeof(relay->tag) + sizeof(relay->buffer)];
	size_t tag_bytes = relay->mid_line ? 0 : strlen(relay->tag);
	memcpy(out, relay->tag, tag_bytes);
	memcpy(out + tag_bytes, line, count);
	relay->mid_line = line[count - 1] != '\n';
	return write_all(relay->to, out, tag_bytes + count);
}

/* Writes the first `count` waiting bytes and keeps the rest. */
static int write_waiting(struct relay *relay, size_t count)
{
	int err = 0;
	if (relay->tag[0] == '\0') {
		err = write_all(relay->to, relay->buffer, count);
	} else {
		for (size_t at = 0; at < count && !err;) {
			const char *line = relay->buffer + at;
			const char *end = memchr(line, '\n', count - at);
			size_t length = end ? (size_t)(end - line) + 1 : count - at;
			err = write_tagged(relay, line, length);
			at += length;
		}
	}
	relay->used -= count;
	memmove(relay->buffer, relay->buffer + count, relay->used);
	return err;
}

void relay_open(struct relay *relay, int from, int to, const char *tag)
{
	*relay = (struct relay){.from = from, .to = to};
	snprintf(relay->tag, sizeof(relay->tag), "%s", tag);
}

int relay_forward(struct relay *relay)
{
	while (relay->from >= 0) {
		ssize_t got = read(relay->from, relay->buffer + relay->used,
				   sizeof(relay->buffer) - relay->used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return 0;
		if (got <= 0) {
			relay_close(relay);
			return 0;
		}
		relay->used += (size_t)got;
		const char *end = memrchr(relay->buffer, '\n', relay->used);
		bool is_full = relay->used == sizeof(relay->buffer);
		size_t ready = end ? (size_t)(end - relay->buffer) + 1 : is_full ? relay->used : 0;
		int err = ready > 0 ? write_waiting(relay, ready) : 0;
		if (err)
			return err;
	}
	return 0;
}

void relay_close(struct relay *relay)
{
	if (relay->from < 0)
		return;
	if (relay->used > 0)
		write_waiting(relay, relay->used);
	if (relay->mid_line)
		write_all(relay->to, "\n", 1);
	close(relay->from);
	relay->from = -1;
}
