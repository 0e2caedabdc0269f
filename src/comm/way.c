/* SPDX-License-Identifier: MIT */
/* Finding ways, and choosing them; see way.h. */
#include "way.h"

/* ---- answers --------------------------------------------------------------------------------- */

static uint64_t place_of(const struct ring_question *question)
{
	uint64_t mixed = (question->bytes + question->kind) * UINT64_C(0x9e3779b97f4a7c15);
	return (mixed >> 32) % RING_ANSWERS_KEPT;
}

/* All else that a choice depends on is the same while a communicator lives. */
static const struct ring_answer *answer(struct ring_ways *ways, const struct ring_tuning *tuning,
					const struct ring_question *question)
{
	struct ring_answer *answer = &ways->answers[place_of(question)];
	if (!answer->given || !ring_question_equals(&answer->question, question))
		*answer = (struct ring_answer){
			.given = true,
			.question = *question,
			.reaches = ring_tuning_reaches(tuning, question),
			.choice = ring_tuning_choose(tuning, question),
		};
	return answer;
}

/* ---- finding --------------------------------------------------------------------------------- */

struct ring_way *ring_way_find(struct ring_ways *ways, const struct ring_record *record)
{
	for (int i = 0; i < RING_WAYS_KEPT; i++)
		if (ring_record_repeats(record, &ways->kept[i].record))
			return &ways->kept[i];
	return NULL;
}

struct ring_way *ring_way_make(struct ring_ways *ways, const struct ring_tuning *tuning,
			       const struct ring_record *record,
			       const struct ring_question *question)
{
	struct ring_way *way = &ways->kept[ways->next++ % RING_WAYS_KEPT];
	ring_brief_count(&way->brief);
	way->record = *record;
	way->calls = 0;
	way->brief.ready = false;
	way->reaches = answer(ways, tuning, question)->reaches;
	ring_way_choose_again(ways, tuning, way, question);
	return way;
}

void ring_way_of_messages(struct ring_ways *ways, const struct ring_tuning *tuning,
			  const struct ring_question *question)
{
	struct ring_answer *answer = &ways->of_messages;
	answer->question = *question;
	answer->choice = ring_tuning_choose(tuning, question);
	ways->last = (struct ring_carrier){&answer->question, &answer->choice};
}

void ring_way_of_kernels(struct ring_ways *ways, const struct ring_question *question,
			 const struct ring_device_way *way)
{
	struct ring_answer *answer = &ways->of_kernels;
	answer->question = *question;
	answer->choice = (struct ring_choice){.algorithm = (enum ring_algorithm)way->algorithm,
					      .chunk_bytes = way->chunk_bytes,
					      .channels = way->channels,
					      .forced = "RING_CUDA_ENGINE"};
	ways->last = (struct ring_carrier){&answer->question, &answer->choice};
}

struct ring_way *ring_way_of_parts(struct ring_ways *ways, const struct ring_tuning *tuning,
				   const struct ring_question *question)
{
	ring_way_choose_again(ways, tuning, &ways->of_parts, question);
	return &ways->of_parts;
}

/* ---- choosing -------------------------------------------------------------------------------- */

void ring_way_choose_again(struct ring_ways *ways, const struct ring_tuning *tuning,
			   struct ring_way *way, const struct ring_question *question)
{
	way->question = *question;
	way->choice = answer(ways, tuning, question)->choice;
	way->planned = false;
	if (ways->loaded == way)
		ways->loaded = NULL;
}
