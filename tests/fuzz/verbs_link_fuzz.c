/* SPDX-License-Identifier: MIT */
/*
 * A link over verbs whose other end offers anything and has anything land, and whose device, which
 * is made up here, completes anything: it may refuse, it may not ask the device for what cannot be,
 * nor show it.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ringccl.h"
#include "base/fd.h"
#include "transport/verbs/link.h"

#define DEPTH 3
#define SLOT_BYTES ((size_t)RING_VERBS_LANDS + 300)
#define STRIDE (SLOT_BYTES + 20)
#define PLACE_BYTES (2 * SLOT_BYTES) /* that last, and are landed in */

static const uint8_t *input;
static size_t left;
static unsigned receives, requests; /* that were posted and did not complete */
static unsigned char place[PLACE_BYTES];
static struct ring_arrival expected[DEPTH]; /* message k's landing at k % DEPTH; NULL: it has none */

static uint8_t next_byte(void)
{
	return left > 0 ? left--, *input++ : 0;
}

/* ---- the device ---- */

static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)request;
	(void)bad;
	assert(++receives <= 3 * DEPTH + 1);
	return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	assert(++requests <= 4 * DEPTH);
	if (request->num_sge > 0)
		assert(request->sg_list->length - 1 < SLOT_BYTES);
	if (request->num_sge > 0 && ntohl(request->imm_data) >> 31)
		assert(request->wr.rdma.remote_addr + request->sg_list->length >=
		       request->wr.rdma.remote_addr);
	return 0;
}

/* A landing that is right but for what the input says. */
static void write_landing(const struct ring_verbs_sender *sender)
{
	const uint64_t number = sender->posted + next_byte() % DEPTH;
	struct ring_verbs_landing *landing = &sender->landings[number % DEPTH];
	*landing = (struct ring_verbs_landing){number, (uintptr_t)place, 2, RING_VERBS_LANDS + 30};
	if (next_byte() % 4 == 0)
		landing->address = UINT64_MAX - next_byte();
	unsigned char *bytes = (unsigned char *)landing;
	for (unsigned turned = next_byte() % 4; turned > 0; turned--)
		bytes[next_byte() % sizeof(*landing)] ^= next_byte();
}

/* Nothing, or a completion that is right but for what the input says. */
static int poll_queue(struct ibv_cq *cq, int room, struct ibv_wc *completion)
{
	const struct ring_verbs_link *link = cq->cq_context;
	const struct ring_verbs_sender *sender = (const struct ring_verbs_sender *)link;
	const uint8_t what = next_byte();
	assert(room > 0);
	const bool is_receive = link->base.outgoing ? what & 1 : cq == link->queue.cq;
	unsigned *open = is_receive ? &receives : &requests;
	if (what < 64 || *open == 0)
		return 0;
	--*open;
	const bool strange = what & 8; /* what a peer may send, and does not */
	uint64_t due = link->base.arrived;
	if (link->base.outgoing)
		due = sender->freed + (sender->posted > sender->freed) +
		      ((sender->posted + 2) << 15) + (UINT64_C(1) << 30);
	if (link->base.outgoing && what & 16)
		write_landing(sender);
	if (is_receive && link->stage == RING_VERBS_TRIED && what & 32)
		ring_verbs_packet_fill(link->trial.packet, ring_verbs_packet_bytes(link),
				       &link->other.end);
	*completion = (struct ibv_wc){
		.status = what >= 250 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS,
		.opcode = !is_receive ? IBV_WC_RDMA_WRITE
			  : strange   ? IBV_WC_RECV
				      : IBV_WC_RECV_RDMA_WITH_IMM,
		.byte_len = 1 + next_byte(),
		.imm_data = htonl((uint32_t)due),
	};
	if (what & 2)
		completion->imm_data = htonl((uint32_t)due + next_byte());
	if (what & 4)
		completion->byte_len = (uint32_t)next_byte() << next_byte() % 24;
	if (link->stage == RING_VERBS_OPEN && what & 32) { /* it landed, as it says */
		completion->imm_data |= htonl(UINT32_C(1) << 31);
		completion->byte_len = RING_VERBS_LANDS + next_byte() % 2;
	}
	return 1;
}

static int modify_pair(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	if (mask & IBV_QP_PATH_MTU)
		assert(attr->path_mtu >= IBV_MTU_256 && attr->path_mtu <= IBV_MTU_4096);
	if (mask & IBV_QP_DEST_QPN)
		assert(attr->dest_qp_num >> 24 == 0 && attr->rq_psn >> 24 == 0);
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)context;
	(void)port;
	(void)attr;
	return 1;
}

static const char *status_words(enum ibv_wc_status status)
{
	(void)status;
	return "it failed";
}

static int end_pair(struct ibv_qp *qp)
{
	(void)qp;
	return 0;
}

static int end_queue(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}

static struct ibv_mr place_mr = {.lkey = 2, .rkey = 2};

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *memory, size_t bytes, int access)
{
	(void)pd;
	(void)access;
	assert(memory == place && bytes == PLACE_BYTES);
	return &place_mr;
}

static int end_memory(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}

static const struct ring_verbs_library library = {
	.reg_mr = register_memory,
	.dereg_mr = end_memory,
	.modify_qp = modify_pair,
	.query_port = query_port,
	.wc_status_str = status_words,
	.destroy_qp = end_pair,
	.destroy_cq = end_queue,
};
static struct ibv_context device = {
	.ops = {.post_recv = post_receive, .post_send = post_send, .poll_cq = poll_queue},
};

/* ---- the link ---- */

/* As ring_verbs_queue_make() leaves one. */
static struct ring_verbs_link *make_link(int fd, bool outgoing, struct ring_verbs_port *port,
					 struct ibv_qp *qp, struct ibv_cq cqs[2], struct ibv_mr *mr)
{
	struct ring_link *base;
	struct ring_link_params params = {.fd = fd,
					  .outgoing = outgoing,
					  .peer = 1,
					  .depth = DEPTH,
					  .slot_bytes = SLOT_BYTES,
					  .peer_lost_ms = 1000};
	if (ring_transport_verbs.open(&params, &base))
		abort();
	struct ring_verbs_link *link = (struct ring_verbs_link *)base;
	link->port = port;
	link->queue.qp = qp;
	link->queue.cq = &cqs[0];
	link->queue.notice_cq = outgoing ? NULL : &cqs[1];
	const size_t bytes = DEPTH * (STRIDE + sizeof(struct ring_verbs_landing));
	unsigned char *memory = malloc(bytes + RING_VERBS_PACKET);
	link->slots = (struct ring_verbs_slots){mr, memory, STRIDE};
	link->trial.packet = memory + bytes;
	if (outgoing)
		ring_verbs_sender(base)->landings = (void *)(memory + DEPTH * STRIDE);
	link->queue.inline_bytes = DEPTH * sizeof(struct ring_verbs_landing);
	link->stage = RING_VERBS_OFFERED;
	link->own = (struct ring_verbs_offer){.magic = RING_VERBS_MAGIC,
					      .depth = DEPTH,
					      .slot_bytes = SLOT_BYTES,
					      .end = {.mtu = IBV_MTU_1024, .ethernet = 1}};
	cqs[0].cq_context = cqs[1].cq_context = link;
	requests = 0;
	receives = 0;
	if (!ring_verbs_post_receives(link, ring_verbs_receives(base)))
		abort();
	return link;
}

/* An offer with bits turned, that the other end is ready, and that the trial came through. */
static void say(int peer, const struct ring_verbs_offer *right)
{
	unsigned char words[sizeof(*right) + 2];
	memcpy(words, right, sizeof(*right));
	words[sizeof(*right)] = 'r';
	words[sizeof(*right) + 1] = 't';
	for (unsigned turned = next_byte() % 4; turned > 0; turned--)
		words[next_byte() % sizeof(*right)] ^= next_byte();
	(void)!write(peer, words, sizeof(words));
}

/* Where message k may lie: in its slot, or in its landing. */
static void check_place(struct ring_verbs_link *link, uint64_t k)
{
	const struct ring_arrival *arrival = ring_link_arrival(&link->base, k);
	const struct ring_arrival *landing = &expected[k % DEPTH];
	assert(arrival->bytes - 1 < SLOT_BYTES);
	assert(arrival->data == link->slots.start + k % DEPTH * STRIDE ||
	       (arrival->data == landing->data && arrival->bytes == landing->bytes));
}

static void expect(struct ring_link *link, uint8_t what)
{
	struct ring_arrival landing = {what & 2 ? place + what : NULL,
				       RING_VERBS_LANDS + what / 128};
	expected[ring_verbs_receiver(link)->expected % DEPTH] = landing;
	ring_link_expect(link, landing.bytes, (void *)landing.data);
}

static void use(struct ring_link *link)
{
	static const unsigned char source[SLOT_BYTES];
	struct ring_verbs_link *verbs = (struct ring_verbs_link *)link;
	int err = 0;
	while (left > 0 && !err) {
		const uint8_t what = next_byte();
		if (link->outgoing && what & 1)
			err = ring_link_send(link, what & 2 ? source : place,
					     what & 4 ? RING_VERBS_LANDS + 30 : 1 + what);
		else if (!link->outgoing && what & 1 && link->released < link->arrived)
			ring_link_release(link);
		else if (!link->outgoing &&
			 ring_verbs_receiver(link)->expected < link->released + DEPTH)
			expect(link, what);
		if (!err || err == RING_EAGAIN)
			err = ring_link_poll(link);
		assert(link->arrived - link->released <= DEPTH);
		for (uint64_t k = link->released; k < link->arrived; k++)
			check_place(verbs, k);
		assert(!link->outgoing || link->sent <= ring_verbs_sender(link)->posted);
		if (!link->outgoing && what == 255)
			ring_link_withdraw(link);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ring_verbs_port port = {.library = &library,
				       .context = &device,
				       .generation = ring_fork_generation() + 1}; /* never dropped */
	struct ibv_qp qp = {.context = &device};
	struct ibv_cq cqs[2] = {{.context = &device}, {.context = &device}};
	struct ibv_mr mr = {.lkey = 1};
	int fds[2];
	if (size < 4 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		return 0;
	memset(expected, 0, sizeof(expected));
	input = data;
	left = size;
	struct ring_verbs_link *link = make_link(fds[0], next_byte() & 1, &port, &qp, cqs, &mr);
	void *slots = link->slots.start;
	struct ring_region *region = ring_region_add(
		&(struct ring_region){.start = place, .bytes = PLACE_BYTES, .fd = -1});
	say(fds[1], &link->own);
	int err = RING_EAGAIN;
	while (left > 0 && err == RING_EAGAIN)
		err = ring_link_finish(&link->base);
	if (err == 0)
		use(&link->base);
	link->slots.start = NULL; /* not a mapping of its own */
	link->slots.mr = NULL;
	ring_link_close(&link->base);
	ring_region_release(region);
	free(slots);
	close(fds[1]);
	return 0;
}
