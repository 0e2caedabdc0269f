/* SPDX-License-Identifier: MIT */
/* The words for a plan and for a rank's work in a step; text and pictures share them. */
#ifndef STEPS_WORDS_H
#define STEPS_WORDS_H

#include "label.h"

/* "all_reduce on 4 ranks, around the ring: 6 steps" */
void steps_say_title(const struct steps_walk *walk, char *text, size_t room);

/* How the algorithm works, in a sentence or two. */
const char *steps_say_how(const struct steps_choice *choice);

/* The meaning of a2, A and numbers. */
void steps_say_names(const struct steps_walk *walk, const struct steps_cells *cells, bool numbers,
		     char *text, size_t room);

/* How many bytes every rank sends in all. */
void steps_say_bytes(const struct steps_walk *walk, char *text, size_t room);

/* "step 2", "signals", "before" */
void steps_say_step(const struct steps_walk *walk, int step, char *text, size_t room);

/*
 * What an outgoing event sends, without the receiver; what an incoming one does: "a1+a2 from 2, +
 * a3".
 */
void steps_say_event(const struct steps_walk *walk, const struct steps_cells *cells,
		     const struct steps_event *event, bool numbers, char *text);

/* ", 12.3 us" in a recorded call, else "" */
const char *steps_say_time(const struct steps_event *event, char *text);

/*
 * Whether two events of one step send the same data from the same rank, perhaps to different
 * receivers.
 */
bool steps_sends_alike(const struct steps_walk *walk, const struct steps_event *a,
		       const struct steps_event *b);

#endif
