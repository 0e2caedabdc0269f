/* SPDX-License-Identifier: MIT */
/*
 * The simulator: a heap of wake-ups, earliest first. A rank that is woken advances its channels
 * until they rest; the links and the device then know which rank to wake next, and when.
 */
#include "simulate.h"

#include <stdlib.h>

#include "base/datatype.h"
#include "engine/channel.h"

struct wake {
	uint64_t time_ns;
	int rank;
};

struct node {
	struct ring_channel *channels;
	struct ring_virtual_wire *wires; /* [wire_count], to each rank that its plans name */
	int *wires_to;                   /* [wire_count] */
	int wire_count;
	uint64_t device_free_ns;
	uint64_t sent_wake_ns; /* the last wake-up requested because of `sent` */
	/* where buffers lie without data: records take some along */
	char input[RING_OPENING_BYTES], output[RING_OPENING_BYTES];
	bool done;
};

struct simulator {
	struct ring_virtual_clock clock; /* first: wake() casts it back */
	const struct ring_simulation_params *params;
	int *order;
	struct node *nodes;            /* by rank */
	struct ring_channel *channels; /* [size][channels] */
	struct wake *heap;
	size_t wakes, room;
	int unfinished;
	int err; /* of wake(), which cannot return it */
};

/* ---- the heap ----------------------------------------------------------------------------- */

static bool is_earlier(struct wake a, struct wake b)
{
	return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.rank < b.rank;
}

static void push_wake(struct ring_virtual_clock *clock, int rank, uint64_t time_ns)
{
	struct simulator *simulator = (struct simulator *)clock;
	if (simulator->wakes == simulator->room) {
		size_t room = simulator->room ? 2 * simulator->room : 1024;
		struct wake *grown = realloc(simulator->heap, room * sizeof(*grown));
		if (!grown) {
			simulator->err = RING_ENOMEM;
			return;
		}
		simulator->heap = grown;
		simulator->room = room;
	}
	struct wake *heap = simulator->heap, wake = {time_ns, rank};
	size_t at = simulator->wakes++;
	for (; at > 0 && is_earlier(wake, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = wake;
}

static struct wake pop_wake(struct simulator *simulator)
{
	struct wake *heap = simulator->heap, first = heap[0];
	size_t count = --simulator->wakes, at = 0;
	struct wake moved = heap[count];
	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && is_earlier(heap[child + 1], heap[child]))
			child++;
		if (!is_earlier(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
	return first;
}

/* ---- the device --------------------------------------------------------------------------- */

/* The jobs of one channel. Their times are known when they are submitted. */
struct ring_device_queue {
	struct ring_device_queue *computes; /* the CPU's, which works at once; NULL: no data */
	struct simulator *simulator;
	int rank;
	uint64_t submitted, done;
	uint64_t *finish_ns; /* [room]: job k at k % room */
	uint64_t room;
};

static int open_queue(int chip, struct ring_device_queue **queue)
{
	(void)chip;
	*queue = calloc(1, sizeof(**queue));
	return *queue ? 0 : RING_ENOMEM;
}

static void close_queue(struct ring_device_queue *queue)
{
	if (queue->computes)
		ring_device_cpu.queue_close(queue->computes);
	free(queue->finish_ns);
	free(queue);
}

static int grow_queue(struct ring_device_queue *queue)
{
	uint64_t room = queue->room ? 2 * queue->room : 8;
	uint64_t *grown = malloc(room * sizeof(*grown));
	if (!grown)
		return RING_ENOMEM;
	for (uint64_t k = queue->done; k < queue->submitted; k++)
		grown[k % room] = queue->finish_ns[k % queue->room];
	free(queue->finish_ns);
	queue->finish_ns = grown;
	queue->room = room;
	return 0;
}

static int submit(struct ring_device_queue *queue, size_t bytes, double bytes_per_second)
{
	struct simulator *simulator = queue->simulator;
	struct node *node = &simulator->nodes[queue->rank];
	uint64_t now = simulator->clock.now_ns;
	if (queue->submitted - queue->done == queue->room && grow_queue(queue) < 0)
		return RING_ENOMEM;
	if (node->device_free_ns < now)
		node->device_free_ns = now;
	if (bytes > 0)
		node->device_free_ns += simulator->params->device.overhead_ns +
					ring_pace_duration(bytes, bytes_per_second);
	queue->finish_ns[queue->submitted++ % queue->room] = node->device_free_ns;
	if (node->device_free_ns > now)
		push_wake(&simulator->clock, queue->rank, node->device_free_ns);
	return 0;
}

static int reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	const struct ring_simulation_params *params = queue->simulator->params;
	if (queue->computes) {
		int err = ring_device_cpu.reduce(queue->computes, reduction);
		if (err)
			return err;
	}
	return submit(queue, reduction->count * ring_datatype_bytes(reduction->type),
		      params->device.reduce_bytes_per_second);
}

static int copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes, bool past)
{
	const struct ring_simulation_params *params = queue->simulator->params;
	if (queue->computes) {
		int err = ring_device_cpu.copy(queue->computes, dst, src, bytes, past);
		if (err)
			return err;
	}
	return submit(queue, bytes, params->device.copy_bytes_per_second);
}

static int finished(struct ring_device_queue *queue, uint64_t *jobs)
{
	uint64_t now = queue->simulator->clock.now_ns;
	while (queue->done < queue->submitted && queue->finish_ns[queue->done % queue->room] <= now)
		queue->done++;
	*jobs = queue->done;
	return 0;
}

static int alloc(int chip, size_t bytes, void **memory)
{
	return ring_device_cpu.alloc(chip, bytes, memory);
}

static void free_memory(void *memory)
{
	ring_device_cpu.free(memory);
}

static const struct ring_device virtual_device = {
	.name = "virtual",
	.alloc = alloc,
	.free = free_memory,
	.queue_open = open_queue,
	.queue_close = close_queue,
	.reduce = reduce,
	.copy = copy,
	.finished = finished,
};

/* ---- setting up --------------------------------------------------------------------------- */

static struct ring_plan plan_of(const struct simulator *simulator, int position, int channel)
{
	const struct ring_simulation_params *params = simulator->params;
	size_t element_bytes = ring_datatype_bytes(params->type);
	struct ring_plan_params plan = {
		.kind = params->kind,
		.algorithm = ring_algorithm_for(params->algorithm, params->kind, params->size,
						params->count * element_bytes, false),
		.size = params->size,
		.position = position,
		.order = simulator->order,
		.root = params->root,
		.count = params->count,
		.in_order = params->in_order,
		.element_bytes = (uint32_t)element_bytes,
		.chunk_bytes = params->chunk_bytes,
		.chunks_per_round = params->chunks_per_round,
		.channel = channel,
		.channels = params->channels,
	};
	return ring_plan_make(&plan);
}

static bool moves_data(const struct simulator *simulator)
{
	return simulator->params->inputs != NULL;
}

static int open_channel(struct simulator *simulator, int position, int channel)
{
	int rank = simulator->order[position];
	struct ring_channel *opened = &simulator->nodes[rank].channels[channel];
	struct ring_plan plan = plan_of(simulator, position, channel);
	/* Without data only its address is used, and what records take along. */
	size_t scratch = moves_data(simulator) ? ring_plan_scratch_bytes(&plan) : RING_OPENING_BYTES;
	int err = ring_channel_open(opened, rank, &virtual_device, 0, scratch);
	if (err)
		return err;
	opened->queue->simulator = simulator;
	opened->queue->rank = rank;
	if (plan.edges > RING_RING_ROUTES)
		err = ring_channel_reserve(opened, simulator->params->size);
	if (err)
		return err;
	return moves_data(simulator) ? ring_device_cpu.queue_open(0, &opened->queue->computes) : 0;
}

/* Makes the wires of the rank at `position`, one to each rank that its plan sends to. */
static int make_wires(struct simulator *simulator, int position)
{
	const struct ring_simulation_params *params = simulator->params;
	int rank = simulator->order[position];
	struct node *node = &simulator->nodes[rank];
	struct ring_plan plan = plan_of(simulator, position, 0);
	size_t room = (size_t)plan.edges + 1;
	bool *seen = calloc((size_t)params->size, sizeof(*seen));
	node->wires = calloc(room, sizeof(*node->wires));
	node->wires_to = calloc(room, sizeof(*node->wires_to));
	bool made = seen && node->wires && node->wires_to;
	for (int i = 0; made && i < plan.edges; i++) {
		bool outgoing;
		int peer = ring_plan_edge(&plan, i, &outgoing);
		if (!outgoing || seen[peer])
			continue;
		seen[peer] = true;
		struct ring_virtual_wire *wire = &node->wires[node->wire_count];
		node->wires_to[node->wire_count++] = peer;
		*wire = (struct ring_virtual_wire){.clock = &simulator->clock,
						   .speed = params->link};
		if (params->link_between)
			params->link_between(params->context, rank, peer, &wire->speed);
	}
	free(seen);
	return made ? 0 : RING_ENOMEM;
}

/* Connects a rank to the ranks at the ends of its wires, on one channel. */
static int connect_channel(struct simulator *simulator, int rank, int channel)
{
	const struct ring_simulation_params *params = simulator->params;
	struct node *node = &simulator->nodes[rank];
	size_t slot_bytes = params->chunk_bytes > sizeof(struct ring_opening)
				    ? params->chunk_bytes
				    : sizeof(struct ring_opening);
	for (int i = 0; i < node->wire_count; i++) {
		int peer = node->wires_to[i];
		struct ring_link_params link = {.self = rank,
						.peer = peer,
						.depth = (unsigned)params->depth,
						.slot_bytes = slot_bytes};
		struct ring_link *ends[2];
		int err = ring_virtual_connect(&node->wires[i], &link, moves_data(simulator), ends);
		if (err)
			return err;
		ring_channel_add_link(&node->channels[channel], ends[0]);
		ring_channel_add_link(&simulator->nodes[peer].channels[channel], ends[1]);
	}
	return 0;
}

static int open_all(struct simulator *simulator)
{
	const struct ring_simulation_params *params = simulator->params;
	for (int i = 0; i < params->size; i++) {
		simulator->nodes[i].channels = simulator->channels + (size_t)i * params->channels;
		int err = make_wires(simulator, i);
		if (err)
			return err;
	}
	for (int c = 0; c < params->channels; c++) {
		for (int i = 0; i < params->size; i++) {
			int err = open_channel(simulator, i, c);
			if (err)
				return err;
		}
		for (int rank = 0; rank < params->size; rank++) {
			int err = connect_channel(simulator, rank, c);
			if (err)
				return err;
		}
	}
	return 0;
}

static bool uses_links(const struct ring_simulation_params *params)
{
	return !ring_algorithm_has(params->algorithm, RING_NEEDS_STAGES | RING_NEEDS_REACH);
}

static bool are_valid(const struct ring_simulation_params *params)
{
	return !ring_kind_is_message(params->kind) && uses_links(params) && params->size > 0 &&
	       params->root >= 0 && params->root < params->size && params->channels > 0 &&
	       params->chunks_per_round > 0 && params->chunk_bytes > 0 && params->depth > 0 &&
	       params->depth <= RING_DEPTH_MAX && ring_datatype_bytes(params->type) > 0 &&
	       !params->inputs == !params->outputs;
}

static int make_simulator(struct simulator *simulator, const struct ring_simulation_params *params)
{
	size_t size = (size_t)params->size;
	*simulator = (struct simulator){.clock = {.wake = push_wake}, .params = params};
	simulator->order = calloc(size, sizeof(*simulator->order));
	simulator->nodes = calloc(size, sizeof(*simulator->nodes));
	simulator->channels = calloc(size * params->channels, sizeof(*simulator->channels));
	if (!simulator->order || !simulator->nodes || !simulator->channels)
		return RING_ENOMEM;
	for (int i = 0; i < params->size; i++)
		simulator->order[i] = params->order ? params->order[i] : i;
	simulator->unfinished = params->size;
	return open_all(simulator);
}

static void free_simulator(struct simulator *simulator)
{
	size_t channels = (size_t)simulator->params->size * simulator->params->channels;
	for (size_t i = 0; simulator->channels && i < channels; i++)
		ring_channel_close(&simulator->channels[i]);
	for (int i = 0; simulator->nodes && i < simulator->params->size; i++) {
		free(simulator->nodes[i].wires);
		free(simulator->nodes[i].wires_to);
	}
	free(simulator->channels);
	free(simulator->nodes);
	free(simulator->order);
	free(simulator->heap);
}

/* ---- running ------------------------------------------------------------------------------ */

/*
 * A rank's output without data. Small ones travel with records; nothing reads larger ones, which
 * lie where no input does.
 */
static char *output_without_data(const struct simulator *simulator, int rank)
{
	const struct ring_simulation_params *params = simulator->params;
	bool parts = ring_kind_has_parts_in(params->kind) || ring_kind_has_parts_out(params->kind);
	bool small = !parts &&
		     params->count <= RING_OPENING_BYTES / ring_datatype_bytes(params->type);
	return small ? simulator->nodes[rank].output : (char *)(((uintptr_t)rank + 1) << 40);
}

static void enter(struct simulator *simulator, int position)
{
	const struct ring_simulation_params *params = simulator->params;
	int rank = simulator->order[position];
	bool data = moves_data(simulator);
	struct ring_operands operands = {
		.input = data ? params->inputs[rank] : simulator->nodes[rank].input,
		.output = data ? params->outputs[rank] : output_without_data(simulator, rank),
		.type = params->type,
		.op = params->op,
		.divisor = params->op == RING_AVG ? (uint64_t)params->size : 1,
	};
	struct ring_record record = ring_record_make(params->kind, 1, params->count, params->type,
						     params->op, params->root);
	for (int c = 0; c < params->channels; c++) {
		struct ring_plan plan = plan_of(simulator, position, c);
		ring_channel_start(&simulator->nodes[rank].channels[c], &plan, &operands, &record);
	}
	push_wake(&simulator->clock, rank, params->enter_ns ? params->enter_ns[rank] : 0);
}

/*
 * When a resting channel goes on because a message has left; RING_NEVER if it does not wait for
 * that, which is usual: it waits for its next message.
 */
static uint64_t waits_for_sent(const struct ring_channel *channel)
{
	if (channel->call.sent == channel->call.posted)
		return RING_NEVER;
	if (channel->call.started < channel->call.plan->incoming &&
	    ring_plan_incoming(channel->call.plan, channel->call.started).needs <= channel->call.sent)
		return RING_NEVER;
	uint64_t earliest = RING_NEVER;
	for (int i = 0; i < channel->route_count; i++) {
		const struct ring_link *out = channel->routes[i].out;
		uint64_t sent_ns = out ? ring_virtual_sent_ns(out) : RING_NEVER;
		earliest = sent_ns < earliest ? sent_ns : earliest;
	}
	return earliest;
}

/* Advances a rank's channels until they rest. returns whether all are done, or an error */
static int advance(struct simulator *simulator, int rank)
{
	struct node *node = &simulator->nodes[rank];
	int done = 0;
	uint64_t sent_ns = RING_NEVER;
	for (int c = 0; c < simulator->params->channels; c++) {
		struct ring_channel *channel = &node->channels[c];
		int moves;
		do
			moves = ring_channel_advance(channel);
		while (moves > 0);
		if (moves < 0)
			return moves;
		done += ring_channel_is_done(channel);
		uint64_t channel_ns = waits_for_sent(channel);
		sent_ns = channel_ns < sent_ns ? channel_ns : sent_ns;
	}
	if (sent_ns != RING_NEVER && sent_ns != node->sent_wake_ns) {
		node->sent_wake_ns = sent_ns;
		push_wake(&simulator->clock, rank, sent_ns);
	}
	return done == simulator->params->channels;
}

static int run(struct simulator *simulator, struct ring_simulation *simulation)
{
	const uint64_t *enter_ns = simulator->params->enter_ns;
	for (int i = 0; i < simulator->params->size; i++)
		enter(simulator, i);
	while (simulator->wakes > 0 && !simulator->err) {
		struct wake wake = pop_wake(simulator);
		struct node *node = &simulator->nodes[wake.rank];
		if (node->done || (enter_ns && wake.time_ns < enter_ns[wake.rank]))
			continue;
		simulator->clock.now_ns = wake.time_ns;
		simulation->wakes++;
		int done = advance(simulator, wake.rank);
		if (done < 0)
			return done;
		if (!done)
			continue;
		node->done = true;
		simulator->unfinished--;
		simulation->finish_ns[wake.rank] = simulation->end_ns = wake.time_ns;
	}
	if (simulator->err)
		return simulator->err;
	return simulator->unfinished ? RING_ETIMEDOUT : 0;
}

static void count_bytes(const struct simulator *simulator, struct ring_simulation *simulation)
{
	for (int rank = 0; rank < simulator->params->size; rank++)
		for (int c = 0; c < simulator->params->channels; c++) {
			const struct ring_channel *channel = &simulator->nodes[rank].channels[c];
			for (int i = 0; i < channel->route_count; i++)
				simulation->sent_bytes[rank] += channel->routes[i].sent_bytes;
		}
	struct ring_plan plan = plan_of(simulator, 0, 0);
	simulation->steps = ring_plan_cost(&plan).steps;
}

int ring_simulate(const struct ring_simulation_params *params, struct ring_simulation *simulation)
{
	if (!are_valid(params))
		return RING_EINVAL;
	struct ring_simulation made = {
		.finish_ns = calloc((size_t)params->size, sizeof(uint64_t)),
		.sent_bytes = calloc((size_t)params->size, sizeof(uint64_t)),
	};
	struct simulator simulator = {.params = params};
	int err = made.finish_ns && made.sent_bytes ? make_simulator(&simulator, params)
						    : RING_ENOMEM;
	if (!err)
		err = run(&simulator, &made);
	if (!err) {
		count_bytes(&simulator, &made);
		*simulation = made;
	} else {
		ring_simulation_free(&made);
	}
	free_simulator(&simulator);
	return err;
}

void ring_simulation_free(struct ring_simulation *simulation)
{
	free(simulation->finish_ns);
	free(simulation->sent_bytes);
	*simulation = (struct ring_simulation){0};
}
