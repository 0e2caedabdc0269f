/* SPDX-License-Identifier: MIT */
/* Compares what must be equal on all ranks of a program, before they begin. */
#ifndef TOOLS_AGREE_H
#define TOOLS_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include "ringccl.h"

struct agree_item {
	char name[24];  /* as users know it: "--seed" */
	char shown[72]; /* the value, for people */
	uint64_t value; /* compared; a hash of a text */
};

/* The items of number, text and time, with what is shown of them; text may be NULL. */
struct agree_item agree_number(const char *name, int64_t number);
struct agree_item agree_real(const char *name, double number);
struct agree_item agree_text(const char *name, const char *text);

/*
 * Collective. For each item that differs, every rank prints its value on the first rank that
 * differs from rank 0, and its value on rank 0. returns 0; RING_EMISMATCH; another RING_E code, for
 * which the caller prints a sentence
 */
int agree(const char *program, struct ring_comm *comm, const struct agree_item *items, size_t count);

#endif
