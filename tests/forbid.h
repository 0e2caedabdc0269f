/* SPDX-License-Identifier: MIT */
/*
 * A system that forbids some system calls, as containers and old kernels do: they fail in all threads of this process and
 * in its children, from now on. In a process of its own, as nothing undoes it.
 */
#ifndef FORBID_H
#define FORBID_H

#include <stdbool.h>
#include <stdint.h>

#define FORBID_MAX 8

struct forbidden_call {
	long call;     /* SYS_...; 0: none */
	int error;     /* it fails with this */
	int argument;  /* ... whose number this is ... */
	uint32_t bits; /* ... has one of these bits; 0: in any case */
	bool is_equal; /* ... is exactly `bits` */
};

/* False where this system cannot. */
bool forbid(const struct forbidden_call *calls, int count);

#endif
