/* SPDX-License-Identifier: MIT */
/*
 * Our own output, which may take as long as its reader likes: a thread writes it, whoever puts bytes
 * in never waits. (Without blocking only the thread's way works for files of every kind: O_NONBLOCK
 * would change the file for all who share it, and a terminal blocks although poll(2) saw room.)
 */
#ifndef OUTLET_H
#define OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outlet;

/*
 * room      an eventfd, told when there is room again, when everything is written and of a failure
 * returns   NULL if there is no memory, or no thread can be had
 */
struct outlet *outlet_open(int fd, int room);

/* All of the bytes or none. returns 0; EAGAIN: no room now; or the errno with which writing failed */
int outlet_put(struct outlet *outlet, const char *bytes, size_t count);

int outlet_error(struct outlet *outlet);        /* the errno with which writing failed, or 0 */
size_t outlet_left(struct outlet *outlet);      /* bytes not written yet; 0 after a failure */
uint64_t outlet_written(struct outlet *outlet); /* bytes so far */

/* Until everything is written, at most so long. */
void outlet_wait(struct outlet *outlet, int timeout_ms);

/* Leaves unwritten what is left. NULL is allowed. */
void outlet_close(struct outlet *outlet);

/*
 * Standard output and error; one outlet for both if they are the same file, whose order it keeps.
 * room as above. returns whether there are both; outlets_close takes either
 */
bool outlets_open(struct outlet *outlets[2], int room);
void outlets_close(struct outlet *outlets[2]);

#endif
