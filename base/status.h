/* SPDX-License-Identifier: MIT */
/*
 * Failures as sentences. A function that decides which error it is writes the sentence once, into
 * the struct ring_failure it was given; everybody above passes the code on.
 */
#ifndef RING_STATUS_H
#define RING_STATUS_H

#include "ringccl.h"

#define RING_FAILURE_TEXT 512

/* A code and its sentence; all zero while nothing has failed. */
struct ring_failure {
	int err;
	char text[RING_FAILURE_TEXT];
};

/*
 * Stores err and the sentence, unless a failure is stored already; returns err. failure may be
 * NULL.
 */
__attribute__((format(printf, 3, 4))) int ring_fail(struct ring_failure *failure, int err,
						    const char *format, ...);

/* Refuses a call without a communicator: the calling thread keeps the sentence. returns err */
__attribute__((format(printf, 2, 3))) int ring_refuse(int err, const char *format, ...);

/* The calling thread's last failure that belonged to no communicator. */
void ring_failure_remember(const struct ring_failure *failure);
const char *ring_failure_remembered(void);

#endif
