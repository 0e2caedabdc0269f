/* SPDX-License-Identifier: MIT */
/* What ranks have told their launcher of where they wait (base/note.h). */
#ifndef RUN_NOTES_H
#define RUN_NOTES_H

#include <sys/types.h>

#include "outlet.h"

/* A file for ranks that are started from now on. returns a descriptor; -1: they will not tell */
int notes_open(int ranks);
void notes_close(int places); /* -1 is allowed */

/*
 * If any rank waits, a line for each: first for those that do not, then
 * "ring_run: rank 0 (host h, pid 12) waits for rank 1, in call 6: all_reduce of 1 float, sum".
 *
 * pids      pids[ranks]; 0: it has ended
 */
void notes_tell(int places, const char *program, const pid_t *pids, int ranks, struct outlet *to);

#endif
