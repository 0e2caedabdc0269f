/* SPDX-License-Identifier: MIT */
/* The letters of the meeting, field by field; see describe.h. */
#include "describe.h"

#include <limits.h>
#include <string.h>

#include "choose/agreement.h"

#define MAGIC "ringid"
#define MAGIC_BYTES 6

/* The most that the root may make of the options; memory is sized by it. */
#define CHUNK_BYTES_MAX (1 << 30)
#define CHUNKS_PER_ROUND_MAX 65536
#define CHANNELS_MAX 8

/* A fixed value that both ends write alike. */
static void wire_constant(struct ring_wire *wire, uint32_t constant)
{
	uint32_t value = constant;
	ring_wire_u32(wire, &value);
	if (value != constant)
		wire->ok = false;
}

void ring_wire_identity(struct ring_wire *wire, struct ring_identity *identity)
{
	char magic[MAGIC_BYTES + 1] = MAGIC;
	ring_wire_text(wire, magic, sizeof(magic));
	if (strcmp(magic, MAGIC) != 0)
		wire->ok = false;
	wire_constant(wire, RING_WIRE_VERSION);
	ring_wire_u64(wire, &identity->job);
	ring_wire_bytes(wire, identity->secret, sizeof(identity->secret));
	ring_wire_address(wire, &identity->root);
	ring_wire_bool(wire, &identity->derived);
	ring_wire_bool(wire, &identity->follows);
	if (identity->root.ss_family == AF_UNSPEC)
		wire->ok = false;
}

/* Who it is, where, and how it is reached. */
static void wire_whereabouts(struct ring_wire *wire, struct ring_peer *peer)
{
	ring_wire_int(wire, &peer->rank);
	ring_wire_expect(wire, peer->rank, 0, RING_SIZE_MAX - 1);
	ring_wire_int(wire, &peer->pid);
	ring_wire_u32(wire, &peer->uid);
	ring_wire_u64(wire, &peer->process);
	ring_wire_bytes(wire, peer->boot_id, sizeof(peer->boot_id));
	ring_wire_bool(wire, &peer->unshared);
	ring_wire_u64(wire, &peer->netns);
	ring_wire_text(wire, peer->host, sizeof(peer->host));
	ring_wire_address(wire, &peer->tcp);
	ring_wire_text(wire, peer->local, sizeof(peer->local));
	ring_wire_int(wire, &peer->numa);
	ring_wire_int(wire, &peer->core);
	ring_wire_u32(wire, &peer->transports);
}

static void wire_peer(struct ring_wire *wire, struct ring_peer *peer)
{
	wire_whereabouts(wire, peer);
	for (int i = 0; i < RING_CPU_WORDS; i++)
		ring_wire_u64(wire, &peer->cpus[i]);
	ring_wire_int(wire, &peer->cpu_quota);
	ring_wire_expect(wire, peer->cpu_quota, 0, INT_MAX);
}

void ring_wire_card(struct ring_wire *wire, struct ring_peer *peer)
{
	unsigned char padding[RING_CARD_BYTES] = {0};
	size_t begin = wire->at;
	wire_whereabouts(wire, peer);
	if (wire->at - begin > RING_CARD_BYTES)
		wire->ok = false;
	else
		ring_wire_bytes(wire, padding, RING_CARD_BYTES - (wire->at - begin));
}

void ring_wire_description(struct ring_wire *wire, struct ring_description *description)
{
	wire_constant(wire, RING_WIRE_VERSION);
	ring_wire_int(wire, &description->size);
	ring_wire_expect(wire, description->size, 1, RING_SIZE_MAX);
	ring_wire_int(wire, &description->create_timeout_ms);
	ring_wire_expect(wire, description->create_timeout_ms, 0, INT_MAX);
	wire_peer(wire, &description->peer);
	if (wire->in && description->peer.rank >= description->size)
		wire->ok = false;
	ring_config_wire(wire, &description->schedule);
}

void ring_wire_readiness(struct ring_wire *wire, struct ring_readiness *readiness)
{
	ring_wire_u32(wire, &readiness->attempt);
	ring_wire_u32(wire, &readiness->failed);
	ring_wire_int(wire, &readiness->peer);
	ring_wire_expect(wire, readiness->peer, 0, RING_SIZE_MAX - 1);
	ring_wire_text(wire, readiness->why, sizeof(readiness->why));
}

static void wire_tuning(struct ring_wire *wire, struct ring_tuning *tuning)
{
	ring_wire_u64(wire, &tuning->chunk_bytes);
	if (tuning->chunk_bytes < 1 || tuning->chunk_bytes > CHUNK_BYTES_MAX)
		wire->ok = false;
	ring_wire_int(wire, &tuning->depth);
	ring_wire_expect(wire, tuning->depth, 1, RING_DEPTH_MAX);
	ring_wire_int(wire, &tuning->chunks_per_round);
	ring_wire_expect(wire, tuning->chunks_per_round, 1, CHUNKS_PER_ROUND_MAX);
	ring_wire_int(wire, &tuning->channels);
	ring_wire_expect(wire, tuning->channels, 1, CHANNELS_MAX);
	ring_wire_int(wire, &tuning->algorithm);
	ring_wire_expect(wire, tuning->algorithm, -1, RING_ALGORITHMS - 1);
	ring_wire_int(wire, &tuning->turns);
	ring_wire_expect(wire, tuning->turns, 0, RING_SIZE_MAX * RING_TURNS_NONE);
}

static void wire_path(struct ring_wire *wire, enum ring_path *path)
{
	int value = (int)*path;
	ring_wire_int(wire, &value);
	ring_wire_expect(wire, value, 0, RING_PATHS - 1);
	*path = (enum ring_path)value;
}

void ring_wire_placement(struct ring_wire *wire, struct ring_placement *placement)
{
	int expected = placement->size;
	int alone = expected == 1;
	ring_wire_int(wire, &placement->size);
	ring_wire_expect(wire, placement->size, expected, expected);
	placement->size = expected;
	ring_wire_u32(wire, &placement->attempt);
	ring_wire_int(wire, &placement->position);
	ring_wire_expect(wire, placement->position, 0, expected - 1);
	ring_wire_int(wire, &placement->next_transport);
	ring_wire_int(wire, &placement->prev_transport);
	ring_wire_expect(wire, placement->next_transport, -alone, ring_transport_count - 1);
	ring_wire_expect(wire, placement->prev_transport, -alone, ring_transport_count - 1);
	ring_wire_bool(wire, &placement->crowded);
	ring_wire_u32(wire, &placement->masked);
	ring_wire_u32(wire, &placement->shunned);
	wire_tuning(wire, &placement->tuning);
	wire_path(wire, &placement->path);
	wire_peer(wire, &placement->next);
	wire_peer(wire, &placement->prev);
	for (int i = 0; i < expected && wire->ok; i++) {
		ring_wire_int(wire, &placement->order[i]);
		ring_wire_expect(wire, placement->order[i], 0, expected - 1);
	}
}

size_t ring_placement_bytes(int size)
{
	return 2 * RING_LETTER_BYTES + (size_t)size * 4;
}
