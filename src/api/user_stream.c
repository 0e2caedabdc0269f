/* SPDX-License-Identifier: MIT */
/* Calls on the program's streams; see user_stream.h. */
#include "user_stream.h"

#include "comm/explain.h"
#include "group.h"
#include "queue.h"
#include "stream.h"

static const struct ring_device_streams *streams_of(const struct ring_user_stream *user)
{
	return user->device->streams;
}

/* NULL: the call has no stream, or one that is not the program's. */
static struct ring_user_stream *user_of(const struct ring_call *call)
{
	struct ring_user_stream *user = call->stream ? ring_stream_user(call->stream) : NULL;
	return user && user->device ? user : NULL;
}

/* ---- making one ------------------------------------------------------------------------------ */

static const struct ring_device *find_device(void)
{
	const struct ring_device *const *device = ring_devices;
	while (*device && !(*device)->streams)
		device++;
	return *device;
}

static int run(struct ring_comm *comm, struct ring_call *call)
{
	if (ring_group_is_open())
		return ring_group_add(comm, call);
	ring_caller_number(&comm->caller, call);
	return ring_queue_run(comm, call);
}

/*
 * All ranks make their links, which allocates and pins memory. Behind that no rank may do so any
 * more, as ranks of one process share a device: so none comes back before all have.
 */
static int link_all(struct ring_comm *comm, const struct ring_user_stream *user)
{
	struct ring_call barrier = {
		.kind = RING_KIND_BARRIER,
		.internal = true,
		.operands = {.type = RING_UINT8, .op = RING_SUM, .divisor = 1},
		.device = &ring_device_cpu,
		.root = -1,
		.record = ring_record_make(RING_KIND_BARRIER, 0, 0, -1, -1, -1),
	};
	barrier.record.memory = (int16_t)(user->device->number | RING_RECORD_LINKS);
	struct ring_call connection = barrier;
	connection.connects = user->device;
	connection.chip = streams_of(user)->chip(user->stream);
	int err = run(comm, &connection);
	if (!err)
		err = run(comm, &barrier);
	if (!err && !ring_group_is_open())
		comm->caller.connected = user->device;
	return err;
}

static int open_user_stream(struct ring_comm *comm, const char *call, void *handle,
			    struct ring_user_stream *user)
{
	struct ring_failure failure = {0};
	*user = (struct ring_user_stream){.device = find_device(), .handle = handle};
	if (!user->device)
		return ring_comm_refuse(&comm->failure, RING_ENOTSUP, call,
					"this library was built without CUDA; see what "
					"configure says of it");
	int err = ring_kernels_check(&failure);
	if (!err)
		err = streams_of(user)->open(handle, &user->stream, &failure);
	return err ? ring_comm_refuse(&comm->failure, err, call, "%s", failure.text) : 0;
}

/* The communicator works on one device. returns 0; RING_EINVAL */
static int take_device(struct ring_comm *comm, const char *call, const struct ring_user_stream *user)
{
	int chip = streams_of(user)->chip(user->stream);
	if (ring_caller_takes(&comm->caller, user->device, chip))
		return 0;
	return ring_comm_refuse(&comm->failure, RING_EINVAL, call,
				"the stream is of %s device %d, but this communicator works on "
				"%s device %d: make one for each device",
				user->device->name, chip, comm->caller.device->name,
				comm->caller.chip);
}

static int make(struct ring_comm *comm, const char *call, void *handle, struct ring_stream **stream)
{
	struct ring_user_stream user;
	struct ring_stream *made;
	int err = ring_comm_failed_in(&comm->failure, comm->caller.sequence + 1);
	if (!err)
		err = open_user_stream(comm, call, handle, &user);
	if (err)
		return err;
	err = take_device(comm, call, &user);
	if (!err)
		err = ring_stream_make(comm, call, &made);
	if (err) {
		streams_of(&user)->close(user.stream);
		return err;
	}
	*ring_stream_user(made) = user;
	if (comm->caller.connected != user.device)
		err = link_all(comm, &user);
	if (err)
		ring_stream_destroy(made);
	else
		*stream = made;
	return err;
}

int ring_stream_from_cuda(struct ring_comm *comm, void *cuda_stream, struct ring_stream **stream)
{
	static const char call[] = "ring_stream_from_cuda";
	int err = ring_group_is_open() ? ring_group_refused() : 0;
	if (!err)
		err = ring_comm_check(comm, call);
	if (!err && !stream)
		err = ring_comm_refuse(&comm->failure, RING_EINVAL, call, "stream is NULL");
	if (!err)
		err = make(comm, call, cuda_stream, stream);
	return err && ring_group_is_open() ? ring_group_refuse(err) : err;
}

/* ---- calls on it ----------------------------------------------------------------------------- */

int ring_stream_check(struct ring_comm *comm, struct ring_stream *stream, const char *call)
{
	struct ring_failure failure = {0};
	const struct ring_user_stream *user = ring_stream_user(stream);
	if (!user->device)
		return 0;
	if (comm->caller.connected != user->device)
		return ring_comm_refuse(&comm->failure, RING_EINVAL, call,
					"the stream can be used once the group in which it was "
					"made has ended");
	int err = streams_of(user)->check(user->stream, &failure);
	if (err)
		return ring_comm_refuse(&comm->failure, err, call, "%s", failure.text);
	ring_kernels_look(&comm->kernels, &comm->failure);
	return ring_comm_failed_in(&comm->failure, comm->caller.sequence + 1);
}

int ring_call_find_capture(struct ring_comm *comm, struct ring_call *call)
{
	struct ring_failure failure = {0};
	const struct ring_user_stream *user = user_of(call);
	int err = user ? streams_of(user)->capture(user->stream, &call->on.capture, &failure) : 0;
	if (!err && call->on.capture && !ring_kernels_take(&comm->kernels, &comm->team, call))
		err = ring_fail(
			&failure, RING_ENOTSUP,
			"the stream is being captured, and no graph can hold calls in which "
			"the host takes part: make them before or after the capture");
	return err ? ring_comm_refuse(&comm->failure, err, ring_kind_name(call->kind), "%s",
				      failure.text)
		   : 0;
}

static int stop(struct ring_comm *comm, const struct ring_call *call,
		const struct ring_user_stream *user)
{
	int err = streams_of(user)->stop(user->stream, call->on.place);
	return err ? err : ring_kernels_follow(&comm->kernels, user->stream);
}

/* Calls that run together wait for one another's streams, so a stream stops but once for them. */
static bool stops_already(const struct ring_call *first, const struct ring_call *call,
			  const struct ring_user_stream *user)
{
	for (const struct ring_call *before = first; before != call; before = before->together)
		if (before->on.stops && user_of(before)->handle == user->handle)
			return true;
	return false;
}

/* Whether the device has it from here on, of which *err tells. */
static bool launch(struct ring_comm *comm, struct ring_call *call, int *err)
{
	const struct ring_user_stream *user = user_of(call);
	if (!user || !ring_kernels_take(&comm->kernels, &comm->team, call))
		return false;
	if (call->on.capture)
		ring_kernels_be_captured(&comm->kernels, &comm->failure);
	*err = ring_kernels_launch(&comm->kernels, &comm->team, user->stream, call);
	return true;
}

int ring_call_stop_streams(struct ring_comm *comm, struct ring_call *first)
{
	int err = 0;
	if (launch(comm, first, &err))
		return err;
	for (struct ring_call *call = first; call && !err; call = call->together) {
		const struct ring_user_stream *user = user_of(call);
		if (!user || stops_already(first, call, user))
			continue;
		err = streams_of(user)->mark(user->stream, &call->on.place);
		call->on.stops = !err;
	}
	for (struct ring_call *call = first; call && !err; call = call->together)
		if (call->on.stops)
			err = stop(comm, call, user_of(call));
	return err;
}

/* Whether the communicator's failure ends the call. */
static bool is_over(const struct ring_comm *comm, const struct ring_call *call)
{
	return ring_kind_is_message(call->kind) ? ring_comm_failed(&comm->failure)
						: ring_comm_failed_in(&comm->failure, call->turn);
}

/* The device is asked only once, until it says that the stream has come: drivers may be slow. */
static bool has_come(struct ring_comm *comm, const struct ring_call *call,
		     struct ring_user_stream *user)
{
	if (is_over(comm, call))
		return true;
	if (ring_flag_is_raised(&user->waker.asked))
		return false;
	int err = streams_of(user)->has_come(user->stream, call->on.place);
	if (err == RING_EAGAIN)
		err = ring_waker_ask_stream(&user->waker, streams_of(user), user->stream,
					    call->on.place, &comm->links.bell);
	else if (!err)
		return true;
	if (err)
		ring_explain_device(&comm->failure, user->device, err);
	return err != 0;
}

bool ring_call_streams_have_come(struct ring_comm *comm, const struct ring_call *call)
{
	while (call && (!call->on.stops || has_come(comm, call, user_of(call))))
		call = call->together;
	return !call;
}

void ring_call_let_streams_go(const struct ring_call *call)
{
	for (; call; call = call->together) {
		const struct ring_user_stream *user = call->on.stops ? user_of(call) : NULL;
		if (user)
			streams_of(user)->let_go(user->stream, call->on.place);
	}
}
