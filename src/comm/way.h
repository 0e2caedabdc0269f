/* SPDX-License-Identifier: MIT */
/*
 * The way of equal calls: the question, the choice and the plan. Programs repeat a few calls, so a
 * communicator keeps the last few ways and finds them again. start.h starts them.
 */
#ifndef RING_WAY_H
#define RING_WAY_H

#include "choose/tuning.h"
#include "engine/brief.h"
#include "plan/record.h"

struct ring_device_way;

#define RING_WAYS_KEPT 8

struct ring_way {
	struct ring_record record; /* such calls', except the sequence; zero: none */
	uint64_t calls;            /* so far */
	struct ring_question question;
	struct ring_choice choice;
	bool reaches;                 /* its ranks reach into one another's memory if they can */
	bool planned;                 /* `known` is the first channel's plan for the choice */
	struct ring_known_plan known; /* other channels keep their own */
	struct ring_brief brief;      /* for a small call of one channel */
};

/*
 * What was chosen for a question, and whether such calls reach into memory. Predicting takes some
 * microseconds, so answers are kept for more calls than ways are.
 */
#define RING_ANSWERS_KEPT 64

struct ring_answer {
	bool given;
	struct ring_question question;
	bool reaches;
	struct ring_choice choice;
};

/* What carried a call, and for which question. */
struct ring_carrier {
	const struct ring_question *question;
	const struct ring_choice *choice;
};

struct ring_ways {
	struct ring_way kept[RING_WAYS_KEPT];
	unsigned next;                  /* the next to be replaced */
	struct ring_way of_parts;       /* the last such call's; it is not kept */
	struct ring_answer of_messages; /* likewise: their pairs keep the plans */
	struct ring_answer of_kernels;  /* likewise: they need none */
	struct ring_answer answers[RING_ANSWERS_KEPT];
	struct ring_carrier last;      /* of the last call */
	const struct ring_way *loaded; /* whose plans the active channels have, or NULL */
};

/* The way of such calls; NULL if there is none yet. */
struct ring_way *ring_way_find(struct ring_ways *ways, const struct ring_record *record);

/* Makes the way of such calls; the oldest is forgotten. */
struct ring_way *ring_way_make(struct ring_ways *ways, const struct ring_tuning *tuning,
			       const struct ring_record *record,
			       const struct ring_question *question);

/* What carries sends and receives, which were the last call. */
void ring_way_of_messages(struct ring_ways *ways, const struct ring_tuning *tuning,
			  const struct ring_question *question);

/* A device carried out the last call, that way. */
void ring_way_of_kernels(struct ring_ways *ways, const struct ring_question *question,
			 const struct ring_device_way *way);

/* A call of that way was the last one. */
static inline void ring_way_note(struct ring_ways *ways, const struct ring_way *way)
{
	ways->last = (struct ring_carrier){&way->question, &way->choice};
}

/* The way of one call with uneven parts: the next one's are others, so it is planned anew. */
struct ring_way *ring_way_of_parts(struct ring_ways *ways, const struct ring_tuning *tuning,
				   const struct ring_question *question);

/* The question has another answer now, so another choice may be right. */
void ring_way_choose_again(struct ring_ways *ways, const struct ring_tuning *tuning,
			   struct ring_way *way, const struct ring_question *question);

#endif
