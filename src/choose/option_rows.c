/* SPDX-License-Identifier: MIT */
#include "option_rows.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "transport/pace.h"
#include "transport/transport.h"
#include "question.h"

bool ring_option_ports(const char *text, int *first, int *last)
{
	char rest;
	return sscanf(text, "%5d-%5d%c", first, last, &rest) == 2 && 1 <= *first &&
	       *first <= *last && *last <= 65535;
}

static bool ports_are_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	int first, last;
	snprintf(allowed, RING_ALLOWED_TEXT, "lo-hi, where 1 <= lo <= hi <= 65535");
	return ring_option_ports(text, &first, &last);
}

static bool transports_are_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	char unknown[32];
	int length = snprintf(allowed, RING_ALLOWED_TEXT, "a comma-separated list of");
	for (int i = 0; i < ring_transport_count && length < RING_ALLOWED_TEXT; i++)
		length += snprintf(allowed + length, (size_t)(RING_ALLOWED_TEXT - length), " %s",
				   ring_transports[i]->name);
	return ring_transport_names_valid(text, unknown);
}

static bool link_is_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	struct ring_pace_speed speed;
	snprintf(allowed, RING_ALLOWED_TEXT,
		 "a bandwidth from 1B/s to 1000GB/s and perhaps a latency up to 10000ms, "
		 "like \"1GB/s,20us\" or \"2.5Gbit/s\"");
	return ring_pace_read(text, &speed);
}

static bool algorithm_is_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	int length = snprintf(allowed, RING_ALLOWED_TEXT, "one of");
	for (int i = 0; i < RING_ALGORITHMS && length < RING_ALLOWED_TEXT; i++)
		if (ring_algorithm_is_choice((enum ring_algorithm)i))
			length += snprintf(allowed + length, (size_t)(RING_ALLOWED_TEXT - length),
					   " %s", ring_algorithm_name((enum ring_algorithm)i));
	return ring_algorithm_find(text) >= 0;
}

static bool order_is_valid(const char *text, char allowed[RING_ALLOWED_TEXT])
{
	snprintf(allowed, RING_ALLOWED_TEXT, "rank");
	return strcmp(text, "rank") == 0;
}

#define ROOM(name) (sizeof(((struct ring_config *)0)->name) - 1)
#define ROW(kind, variable, name, agreement, ...)                                                  \
	{                                                                                          \
		{kind, variable, offsetof(struct ring_options, name), __VA_ARGS__}, #name,         \
			offsetof(struct ring_config, name), agreement                              \
	}
#define TEXT(variable, name, agreement, valid)                                                     \
	ROW(RING_SETTING_TEXT, variable, name, agreement, 0, ROOM(name), 0, valid)
#define NUMBER(variable, name, agreement, least, most, fallback)                                   \
	ROW(RING_SETTING_NUMBER, variable, name, agreement, least, most, fallback, NULL)
#define BYTES(variable, name, agreement, least, most, fallback)                                    \
	ROW(RING_SETTING_BYTES, variable, name, agreement, least, most, fallback, NULL)

/* Ranks tell the root those that must agree, in this order: a change raises RING_WIRE_VERSION. */
const struct ring_option_row ring_option_rows[] = {
	TEXT("RING_TRANSPORT", transport, RING_ALIKE, transports_are_valid),
	TEXT("RING_LINK", link, RING_ALIKE, link_is_valid),
	TEXT("RING_ALGORITHM", algorithm, RING_ALIKE, algorithm_is_valid),
	TEXT("RING_ORDER", order, RING_ALIKE, order_is_valid),
	TEXT("RING_TUNING", tuning, RING_ALIKE_INSIDE, NULL),
	BYTES("RING_CHUNK_BYTES", chunk_bytes, RING_ALIKE, 8, 1 << 30, 0),
	NUMBER("RING_DEPTH", depth, RING_ALIKE, 1, RING_DEPTH_MAX, 0),
	NUMBER("RING_CHUNKS_PER_ROUND", chunks_per_round, RING_ALIKE, 1, 64, 0),
	NUMBER("RING_CHANNELS", channels, RING_ALIKE, 1, 8, 0),

	TEXT("RING_INTERFACE", interface, RING_OWN, NULL),
	TEXT("RING_PORT_RANGE", port_range, RING_OWN, ports_are_valid),
	TEXT("RING_HOST", host, RING_OWN, NULL),
	TEXT("RING_CONGESTION", congestion, RING_OWN, NULL),
	TEXT("RING_TRACE", trace, RING_OWN, NULL),
	NUMBER("RING_CREATE_TIMEOUT_MS", create_timeout_ms, RING_OWN, 1, INT_MAX, 60000),
	NUMBER("RING_CALL_TIMEOUT_MS", call_timeout_ms, RING_OWN, 0, INT_MAX, 600000),
	NUMBER("RING_PEER_LOST_MS", peer_lost_ms, RING_OWN, 1, INT_MAX, 5000),
	NUMBER("RING_SPINS", spins, RING_OWN, 0, INT_MAX, -1),
	NUMBER("RING_YIELDS", yields, RING_OWN, 0, INT_MAX, -1),
	TEXT("RING_DEVICE", device, RING_OWN, NULL),
	NUMBER("RING_TELL_AFTER_MS", tell_after_ms, RING_OWN, 0, INT_MAX, 10000),
};

const int ring_option_row_count = (int)(sizeof(ring_option_rows) / sizeof(ring_option_rows[0]));
