/* SPDX-License-Identifier: MIT */
/* A kernel run often, whole and with weaker memory: right each time, and wrong each time. */
#ifndef PTX_RUNS_H
#define PTX_RUNS_H

#include "ptx.h"

struct runs {
	/* returns whether it went wrong */
	bool (*run)(const struct ptx_function *function, uint64_t seed);
	uint64_t seed;
	char *text;
	size_t bytes;
};

/* Reads the PTX. returns false if there is none, and says so */
bool runs_read(struct runs *runs, const char *name);

/* `count` runs of a function are right. */
bool runs_are_right(const struct runs *runs, const char *function, int count);

/* All are wrong without `count` of the places that ptx_weaken() finds, from number `first` on. */
bool runs_are_wrong(const struct runs *runs, const char *function, const char *what, size_t first,
		    size_t count);

#endif
