/* SPDX-License-Identifier: MIT */
/*
 * Where this rank waits, in a file of its launcher's that has a record per rank: so ring_run can
 * say it of ranks that it ends, even if they are stopped. Without such a launcher nothing happens.
 */
#ifndef RING_NOTE_H
#define RING_NOTE_H

/* Names the file, in /proc: it has no other name. */
#define RING_NOTES "RING_NOTES"

/* The record of rank r is the r-th of the file; one that was never written has zeros. */
struct ring_note {
	char waits; /* RING_WAITS or RING_WAITS_NOT */
	char text[511];
};
#define RING_WAITS 'w'
#define RING_WAITS_NOT 'n'

/*
 * The owner, a communicator's part, waits as the text says, and no more: then it is nobody's record
 * unless another has written its own meanwhile. Any thread.
 */
void ring_note_wait(const void *owner, const char *text);
void ring_note_go_on(const void *owner);

#endif
