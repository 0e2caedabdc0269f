/* SPDX-License-Identifier: MIT */
/* Writes messages, each with one write(2), so that lines of several ranks do not mix. */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "flag.h"
#include "base/text/text.h"

#define LINE_BYTES 1024
#define PATH_BYTES 1024

static const char *const level_names[] = {
	[RING_LOUD] = "warn", [RING_WARN] = "warn", [RING_INFO] = "info", [RING_DEBUG] = "debug"};

static pthread_once_t threshold_read = PTHREAD_ONCE_INIT;
static enum ring_log_level threshold; /* RING_LOUD: no others */
static char host[64];

static pthread_once_t file_opened = PTHREAD_ONCE_INIT;
static int file = -1; /* of RING_LOG_FILE */
static int own_rank;
static struct ring_flag rank_is_known;

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t begin_line(char *line, size_t room, bool in_file)
{
	char when[32] = "";
	struct timespec now;
	struct tm utc;
	if (!in_file)
		return (size_t)snprintf(line, room, "ringccl[%d] ", (int)getpid());
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	return (size_t)snprintf(line, room, "%s.%03ldZ %s ringccl[%d] rank %d ", when,
				now.tv_nsec / 1000000, host, (int)getpid(), own_rank);
}

/* Messages too long for the line are cut. */
static size_t format_line(char line[LINE_BYTES], bool in_file, enum ring_log_level level,
			  const char *format, va_list args)
{
	size_t room = LINE_BYTES - 1; /* keeps one byte for the newline */
	size_t length = begin_line(line, room, in_file);
	length += (size_t)snprintf(line + length, room - length, "%s: ", level_names[level]);
	vsnprintf(line + length, room - length, format, args);
	ring_text_clean(line); /* one message is one line, and no terminal obeys it */
	length += strlen(line + length);
	line[length++] = '\n';
	return length;
}

static void write_line(int fd, bool in_file, int cause, enum ring_log_level level,
		       const char *format, va_list args)
{
	char line[LINE_BYTES];
	va_list copy;
	va_copy(copy, args);
	errno = cause;
	size_t length = format_line(line, in_file, level, format, copy);
	va_end(copy);
	if (write(fd, line, length) < 0) {
		/* Nobody is left to be told. */
	}
}

/* On standard error, whatever RING_LOG is; without it, as that may be what is wrong. */
__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	write_line(STDERR_FILENO, false, errno, RING_LOUD, format, args);
	va_end(args);
}

/* ---- what the environment says --------------------------------------------------------------- */

static void read_threshold(void)
{
	const char *wanted = getenv("RING_LOG");
	bool known = !wanted || !*wanted;
	for (int level = RING_WARN; wanted && level <= RING_DEBUG; level++) {
		if (strcmp(wanted, level_names[level]) != 0)
			continue;
		threshold = (enum ring_log_level)level;
		known = true;
	}
	if (gethostname(host, sizeof(host) - 1) < 0)
		strcpy(host, "?");
	if (!known)
		complain("RING_LOG is \"%.64s\", but must be warn, info or debug", wanted);
}

/* %h: the host's name; %r: the rank; %p: the process. False if it is too long. */
static bool expand(const char *pattern, char path[PATH_BYTES])
{
	size_t length = 0;
	for (const char *at = pattern; *at && length < PATH_BYTES; at++) {
		size_t room = PATH_BYTES - length;
		bool special = at[0] == '%' && at[1] && strchr("hrp%", at[1]);
		char letter = special ? *++at : '\0';
		length += (size_t)(letter == 'h'   ? snprintf(path + length, room, "%s", host)
				   : letter == 'r' ? snprintf(path + length, room, "%d", own_rank)
				   : letter == 'p'
					   ? snprintf(path + length, room, "%d", (int)getpid())
					   : snprintf(path + length, room, "%c", *at));
	}
	return length < PATH_BYTES;
}

static void open_file(void)
{
	const char *pattern = getenv("RING_LOG_FILE");
	char path[PATH_BYTES] = "";
	if (!pattern || !*pattern)
		return;
	errno = ENAMETOOLONG;
	if (expand(pattern, path))
		file = ring_fd_append(path);
	if (file < 0)
		complain("RING_LOG_FILE: cannot write %.256s: %m; messages go to standard error",
			 path[0] ? path : pattern);
}

/* The file that messages go to; -1: standard error. It is opened once the rank is known. */
static int file_of_messages(void)
{
	if (!ring_flag_is_raised(&rank_is_known))
		return -1;
	pthread_once(&file_opened, open_file);
	return file;
}

void ring_log_rank(int rank)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (!ring_flag_is_raised(&rank_is_known))
		own_rank = rank;
	ring_flag_raise(&rank_is_known);
	pthread_mutex_unlock(&lock);
	pthread_once(&threshold_read, read_threshold);
}

/* ---- messages -------------------------------------------------------------------------------- */

void ring_log(enum ring_log_level level, const char *format, ...)
{
	int saved_errno = errno; /* for %m, and so that callers may log before they look at it */
	pthread_once(&threshold_read, read_threshold);
	if (level <= threshold) {
		int to = file_of_messages();
		va_list args;
		va_start(args, format);
		if (to >= 0)
			write_line(to, true, saved_errno, level, format, args);
		if (to < 0 || level == RING_LOUD)
			write_line(STDERR_FILENO, false, saved_errno, level, format, args);
		va_end(args);
	}
	errno = saved_errno;
}
