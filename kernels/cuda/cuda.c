/* SPDX-License-Identifier: MIT */
/*
 * GPUs of NVIDIA as a device: memory of theirs, and queues that are streams. What is submitted is
 * finished when an event behind it has happened; events are recorded when somebody asks, so a burst
 * of jobs has one. Contexts and kernels are chip.c's, being told tell.c's,
 * and the program's streams stream.c's.
 */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"

/*
 * Logs what a call for a chip returned, once for each queue that fails. returns 0; RING_ENOMEM,
 * RING_ESYSTEM
 */
static int check_at(enum ring_log_level level, const struct ring_cuda_chip *chip, int result,
		    const char *doing)
{
	struct ring_failure failure = {0};
	int err = ring_cuda_error(result, doing, &failure);
	if (err)
		ring_log(level, "%s: %s", chip->text, failure.text);
	return err && err != RING_ENOMEM ? RING_ESYSTEM : err;
}

static int check(const struct ring_cuda_chip *chip, int result, const char *doing)
{
	return check_at(RING_LOUD, chip, result, doing);
}

static int found(int err, const struct ring_failure *failure)
{
	if (err)
		ring_log(RING_LOUD, "%s", failure->text);
	return err == RING_ENOMEM ? err : err ? RING_ESYSTEM : 0;
}

static int find_chip(int number, const struct ring_cuda_chip **chip)
{
	struct ring_failure failure = {0};
	return found(ring_cuda_chip_find(number, chip, &failure), &failure);
}

static int any_chip(const struct ring_cuda_chip **chip)
{
	struct ring_failure failure = {0};
	return found(ring_cuda_chip_any(chip, &failure), &failure);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What the driver answers of memory that it knows nothing of, or while it has not been started. */
static bool is_unknown(int result)
{
	return result == RING_CUDA_INVALID_VALUE || result == RING_CUDA_INVALID_CONTEXT ||
	       result == RING_CUDA_NOT_INITIALIZED || result == RING_CUDA_DEINITIALIZED;
}

static bool cuda_owns(const void *memory)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver_opened();
	int kind = 0;
	if (!driver)
		return false;
	int result = driver->pointer_attribute(&kind, RING_CUDA_POINTER_KIND, memory);
	return result ? !is_unknown(result) : kind == RING_CUDA_MEMORY_DEVICE;
}

/* Whether the host has memory there. Where the system does not tell, it has. */
static bool host_reads(const void *memory)
{
	char byte;
	const struct iovec here = {&byte, 1}, there = {(void *)memory, 1};
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) >= 0 || errno != EFAULT;
}

/* What the driver knows of an address; all zero: nothing. */
struct known {
	unsigned kind; /* enum ring_cuda_memory */
	int device;
	unsigned managed; /* a byte of it, or all */
};

/* returns an enum ring_cuda_result */
static int ask(const struct ring_cuda_driver *driver, const void *memory, struct known *known)
{
	const int attributes[] = {RING_CUDA_POINTER_KIND, RING_CUDA_POINTER_DEVICE,
				  RING_CUDA_POINTER_MANAGED};
	void *values[] = {&known->kind, &known->device, &known->managed};
	*known = (struct known){0};
	int result = driver->pointer_attributes(3, attributes, values, memory);
	if (result)
		*known = (struct known){0};
	return result;
}

/* Memory of which the driver does not say whether the host may touch it is no call's. */
static int check_answer(int result, struct ring_failure *failure)
{
	struct ring_failure why = {0};
	if (result == RING_CUDA_OK || is_unknown(result))
		return 0;
	ring_cuda_error(result, "asking whether it is a device's", &why);
	return ring_fail(failure, RING_ESYSTEM, "is at an unknown place: %.400s", why.text);
}

static int cuda_look(const void *memory, size_t bytes, struct ring_memory_sort *sort,
		     struct ring_failure *failure)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver_opened();
	struct known first, last;
	if (!driver || bytes == 0)
		return 0;
	int result = ask(driver, memory, &first);
	if (result == RING_CUDA_NOT_INITIALIZED)
		return 0; /* nobody has started it, so it has no memory */
	int err = check_answer(result, failure);
	if (!err)
		err = check_answer(ask(driver, (const char *)memory + bytes - 1, &last), failure);
	if (err)
		return err;
	if (first.managed)
		return ring_fail(failure, RING_EINVAL,
				 "is managed memory, which moves between the host and devices: "
				 "give memory from cudaMalloc() or ring_mem_alloc()");
	if (first.kind == RING_CUDA_MEMORY_DEVICE &&
	    (last.kind != first.kind || last.device != first.device))
		return ring_fail(failure, RING_EINVAL,
				 "begins in memory of cuda device %d that ends before %zu bytes: "
				 "give more memory, or a smaller count",
				 first.device, bytes);
	if (first.kind == 0 && !host_reads(memory))
		return ring_fail(failure, RING_EINVAL,
				 "is memory neither of a device nor of the host, perhaps freed: "
				 "free memory when the calls that use it are complete");
	if (first.kind == RING_CUDA_MEMORY_DEVICE)
		sort->chip = first.device;
	else
		sort->what = first.kind ? "pinned memory of the host"
					: "pageable memory of the host";
	return 0;
}

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

static int cuda_alloc(int number, size_t bytes, void **memory)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = find_chip(number, &chip);
	if (err)
		return err;
	err = check(chip, ring_cuda_enter(chip, &visit), "entering the device");
	if (err)
		return err;
	int result = chip->driver->memory_alloc(memory, bytes ? bytes : 1);
	ring_cuda_leave(chip, &visit);
	bool full = result == RING_CUDA_OUT_OF_MEMORY; /* programs try how much there is */
	return check_at(full ? RING_WARN : RING_LOUD, chip, result, "allocating memory");
}

static void cuda_free(void *memory)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver_opened();
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	struct known known;
	if (!memory || !driver || ask(driver, memory, &known) || find_chip(known.device, &chip) ||
	    ring_cuda_enter(chip, &visit))
		return; /* with the context its memory is gone */
	check(chip, chip->driver->memory_free(memory), "freeing memory");
	ring_cuda_leave(chip, &visit);
}

/* For all devices, by way of one. */
static int enter_any(const struct ring_cuda_chip **chip, struct ring_cuda_visit *visit)
{
	int err = any_chip(chip);
	return err ? err : check(*chip, ring_cuda_enter(*chip, visit), "entering the device");
}

static int cuda_host_alloc(size_t bytes, void **memory)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = enter_any(&chip, &visit);
	if (err)
		return err;
	int result = chip->driver->host_alloc(memory, bytes,
					      RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED);
	ring_cuda_leave(chip, &visit);
	return check(chip, result, "allocating memory of the host");
}

static void cuda_host_free(void *memory)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	if (!memory || any_chip(&chip) || ring_cuda_enter(chip, &visit))
		return; /* with the context its memory is gone */
	check(chip, chip->driver->host_free(memory), "freeing memory of the host");
	ring_cuda_leave(chip, &visit);
}

/* As Jetson, and some virtual GPUs. */
static int cannot_pin(const struct ring_cuda_chip *chip)
{
	static bool told;
	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		ring_log(RING_INFO,
			 "%s pins no memory that exists: what arrives is copied once more",
			 chip->text);
	return RING_ENOTSUP;
}

/* A write after fork() would give this process another page, and leave the device the old one. */
static int cuda_pin(void *memory, size_t bytes)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = enter_any(&chip, &visit);
	if (err)
		return err;
	int result = RING_CUDA_NOT_SUPPORTED;
	if (chip->pins)
		result = chip->driver->host_register(
			memory, bytes, RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED);
	ring_cuda_leave(chip, &visit);
	if (result == RING_CUDA_NOT_SUPPORTED)
		return cannot_pin(chip);
	if (!result)
		madvise(memory, bytes, MADV_DONTFORK);
	return check(chip, result, "pinning memory");
}

static void cuda_unpin(void *memory, size_t bytes)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	madvise(memory, bytes, MADV_DOFORK);
	if (any_chip(&chip) || ring_cuda_enter(chip, &visit))
		return;
	check(chip, chip->driver->host_unregister(memory), "unpinning memory");
	ring_cuda_leave(chip, &visit);
}

/* ---- a queue --------------------------------------------------------------------------------- */

static int fail(struct ring_device_queue *queue, int result, const char *doing)
{
	if (!queue->failed)
		check(queue->chip, result, doing);
	queue->failed = true;
	return RING_ESYSTEM;
}

/*
 * Streams share the queues of the hardware, and one that waits there holds up all that was given to
 * its queue later. Those of different priority share none, so no stream that waits for a call can
 * hold up the call's jobs, unless it has the highest priority, too (stream.c refuses that).
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

/*
 * What was made in a context that has failed is gone with it, but for the queue itself: a host
 * function may have begun before that, and is about to look at it.
 */
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
	if (failed || ring_cuda_enter(queue->chip, &visit))
		return;
	unmake_stream(queue);
	ring_cuda_leave(queue->chip, &visit);
	free(queue);
}

static int cuda_queue_open(int number, struct ring_device_queue **opened)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = find_chip(number, &chip);
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
		return check(chip, result, "opening a queue");
	}
	*opened = queue;
	return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* As many blocks as have something to do, and no more than run at once. */
static unsigned blocks_of(const struct ring_cuda_chip *chip, const struct ring_kernel_job *job)
{
	const uint64_t words = 2 * RING_BLOCK_THREADS; /* that keep a block busy */
	uint64_t blocks = (job->words + words - 1) / words;
	uint64_t most = 4 * (uint64_t)chip->multiprocessors;
	return (unsigned)(blocks < most ? blocks : most);
}

static int launch(struct ring_device_queue *queue, struct ring_kernel_job *job)
{
	const struct ring_cuda_chip *chip = queue->chip;
	void *arguments[] = {job};
	return chip->driver->launch(chip->kernels[job->type][job->op], blocks_of(chip, job), 1, 1,
				    RING_BLOCK_THREADS, 1, 1, 0, queue->stream, arguments, NULL);
}

static int copy(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes)
{
	return queue->chip->driver->memory_copy(dst, src, bytes, queue->stream);
}

/* returns 0, if one job was submitted; RING_ENOMEM; RING_ESYSTEM */
static int submitted(struct ring_device_queue *queue, int result, const char *doing)
{
	if (result == RING_CUDA_OUT_OF_MEMORY)
		return check(queue->chip, result, doing);
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
		return check(queue->chip, result, "asking to be told");
	return result ? fail(queue, result, "asking to be told") : 0;
}

const struct ring_device ring_device_cuda = {
	.name = "cuda",
	.number = 1,
	.apart = true,
	.has_chips = true,
	.owns = cuda_owns,
	.look = cuda_look,
	.count = ring_cuda_chip_count,
	.open = cuda_open,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.host_alloc = cuda_host_alloc,
	.host_free = cuda_host_free,
	.pin = cuda_pin,
	.unpin = cuda_unpin,
	.queue_open = cuda_queue_open,
	.queue_close = cuda_queue_close,
	.reduce = cuda_reduce,
	.copy = cuda_copy,
	.finished = cuda_finished,
	.tell = cuda_tell,
	.streams = &ring_cuda_streams,
};
