/* SPDX-License-Identifier: MIT */
/* Comparing what a call said with what it had to say. */
#include "verdict.h"

#include <string.h>

int expect_verdict(const struct harness_rank *self, const char *name, int got, int want,
		   const struct ring_comm *comm, const char *word)
{
	const char *sentence = ring_comm_error(comm);
	if (got == want && strstr(sentence, word))
		return 0;
	return harness_fail(self, "%s gave %d (%s), not %d; looked for \"%s\" in \"%s\"", name, got,
			    ring_strerror(got), want, word, sentence);
}

int expect_works(const struct harness_rank *self, struct ring_comm *comm, const char *after)
{
	int32_t value = self->rank + 1, sum = 0;
	int err = ring_all_reduce(comm, &value, &sum, 1, RING_INT32, RING_SUM, NULL);
	if (err || sum != self->size * (self->size + 1) / 2 || ring_comm_status(comm))
		return harness_fail(self, "after %s: sum %d: %s", after, sum, ring_comm_error(comm));
	return 0;
}
