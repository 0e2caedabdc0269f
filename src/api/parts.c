/* SPDX-License-Identifier: MIT */
/* From counts to parts; see parts.h. */
#include "parts.h"

#include <stdlib.h>

#include "base/datatype.h"
#include "check.h"

/* One of the two buffers of a call. */
struct side {
	const char *name;
	const size_t *counts, *at;   /* as given */
	uint64_t *elements, *begins; /* [size]: of each rank's part */
};

uint64_t ring_parts_extent(const uint64_t *elements, const uint64_t *at, int size)
{
	uint64_t extent = 0;
	for (int rank = 0; rank < size; rank++)
		if (elements[rank] > 0 && extent < at[rank] + elements[rank])
			extent = at[rank] + elements[rank];
	return extent;
}

/* ---- one side -------------------------------------------------------------------------------- */

/* The same part goes to every rank, or comes from every one. */
static void take_same(const struct side *side, int size, uint64_t elements)
{
	for (int rank = 0; rank < size; rank++) {
		side->elements[rank] = elements;
		side->begins[rank] = 0;
	}
}

/* There is one part, to or from root. */
static void take_one(const struct side *side, int size, int root, uint64_t elements)
{
	take_same(side, size, 0);
	side->elements[root] = elements;
}

/* A part for each rank, where they say, or one behind the other. returns 0; RING_EINVAL */
static int take_list(struct ring_comm *comm, const struct ring_request *request,
		     const struct side *side)
{
	uint64_t end = 0, bytes;
	if (!side->counts)
		return ring_request_refuse(comm, request, "%s is NULL", side->name);
	take_same(side, comm->team.size, 0);
	for (int rank = 0; rank < comm->team.size; rank++) {
		uint64_t begin = side->at ? side->at[rank] : end;
		if (side->counts[rank] == 0)
			continue;
		if (__builtin_add_overflow(begin, side->counts[rank], &end) ||
		    __builtin_mul_overflow(end, ring_datatype_bytes(request->type), &bytes) ||
		    bytes > PTRDIFF_MAX)
			return ring_request_refuse(
				comm, request,
				"%s[%d]: %llu elements behind %llu others are more than memory can "
				"hold",
				side->name, rank, (unsigned long long)side->counts[rank],
				(unsigned long long)begin);
		side->elements[rank] = side->counts[rank];
		side->begins[rank] = begin;
	}
	return 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* returns 0; RING_EINVAL */
static int take_sides(struct ring_comm *comm, const struct ring_request *request,
		      const struct side *to, const struct side *from)
{
	const int size = comm->team.size, self = comm->team.rank, root = request->root;
	int err = 0;
	switch (request->kind) {
	case RING_KIND_REDUCE_SCATTERV:
		err = take_list(comm, request, to);
		if (!err)
			take_same(from, size, to->elements[self]);
		return err;
	case RING_KIND_ALL_GATHERV:
		err = take_list(comm, request, from);
		if (!err)
			take_same(to, size, from->elements[self]);
		return err;
	case RING_KIND_GATHERV:
		take_one(to, size, root, request->count);
		take_same(from, size, 0);
		return self == root ? take_list(comm, request, from) : 0;
	case RING_KIND_SCATTERV:
		take_one(from, size, root, request->count);
		take_same(to, size, 0);
		return self == root ? take_list(comm, request, to) : 0;
	default:
		err = take_list(comm, request, to);
		return err ? err : take_list(comm, request, from);
	}
}

/* Where a rank has one part, its count is not a list. returns 0; RING_EINVAL */
static int check_own(struct ring_comm *comm, const struct ring_request *request,
		     const struct ring_parts *parts)
{
	const int self = comm->team.rank;
	if (request->count > PTRDIFF_MAX / ring_datatype_bytes(request->type))
		return ring_request_refuse(comm, request,
					   "%llu elements are more than memory can hold",
					   (unsigned long long)request->count);
	if (parts->to[self] == parts->from[self])
		return 0;
	return ring_request_refuse(comm, request,
				   "rank %d sends itself %llu elements, but receives %llu from "
				   "itself",
				   self, (unsigned long long)parts->to[self],
				   (unsigned long long)parts->from[self]);
}

/* In place is where this rank's own part of one buffer is the other one. */
static bool is_in_place(const struct ring_request *request, const struct ring_parts *parts, int self)
{
	const uint64_t bytes = ring_datatype_bytes(request->type);
	const char *send = request->send, *recv = request->recv;
	return send + parts->to_at[self] * bytes == recv + parts->from_at[self] * bytes;
}

static int check_buffers(struct ring_comm *comm, const struct ring_request *request,
			 const struct ring_parts *parts)
{
	const int size = comm->team.size;
	const uint64_t bytes = ring_datatype_bytes(request->type);
	const uint64_t sends = ring_parts_extent(parts->to, parts->to_at, size);
	const uint64_t receives = ring_parts_extent(parts->from, parts->from_at, size);
	const char *missing = NULL;
	if (sends > 0 && !request->send)
		missing = "send";
	else if (receives > 0 && !request->recv)
		missing = "recv";
	if (missing)
		return ring_request_refuse(comm, request, "%s is NULL though it has %llu elements",
					   missing,
					   (unsigned long long)(*missing == 's' ? sends : receives));
	if (sends == 0 || receives == 0)
		return 0;
	return ring_request_check_overlap(comm, request, sends * bytes, receives * bytes,
					  is_in_place(request, parts, comm->team.rank));
}

/* ---- the call -------------------------------------------------------------------------------- */

static uint64_t sum_of(const uint64_t *elements, int size)
{
	uint64_t sum = 0;
	for (int rank = 0; rank < size; rank++)
		sum += elements[rank];
	return sum;
}

/* What all ranks know is in the record; what they do not, links tell. */
static void describe(struct ring_call *call, const struct ring_parts *parts, int size)
{
	const uint64_t *all = call->kind == RING_KIND_ALL_GATHERV ? parts->from : parts->to;
	call->parts = *parts;
	call->count = sum_of(all, size);
	call->record.count = 0;
	if (ring_kind_has_own_parts(call->kind))
		return;
	call->record.count = call->count;
	call->record.root = ring_record_parts(all, size);
}

/* returns 0; RING_ENOMEM */
static int make_room(struct ring_comm *comm, const struct ring_request *request)
{
	size_t list_bytes = (size_t)comm->team.size * sizeof(*comm->caller.parts);
	if (!comm->caller.parts)
		comm->caller.parts = malloc(RING_PARTS_LISTS * list_bytes);
	return comm->caller.parts ? 0
				  : ring_comm_refuse(&comm->failure, RING_ENOMEM,
						     ring_kind_name(request->kind),
						     "no memory for the counts of all ranks");
}

int ring_call_find_parts(struct ring_comm *comm, const struct ring_request *request,
			 struct ring_call *call)
{
	const int size = comm->team.size;
	int err = make_room(comm, request);
	if (err)
		return err;
	uint64_t *room = comm->caller.parts;
	const struct side to = {"send_counts", request->counts.send, request->counts.send_at, room,
				room + size};
	const struct side from = {"recv_counts", request->counts.recv, request->counts.recv_at,
				  room + 2 * size, room + 3 * size};
	const struct ring_parts parts = {to.elements, to.begins, from.elements, from.begins};
	err = take_sides(comm, request, &to, &from);
	if (!err)
		err = check_own(comm, request, &parts);
	if (!err)
		err = check_buffers(comm, request, &parts);
	if (!err)
		describe(call, &parts, size);
	return err;
}
