/* SPDX-License-Identifier: MIT */
/*
 * What a device promises: memory of its own, and reductions and copies that it finishes in order.
 * The CPU finishes at once; others later and in bursts, so nobody may assume either.
 *
 * A device is a row of the table in devices.c. Its memory is reached by its own jobs: those of
 * one device reach no memory of another's, but host memory that was pinned for it.
 *
 *	any thread, at any time      owns, look, count, open, alloc, free, host_alloc, host_free,
 *	                             pin, unpin
 *	one thread at a time         the functions of a queue; another queue may be another's
 *	may block                    those but owns and look; queue_open, queue_close
 *	never blocks                 owns, look, reduce, copy, tell, finished
 *
 * A device that failed, for one queue or for all, says so for good: submitting and finished()
 * return RING_ESYSTEM from then on, and its row has logged why. The first that does waits for the
 * jobs under way, which wait for nobody. What it was doing may be half done, but it touches no
 * memory any more.
 */
#ifndef RING_DEVICE_H
#define RING_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/distance.h"
#include "base/region.h"
#include "device_calls.h"
#include "ringccl.h"

#define RING_REDUCE_SOURCES 64
#define RING_REDUCE_RESULTS 64

struct ring_device_queue; /* jobs of one channel, in order */
struct ring_failure;

/* A device may have several chips, 0 and up, whose jobs reach their own memory only. */
#define RING_CHIP_ANY (-1) /* that of the calling thread, or the first */

/* What lies at an address. */
struct ring_memory_sort {
	int chip;         /* that has it; RING_CHIP_ANY: it is not the device's */
	const char *what; /* otherwise, for people, as "pinned memory of the host"; NULL */
};

/* A reduction of the program's, as ringccl.h has it. call NULL: there is none. */
struct ring_function {
	ring_op_function *call;
	void *context;
};

/*
 * One job: every result becomes sources[0] op sources[1] op ..., from left to right, in one pass. A
 * result may equal a source; other overlap is not allowed. Any alignment. The first nscalars
 * sources are multiplied by a scalar each before anything else.
 *
 * Types of 16 and 8 bits compute in float32 and are rounded once, at the end. Operations on bits
 * take integers, without scalars or divisor.
 */
struct ring_reduction {
	const void *sources[RING_REDUCE_SOURCES];
	int nsources; /* 1..RING_REDUCE_SOURCES; 1 without scalar and divisor is a copy */
	int nscalars;
	/* scalars[nscalars], read before reduce() returns: an element, its first bytes */
	const uint64_t *scalars;
	void *results[RING_REDUCE_RESULTS];
	int nresults;
	size_t count; /* elements, 0 is allowed */
	enum ring_datatype type;
	enum ring_op op;               /* RING_AVG adds like RING_SUM */
	struct ring_function function; /* instead of op, scalars and divisor; the CPU's alone */
	uint64_t divisor; /* divides the result before it is rounded; at most 2^31 - 1, 0 is 1 */
	bool past; /* the results are part of more than caches hold; copies may pass them by */
};

/* The loops of jobs with two sources and one result. */
struct ring_pair_loops {
	/* disjoint */
	void (*pair)(void *result, const void *left, const void *right, size_t count);
	void (*onto)(void *result, const void *right, size_t count); /* result = result op right */
};

/*
 * Streams that the program has on the device. What a stream was given it does in order; a place in
 * it is where it stops, once it has come there, until it is let go. Places are numbers that grow,
 * modulo 2^32.
 *
 *	the thread that makes calls    open, close, check, mark, stop; chip
 *	the one that runs them         has_come, tell, let_go
 *
 * Only open and close may block.
 */
struct ring_device_stream;

struct ring_device_streams {
	/* returns 0; RING_EINVAL, RING_ENOTSUP, RING_ENOMEM, RING_ESYSTEM: *failure says why */
	int (*open)(void *handle, struct ring_device_stream **stream, struct ring_failure *failure);

	/* Whoever stopped it last has let it go, but it need not have come there. */
	void (*close)(struct ring_device_stream *stream);

	int (*chip)(const struct ring_device_stream *stream); /* that has it */

	/* Whether the calling thread may use it. returns 0; RING_EINVAL: *failure says why */
	int (*check)(const struct ring_device_stream *stream, struct ring_failure *failure);

	/*
	 * Whether what it is given is captured into a graph now, and so not to be stopped for.
	 * *capture: a number that no other capture has; 0: it is not. returns 0; RING_ENOTSUP,
	 * RING_ESYSTEM: *failure says why
	 */
	int (*capture)(const struct ring_device_stream *stream, uint64_t *capture,
		       struct ring_failure *failure);

	/*
	 * mark() makes a place behind what it was given so far, and stop() has it stop there, to be
	 * called before it is given anything else. Where several streams share a queue of the
	 * hardware one that stops keeps the others from their places, so whoever needs them all
	 * marks all first. returns 0; RING_ENOMEM, RING_ESYSTEM: it does not stop, and the device
	 * is likely to have failed
	 */
	int (*mark)(struct ring_device_stream *stream, uint32_t *place);
	int (*stop)(struct ring_device_stream *stream, uint32_t place);

	/*
	 * What it was given before has been done, and can be seen by jobs of all queues. returns 0;
	 * RING_EAGAIN; RING_ESYSTEM: the device failed
	 */
	int (*has_come)(struct ring_device_stream *stream, uint32_t place);

	/* As the device's tell(), when has_come() has something else to say than RING_EAGAIN. */
	int (*tell)(struct ring_device_stream *stream, uint32_t place, void (*done)(void *context),
		    void *context);

	/*
	 * What jobs have written is seen by what lies behind the place. It may be let go before it
	 * has come. Never fails.
	 */
	void (*let_go)(struct ring_device_stream *stream, uint32_t place);
};

/*
 * Memory of chips that jobs of others reach: of another chip of this process, or of another process
 * of the host. That is asked for from either side; what drivers say of it is to be tried. Any
 * thread; all may block.
 */
struct ring_device_lending {
	/*
	 * Finds what names a region of a chip to other processes: that it lends, by what, and the
	 * descriptor if that has one, which is the region's then. returns 0; RING_ENOTSUP: this
	 * memory has no name; RING_ENOMEM; RING_ESYSTEM
	 */
	int (*lend)(struct ring_region *region);

	/*
	 * As struct ring_opener has them; the same may be opened several times, and is closed as
	 * often. The process that lent it frees it behind that.
	 */
	int (*open)(int chip, const struct ring_lent *lent, int fd, void **memory, size_t *bytes);
	void (*close)(int chip, void *memory);
	bool (*has_closed)(int chip);
	int (*reach)(int chip, const void *memory);

	/* How far such memory, which open() or reach() has opened, is from the chip. */
	enum ring_distance (*distance)(int chip, const void *memory);

	/*
	 * Memory of alloc() that its owner is done with, and frees when others have closed it: no
	 * call can work on it from here on.
	 */
	void (*leave)(void *memory);
};

struct ring_device {
	const char *name;
	int16_t number; /* what entry records call it, on all hosts alike; 0: the CPU */

	/*
	 * The host may not touch its memory: neither threads nor system calls, only jobs may. Links
	 * copy what lies there to host memory first, and from there jobs take what arrived.
	 */
	bool apart;

	/* It has chips, so calls on its memory have channels of their own, with their own links. */
	bool has_chips;

	/* Whether it is this device's, or may be: the device cannot say. Asked in every call. */
	bool (*owns)(const void *memory);

	/*
	 * Looks at memory that a call is given, the device's own or not; a call with `bytes` 0 has
	 * no use for it. NULL: the CPU's. returns 0; RING_EINVAL: no call can work on it, and the
	 * sentence says what it is, as it goes on behind "send "; RING_ESYSTEM: the device cannot
	 * say, and the sentence goes on as well
	 */
	int (*look)(const void *memory, size_t bytes, struct ring_memory_sort *sort,
		    struct ring_failure *failure);

	/*
	 * How many chips this process can see, at least one. NULL: the CPU's. returns 0;
	 * RING_ENOTSUP: there is none; RING_ENOMEM; RING_ESYSTEM
	 */
	int (*count)(int *chips, struct ring_failure *failure);

	/*
	 * Makes a chip ready, which may wait for all that it was given; RING_CHIP_ANY becomes its
	 * number. *text names it, for as long as the process lives. NULL: the CPU's. returns 0;
	 * RING_ENOTSUP: there is none; RING_ENOMEM; RING_ESYSTEM
	 */
	int (*open)(int *chip, const char **text, struct ring_failure *failure);

	/*
	 * Aligned to 64 bytes. What is freed, below as well, may be so later: when no stream of the
	 * program's waits for a call. Allocating and pinning wait for such a moment. returns 0;
	 * RING_ENOMEM; RING_ESYSTEM
	 */
	int (*alloc)(int chip, size_t bytes, void **memory);
	void (*free)(void *memory);

	/* Host memory that jobs reach; whole pages. Both NULL: they reach all of it. As alloc. */
	int (*host_alloc)(size_t bytes, void **memory);
	void (*host_free)(void *memory);

	/*
	 * Lets jobs reach host memory that exists, until unpin() with the same arguments: whole
	 * pages of which nobody else pins any. A child made by fork() does not have them. Whoever
	 * gives the memory back behind unpin() does that by ring_held_end() (base/held.h). Both
	 * NULL: as above. returns 0; RING_ENOTSUP: the device can not; RING_ENOMEM; RING_ESYSTEM
	 */
	int (*pin)(void *memory, size_t bytes);
	void (*unpin)(void *memory, size_t bytes);

	/* returns 0; RING_ENOMEM; RING_ESYSTEM */
	int (*queue_open)(int chip, struct ring_device_queue **queue);

	/*
	 * Waits for its jobs, unless the device has failed, and until nobody is being told; frees
	 * it.
	 */
	void (*queue_close)(struct ring_device_queue *queue);

	/*
	 * Both submit exactly one job, also for 0 elements or bytes, whose memory stays as it is
	 * until it is finished. Sources and results may be any that the device's jobs reach. past:
	 * what is copied is part of more than caches hold, so it may pass them by. returns 0;
	 * RING_ENOTSUP, RING_ENOMEM: nothing was submitted; RING_ESYSTEM
	 */
	int (*reduce)(struct ring_device_queue *queue, const struct ring_reduction *reduction);
	int (*copy)(struct ring_device_queue *queue, void *dst, const void *src, size_t bytes,
		    bool past);

	/*
	 * The loops of a device that does everything at once, for sums too short to be made jobs
	 * of. returns NULL: none for these; it may be NULL itself. (8 B on 2 ranks, as a job -> so:
	 * 0.12 -> 0.10 us.)
	 */
	const struct ring_pair_loops *(*pair_loops)(struct ring_device_queue *queue,
						    enum ring_datatype type, enum ring_op op);

	/*
	 * Jobs finished since queue_open; only grows. What they wrote is visible to the caller.
	 * returns 0; RING_ESYSTEM if the device failed
	 */
	int (*finished)(struct ring_device_queue *queue, uint64_t *jobs);

	/*
	 * Has done(context) called, once, when all jobs submitted so far are finished: finished()
	 * says so by then. Also if the device fails, then soon after. By any thread, perhaps this
	 * one before tell() returns; done() does not block, and uses no device. Not to be called
	 * again before done() was called. NULL: jobs are finished when they are submitted. returns
	 * 0; RING_ENOMEM, RING_ESYSTEM: it will not be called
	 */
	int (*tell)(struct ring_device_queue *queue, void (*done)(void *context), void *context);

	const struct ring_device_streams *streams; /* NULL: programs have none there */
	const struct ring_device_calls *calls;     /* NULL: it carries out none by itself */
	const struct ring_device_lending *lending; /* NULL: no other reaches its memory */
};

/* Whether jobs may finish after they were submitted; else reduce() and copy() have done them. */
static inline bool ring_device_finishes_later(const struct ring_device *device)
{
	return device->tell;
}

extern const struct ring_device ring_device_cpu, ring_device_cuda;

/* The table: the CPU first, NULL behind the last. A test program may link its own instead. */
extern const struct ring_device *const ring_devices[];

/* Whose memory this is: what no other row owns is the CPU's. Any thread; cheap. */
static inline const struct ring_device *ring_device_of(const void *memory)
{
	const struct ring_device *const *device = ring_devices + 1;
	while (*device && !(*device)->owns(memory))
		device++;
	return *device ? *device : ring_devices[0];
}

/* The row that records call so, NULL if there is none. */
static inline const struct ring_device *ring_device_numbered(int number)
{
	const struct ring_device *const *device = ring_devices;
	while (*device && (*device)->number != number)
		device++;
	return *device;
}

#endif
