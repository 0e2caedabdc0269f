/* SPDX-License-Identifier: MIT */
/* When copies go the other way; see trial.h. */
#include "trial.h"

/* Bytes a nanosecond: less is slow, and even less was interrupted. */
#define SLOW_BELOW 4.0
#define INTERRUPTED_BELOW 0.5

/*
 * One slow copy may be chance, or the first to touch a place. After a second, 8 copies go the other
 * way before one tries again; each time that is still slow, twice as many, so that trying costs
 * less and less.
 */
#define SLOW_IN_TURN 2
#define OTHER_FIRST 8
#define OTHER_MOST 512

void ring_trial_note(struct ring_trial *trial, size_t bytes, uint64_t ns)
{
	const double speed = (double)bytes / (double)(ns + 1);
	if (speed < INTERRUPTED_BELOW)
		return;
	trial->slow = speed < SLOW_BELOW ? trial->slow + 1 : 0;
	if (trial->slow < SLOW_IN_TURN)
		return;
	trial->other = OTHER_FIRST;
	for (unsigned i = SLOW_IN_TURN; i < trial->slow && trial->other < OTHER_MOST; i++)
		trial->other *= 2;
}
