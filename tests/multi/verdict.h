/* SPDX-License-Identifier: MIT */
/* What a program is told when it does something wrong, and that its communicator goes on working. */
#ifndef VERDICT_H
#define VERDICT_H

#include "tests/harness.h"

/*
 * The call must have given `want`, and the sentence of comm (NULL: of this thread) must hold `word`.
 * returns 0 or 1
 */
int expect_verdict(const struct harness_rank *self, const char *name, int got, int want,
		   const struct ring_comm *comm, const char *word);

/* Makes a call that must be right, on all ranks. returns 0 or 1 */
int expect_works(const struct harness_rank *self, struct ring_comm *comm, const char *after);

#endif
