/* SPDX-License-Identifier: MIT */
/* What a test, in one process, writes to stderr meanwhile. */
#ifndef RING_TEST_LISTEN_H
#define RING_TEST_LISTEN_H

void listen_begin(void);

/* returns all of it, at most 4095 bytes, to be freed */
char *listen_end(void);

#endif
