/* SPDX-License-Identifier: MIT */
/* The end of a program: if its output is lost, it fails. */
#ifndef TOOLS_FINISH_H
#define TOOLS_FINISH_H

/*
 * Closes standard output, at the end of main(). The disk under it may have been full.
 *
 * status    the program's exit status so far
 * failed    the status, with a complaint, if that was 0 and output is lost
 * returns   the status to end with
 */
int finish_output(const char *program, int status, int failed);

#endif
