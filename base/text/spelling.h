/* SPDX-License-Identifier: MIT */
/* Which known word a wrong one may have meant. */
#ifndef RING_SPELLING_H
#define RING_SPELLING_H

/* Begins with {.wrong = word}; `best` is the nearest known word so far, NULL: none is near. */
struct ring_spelling {
	const char *wrong, *best;
	int changes; /* letters to change, add, leave out or exchange; of `best` */
};

void ring_spelling_try(struct ring_spelling *spelling, const char *known);

#endif
