/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

/* Shorter sleeps are not precise. */
#define SHORTEST_SLEEP_S 1e-3

/* ---- options ------------------------------------------------------------------------------ */

static bool refuse(const char *option, const char *wanted, const char *text)
{
	fprintf(stderr, "ring_train: --%s wants %s, not '%s'\n", option, wanted, text);
	return false;
}

/* "40ms", "0.5s", "300us" */
static bool read_time(const char *text, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
	char *end;
	double number = strtod(text, &end);
	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++) {
		*seconds = number * units[i].seconds;
		if (strcmp(end, units[i].name) == 0)
			return *seconds >= 0 && *seconds <= 3600;
	}
	return false;
}

static bool read_share(const char *text, double *share)
{
	char *end;
	*share = strtod(text, &end) / 100;
	return end != text && strcmp(end, "%") == 0 && *share >= 0.01 && *share <= 1;
}

static bool read_slow(struct train_fault_options *options)
{
	char *end;
	long rank = strtol(options->slow, &end, 10);
	bool reads = end != options->slow && *end == ':' && rank >= 0 && rank < 65536;
	options->slow_rank = (int)rank;
	if (reads && read_time(end + 1, &options->slow_s))
		return true;
	options->slow_s = 0;
	return (reads && read_share(end + 1, &options->slow_share)) ||
	       refuse("slow-rank", "a rank and how much later it comes, 0:40ms, or what is left of its speed, 0:50%",
		      options->slow);
}

bool train_faults_parse(struct train_fault_options *options)
{
	options->slow_rank = -1;
	options->slow_s = options->work_s = 0;
	options->slow_share = 1;
	if (options->slow && !read_slow(options))
		return false;
	if (options->work && !read_time(options->work, &options->work_s))
		return refuse("rank0-work", "a time, 20ms", options->work);
	if (options->extra_fresh && options->extra_bytes == 0) {
		fputs("ring_train: --extra-fresh needs --extra-all-reduce\n", stderr);
		return false;
	}
	return true;
}

/* ---- a rank ------------------------------------------------------------------------------- */

int train_faults_create(struct train_faults *faults, const struct train_fault_options *options,
			int rank)
{
	bool slow = rank == options->slow_rank;
	*faults = (struct train_faults){
		.delay_s = slow ? options->slow_s : 0,
		.factor = slow ? 1 / options->slow_share - 1 : 0,
		.work_s = rank == 0 ? options->work_s : 0,
		.extra_count = options->extra_bytes / sizeof(*faults->extra),
	};
	int err = train_extra_prepare(faults);
	faults->extra_fresh = options->extra_fresh;
	return err;
}

void train_faults_destroy(struct train_faults *faults)
{
	free(faults->extra);
	*faults = (struct train_faults){0};
}

void train_sleep(double seconds)
{
	if (seconds <= 0)
		return;
	struct timespec left = {.tv_sec = (time_t)seconds};
	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0)
		;
}

/* ---- a slower rank ------------------------------------------------------------------------ */

void train_slow_begin(struct train_faults *faults)
{
	faults->since = train_now();
}

static void pay(struct train_faults *faults, double least)
{
	double now = train_now();
	faults->debt += faults->factor * (now - faults->since);
	faults->since = now;
	if (faults->debt < least)
		return;
	train_sleep(faults->debt);
	faults->since = train_now();
	faults->debt -= faults->since - now; /* a sleep may take too long */
}

void train_slow_go_on(struct train_faults *faults)
{
	if (faults->factor > 0)
		pay(faults, SHORTEST_SLEEP_S);
}

void train_slow_end(struct train_faults *faults)
{
	if (faults->factor > 0)
		pay(faults, 0);
}

/* ---- the extra all-reduce ----------------------------------------------------------------- */

int train_extra_prepare(struct train_faults *faults)
{
	if (faults->extra || faults->extra_count == 0)
		return 0;
	faults->extra = malloc(faults->extra_count * sizeof(*faults->extra));
	if (!faults->extra) {
		fputs("ring_train: out of memory for the extra all-reduce\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < faults->extra_count; i++)
		faults->extra[i] = 1; /* the average of ones is 1 */
	return 0;
}

void train_extra_release(struct train_faults *faults)
{
	if (!faults->extra_fresh)
		return;
	free(faults->extra);
	faults->extra = NULL;
}
