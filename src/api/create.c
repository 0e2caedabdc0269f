/* SPDX-License-Identifier: MIT */
/*
 * Makes a communicator and takes it apart: the rank meets the others and links up (linkup.h), then
 * all tell one another who they are (roster.h). Any number of creations are driven, asleep in
 * between.
 */
#include "create.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "farewell.h"
#include "meet/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/waits.h"
#include "base/note.h"
#include "group.h"
#include "meet/identity.h"
#include "comm/linkup.h"
#include "queue.h"
#include "comm/roster.h"
#include "meet/self.h"
#include "engine/trace.h"
#include "choose/tuning_file.h"

#define FDS_MAX (RING_LINKUP_FDS + 1) /* the doorbell, while linking */

_Static_assert(RING_ROSTER_FDS <= RING_LINKUP_FDS, "fds[FDS_MAX] serve both");

struct ring_creation {
	struct ring_comm *comm;        /* NULL once it failed, or was handed out */
	struct ring_comm **result;     /* the caller's */
	struct ring_comm *parent;      /* whose failure ends it, or NULL */
	struct ring_listener listener; /* to that */
	uint64_t deadline_ms;
	int err; /* RING_EAGAIN until it has ended */
	struct ring_failure failure;
	struct ring_linkup linkup;
	bool linked; /* linkup is over, roster has begun */
	struct ring_roster roster;
	bool announced; /* linked, and the doorbell knows that this thread is about to sleep */
};

/* ---- beginning and ending ---- */

/* What links will be made by. */
static void prepare_ends(struct ring_comm *comm)
{
	comm->links.ends = (struct ring_edge_ends){
		.self = comm->team.rank,
		.bell = &comm->links.bell,
		.congestion = comm->team.config.congestion[0] ? comm->team.config.congestion : NULL,
		.peer_lost_ms = comm->team.config.peer_lost_ms,
		.pace = comm->team.config.link[0] ? &comm->links.pace : NULL,
	};
	if (comm->links.ends.pace)
		ring_pace_read(comm->team.config.link,
			       &comm->links.pace.speed); /* the options have checked it */
}

/* Opens the door, then tells the root: the door is open before others hear of this rank. */
static int enter_meeting(struct ring_comm *comm, const struct ring_unique_id *id,
			 struct ring_failure *failure)
{
	struct ring_identity identity;
	struct sockaddr_storage address;
	struct ring_peer *self = &comm->team.peers[comm->team.rank];
	if (ring_identity_read(id, &identity))
		return ring_fail(failure, RING_EINVAL,
				 "rank %d: these 128 bytes are not an id of this version",
				 comm->team.rank);
	if (ring_identity_is_used(identity.job))
		return ring_fail(failure, RING_EMISMATCH,
				 "rank %d: this id has been used: one id makes one communicator",
				 comm->team.rank);
	int err = ring_watcher_hold(&comm->links.watcher, &comm->team.config, &identity.root,
				    failure);
	if (err)
		return err;
	err = ring_watcher_receive(comm->links.watcher, &comm->team.config, &identity.root,
				   &address, failure);
	if (err)
		return err;
	prepare_ends(comm);
	err = ring_contact_open(&comm->links.ends.contact, comm->links.watcher, &address,
				identity.job, identity.secret, comm->team.rank, failure);
	if (err)
		return err;
	ring_self_describe(self, comm->team.rank, &comm->team.config, comm->links.watcher, &address,
			   comm->team.lacks);
	self->unshared = comm->links.bell.memory_fd < 0;
	return ring_join_start(&comm->links.join, comm->team.size, self, &identity,
			       &comm->team.config, failure);
}

/* Reads the file of rows, if the options name one. */
static int read_table(struct ring_comm *comm, struct ring_failure *failure)
{
	if (!comm->team.config.tuning[0])
		return 0;
	comm->team.table = calloc(1, sizeof(*comm->team.table));
	if (!comm->team.table)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", comm->team.rank);
	int err = ring_tuning_file_read(comm->team.config.tuning, comm->team.table, failure);
	if (!err)
		comm->team.config.tuning_hash = ring_tuning_hash(comm->team.table);
	return err;
}

/* The parts know those that they need. */
static void introduce(struct ring_comm *comm)
{
	const struct ring_team *team = &comm->team;
	struct ring_links *links = &comm->links;
	ring_comm_failure_open(&comm->failure, team, links);
	ring_roll_open(&comm->roll, team, links, &comm->run.busy);
	comm->run.pairs = (struct ring_pairs){.team = team, .links = links};
	comm->run.far = (struct ring_far){.team = team};
	comm->run.partners = (struct ring_partners){.team = team,
						    .mesh = &links->channels[0],
						    .memory = &comm->memory};
	pthread_mutex_init(&comm->run.lock, NULL);
}

static int open_comm(struct ring_comm *comm, const struct ring_unique_id *id,
		     const struct ring_options *options, struct ring_failure *failure)
{
	comm->team.fork_generation = ring_fork_generation();
	comm->links.bell.memory_fd = comm->links.bell.event_fd = -1;
	introduce(comm);
	comm->team.order = calloc((size_t)comm->team.size, sizeof(*comm->team.order));
	comm->team.peers = calloc((size_t)comm->team.size, sizeof(*comm->team.peers));
	if (!comm->team.order || !comm->team.peers)
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory for %d ranks",
				 comm->team.rank, comm->team.size);
	int err = ring_config_resolve(&comm->team.config, options, failure);
	if (!err)
		err = ring_memory_choose(comm->team.config.device, &comm->caller.device,
					 &comm->caller.chip, failure);
	comm->memory.device = comm->caller.device;
	if (!err)
		err = read_table(comm, failure);
	if (err)
		return err;
	char words[RING_FD_WORDS];
	err = ring_bell_create(&comm->links.bell);
	if (err)
		return ring_fail(failure, err, "rank %d: no doorbell: %s", comm->team.rank,
				 ring_fd_words(errno, words));
	if (comm->team.config.trace[0])
		err = ring_trace_open(&comm->team.trace, comm->team.config.trace, comm->team.rank,
				      comm->team.size, failure);
	return err ? err : enter_meeting(comm, id, failure);
}

/*
 * Accepts every half-built state; `reason` is what the others learn if they are still meeting.
 * Lookout and lanes close first: nothing may call back into a communicator that is being freed.
 * Stages are let go by address, so before links unmap those of other processes: new memory may lie
 * there at once.
 */
static void free_comm(struct ring_comm *comm, const struct ring_failure *reason, int goodbye_ms)
{
	const uint64_t until_ms = ring_clock_ms() + (uint64_t)goodbye_ms;
	ring_farewell_remove(comm);
	ring_lookout_close(&comm->links.lookout);
	if (comm->links.lanes && comm->run.by_kernel.magic)
		ring_lanes_tell(comm->links.lanes, &comm->run.by_kernel); /* all of it is sent */
	ring_lanes_close(comm->links.lanes, goodbye_ms);
	ring_join_close(comm->links.join, reason);
	ring_pairs_close(&comm->run.pairs);
	ring_far_close(&comm->run.far);
	ring_kernels_close(&comm->kernels, &comm->failure);
	ring_memory_part(&comm->memory, &comm->links.channels[0], until_ms);
	ring_partners_free(&comm->run.partners);
	for (int c = 0; c < comm->links.channel_count; c++)
		ring_channel_close(&comm->links.channels[c]);
	ring_contact_close(comm->links.ends.contact);
	if (comm->links.watcher)
		ring_watcher_drop(comm->links.watcher);
	ring_bell_close(&comm->links.bell);
	ring_trace_close(comm->team.trace);
	ring_memory_close(&comm->memory);
	ring_made_ops_free(&comm->caller.made_ops);
	free(comm->caller.parts);
	free(comm->run.fds);
	free(comm->team.table);
	free(comm->team.order);
	free(comm->team.peers);
	pthread_mutex_destroy(&comm->run.lock);
	ring_roll_close(&comm->roll);
	ring_comm_failure_close(&comm->failure);
	free(comm);
}

static int check_arguments(struct ring_comm **comm, int size, int rank,
			   const struct ring_unique_id *id, struct ring_failure *failure)
{
	if (!comm || !id)
		return ring_fail(failure, RING_EINVAL, "ring_comm_create: %s is NULL",
				 comm ? "id" : "comm");
	if (size < 1 || rank < 0 || rank >= size)
		return ring_fail(failure, RING_EINVAL,
				 "ring_comm_create: rank %d of %d ranks makes no sense", rank, size);
	if (size > RING_SIZE_MAX)
		return ring_fail(failure, RING_EINVAL,
				 "ring_comm_create: %d ranks: at most %d are possible", size,
				 RING_SIZE_MAX);
	return 0;
}

static void tell_launcher(const struct ring_creation *creation)
{
	const struct ring_team *team = &creation->comm->team;
	char text[128];
	snprintf(text, sizeof(text), "rank %d (pid %d) waits for the %d ranks of a communicator",
		 team->rank, (int)getpid(), team->size);
	ring_note_wait(creation, text);
}

int ring_creation_begin(struct ring_creation **begun, struct ring_comm **result, int size, int rank,
			const struct ring_unique_id *id, const struct ring_options *options,
			struct ring_failure *failure)
{
	int err = check_arguments(result, size, rank, id, failure);
	if (err)
		return err;
	struct ring_creation *creation = calloc(1, sizeof(*creation));
	struct ring_comm *comm = calloc(1, sizeof(*comm));
	if (!creation || !comm) {
		free(creation);
		free(comm);
		return ring_fail(failure, RING_ENOMEM, "rank %d: no memory", rank);
	}
	ring_log_rank(rank);
	comm->team.size = size;
	comm->team.rank = rank;
	creation->comm = creation->linkup.comm = comm;
	creation->linkup.failure = &creation->failure;
	creation->result = result;
	creation->err = RING_EAGAIN;
	err = open_comm(comm, id, options, failure);
	if (err) {
		ring_fail(failure, err, "rank %d: %s", rank, ring_strerror(err));
		free_comm(comm, failure, 0);
		free(creation);
		return err;
	}
	creation->deadline_ms = ring_clock_ms() + (uint64_t)comm->team.config.create_timeout_ms +
				RING_HEAR_MS;
	*begun = creation;
	tell_launcher(creation);
	return 0;
}

void ring_creation_depend(struct ring_creation *creation, struct ring_comm *parent)
{
	creation->parent = parent;
	creation->listener.bell = &creation->comm->links.bell;
	ring_comm_failure_listen(&parent->failure, &creation->listener);
}

/* ---- running ---- */

/* Whether some link to this rank is a socket. */
static bool has_sockets(const struct ring_channel *channel)
{
	for (int r = 0; r < channel->route_count; r++) {
		const struct ring_link *in = channel->routes[r].in;
		if (in && in->transport->kind == RING_REACH_SOCKET)
			return true;
	}
	return false;
}

static int at_most(int most, int number)
{
	return number < most ? number : most;
}

/*
 * A rank with paced links wakes early. (Late, with and without: 8 B after 20 us by 8 and 18 us; 1
 * MiB at 1 GB/s by 1.0 and 3.2 %.) Less early where ranks share CPUs. (64 KiB on 7 ranks of 2 CPUs,
 * 50 -> 10 us: 3.0 -> 2.1 ms.)
 */
static void settle(struct ring_comm *comm)
{
	struct ring_load load = {
		.crowded = comm->team.placement.crowded,
		.sockets = has_sockets(&comm->links.channels[0]),
		.paced = comm->links.ends.pace != NULL,
	};
	comm->team.patience = ring_patience_choose(&load);
	comm->links.pace.early_ns = load.crowded ? RING_EARLY_CROWDED_NS : RING_EARLY_NS;
	if (comm->team.config.spins >= 0)
		comm->team.patience.spins = comm->team.config.spins;
	if (comm->team.config.yields >= 0) {
		comm->team.patience.yields = comm->team.config.yields;
		comm->team.patience.ms = 0;
	}
	for (int c = 0; c < comm->links.channel_count; c++) {
		comm->links.channels[c].trace = comm->team.trace;
		comm->links.channels[c].glances = load.crowded ? 0
							       : at_most(RING_GLANCE_LOOKS,
									 comm->team.patience.spins);
		comm->links.channels[c].yields = load.crowded ? at_most(RING_GLANCE_YIELDS,
									comm->team.patience.yields)
							      : 0;
	}
}

/* Goes on as far as possible. returns 0 once created, RING_EAGAIN, or the error */
static int step(struct ring_creation *creation)
{
	struct ring_comm *comm = creation->comm;
	int err = creation->parent ? ring_comm_failed(&creation->parent->failure) : 0;
	if (err)
		return ring_fail(&creation->failure, err, "%s", ring_comm_error(creation->parent));
	if (!creation->linked) {
		err = ring_linkup_step(&creation->linkup);
		if (!err)
			err = ring_roster_begin(&creation->roster, comm, creation->deadline_ms,
						&creation->failure);
		creation->linked = err == 0;
	}
	return err ? err : ring_roster_step(&creation->roster, comm, &creation->failure);
}

static void announce(struct ring_creation *creation)
{
	if (creation->linked || creation->parent)
		ring_bell_announce(&creation->comm->links.bell, true);
	creation->announced = creation->linked;
}

static void awake_bell(struct ring_bell *bell)
{
	uint64_t count;
	ring_bell_awake(bell);
	ssize_t ignored = read(bell->event_fd, &count, sizeof(count));
	(void)ignored;
}

/* Takes what woke it, before the next look. */
static void awake(struct ring_creation *creation)
{
	if (creation->announced || creation->parent)
		awake_bell(&creation->comm->links.bell);
	creation->announced = false;
	ring_contact_awake(creation->comm->links.ends.contact);
}

/*
 * What is left of the promised time. A rank that timed out has heard nothing of its neighbours, and
 * waits for no answer.
 */
static int goodbye_ms(const struct ring_creation *creation)
{
	uint64_t now = ring_clock_ms();
	uint64_t left = now < creation->deadline_ms ? creation->deadline_ms - now : 0;
	return left < RING_GOODBYE_MS ? (int)left : RING_GOODBYE_MS;
}

/* It has ended: hands the communicator out, or takes it apart so that the others learn why. */
static void finish(struct ring_creation *creation, int err)
{
	struct ring_comm *comm = creation->comm;
	struct ring_failure *failure = &creation->failure;
	ring_note_go_on(creation);
	awake(creation);
	if (creation->parent)
		ring_comm_failure_leave(&creation->parent->failure, &creation->listener);
	ring_linkup_drop(&creation->linkup);
	ring_roster_free(&creation->roster);
	creation->comm = NULL;
	creation->err = err;
	if (!err) {
		settle(comm);
		ring_farewell_add(comm);
		*creation->result = comm;
		return;
	}
	ring_fail(failure, err, "rank %d: %s", comm->team.rank, ring_strerror(err));
	if (comm->links.lanes)
		ring_comm_fail(&comm->failure, err, comm->team.rank, "%s", failure->text);
	free_comm(comm, failure, goodbye_ms(creation));
}

/* Moves all on. Returns how many have not ended. */
static int step_all(struct ring_creation **creations, int count)
{
	int going = 0;
	for (int i = 0; i < count; i++) {
		if (creations[i]->err != RING_EAGAIN)
			continue;
		int err = step(creations[i]);
		if (err == RING_EAGAIN)
			going++;
		else
			finish(creations[i], err);
	}
	return going;
}

/* What one creation waits for. Returns how many of fds[FDS_MAX] that are. */
static int poll_creation(const struct ring_creation *creation, struct pollfd *fds, int *ms)
{
	int count = 0;
	if (!creation->linked && creation->parent)
		fds[count++] = (struct pollfd){.fd = creation->comm->links.bell.event_fd,
					       .events = POLLIN};
	if (!creation->linked)
		return count + ring_linkup_poll(&creation->linkup, fds + count, ms);
	if (!creation->announced) /* it came here only now: nobody would wake it */
		*ms = 0;
	return count + ring_roster_poll(&creation->roster, creation->comm, fds + count, ms);
}

/* Announces, looks once more, sleeps. Returns how many have not ended. */
static int sleep_until_moved(struct ring_creation **creations, int count, struct pollfd *fds)
{
	int nfds = 0, ms = INT_MAX;
	for (int i = 0; i < count; i++)
		if (creations[i]->err == RING_EAGAIN)
			announce(creations[i]);
	int going = step_all(creations, count);
	for (int i = 0; i < count; i++)
		if (creations[i]->err == RING_EAGAIN)
			nfds += poll_creation(creations[i], fds + nfds, &ms);
	if (going > 0)
		poll(fds, (nfds_t)nfds, ms);
	for (int i = 0; i < count; i++)
		if (creations[i]->err == RING_EAGAIN)
			awake(creations[i]);
	return going;
}

int ring_creations_run(struct ring_creation **creations, int count)
{
	struct pollfd *fds = calloc((size_t)count, FDS_MAX * sizeof(*fds));
	int err = 0;
	for (int i = 0; i < count && !fds; i++)
		finish(creations[i], RING_ENOMEM);
	while (fds && sleep_until_moved(creations, count, fds) > 0)
		;
	free(fds);
	for (int i = count - 1; i >= 0; i--) {
		if (creations[i]->err) {
			err = creations[i]->err;
			ring_failure_remember(&creations[i]->failure);
		}
		free(creations[i]);
	}
	return err;
}

void ring_creation_drop(struct ring_creation *creation)
{
	finish(creation, RING_EABORTED);
	free(creation);
}

int ring_comm_create(struct ring_comm **comm, int size, int rank, const struct ring_unique_id *id,
		     const struct ring_options *options)
{
	struct ring_failure failure = {0};
	struct ring_creation *creation;
	int err = ring_creation_begin(&creation, comm, size, rank, id, options, &failure);
	if (err) {
		ring_failure_remember(&failure);
		return ring_group_is_open() ? ring_group_refuse(err) : err;
	}
	if (!ring_group_is_open())
		return ring_creations_run(&creation, 1);
	err = ring_group_add_creation(creation);
	if (err)
		ring_creation_drop(creation);
	return err;
}

void ring_comm_destroy(struct ring_comm *comm)
{
	if (!comm || comm->team.fork_generation != ring_fork_generation())
		return;
	ring_queue_close(comm);
	ring_kernels_finish(&comm->kernels);
	free_comm(comm, NULL, RING_GOODBYE_MS);
}
