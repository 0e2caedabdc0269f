/* SPDX-License-Identifier: MIT */
/* The table of transports, best first, and the choice among them. */
#include "transport.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork_lock.h"
#include "base/log.h"
#include "base/waits.h"

#ifndef HAVE_VERBS
/* Keeps the row's place: indices are the same everywhere. */
static bool never_reaches(const struct ring_peer *from, const struct ring_peer *to)
{
	(void)from;
	(void)to;
	return false;
}

static bool never_present(char why[RING_ABSENT_TEXT])
{
	snprintf(why, RING_ABSENT_TEXT, "this library was built without verbs");
	return false;
}

const struct ring_transport ring_transport_verbs = {
	.name = "verbs",
	.kind = RING_REACH_WIRE,
	.reaches = never_reaches,
	.present = never_present,
	.settings = ring_verbs_settings,
};
#endif

const struct ring_transport *const ring_transports[] = {
	&ring_transport_loopback,
	&ring_transport_shm,
	&ring_transport_verbs,
	&ring_transport_tcp,
};

const int ring_transport_count = sizeof(ring_transports) / sizeof(ring_transports[0]);

/* Takes the next name off a comma-separated list; NULL at its end. */
static const char *next_name(const char **list, size_t *length)
{
	const char *name = *list;
	if (!name)
		return NULL;
	*length = strcspn(name, ",");
	*list = name[*length] ? name + *length + 1 : NULL;
	return name;
}

static bool is_named(const char *list, const char *transport)
{
	const char *name;
	size_t length;
	while ((name = next_name(&list, &length)))
		if (strlen(transport) == length && memcmp(name, transport, length) == 0)
			return true;
	return false;
}

static bool is_allowed(const char *allowed, const struct ring_transport *transport)
{
	return !allowed || !*allowed || is_named(allowed, transport->name);
}

/* ---- what was found out ---- */

RING_FORK_LOCK(lock)

static struct {
	uint32_t transports;
	uint64_t since_ms;
} shunned;

void ring_transports_shun(uint32_t transports, uint64_t now_ms)
{
	if (!transports)
		return;
	pthread_mutex_lock(&lock);
	if (now_ms >= shunned.since_ms + RING_SHUN_MS)
		shunned.transports = 0;
	shunned.transports |= transports;
	shunned.since_ms = now_ms;
	pthread_mutex_unlock(&lock);
}

uint32_t ring_transports_shunned(uint64_t now_ms)
{
	pthread_mutex_lock(&lock);
	bool still = now_ms < shunned.since_ms + RING_SHUN_MS;
	uint32_t transports = still ? shunned.transports : 0;
	pthread_mutex_unlock(&lock);
	return transports;
}

static bool is_present(int index, const char *allowed, char why[RING_ABSENT_TEXT])
{
	const struct ring_transport *transport = ring_transports[index];
	if (!transport->present)
		return true;
	if (!transport->present(why))
		return false;
	if (!is_allowed(allowed, &ring_transport_tcp) ||
	    !(ring_transports_shunned(ring_clock_ms()) >> index & 1))
		return true;
	snprintf(why, RING_ABSENT_TEXT,
		 "a link over it failed to or from this host; it is tried again %d minutes later",
		 RING_SHUN_MS / 60000);
	return false;
}

uint32_t ring_transports_present(const char *allowed, char why[RING_ABSENT_TEXT])
{
	uint32_t present = 0;
	why[0] = '\0';
	for (int i = 0; i < ring_transport_count; i++) {
		const struct ring_transport *transport = ring_transports[i];
		char absent[RING_ABSENT_TEXT];
		if (!is_allowed(allowed, transport))
			continue;
		if (is_present(i, allowed, absent)) {
			present |= UINT32_C(1) << i;
			continue;
		}
		ring_log(RING_INFO, "%s is not used: %s", transport->name, absent);
		memcpy(why, absent, sizeof(absent));
	}
	if (present)
		why[0] = '\0';
	return present;
}

int ring_transport_choose(const struct ring_peer *from, const struct ring_peer *to,
			  const char *allowed, uint32_t masked)
{
	for (int i = 0; i < ring_transport_count; i++) {
		const struct ring_transport *transport = ring_transports[i];
		const uint32_t bit = UINT32_C(1) << i;
		if (masked & bit || !is_allowed(allowed, transport))
			continue;
		if (transport->present && !(from->transports & to->transports & bit))
			continue;
		if (transport->reaches(from, to))
			return i;
	}
	return -1;
}

bool ring_transport_names_valid(const char *names, char unknown[32])
{
	const char *name;
	size_t length;
	if (names && !*names)
		return true;
	while ((name = next_name(&names, &length))) {
		char text[32];
		size_t kept = length < sizeof(text) - 1 ? length : sizeof(text) - 1;
		memcpy(text, name, kept);
		text[kept] = '\0';
		bool known = false;
		for (int i = 0; i < ring_transport_count; i++)
			known |= strlen(ring_transports[i]->name) == length &&
				 strcmp(ring_transports[i]->name, text) == 0;
		if (!known) {
			memcpy(unknown, text, sizeof(text));
			return false;
		}
	}
	return true;
}
