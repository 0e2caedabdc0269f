/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "quiet.h"

#define PAUSE_S 0.1

static bool is_seen(void)
{
	return isatty(STDERR_FILENO) && !quiet_is_on();
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void show_rest(const struct progress *progress, double now, size_t done, size_t all)
{
	double here = (double)(done - progress->first);
	double left = (now - progress->begun) / here * (double)(all - done);
	fprintf(stderr, " (%zu of %zu", done, all);
	if (here > 0 && done < all)
		fprintf(stderr, left < 90 ? ", %.0f s left" : ", %.0f min left",
			left < 90 ? left : left / 60);
	fputc(')', stderr);
}

void progress_show(struct progress *progress, size_t done, size_t all, const char *format, ...)
{
	double now = now_s();
	if (progress->begun == 0)
		*progress = (struct progress){.begun = now, .first = done};
	if (!is_seen() || now - progress->shown < PAUSE_S)
		return;
	progress->shown = now;
	va_list arguments;
	va_start(arguments, format);
	fputs("\r\033[K", stderr);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	if (all > 0)
		show_rest(progress, now, done, all);
	fflush(stderr);
}

void progress_wipe(void)
{
	if (is_seen())
		fputs("\r\033[K", stderr);
}
