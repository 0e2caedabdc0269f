/* SPDX-License-Identifier: MIT */
/*
 * Traps of CUDA's driver. Each is a short program, once written wrongly, which hangs or gets an
 * error, and once rightly, which gets its result. Every one runs in a process of its own, on a
 * stage that is set before it.
 */
#ifndef TRAP_H
#define TRAP_H

#include "driver.h"

/* What the wrong program comes to, if not to an error of the driver's. */
enum {
	TRAP_HANGS = -1,  /* it waits for ever                  */
	TRAP_FAULTS = -2, /* it ends with a segmentation fault  */
	TRAP_STALE = -3,  /* it sees what was there before      */
};

struct trap {
	const char *name;
	int (*run)(bool wrong); /* returns 0: its result is right; a driver's error; TRAP_STALE */
	int comes_to;           /* the wrong one */
	const char *wrong_env, *right_env; /* NAME=VALUE, before cuInit; may be NULL */
	bool is_stricter;                  /* the fake driver than the real one */
};

/* NULL after the last. */
extern const struct trap traps_of_waiting[], traps_of_memory[], traps_of_mapping[],
	traps_of_errors[], traps_of_capture[];

extern const char *const trap_image; /* of trap_store and trap_store_wide */

#define TRAP_BYTES 65536

/* What every program has: on device 0, with its context current. */
struct trap_stage {
	struct CUctx_st *context;
	struct CUstream_st *first,
		*second; /* neither waits for the legacy stream, nor it for them */
	struct CUevent_st *event;
	struct CUfunc_st *store, *store_wide; /* kernels that are not loaded yet: *memory = value */
	char *memory, *other;                 /* TRAP_BYTES of the device each, all zeros */
	uint32_t *pinned;                     /* TRAP_BYTES of the host, all zeros */
	uint32_t *word;                       /* of the host, pinned, 0 */
};

extern struct trap_stage stage;

/* From now on a stream waits for the word, until somebody lets it go. */
void trap_hold(struct CUstream_st *stream);
void trap_let_go(void);

/* Lets go and waits until all is done. returns what that says */
int trap_finish(void);

/* One of the stage's kernels, as one thread; it has `value` to store. */
int trap_launch(struct CUfunc_st *kernel, struct CUstream_st *stream, void *memory, uint32_t value);

/*
 * Physical memory of device 0, whole units of 2 MiB, at reserved addresses; no device is let reach
 * it yet.
 */
char *trap_map(size_t bytes);

/* What the device has at a place of its memory: through the second stream. */
uint32_t trap_look(const void *memory);

#endif
