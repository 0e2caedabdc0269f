/* SPDX-License-Identifier: MIT */
/* The end of a program: if its output is lost, it fails. */
#ifndef TOOLS_FINISH_H
#define TOOLS_FINISH_H

/*
 * Closes standard output, at the end of main(). The disk under it may have been full.
 *
 * status    the program's exit status so far
 * returns   the status to end with; STATUS_SYSTEM, with a complaint, if it was 0 and output is lost
 */
int finish_output(const char *program, int status);

#endif
