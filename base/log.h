/* SPDX-License-Identifier: MIT */
/*
 * Messages for people on stderr, or in the file of RING_LOG_FILE with time, host and rank. Silent
 * unless RING_LOG is warn, info or debug. RING_LOUD is never silent, and on stderr in any case: the
 * user loses what was asked for, or strangers may come in. Lower case, who -> whom first, the exact
 * cause. Never on the path of a transfer.
 */
#ifndef RING_LOG_H
#define RING_LOG_H

enum ring_log_level { RING_LOUD = 0, RING_WARN = 1, RING_INFO = 2, RING_DEBUG = 3 };

__attribute__((format(printf, 2, 3))) void ring_log(enum ring_log_level level, const char *format,
						    ...);

/* The rank of this process, or of its first one: file and lines name it. Later ones are ignored. */
void ring_log_rank(int rank);

#endif
