/* SPDX-License-Identifier: MIT */
/*
 * Streams of the program's on a GPU, which stop at a place until they are let go. There the stream
 * writes the place's number to a word, and waits until another word is at least that: both in
 * memory of the host that is pinned. Where streams cannot do so themselves a kernel of one thread
 * does (stop_kernel.h).
 *
 * No host function takes part: all of a process share one thread, where one of the program's own
 * may wait for what lies behind the place.
 */
#include "later.h"
#include "queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "kernels/cuda/gpu/stop_kernel.h"

#define PAGE_BYTES 4096
#define PAGE_STOPS (PAGE_BYTES / sizeof(struct stop))

/* Where one stream stops; nobody else's words are in the same cache line. */
struct stop {
	struct ring_stop_words words;
	uint32_t last; /* place that the stream was given */
	bool taken;    /* by a stream that is open */
} __attribute__((aligned(64)));

/* Of one GPU, for as long as the process lives: streams may come to their last place late. */
struct page {
	const struct ring_cuda_chip *chip;
	struct stop *stops; /* [PAGE_STOPS], pinned */
	struct page *next;
};

struct ring_device_stream {
	struct ring_cuda_waiter waiter;
	const struct ring_cuda_chip *chip;
	struct CUstream_st *handle;
	bool is_threads;  /* the default stream of ... */
	pthread_t thread; /* ... this one */
	struct stop *stop;
	uint32_t stopped; /* the last place where it stops */
	struct ring_cuda_telling telling;
};

/* ---- words ----------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct page *pages;
static unsigned taken[RING_CUDA_CHIPS]; /* stops of each GPU */

bool ring_cuda_may_be_stopped(const struct ring_cuda_chip *chip)
{
	return __atomic_load_n(&taken[chip->device], __ATOMIC_ACQUIRE) > 0;
}

/* Nobody has it, and the stream that had it looks there no more but to go on at once. */
static bool is_free(const struct stop *stop)
{
	return !stop->taken && ring_cuda_word_is(&stop->words.come, stop->last);
}

static struct stop *find_stop(const struct ring_cuda_chip *chip)
{
	for (const struct page *page = pages; page; page = page->next)
		for (size_t i = 0; page->chip == chip && i < PAGE_STOPS; i++)
			if (is_free(&page->stops[i]))
				return &page->stops[i];
	return NULL;
}

/* returns an enum ring_cuda_result */
static int add_page(const struct ring_cuda_chip *chip)
{
	const struct ring_cuda_driver *driver = chip->driver;
	struct page *page = calloc(1, sizeof(*page));
	void *memory;
	if (!page)
		return RING_CUDA_OUT_OF_MEMORY;
	bool passed = ring_cuda_gate_await(NULL);
	int result = driver->host_alloc(&memory, PAGE_BYTES,
					RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED);
	ring_cuda_gate_give(passed);
	if (result) {
		free(page);
		return result;
	}
	page->stops = memory;
	for (size_t i = 0; i < PAGE_STOPS; i++)
		page->stops[i] = (struct stop){.last = 0};
	page->chip = chip;
	page->next = pages;
	pages = page;
	return RING_CUDA_OK;
}

static int take_stop(struct ring_device_stream *stream)
{
	int result = RING_CUDA_OK;
	pthread_mutex_lock(&lock);
	stream->stop = find_stop(stream->chip);
	if (!stream->stop) {
		result = add_page(stream->chip);
		stream->stop = find_stop(stream->chip);
	}
	if (stream->stop) {
		stream->stop->taken = true;
		__atomic_fetch_add(&taken[stream->chip->device], 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static void give_stop_back(const struct ring_device_stream *stream)
{
	pthread_mutex_lock(&lock);
	stream->stop->taken = false;
	__atomic_fetch_sub(&taken[stream->chip->device], 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

/* ---- whose stream it is ---------------------------------------------------------------------- */

static bool is_default(const struct CUstream_st *handle)
{
	return !handle || handle == RING_CUDA_STREAM_LEGACY || handle == RING_CUDA_STREAM_PER_THREAD;
}

/*
 * A default stream is that of the thread's context, as everywhere in CUDA. Nothing is opened to
 * find that out: a context takes memory of its GPU, perhaps one that the program does not use.
 * returns 0; RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM
 */
static int find_context(const struct ring_cuda_driver *driver, struct CUstream_st *handle,
			struct CUctx_st **context, struct ring_failure *failure)
{
	*context = NULL;
	int result = is_default(handle) ? driver->context_current(context)
					: driver->stream_context(handle, context);
	if (!result && !*context)
		return ring_fail(failure, RING_ENOTSUP,
				 "a default stream is that of the thread's device, and this thread "
				 "has none yet: call cudaSetDevice() before, or cuCtxSetCurrent()");
	return ring_cuda_error(result, "asking for the stream's context", failure);
}

/* returns 0; RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM */
static int find_chip(struct CUstream_st *handle, const struct ring_cuda_chip **chip,
		     struct ring_failure *failure)
{
	struct CUctx_st *context, *popped;
	const struct ring_cuda_driver *driver = ring_cuda_driver(failure);
	if (!driver)
		return RING_ENOTSUP;
	int err = find_context(driver, handle, &context, failure);
	if (!err)
		err = ring_cuda_error(driver->context_push(context),
				      "entering the stream's context", failure);
	if (err)
		return err;
	err = ring_cuda_chip_find(RING_CHIP_ANY, chip, failure);
	driver->context_pop(&popped);
	if (!err && context != (*chip)->context)
		err = ring_fail(failure, RING_ENOTSUP,
				"the stream is not of the primary context of %s, the one that "
				"programs of the CUDA runtime use, in which the library works",
				(*chip)->text);
	return err;
}

/* A kernel that does it for the stream waits for as long as another rank is late. */
static int check_time(const struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	if (chip->streams_see_words || !chip->ends_kernels)
		return 0;
	return ring_fail(
		failure, RING_ENOTSUP,
		"%s can have a stream wait only by a kernel, and ends kernels that run for "
		"some seconds, as it drives a display",
		chip->text);
}

/* See make_stream() in cuda.c. */
static int check_priority(const struct ring_cuda_chip *chip, struct CUstream_st *handle,
			  struct ring_failure *failure)
{
	struct ring_cuda_visit visit;
	int priority;
	int result = ring_cuda_enter(chip, &visit);
	if (!result) {
		result = chip->driver->stream_priority(handle, &priority);
		ring_cuda_leave(chip, &visit);
	}
	if (result)
		return ring_cuda_error(result, "asking for the stream's priority", failure);
	if (priority > chip->priority)
		return 0;
	return ring_fail(failure, RING_ENOTSUP,
			 "the stream has priority %d, the highest that %s has, which the library's "
			 "own streams need for themselves: while it waits for a call it could hold "
			 "them up; create it with a lower priority, 0 for one",
			 priority, chip->text);
}

static int check_thread(const struct ring_device_stream *stream, struct ring_failure *failure)
{
	if (!stream->is_threads || pthread_equal(stream->thread, pthread_self()))
		return 0;
	return ring_fail(failure, RING_EINVAL,
			 "the stream is the default stream of another thread, which made the "
			 "ring_stream: only that one can make calls on it");
}

/* The legacy stream says so if it may not be used because another is captured. */
static int cuda_stream_capture(const struct ring_device_stream *stream, uint64_t *capture,
			       struct ring_failure *failure)
{
	struct ring_cuda_visit visit;
	int status = RING_CUDA_CAPTURE_NONE;
	*capture = 0;
	int result = ring_cuda_enter(stream->chip, &visit);
	if (!result) {
		result = stream->chip->driver->stream_capture(stream->handle, &status, capture,
							      NULL, NULL, NULL);
		ring_cuda_leave(stream->chip, &visit);
	}
	if (result == RING_CUDA_CAPTURE_IMPLICIT)
		return ring_fail(
			failure, RING_ENOTSUP,
			"a stream that the legacy stream would wait for is being captured: "
			"make calls on that one before or after the capture");
	if (!result && status != RING_CUDA_CAPTURE_NONE && status != RING_CUDA_CAPTURE_ACTIVE)
		return ring_fail(failure, RING_ENOTSUP,
				 "the stream's capture has failed, and is to be ended first");
	return ring_cuda_error(result, "asking whether the stream is captured", failure);
}

static int check_capture(const struct ring_device_stream *stream, struct ring_failure *failure)
{
	uint64_t capture;
	int err = cuda_stream_capture(stream, &capture, failure);
	if (err || !capture)
		return err;
	return ring_fail(failure, RING_ENOTSUP,
			 "the stream is being captured: make the ring_stream before or after that");
}

/* ---- from open to close ---------------------------------------------------------------------- */

static int furnish(struct ring_device_stream *stream, struct ring_failure *failure)
{
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(stream->chip, &visit);
	if (!result) {
		result = ring_cuda_pulse_start(stream->chip->pulse) ? take_stop(stream)
								    : RING_CUDA_OUT_OF_MEMORY;
		ring_cuda_leave(stream->chip, &visit);
	}
	return ring_cuda_error(result, "making room for a stream to wait", failure);
}

/* It stops at a place and has not been let go, on a GPU that works. */
static bool waits(const struct ring_cuda_waiter *waiter)
{
	const struct ring_device_stream *stream = (const struct ring_device_stream *)waiter;
	const uint32_t place = __atomic_load_n(&stream->stopped, __ATOMIC_RELAXED);
	return !ring_cuda_word_is(&stream->stop->words.go, place) &&
	       !ring_cuda_pulse_of(stream->chip->pulse);
}

static void be_known(struct ring_device_stream *stream)
{
	stream->stopped = stream->stop->words.go;
	stream->waiter.waits = waits;
	ring_cuda_waiter_add(&stream->waiter);
}

static void cuda_stream_close(struct ring_device_stream *stream)
{
	ring_cuda_tell_cancel(&stream->telling);
	ring_cuda_waiter_remove(&stream->waiter);
	if (stream->stop)
		give_stop_back(stream);
	free(stream);
	ring_cuda_catch_up();
}

/* Once, where the program has started the driver so. */
static void warn_of_loading(const struct ring_cuda_chip *chip)
{
	static bool told;
	int mode = RING_CUDA_LOADING_EAGER;
	chip->driver->module_loading(&mode);
	if (mode != RING_CUDA_LOADING_LAZY || __atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		return;
	ring_log(RING_WARN,
		 "%s: CUDA loads kernels when they are first launched, which waits for the GPU and "
		 "keeps other threads from it: while a stream waits for a call the program hangs "
		 "in the first launch of a kernel; set CUDA_MODULE_LOADING=EAGER before it starts",
		 chip->text);
}

static bool word_is(const void *word, uint64_t least)
{
	return ring_cuda_word_is(word, (uint32_t)least);
}

static int cuda_stream_open(void *handle, struct ring_device_stream **opened,
			    struct ring_failure *failure)
{
	struct ring_device_stream *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return ring_fail(failure, RING_ENOMEM, "no memory for a stream");
	stream->handle = handle;
	stream->is_threads = handle == RING_CUDA_STREAM_PER_THREAD;
	stream->thread = pthread_self();
	int err = find_chip(stream->handle, &stream->chip, failure);
	if (!err)
		err = check_capture(stream, failure);
	if (!err)
		err = check_time(stream->chip, failure);
	if (!err)
		err = check_priority(stream->chip, stream->handle, failure);
	if (!err)
		err = furnish(stream, failure);
	if (err) {
		cuda_stream_close(stream);
		return err;
	}
	warn_of_loading(stream->chip);
	stream->telling.chip = stream->chip;
	stream->telling.are_there = word_is;
	stream->telling.words = &stream->stop->words.come;
	be_known(stream);
	*opened = stream;
	return 0;
}

struct CUstream_st *ring_cuda_stream_handle(const struct ring_device_stream *stream)
{
	return stream->handle;
}

static int cuda_stream_chip(const struct ring_device_stream *stream)
{
	return stream->chip->device;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static int launch(const struct ring_device_stream *stream, uint32_t place, uint32_t waits)
{
	struct ring_stop_words *words = &stream->stop->words;
	void *arguments[] = {&words, &place, &waits};
	return stream->chip->driver->launch(stream->chip->stop, 1, 1, 1, 1, 1, 1, 0, stream->handle,
					    arguments, NULL);
}

static int write_come(const struct ring_device_stream *stream, uint32_t place)
{
	struct ring_stop_words *words = &stream->stop->words;
	if (!stream->chip->streams_see_words)
		return launch(stream, place, 0);
	return stream->chip->driver->stream_write_value(stream->handle, &words->come, place, 0);
}

static int wait_for_go(const struct ring_device_stream *stream, uint32_t place)
{
	struct ring_stop_words *words = &stream->stop->words;
	if (!stream->chip->streams_see_words)
		return launch(stream, place, 1);
	return stream->chip->driver->stream_wait_value(stream->handle, &words->go, place,
						       RING_CUDA_WAIT_GEQ);
}

static int give(const struct ring_device_stream *stream, uint32_t place,
		int (*what)(const struct ring_device_stream *stream, uint32_t place))
{
	struct ring_cuda_visit visit;
	int result = ring_cuda_enter(stream->chip, &visit);
	if (!result) {
		result = what(stream, place);
		ring_cuda_leave(stream->chip, &visit);
	}
	return ring_cuda_check(stream->chip, result, "having a stream wait for a call");
}

/* A place that could not be made is left out. */
static int cuda_stream_mark(struct ring_device_stream *stream, uint32_t *place)
{
	*place = ++stream->stop->last;
	return give(stream, *place, write_come);
}

/* Behind the gate, so that nothing that waits for the GPU begins meanwhile. */
static int cuda_stream_stop(struct ring_device_stream *stream, uint32_t place)
{
	const uint32_t before = stream->stopped;
	bool passed = ring_cuda_gate_pass();
	__atomic_store_n(&stream->stopped, place, __ATOMIC_RELAXED);
	ring_cuda_gate_give(passed);
	int err = give(stream, place, wait_for_go);
	if (err)
		__atomic_store_n(&stream->stopped, before, __ATOMIC_RELAXED);
	return err;
}

static int cuda_stream_has_come(struct ring_device_stream *stream, uint32_t place)
{
	if (ring_cuda_word_is(&stream->stop->words.come, place))
		return 0;
	return ring_cuda_pulse_of(stream->chip->pulse) ? RING_ESYSTEM : RING_EAGAIN;
}

static int cuda_stream_tell(struct ring_device_stream *stream, uint32_t place,
			    void (*done)(void *context), void *context)
{
	stream->telling.least = place;
	return ring_cuda_tell(&stream->telling, NULL, done, context) ? RING_ENOMEM : 0;
}

/* The stream acquires it. */
static void cuda_stream_let_go(struct ring_device_stream *stream, uint32_t place)
{
	__atomic_store_n(&stream->stop->words.go, place, __ATOMIC_RELEASE);
}

const struct ring_device_streams ring_cuda_streams = {
	.open = cuda_stream_open,
	.close = cuda_stream_close,
	.chip = cuda_stream_chip,
	.check = check_thread,
	.capture = cuda_stream_capture,
	.mark = cuda_stream_mark,
	.stop = cuda_stream_stop,
	.has_come = cuda_stream_has_come,
	.tell = cuda_stream_tell,
	.let_go = cuda_stream_let_go,
};
