/* SPDX-License-Identifier: MIT */
/* The calls on streams. Types and operations have the library's numbers. */
#include "group.h"
#include "turn.h"

NCCL_CALL(int, ncclAllReduce, const void *send, void *recv, size_t count, int type, int op,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin_op(&turn, "ncclAllReduce", op, comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_all_reduce(turn.ring, send, recv, count, type,
							     turn.op, turn.stream));
}

NCCL_CALL(int, ncclReduceScatter, const void *send, void *recv, size_t recv_count, int type, int op,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin_op(&turn, "ncclReduceScatter", op, comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_reduce_scatter(turn.ring, send, recv, recv_count,
								 type, turn.op, turn.stream));
}

NCCL_CALL(int, ncclReduce, const void *send, void *recv, size_t count, int type, int op, int root,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin_op(&turn, "ncclReduce", op, comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_reduce(turn.ring, send, recv, count, type,
							 turn.op, root, turn.stream));
}

NCCL_CALL(int, ncclAllGather, const void *send, void *recv, size_t send_count, int type,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin(&turn, "ncclAllGather", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_all_gather(turn.ring, send, recv, send_count,
							     type, turn.stream));
}

NCCL_CALL(int, ncclBroadcast, const void *send, void *recv, size_t count, int type, int root,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin(&turn, "ncclBroadcast", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_broadcast(turn.ring, send, recv, count, type,
							    root, turn.stream));
}

NCCL_CALL(int, ncclBcast, void *buffer, size_t count, int type, int root, struct ncclComm *comm,
	  void *stream)
{
	return pncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

NCCL_CALL(int, ncclGather, const void *send, void *recv, size_t count, int type, int root,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin(&turn, "ncclGather", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_gather(turn.ring, send, recv, count, type, root,
							 turn.stream));
}

NCCL_CALL(int, ncclScatter, const void *send, void *recv, size_t count, int type, int root,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin(&turn, "ncclScatter", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_scatter(turn.ring, send, recv, count, type, root,
							  turn.stream));
}

NCCL_CALL(int, ncclSend, const void *buffer, size_t count, int type, int peer,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin(&turn, "ncclSend", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn,
				      ring_send(turn.ring, buffer, count, type, peer, turn.stream));
}

NCCL_CALL(int, ncclRecv, void *buffer, size_t count, int type, int peer, struct ncclComm *comm,
	  void *stream)
{
	struct nccl_turn turn;
	int result = nccl_turn_begin(&turn, "ncclRecv", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn,
				      ring_recv(turn.ring, buffer, count, type, peer, turn.stream));
}

/*
 * Programs that measure do it in place as well, and look at no result: the library refuses that, so
 * it is what NCCL makes of it, sends and receives whose order nobody has promised.
 */
static int exchange_in_place(char *buffer, size_t count, int type, struct ncclComm *comm,
			     void *stream)
{
	size_t bytes = count * nccl_type_bytes(type);
	int result = pncclGroupStart();
	for (int peer = 0; peer < comm->size && !result; peer++) {
		result = pncclSend(buffer + (size_t)peer * bytes, count, type, peer, comm, stream);
		if (!result)
			result = pncclRecv(buffer + (size_t)peer * bytes, count, type, peer, comm,
					   stream);
	}
	int ended = pncclGroupEnd();
	return result ? result : ended;
}

NCCL_CALL(int, ncclAlltoAll, const void *send, void *recv, size_t count, int type,
	  struct ncclComm *comm, void *stream)
{
	struct nccl_turn turn;
	if (comm && send == recv && count > 0)
		return exchange_in_place(recv, count, type, comm, stream);
	int result = nccl_turn_begin(&turn, "ncclAlltoAll", comm, stream);
	return result ? result
		      : nccl_turn_end(&turn, ring_all_to_all(turn.ring, send, recv, count, type,
							     turn.stream));
}
