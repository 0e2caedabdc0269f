/* SPDX-License-Identifier: MIT */
/*
 * GPUs of NVIDIA as a device: queues that are streams. What is submitted is finished when an event
 * behind it has happened; events are recorded when somebody asks, so a burst of jobs has one.
 * Contexts and kernels are chip.c's, memory memory.c's, being told tell.c's, and the program's
 * streams stream.c's.
 */
#include "memory.h"
#include "queue.h"

#include <stdlib.h>

static int cuda_open(int *number, const char **text, struct ring_failure *failure)
{
	const struct ring_cuda_chip *chip;
	int err = ring_cuda_chip_find(*number, &chip, failure);
	if (err)
		return err;
	*number = chip->device;
	*text = chip->name;
	return 0;
}

/* ---- a queue --------------------------------------------------------------------------------- */

/* Its jobs wait for nobody. In a context that has failed there are none. */
static void settle(const struct ring_device_queue *queue)
{
	struct ring_cuda_visit visit;
	if (ring_cuda_enter(queue->chip, &visit))
		return;
	queue->chip->driver->stream_synchronize(queue->stream);
	ring_cuda_leave(queue->chip, &visit);
}

/* What has failed touches no memory any more, also where the driver refused but one call. */
static int fail(struct ring_device_queue *queue, int result, const char *doing)
{
	if (!queue->failed) {
		ring_cuda_check(queue->chip, result, doing);
		settle(queue);
	}
	queue->failed = true;
	return RING_ESYSTEM;
}

/*
 * Streams share the queues of the hardware, and one that waits there holds up all that was given to
 * its queue later. Those of different priority share none, so no stream that waits for a call can
 * hold up the call's kernels, unless it has the highest priority, too (stream.c refuses that).
 */
static int make_stream(struct ring_device_queue *queue)
{
	const struct ring_cuda_driver *driver = queue->chip->driver;
	int result = driver->stream_create(&queue->stream, RING_CUDA_STREAM_NON_BLOCKING,
					   queue->chip->priority);
	for (int i = 0; !result && i < RING_CUDA_MARKS; i++)
		result = driver->event_create(&queue->marks[i].event, RING_CUDA_EVENT_NO_TIMING);
	return result;
}

static void unmake_stream(struct ring_device_queue *queue)
{
	const struct ring_cuda_driver *driver = queue->chip->driver;
	for (int i = 0; i < RING_CUDA_MARKS; i++) {
		if (queue->marks[i].event)
			driver->event_destroy(queue->marks[i].event);
	}
	if (queue->stream)
		driver->stream_destroy(queue->stream);
}

/* What was made in a context that has failed is gone with it. */
static void cuda_queue_close(struct ring_device_queue *queue)
{
	struct ring_cuda_visit visit;
	if (!queue)
		return;
	bool failed = ring_cuda_enter(queue->chip, &visit) != RING_CUDA_OK;
	if (!failed) {
		if (queue->stream)
			failed = queue->chip->driver->stream_synchronize(queue->stream);
		ring_cuda_leave(queue->chip, &visit);
	}
	ring_cuda_tell_end(&queue->telling);
	if (!failed && ring_cuda_enter(queue->chip, &visit) == RING_CUDA_OK) {
		unmake_stream(queue);
		ring_cuda_leave(queue->chip, &visit);
	}
	free(queue);
}

static int cuda_queue_open(int number, struct ring_device_queue **opened)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = ring_cuda_chip_get(number, &chip);
	if (err)
		return err;
	struct ring_device_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return RING_ENOMEM;
	queue->chip = queue->telling.chip = chip;
	int result = ring_cuda_enter(chip, &visit);
	if (!result) {
		result = make_stream(queue);
		ring_cuda_leave(chip, &visit);
	}
	if (result) {
		cuda_queue_close(queue);
		return ring_cuda_check(chip, result, "opening a queue");
	}
	*opened = queue;
	return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int launch(struct ring_device_queue *queue, struct ring_kernel_job *job)
{
	const struct ring_cuda_chip *chip = queue->chip;
	void *arguments[] = {job};
	unsigned blocks = ring_kernel_job_blocks(job, chip->multiprocessors);
	return chip->driver->launch(chip->kernels[job->type][job->op], blocks, 1, 1,
				    RING_BLOCK_THREADS, 1, 1, 0, queue->stream, arguments, NULL);
}

static int launch_copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes)
{
	const struct ring_reduction copy = {.sources = {src},
					    .nsources = 1,
					    .results = {dst},
					    .nresults = 1,
					    .count = bytes,
					    .type = RING_UINT8};
	struct ring_kernel_job job;
	ring_kernel_job_make(&job, &copy);
	return launch(queue, &job);
}

/*
 * Copies have queues of the hardware that streams of all priorities share, where one of the
 * program's behind a stream that waits for a call would hold up the call's: then a kernel copies.
 */
static int copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes)
{
	if (ring_cuda_may_be_stopped(queue->chip))
		return launch_copy(queue, dst, src, bytes);
	return queue->chip->driver->memory_copy(dst, src, bytes, queue->stream);
}

/* returns 0, if one job was submitted; RING_ENOMEM; RING_ESYSTEM */
static int submitted(struct ring_device_queue *queue, int result, const char *doing)
{
	if (result == RING_CUDA_OUT_OF_MEMORY)
		return ring_cuda_check(queue->chip, result, doing);
	if (result)
		return fail(queue, result, doing);
	queue->submitted++;
	return 0;
}

static int cuda_reduce(struct ring_device_queue *queue, const struct ring_reduction *reduction)
{
	struct ring_kernel_job job;
	struct ring_cuda_visit visit;
	int err = ring_kernel_job_make(&job, reduction);
	if (err || queue->failed)
		return err ? err : RING_ESYSTEM;
	int result = job.words ? ring_cuda_enter(queue->chip, &visit) : RING_CUDA_OK;
	if (!result && job.words) {
		result = launch(queue, &job);
		ring_cuda_leave(queue->chip, &visit);
	}
	return submitted(queue, result, "launching a reduction");
}

static int cuda_copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes,
		     bool past)
{
	struct ring_cuda_visit visit;
	(void)past;
	if (queue->failed)
		return RING_ESYSTEM;
	bool moves = bytes > 0 && dst != src;
	int result = moves ? ring_cuda_enter(queue->chip, &visit) : RING_CUDA_OK;
	if (!result && moves) {
		result = copy(queue, dst, src, bytes);
		ring_cuda_leave(queue->chip, &visit);
	}
	return submitted(queue, result, "copying");
}

/* ---- what is finished ------------------------------------------------------------------------ */

static struct ring_cuda_mark *mark_at(struct ring_device_queue *queue, uint64_t index)
{
	return &queue->marks[index % RING_CUDA_MARKS];
}

/* Those of the marks that have been reached. */
static int pass_marks(struct ring_device_queue *queue)
{
	int result = RING_CUDA_OK;
	while (queue->passed < queue->marked) {
		const struct ring_cuda_mark *mark = mark_at(queue, queue->passed);
		result = queue->chip->driver->event_query(mark->event);
		if (result)
			break;
		queue->finished = mark->jobs;
		queue->passed++;
	}
	return result == RING_CUDA_NOT_READY ? RING_CUDA_OK : result;
}

/* A mark behind all that was submitted; if there is none to spare, the last one moves there. */
static int put_mark(struct ring_device_queue *queue)
{
	bool full = queue->marked - queue->passed == RING_CUDA_MARKS;
	struct ring_cuda_mark *mark = mark_at(queue, queue->marked - full);
	int result = queue->chip->driver->event_record(mark->event, queue->stream);
	if (!result) {
		mark->jobs = queue->submitted;
		queue->marked += !full;
	}
	return result;
}

static bool all_is_marked(struct ring_device_queue *queue)
{
	uint64_t jobs = queue->marked ? mark_at(queue, queue->marked - 1)->jobs : 0;
	return jobs == queue->submitted;
}

static int look(struct ring_device_queue *queue)
{
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(queue->chip, &visit);
	if (result)
		return result;
	result = pass_marks(queue);
	bool spare = queue->marked - queue->passed < RING_CUDA_MARKS;
	if (!result && spare && !all_is_marked(queue))
		result = put_mark(queue);
	ring_cuda_leave(queue->chip, &visit);
	return result;
}

static int cuda_finished(struct ring_device_queue *queue, uint64_t *jobs)
{
	int result = queue->failed || queue->finished == queue->submitted ? RING_CUDA_OK
									  : look(queue);
	if (result)
		fail(queue, result, "asking what is finished");
	*jobs = queue->finished;
	return queue->failed ? RING_ESYSTEM : 0;
}

/* Jobs may be finished that are not marked yet, so the last mark is behind all. */
static int cuda_tell(struct ring_device_queue *queue, void (*done)(void *context), void *context)
{
	struct ring_cuda_visit visit;
	if (queue->failed)
		return RING_ESYSTEM;
	int result = ring_cuda_enter(queue->chip, &visit);
	if (!result) {
		if (!queue->marked || !all_is_marked(queue))
			result = put_mark(queue);
		if (!result)
			result = ring_cuda_tell(&queue->telling,
						mark_at(queue, queue->marked - 1)->event, done,
						context);
		ring_cuda_leave(queue->chip, &visit);
	}
	if (result == RING_CUDA_OUT_OF_MEMORY)
		return ring_cuda_check(queue->chip, result, "asking to be told");
	return result ? fail(queue, result, "asking to be told") : 0;
}

const struct ring_device ring_device_cuda = {
	.name = "cuda",
	.number = 1,
	.apart = true,
	.has_chips = true,
	.owns = ring_cuda_memory_owns,
	.look = ring_cuda_memory_look,
	.count = ring_cuda_chip_count,
	.open = cuda_open,
	.alloc = ring_cuda_memory_alloc,
	.free = ring_cuda_memory_free,
	.host_alloc = ring_cuda_memory_host_alloc,
	.host_free = ring_cuda_memory_host_free,
	.pin = ring_cuda_memory_pin,
	.unpin = ring_cuda_memory_unpin,
	.queue_open = cuda_queue_open,
	.queue_close = cuda_queue_close,
	.reduce = cuda_reduce,
	.copy = cuda_copy,
	.finished = cuda_finished,
	.tell = cuda_tell,
	.streams = &ring_cuda_streams,
	.calls = &ring_cuda_calls,
	.lending = &ring_cuda_lending,
};
