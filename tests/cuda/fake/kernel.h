/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the fake driver: functions of the host, found by the names that they have on a device.
 * The same source is compiled for both; here it asks for every place that it reads or writes.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#define FAKE_PARAMETERS 8

struct fake_kernel {
	const char *name;
	void (*body)(void **parameters); /* called for each thread of each block */
	size_t bytes[FAKE_PARAMETERS];   /* of each parameter; 0 ends them       */
	bool waits;                      /* it calls fake_pause()                */
};

/* The library's and the tests' own, and ring_train's; the last of each has no name. */
extern const struct fake_kernel fake_kernels[], fake_trainer_kernels[];

/* ---- for kernels, while they run ------------------------------------------------------------- */

/* Which thread of which block this is. */
struct fake_place_in_grid {
	unsigned block, blocks, thread, threads;
};

const struct fake_place_in_grid *fake_place_in_grid(void);

/*
 * Where the device finds what one access is to read, or puts what it is to write: 1, 2, 4, 8 or 16
 * bytes, at a multiple of that. An access that a device would refuse ends the kernel, as there: this
 * does not return then.
 */
void *fake_reach(const void *address, size_t bytes);
void *fake_reach_to(void *address, size_t bytes);

/*
 * Where it finds `count` elements that lie one behind the other in one range, and of which perhaps
 * not all are accessed. Of none it returns something.
 */
void *fake_reach_all(const void *address, size_t element_bytes, size_t count);

/* For one that looks at memory again and again. Ends it if its context is broken, or ends. */
void fake_pause(void);

#endif
