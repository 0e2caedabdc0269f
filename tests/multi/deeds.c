/* SPDX-License-Identifier: MIT */
/* Random deeds: chosen alike by all ranks, made by each in its own way, checked together. */
#include "deeds.h"

#include <string.h>

#include "tests/multi/choice.h"
#include "tests/place.h"

#define SHIFTS 64 /* how far from an aligned address buffers may begin */

/* ---- choosing -------------------------------------------------------------------------------- */

static int random_below(uint64_t *state, int limit)
{
	return (int)(harness_random(state) % (unsigned)limit);
}

/* As likely between 1 and 2 as between a million and two. */
static size_t random_count(uint64_t *state, size_t most)
{
	unsigned bits = 0;
	while (bits < 63 && most >> bits > 1)
		bits++;
	size_t low = (size_t)1 << harness_random(state) % (bits + 1);
	size_t count = low + harness_random(state) % low;
	return count < most ? count : most;
}

static size_t random_shift(uint64_t *state)
{
	bool aligned = random_below(state, 4) > 0;
	return aligned ? 0 : (size_t)random_below(state, SHIFTS);
}

static void choose_messages(const struct party *party, uint64_t *state, size_t begin, size_t room,
			    struct deed *deed)
{
	deed->message_count = 1 + random_below(state, DEED_MESSAGES);
	deed->loose = random_below(state, 2);
	size_t most = room / (size_t)deed->message_count;
	for (int m = 0; m < deed->message_count; m++) {
		struct message *message = &deed->messages[m];
		message->from = random_below(state, party->size);
		message->to = random_below(state, party->size);
		message->type = (enum ring_datatype)random_below(state, ELEMENT_TYPES);
		message->at = begin + (size_t)m * most + random_shift(state);
		size_t most_count = (most - SHIFTS) / element_bytes(message->type);
		message->count = random_below(state, 6) ? random_count(state, most_count) : 0;
	}
}

static void choose_scalars(uint64_t *state, struct deed *deed)
{
	size_t bytes = element_bytes(deed->call.type);
	deed->call.scalars = deed->scalars;
	for (int rank = 0; rank < DEED_RANKS; rank++) {
		uint64_t bits = harness_random(state);
		bool odd = (bits >> 40 & 15) == 0;
		element_put_random(deed->call.type, deed->scalars + (size_t)rank * bytes, bits, odd);
	}
}

static void choose_call(const struct party *party, uint64_t *state, size_t begin, size_t room,
			enum call_kind kind, struct deed *deed)
{
	struct call *call = &deed->call;
	int op = random_below(state, ELEMENT_OPS + 2); /* two more: pre-multiplied sums */
	size_t place_send, place_recv;
	call->kind = kind;
	call->type = (enum ring_datatype)random_below(state, ELEMENT_TYPES);
	call->op = op < ELEMENT_OPS ? (enum ring_op)op : RING_SUM;
	if (!element_has_op(call->type, call->op))
		call->op = RING_SUM;
	call->root = random_below(state, party->size);
	if (op >= ELEMENT_OPS && call_kind_reduces(kind))
		choose_scalars(state, deed);
	if (kind != BARRIER) {
		call->count = 1; /* to measure it by */
		size_t sends = call_send_bytes(call, party->size);
		size_t receives = call_recv_bytes(call, party->size);
		size_t most = (room - SHIFTS) / (sends > receives ? sends : receives);
		call->count = random_below(state, 25) ? random_count(state, most) : 0;
	}
	deed->in_place = random_below(state, 2) && call_place(call, 0, &place_send, &place_recv);
	deed->special = random_below(state, 3) == 0;
	deed->send_at = begin + random_shift(state);
	deed->recv_at = begin + random_shift(state);
}

static void choose_uneven(const struct party *party, uint64_t *state, size_t begin, size_t room,
			  struct deed *deed)
{
	struct uneven *uneven = &deed->uneven;
	*uneven = (struct uneven){.kind = (enum uneven_kind)random_below(state, UNEVEN_KINDS),
				  .type = (enum ring_datatype)random_below(state, ELEMENT_TYPES),
				  .op = (enum ring_op)random_below(state, ELEMENT_OPS),
				  .size = party->size,
				  .root = random_below(state, party->size),
				  .placed = random_below(state, 2),
				  .seed = harness_random(state) % 1000000};
	if (!element_has_op(uneven->type, uneven->op))
		uneven->op = RING_SUM;
	if (uneven->kind == REDUCE_SCATTERV)
		uneven->placed = false;
	size_t gaps = uneven_length_most(uneven) * element_bytes(uneven->type);
	size_t parts = (size_t)party->size * element_bytes(uneven->type);
	uneven->most = random_below(state, 8) ? random_count(state, (room - SHIFTS - gaps) / parts)
					      : 0;
	deed->in_place = uneven->kind != ALL_TO_ALLV && random_below(state, 2);
	deed->special = random_below(state, 3) == 0;
	deed->send_at = begin + random_shift(state);
	deed->recv_at = begin + random_shift(state);
}

void deed_choose(const struct party *party, uint64_t seed, size_t begin, size_t room,
		 struct deed *deed)
{
	static const enum call_kind kinds[] = {ALL_REDUCE,     ALL_REDUCE, ALL_REDUCE,
					       REDUCE_SCATTER, REDUCE,     REDUCE_SCATTER,
					       REDUCE,         ALL_GATHER, BROADCAST,
					       GATHER,         SCATTER,    ALL_TO_ALL};
	const int kind_count = (int)(sizeof(kinds) / sizeof(kinds[0]));
	uint64_t state = seed;
	int chosen = random_below(&state, kind_count + 9);
	*deed = (struct deed){.seed = harness_random(&state)};
	if (chosen > kind_count + 4)
		choose_uneven(party, &state, begin, room, deed);
	else if (chosen > kind_count)
		choose_messages(party, &state, begin, room, deed);
	else
		choose_call(party, &state, begin, room,
			    chosen < kind_count ? kinds[chosen] : BARRIER, deed);
}

/* ---- doing ----------------------------------------------------------------------------------- */

static size_t message_bytes(const struct message *message)
{
	return message->count * element_bytes(message->type);
}

static void fill_messages(const struct party *party, const struct deed *deed, uint64_t state)
{
	for (int m = 0; m < deed->message_count; m++) {
		const struct message *message = &deed->messages[m];
		unsigned char *bytes = party->input + message->at;
		for (size_t i = 0; message->from == party->rank && i < message_bytes(message); i++)
			bytes[i] = (unsigned char)(harness_random(&state) >> 32);
	}
}

static void fill_elements(const struct party *party, const struct deed *deed, uint64_t state,
			  enum ring_datatype type, size_t bytes)
{
	unsigned char *send = party->input + deed->send_at;
	for (size_t at = 0; at < bytes; at += element_bytes(type)) {
		uint64_t bits = harness_random(&state);
		bool odd = deed->special && (bits >> 40 & 15) == 0;
		element_put_random(type, send + at, bits, odd);
	}
}

static size_t uneven_send_bytes(const struct party *party, const struct uneven *uneven)
{
	return uneven_send_length(uneven, party->rank) * element_bytes(uneven->type);
}

void deed_fill(const struct party *party, const struct deed *deed)
{
	const struct call *call = &deed->call;
	uint64_t state = deed->seed + (uint64_t)party->rank * 0x51ed2701;
	if (deed->message_count)
		fill_messages(party, deed, state);
	else if (deed->uneven.size)
		fill_elements(party, deed, state, deed->uneven.type,
			      uneven_send_bytes(party, &deed->uneven));
	else if (call_reads_send(call, party->rank))
		fill_elements(party, deed, state, call->type, call_send_bytes(call, party->size));
}

/* Where a rank's result lies. */
static unsigned char *result_of(const struct party *party, const struct deed *deed, int rank)
{
	size_t send = 0, recv = 0;
	if (deed->in_place)
		call_place(&deed->call, rank, &send, &recv);
	return party->outputs[rank] + deed->recv_at + recv;
}

static int complain(const struct party *party, const char *what)
{
	return harness_fail(party->self, "%s as rank %d of %d: %s", what, party->rank, party->size,
			    ring_comm_error(party->comm));
}

static int make_collective(const struct party *party, const struct deed *deed,
			   struct ring_stream *stream)
{
	struct call call = deed->call;
	const int rank = party->rank;
	const size_t send_bytes = call_send_bytes(&call, party->size);
	unsigned char *send = party->input + deed->send_at, *base, *recv;
	char text[CALL_TEXT];
	size_t place_send, place_recv;
	recv = base = party->output + deed->recv_at;
	if (deed->in_place) {
		call_place(&call, rank, &place_send, &place_recv);
		if (call_reads_send(&call, rank))
			memcpy(base + place_send, send, send_bytes);
		send = base + place_send;
		recv = base + place_recv;
	}
	place_put(send, call_reads_send(&call, rank) ? send_bytes : 0);
	if (call.scalars &&
	    ring_op_create_premul_sum(party->comm,
				      call.scalars + (size_t)rank * element_bytes(call.type),
				      call.type, &call.op))
		return complain(party, "ring_op_create_premul_sum");
	if (call_make(party->comm, &call, call_reads_send(&call, rank) ? place_of(send) : NULL,
		      call_writes_recv(&call, rank) ? place_of(recv) : NULL, stream))
		return complain(party, call_text(&call, text));
	if (call.scalars && ring_op_destroy(party->comm, call.op))
		return complain(party, "ring_op_destroy");
	return 0;
}

static int make_uneven(const struct party *party, const struct deed *deed,
		       struct ring_stream *stream)
{
	const struct uneven *uneven = &deed->uneven;
	const size_t element = element_bytes(uneven->type);
	const size_t send_bytes = uneven_send_bytes(party, uneven);
	unsigned char *send = party->input + deed->send_at, *recv = party->output + deed->recv_at;
	char text[CALL_TEXT];
	if (deed->in_place) {
		unsigned char *to = recv +
				    uneven_recv_begin(uneven, party->rank, party->rank) * element;
		memcpy(to, send, send_bytes);
		send = to;
		recv += uneven_send_begin(uneven, party->rank, party->rank) * element;
	}
	place_put(send, send_bytes);
	if (uneven_make(party->comm, uneven, place_of(send), place_of(recv), stream))
		return complain(party, uneven_text(uneven, text));
	return 0;
}

/* One half of a message: this rank's send or receive. */
struct half {
	const struct message *message;
	bool receives;
};

static int make_half(const struct party *party, struct half half, struct ring_stream *stream)
{
	const struct message *message = half.message;
	struct call call = {.kind = half.receives ? RECV : SEND,
			    .count = message->count,
			    .type = message->type,
			    .root = half.receives ? message->from : message->to};
	char text[CALL_TEXT];
	place_put(party->input + message->at, half.receives ? 0 : message_bytes(message));
	if (call_make(party->comm, &call, place_of(party->input + message->at),
		      place_of(party->output + message->at), stream))
		return complain(party, call_text(&call, text));
	return 0;
}

/* This rank's halves in an order of its own, in which those of each pair keep theirs. */
static int shuffle_halves(const struct party *party, const struct deed *deed, struct half *halves)
{
	uint64_t state = deed->seed * 3 + (uint64_t)party->rank;
	int count = 0;
	for (int m = 0; m < deed->message_count; m++)
		for (int receives = 0; receives < 2; receives++) {
			const struct message *message = &deed->messages[m];
			if ((receives ? message->to : message->from) == party->rank)
				halves[count++] = (struct half){message, receives};
		}
	for (int swaps = 0; swaps < 4 * count; swaps++) {
		int at = random_below(&state, count);
		struct half *a = &halves[at], *b = &halves[at + (at + 1 < count)], was = *a;
		if (a->receives == b->receives && a->message->from == b->message->from &&
		    a->message->to == b->message->to)
			continue;
		*a = *b;
		*b = was;
	}
	return count;
}

/* Each rank puts a call on a stream of its choice, or on none. */
static struct ring_stream *choose_stream(struct deed_streams choice, uint64_t *state)
{
	int chosen = random_below(state, choice.count + 1);
	return chosen < choice.count ? choice.streams[chosen] : NULL;
}

/*
 * One by one, in the order of the messages on all ranks, so that none waits for one behind it, whatever
 * streams they are on. What a rank sends to itself needs a group.
 */
static int make_loose_messages(const struct party *party, const struct deed *deed,
			       struct deed_streams choice)
{
	uint64_t state = deed->seed * 5 + (uint64_t)party->rank;
	for (int m = 0; m < deed->message_count; m++) {
		const struct message *message = &deed->messages[m];
		bool sends = message->from == party->rank, receives = message->to == party->rank;
		struct half send = {message, false}, receive = {message, true};
		if (sends && receives && ring_group_start())
			return complain(party, "ring_group_start");
		if (sends && make_half(party, send, choose_stream(choice, &state)))
			return 1;
		if (receives && make_half(party, receive, choose_stream(choice, &state)))
			return 1;
		if (sends && receives && ring_group_end())
			return complain(party, "ring_group_end");
	}
	return 0;
}

/* Together, so that no order can block; a message alone needs no group. */
static int make_messages(const struct party *party, const struct deed *deed,
			 struct ring_stream *stream)
{
	struct half halves[2 * DEED_MESSAGES];
	int count = shuffle_halves(party, deed, halves);
	bool alone = deed->message_count == 1 && count < 2;
	if (!alone && ring_group_start())
		return complain(party, "ring_group_start");
	for (int h = 0; h < count; h++)
		if (make_half(party, halves[h], stream))
			return 1;
	if (!alone && ring_group_end())
		return complain(party, "ring_group_end");
	return 0;
}

int deed_make(const struct party *party, const struct deed *deed, struct deed_streams choice)
{
	uint64_t state = deed->seed + (uint64_t)party->rank;
	if (deed->loose)
		return make_loose_messages(party, deed, choice);
	struct ring_stream *stream = choose_stream(choice, &state);
	if (deed->uneven.size)
		return make_uneven(party, deed, stream);
	return deed->message_count ? make_messages(party, deed, stream)
				   : make_collective(party, deed, stream);
}

/* ---- checking -------------------------------------------------------------------------------- */

uint64_t hash_add(uint64_t hash, const void *bytes, size_t count)
{
	for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
		uint64_t word = 0;
		size_t left = count - at;
		memcpy(&word, (const char *)bytes + at, left < sizeof(word) ? left : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

static int differs(const struct party *party, const struct deed *deed, int rank, size_t index,
		   const void *want, const void *got)
{
	char text[CALL_TEXT];
	uint64_t bits[2] = {0, 0};
	size_t bytes = element_bytes(deed->call.type);
	memcpy(&bits[0], want, bytes);
	memcpy(&bits[1], got, bytes);
	return harness_fail(party->self,
			    "%s of %d ranks%s%s: element %zu of rank %d's result is %llx, not %llx",
			    call_text(&deed->call, text), party->size,
			    deed->in_place ? ", in place" : "",
			    deed->special ? ", special values" : "", index, rank,
			    (unsigned long long)bits[1], (unsigned long long)bits[0]);
}

/* A result that all share is looked at by shares, in every copy; others by those who have them. */
static int check_collective(const struct party *party, const struct deed *deed, uint64_t *hash)
{
	const struct call *call = &deed->call;
	const struct call_way way = choice_of(party->comm, call, party->shared);
	const int size = party->size;
	size_t bytes = element_bytes(call->type), elements = call_recv_bytes(call, size) / bytes;
	bool shared = call_has_one_result(call);
	size_t begin = shared ? elements * (size_t)party->rank / (size_t)size : 0;
	size_t end = shared ? elements * ((size_t)party->rank + 1) / (size_t)size : elements;
	const unsigned char *results[DEED_RANKS];
	const void *inputs[DEED_RANKS];
	for (int r = 0; r < size; r++) {
		bool looked_at = call_writes_recv(call, r) && (shared || r == party->rank);
		inputs[r] = party->inputs[r] + deed->send_at;
		results[r] = looked_at ? result_of(party, deed, r) : NULL;
	}
	for (size_t i = begin; i < end; i++) {
		unsigned char want[ELEMENT_BYTES_MAX];
		call_replay(call, &way, party->rank, i, inputs, want);
		*hash = hash_add(*hash, want, bytes);
		for (int r = 0; r < size; r++)
			if (results[r] && memcmp(want, results[r] + i * bytes, bytes) != 0)
				return differs(party, deed, r, i, want, results[r] + i * bytes);
	}
	return 0;
}

static int check_uneven(const struct party *party, const struct deed *deed, uint64_t *hash)
{
	const struct uneven *uneven = &deed->uneven;
	const struct call_way way = choice_of_uneven(party->comm, uneven);
	const size_t bytes = element_bytes(uneven->type);
	const unsigned char *recv = party->outputs[party->rank] + deed->recv_at;
	const void *inputs[DEED_RANKS];
	char text[CALL_TEXT];
	if (deed->in_place)
		recv += uneven_send_begin(uneven, party->rank, party->rank) * bytes;
	for (int r = 0; r < party->size; r++)
		inputs[r] = party->inputs[r] + deed->send_at;
	for (size_t i = 0; i < uneven_recv_length(uneven, party->rank); i++) {
		unsigned char want[ELEMENT_BYTES_MAX];
		if (!uneven_replay(uneven, &way, party->rank, i, inputs, want))
			continue;
		*hash = hash_add(*hash, want, bytes);
		if (memcmp(want, recv + i * bytes, bytes) != 0)
			return harness_fail(party->self, "%s of %d ranks%s: element %zu is wrong",
					    uneven_text(uneven, text), party->size,
					    deed->in_place ? ", in place" : "", i);
	}
	return 0;
}

static int check_messages(const struct party *party, const struct deed *deed, uint64_t *hash)
{
	for (int m = 0; m < deed->message_count; m++) {
		const struct message *message = &deed->messages[m];
		const unsigned char *want = party->inputs[message->from] + message->at;
		if (message->to != party->rank)
			continue;
		if (memcmp(want, party->outputs[party->rank] + message->at, message_bytes(message)))
			return harness_fail(
				party->self,
				"message %d of %d from %d to %d of %d ranks, %zu bytes: "
				"wrong data",
				m, deed->message_count, message->from, message->to, party->size,
				message_bytes(message));
		*hash = hash_add(*hash, want, message_bytes(message));
	}
	return 0;
}

int deed_check(const struct party *party, const struct deed *deed, uint64_t *hash)
{
	if (deed->uneven.size)
		return check_uneven(party, deed, hash);
	return deed->message_count ? check_messages(party, deed, hash)
				   : check_collective(party, deed, hash);
}

static void count_messages(const struct party *party, const struct deed *deed, struct tally *tally)
{
	for (int m = 0; m < deed->message_count; m++) {
		const struct message *message = &deed->messages[m];
		bool sends = message->from == party->rank, receives = message->to == party->rank;
		uint64_t bytes = sends && receives ? 0 : message_bytes(message);
		tally->calls += sends + receives;
		tally->sent_bytes += sends ? bytes : 0;
		tally->received_bytes += receives ? bytes : 0;
	}
}

void deed_count(const struct party *party, const struct deed *deed, struct tally *tally)
{
	int position = 0;
	if (deed->message_count) {
		count_messages(party, deed, tally);
		return;
	}
	while (party->order[position] != party->rank)
		position++;
	tally->calls++;
	if (deed->uneven.size) {
		struct call_way way = choice_of_uneven(party->comm, &deed->uneven);
		tally->sent_bytes += uneven_sent_bytes(&deed->uneven, &way, position);
		tally->received_bytes += uneven_received_bytes(&deed->uneven, &way, position);
		return;
	}
	struct call_way way = choice_of(party->comm, &deed->call, party->shared);
	tally->sent_bytes += call_sent_bytes(&deed->call, &way, position);
	tally->received_bytes += call_received_bytes(&deed->call, &way, position);
}
