/* SPDX-License-Identifier: MIT */
/* Writes messages to stderr, each with one write(2), so that lines of several ranks do not mix. */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define LINE_BYTES 1024

static const char *const level_names[] = {
	[RING_LOUD] = "warn", [RING_WARN] = "warn", [RING_INFO] = "info", [RING_DEBUG] = "debug"};

static pthread_once_t threshold_read = PTHREAD_ONCE_INIT;
static enum ring_log_level threshold; /* RING_LOUD: no others */

static void read_threshold(void)
{
	const char *wanted = getenv("RING_LOG");
	for (int level = RING_WARN; wanted && level <= RING_DEBUG; level++) {
		if (!strcmp(wanted, level_names[level]))
			threshold = (enum ring_log_level)level;
	}
}

/* Messages too long for the line are cut. */
static size_t format_line(char line[LINE_BYTES], enum ring_log_level level, const char *format,
			  va_list args)
{
	size_t room = LINE_BYTES - 1; /* keeps one byte for the newline */
	size_t length = (size_t)snprintf(line, room, "ringccl[%d] %s: ", (int)getpid(),
					 level_names[level]);
	vsnprintf(line + length, room - length, format, args);
	ring_text_clean(line); /* one message is one line, and no terminal obeys it */
	length += strlen(line + length);
	line[length++] = '\n';
	return length;
}

void ring_log(enum ring_log_level level, const char *format, ...)
{
	int saved_errno = errno; /* for %m, and so that callers may log before they look at it */
	pthread_once(&threshold_read, read_threshold);
	if (level <= threshold) {
		char line[LINE_BYTES];
		va_list args;
		va_start(args, format);
		errno = saved_errno;
		size_t length = format_line(line, level, format, args);
		va_end(args);
		if (write(STDERR_FILENO, line, length) < 0) {
			/* Nobody is left to be told. */
		}
	}
	errno = saved_errno;
}
