/* SPDX-License-Identifier: MIT */
/* What this process holds, as the kernel tells: to be compared with what it held before. */
#ifndef HOLDINGS_H
#define HOLDINGS_H

int holdings_fds(void);
int holdings_threads(void);     /* one that was joined may show a moment longer */
int holdings_shared_maps(void); /* of memory without a name in the file system */

/* Returns when a thread of this process (gettid()) has slept for a while, as inside a call. */
void holdings_await_sleep(int thread);

/* How many names there are in a folder; 0 if there is no such folder. */
int holdings_names(const char *folder);

#endif
