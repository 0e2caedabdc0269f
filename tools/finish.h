/* SPDX-License-Identifier: MIT */
/* The end of a program: what it said must have arrived, or it fails. */
#ifndef TOOLS_FINISH_H
#define TOOLS_FINISH_H

/*
 * Closes standard output; the last thing that main() does. A disk may have been full under it.
 *
 * status    that the program would have ended with
 * failed    ... and does instead, with a complaint, if that was 0 and what was printed is lost
 * returns   the status to end with
 */
int finish_output(const char *program, int status, int failed);

#endif
