/* SPDX-License-Identifier: MIT */
/*
 * Forwards lines. Only a line longer than the buffer is passed on in parts.
 */
#include "relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void relay_open(struct relay *relay, int from, struct outlet *to, const char *tag)
{
	*relay = (struct relay){.from = from, .to = to};
	snprintf(relay->tag, sizeof(relay->tag), "%s", tag);
}

int relay_source(const struct relay *relay)
{
	return relay->stalled ? -1 : relay->from;
}

/* Reads more, after the bytes that are waiting. */
static void receive(struct relay *relay)
{
	memmove(relay->buffer, relay->buffer + relay->begin, relay->used);
	relay->begin = 0;
	ssize_t got = read(relay->from, relay->buffer + relay->used,
			   sizeof(relay->buffer) - relay->used);
	if (got > 0)
		relay->used += (size_t)got;
	else if (got == 0 || errno == EAGAIN)
		relay->ended = got == 0 || relay->finishing;
	else
		relay->ended = errno != EINTR;
}

/* How many bytes to pass on next: a line, or without tags all whole lines; 0: no line has ended. */
static size_t next_bytes(const struct relay *relay)
{
	const char *start = relay->buffer + relay->begin;
	const char *end = relay->tag[0] ? memchr(start, '\n', relay->used)
					: memrchr(start, '\n', relay->used);
	if (end)
		return (size_t)(end - start) + 1;
	return relay->ended || relay->used == sizeof(relay->buffer) ? relay->used : 0;
}

static int put_tagged(struct relay *relay, size_t count)
{
	char out[sizeof(relay->tag) + sizeof(relay->buffer)];
	size_t tag_bytes = relay->mid_line ? 0 : strlen(relay->tag);
	memcpy(out, relay->tag, tag_bytes);
	memcpy(out + tag_bytes, relay->buffer + relay->begin, count);
	return outlet_put(relay->to, out, tag_bytes + count);
}

/* returns as outlet_put */
static int pass_on(struct relay *relay)
{
	for (size_t count = next_bytes(relay); count > 0; count = next_bytes(relay)) {
		int err = put_tagged(relay, count);
		if (err)
			return err;
		relay->begin += count;
		relay->used -= count;
		relay->mid_line = relay->buffer[relay->begin - 1] != '\n';
	}
	if (!relay->ended || !relay->mid_line)
		return 0;
	int err = outlet_put(relay->to, "\n", 1);
	relay->mid_line = err != 0;
	return err;
}

void relay_forward(struct relay *relay)
{
	if (relay->from < 0)
		return;
	if (!relay->stalled && !relay->ended)
		receive(relay);
	int err = pass_on(relay);
	relay->stalled = err == EAGAIN;
	if (!relay->stalled && (err || relay->ended))
		relay_close(relay);
}

void relay_close(struct relay *relay)
{
	if (relay->from >= 0)
		close(relay->from);
	relay->from = -1;
	relay->used = 0;
}
