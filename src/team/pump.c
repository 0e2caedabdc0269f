/* SPDX-License-Identifier: MIT */
/* FIFOs at one end, links at the other; see pump.h. */
#include "pump.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/held.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/waits.h"
#include "engine/wait.h"
#include "failure.h"
#include "links.h"
#include "pairs.h"
#include "team.h"
#include "transport/sealed.h"
#include "transport/slot_fifo.h"

enum { OUT, IN }; /* the next rank's way, and that from the one before */

/* One way of a channel. */
struct lane {
	struct ring_fifo_end end; /* the pump's, of the FIFO that the kernel has the other end of */
	struct ring_link *link;
	size_t waiting;   /* OUT: bytes of a message that was seen, and the link has no room for */
	uint64_t lost_ms; /* since when nothing comes of waiting for the link; 0: it is well */
	uint64_t mark;    /* OUT: this many messages are of the call that was asked about */
};

struct ring_pump {
	const struct ring_team *team;
	const struct ring_device_calls *calls;
	struct ring_device_engine *engine;
	const struct ring_bell *bell;
	struct ring_channel *channels; /* which have the links, and do nothing */
	struct lane *lanes[2];         /* [calls->channels] */
	struct ring_device_fifo *fifos[2];
	struct ring_device_wires wires;
	uint64_t marked; /* the call that was asked about */
	size_t bytes;    /* that it holds, with links whose slots are all in use */

	pthread_t thread;
	bool has_thread;
	struct ring_flag over;
	struct ring_flag broken;
	struct ring_channel *broke; /* once that is raised, ... */
	uint64_t broke_ms;          /* ... which was then */
	pthread_mutex_t lock;
	pthread_cond_t given;
	uint64_t launched; /* with the lock: the last call */
	bool launching;    /* likewise: the next one may be under way */
	/* likewise: of the communicator, if calls of graphs may be at any time; NULL: none is */
	struct ring_comm_failure *failure;
};

/* ---- moving ---------------------------------------------------------------------------------- */

/* The link ended, or one end of it says nonsense: nothing more comes of it. */
static void lose(struct lane *lane)
{
	lane->lost_ms = ring_clock_ms();
}

/* Hands on what the kernel has written. returns the moves, or RING_EPEER */
static int send_on(struct lane *lane)
{
	struct ring_fifo_end *end = &lane->end;
	for (int moves = 0;; moves++) {
		if (lane->waiting == 0 && !ring_fifo_see_message(end, &lane->waiting))
			return RING_EPEER;
		if (lane->waiting == 0)
			return moves;
		int err = ring_link_send(lane->link,
					 ring_fifo_place(end, end->theirs - 1, lane->waiting),
					 lane->waiting);
		if (err)
			return err == RING_EAGAIN ? moves : err;
		lane->waiting = 0;
	}
}

/* Gives slots back whose messages are under way without anybody's help. */
static int retire(struct lane *lane)
{
	int moves = 0;
	for (; lane->end.mine < lane->link->sent; moves++)
		ring_fifo_release(&lane->end);
	return moves;
}

static int move_out(struct lane *lane)
{
	int moves = send_on(lane);
	int err = moves < 0 ? moves : ring_link_poll(lane->link);
	int retired = retire(lane); /* whoever has got all may be gone */
	return err ? err : moves + retired;
}

static bool has_room(struct ring_fifo_end *end)
{
	return ring_fifo_has_room(end) || (ring_fifo_see_head(end) && ring_fifo_has_room(end));
}

/* What came before the link ended still counts. */
static int move_in(struct lane *lane)
{
	struct ring_link *link = lane->link;
	struct ring_fifo_end *end = &lane->end;
	int moves = 0, err = ring_link_poll(link);
	for (; link->released < link->arrived && has_room(end); moves++) {
		const struct ring_arrival *arrival = ring_link_arrival(link, link->released);
		if (arrival->bytes > end->slot_bytes)
			return RING_EPEER;
		memcpy(ring_fifo_place(end, end->mine, arrival->bytes), arrival->data,
		       arrival->bytes);
		ring_fifo_put(end, arrival->bytes);
		ring_link_release(link);
	}
	return link->released < link->arrived ? moves : moves > 0 ? moves : err;
}

/* Moves all that can be. returns how many moves that were */
static int move(struct ring_pump *pump)
{
	int all = 0;
	for (int way = OUT; way <= IN; way++)
		for (int c = 0; c < pump->calls->channels; c++) {
			struct lane *lane = &pump->lanes[way][c];
			int moves = 0;
			if (!lane->lost_ms)
				moves = way == OUT ? move_out(lane) : move_in(lane);
			if (moves < 0)
				lose(lane);
			else
				all += moves;
		}
	return all;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Also if nobody looks there any more, as the link is lost. */
static bool is_sent(const struct lane *lane)
{
	const struct ring_fifo_end *end = &lane->end;
	return ring_fifo_count_put(end->fifo, end->depth) <= ring_fifo_count_released(end->fifo);
}

static bool all_is_sent(const struct ring_pump *pump)
{
	int c = 0;
	while (c < pump->calls->channels && is_sent(&pump->lanes[OUT][c]))
		c++;
	return c == pump->calls->channels;
}

/* With the lock. */
static bool is_needed(const struct ring_pump *pump)
{
	int peer;
	struct ring_record theirs;
	return pump->launching || !all_is_sent(pump) ||
	       pump->calls->ended(pump->engine, pump->launched, &peer, &theirs) == RING_EAGAIN;
}

/* Whether a call still needs what the link is to carry. What has arrived the kernel has first. */
static bool is_missed(struct lane *lane, int way)
{
	if (way == OUT)
		return !is_sent(lane);
	return ring_fifo_see_head(&lane->end) && lane->end.theirs == lane->end.mine;
}

/* Those that run calls hear of a death by control lanes first: it says more. */
static void look_for_broken(struct ring_pump *pump)
{
	const uint64_t now_ms = ring_clock_ms();
	for (int way = OUT; way <= IN; way++)
		for (int c = 0; c < pump->calls->channels; c++) {
			struct lane *lane = &pump->lanes[way][c];
			if (!lane->lost_ms || ring_flag_is_raised(&pump->broken))
				continue;
			if (!is_missed(lane, way))
				lane->lost_ms = now_ms;
			if (now_ms - lane->lost_ms < RING_LEFT_MS)
				continue;
			pump->broke = &pump->channels[c];
			pump->broke->failed_peer = lane->link->peer;
			pump->broke_ms = now_ms;
			ring_flag_raise(&pump->broken);
			ring_bell_ring(pump->bell);
		}
}

/* Nobody is in a graph's call who would tell: the bell was rung in vain. */
static void tell_of_broken(struct ring_pump *pump, struct ring_comm_failure *failure)
{
	char who[RING_RANK_TEXT];
	if (!failure || !ring_flag_is_raised(&pump->broken) ||
	    ring_clock_ms() - pump->broke_ms < RING_NEWS_MS || ring_comm_failed(failure))
		return;
	const int peer = pump->broke->failed_peer;
	ring_comm_fail(failure, RING_EPEER, peer,
		       "the link between rank %d and %s closed while a call of a graph needs it, "
		       "and nobody heard of a death; did it leave the communicator?",
		       pump->team->rank, ring_team_rank_text(pump->team, peer, who));
}

/* No bell rings when a kernel writes; what comes over a socket wakes it at once. */
static void nap(const struct ring_pump *pump, long longest_ns)
{
	const struct timespec longest = {.tv_nsec = longest_ns};
	struct pollfd fds[2 * RING_PUMP_CHANNELS];
	nfds_t count = 0;
	for (int way = OUT; way <= IN; way++)
		for (int c = 0; c < pump->calls->channels; c++) {
			const struct lane *lane = &pump->lanes[way][c];
			short events = 0;
			int fd = lane->lost_ms ? -1 : ring_link_wait_fd(lane->link, &events);
			if (fd >= 0 && events)
				fds[count++] = (struct pollfd){.fd = fd, .events = events};
		}
	ppoll(fds, count, &longest, NULL);
}

/*
 * Until the next call, if none is under way. That one of a graph is, only its messages tell, so
 * with those it never sleeps, and looks less often where many looks were in vain.
 */
static void rest(struct ring_pump *pump, int rests)
{
	bool slept = false, needed;
	pthread_mutex_lock(&pump->lock);
	while (!(needed = is_needed(pump)) && !pump->failure && !ring_flag_is_raised(&pump->over)) {
		slept = true;
		pthread_cond_wait(&pump->given, &pump->lock);
	}
	struct ring_comm_failure *failure = pump->failure;
	pthread_mutex_unlock(&pump->lock);
	if (slept)
		return;
	if (needed)
		look_for_broken(pump);
	tell_of_broken(pump, failure);
	nap(pump, needed || rests < RING_PUMP_NAPS ? RING_PUMP_NAP_NS : RING_PUMP_DOZE_NS);
}

static void *serve(void *argument)
{
	struct ring_pump *pump = argument;
	const struct ring_load load = {.crowded = true, .sockets = true};
	const struct ring_patience patience = ring_patience_choose(&load);
	for (int looks = 0, rests = 0; !ring_flag_is_raised(&pump->over);) {
		if (move(pump) > 0) {
			looks = rests = 0;
			continue;
		}
		if (looks == 0)
			ring_bell_ring(pump->bell);
		if (ring_wait_awake(&patience, looks, true))
			looks++;
		else
			rest(pump, rests += rests < RING_PUMP_NAPS);
	}
	return NULL;
}

/* ---- for others ------------------------------------------------------------------------------ */

void ring_pump_launching(struct ring_pump *pump)
{
	pthread_mutex_lock(&pump->lock);
	pump->launching = true;
	pthread_cond_signal(&pump->given);
	pthread_mutex_unlock(&pump->lock);
}

void ring_pump_launched(struct ring_pump *pump, uint64_t number)
{
	pthread_mutex_lock(&pump->lock);
	pump->launching = false;
	if (number)
		pump->launched = number;
	pthread_mutex_unlock(&pump->lock);
}

void ring_pump_be_captured(struct ring_pump *pump, struct ring_comm_failure *failure)
{
	pthread_mutex_lock(&pump->lock);
	pump->failure = failure;
	pthread_cond_signal(&pump->given);
	pthread_mutex_unlock(&pump->lock);
}

void ring_pump_finish(const struct ring_pump *pump, uint64_t until_ms)
{
	while (!all_is_sent(pump) && !ring_flag_is_raised(&pump->over) &&
	       !ring_flag_is_raised(&pump->broken) && ring_clock_ms() < until_ms)
		nanosleep(&(struct timespec){.tv_nsec = RING_PUMP_NAP_NS}, NULL);
}

/* What has been put by the time that a call has ended has all that is of it. */
bool ring_pump_has_sent(struct ring_pump *pump, uint64_t number)
{
	const bool first = pump->marked != number;
	bool has = true;
	pump->marked = number;
	for (int c = 0; c < pump->calls->channels; c++) {
		struct lane *lane = &pump->lanes[OUT][c];
		if (first)
			lane->mark = ring_fifo_count_put(lane->end.fifo, lane->end.depth);
		has = has && ring_fifo_count_released(lane->end.fifo) >= lane->mark;
	}
	return has;
}

const struct ring_channel *ring_pump_broken(const struct ring_pump *pump)
{
	return ring_flag_is_raised(&pump->broken) ? pump->broke : NULL;
}

const struct ring_device_wires *ring_pump_wires(const struct ring_pump *pump)
{
	return &pump->wires;
}

size_t ring_pump_bytes(const struct ring_pump *pump)
{
	return pump ? pump->bytes : 0;
}

/* ---- from make to free ----------------------------------------------------------------------- */

static void make_fifo(struct ring_pump *pump, int way, int c, const struct ring_device_fifo *shape)
{
	const int channels = pump->calls->channels;
	const size_t each = pump->wires.bytes / (2 * (size_t)channels);
	char *memory = (char *)pump->wires.memory + each * (size_t)(way * channels + c);
	struct ring_fifo *fifo = (struct ring_fifo *)(void *)memory;
	fifo->depth = shape->depth;
	fifo->slot_bytes = shape->slot_bytes;
	pump->lanes[way][c].end = (struct ring_fifo_end){.fifo = fifo,
							 .depth = shape->depth,
							 .slot_bytes = shape->slot_bytes};
	pump->fifos[way][c] = *shape;
	pump->fifos[way][c].head = &fifo->head;
	pump->fifos[way][c].flags = fifo->flags;
	pump->fifos[way][c].slots = fifo->slots;
}

/* Whole pages, in which nothing else lies. */
static int make_fifos(struct ring_pump *pump, const struct ring_device_fifo *shape)
{
	const size_t count = 2 * (size_t)pump->calls->channels;
	const size_t bytes = ring_sealed_memory(ring_fifo_memory(shape->depth, shape->slot_bytes));
	void *memory = mmap(NULL, count * bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return RING_ENOMEM;
	pump->wires = (struct ring_device_wires){.memory = memory,
						 .bytes = count * bytes,
						 .to_next = pump->fifos[OUT],
						 .from_before = pump->fifos[IN]};
	for (int way = OUT; way <= IN; way++)
		for (int c = 0; c < pump->calls->channels; c++)
			make_fifo(pump, way, c, shape);
	return 0;
}

static int open_all(struct ring_pump *pump, const struct ring_device_team *ranks)
{
	const size_t channels = (size_t)pump->calls->channels;
	pump->channels = calloc(channels, sizeof(*pump->channels));
	for (int way = OUT; way <= IN; way++) {
		pump->lanes[way] = calloc(channels, sizeof(*pump->lanes[way]));
		pump->fifos[way] = calloc(channels, sizeof(*pump->fifos[way]));
	}
	if (!pump->channels || !pump->lanes[OUT] || !pump->lanes[IN] || !pump->fifos[OUT] ||
	    !pump->fifos[IN])
		return RING_ENOMEM;
	const struct ring_device_fifo shape = pump->calls->fifo(ranks);
	int err = make_fifos(pump, &shape);
	for (size_t c = 0; c < channels && !err; c++)
		err = ring_channel_open(&pump->channels[c], pump->team->rank, &ring_device_cpu, 0,
					0);
	return err;
}

struct ring_pump *ring_pump_make(const struct ring_team *team, const struct ring_device_calls *calls,
				 const struct ring_device_team *ranks)
{
	struct ring_pump *pump = calloc(1, sizeof(*pump));
	if (!pump)
		return NULL;
	pump->team = team;
	pump->calls = calls;
	pthread_mutex_init(&pump->lock, NULL);
	pthread_cond_init(&pump->given, NULL);
	if (!open_all(pump, ranks))
		return pump;
	ring_pump_free(pump);
	return NULL;
}

int ring_pump_want_links(struct ring_pump *pump, struct ring_pairs *pairs)
{
	const struct ring_placement *placement = &pump->team->placement;
	int err = 0;
	for (int c = 0; c < pump->calls->channels && !err; c++) {
		const int number = RING_CHANNEL_PUMP + c;
		err = ring_pairs_want_link(pairs, &pump->channels[c], number, placement->next.rank,
					   true);
		if (!err)
			err = ring_pairs_want_link(pairs, &pump->channels[c], number,
						   placement->prev.rank, false);
	}
	return err;
}

/* Links count what they hold as they go, for the thread that moves them alone. */
static size_t count_bytes(const struct ring_pump *pump)
{
	size_t bytes = sizeof(*pump) + pump->wires.bytes;
	for (int c = 0; c < pump->calls->channels; c++) {
		void *slots;
		bytes += sizeof(*pump->channels) + ring_channel_memory(&pump->channels[c]) +
			 ring_link_slots(pump->lanes[IN][c].link, &slots);
	}
	return bytes;
}

int ring_pump_start(struct ring_pump *pump, struct ring_device_engine *engine,
		    const struct ring_bell *bell)
{
	const struct ring_placement *placement = &pump->team->placement;
	pump->engine = engine;
	pump->bell = bell;
	for (int c = 0; c < pump->calls->channels; c++) {
		const struct ring_channel *channel = &pump->channels[c];
		pump->lanes[OUT][c].link = ring_channel_link(channel, placement->next.rank, true);
		pump->lanes[IN][c].link = ring_channel_link(channel, placement->prev.rank, false);
	}
	pump->bytes = count_bytes(pump);
	int cause = ring_thread_start(&pump->thread, "ring-pump", 0, serve, pump);
	if (cause)
		ring_log(RING_LOUD, "rank %d: no thread for a pump: %s", pump->team->rank,
			 strerror(cause));
	pump->has_thread = !cause;
	return cause ? RING_ESYSTEM : 0;
}

void ring_pump_stop(struct ring_pump *pump)
{
	if (!pump)
		return;
	pthread_mutex_lock(&pump->lock);
	ring_flag_raise(&pump->over);
	pthread_cond_signal(&pump->given);
	pthread_mutex_unlock(&pump->lock);
}

void ring_pump_end(struct ring_pump *pump)
{
	ring_pump_stop(pump);
	if (pump && pump->has_thread)
		pthread_join(pump->thread, NULL);
	if (pump)
		pump->has_thread = false;
}

void ring_pump_free(struct ring_pump *pump)
{
	if (!pump)
		return;
	ring_pump_end(pump);
	for (int c = 0; pump->channels && c < pump->calls->channels; c++)
		ring_channel_close(&pump->channels[c]);
	if (pump->wires.memory)
		ring_held_end(pump->wires.memory, pump->wires.bytes, ring_held_unmap);
	for (int way = OUT; way <= IN; way++) {
		free(pump->lanes[way]);
		free(pump->fifos[way]);
	}
	free(pump->channels);
	pthread_cond_destroy(&pump->given);
	pthread_mutex_destroy(&pump->lock);
	free(pump);
}
