/* SPDX-License-Identifier: MIT */
/*
 * A queue pair to the next rank and one from the previous, with one completion queue. Vectors go
 * in pieces, so that some are always under way.
 */
#include "verbs.h"

#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "transport/verbs/pair.h"

#define PIECE_BYTES ((size_t)1 << 20) /* each costs calls and a completion */
#define PIECES 32                     /* under way at most */
#define RECEIVES (2 * PIECES)
#define COMPLETIONS 16 /* taken at once */
#define TOKEN_BYTES 8
#define PEER_LOST_MS 5000
#define WHY 256

enum { TO_NEXT, FROM_PREV, PAIRS };

/* What the others must know, in words of the exchange. */
struct offer {
	uint64_t address; /* of the buffer that is received into */
	uint32_t rkey;
	struct ring_verbs_end ends[PAIRS];
	uint32_t there; /* 0: this rank has none */
	uint32_t unused;
};
_Static_assert(sizeof(struct offer) == 80, "no padding");

struct verbs {
	struct perf_path path;
	struct ring_verbs_port *port;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *pairs[PAIRS];
	struct ibv_mr *memory[2]; /* the buffers, sent from and received into */
	uint64_t address;         /* the next rank's */
	uint32_t rkey;
	uint32_t inline_bytes;
	uint64_t posted, sent;      /* pieces and tokens */
	uint64_t expected, arrived; /* by those calls, and so far */
};

/* ---- making ---- */

static bool post_receives(struct verbs *verbs, int count)
{
	struct ibv_recv_wr request = {0}, *bad;
	for (int i = 0; i < count; i++)
		if (ibv_post_recv(verbs->pairs[FROM_PREV], &request, &bad))
			return false;
	return true;
}

static struct ibv_qp *make_pair(struct verbs *verbs)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = verbs->cq,
		.recv_cq = verbs->cq,
		.cap = {.max_send_wr = PIECES,
			.max_recv_wr = RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = TOKEN_BYTES},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	const struct ring_verbs_port *port = verbs->port;
	struct ibv_qp *pair = port->library->create_qp(port->pd, &attr);
	if (!pair || ring_verbs_pair_initialise(port, pair, IBV_ACCESS_REMOTE_WRITE) == 0) {
		verbs->inline_bytes = pair ? attr.cap.max_inline_data : 0;
		return pair;
	}
	port->library->destroy_qp(pair);
	return NULL;
}

static bool make(struct verbs *verbs, struct perf_buffer buffers[2], struct offer *offer)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = perf_path_ip()};
	struct sockaddr_storage own = {0};
	char why[WHY];
	memcpy(&own, &address, sizeof(address));
	if (ring_verbs_port_hold(&own, &verbs->port, why))
		return false;
	const struct ring_verbs_library *library = verbs->port->library;
	verbs->channel = library->create_comp_channel(verbs->port->context);
	if (verbs->channel)
		verbs->cq = library->create_cq(verbs->port->context, PIECES + RECEIVES, NULL,
					       verbs->channel, 0);
	if (!verbs->cq)
		return false;
	for (int i = 0; i < 2; i++) {
		verbs->memory[i] = (library->reg_mr)(
			verbs->port->pd, buffers[i].mirror, buffers[i].capacity,
			i == 0 ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		verbs->pairs[i] = make_pair(verbs);
		if (!verbs->memory[i] || !verbs->pairs[i])
			return false;
		offer->ends[i] = ring_verbs_pair_end(verbs->port, verbs->pairs[i]);
	}
	offer->address = (uintptr_t)buffers[1].mirror;
	offer->rkey = verbs->memory[1]->rkey;
	offer->there = post_receives(verbs, RECEIVES);
	return offer->there;
}

static bool connect_to(const struct verbs *verbs, int which, const struct offer *own,
		       const struct offer *other)
{
	const struct ring_verbs_end *near = &own->ends[which], *far = &other->ends[!which];
	struct ibv_qp *pair = verbs->pairs[which];
	return other->there && near->ethernet == far->ethernet &&
	       ring_verbs_pair_receive(verbs->port, pair, near, far) == 0 &&
	       ring_verbs_pair_send(verbs->port, pair, near, PEER_LOST_MS) == 0;
}

static void close_verbs(struct perf_path *path)
{
	struct verbs *verbs = (struct verbs *)path;
	const struct ring_verbs_library *library = verbs->port ? verbs->port->library : NULL;
	for (int i = 0; i < 2; i++) {
		if (verbs->pairs[i])
			library->destroy_qp(verbs->pairs[i]);
		if (verbs->memory[i])
			library->dereg_mr(verbs->memory[i]);
	}
	if (verbs->cq)
		library->destroy_cq(verbs->cq);
	if (verbs->channel)
		library->destroy_comp_channel(verbs->channel);
	ring_verbs_port_drop(verbs->port);
	free(verbs);
}

/* ---- moving ---- */

/* Sends what lies at `offset` of the one buffer to where it belongs in the next rank's other. */
static bool post(struct verbs *verbs, size_t offset, size_t bytes)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)verbs->memory[0]->addr + offset,
		.length = (uint32_t)bytes,
		.lkey = verbs->memory[0]->lkey,
	};
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = bytes <= verbs->inline_bytes ? IBV_SEND_INLINE : 0,
		.sg_list = &piece,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = verbs->address + offset, .rkey = verbs->rkey},
	};
	struct ibv_send_wr *bad;
	if (ibv_post_send(verbs->pairs[TO_NEXT], &request, &bad))
		return false;
	verbs->posted++;
	return true;
}

/* returns how many completions were taken in, -1 if one of them tells of a failure */
static int look(struct verbs *verbs)
{
	struct ibv_wc completions[COMPLETIONS];
	int count = ibv_poll_cq(verbs->cq, COMPLETIONS, completions), receives = 0;
	for (int i = 0; i < count; i++) {
		if (completions[i].status != IBV_WC_SUCCESS)
			return -1;
		receives += (completions[i].opcode & IBV_WC_RECV) != 0;
	}
	if (count <= 0)
		return count;
	verbs->arrived += (uint64_t)receives;
	verbs->sent += (uint64_t)(count - receives);
	return post_receives(verbs, receives) ? count : -1;
}

static uint64_t pieces_of(size_t bytes)
{
	return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

static int move(struct perf_path *path, struct perf_buffer buffers[2], size_t to_send,
		size_t to_receive)
{
	struct verbs *verbs = (struct verbs *)path;
	double deadline = perf_now() + PERF_PATH_PATIENCE_S;
	size_t offset = 0;
	(void)buffers;
	verbs->expected += pieces_of(to_receive);
	for (unsigned idle = 0;
	     offset < to_send || verbs->sent < verbs->posted || verbs->arrived < verbs->expected;) {
		while (offset < to_send && verbs->posted - verbs->sent < PIECES) {
			size_t bytes = to_send - offset;
			bytes = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
			if (!post(verbs, offset, bytes))
				return RING_EPEER;
			offset += bytes;
		}
		int taken = look(verbs);
		if (taken < 0)
			return RING_EPEER;
		if (taken > 0)
			continue;
		sched_yield();
		if (++idle % 65536 == 0 && perf_now() > deadline)
			return RING_ETIMEDOUT;
	}
	return 0;
}

static bool pass_token(struct perf_path *path)
{
	struct verbs *verbs = (struct verbs *)path;
	int taken = 1;
	while (taken > 0 && verbs->posted - verbs->sent == PIECES)
		taken = look(verbs);
	return taken >= 0 && post(verbs, 0, TOKEN_BYTES);
}

/* Sleeps until there is a completion that no look has found. */
static void sleep_for_completion(struct verbs *verbs)
{
	struct pollfd readable = {.fd = verbs->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;
	if (poll(&readable, 1, 1000) > 0 &&
	    verbs->port->library->get_cq_event(verbs->channel, &cq, &context) == 0)
		verbs->port->library->ack_cq_events(cq, 1);
}

static bool await_token(struct perf_path *path, bool sleeps)
{
	struct verbs *verbs = (struct verbs *)path;
	double deadline = perf_now() + PERF_PATH_PATIENCE_S;
	bool armed = false;
	verbs->expected++;
	while (verbs->arrived < verbs->expected) {
		int taken = look(verbs);
		if (taken < 0 || perf_now() > deadline)
			return false;
		if (taken > 0)
			continue;
		if (!sleeps) {
			sched_yield();
			continue;
		}
		if (armed)
			sleep_for_completion(verbs);
		armed = !armed && ibv_req_notify_cq(verbs->cq, 0) == 0;
	}
	return true;
}

static const struct perf_path raw = {
	.move = move,
	.pass_token = pass_token,
	.await_token = await_token,
	.close = close_verbs,
};

int perf_verbs_open(struct perf_team *team, struct perf_buffer buffers[2], int prev, int next,
		    struct perf_path **path)
{
	*path = NULL;
	struct verbs *verbs = calloc(1, sizeof(*verbs));
	struct offer *all = calloc((size_t)team->size, sizeof(*all));
	if (!verbs || !all) {
		free(verbs);
		free(all);
		return perf_team_failed(team, RING_ENOMEM, "measuring the limit");
	}
	verbs->path = raw;
	struct offer own = {0};
	bool made = make(verbs, buffers, &own);
	int err = perf_team_gather(team, &own, sizeof(own), all);
	made = !err && made && connect_to(verbs, TO_NEXT, &own, &all[next]) &&
	       connect_to(verbs, FROM_PREV, &own, &all[prev]);
	verbs->address = all[next].address;
	verbs->rkey = all[next].rkey;
	free(all);
	if (made)
		*path = &verbs->path;
	else
		close_verbs(&verbs->path);
	return err;
}
