/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MANY 4096

void train_waits_free(struct train_waits *waits)
{
	free(waits->waits);
	free(waits->last);
	free(waits->pending.steps);
	*waits = (struct train_waits){0};
}

static int make_room(struct train_waits *waits)
{
	if (waits->count < waits->room)
		return 0;
	size_t room = waits->room ? 2 * waits->room : 256;
	struct train_wait *more = realloc(waits->waits, room * sizeof(*more));
	if (more)
		waits->waits = more;
	double *last = realloc(waits->last, room * sizeof(*last));
	if (last)
		waits->last = last;
	if (more && last) {
		waits->room = room;
		return 0;
	}
	fputs("ring_train: out of memory for times\n", stderr);
	return -1;
}

int train_waits_add(struct train_waits *waits, enum train_wait_kind kind, double came, double end)
{
	if (make_room(waits) != 0)
		return -1;
	waits->waits[waits->count++] = (struct train_wait){kind, came, end, waits->pending.count};
	return 0;
}

bool train_waits_are_many(const struct train_waits *waits)
{
	return waits->count >= MANY;
}

/* Adds a blocked time, from came to end: until `last` it is waiting, then exposed communication. */
static void divide_blocked(struct train_step *step, const struct train_wait *wait, double last)
{
	double waiting = fmin(fmax(last - wait->came, 0), wait->end - wait->came);
	double exposed = wait->end - wait->came - waiting;
	step->waiting += waiting;
	step->exposed += exposed;
	if (wait->kind == TRAIN_WAIT_EXTRA)
		step->extra += exposed;
}

void train_waits_settle(struct train_step *step, const struct train_wait *waits, const double *last,
			size_t count)
{
	double over = 0; /* when the last rank's backward was over */
	for (size_t i = 0; i < count; i++) {
		const struct train_wait *wait = &waits[i];
		if (wait->kind == TRAIN_WAIT_GRADIENTS)
			over = last[i];
		if (wait->kind != TRAIN_WAIT_CALL) {
			divide_blocked(step, wait, last[i]);
			continue;
		}
		double begin = fmin(fmax(wait->came, last[i]), wait->end);
		step->busy += wait->end - begin;
		step->hidden += fmax(fmin(wait->end, over) - begin, 0);
	}
}

int train_waits_divide(struct train_waits *waits, struct train_team *team)
{
	for (size_t i = 0; i < waits->count; i++)
		waits->last[i] = waits->waits[i].came + team->behind;
	int err = waits->count > 0 ? train_team_max(team, waits->last, waits->count) : 0;
	if (err)
		return err;
	for (size_t i = 0; i < waits->count; i++)
		waits->last[i] -= team->behind;
	for (size_t i = 0, next; i < waits->count; i = next) {
		size_t step = waits->waits[i].step;
		for (next = i; next < waits->count && waits->waits[next].step == step; next++)
			;
		train_waits_settle(&waits->pending.steps[step], &waits->waits[i], &waits->last[i],
				   next - i);
	}
	waits->count = 0;
	return 0;
}
