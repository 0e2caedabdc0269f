/* SPDX-License-Identifier: MIT */
/* A communicator; see comm.h. */
#include "comm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "error.h"
#include "group.h"

#define ABORT_PATIENCE_S 1

/* cudaStreamPerThread */
#define STREAM_PER_THREAD ((void *)2)

/* ---- made and freed -------------------------------------------------------------------------- */

int nccl_comm_open(struct ncclComm **opened, int size, int rank, int device, bool blocking)
{
	struct ncclComm *comm = calloc(1, sizeof(*comm));
	if (!comm)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "no memory for a communicator");
	int result = nccl_device_hold(device, &comm->context);
	if (result) {
		free(comm);
		return result;
	}
	comm->size = size;
	comm->rank = rank;
	comm->device = device;
	comm->blocking = blocking;
	comm->users = 1;
	comm->state = NCCL_IN_PROGRESS;
	pthread_mutex_init(&comm->lock, NULL);
	pthread_cond_init(&comm->left, NULL);
	*opened = comm;
	return NCCL_SUCCESS;
}

/* Nobody is inside. */
static void free_comm(struct ncclComm *comm)
{
	for (int i = 0; i < comm->stream_count; i++)
		ring_stream_destroy(comm->streams[i].ring);
	ring_comm_destroy(comm->ring);
	for (struct nccl_op *op = comm->ops, *rest; op; op = rest) {
		rest = op->next;
		free(op);
	}
	nccl_device_let_go(comm->device);
	pthread_cond_destroy(&comm->left);
	pthread_mutex_destroy(&comm->lock);
	free(comm->sentence);
	free(comm->streams);
	free(comm);
}

/*
 * The first stream of a device makes all links that its calls may need, on all ranks; it may be
 * any. So no later call does, which may be in a group.
 */
static int link_device(struct ncclComm *comm)
{
	struct CUstream_st *any;
	struct ring_stream *stream;
	int result = nccl_device_stream(&any);
	if (result)
		return result;
	result = nccl_result_of(ring_stream_from_cuda(comm->ring, any, &stream), comm->ring);
	if (!result)
		ring_stream_destroy(stream);
	nccl_device_stream_end(any);
	return result;
}

int nccl_comm_adopt(struct ncclComm *comm, struct ring_comm *ring)
{
	pthread_mutex_lock(&comm->lock);
	comm->ring = ring;
	bool aborted = comm->aborted;
	pthread_mutex_unlock(&comm->lock);
	if (aborted)
		ring_comm_abort(ring);
	return link_device(comm);
}

/* ---- who is inside --------------------------------------------------------------------------- */

struct ring_comm *nccl_comm_ring(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	struct ring_comm *ring = comm->ring;
	pthread_mutex_unlock(&comm->lock);
	return ring;
}

/* With its lock. */
static int check(const struct ncclComm *comm, const char *call)
{
	if (comm->aborted)
		return nccl_refuse(NCCL_INVALID_USAGE, "%s: the communicator was aborted", call);
	if (comm->state == NCCL_IN_PROGRESS)
		return nccl_refuse(NCCL_INVALID_ARGUMENT,
				   "%s: the call before it is in progress: ask "
				   "ncclCommGetAsyncError() until it no longer says so",
				   call);
	return comm->ring ? NCCL_SUCCESS : comm->state;
}

int nccl_comm_takes_calls(const struct ncclComm *comm, const char *call)
{
	return comm->finalized
		       ? nccl_refuse(NCCL_INVALID_USAGE, "%s: the communicator was finalized", call)
		       : NCCL_SUCCESS;
}

static int enter(struct ncclComm *comm, const char *call, bool begins)
{
	if (!comm)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "%s: comm is NULL", call);
	pthread_mutex_lock(&comm->lock);
	int result = check(comm, call);
	if (!result && begins)
		result = nccl_comm_takes_calls(comm, call);
	if (!result) {
		comm->users++;
		if (begins)
			comm->state = NCCL_IN_PROGRESS;
	}
	pthread_mutex_unlock(&comm->lock);
	return result;
}

int nccl_comm_enter(struct ncclComm *comm, const char *call)
{
	return enter(comm, call, false);
}

int nccl_comm_begin(struct ncclComm *comm, const char *call)
{
	return enter(comm, call, true);
}

void nccl_comm_hold(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	comm->users++;
	pthread_mutex_unlock(&comm->lock);
}

/* With its lock, which it gives back. */
static void leave(struct ncclComm *comm)
{
	bool frees = --comm->users == 0 && comm->orphan;
	pthread_cond_broadcast(&comm->left);
	pthread_mutex_unlock(&comm->lock);
	if (frees)
		free_comm(comm);
}

void nccl_comm_leave(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	leave(comm);
}

void nccl_comm_end(struct ncclComm *comm, int result)
{
	pthread_mutex_lock(&comm->lock);
	comm->state = comm->blocking && comm->ring ? NCCL_SUCCESS : result;
	free(comm->sentence);
	comm->sentence = comm->state ? strdup(nccl_last_sentence()) : NULL;
	leave(comm);
}

/* Waits until nobody is inside, at most so long. returns whether it is the caller's to free */
static bool is_left(struct ncclComm *comm, int seconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&comm->lock);
	int over = 0;
	while (comm->users > 0 && !over)
		over = pthread_cond_timedwait(&comm->left, &comm->lock, &until);
	bool left = comm->users == 0;
	comm->orphan = !left;
	pthread_mutex_unlock(&comm->lock);
	return left;
}

void nccl_comm_stop(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	comm->aborted = true;
	struct ring_comm *ring = comm->ring;
	pthread_mutex_unlock(&comm->lock);
	if (ring)
		ring_comm_abort(ring);
}

void nccl_comm_close(struct ncclComm *comm)
{
	bool leaves_soon = comm->aborted && comm->ring;
	if (is_left(comm, leaves_soon ? ABORT_PATIENCE_S : 0))
		free_comm(comm);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A handle may be a new stream's of the same device: what stands behind it serves that one, too. */
static struct nccl_stream *find(struct ncclComm *comm, const void *handle)
{
	for (struct nccl_stream *one = comm->streams; one < comm->streams + comm->stream_count;
	     one++)
		if (one->handle == handle &&
		    (handle != STREAM_PER_THREAD || pthread_equal(one->thread, pthread_self())))
			return one;
	return NULL;
}

static bool is_idle(const struct nccl_stream *stream)
{
	return ring_stream_test(stream->ring, ring_stream_position(stream->ring)) != RING_EAGAIN;
}

/*
 * Room for one more: that of a stream without calls under way, if there are many. A group has calls
 * that nobody has counted yet.
 */
static struct nccl_stream *make_room(struct ncclComm *comm)
{
	bool forgets = comm->stream_count >= NCCL_STREAMS && !nccl_group_is_open();
	for (int i = 0; i < comm->stream_count && forgets; i++) {
		if (!is_idle(&comm->streams[i]))
			continue;
		ring_stream_destroy(comm->streams[i].ring);
		comm->streams[i] = comm->streams[--comm->stream_count];
		return &comm->streams[comm->stream_count];
	}
	int count = comm->stream_count;
	bool is_full = (count & (count - 1)) == 0;
	struct nccl_stream *streams = comm->streams;
	if (is_full)
		streams = realloc(streams, (count ? 2 * (size_t)count : 1) * sizeof(*streams));
	if (!streams)
		return NULL;
	comm->streams = streams;
	return &streams[count];
}

int nccl_comm_stream(struct ncclComm *comm, void *handle, struct ring_stream **stream)
{
	struct nccl_stream *known = find(comm, handle);
	if (known) {
		*stream = known->ring;
		return NCCL_SUCCESS;
	}
	struct nccl_stream *room = make_room(comm);
	if (!room)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "no memory for a stream");
	int result = nccl_device_enter(comm->context);
	if (result)
		return result;
	*room = (struct nccl_stream){.handle = handle, .thread = pthread_self()};
	result = nccl_result_of(ring_stream_from_cuda(comm->ring, handle, &room->ring), comm->ring);
	nccl_device_leave();
	if (result)
		return result;
	comm->stream_count++;
	*stream = room->ring;
	return NCCL_SUCCESS;
}

int nccl_comm_flush(struct ncclComm *comm, bool waits)
{
	int err = 0;
	for (int i = 0; i < comm->stream_count && !err; i++) {
		struct ring_stream *stream = comm->streams[i].ring;
		uint64_t position = ring_stream_position(stream);
		err = waits ? ring_stream_wait(stream, position)
			    : ring_stream_test(stream, position);
	}
	return err == RING_EAGAIN ? NCCL_IN_PROGRESS : nccl_result_of(err, comm->ring);
}
