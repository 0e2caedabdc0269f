/* SPDX-License-Identifier: MIT */
/* The public calls: each is a request. Type, op and root are -1 where a call has none. */
#include "submit.h"

int ring_all_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
		    enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_REDUCE,
		.send = send,
		.recv = recv,
		.count = count,
		.type = type,
		.op = op,
		.root = -1,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_reduce_scatter(struct ring_comm *comm, const void *send, void *recv, size_t recv_count,
			enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_REDUCE_SCATTER,
		.send = send,
		.recv = recv,
		.count = recv_count,
		.type = type,
		.op = op,
		.root = -1,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_all_gather(struct ring_comm *comm, const void *send, void *recv, size_t send_count,
		    enum ring_datatype type, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_GATHER,
		.send = send,
		.recv = recv,
		.count = send_count,
		.type = type,
		.op = -1,
		.root = -1,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_all_gather_own(struct ring_comm *comm, const void *send, void *recv, size_t bytes)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_GATHER,
		.send = send,
		.recv = recv,
		.count = bytes,
		.type = RING_UINT8,
		.op = -1,
		.root = -1,
	};
	return ring_submit(comm, &request, true);
}

int ring_broadcast(struct ring_comm *comm, const void *send, void *recv, size_t count,
		   enum ring_datatype type, int root, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_BROADCAST,
		.send = send,
		.recv = recv,
		.count = count,
		.type = type,
		.op = -1,
		.root = root,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_reduce(struct ring_comm *comm, const void *send, void *recv, size_t count,
		enum ring_datatype type, enum ring_op op, int root, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_REDUCE,
		.send = send,
		.recv = recv,
		.count = count,
		.type = type,
		.op = op,
		.root = root,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_gather(struct ring_comm *comm, const void *send, void *recv, size_t send_count,
		enum ring_datatype type, int root, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_GATHER,
		.send = send,
		.recv = recv,
		.count = send_count,
		.type = type,
		.op = -1,
		.root = root,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_scatter(struct ring_comm *comm, const void *send, void *recv, size_t recv_count,
		 enum ring_datatype type, int root, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_SCATTER,
		.send = send,
		.recv = recv,
		.count = recv_count,
		.type = type,
		.op = -1,
		.root = root,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_all_to_all(struct ring_comm *comm, const void *send, void *recv, size_t count_per_peer,
		    enum ring_datatype type, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_TO_ALL,
		.send = send,
		.recv = recv,
		.count = count_per_peer,
		.type = type,
		.op = -1,
		.root = -1,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_barrier(struct ring_comm *comm, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_BARRIER,
		.type = -1,
		.op = -1,
		.root = -1,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_send(struct ring_comm *comm, const void *buffer, size_t count, enum ring_datatype type,
	      int peer, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_SEND,
		.send = buffer,
		.count = count,
		.type = type,
		.op = -1,
		.root = peer,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_recv(struct ring_comm *comm, void *buffer, size_t count, enum ring_datatype type, int peer,
	      struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_RECV,
		.recv = buffer,
		.count = count,
		.type = type,
		.op = -1,
		.root = peer,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}
