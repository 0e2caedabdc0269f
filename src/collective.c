/* SPDX-License-Identifier: MIT */
/* The collectives as the public header promises them: arguments are checked, then become a call. */
#include <stdarg.h>
#include <stdio.h>

#include "comm.h"
#include "datatype.h"
#include "fd.h"
#include "queue.h"

/* What a collective was asked to do; type, op and root are -1 where it has none. */
struct request {
	enum ring_kind kind;
	const void *send;
	void *recv;
	uint64_t count;
	int type, op, root;
	struct ring_stream *stream;
};

/* Refuses a call: nothing happened, the communicator stays usable. */
__attribute__((format(printf, 3, 4))) static int refuse(struct ring_comm *comm, int err,
							const char *format, ...)
{
	char text[RING_FAILURE_TEXT];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pthread_mutex_lock(&comm->failing);
	comm->refused = (struct ring_failure){0};
	ring_fail(&comm->refused, err, "%s", text);
	pthread_mutex_unlock(&comm->failing);
	return err;
}

static bool overlap(const char *a, uint64_t a_bytes, const char *b, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

/* Checks that send and recv are disjoint, or stand to each other as in place means for this kind. */
static int check_buffers(struct ring_comm *comm, const struct request *request,
			 uint64_t element_bytes)
{
	const char *name = ring_kind_name(request->kind);
	const char *send = request->send, *recv = request->recv;
	uint64_t part = request->count * element_bytes;
	uint64_t send_bytes = part, recv_bytes = part, send_shift = 0, recv_shift = 0;
	bool reads_send = request->kind != RING_KIND_BROADCAST || comm->rank == request->root;

	if (request->kind == RING_KIND_REDUCE_SCATTER) {
		send_bytes = part * comm->size;
		send_shift = part * comm->rank;
	} else if (request->kind == RING_KIND_ALL_GATHER) {
		recv_bytes = part * comm->size;
		recv_shift = part * comm->rank;
	}
	if (!recv || (reads_send && !send))
		return refuse(comm, RING_EINVAL, "%s: %s is NULL though count is %llu", name,
			      recv ? "send" : "recv", (unsigned long long)request->count);
	if (!reads_send || send + send_shift == recv + recv_shift ||
	    !overlap(send, send_bytes, recv, recv_bytes))
		return 0;
	return refuse(comm, RING_EINVAL,
		      "%s: send and recv overlap; they must be disjoint or exactly in place", name);
}

/* Tells what does not exist at all from what this version does not do yet. */
static int check_type(struct ring_comm *comm, const struct request *request)
{
	const char *name = ring_kind_name(request->kind);
	const char *type = ring_datatype_name(request->type), *op = ring_op_name(request->op);
	bool reduces = request->kind == RING_KIND_ALL_REDUCE ||
		       request->kind == RING_KIND_REDUCE_SCATTER;
	if (*type == '?')
		return refuse(comm, RING_EINVAL, "%s: %d is no datatype", name, request->type);
	if (reduces && *op == '?')
		return refuse(comm, RING_EINVAL, "%s: %d is no operation", name, request->op);
	if (ring_datatype_bytes(request->type) == 0)
		return refuse(comm, RING_ENOTSUP, "%s: this version has no %s", name, type);
	if (reduces && !ring_reduce_supported(request->type, request->op))
		return refuse(comm, RING_ENOTSUP, "%s: this version has no %s of %s", name, op,
			      type);
	return 0;
}

static int check_elements(struct ring_comm *comm, const struct request *request)
{
	int err = check_type(comm, request);
	if (err)
		return err;
	uint64_t element_bytes = ring_datatype_bytes(request->type);
	bool in_parts = request->kind == RING_KIND_REDUCE_SCATTER ||
			request->kind == RING_KIND_ALL_GATHER;
	uint64_t parts = in_parts ? comm->size : 1;
	if (request->count > PTRDIFF_MAX / element_bytes / parts)
		return refuse(comm, RING_EINVAL, "%s: %llu elements are more than memory can hold",
			      ring_kind_name(request->kind), (unsigned long long)request->count);
	return request->count == 0 ? 0 : check_buffers(comm, request, element_bytes);
}

static int check(struct ring_comm *comm, const struct request *request)
{
	const char *name = ring_kind_name(request->kind);
	if (request->stream && ring_stream_comm(request->stream) != comm)
		return refuse(comm, RING_EINVAL, "%s: the stream is another communicator's", name);
	if (request->kind == RING_KIND_BROADCAST &&
	    (request->root < 0 || request->root >= comm->size))
		return refuse(comm, RING_EINVAL, "%s: root %d is not in 0..%d", name, request->root,
			      comm->size - 1);
	return request->kind == RING_KIND_BARRIER ? 0 : check_elements(comm, request);
}

static int submit(struct ring_comm *comm, const struct request *request)
{
	if (!comm || comm->fork_generation != ring_fork_generation()) {
		struct ring_failure failure = {0};
		int err = ring_fail(&failure, RING_EINVAL, "%s: %s", ring_kind_name(request->kind),
				    comm ? "this communicator belongs to the parent process; a "
					   "child of fork() must create its own"
					 : "comm is NULL");
		ring_failure_remember(&failure);
		return err;
	}
	int err = ring_comm_failed_in(comm, comm->sequence + 1);
	if (!err)
		err = check(comm, request);
	if (err)
		return err;
	struct ring_call call = {
		.kind = request->kind,
		.operands = {.input = request->send,
			     .output = request->recv,
			     .type = request->type >= 0 ? request->type : RING_UINT8,
			     .op = request->op >= 0 ? request->op : RING_SUM,
			     .divisor = request->op == RING_AVG ? (uint64_t)comm->size : 1},
		.count = request->count,
		.root = request->root,
		.record = ring_record_make(request->kind, ++comm->sequence, request->count,
					   request->type, request->op, request->root),
		.stream = request->stream,
	};
	if (!call.stream)
		return ring_queue_run(comm, &call);
	err = ring_queue_post(comm, &call);
	comm->sequence -= err != 0; /* it was not made */
	return err;
}

int ring_all_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
		    enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	return submit(comm, &(struct request){RING_KIND_ALL_REDUCE, send, recv, count, type, op, -1,
					      stream});
}

int ring_reduce_scatter(struct ring_comm *comm, const void *send, void *recv, size_t recv_count,
			enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	return submit(comm, &(struct request){RING_KIND_REDUCE_SCATTER, send, recv, recv_count,
					      type, op, -1, stream});
}

int ring_all_gather(struct ring_comm *comm, const void *send, void *recv, size_t send_count,
		    enum ring_datatype type, struct ring_stream *stream)
{
	return submit(comm, &(struct request){RING_KIND_ALL_GATHER, send, recv, send_count, type,
					      -1, -1, stream});
}

int ring_broadcast(struct ring_comm *comm, const void *send, void *recv, size_t count,
		   enum ring_datatype type, int root, struct ring_stream *stream)
{
	return submit(comm, &(struct request){RING_KIND_BROADCAST, send, recv, count, type, -1,
					      root, stream});
}

int ring_barrier(struct ring_comm *comm, struct ring_stream *stream)
{
	return submit(comm, &(struct request){RING_KIND_BARRIER, NULL, NULL, 0, -1, -1, -1, stream});
}
