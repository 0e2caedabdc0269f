/* SPDX-License-Identifier: MIT */
/* Values as little-endian bytes, in both directions; see wire.h. Nothing here knows a message. */
#include "wire.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "base/text/text.h"

enum { NO_ADDRESS = 0, ADDRESS_LOCAL = 1, ADDRESS_4 = 4, ADDRESS_6 = 6 };

#define LOCAL_NAME 32

struct ring_wire ring_wire_writer(void *bytes, size_t room)
{
	return (struct ring_wire){.out = bytes, .end = room, .ok = true};
}

struct ring_wire ring_wire_reader(const void *bytes, size_t have)
{
	return (struct ring_wire){.in = bytes, .end = have, .ok = true};
}

void ring_wire_bytes(struct ring_wire *wire, void *bytes, size_t count)
{
	if (!wire->ok || count > wire->end - wire->at) {
		wire->ok = false;
		return;
	}
	if (wire->out && count)
		memcpy(wire->out + wire->at, bytes, count);
	else if (count)
		memcpy(bytes, wire->in + wire->at, count);
	wire->at += count;
}

static void integer(struct ring_wire *wire, uint64_t *value, size_t width)
{
	unsigned char bytes[8];
	for (size_t i = 0; i < width; i++)
		bytes[i] = (unsigned char)(*value >> (8 * i));
	ring_wire_bytes(wire, bytes, width);
	if (!wire->ok || wire->out)
		return;
	*value = 0;
	for (size_t i = 0; i < width; i++)
		*value |= (uint64_t)bytes[i] << (8 * i);
}

void ring_wire_u32(struct ring_wire *wire, uint32_t *value)
{
	uint64_t wide = *value;
	integer(wire, &wide, 4);
	*value = (uint32_t)wide;
}

void ring_wire_u64(struct ring_wire *wire, uint64_t *value)
{
	integer(wire, value, 8);
}

void ring_wire_int(struct ring_wire *wire, int *value)
{
	uint32_t bits = (uint32_t)*value;
	ring_wire_u32(wire, &bits);
	*value = (int32_t)bits;
}

void ring_wire_bool(struct ring_wire *wire, bool *value)
{
	int number = wire->out ? *value : 0;
	ring_wire_int(wire, &number);
	ring_wire_expect(wire, number, 0, 1);
	*value = number != 0;
}

void ring_wire_text(struct ring_wire *wire, char *text, size_t room)
{
	uint32_t length = wire->out ? (uint32_t)strnlen(text, room - 1) : 0;
	ring_wire_u32(wire, &length);
	if (length >= room)
		wire->ok = false;
	if (!wire->ok)
		return;
	ring_wire_bytes(wire, text, length);
	if (!wire->ok || wire->out)
		return;
	for (uint32_t i = 0; i < length; i++)
		if (text[i] == '\0') /* the rest would be out of sight */
			text[i] = ' ';
	text[length] = '\0';
	ring_text_clean(text);
}

void ring_wire_address(struct ring_wire *wire, struct sockaddr_storage *address)
{
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	struct sockaddr_un *local = (struct sockaddr_un *)address;
	uint32_t kind = NO_ADDRESS;
	if (wire->out && address->ss_family == AF_INET)
		kind = ADDRESS_4;
	else if (wire->out && address->ss_family == AF_INET6)
		kind = ADDRESS_6;
	else if (wire->out && address->ss_family == AF_UNIX)
		kind = ADDRESS_LOCAL;
	else
		memset(address, 0, sizeof(*address));
	ring_wire_u32(wire, &kind);
	if (kind == ADDRESS_4) {
		four->sin_family = AF_INET;
		ring_wire_bytes(wire, &four->sin_port, sizeof(four->sin_port)); /* network order */
		ring_wire_bytes(wire, &four->sin_addr, sizeof(four->sin_addr));
	} else if (kind == ADDRESS_6) {
		six->sin6_family = AF_INET6; /* a scope means nothing on another host */
		ring_wire_bytes(wire, &six->sin6_port, sizeof(six->sin6_port));
		ring_wire_bytes(wire, &six->sin6_addr, sizeof(six->sin6_addr));
	} else if (kind == ADDRESS_LOCAL) {
		local->sun_family = AF_UNIX; /* the name begins behind a NUL */
		ring_wire_text(wire, local->sun_path + 1, LOCAL_NAME);
	} else if (kind != NO_ADDRESS) {
		wire->ok = false;
	}
}

void ring_wire_expect(struct ring_wire *wire, int value, int low, int high)
{
	if (wire->in && (value < low || value > high))
		wire->ok = false;
}

bool ring_wire_done(const struct ring_wire *wire)
{
	return wire->ok && (wire->out || wire->at == wire->end);
}
