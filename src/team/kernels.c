/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/datatype.h"
#include "base/log.h"
#include "base/waits.h"
#include "call.h"
#include "pairs.h"
#include "team.h"

/* ---- which calls ----------------------------------------------------------------------------- */

/* NULL: the variable is not set. */
static const char *option(void)
{
	const char *text = getenv("RING_CUDA_ENGINE");
	return text && *text ? text : NULL;
}

static bool are_wanted(void)
{
	const char *text = option();
	return text && strcmp(text, "kernel") == 0;
}

int ring_kernels_check(struct ring_failure *failure)
{
	const char *text = option();
	if (!text || are_wanted() || strcmp(text, "host") == 0)
		return 0;
	return ring_fail(failure, RING_EINVAL,
			 "RING_CUDA_ENGINE is \"%.32s\", but must be \"host\" or \"kernel\"", text);
}

unsigned char ring_kernels_wish(int chip)
{
	return are_wanted() && chip < UINT8_MAX ? (unsigned char)(chip + 1) : 0;
}

/* Kernels wait for one another, and two of one process on one device may not run at once. */
static bool share_a_device(const struct ring_team *team, const unsigned char *wishes)
{
	for (int rank = 0; rank < team->size; rank++)
		for (int other = 0; other < rank; other++)
			if (team->peers[rank].process == team->peers[other].process &&
			    wishes[rank] == wishes[other])
				return true;
	return false;
}

/* As the device sees it; nobody has inboxes yet. */
static struct ring_device_team describe(const struct ring_team *team)
{
	const struct ring_tuning *tuning = &team->placement.tuning;
	return (struct ring_device_team){.size = team->size,
					 .rank = team->rank,
					 .order = team->order,
					 .in_order = team->config.order[0],
					 .depth = (unsigned)tuning->depth,
					 .chunk_bytes = tuning->far_chunk_bytes};
}

static size_t inbox_bytes(const struct ring_team *team, const struct ring_device *device)
{
	const struct ring_device_team ranks = describe(team);
	return device->calls->inbox_bytes(&ranks);
}

bool ring_kernels_need_pumps(const struct ring_team *team)
{
	return team->placement.path != RING_PATH_MEMORY;
}

/* Why ranks can have no such calls; NULL: they can. The same answer on all ranks. */
static const char *find_obstacle(const struct ring_team *team, const struct ring_device *device)
{
	if (!device->calls)
		return "the device carries out none";
	return inbox_bytes(team, device) ? NULL : "there are too few ranks for it, or too many";
}

static void warn_of_obstacle(const struct ring_team *team, const char *obstacle)
{
	if (are_wanted())
		ring_log(RING_WARN, "rank %d: RING_CUDA_ENGINE=kernel has no effect: %s",
			 team->rank, obstacle);
}

bool ring_kernels_can(const struct ring_team *team, const struct ring_device *device)
{
	const char *obstacle = find_obstacle(team, device);
	if (obstacle)
		warn_of_obstacle(team, obstacle);
	return !obstacle;
}

/* Whether a record's sums are to be added in the order of ranks. */
static bool is_in_order(const struct ring_team *team, const struct ring_record *record)
{
	return team->config.order[0] && ring_kind_reduces((enum ring_kind)record->kind) &&
	       ring_op_shows_order((enum ring_op)record->op, (enum ring_datatype)record->type);
}

static bool takes(const struct ring_team *team, const struct ring_record *record, int algorithm)
{
	return algorithm >= 0 &&
	       (!is_in_order(team, record) ||
		ring_algorithm_adds_in_order((enum ring_algorithm)algorithm, team->size));
}

bool ring_kernels_take(const struct ring_kernels *kernels, const struct ring_team *team,
		       const struct ring_call *call)
{
	return kernels->engine && call->device == kernels->device && !call->parts.to &&
	       takes(team, &call->record, ring_kernels_way(kernels, &call->record).algorithm);
}

struct ring_device_way ring_kernels_way(const struct ring_kernels *kernels,
					const struct ring_record *record)
{
	return kernels->device->calls->way(kernels->engine, record);
}

/* ---- from open to close ---------------------------------------------------------------------- */

struct ring_whereabouts ring_kernels_make(struct ring_kernels *kernels, const struct ring_team *team,
					  const struct ring_device *device,
					  const struct ring_channel *mesh,
					  const struct ring_opener *opener)
{
	const struct ring_device_team ranks = describe(team);
	kernels->device = device;
	if (ring_kernels_need_pumps(team))
		kernels->pump = ring_pump_make(team, device->calls, &ranks);
	else if (opener)
		ring_stage_make_far(&kernels->inboxes, inbox_bytes(team, device), device, opener);
	else
		ring_stage_make(&kernels->inboxes, inbox_bytes(team, device), true);
	if (kernels->pump)
		return (struct ring_whereabouts){.output_region = RING_REGION_UNUSED};
	return (struct ring_whereabouts){
		.output_region = ring_stage_lend(&kernels->inboxes, mesh),
	};
}

int ring_kernels_want_links(struct ring_kernels *kernels, struct ring_pairs *pairs,
			    const struct ring_whereabouts *where)
{
	int rank = 0;
	while (rank < pairs->team->size && where[rank].output_region != RING_REGION_PRIVATE)
		rank++;
	kernels->linked = kernels->pump && rank == pairs->team->size;
	return kernels->linked ? ring_pump_want_links(kernels->pump, pairs) : 0;
}

/* returns whether it has */
static bool open_engine(struct ring_kernels *kernels, int chip, const struct ring_device_team *ranks)
{
	return !kernels->device->calls->open(chip, ranks, &kernels->engine);
}

static bool open_over_wires(struct ring_kernels *kernels, const struct ring_team *team, int chip,
			    const struct ring_bell *bell)
{
	struct ring_device_team ranks = describe(team);
	ranks.wires = ring_pump_wires(kernels->pump);
	return open_engine(kernels, chip, &ranks) &&
	       !ring_pump_start(kernels->pump, kernels->engine, bell);
}

int ring_kernels_open(struct ring_kernels *kernels, const struct ring_team *team, int chip,
		      const struct ring_channel *mesh, const struct ring_bell *bell,
		      const struct ring_whereabouts *where, struct ring_whereabouts *own, int *peer)
{
	const struct ring_stage *inboxes = &kernels->inboxes;
	const bool told = where[team->rank].output_region != RING_REGION_PRIVATE;
	*own = (struct ring_whereabouts){.input = told, .output = told};
	if (kernels->linked)
		own->input = open_over_wires(kernels, team, chip, bell);
	if (ring_kernels_need_pumps(team))
		return 0;
	int err = ring_stage_find(&kernels->inboxes, team, mesh, where, peer);
	if (!err && inboxes->opener && inboxes->opener->chip != chip)
		err = RING_ENOTSUP;
	if (inboxes->opener && (err == RING_ENOTSUP || err == RING_ENOMEM)) {
		*own = (struct ring_whereabouts){0}; /* the host's are left */
		return 0;
	}
	if (err || !inboxes->all)
		return err;
	struct ring_device_team ranks = describe(team);
	ranks.inboxes = inboxes->all;
	ranks.inbox_bytes = inboxes->bytes;
	ranks.far = inboxes->opener;
	own->input = open_engine(kernels, chip, &ranks);
	return 0;
}

static void close_engine(struct ring_kernels *kernels)
{
	ring_pump_end(kernels->pump); /* it looks at the engine */
	if (kernels->engine)
		kernels->device->calls->close(kernels->engine);
	ring_pump_free(kernels->pump);
	ring_stage_free(&kernels->inboxes);
	*kernels = (struct ring_kernels){0};
}

static void warn_of(const struct ring_team *team, int rank)
{
	if (are_wanted())
		ring_log(RING_WARN,
			 "rank %d: RING_CUDA_ENGINE=kernel has no effect, as rank %d does without: "
			 "it is not set there, or its device cannot do that",
			 team->rank, rank);
}

/* It is so on many machines. */
static void tell_why(const struct ring_team *team, const struct ring_device *device, int rank)
{
	char who[RING_RANK_TEXT];
	ring_log(RING_INFO,
		 "rank %d: kernels have no FIFOs in memory of %s devices: that of %s has no "
		 "descriptor, or does not open all others",
		 team->rank, device->name, ring_team_rank_text(team, rank, who));
}

bool ring_kernels_all_want(const struct ring_team *team, const unsigned char *wishes)
{
	int rank = 0;
	while (rank < team->size && wishes[rank])
		rank++;
	const bool share = rank == team->size && share_a_device(team, wishes);
	if (rank < team->size)
		warn_of(team, rank);
	if (share)
		warn_of_obstacle(team, "two ranks are threads of one process on one device, where "
				       "their kernels may not run at once");
	return rank == team->size && !share;
}

int ring_kernels_agree(struct ring_kernels *kernels, const struct ring_team *team,
		       const struct ring_whereabouts *where)
{
	const bool far = kernels->inboxes.opener;
	int rank = 0, has = 0;
	while (rank < team->size && where[rank].input)
		rank++;
	while (far && has < team->size && where[has].output)
		has++;
	const bool again = far && has < team->size;
	if (again)
		tell_why(team, kernels->device, has);
	else if (rank < team->size)
		warn_of(team, rank);
	else
		ring_log(RING_INFO, "rank %d: kernels' FIFOs lie in memory of the %s", team->rank,
			 far ? "device" : "host");
	if (again || rank < team->size)
		close_engine(kernels);
	return again ? RING_EAGAIN : 0;
}

void ring_kernels_finish(const struct ring_kernels *kernels)
{
	if (!kernels->pump || !ring_flag_is_raised(&kernels->captured))
		return;
	ring_pump_finish(kernels->pump, ring_clock_ms() + RING_GOODBYE_MS);
	ring_pump_end(kernels->pump); /* it tells of links that break, by lanes that end next */
}

void ring_kernels_close(struct ring_kernels *kernels, struct ring_comm_failure *failure)
{
	if (ring_flag_is_raised(&kernels->captured))
		ring_comm_failure_leave(failure, &kernels->listener);
	close_engine(kernels);
}

/* ---- calls ----------------------------------------------------------------------------------- */

int ring_kernels_launch(struct ring_kernels *kernels, const struct ring_team *team,
			struct ring_device_stream *stream, struct ring_call *call)
{
	call->record.memory |= RING_RECORD_KERNEL;
	if (call->on.capture)
		call->record.memory |= RING_RECORD_GRAPH;
	const struct ring_device_call launched = {
		.record = &call->record,
		.input = call->operands.input,
		.output = call->operands.output,
		.timeout_ms = (uint64_t)team->config.call_timeout_ms,
		.capture = call->on.capture,
	};
	if (kernels->pump)
		ring_pump_launching(kernels->pump);
	int err = kernels->device->calls->launch(kernels->engine, stream, &launched,
						 &call->on.kernel);
	if (kernels->pump)
		ring_pump_launched(kernels->pump, err ? 0 : call->on.kernel);
	return err;
}

int ring_kernels_follow(struct ring_kernels *kernels, struct ring_device_stream *stream)
{
	return kernels->engine ? kernels->device->calls->follow(kernels->engine, stream) : 0;
}

int ring_kernels_ended(const struct ring_kernels *kernels, const struct ring_call *call, int *peer,
		       struct ring_record *theirs)
{
	int err = kernels->device->calls->ended(kernels->engine, call->on.kernel, peer, theirs);
	const bool is_sent = err || !kernels->pump ||
			     ring_pump_has_sent(kernels->pump, call->on.kernel);
	return is_sent ? err : RING_EAGAIN;
}

const struct ring_channel *ring_kernels_broken(const struct ring_kernels *kernels)
{
	return kernels->pump ? ring_pump_broken(kernels->pump) : NULL;
}

uint64_t ring_kernels_payload(const struct ring_kernels *kernels, const struct ring_call *call)
{
	return kernels->device->calls->payload(kernels->engine, &call->record);
}

int ring_kernels_ask(struct ring_kernels *kernels, const struct ring_call *call,
		     const struct ring_bell *bell)
{
	struct ring_record theirs;
	int peer;
	if (kernels->device->calls->ended(kernels->engine, call->on.kernel, &peer, &theirs) !=
	    RING_EAGAIN)
		return 0; /* the pump has yet to send, and rings */
	return ring_waker_ask_engine(&kernels->waker, kernels->device->calls, kernels->engine,
				     call->on.kernel, bell);
}

void ring_kernels_stop(const struct ring_kernels *kernels)
{
	kernels->device->calls->stop(kernels->engine);
	ring_pump_stop(kernels->pump);
}

bool ring_kernels_are_inside(const struct ring_kernels *kernels, const struct ring_call *call)
{
	return kernels->device->calls->is_inside(kernels->engine, call->on.kernel);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void hear(struct ring_listener *listener)
{
	ring_kernels_stop((struct ring_kernels *)((char *)listener -
						  offsetof(struct ring_kernels, listener)));
}

void ring_kernels_be_captured(struct ring_kernels *kernels, struct ring_comm_failure *failure)
{
	if (ring_flag_is_raised(&kernels->captured))
		return;
	kernels->listener.hear = hear;
	ring_comm_failure_listen(failure, &kernels->listener);
	ring_flag_raise(&kernels->captured);
	if (kernels->pump)
		ring_pump_be_captured(kernels->pump, failure);
	if (ring_comm_failed(failure))
		ring_kernels_stop(kernels);
}

static void tell(struct ring_comm_failure *failure, int err, int peer,
		 const struct ring_record *theirs)
{
	char who[RING_RANK_TEXT], text[RING_RECORD_TEXT];
	const struct ring_team *team = failure->team;
	ring_team_rank_text(team, peer, who);
	if (err == RING_ETIMEDOUT)
		ring_comm_fail(failure, err, peer,
			       "rank %d waited %d ms in a call of a graph, for %s; is it stopped, "
			       "or busy elsewhere?",
			       team->rank, team->config.call_timeout_ms, who);
	else if (err == RING_EMISMATCH)
		ring_comm_fail(failure, err, peer,
			       "rank %d is in a call of a graph, but rank %d is in %s", team->rank,
			       peer, ring_record_format(theirs, text));
	else
		ring_comm_fail(
			failure, err, peer,
			"what %s wrote to rank %d in a call of a graph is no call of any rank", who,
			team->rank);
}

void ring_kernels_look(const struct ring_kernels *kernels, struct ring_comm_failure *failure)
{
	struct ring_record theirs;
	int peer, err = 0;
	if (ring_flag_is_raised(&kernels->captured))
		err = kernels->device->calls->trouble(kernels->engine, &peer, &theirs);
	if (err && !ring_comm_failed(failure))
		tell(failure, err, peer, &theirs);
}
