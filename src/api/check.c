/* SPDX-License-Identifier: MIT */
/* What a call's arguments must be like, as the public header promises; see check.h. */
#include "check.h"

#include "base/datatype.h"
#include "group.h"
#include "stream.h"
#include "user_stream.h"

bool ring_request_reads(const struct ring_request *request, int rank)
{
	enum ring_kind kind = ring_kind_even(request->kind);
	return kind != RING_KIND_BARRIER && kind != RING_KIND_RECV &&
	       (!ring_kind_is_from_root(kind) || request->root == rank);
}

bool ring_request_writes(const struct ring_request *request, int rank)
{
	enum ring_kind kind = ring_kind_even(request->kind);
	return kind != RING_KIND_BARRIER && kind != RING_KIND_SEND &&
	       (!ring_kind_is_to_root(kind) || request->root == rank);
}

int ring_request_refuse(struct ring_comm *comm, const struct ring_request *request,
			const char *format, ...)
{
	va_list args;
	va_start(args, format);
	ring_comm_refuse_with(&comm->failure, RING_EINVAL, ring_kind_name(request->kind), format,
			      args);
	va_end(args);
	return RING_EINVAL;
}

int ring_request_check_overlap(struct ring_comm *comm, const struct ring_request *request,
			       uint64_t send_bytes, uint64_t recv_bytes, bool in_place)
{
	const char *send = request->send, *recv = request->recv;
	bool exchange = ring_kind_even(request->kind) == RING_KIND_ALL_TO_ALL;
	if (send >= recv + recv_bytes || recv >= send + send_bytes || (in_place && !exchange))
		return 0;
	return ring_request_refuse(comm, request, "send and recv overlap; they must be disjoint%s",
				   exchange ? "" : " or exactly in place");
}

/*
 * Checks that send and recv are disjoint, or in place as this kind has it: one is this rank's part
 * of the other.
 */
static int check_overlap(struct ring_comm *comm, const struct ring_request *request,
			 uint64_t part_bytes)
{
	const char *send = request->send, *recv = request->recv;
	bool sends_parts = ring_kind_has_parts_in(request->kind);
	bool receives_parts = ring_kind_has_parts_out(request->kind);
	uint64_t whole = part_bytes * comm->team.size, own = part_bytes * comm->team.rank;
	uint64_t send_bytes = sends_parts ? whole : part_bytes;
	uint64_t recv_bytes = receives_parts ? whole : part_bytes;
	const char *send_own = send + (sends_parts ? own : 0);
	const char *recv_own = recv + (receives_parts ? own : 0);
	return ring_request_check_overlap(comm, request, send_bytes, recv_bytes,
					  send_own == recv_own);
}

static int check_buffers(struct ring_comm *comm, const struct ring_request *request,
			 uint64_t part_bytes)
{
	const char *missing = NULL;
	bool reads = ring_request_reads(request, comm->team.rank);
	bool writes = ring_request_writes(request, comm->team.rank);
	if (reads && !request->send)
		missing = ring_kind_is_message(request->kind) ? "buffer" : "send";
	else if (writes && !request->recv)
		missing = ring_kind_is_message(request->kind) ? "buffer" : "recv";
	if (missing)
		return ring_request_refuse(comm, request, "%s is NULL though count is %llu",
					   missing, (unsigned long long)request->count);
	return reads && writes ? check_overlap(comm, request, part_bytes) : 0;
}

bool ring_request_names_rank(const struct ring_request *request)
{
	return ring_kind_has_root(ring_kind_even(request->kind)) ||
	       ring_kind_is_message(request->kind);
}

/* What is added in the order of ranks is added all at once, and not scaled. */
static int check_order(struct ring_comm *comm, const struct ring_request *request,
		       const struct ring_made_op *made)
{
	bool function = made && made->function.call;
	enum ring_op op = made ? RING_SUM : (enum ring_op)request->op;
	int size = comm->team.size;
	if (!comm->team.config.order[0] || size == 1 ||
	    !(function || ring_op_shows_order(op, (enum ring_datatype)request->type)))
		return 0;
	if (made && !function)
		return ring_request_refuse(comm, request,
					   "RING_ORDER=rank has no pre-multiplied sums of floats; "
					   "multiply before the call, and add by RING_SUM");
	if (size > RING_SUM_RANKS)
		return ring_request_refuse(comm, request,
					   "RING_ORDER=rank adds the inputs of up to %d ranks, and "
					   "these are %d",
					   RING_SUM_RANKS, size);
	return 0;
}

static int check_type(struct ring_comm *comm, const struct ring_request *request)
{
	if (ring_datatype_bytes(request->type) == 0)
		return ring_request_refuse(comm, request, "%d is not a datatype", request->type);
	if (!ring_kind_reduces(ring_kind_even(request->kind)))
		return 0;
	const struct ring_made_op *made = ring_made_op_find(&comm->caller.made_ops, request->op);
	if (made && (int)made->type != request->type)
		return ring_request_refuse(comm, request, "operation %d was made for %s, not for %s",
					   request->op, ring_datatype_name(made->type),
					   ring_datatype_name(request->type));
	if (!made && *ring_op_name(request->op) == '?')
		return ring_request_refuse(comm, request, "%d is not an operation", request->op);
	if (!made && !ring_op_takes(request->op, request->type))
		return ring_request_refuse(
			comm, request,
			"%s works on the bits of integers, not on %s; send them as unsigned "
			"integers if their bits are meant",
			ring_op_name(request->op), ring_datatype_name(request->type));
	return check_order(comm, request, made);
}

static int check_elements(struct ring_comm *comm, const struct ring_request *request)
{
	enum ring_kind kind = request->kind;
	int err = check_type(comm, request);
	if (err || ring_kind_is_uneven(kind))
		return err;
	bool in_parts = ring_kind_has_parts_in(kind) || ring_kind_has_parts_out(kind);
	uint64_t parts = in_parts ? comm->team.size : 1;
	uint64_t part_bytes, bytes;
	if (__builtin_mul_overflow(request->count, ring_datatype_bytes(request->type), &part_bytes) ||
	    __builtin_mul_overflow(part_bytes, parts, &bytes) || bytes > PTRDIFF_MAX)
		return ring_request_refuse(comm, request,
					   "%llu elements are more than memory can hold",
					   (unsigned long long)request->count);
	return request->count == 0 ? 0 : check_buffers(comm, request, part_bytes);
}

int ring_request_check(struct ring_comm *comm, const struct ring_request *request)
{
	if (request->stream && ring_stream_comm(request->stream) != comm)
		return ring_request_refuse(comm, request, "the stream is another communicator's");
	int err = request->stream
			  ? ring_stream_check(comm, request->stream, ring_kind_name(request->kind))
			  : 0;
	if (err)
		return err;
	if (ring_request_names_rank(request) &&
	    (request->root < 0 || request->root >= comm->team.size))
		return ring_request_refuse(comm, request, "%s %d is not in 0..%d",
					   ring_kind_is_message(request->kind) ? "peer" : "root",
					   request->root, comm->team.size - 1);
	if (ring_kind_is_message(request->kind) && request->root == comm->team.rank &&
	    !ring_group_is_open())
		return ring_request_refuse(comm, request,
					   "rank %d can exchange with itself only in a group that "
					   "holds both ends",
					   comm->team.rank);
	return request->kind == RING_KIND_BARRIER ? 0 : check_elements(comm, request);
}
