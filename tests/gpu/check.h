/* SPDX-License-Identifier: MIT */
/*
 * One question about a real driver, of which the library has assumed an answer. Each is asked by a
 * process of its own that has a deadline, so that a hang is an answer, too.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>

enum { CHECK_OK, CHECK_NOT_OK, CHECK_SKIP = 77 };

struct check {
	const char *name;
	int (*run)(void);  /* in the process; returns one of these */
	int seconds;       /* its deadline */
	const char *means; /* for the library, if it is not ok */
};

extern const struct check check_stopped, check_queues, check_fault, check_blocking; /* of waiting */
extern const struct check check_threads;                                            /* the same   */
extern const struct check check_pointers, check_pinned;                             /* of memory  */
extern const struct check check_lent;                                               /* of mapping */
extern const struct check check_image, check_reset, check_bits;                     /* of library */
extern const struct check check_hop, check_rates, check_slices;                     /* of speed   */

/* Mapped memory of device 0, so far into addresses of its own; NULL: the driver has none. */
char *check_map(size_t bytes, size_t gap);

/* Part of what was measured, for the check's line. Parts are joined by semicolons. */
__attribute__((format(printf, 1, 2))) void check_fact(const char *format, ...);

/* A line of its own, for whoever wants to know more. */
__attribute__((format(printf, 1, 2))) void check_note(const char *format, ...);

/* How many times slower than a quiet one this machine may be: RING_TEST_ROOM, or 1. */
int check_room(void);

/*
 * Runs a part of a check in one more process, because it has another environment or may end it.
 * returns what the function returned; 128 + the signal that ended it
 */
int check_apart(int (*run)(void *context), void *context);

#endif
