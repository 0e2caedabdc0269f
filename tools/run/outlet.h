/* SPDX-License-Identifier: MIT */
/*
 * Our own output, whose reader may be slow: a thread writes it, so callers never wait. (Only a
 * thread works for files of every kind: O_NONBLOCK would change the file for all processes that
 * share it, and a terminal may block although poll(2) saw room.)
 */
#ifndef OUTLET_H
#define OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outlet;

/*
 * All of the bytes or none. returns 0; EAGAIN: no room now; or the errno with which writing failed
 */
int outlet_put(struct outlet *outlet, const char *bytes, size_t count);

int outlet_error(struct outlet *outlet);        /* the errno with which writing failed, or 0 */
size_t outlet_left(struct outlet *outlet);      /* bytes not written yet; 0 after a failure */
uint64_t outlet_written(struct outlet *outlet); /* bytes so far */

/* Waits until everything is written, at most timeout_ms. */
void outlet_wait(struct outlet *outlet, int timeout_ms);

/*
 * Standard output and error; one outlet for both if they are the same file, to keep the order.
 * room: an eventfd, signalled when there is room, when all is written, and on failure. returns
 * false without memory or a thread; call outlets_close in either case, which drops what is not
 * written yet
 */
bool outlets_open(struct outlet *outlets[2], int room);
void outlets_close(struct outlet *outlets[2]);

#endif
