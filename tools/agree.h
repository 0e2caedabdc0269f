/* SPDX-License-Identifier: MIT */
/* What the ranks of a program must have been told alike, compared before they begin. */
#ifndef TOOLS_AGREE_H
#define TOOLS_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"

struct agree_item {
	char name[24];  /* as its user knows it: "--seed" */
	char shown[72]; /* for people */
	uint64_t value; /* alike where it must be */
};

/* The items of number, text and time, with what is shown of them; text may be NULL. */
struct agree_item agree_number(const char *name, int64_t number);
struct agree_item agree_real(const char *name, double number);
struct agree_item agree_text(const char *name, const char *text);

/*
 * Collective. Every rank says of each item that differs what it is on the first rank where it is another than on
 * rank 0, and what it is there. returns 0; RING_EMISMATCH; another RING_E code, whose sentence is the caller's
 */
int agree(const char *program, struct ring_comm *comm, const struct agree_item *items, size_t count);

#endif
