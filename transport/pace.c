/* SPDX-License-Identifier: MIT */
/* Reading a pace, and when its wires are free. */
#include "pace.h"

#include <string.h>

#include "base/text/number.h"

/* In bytes per second, and in ns. */
#define BANDWIDTH_MAX 1e12
#define LATENCY_MAX 1e10

struct unit {
	const char *name;
	double factor;
};

/* A number with one of the units, up to `end`. */
static bool read_quantity(const char *text, const char *end, const struct unit *units, double *value)
{
	if (!ring_number_read_decimal(&text, value))
		return false;
	size_t length = (size_t)(end - text);
	while (units->name && (strlen(units->name) != length || memcmp(units->name, text, length)))
		units++;
	*value *= units->factor;
	return units->name;
}

bool ring_pace_read(const char *text, struct ring_pace_speed *speed)
{
	static const struct unit bandwidths[] = {
		{"B/s", 1},
		{"KB/s", 1e3},
		{"MB/s", 1e6},
		{"GB/s", 1e9},
		{"bit/s", 0.125},
		{"Kbit/s", 0.125 * 1e3},
		{"Mbit/s", 0.125 * 1e6},
		{"Gbit/s", 0.125 * 1e9},
		{NULL, 0},
	};
	static const struct unit latencies[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {NULL, 0}};
	const char *comma = strchr(text, ','), *end = text + strlen(text);
	double bandwidth, latency_ns = 0;
	if (!read_quantity(text, comma ? comma : end, bandwidths, &bandwidth) || bandwidth < 1 ||
	    bandwidth > BANDWIDTH_MAX)
		return false;
	if (comma &&
	    (!read_quantity(comma + 1, end, latencies, &latency_ns) || latency_ns > LATENCY_MAX))
		return false;
	*speed = (struct ring_pace_speed){.latency_ns = (uint64_t)(latency_ns + 0.5),
					  .bytes_per_second = bandwidth};
	return true;
}

uint64_t ring_pace_duration(size_t bytes, double bytes_per_second)
{
	return bytes_per_second > 0 ? (uint64_t)((double)bytes * 1e9 / bytes_per_second + 0.5) : 0;
}

uint64_t ring_pace_leave(struct ring_pace *pace, uint64_t now_ns, size_t bytes)
{
	const uint64_t takes_ns = ring_pace_duration(bytes, pace->speed.bytes_per_second);
	uint64_t free_ns = ring_counter_read(&pace->out_free_ns), end_ns;
	do
		end_ns = (now_ns > free_ns ? now_ns : free_ns) + takes_ns;
	while (!ring_counter_move(&pace->out_free_ns, &free_ns, end_ns));
	return end_ns;
}

void ring_pace_take_back(struct ring_pace *pace, uint64_t taken_ns, size_t bytes)
{
	const uint64_t began_ns = taken_ns - ring_pace_duration(bytes, pace->speed.bytes_per_second);
	uint64_t free_ns = taken_ns;
	bool done = false;
	while (!done && free_ns == taken_ns)
		done = ring_counter_move(&pace->out_free_ns, &free_ns, began_ns);
}

uint64_t ring_pace_enter(struct ring_pace *pace, uint64_t last_ns, size_t bytes)
{
	const uint64_t takes_ns = ring_pace_duration(bytes, pace->speed.bytes_per_second);
	uint64_t free_ns = ring_counter_read(&pace->in_free_ns), end_ns;
	do
		end_ns = last_ns > free_ns + takes_ns ? last_ns : free_ns + takes_ns;
	while (!ring_counter_move(&pace->in_free_ns, &free_ns, end_ns));
	return end_ns;
}
