/* SPDX-License-Identifier: MIT */
/* What to choose where the options leave it open; see tuning.h. */
#include "tuning.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "options.h"

/*
 * Slots of a link, the largest message, and how many of those go around at once. In memory, chunks
 * stay in a core's second-level cache on their way. A socket wants few system calls, but the more
 * ranks, the slower large chunks fill the pipeline. One slot loses a third at 1 MiB, two lose a
 * fifth, 8 gain nothing over 4. One chunk of each block loses a quarter on 4 ranks, as a rank then
 * cannot receive and send at once; more than two gain nothing. Nor does more than one ring.
 */
#define CHUNK_MEMORY (64 << 10)
#define CHUNK_SOCKET (256 << 10)
#define CHUNK_SOCKET_FEW (512 << 10)
#define SOCKET_FEW_RANKS 4
#define DEPTH 4
#define CHUNKS_PER_ROUND 2
#define CHANNELS 1

/* A chain of two has nothing to do but wait for its only chunk, so chunks in memory are smaller. */
#define CHUNK_CHAIN (256 << 10)

/*
 * A message of memory that is apart is copied by jobs, of which each takes microseconds whatever
 * its size. But there are some to a block, as jobs and the host take turns at a message.
 */
#define CHUNK_APART (1 << 20)
#define APART_CHUNKS 4

/* What a rank spends on the slots of its mesh, unless they get too small. */
#define MESH_BYTES (4 << 20)
#define PAIR_CHUNK_LEAST (4 << 10)

/*
 * A direct plan's piece of all ranks' memory, in chunks: what is copied from private memory stays
 * in a core's second-level cache until it is added.
 */
#define DIRECT_CHUNKS 8
#define DIRECT_CHUNK_MOST (1 << 20) /* such a cache */
#define DIRECT_CHUNK_LEAST 8        /* an element of any type */

/*
 * Copies from private memory are fastest when the system takes much at once, one peer's after the
 * other's. So pieces have this many chunks, but no more than attach.c asks for at once, since a
 * system call cannot be given up. (25 MiB to all of 4 ranks, in pieces of a direct plan's sums ->
 * so: 8.4 -> 6.9 ms.)
 */
#define COPIED_CHUNKS 1024
#define COPIED_BYTES (31 << 20)

/*
 * A broadcast with few workers goes in such pieces: once in a core's second-level cache, they are
 * read from there. There are as few workers as CPUs, since the system takes longer if two CPUs
 * reach for one rank's memory at once. (16 MiB to 8 ranks on 2 CPUs, all with a share -> two: 6.5
 * -> 5.5 ms.)
 */
#define HANDED_OUT_BYTES (512 << 10)

/*
 * A job of a device reads and writes all ranks' memory at once, and is seen to be over some
 * microseconds later. So pieces are large, but there are some of a long vector: ranks share the
 * wires.
 */
#define DIRECT_APART_BYTES (16 << 20)

/* Larger outputs are out of the cache when they are read next. */
#define PAST_BYTES ((uint64_t)4 << 20)

#define CHANNEL_BYTES (64 << 10) /* least share of a block that a channel gets */

/*
 * What TCP puts into a packet over loopback (65483 bytes, by IPv6 65463), in whole cache lines with
 * room for a message's header. The rest of a message beyond whole segments becomes a packet of its
 * own, this many chunks are cut to segments. (25 MiB, 4 ranks: 17.6 -> 15.8 ms.)
 */
#define SEGMENT_BYTES ((uint64_t)(64 << 10) - 128)
#define SEGMENTED_CHUNKS 4

struct ring_tuning ring_tuning_make(const struct ring_config *config, bool in_memory, int size)
{
	uint64_t socket_chunk = size <= SOCKET_FEW_RANKS ? CHUNK_SOCKET_FEW : CHUNK_SOCKET;
	uint64_t chunk = in_memory ? CHUNK_MEMORY : socket_chunk;
	return (struct ring_tuning){
		.chunk_bytes = config->chunk_bytes ? config->chunk_bytes : chunk,
		.depth = config->depth ? config->depth : DEPTH,
		.chunks_per_round = config->chunks_per_round ? config->chunks_per_round
							     : CHUNKS_PER_ROUND,
		.channels = config->channels ? config->channels : CHANNELS,
		.algorithm = config->algorithm[0] ? ring_algorithm_find(config->algorithm) : -1,
	};
}

uint64_t ring_tuning_far_chunk(const struct ring_config *config)
{
	return config->chunk_bytes ? config->chunk_bytes : CHUNK_APART;
}

uint64_t ring_tuning_pair_chunk(const struct ring_tuning *tuning, int size)
{
	uint64_t slots = (uint64_t)(size > 1 ? size - 1 : 1) * (uint64_t)tuning->depth;
	uint64_t chunk = MESH_BYTES / slots / PAIR_CHUNK_LEAST * PAIR_CHUNK_LEAST;
	if (chunk < PAIR_CHUNK_LEAST)
		chunk = PAIR_CHUNK_LEAST;
	return chunk < tuning->chunk_bytes ? chunk : tuning->chunk_bytes;
}

uint64_t ring_tuning_direct_chunk(const struct ring_tuning *tuning, int size)
{
	uint64_t chunk = tuning->chunk_bytes * DIRECT_CHUNKS / (uint64_t)size;
	if (chunk > DIRECT_CHUNK_MOST)
		return DIRECT_CHUNK_MOST;
	return chunk > DIRECT_CHUNK_LEAST ? chunk : DIRECT_CHUNK_LEAST;
}

/* What goes around a ring at once. */
static uint64_t share_of(const struct ring_question *question)
{
	bool blocks = question->kind == RING_KIND_ALL_REDUCE;
	return question->bytes / (uint64_t)(blocks ? question->ranks : 1);
}

static int channels_for(const struct ring_tuning *tuning, const struct ring_question *question)
{
	uint64_t worth = share_of(question) / CHANNEL_BYTES + 1;
	return worth < (uint64_t)tuning->channels ? (int)worth : tuning->channels;
}

/* In whole chunks of the host's, so that all but the last are aligned alike. */
static uint64_t apart_chunk(const struct ring_tuning *tuning, const struct ring_question *question)
{
	uint64_t least = tuning->chunk_bytes, most = tuning->far_chunk_bytes;
	uint64_t chunk = share_of(question) / APART_CHUNKS / least * least;
	chunk = chunk < most ? chunk : most;
	return chunk > least ? chunk : least;
}

static uint64_t ring_chunk(const struct ring_tuning *tuning, const struct ring_question *question)
{
	bool chain = question->kind == RING_KIND_BROADCAST || question->kind == RING_KIND_REDUCE;
	uint64_t chunk = question->apart ? apart_chunk(tuning, question) : tuning->chunk_bytes;
	bool cut = chain && question->path == RING_PATH_MEMORY && chunk > CHUNK_CHAIN;
	return cut ? CHUNK_CHAIN : chunk;
}

static uint64_t staged_chunk(const struct ring_tuning *tuning)
{
	return tuning->chunk_bytes < RING_STAGED_CHUNK ? tuning->chunk_bytes : RING_STAGED_CHUNK;
}

static uint64_t copied_chunk(const struct ring_tuning *tuning)
{
	uint64_t most = tuning->chunk_bytes * COPIED_CHUNKS;
	return most < COPIED_BYTES ? most : COPIED_BYTES;
}

/* Fewer and larger shares pay only where the system copies. */
static uint64_t workers_for(const struct ring_question *question)
{
	bool copied = question->kind == RING_KIND_BROADCAST &&
		      question->memory == RING_MEMORY_REACHABLE;
	return copied ? question->workers : 0;
}

/*
 * Summands that are copied first: half as much on more than two ranks, since all that the system
 * copies passes that cache as well; but at least a chunk, which is worth a system call.
 */
static uint64_t direct_chunk(const struct ring_tuning *tuning, const struct ring_question *question)
{
	uint64_t most = ring_tuning_direct_chunk(tuning, question->ranks);
	bool copied = question->memory == RING_MEMORY_REACHABLE;
	if (question->apart)
		return DIRECT_APART_BYTES;
	if (workers_for(question) > 0 && copied_chunk(tuning) > HANDED_OUT_BYTES)
		return HANDED_OUT_BYTES;
	if (copied && !ring_kind_reduces(question->kind))
		return copied_chunk(tuning);
	if (!copied || question->ranks == 2 || most <= tuning->chunk_bytes)
		return most;
	return most / 2 > tuning->chunk_bytes ? most / 2 : tuning->chunk_bytes;
}

static uint64_t chunk_for(const struct ring_tuning *tuning, const struct ring_question *question,
			  enum ring_algorithm algorithm)
{
	if (ring_algorithm_has(algorithm, RING_GOES_AROUND))
		return ring_chunk(tuning, question);
	if (ring_algorithm_has(algorithm, RING_NEEDS_STAGES))
		return staged_chunk(tuning);
	if (ring_algorithm_has(algorithm, RING_NEEDS_REACH))
		return direct_chunk(tuning, question);
	return ring_tuning_pair_chunk(tuning, question->ranks);
}

static uint64_t in_segments(uint64_t chunk, const struct ring_question *question)
{
	bool many = share_of(question) / SEGMENTED_CHUNKS >= chunk;
	if (question->path != RING_PATH_SOCKET || chunk < SEGMENT_BYTES || !many)
		return chunk;
	return chunk / SEGMENT_BYTES * SEGMENT_BYTES;
}

static bool is_past_caches(const struct ring_question *question)
{
	uint64_t parts = (uint64_t)ring_direct_parts_out(question->kind, question->ranks);
	return parts * question->bytes >= PAST_BYTES;
}

/* How an algorithm would carry the call. */
static struct ring_choice shape(const struct ring_tuning *tuning,
				const struct ring_question *question, enum ring_algorithm algorithm)
{
	bool rings = ring_algorithm_has(algorithm, RING_GOES_AROUND);
	uint64_t chunk = chunk_for(tuning, question, algorithm);
	return (struct ring_choice){
		.algorithm = algorithm,
		.chunk_bytes = in_segments(chunk, question),
		.chunks_per_round = tuning->chunks_per_round,
		.channels = rings ? channels_for(tuning, question) : 1,
		.workers = workers_for(question),
		.past = is_past_caches(question),
	};
}

/* ---- the model ------------------------------------------------------------------------------- */

#define ELEMENT_BYTES 4 /* of most calls */

struct ring_plan_params ring_tuning_params(const struct ring_question *question,
					   const struct ring_choice *choice)
{
	uint64_t bytes = question->bytes < RING_TUNING_BYTES ? question->bytes : RING_TUNING_BYTES;
	return (struct ring_plan_params){
		.kind = question->kind,
		.algorithm = choice->algorithm,
		.size = question->ranks,
		.order = question->order,
		.count = (bytes + ELEMENT_BYTES - 1) / ELEMENT_BYTES,
		.element_bytes = ELEMENT_BYTES,
		.chunk_bytes = choice->chunk_bytes,
		.chunks_per_round = choice->chunks_per_round,
		.place_bytes = RING_PLACE_BYTES,
		.channels = 1,
		.scaled = question->scaled,
		.in_order = question->in_order,
		.boards = question->path == RING_PATH_MEMORY && !question->apart,
		.apart = question->apart,
	};
}

/* A file's, or the library's beside those of the path. */
static struct ring_model model_of(const struct ring_tuning *tuning,
				  const struct ring_question *question,
				  enum ring_algorithm algorithm)
{
	const struct ring_tuning_table *table = tuning->table;
	const int section = ring_section_of(question, algorithm);
	if (!question->apart)
		return tuning->model;
	struct ring_model model = table && table->has_model[section]
					  ? table->models[section]
					  : ring_section_built_in(section, &tuning->model);
	model.touch *= ring_section_sharers(section, question->ranks);
	return model;
}

uint64_t ring_tuning_predict(const struct ring_tuning *tuning, const struct ring_question *question,
			     const struct ring_choice *choice)
{
	struct ring_plan_params params = ring_tuning_params(question, choice);
	struct ring_model model = model_of(tuning, question, choice->algorithm);
	struct ring_factors factors = ring_model_factors(&model, &params, question->memory,
							 tuning->turns);
	uint64_t time = ring_model_time(&model, &factors);
	return time > 0 ? time : 1;
}

/* The fastest; of equally fast ones the first in the list. */
static struct ring_choice choose_by_model(const struct ring_tuning *tuning,
					  const struct ring_question *question)
{
	struct ring_choice best = shape(tuning, question, ring_algorithm_of(question->kind));
	uint64_t least = UINT64_MAX, times[RING_ALGORITHMS] = {0};
	for (int a = 0; a < RING_ALGORITHMS; a++) {
		if (!ring_question_fits((enum ring_algorithm)a, question))
			continue;
		struct ring_choice choice = shape(tuning, question, (enum ring_algorithm)a);
		times[a] = ring_tuning_predict(tuning, question, &choice);
		if (times[a] < least) {
			least = times[a];
			best = choice;
		}
	}
	memcpy(best.predicted_ps, times, sizeof(times));
	return best;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static struct ring_choice choose_by_row(const struct ring_tuning *tuning,
					const struct ring_question *question,
					const struct ring_tuning_row *row)
{
	struct ring_choice choice = shape(tuning, question, row->algorithm);
	choice.row = row;
	choice.table = tuning->table;
	if (row->chunk_bytes && row->chunk_bytes < choice.chunk_bytes)
		choice.chunk_bytes = in_segments(row->chunk_bytes, question);
	return choice;
}

struct ring_choice ring_tuning_choose(const struct ring_tuning *tuning,
				      const struct ring_question *question)
{
	enum ring_algorithm forced = (enum ring_algorithm)tuning->algorithm;
	const struct ring_tuning_row *row = NULL;
	bool fits = tuning->algorithm >= 0 && ring_question_fits(forced, question);
	if (tuning->algorithm >= 0 && (fits || !question->in_order)) {
		struct ring_choice choice = shape(tuning, question,
						  fits ? forced : ring_algorithm_of(question->kind));
		choice.forced = "RING_ALGORITHM";
		return choice;
	}
	if (tuning->table)
		row = ring_tuning_find(tuning->table, question);
	return row ? choose_by_row(tuning, question, row) : choose_by_model(tuning, question);
}

int ring_tuning_load(struct ring_tuning *tuning, const struct ring_tuning_table *table,
		     enum ring_path path, struct ring_failure *failure)
{
	bool measured = false, ours = false;
	for (int section = 0; table && section < RING_SECTIONS; section++) {
		measured = measured || table->has_model[section];
		ours = ours || (table->has_model[section] && ring_section_path(section) == path);
	}
	tuning->table = table;
	tuning->model = table && table->has_model[path] ? table->models[path]
							: ring_model_built_in[path];
	if (measured && !ours)
		return ring_fail(failure, RING_EINVAL,
				 "%.200s has numbers, but none of %s, by which these ranks are "
				 "linked; measure them with ring_perf --tune",
				 table->file, ring_path_name(path));
	return 0;
}

static bool chooses(const struct ring_tuning *tuning, const struct ring_question *question,
		    unsigned traits)
{
	return ring_algorithm_has(ring_tuning_choose(tuning, question).algorithm, traits);
}

/* How far others' buffers are, if they are apart, is known only once ranks have told. */
static bool reaches_shared(const struct ring_tuning *tuning, const struct ring_question *question)
{
	struct ring_question shared = *question;
	shared.memory = RING_MEMORY_SHARED;
	bool reaches = false;
	for (int distance = 0; distance < (question->apart ? RING_DISTANCES : 1); distance++) {
		shared.distance = (enum ring_distance)distance;
		reaches = reaches || chooses(tuning, &shared, RING_NEEDS_REACH);
	}
	return reaches;
}

bool ring_tuning_reaches(const struct ring_tuning *tuning, const struct ring_question *question)
{
	struct ring_question reachable = *question, staged = *question;
	reachable.memory = RING_MEMORY_REACHABLE;
	staged.staged = true;
	return reaches_shared(tuning, question) || chooses(tuning, &reachable, RING_NEEDS_REACH) ||
	       chooses(tuning, &staged, RING_NEEDS_STAGES);
}

/* ---- why ------------------------------------------------------------------------------------- */

/* A time to three digits. */
static uint64_t rounded(uint64_t time)
{
	uint64_t unit = 1;
	while (time / unit >= 1000)
		unit *= 10;
	return (time + unit / 2) / unit * unit;
}

static int least_of(const uint64_t times[RING_ALGORITHMS])
{
	int least = -1;
	for (int a = 0; a < RING_ALGORITHMS; a++)
		if (times[a] > 0 && (least < 0 || times[a] < times[least]))
			least = a;
	return least;
}

/* "predicted: direct 8.7us, ring 9.5us": all that could carry it, the fastest first. */
static void list_predictions(const struct ring_choice *choice, char text[RING_REASON_TEXT])
{
	uint64_t left[RING_ALGORITHMS];
	size_t length = strlen(strcpy(text, "predicted"));
	memcpy(left, choice->predicted_ps, sizeof(left));
	for (int a = least_of(left), told = 0; a >= 0; a = least_of(left), told++) {
		char time[RING_MODEL_TEXT];
		ring_model_write(0, rounded(left[a]), time);
		length += (size_t)snprintf(text + length, RING_REASON_TEXT - length, "%s %s %s",
					   told ? "," : ":",
					   ring_algorithm_name((enum ring_algorithm)a), time);
		left[a] = 0;
	}
}

const char *ring_choice_reason(const struct ring_choice *choice, char text[RING_REASON_TEXT])
{
	const struct ring_tuning_table *table = choice->table;
	const struct ring_tuning_row *row = choice->row;
	char row_text[RING_TUNING_ROW_TEXT];
	if (choice->forced)
		snprintf(text, RING_REASON_TEXT, "%s", choice->forced);
	else if (row)
		snprintf(text, RING_REASON_TEXT, "%.160s, line %d: %s", table->file, row->line,
			 ring_tuning_row_format(row, row_text));
	else
		list_predictions(choice, text);
	return text;
}
