/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver without a GPU: libcuda.so.1 for tests. Unmodified programs run on it when the
 * folder it lies in is on LD_LIBRARY_PATH. Read it to learn how the real one treats its callers.
 *
 *	driver.c         what every call begins with, errors, devices
 *	settings.c       what the environment asks for: devices, delays, faults
 *	context.c        primary contexts, one for each device; what breaks one, and what that means
 *	memory.c         memory of devices and pinned memory: who reaches which address
 *	allocation.c     the calls that make and free them
 *	pointer.c        what a pointer points to
 *	queue.c          jobs, and the hardware queues that do them one after the other
 *	stream.c         streams, waiting for words and writing them
 *	host_function.c  the one thread that runs all host functions
 *	event.c          events
 *	copy.c           copies and sets
 *	kernel.c         modules and launches
 *	kernels.c        the kernels, compiled for the host, by name
 *	capture.c        graphs, captured as lists
 *
 * What it does as the real one does (and tests/cuda/traps_test shows):
 *
 *  - Device memory has addresses that nobody else has, and that only the device can reach: a host
 *    thread that touches one faults, a system call gives EFAULT. It is a memfd that is mapped
 *    twice: there, without any access, and elsewhere for the threads of the queues.
 *  - Calls return before the work is done. Jobs take their time, and that they are done shows
 *    later still, of several at once.
 *  - Streams share hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, 8 if unset): what waits there for
 *    an event, a word or a host function holds up all that was given to its queue later, of
 *    whatever stream. Streams of different priorities share none.
 *  - Blocking streams wait for the legacy stream, and it for them.
 *  - Allocating and freeing memory of device or host, pinning, unpinning, and loading a kernel (at
 *    its first launch, where nothing has loaded it before) wait until all is done that the context
 *    was given. So they never return while a stream waits for a word that the same thread is to
 *    write. A copy from or to pageable memory waits for its stream.
 *  - One thread runs all host functions of the process. They may not call the driver.
 *  - A job that fails breaks its context for good: nothing more runs, no host function either, and
 *    every call returns that error, first some call that has nothing to do with it.
 *  - Kernels of one device reach another's memory only once peer access is enabled, and pageable
 *    or freed memory never. Accesses of 16 bytes must be aligned.
 *  - While a stream is captured (in the mode "global") no thread may allocate, pin, or ask whether
 *    anything is done; whoever does gets an error, and the capture is lost.
 *  - 1,024 jobs fit in a queue; giving it one more waits.
 *  - A forked child cannot use it. When the process exits it is deinitialised, before the
 *    destructors of what was loaded earlier.
 *
 * Where it is stricter: ranges end to the byte, and what was freed is gone at once, where the real
 * one knows pages of 2 MiB; all that may wait for the context does; a host function's call of the
 * driver is always refused.
 *
 * What it does not: nothing here says how fast a GPU is. There are no memory pools, no virtual
 * memory management, no IPC, no contexts but the primary ones; priorities make no stream quicker; copies
 * have no engines of their own; a kernel's threads run one after the other, and cannot wait for one
 * another; the memory model is the host's.
 *
 * Whoever waits longer than its patience for what never comes ends the process with a sentence that
 * says what each queue is waiting for.
 *
 * Settings, all in the environment:
 *	RING_FAKE_CUDA_DEVICES      1 to 4; 1 if unset
 *	CUDA_VISIBLE_DEVICES        0,2: those of them, renumbered; it ends with the first that is none
 *	RING_FAKE_CUDA_PEERS        0: no device reaches another's memory; 1 if unset
 *	RING_FAKE_CUDA_MEMORY_MB    of each device; 4,096
 *	RING_FAKE_CUDA_SEED         of all delays; 1
 *	RING_FAKE_CUDA_DELAY_US     that a job takes at most, and that its end stays hidden; 200
 *	RING_FAKE_CUDA_PATIENCE_MS  that a call may wait; 30,000; 0: for ever
 *	RING_FAKE_CUDA_VERSION      of CUDA that the driver has; 12020
 *	RING_FAKE_CUDA_PINS         0: memory of the host that exists cannot be registered; 1
 *	RING_FAKE_CUDA_WORDS        0: streams can neither wait for words nor write them; 1
 *	RING_FAKE_CUDA_FAIL         cuMemAlloc_v2:3=2,...: the third such call returns 2
 *	RING_FAKE_CUDA_BREAK        5=719: each context's fifth job breaks it with that error
 *	CUDA_DEVICE_MAX_CONNECTIONS hardware queues of a device, 1 to 32; 8
 *	CUDA_MODULE_LOADING         EAGER: kernels are loaded with their module
 */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>

#include "tests/cuda/more_calls.h"

#define FAKE_DEVICES 4
#define FAKE_PRIORITIES 6   /* 0, -1, ...: the highest */
#define FAKE_CONNECTIONS 32 /* hardware queues of streams of one priority, at most */
#define FAKE_QUEUES (FAKE_PRIORITIES * FAKE_CONNECTIONS)
#define FAKE_QUEUE_JOBS 1024

/* All calls of both lists are defined somewhere here, and nothing else can be seen from outside. */
#define FAKE_DECLARE(name, symbol, parameters, ...)                                                \
	__attribute__((visibility("default"))) int symbol parameters;
RING_CUDA_CALLS(FAKE_DECLARE)
MORE_CUDA_CALLS(FAKE_DECLARE)
#undef FAKE_DECLARE

/* ---- settings.c: read once, by cuInit -------------------------------------------------------- */

struct fake_settings {
	int devices, queues, version;
	int visible[FAKE_DEVICES]; /* what each of the devices is without CUDA_VISIBLE_DEVICES */
	bool peers, eager, words, pins;
	size_t memory_bytes;
	uint64_t seed;
	unsigned delay_us, patience_ms;
	uint64_t break_at; /* job of each context; 0: none */
	int break_with;
};

extern struct fake_settings fake_settings;

void fake_settings_read(void);

/* What RING_FAKE_CUDA_FAIL has for this call of a function; 0: nothing. Counts the calls. */
int fake_fault(const char *function);

/* The next of a sequence of random numbers. */
uint64_t fake_random(uint64_t *state);

/* Sleeps for a while that the sequence decides: mostly not at all, at most settings.delay_us. */
void fake_nap(uint64_t *random);

/* ---- driver.c: one lock for all there is ----------------------------------------------------- */

/* What a call needs before it can begin. */
enum fake_need {
	FAKE_DRIVER = 0,  /* nothing but that there was a cuInit             */
	FAKE_CONTEXT = 1, /* a current context, which nothing has broken yet */
	FAKE_SAFE = 2,    /* that no capture forbids it                      */
};

/*
 * Every call but those about errors begins so. Takes the lock and returns 0, or returns the error
 * without it.
 */
int fake_begin(const char *function, unsigned needs);

/* Every call that has begun ends so. returns the result */
int fake_end(int result);

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed; /* a job is done, a queue has room, a context broke or ends */

/*
 * Waits for fake_changed. Ends the process, saying what all queues do, if that is the function's
 * patience; *waited_ms adds up over the waits for one thing.
 */
void fake_wait(const char *function, const char *what, unsigned *waited_ms);

/* This thread runs a host function. */
extern _Thread_local bool fake_inside_host_function;

/* ---- context.c ------------------------------------------------------------------------------- */

struct CUctx_st {
	int device;
	unsigned retained;
	int error;                          /* of the job that broke it, for good */
	bool ending;                        /* jobs are dropped */
	_Atomic bool reaches[FAKE_DEVICES]; /* read without the lock */
	uint64_t jobs;                      /* begun */

	struct fake_queue *queues[FAKE_QUEUES];
	uint64_t streams_made[FAKE_PRIORITIES]; /* deals streams to queues */
	uint64_t streams_numbered;
	struct CUstream_st *legacy, *streams;
	struct CUevent_st *events;
	struct CUmod_st *modules;
};

extern struct CUctx_st fake_contexts[FAKE_DEVICES];

/* The calling thread's; NULL: it has none. */
struct CUctx_st *fake_current(void);

/* The first job that fails says why nothing more runs. */
void fake_context_break(struct CUctx_st *context, int error);

/*
 * Ends its threads and gives back all it has; drops what has not run. Lets go of the lock
 * meanwhile.
 */
void fake_context_end(struct CUctx_st *context);

/* Waits until all is done that the context was given so far. returns 0, or the context's error */
int fake_context_await(struct CUctx_st *context, const char *function);

/* ---- memory.c -------------------------------------------------------------------------------- */

enum fake_kind {
	FAKE_DEVICE_MEMORY,
	FAKE_MANAGED_MEMORY,
	FAKE_PINNED_MEMORY,     /* allocated by the driver */
	FAKE_REGISTERED_MEMORY, /* by its user             */
};

struct fake_range {
	char *base, *place; /* its address, and where the queues' threads reach it */
	size_t bytes;
	enum fake_kind kind;
	struct CUctx_st *context;
};

/* Finds what an address lies in. returns false for memory that the driver knows nothing of */
bool fake_memory_find(const void *address, struct fake_range *range);

/*
 * True if the address is one of those that memory of devices has, whether or not there is any now.
 */
bool fake_memory_is_far(const void *address);

/*
 * Adds a range; one without a base is given memory of its context's device, full of rubbish.
 * returns 0; RING_CUDA_OUT_OF_MEMORY; RING_CUDA_ALREADY_REGISTERED
 */
int fake_memory_add(struct fake_range *range);
void fake_memory_remove(const void *base);
size_t fake_memory_used(const struct CUctx_st *context); /* of its device, in bytes */

/*
 * Where a copy finds bytes, which any device may have, or the host; NULL: beyond the end of a
 * range, or freed.
 */
void *fake_memory_place(const void *address, size_t bytes);

/* Whether kernels of the context may go there. */
bool fake_memory_is_open(const struct CUctx_st *context, const struct fake_range *range);

/*
 * Where a kernel of the context finds bytes, all of them in one range; NULL: it may not go there.
 */
void *fake_memory_reach(const struct CUctx_st *context, const void *address, size_t bytes);

/* Gives back all that the context has. */
void fake_memory_end(struct CUctx_st *context);

/* ---- queue.c --------------------------------------------------------------------------------- */

struct fake_job;

/* What is to be done, apart from when: a job has one, a graph a list. */
struct fake_work {
	const char *name;
	/* In a queue's thread, without the lock. returns 0, or what breaks the context */
	int (*run)(struct CUctx_st *context, struct fake_work *work);
	void (*end)(struct fake_work *work); /* gives back what it holds; may be NULL */
	bool waits;                          /* for others, so that all before must be seen */
	union {
		struct {
			void *dst;
			const void *src;
			size_t bytes;
			unsigned char value;
		} copy;
		struct {
			uint32_t *word, value;
			unsigned flags;
		} word;
		struct {
			void (*function)(void *context);
			void *context;
		} host;
		struct {
			const struct fake_kernel *kernel;
			unsigned blocks, threads;
			void *parameters;
		} launch;
		struct CUgraph_st *graph;
	};
};

/*
 * Gives a stream work, behind all that it was given, and `after` if that is not NULL. A captured
 * stream notes it instead. Work that is refused is ended.
 */
int fake_submit(const char *function, struct CUstream_st *stream, const struct fake_work *work,
		struct fake_job *after);

/* Jobs are counted: by their queue, by streams, events and jobs that come behind them. */
struct fake_job *fake_job_hold(struct fake_job *job);
void fake_job_drop(struct fake_job *job);

/* NULL is done. */
bool fake_job_is_done(const struct fake_job *job);
double fake_job_done_at(const struct fake_job *job); /* seconds */

/* returns 0, or the error of the context, which may have broken before or after it */
int fake_job_await(struct fake_job *job, struct CUctx_st *context, const char *function);

struct fake_queue *fake_queue_start(struct CUctx_st *context, int index);
/* Its last job, which may be done; NULL: it had none. */
struct fake_job *fake_queue_last(struct fake_queue *queue);
/* Drops what it has not done, and waits for its thread. Without the lock. */
void fake_queue_end(struct fake_queue *queue);
/* Where it stands, for people. */
void fake_queue_describe(struct fake_queue *queue, char *text, size_t bytes);

/* True while this work should give up: its context is broken or ends. */
bool fake_context_is_over(const struct CUctx_st *context);

/* ---- stream.c, event.c, host_function.c, kernel.c -------------------------------------------- */

struct CUstream_st {
	struct CUctx_st *context;
	struct fake_queue *queue;
	struct CUstream_st *next;
	uint64_t number;
	int priority;
	bool blocking;     /* waits for the legacy stream, and it waits for this */
	const void *owner; /* the thread whose default stream it is; NULL: it was created */
	struct fake_job *last;

	struct CUgraph_st *captured; /* NULL: it is not */
	size_t captured_upto;        /* entries of it: all of this stream's */
	bool joined;                 /* the capture's first stream waits for all of this one's */
};

/* A handle's stream, which may also be NULL and one of the two that are no objects. */
int fake_stream_find(struct CUstream_st *handle, struct CUstream_st **stream);
struct CUstream_st *fake_stream_start(struct CUctx_st *context, bool blocking, int priority);
void fake_streams_end(struct CUctx_st *context);

void fake_events_end(struct CUctx_st *context);
/* Makes a stream wait for the event's last record. */
int fake_event_make_wait(struct CUevent_st *event, struct CUstream_st *stream, const char *function);

bool fake_host_function_is_under_way(void);
void fake_host_functions_end(void); /* lets go of the lock meanwhile */

void fake_modules_end(struct CUctx_st *context);

/* ---- capture.c ------------------------------------------------------------------------------- */

/* Whether this thread's unsafe calls are forbidden now; if so the capture that forbids is lost. */
int fake_capture_forbids(void);

/* That capture comes to nothing. returns RING_CUDA_CAPTURE_UNSUPPORTED */
int fake_capture_lose(struct CUgraph_st *graph);

/* What a captured stream is given; a captured event says where it stands. */
int fake_capture_note(struct CUstream_st *stream, const struct fake_work *work);

/* A blocking stream of the context is captured: using the legacy one loses that capture. */
int fake_capture_forbids_legacy(struct CUctx_st *context);

/* A stream waits for an event that was recorded in a capture: it is captured as well. */
int fake_capture_join(struct CUstream_st *stream, struct CUgraph_st *graph,
		      struct CUstream_st *from, size_t upto);

struct CUgraph_st *fake_graph_hold(struct CUgraph_st *graph);
void fake_graph_drop(struct CUgraph_st *graph);

#endif
