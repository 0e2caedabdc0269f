/* SPDX-License-Identifier: MIT */
/*
 * Values as little-endian bytes. One function per structure names its fields once and serves both
 * directions, so that writer and reader cannot disagree. Mistakes are remembered, not reported one
 * by one: `ok` turns false when room or bytes run out, or a value is impossible.
 */
#ifndef RING_WIRE_H
#define RING_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct ring_wire {
	const unsigned char *in; /* NULL while writing */
	unsigned char *out;      /* NULL while reading */
	size_t at, end;
	bool ok;
};

struct ring_wire ring_wire_writer(void *bytes, size_t room);
struct ring_wire ring_wire_reader(const void *bytes, size_t have);

void ring_wire_u32(struct ring_wire *wire, uint32_t *value);
void ring_wire_u64(struct ring_wire *wire, uint64_t *value);
void ring_wire_int(struct ring_wire *wire, int *value);
void ring_wire_bool(struct ring_wire *wire, bool *value);
void ring_wire_bytes(struct ring_wire *wire, void *bytes, size_t count);

/* What is read fits text[room], ends with NUL and may be shown: ring_text_clean(). */
void ring_wire_text(struct ring_wire *wire, char *text, size_t room);

/* An internet address with its port, a Unix one without file, or none (family 0). */
void ring_wire_address(struct ring_wire *wire, struct sockaddr_storage *address);

/* Reading: `value` must lie within. A writer's own values are trusted. */
void ring_wire_expect(struct ring_wire *wire, int value, int low, int high);

/* True if all went well and, reading, no byte is left over. */
bool ring_wire_done(const struct ring_wire *wire);

#endif
