/* SPDX-License-Identifier: MIT */
/*
 * The root of a meeting against ranks that do anything at any time. The input is a script of single
 * bytes: who comes, says what, leaves, and which deadline passes. In the end nothing may be left.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_watcher.h"
#include "meet/root.h"

#define MEMBERS 12

static int members[MEMBERS]; /* the ranks' ends */

struct script {
	const uint8_t *bytes;
	size_t left;
};

static unsigned next(struct script *script)
{
	if (!script->left)
		return 0;
	script->left--;
	return *script->bytes++;
}

static void arrive(int place, int rank)
{
	int pair[2];
	struct ring_hello hello = {.role = RING_ROLE_JOIN, .from = rank, .to = RING_RANK_ROOT};
	if (members[place] >= 0 || !fake.port)
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	members[place] = pair[0];
	fake.port->arrived(fake.port, &hello, pair[1]);
}

static void leave(int place)
{
	if (members[place] >= 0)
		close(members[place]);
	members[place] = -1;
}

static void say(int place, uint32_t kind, const void *body, size_t bytes)
{
	unsigned char letter[8 + RING_LETTER_BYTES];
	uint32_t length = (uint32_t)bytes;
	struct ring_wire wire = ring_wire_writer(letter, sizeof(letter));
	ring_wire_u32(&wire, &kind);
	ring_wire_u32(&wire, &length);
	ring_wire_bytes(&wire, (void *)body, bytes);
	if (members[place] >= 0)
		(void)!send(members[place], letter, wire.at, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void describe(int place, struct script *script)
{
	struct ring_description description = {
		.size = (int)next(script) % 5,
		.create_timeout_ms = 1000,
		.peer = {.rank = (int)next(script) % 6, .pid = place, .host = "h"},
		.schedule = {.depth = next(script) > 250},
	};
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_description(&wire, &description);
	say(place, RING_LETTER_DESCRIBE, body, wire.at);
}

static void report(int place, struct script *script)
{
	struct ring_readiness readiness = {.attempt = next(script) % 4, .failed = next(script) % 8};
	unsigned char body[RING_LETTER_BYTES];
	struct ring_wire wire = ring_wire_writer(body, sizeof(body));
	ring_wire_readiness(&wire, &readiness);
	say(place, RING_LETTER_READY, body, wire.at);
}

static void babble(int place, struct script *script)
{
	uint32_t kind = next(script) % 8;
	size_t bytes = next(script);
	if (bytes > script->left)
		bytes = script->left;
	say(place, kind, script->bytes, bytes);
	script->bytes += bytes;
	script->left -= bytes;
}

static void play(struct script *script)
{
	unsigned what = next(script);
	int place = (int)(what / 8) % MEMBERS;
	switch (what % 8) {
	case 0:
	case 1:
		arrive(place, (int)next(script) % 6);
		break;
	case 2:
	case 3:
		describe(place, script);
		break;
	case 4:
	case 5:
		report(place, script);
		break;
	case 6:
		babble(place, script);
		break;
	default:
		if (next(script) % 2)
			leave(place);
		else
			fake_ring_alarm(place % FAKE_ALARMS);
	}
	fake_dispatch();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script script = {data, size};
	struct ring_identity identity = {.job = 1, .root = {.ss_family = AF_INET}};
	memset(&fake, 0, sizeof(fake));
	memset(members, -1, sizeof(members));
	if (ring_root_start(NULL, &identity, 0))
		abort();
	while (script.left)
		play(&script);

	/* A death ends any meeting, and the last alarm frees it. */
	leave(0);
	fake_dispatch();
	arrive(0, 0);
	for (int i = 0; i < MEMBERS; i++)
		leave(i);
	fake_dispatch();
	for (int i = 0; i < FAKE_ALARMS; i++)
		fake_ring_alarm(i);
	if (fake.drops != 1 || fake.port)
		abort();
	return 0;
}
