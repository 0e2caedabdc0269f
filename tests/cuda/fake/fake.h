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
 *	ipc.c            memory that other processes open by handles
 *	mapping.c        physical memory and addresses, apart: virtual memory management
 *	pointer.c        what a pointer points to
 *	queue.c          jobs, and the hardware queues that do them one after the other
 *	stream.c         streams, waiting for words and writing them
 *	host_function.c  the one thread that runs all host functions
 *	event.c          events
 *	copy.c           copies and sets
 *	port.c           what crosses the ports of devices
 *	kernel.c         modules and launches
 *	image.c          images that a driver is too old for
 *	kernels.c        the kernels, compiled for the host, by name
 *	ptx.c            kernels from PTX (tests/cuda/ptx)
 *	capture.c        graphs, as they are captured
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
 *    whatever stream. Streams of different priorities share none, but copies to the device and
 *    copies from it have queues of their own (CUDA_DEVICE_MAX_COPY_CONNECTIONS, 8 if unset) that
 *    streams of all priorities share.
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
 *  - Another process opens a handle, which names a whole allocation, once for each of its contexts
 *    and counted; it has the same bytes then, at an address of its own. A process cannot open its
 *    own. Opening and closing wait as freeing does. What was freed cannot be opened any more.
 *  - Physical memory comes in units of 2 MiB and has no address; reserved addresses have no memory.
 *    Where the one is mapped at the other nobody reaches it, also no copy, before each device is
 *    let, for itself: enabling access to peers does nothing there. It is freed when no handle and
 *    no mapping of any process has it any more, and no descriptor. A mapping is unmapped whole.
 *    Handles of allocations, and cuMemFree, know nothing of it.
 *  - While a stream is captured (in the mode "global") no thread may allocate, pin, or ask whether
 *    anything is done; whoever does gets an error, and the capture is lost. So it is, in any mode,
 *    if it is to come behind what is outside, or somebody waits for it, its events or its context.
 *  - 1,024 jobs fit in a queue; giving it one more waits.
 *  - With RING_FAKE_CUDA_LOCKS=1 a call that waits for the GPU so (but one that only synchronizes)
 *    has the context's lock meanwhile: no other thread's call gets on that needs the context, also
 *    not one that what is waited for depends on. Asking for events and pointers stays free, which
 *    is kinder than the real one may be; with 2 it is not.
 *  - With CUDA_LAUNCH_BLOCKING=1 launches wait for their kernels.
 *  - A forked child cannot use it. When the process exits it is deinitialised, before the
 *    destructors of what was loaded earlier.
 *
 * Where it is stricter: memory that another living process has open cannot be freed, where the real
 * one leaves undefined what comes of it; ranges end to the byte, and what was freed is gone at once, where the real
 * one knows pages of 2 MiB; no access reaches from one mapping into the next; no page is pinned
 * twice; a handle is asked for where memory begins; all that may wait for the context does; a host
 * function's call of the driver is always refused; an event that has happened never says that its
 * context broke since, and none is destroyed or waited for without a context.
 *
 * What it does not: nothing here says how fast a GPU is. Allocating from pools waits as all other
 * does; there are no contexts but the primary ones; physical memory is devices', mapped all at once,
 * and ends with the process's last context; priorities make no stream quicker.
 * The threads of kernels that were compiled for the host run one after the other, cannot wait for
 * one another, and have the host's memory model. An image that is a text of PTX, or a fatbin with
 * one that is not packed, runs as tests/cuda/ptx/ptx.h says, beside those of other queues, and so
 * does the library's if RING_FAKE_CUDA_PTX says so. A block has its place on the device until its
 * end, whatever it waits for.
 *
 * Whoever waits longer than its patience for what never comes ends the process with a sentence that
 * says what each queue is waiting for.
 *
 * Settings, all in the environment:
 *	RING_FAKE_CUDA_DEVICES      1 to 4; 1 if unset
 *	CUDA_VISIBLE_DEVICES        0,2: those of them, renumbered; it ends with the first that is none
 *	RING_FAKE_CUDA_PEERS        0: no device reaches another's memory; 2: it is said to, but its
 *	                            kernels find other bytes there; 3: they do where they read, though
 *	                            what they write arrives; 4: what they write is lost, though what
 *	                            they read is right (all one to kernels from PTX); 1 if unset
 *	RING_FAKE_CUDA_LIED_TO      0,2: kernels of these devices alone are treated so; all if unset
 *	RING_FAKE_CUDA_APART        0-1,2-3: those two do not reach one another
 *	RING_FAKE_CUDA_LINKS        1: devices that reach one another do so over links of their own,
 *	                            not over PCIe; 0
 *	RING_FAKE_CUDA_HANDLES      0: allocations have no handles for other processes; 1
 *	RING_FAKE_CUDA_MAPS         0: no virtual memory management; 1: physical memory has no
 *	                            descriptors; 2: it may; 2
 *	RING_FAKE_CUDA_RDMA         0: physical memory cannot be made for RDMA devices; 1: it is for
 *	                            them if it was asked for
 *	RING_FAKE_CUDA_LEFT         1: a process that exits with physical memory, or with addresses, is
 *	                            ended by a sentence that says so; 0
 *	RING_FAKE_CUDA_MEMORY_MB    of each device; 4,096
 *	RING_FAKE_CUDA_SEED         of all delays; 1
 *	RING_FAKE_CUDA_DELAY_US     that a job takes at most, and that its end stays hidden; 200
 *	RING_FAKE_CUDA_PATIENCE_MS  that a call may wait while no job before it ends; 30,000; 0: for ever
 *	RING_FAKE_CUDA_VERSION      of CUDA that the driver has, which must know the image; 13000
 *	RING_FAKE_CUDA_PINS         0: memory of the host that exists cannot be registered; 1
 *	RING_FAKE_CUDA_PTX          1: the library's kernels are run from their PTX; 0
 *	RING_FAKE_CUDA_WORDS        0: streams can neither wait for words nor write them; 1
 *	RING_FAKE_CUDA_FREES_WAIT   0: freeing, unpinning, closing and unmapping wait for nothing, as
 *	                            the manual does not promise it: what uses the memory yet breaks its
 *	                            context; 1
 *	RING_FAKE_CUDA_FAIL         cuMemAlloc_v2:3=2,...: the third such call returns 2;
 *	                            cuLaunchKernel+cuEventRecord:1=2: the first behind a launch of
 *	                            the same thread does
 *	RING_FAKE_CUDA_BREAK        5=719: each context's fifth job breaks it with that error
 *	RING_FAKE_CUDA_LIMIT_MS     that a kernel may run, as where the device drives a display: then its
 *	                            context is broken (but by those from PTX); 0: for ever
 *	RING_FAKE_CUDA_LOCKS        1: who waits for the GPU inside a call has the context's lock; 2: and
 *	                            others cannot even ask for events and pointers; 0
 *	CUDA_DEVICE_MAX_CONNECTIONS hardware queues of a device, 1 to 32; 8
 *	CUDA_DEVICE_MAX_COPY_CONNECTIONS  those of copies in one direction, 1 to 32; 8
 *	CUDA_MODULE_LOADING         EAGER: kernels are loaded with their module
 *	CUDA_LAUNCH_BLOCKING        1: launches wait for their kernels
 */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>

#include "tests/cuda/more_calls.h"
#include "tests/cuda/ports.h"

#define FAKE_DEVICES 4
#define FAKE_PRIORITIES 6   /* 0, -1, ...: the highest */
#define FAKE_CONNECTIONS 32 /* hardware queues of streams of one priority, at most */
#define FAKE_COPY_QUEUES (FAKE_PRIORITIES * FAKE_CONNECTIONS) /* the first of these */
#define FAKE_QUEUES (FAKE_COPY_QUEUES + FAKE_COPY_ENGINES * FAKE_CONNECTIONS)
#define FAKE_QUEUE_JOBS 1024
#define FAKE_MULTIPROCESSORS 4
#define FAKE_BLOCKS_AT_ONCE 2 /* on each of them */

/* What does a job. The last have queues of their own. */
enum fake_engine {
	FAKE_KERNELS,     /* ... and all else that stays in the stream's queue */
	FAKE_TO_DEVICE,   /* copies from the host */
	FAKE_FROM_DEVICE, /* copies to it         */
	FAKE_COPY_ENGINES = FAKE_FROM_DEVICE,
};

/* All calls of these lists are defined somewhere here. Nothing else can be seen outside but fake_fail() and fake_made(). */
#define FAKE_DECLARE(name, symbol, parameters, ...)                                                \
	__attribute__((visibility("default"))) int symbol parameters;
RING_CUDA_CALLS(FAKE_DECLARE)
RING_CUDA_MAPPING_CALLS(FAKE_DECLARE)
MORE_CUDA_CALLS(FAKE_DECLARE)
#undef FAKE_DECLARE
__attribute__((visibility("default"))) cuda_ports_read fakePorts;

/* ---- settings.c: read once, by cuInit -------------------------------------------------------- */

enum fake_mapping { FAKE_NO_MAPPINGS, FAKE_MAPS, FAKE_MAPS_FDS };

enum fake_peering { FAKE_NO_PEERS, FAKE_PEERS, FAKE_PEERS_LIE, FAKE_READS_LIE, FAKE_WRITES_LIE };

/* What a kernel does with memory. */
enum fake_access { FAKE_READS = 1, FAKE_WRITES = 2, FAKE_BOTH = 3 };

struct fake_settings {
	int devices, queues, copy_queues, version;
	int visible[FAKE_DEVICES];  /* what each of the devices is without CUDA_VISIBLE_DEVICES */
	int peers;                  /* enum fake_peering */
	unsigned lies;              /* enum fake_access: these find other bytes, ... */
	bool lied_to[FAKE_DEVICES]; /* ... of kernels of these devices */
	bool apart[FAKE_DEVICES][FAKE_DEVICES];
	int maps; /* enum fake_mapping */
	bool eager, words, pins, ptx, blocking, handles, links, rdma, left, frees_wait;
	int locks;
	size_t memory_bytes;
	uint64_t seed;
	unsigned delay_us, patience_ms, limit_ms;
	uint64_t break_at; /* job of each context; 0: none */
	int break_with;
};

extern struct fake_settings fake_settings;

void fake_settings_read(void);

/* Whether two devices, as they are without CUDA_VISIBLE_DEVICES, may reach one another's memory. */
bool fake_peers(int device, int other);

/* What RING_FAKE_CUDA_FAIL has for this call of a function; 0: nothing. Counts the calls. */
int fake_fault(const char *function);

/*
 * For tests, which find it by its name: from here on these are the faults, and calls are counted
 * anew. returns how many calls have failed by those before
 */
__attribute__((visibility("default"))) unsigned fake_fail(const char *text);

/* The same: how many calls of a function were made since. */
__attribute__((visibility("default"))) unsigned fake_made(const char *function);

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
	FAKE_ASKS = 4,    /* nothing, unless RING_FAKE_CUDA_LOCKS is 2       */
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

	const char *held_in; /* a call that waits inside, and has the lock; NULL: nobody has */
	pthread_t holder;

	struct fake_queue *queues[FAKE_QUEUES];
	uint64_t streams_made[FAKE_PRIORITIES]; /* deals streams to queues */
	uint64_t streams_numbered;
	uint64_t copiers[FAKE_COPY_ENGINES]; /* streams that have copied, in each direction */
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

/*
 * Waits until all is done that the context was given so far, with its lock. returns 0, or the
 * context's error
 */
int fake_context_await(struct CUctx_st *context, const char *function);

/*
 * The context's lock (RING_FAKE_CUDA_LOCKS). A call that waits for the GPU takes it, if its thread
 * does not have it yet, and gives it back if it took it; others pass once nobody else has it.
 */
bool fake_context_lock(struct CUctx_st *context, const char *function);
void fake_context_unlock(struct CUctx_st *context, bool took);
void fake_context_pass(struct CUctx_st *context, const char *function);

/* ---- memory.c -------------------------------------------------------------------------------- */

#define FAKE_SPACE ((size_t)16 << 30)                 /* addresses of one device */
#define FAKE_SPACES ((FAKE_DEVICES + 1) * FAKE_SPACE) /* and those that are reserved */
#define FAKE_TABLE_BYTES ((size_t)128 << 10)          /* behind them, in the file */

enum fake_kind {
	FAKE_DEVICE_MEMORY,
	FAKE_IMPORTED_MEMORY, /* another process's, of a device */
	FAKE_MAPPED_MEMORY,   /* physical memory, at reserved addresses */
	FAKE_MANAGED_MEMORY,
	FAKE_PINNED_MEMORY,     /* allocated by the driver */
	FAKE_REGISTERED_MEMORY, /* by its user             */
};

struct fake_range {
	char *base, *place; /* its address, and where the queues' threads reach it */
	size_t bytes;
	enum fake_kind kind;
	bool pooled;       /* of a pool, which other processes cannot open */
	unsigned open;     /* mapped: to these devices, one bit each */
	bool for_rdma;     /* mapped: RDMA devices may move it */
	uint64_t physical; /* mapped: this */
	struct CUctx_st *context;
	int owner;   /* the device that has it, as it is without CUDA_VISIBLE_DEVICES */
	uint64_t id; /* fake_memory_add() gives each its own */
};

/* Finds what an address lies in. returns false for memory that the driver knows nothing of */
bool fake_memory_find(const void *address, struct fake_range *range);

/*
 * True if the address is one of those that memory of devices has, whether or not there is any now.
 */
bool fake_memory_is_far(const void *address);

/*
 * Adds a range; one without a base is given memory of its context's device, full of rubbish. One
 * that is imported has a place, and is given an address.
 * returns 0; RING_CUDA_OUT_OF_MEMORY; RING_CUDA_ALREADY_REGISTERED
 */
int fake_memory_add(struct fake_range *range);
void fake_memory_remove(const void *base);
size_t fake_memory_used(const struct CUctx_st *context); /* of its device, in bytes */

/* Lets devices reach a mapped range. */
void fake_memory_open(const void *base, unsigned devices);

/* Takes memory of a device without addresses, or gives it back. returns false: there is too little */
bool fake_memory_take(int device, size_t bytes);
void fake_memory_give(int device, size_t bytes);

/* The first of the addresses that can be reserved; NULL: there are none. */
char *fake_memory_reservable(void);

/*
 * Where a copy finds bytes, which any device may have, or the host; NULL: beyond the end of a
 * range, or freed.
 */
void *fake_memory_place(const void *address, size_t bytes);

/*
 * Whether kernels of the context may go there. Where peers lie, what such an access finds has
 * another place from here on.
 */
bool fake_memory_is_open(const struct CUctx_st *context, struct fake_range *range,
			 enum fake_access access);

/*
 * Where a kernel of the context finds bytes, all of them in one range; NULL: it may not go there.
 */
void *fake_memory_reach(const struct CUctx_st *context, const void *address, size_t bytes,
			enum fake_access access);

/* Gives back all that the context has. */
void fake_memory_end(struct CUctx_st *context);

/* The file that the memory of all devices is, and where in it that of a range lies. */
int fake_memory_file(void);
uint64_t fake_memory_offset(const struct fake_range *range);

/* ---- port.c ---------------------------------------------------------------------------------- */

/* What a kernel has moved, by where the memory lies. All zero at first. */
struct fake_crossing {
	uint64_t loaded[CUDA_PORTS], stored[CUDA_PORTS];
};

/* Where memory lies: a device, as it is without CUDA_VISIBLE_DEVICES, or CUDA_PORTS_HOST. */
int fake_port_of(const struct fake_range *range);

/* A copy is made; a kernel of the context has ended. */
void fake_port_copies(const void *dst, const void *src, size_t bytes);
void fake_port_runs(const struct CUctx_st *context, const struct fake_crossing *crossing);

/* ---- ipc.c ----------------------------------------------------------------------------------- */

/* Whether another process that lives has it open; says so. */
bool fake_ipc_is_open(const struct fake_range *range);

/* The range of that id is freed: nobody can open it any more. */
void fake_ipc_forget(uint64_t id);

/* Closes all that the context has opened; and the table, when the file goes. */
void fake_ipc_end(const struct CUctx_st *context);
void fake_ipc_end_table(void);

/* ---- mapping.c ------------------------------------------------------------------------------- */

/* The reservation that a mapped range lies in. */
void fake_mapping_reserved(const struct fake_range *range, char **start, size_t *bytes);

/* Whether any addresses are reserved. */
bool fake_mappings_are_there(void);

/* With the last context; and when the process exits, which may not leave anything. */
void fake_mappings_end(void);
void fake_mappings_exit(void);

/* ---- queue.c --------------------------------------------------------------------------------- */

struct fake_job;

/* What is to be done, apart from when: a job has one, a graph a list. */
struct fake_work {
	const char *name;
	/* In a queue's thread, without the lock. returns 0, or what breaks the context */
	int (*run)(struct CUctx_st *context, struct fake_work *work);
	void (*end)(struct fake_work *work); /* gives back what it holds; may be NULL */
	bool waits;                          /* for others, so that all before must be seen */
	enum fake_engine engine;
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
			const struct ptx_function *ptx; /* NULL: the host's */
			unsigned blocks, threads, shared_bytes;
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
bool fake_job_has_happened(const struct fake_job *job); /* ... before its context broke */
double fake_now(void);                                  /* seconds */
double fake_job_done_at(const struct fake_job *job);    /* on that clock */

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

/* Nodes of a graph that is captured, behind which the next one of a stream comes. */
struct fake_places {
	size_t *nodes, count;
};

/* ---- stream.c, event.c, host_function.c, kernel.c -------------------------------------------- */

struct CUstream_st {
	struct CUctx_st *context;
	struct fake_queue *queue, *copies[FAKE_COPY_ENGINES]; /* NULL: it has not copied so */
	struct CUstream_st *next;
	uint64_t number;
	int priority;
	bool blocking;     /* waits for the legacy stream, and it waits for this */
	const void *owner; /* the thread whose default stream it is; NULL: it was created */
	struct fake_job *last;

	struct CUgraph_st *captured; /* NULL: it is not */
	struct fake_places at;       /* in it */
};

/* A handle's stream, which may also be NULL and one of the two that are no objects. */
int fake_stream_find(struct CUstream_st *handle, struct CUstream_st **stream);
struct CUstream_st *fake_stream_start(struct CUctx_st *context, bool blocking, int priority);
/* That which does a stream's work; NULL without memory. */
struct fake_queue *fake_stream_queue(struct CUstream_st *stream, enum fake_engine engine);
void fake_streams_end(struct CUctx_st *context);

void fake_events_end(struct CUctx_st *context);
/* Makes a stream wait for the event's last record. */
int fake_event_make_wait(struct CUevent_st *event, struct CUstream_st *stream, const char *function);

bool fake_host_function_is_under_way(void);
void fake_host_functions_end(void); /* lets go of the lock meanwhile */

void fake_modules_end(struct CUctx_st *context);

/* ---- image.c --------------------------------------------------------------------------------- */

/* returns 0, or what a driver says that is too old for it */
int fake_image_check(const void *image);

/* The PTX of a fatbin; NULL: it has none, or it is packed, or this is no fatbin */
const char *fake_image_text(const void *image);

/* ---- ptx.c ----------------------------------------------------------------------------------- */

struct ptx_module;
struct ptx_function;

/* An image's PTX, if it is to be run; NULL: kernels by name. returns 0; RING_CUDA_OUT_OF_MEMORY */
int fake_ptx_open(const void *image, struct ptx_module **module);
void fake_ptx_close(struct ptx_module *module);

/* returns 0; RING_CUDA_NOT_FOUND; the driver's 218: it is not understood, as was said on stderr */
int fake_ptx_find(struct ptx_module *module, const char *name, const struct ptx_function **function);

/* A launch's arguments as the function wants them, to be freed; NULL: out of memory */
char *fake_ptx_parameters(const struct ptx_function *function, void **arguments);

/* The `run` of such a launch. */
int fake_ptx_run(struct CUctx_st *context, struct fake_work *work);

/* ---- capture.c ------------------------------------------------------------------------------- */

/* Whether this thread's unsafe calls are forbidden now; if so the capture that forbids is lost. */
int fake_capture_forbids(void);

/* That capture comes to nothing. returns RING_CUDA_CAPTURE_UNSUPPORTED */
int fake_capture_lose(struct CUgraph_st *graph);

/* The same, if it has not ended; NULL: there is none. returns the result */
int fake_capture_refuse(struct CUgraph_st *graph, int result);

/* Some stream of the context is captured: waiting for all of it loses that. returns 0, or the error */
int fake_capture_forbids_all(struct CUctx_st *context);

/* What a captured stream is given; a captured event says where it stands. */
int fake_capture_note(struct CUstream_st *stream, const struct fake_work *work);

/* A blocking stream of the context is captured: using the legacy one loses that capture. */
int fake_capture_forbids_legacy(struct CUctx_st *context);

/* A stream waits for an event that was recorded in a capture: it is captured as well. */
int fake_capture_join(struct CUstream_st *stream, struct CUgraph_st *graph,
		      const struct fake_places *at);

/* It is captured no more, if it was. */
void fake_capture_leave(struct CUstream_st *stream);

/* Those of both. returns 0; RING_CUDA_OUT_OF_MEMORY */
int fake_places_add(struct fake_places *places, const struct fake_places *more);
void fake_places_end(struct fake_places *places);

struct CUgraph_st *fake_graph_hold(struct CUgraph_st *graph);
void fake_graph_drop(struct CUgraph_st *graph);

#endif
