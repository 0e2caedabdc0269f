/* SPDX-License-Identifier: MIT */
/*
 * A link around another link that is worse than it: it breaks at a chosen operation, or shows
 * progress late and in bursts, as hardware completions do. Whatever the tests find that way, no
 * production code has a hook for it.
 */
#ifndef RING_TEST_FAULTY_H
#define RING_TEST_FAULTY_H

#include "transport/transport.h"

struct ring_faults {
	uint64_t fail_at; /* this send() or poll(), from 1, and all later ones are RING_EPEER; 0: none */
	bool late;        /* sent and arrived move late and in bursts */
	uint64_t seed;                /* of the bursts */
	const struct ring_bell *bell; /* this rank's: rung while something is held back, or NULL */
};

/* Takes inner over. returns 0; RING_ENOMEM, then inner stays the caller's */
int ring_faulty_wrap(struct ring_link *inner, const struct ring_faults *faults,
		     struct ring_link **link);

#endif
