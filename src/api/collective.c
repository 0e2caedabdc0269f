/* SPDX-License-Identifier: MIT */
/* The public calls: each is a request. */
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
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_all_gather_own(struct ring_comm *comm, const void *send, void *recv, size_t bytes,
			struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_GATHER,
		.send = send,
		.recv = recv,
		.count = bytes,
		.type = RING_UINT8,
		.stream = stream,
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
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_reduce_scatterv(struct ring_comm *comm, const void *send, void *recv, const size_t *counts,
			 enum ring_datatype type, enum ring_op op, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_REDUCE_SCATTERV,
		.send = send,
		.recv = recv,
		.counts = {.send = counts},
		.type = type,
		.op = op,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_all_gatherv(struct ring_comm *comm, const void *send, void *recv, const size_t *counts,
		     const size_t *begins, enum ring_datatype type, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_GATHERV,
		.send = send,
		.recv = recv,
		.counts = {.recv = counts, .recv_at = begins},
		.type = type,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_gatherv(struct ring_comm *comm, const void *send, size_t send_count, void *recv,
		 const size_t *recv_counts, const size_t *recv_begins, enum ring_datatype type,
		 int root, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_GATHERV,
		.send = send,
		.recv = recv,
		.count = send_count,
		.counts = {.recv = recv_counts, .recv_at = recv_begins},
		.type = type,
		.root = root,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_scatterv(struct ring_comm *comm, const void *send, const size_t *send_counts,
		  const size_t *send_begins, void *recv, size_t recv_count, enum ring_datatype type,
		  int root, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_SCATTERV,
		.send = send,
		.recv = recv,
		.count = recv_count,
		.counts = {.send = send_counts, .send_at = send_begins},
		.type = type,
		.root = root,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_all_to_allv(struct ring_comm *comm, const void *send, const size_t *send_counts,
		     const size_t *send_begins, void *recv, const size_t *recv_counts,
		     const size_t *recv_begins, enum ring_datatype type, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_ALL_TO_ALLV,
		.send = send,
		.recv = recv,
		.counts = {send_counts, send_begins, recv_counts, recv_begins},
		.type = type,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}

int ring_barrier(struct ring_comm *comm, struct ring_stream *stream)
{
	const struct ring_request request = {
		.kind = RING_KIND_BARRIER,
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
		.root = peer,
		.stream = stream,
	};
	return ring_submit(comm, &request, false);
}
