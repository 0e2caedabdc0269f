/* SPDX-License-Identifier: MIT */
/*
 * The calls as the public header promises them: arguments are checked, then become a struct
 * ring_call.
 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "base/datatype.h"
#include "group.h"
#include "queue.h"
#include "user_stream.h"

/* Whether this rank's send, or recv, is a buffer of the call. */
static bool reads(const struct ring_comm *comm, const struct ring_request *request)
{
	enum ring_kind kind = request->kind;
	return kind != RING_KIND_BARRIER && kind != RING_KIND_RECV &&
	       (!ring_kind_is_from_root(kind) || request->root == comm->team.rank);
}

static bool writes(const struct ring_comm *comm, const struct ring_request *request)
{
	enum ring_kind kind = request->kind;
	return kind != RING_KIND_BARRIER && kind != RING_KIND_SEND &&
	       (!ring_kind_is_to_root(kind) || request->root == comm->team.rank);
}

static bool overlap(const char *a, uint64_t a_bytes, const char *b, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
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
	bool exchange = sends_parts && receives_parts;
	uint64_t whole = part_bytes * comm->team.size, own = part_bytes * comm->team.rank;
	uint64_t send_bytes = sends_parts ? whole : part_bytes;
	uint64_t recv_bytes = receives_parts ? whole : part_bytes;
	const char *send_own = send + (sends_parts ? own : 0);
	const char *recv_own = recv + (receives_parts ? own : 0);
	if (!overlap(send, send_bytes, recv, recv_bytes) || (send_own == recv_own && !exchange))
		return 0;
	return ring_comm_refuse(&comm->failure, RING_EINVAL,
				"%s: send and recv overlap; they must be disjoint%s",
				ring_kind_name(request->kind),
				exchange ? "" : " or exactly in place");
}

static int check_buffers(struct ring_comm *comm, const struct ring_request *request,
			 uint64_t part_bytes)
{
	const char *missing = NULL;
	if (reads(comm, request) && !request->send)
		missing = ring_kind_is_message(request->kind) ? "buffer" : "send";
	else if (writes(comm, request) && !request->recv)
		missing = ring_kind_is_message(request->kind) ? "buffer" : "recv";
	if (missing)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"%s: %s is NULL though count is %llu",
					ring_kind_name(request->kind), missing,
					(unsigned long long)request->count);
	return reads(comm, request) && writes(comm, request)
		       ? check_overlap(comm, request, part_bytes)
		       : 0;
}

static int check_type(struct ring_comm *comm, const struct ring_request *request)
{
	if (ring_datatype_bytes(request->type) == 0)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "%s: %d is not a datatype",
					ring_kind_name(request->kind), request->type);
	if (!ring_kind_reduces(request->kind))
		return 0;
	const struct ring_made_op *made = ring_made_op_find(&comm->caller.made_ops, request->op);
	if (made && (int)made->type != request->type)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"%s: operation %d was made for %s, not for %s",
					ring_kind_name(request->kind), request->op,
					ring_datatype_name(made->type),
					ring_datatype_name(request->type));
	if (!made && *ring_op_name(request->op) == '?')
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "%s: %d is not an operation",
					ring_kind_name(request->kind), request->op);
	return 0;
}

static int check_elements(struct ring_comm *comm, const struct ring_request *request)
{
	enum ring_kind kind = request->kind;
	int err = check_type(comm, request);
	if (err)
		return err;
	bool in_parts = ring_kind_has_parts_in(kind) || ring_kind_has_parts_out(kind);
	uint64_t parts = in_parts ? comm->team.size : 1;
	uint64_t part_bytes, bytes;
	if (__builtin_mul_overflow(request->count, ring_datatype_bytes(request->type), &part_bytes) ||
	    __builtin_mul_overflow(part_bytes, parts, &bytes) || bytes > PTRDIFF_MAX)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"%s: %llu elements are more than memory can hold",
					ring_kind_name(kind), (unsigned long long)request->count);
	return request->count == 0 ? 0 : check_buffers(comm, request, part_bytes);
}

static int check(struct ring_comm *comm, const struct ring_request *request)
{
	if (request->stream && ring_stream_comm(request->stream) != comm)
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"%s: the stream is another communicator's",
					ring_kind_name(request->kind));
	int err = request->stream
			  ? ring_stream_check(comm, request->stream, ring_kind_name(request->kind))
			  : 0;
	if (err)
		return err;
	bool names_rank = ring_kind_has_root(request->kind) || ring_kind_is_message(request->kind);
	if (names_rank && (request->root < 0 || request->root >= comm->team.size))
		return ring_comm_refuse(&comm->failure, RING_EINVAL, "%s: %s %d is not in 0..%d",
					ring_kind_name(request->kind),
					ring_kind_is_message(request->kind) ? "peer" : "root",
					request->root, comm->team.size - 1);
	if (ring_kind_is_message(request->kind) && request->root == comm->team.rank &&
	    !ring_group_is_open())
		return ring_comm_refuse(&comm->failure, RING_EINVAL,
					"%s: rank %d can exchange with itself only in a group that "
					"holds both ends",
					ring_kind_name(request->kind), comm->team.rank);
	return request->kind == RING_KIND_BARRIER ? 0 : check_elements(comm, request);
}

static struct ring_call make_call(const struct ring_comm *comm, const struct ring_request *request)
{
	const struct ring_made_op *made = ring_made_op_find(&comm->caller.made_ops, request->op);
	int type = request->type, op = made ? RING_SUM : request->op;
	return (struct ring_call){
		.kind = request->kind,
		.operands = {.input = reads(comm, request) ? request->send : NULL,
			     .output = writes(comm, request) ? request->recv : NULL,
			     .type = type >= 0 ? type : RING_UINT8,
			     .op = op >= 0 ? op : RING_SUM,
			     .divisor = op == RING_AVG ? (uint64_t)comm->team.size : 1,
			     .scalar = made ? made->scalar : 0},
		.scaled = made != NULL,
		.count = request->count,
		.root = request->root,
		.record = ring_record_make(request->kind, 0, request->count, type,
					   made ? RING_OP_PREMUL_SUM : op, request->root),
		.stream = request->stream,
	};
}

/* Of the whole buffer, which may have a part for each rank. */
static size_t buffer_bytes(const struct ring_comm *comm, const struct ring_call *call, bool in_parts)
{
	size_t part = call->count * ring_datatype_bytes(call->operands.type);
	return in_parts ? part * (size_t)comm->team.size : part;
}

static size_t input_bytes(const struct ring_comm *comm, const struct ring_call *call)
{
	return buffer_bytes(comm, call, ring_kind_has_parts_in(call->kind));
}

static size_t output_bytes(const struct ring_comm *comm, const struct ring_call *call)
{
	return buffer_bytes(comm, call, ring_kind_has_parts_out(call->kind));
}

/* The queue needs a copy of a call that it runs later. */
static int post(struct ring_comm *comm, const struct ring_call *call)
{
	struct ring_call *copy = malloc(sizeof(*copy));
	if (!copy)
		return ring_comm_refuse(&comm->failure, RING_ENOMEM, "%s: no memory",
					ring_kind_name(call->kind));
	*copy = *call;
	int err = ring_call_stop_streams(copy);
	if (err) {
		free(copy);
		return ring_comm_refuse(&comm->failure, err, "%s: the stream cannot wait for it: %s",
					ring_kind_name(call->kind), ring_strerror(err));
	}
	ring_caller_number(&comm->caller, copy);
	ring_queue_add(comm, copy);
	return 0;
}

/* Where a buffer lies. */
struct place {
	const char *name; /* "send" */
	const void *buffer;
	size_t bytes;
	const struct ring_device *device;
	struct ring_memory_sort sort;
	struct ring_region *region; /* that peers of this host may map; NULL: it is private */
};

static void describe(const struct place *place, char text[96])
{
	if (place->device != &ring_device_cpu)
		snprintf(text, 96, "memory of %s device %d", place->device->name, place->sort.chip);
	else
		snprintf(text, 96, "%s", place->sort.what ? place->sort.what : "memory of the host");
}

/* Asks all devices; what none has is the host's. returns 0; RING_EINVAL, RING_ESYSTEM */
static int ask_devices(struct ring_comm *comm, const struct ring_call *call, struct place *place)
{
	struct ring_failure failure = {0};
	for (int i = 1; ring_devices[i]; i++) {
		int err = ring_devices[i]->look(place->buffer, place->bytes, &place->sort, &failure);
		if (err)
			return ring_comm_refuse(&comm->failure, err, "%s: %s %s",
						ring_kind_name(call->kind), place->name,
						failure.text);
		if (place->sort.chip != RING_CHIP_ANY) {
			place->device = ring_devices[i];
			return 0;
		}
	}
	return 0;
}

/* What the library allocated it knows; devices are asked for the rest. returns as ask_devices() */
static int find_place(struct ring_comm *comm, const struct ring_call *call, struct place *place)
{
	place->device = &ring_device_cpu;
	place->sort = (struct ring_memory_sort){.chip = RING_CHIP_ANY};
	if (!place->buffer || place->bytes == 0)
		return 0;
	struct ring_region *region = ring_region_find(place->buffer, place->bytes);
	if (!region || !region->allocated)
		return ask_devices(comm, call, place);
	if (region->device)
		place->device = region->device;
	place->sort.chip = region->chip;
	place->region = region->fd >= 0 ? region : NULL;
	return 0;
}

/* The communicator's device is that of the first call on one. returns 0; RING_EINVAL */
static int take_device(struct ring_comm *comm, struct ring_call *call, const struct place *place)
{
	char there[96];
	call->device = place->device;
	call->chip = place->sort.chip;
	call->record.memory = call->device->number;
	if (call->device == &ring_device_cpu ||
	    ring_caller_takes(&comm->caller, call->device, call->chip))
		return 0;
	describe(place, there);
	return ring_comm_refuse(&comm->failure, RING_EINVAL,
				"%s: %s is %s, but this communicator works on %s device %d: give "
				"memory of that one, or make a communicator for each device",
				ring_kind_name(call->kind), place->name, there,
				comm->caller.device->name, comm->caller.chip);
}

/* A call is carried out by one device. returns 0; RING_EINVAL, RING_ESYSTEM */
static int find_device(struct ring_comm *comm, struct ring_call *call)
{
	const struct ring_operands *operands = &call->operands;
	char here[96], there[96];
	struct place input = {.name = ring_kind_is_message(call->kind) ? "buffer" : "send",
			      .buffer = operands->input,
			      .bytes = input_bytes(comm, call)};
	struct place output = {.name = ring_kind_is_message(call->kind) ? "buffer" : "recv",
			       .buffer = operands->output,
			       .bytes = output_bytes(comm, call)};
	int err = find_place(comm, call, &input);
	if (!err)
		err = find_place(comm, call, &output);
	if (err)
		return err;
	call->input_region = input.region;
	call->output_region = output.region;
	if (!operands->input)
		return take_device(comm, call, &output);
	if (!operands->output ||
	    (input.device == output.device && input.sort.chip == output.sort.chip))
		return take_device(comm, call, &input);
	describe(&input, here);
	describe(&output, there);
	return ring_comm_refuse(&comm->failure, RING_EINVAL,
				"%s: send is %s, recv is %s; both must be of the same device",
				ring_kind_name(call->kind), here, there);
}

/* True for the same call once more, with its memory where it was. */
static bool repeats(const struct ring_checked_call *checked, const struct ring_request *request)
{
	const struct ring_request *before = &checked->request;
	return checked->keeps && request->kind == before->kind && request->send == before->send &&
	       request->recv == before->recv && request->count == before->count &&
	       request->type == before->type && request->op == before->op &&
	       request->root == before->root && request->stream == before->stream &&
	       checked->regions_epoch == ring_region_epoch();
}

/* A device may have got the host's memory. Calls on devices' memory are not kept. */
static bool is_where_it_was(const struct ring_checked_call *checked)
{
	const struct ring_operands *operands = &checked->call.operands;
	const struct ring_device *const *device = ring_devices + 1;
	while (*device && !(*device)->owns(operands->input) && !(*device)->owns(operands->output))
		device++;
	return !*device;
}

/* NULL if no kept call is the same. */
static struct ring_checked_call *find_checked(struct ring_comm *comm,
					      const struct ring_request *request)
{
	for (int i = 0; i < RING_CALLS_KEPT; i++)
		if (repeats(&comm->caller.checked[i], request) &&
		    is_where_it_was(&comm->caller.checked[i]))
			return &comm->caller.checked[i];
	return NULL;
}

/*
 * Checks a call and keeps it. Handles of operations and streams may name others next time, so such
 * calls are not kept. returns 0; RING_EINVAL, RING_ESYSTEM, with the sentence
 */
static int prepare(struct ring_comm *comm, const struct ring_request *request,
		   struct ring_checked_call **prepared)
{
	int err = check(comm, request);
	if (err)
		return err;
	struct ring_checked_call *checked =
		&comm->caller.checked[comm->caller.next_checked % RING_CALLS_KEPT];
	checked->keeps = false;
	checked->request = *request;
	checked->call = make_call(comm, request);
	checked->regions_epoch = ring_region_epoch();
	err = find_device(comm, &checked->call);
	if (err)
		return err;
	checked->keeps = !checked->call.scaled && !ring_kind_is_message(request->kind) &&
			 !request->stream && !checked->call.record.memory;
	comm->caller.next_checked += checked->keeps;
	*prepared = checked;
	return 0;
}

static int submit_as(struct ring_comm *comm, const struct ring_request *request, bool internal)
{
	const bool grouped = ring_group_is_open();
	int err = grouped ? ring_group_refused() : 0;
	if (err)
		return err;
	struct ring_checked_call *checked = NULL;
	if (!comm || !ring_team_is_mine(&comm->team))
		err = ring_comm_check(comm, ring_kind_name(request->kind));
	else
		err = ring_comm_failed_in(&comm->failure, comm->caller.sequence + 1);
	if (!err)
		checked = find_checked(comm, request);
	if (!err && !checked)
		err = prepare(comm, request, &checked);
	if (err)
		return grouped ? ring_group_refuse(err) : err;
	struct ring_call *call = &checked->call;
	call->internal = internal;
	if (grouped)
		return ring_group_add(comm, call);
	if (call->stream)
		return post(comm, call);
	ring_caller_number(&comm->caller, call);
	return ring_queue_run(comm, call);
}

static int submit(struct ring_comm *comm, const struct ring_request *request)
{
	return submit_as(comm, request, false);
}

int ring_all_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
		    enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_ALL_REDUCE, send, recv, count, type,
						   op, -1, stream});
}

int ring_reduce_scatter(struct ring_comm *comm, const void *send, void *recv, size_t recv_count,
			enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_REDUCE_SCATTER, send, recv, recv_count,
						   type, op, -1, stream});
}

int ring_all_gather(struct ring_comm *comm, const void *send, void *recv, size_t send_count,
		    enum ring_datatype type, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_ALL_GATHER, send, recv, send_count,
						   type, -1, -1, stream});
}

int ring_all_gather_own(struct ring_comm *comm, const void *send, void *recv, size_t bytes)
{
	return submit_as(comm,
			 &(struct ring_request){RING_KIND_ALL_GATHER, send, recv, bytes, RING_UINT8,
						-1, -1, NULL},
			 true);
}

int ring_broadcast(struct ring_comm *comm, const void *send, void *recv, size_t count,
		   enum ring_datatype type, int root, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_BROADCAST, send, recv, count, type, -1,
						   root, stream});
}

int ring_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
		enum ring_datatype type, enum ring_op op, int root, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_REDUCE, send, recv, count, type, op,
						   root, stream});
}

int ring_gather(struct ring_comm *comm, const void *send, void *recv, size_t send_count,
		enum ring_datatype type, int root, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_GATHER, send, recv, send_count, type,
						   -1, root, stream});
}

int ring_scatter(struct ring_comm *comm, const void *send, void *recv, size_t recv_count,
		 enum ring_datatype type, int root, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_SCATTER, send, recv, recv_count, type,
						   -1, root, stream});
}

int ring_all_to_all(struct ring_comm *comm, const void *send, void *recv, size_t count_per_peer,
		    enum ring_datatype type, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_ALL_TO_ALL, send, recv, count_per_peer,
						   type, -1, -1, stream});
}

int ring_barrier(struct ring_comm *comm, struct ring_stream *stream)
{
	return submit(comm,
		      &(struct ring_request){RING_KIND_BARRIER, NULL, NULL, 0, -1, -1, -1, stream});
}

int ring_send(struct ring_comm *comm, const void *buffer, size_t count, enum ring_datatype type,
	      int peer, struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_SEND, buffer, NULL, count, type, -1,
						   peer, stream});
}

int ring_recv(struct ring_comm *comm, void *buffer, size_t count, enum ring_datatype type, int peer,
	      struct ring_stream *stream)
{
	return submit(comm, &(struct ring_request){RING_KIND_RECV, NULL, buffer, count, type, -1,
						   peer, stream});
}
