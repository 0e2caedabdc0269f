/* SPDX-License-Identifier: MIT */
/* What to choose where the options leave it open; see tuning.h. */
#include "tuning.h"

#include <stdio.h>
#include <string.h>

#include "transport/transport.h"
#include "options.h"

/*
 * Measured with a prototype of this ring (1 MiB to 1 GiB, 2 to 8 ranks):
 *
 *	chunk    shared memory is fastest while chunk, slot and result stay in a core's second-level
 *	         cache; by 64 KiB AMD's took 1.03 to 1.17 times as long as by 128, but for 1 MiB on 2
 *	         ranks sometimes 0.93. A socket wants to be entered rarely, but more ranks also fill the
 *	         pipeline more slowly: on a Xeon 4 ranks took 1.03 to 1.07 times as long to sum 25 MiB and more
 *	         by 256 KiB as by 512, and 1.08 to 1.25 to gather; 8 ranks up to 0.85.
 *	         Between 2 ranks up to Zen 4 a core writes slowly what another has read and still holds,
 *	         but slots of 2 MiB in all have left its second-level cache by then (1 MiB 0.05 ms, by 4
 *	         of 128 KiB 0.12). By 4 of 512 KiB 1 MiB takes 44.5 us, by 8 of 256 KiB 47.5, and 1 MiB to
 *	         gather or to scatter 26 us and 30; 25 MiB take 1.02 to 1.1 times as long
 *	depth    1 slot loses a third, 2 a fifth at 1 MiB; 8 gain nothing over 4. For 3 and 4 ranks up to
 *	         Zen 4 5 are roomy (slot_fifo.h): broadcasts of 64 KiB 11 us, by 4 19; 8 took 0.12 ms
 *	         for 1 MiB to all, not 0.10. For 8 ranks 64 KiB to gather took 35 us by roomy slots,
 *	         else 21
 *	round    one chunk per block loses a quarter at 4 ranks, as a rank then cannot receive and
 *	         send at once; more than two gain nothing. Of 512 KiB between 2 ranks one will do: by two 4 MiB
 *	         took as long, 12 to 48 MiB 1.04 to 1.14 times as long as by 8 slots of 256 KiB
 *	channels more than one ring gained nothing
 */
#define CHUNK_MEMORY (64 << 10)
#define CHUNK_MEMORY_AMD (128 << 10)
#define CHUNK_MEMORY_PAIR_ZEN4 (512 << 10)
#define CHUNK_SOCKET (256 << 10)
#define CHUNK_SOCKET_FEW (512 << 10)
#define DEPTH 4
#define DEPTH_FOUR_ZEN4 5
#define CHUNKS_PER_ROUND 2
#define CHUNKS_PER_ROUND_PAIR_ZEN4 1
#define CHANNELS 1

/*
 * A chain of two has nothing to do but wait for its only chunk, so in memory its chunks are no larger than this. (Zen 4, 512 KiB
 * reduced to root 16 to 21 us, in one chunk 32 to 36; broadcast 29 to 34 and 37 to 46.)
 */
#define CHUNK_CHAIN (256 << 10)

/* What a rank spends on the slots of its mesh, if that leaves slots worth having. */
#define MESH_BYTES (4 << 20)
#define PAIR_CHUNK_LEAST (4 << 10)

/*
 * A direct plan's pieces of all ranks together, in chunks: what is copied from private memory stays in a
 * core's second-level cache until it is added.
 */
#define DIRECT_CHUNKS 8
#define DIRECT_CHUNK_MOST (1 << 20) /* such a cache */
#define DIRECT_CHUNK_LEAST 8        /* an element of any type */

/*
 * On a large Xeon 6 what more ranks than two copy to add comes in pieces of so many chunks, if it is no less and no more than this.
 * (In smaller ones 1 MiB took 3 ranks 1.05 times as long, 4 ranks 1.03 to 1.05 times and 8 ranks 0.96 to 1.03 times, 4 MiB 1.06, 1.09
 * to 1.12 and 1.0 to 1.08 times; but 512 KiB 4 ranks 0.94 to 0.98 times, and 256 MiB 4 ranks 0.96 times, 8 ranks 0.95 times.)
 */
#define COPIED_SUM_CHUNKS_XEON6 2
#define COPIED_SUM_LEAST_XEON6 ((uint64_t)1 << 20)
#define COPIED_SUM_MOST_XEON6 ((uint64_t)16 << 20)
#define COPIED_SUM_RANKS_XEON6 8

/*
 * What is merely copied from private memory the system takes best all at once, a peer's after the other's: so in pieces of
 * so many chunks. But a call of the system can't be given up, and so should last for some 20 ms at most. (A Xeon, pieces of
 * 128 KiB for 4 ranks and of 256 for 2: 25 MiB to all of 4 ranks 8.4 ms, so 6.9; 256 MiB 107 and 92 ms; gathered by 2 ranks
 * 25.3 and 23.9 ms, 1 MiB 17.8 and 17.1 us.) On a large Xeon 6 so little at a time that attach.c asks for it as a whole: 256 MiB
 * gathered by 2 ranks took 0.98 times as long, broadcast to 2 0.96, and to all of 2 or 4 0.97 times.
 */
#define COPIED_CHUNKS 1024
#define COPIED_BYTES (64 << 20)
#define COPIED_BYTES_XEON6 (31 << 20)

/*
 * But what one rank hands out to many is read from a core's second-level cache once it is there, so a broadcast of which
 * few ranks have shares goes in such pieces; as few as there are CPUs, since whoever the system reaches for on two CPUs at once it
 * takes 1 us to reach, by itself 0.4. (A Xeon, Granite Rapids, 2 CPUs, all ranks with a share each against 2: 64 KiB to 4 ranks 11.3 us
 * and 8.2, to 8 40 and 21; 16 MiB 1.9 ms and 1.5, to 8 6.5 and 5.5. Whole shares 4 MiB 1.14 and 1.34 times as long as all ranks;
 * 64 MiB to 4 ranks 0.95 times as long as such pieces, to 8 1.14 times.)
 */
#define HANDED_OUT_BYTES (512 << 10)

/*
 * Outputs from here on are not found in a cache by whoever reads them next. On a Xeon a rank has little of the last cache:
 * to all of 2 ranks in shared memory, 2 MiB took 0.14 ms either way, 4 MiB 0.30 and past the caches 0.24, 64 MiB 8.6 and 4.0.
 * AMD's cores share 32 MiB by eight, so it is the outputs of all that count: on Zen 4 4 MiB gathered by 2 ranks took 0.054
 * ms and past the caches 0.081, 8 MiB 0.12 and 0.16, 16 MiB 0.27 to 0.7 and 0.33, 32 MiB 1.7 to 2.4 and 0.8; by 4 ranks 4 MiB 0.15 and
 * 0.25, 8 MiB 1.1 and 0.5. (Zen 5, which shares alike, was not measured.)
 */
#define PAST_BYTES ((uint64_t)4 << 20)
#define PAST_BYTES_AMD ((uint64_t)32 << 20)
#define PAST_RANKS_AMD 8

#define CHANNEL_BYTES (64 << 10) /* a block is shared out to channels by no less than this */

/*
 * What TCP puts into a packet over loopback, 65483 bytes, by IPv6 65463, in whole cache lines with room for a message's header.
 * What a message has beyond whole segments leaves as a packet of its own, so what is cut into many chunks is cut into such.
 * (Zen 4, 4 ranks, 256 KiB, which are 5 packets, against 4 segments: 25 MiB 17.6 ms and 15.8, 64 MiB 45 and 40.)
 */
#define SEGMENT_BYTES ((uint64_t)(64 << 10) - 128)
#define SEGMENTED_CHUNKS 4

/* Slots of a link, the largest message, and how many of those go around at once. */
struct slots {
	int depth;
	uint64_t chunk;
	int round;
};

static uint64_t socket_chunk(int size, enum ring_cpu cpu)
{
	return size <= (ring_cpu_is_amd(cpu) ? 2 : 4) ? CHUNK_SOCKET_FEW : CHUNK_SOCKET;
}

static struct slots choose_slots(int slowest, int size, enum ring_cpu cpu)
{
	if (slowest >= 0 && ring_transports[slowest]->kind != RING_REACH_MEMORY)
		return (struct slots){DEPTH, socket_chunk(size, cpu), CHUNKS_PER_ROUND};
	if (cpu == RING_CPU_ZEN4 && size == 2)
		return (struct slots){DEPTH, CHUNK_MEMORY_PAIR_ZEN4, CHUNKS_PER_ROUND_PAIR_ZEN4};
	if (cpu == RING_CPU_ZEN4 && size <= 4)
		return (struct slots){DEPTH_FOUR_ZEN4, CHUNK_MEMORY_AMD, CHUNKS_PER_ROUND};
	return (struct slots){DEPTH, ring_cpu_is_amd(cpu) ? CHUNK_MEMORY_AMD : CHUNK_MEMORY,
			      CHUNKS_PER_ROUND};
}

struct ring_tuning ring_tuning_make(const struct ring_config *config, int slowest, int size)
{
	enum ring_cpu cpu = ring_cpu_find();
	struct slots slots = choose_slots(slowest, size, cpu);
	return (struct ring_tuning){
		.chunk_bytes = config->chunk_bytes ? config->chunk_bytes : slots.chunk,
		.depth = config->depth ? config->depth : slots.depth,
		.chunks_per_round = config->chunks_per_round ? config->chunks_per_round
							     : slots.round,
		.channels = config->channels ? config->channels : CHANNELS,
		.algorithm = config->algorithm[0] ? ring_algorithm_find(config->algorithm) : -1,
		.cpu = cpu,
	};
}

uint64_t ring_tuning_pair_chunk(const struct ring_tuning *tuning, int size)
{
	uint64_t slots = (uint64_t)(size > 1 ? size - 1 : 1) * (uint64_t)tuning->depth;
	uint64_t chunk = MESH_BYTES / slots / PAIR_CHUNK_LEAST * PAIR_CHUNK_LEAST;
	if (chunk < PAIR_CHUNK_LEAST)
		chunk = PAIR_CHUNK_LEAST;
	return chunk < tuning->chunk_bytes ? chunk : tuning->chunk_bytes;
}

static uint64_t mapped_chunk(const struct ring_tuning *tuning, int size)
{
	uint64_t chunk = tuning->chunk_bytes * DIRECT_CHUNKS / (uint64_t)size;
	if (chunk > DIRECT_CHUNK_MOST)
		return DIRECT_CHUNK_MOST;
	return chunk > DIRECT_CHUNK_LEAST ? chunk : DIRECT_CHUNK_LEAST;
}

/* Of what is copied to be added, if it is neither little nor much; 0: as always. */
static uint64_t copied_sum_chunk(const struct ring_tuning *tuning, int size)
{
	bool large = tuning->cpu == RING_CPU_XEON6 && size > 2 && size <= COPIED_SUM_RANKS_XEON6;
	return large ? tuning->chunk_bytes * COPIED_SUM_CHUNKS_XEON6 : 0;
}

uint64_t ring_tuning_direct_chunk(const struct ring_tuning *tuning, int size)
{
	uint64_t mapped = mapped_chunk(tuning, size), copied = copied_sum_chunk(tuning, size);
	return mapped > copied ? mapped : copied;
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

static uint64_t ring_chunk(const struct ring_tuning *tuning, const struct ring_question *question)
{
	bool chain = question->kind == RING_KIND_BROADCAST || question->kind == RING_KIND_REDUCE;
	bool cut = chain && question->path == RING_PATH_MEMORY && tuning->chunk_bytes > CHUNK_CHAIN;
	return cut ? CHUNK_CHAIN : tuning->chunk_bytes;
}

static uint64_t staged_chunk(const struct ring_tuning *tuning)
{
	return tuning->chunk_bytes < RING_STAGED_CHUNK ? tuning->chunk_bytes : RING_STAGED_CHUNK;
}

static uint64_t copied_chunk(const struct ring_tuning *tuning)
{
	uint64_t most = tuning->chunk_bytes * COPIED_CHUNKS;
	uint64_t some = tuning->cpu == RING_CPU_XEON6 ? COPIED_BYTES_XEON6 : COPIED_BYTES;
	return most < some ? most : some;
}

/* Only what the system copies is worth fewer and larger shares. */
static uint64_t workers_for(const struct ring_question *question)
{
	bool copied = question->kind == RING_KIND_BROADCAST &&
		      question->memory == RING_MEMORY_REACHABLE;
	return copied ? question->workers : 0;
}

/*
 * Of what is copied to be added half as much on more ranks than two, since all that the system copies passes that cache as well,
 * but no less than a chunk, for which a system call is worth it. (A Xeon, Granite Rapids, 2 ranks, half as much against all:
 * written anew 512 KiB 43 us and 40, 1 MiB 83 to 87 and 78, 25 MiB 1.68 ms and 1.55; untouched 1.0 to 1.05 times as long.)
 */
static uint64_t direct_chunk(const struct ring_tuning *tuning, const struct ring_question *question)
{
	uint64_t most = mapped_chunk(tuning, question->ranks);
	uint64_t some = copied_sum_chunk(tuning, question->ranks);
	bool copied = question->memory == RING_MEMORY_REACHABLE;
	if (workers_for(question) > 0 && copied_chunk(tuning) > HANDED_OUT_BYTES)
		return HANDED_OUT_BYTES;
	if (copied && !ring_kind_reduces(question->kind))
		return copied_chunk(tuning);
	if (copied && some > 0 && question->bytes >= COPIED_SUM_LEAST_XEON6 &&
	    question->bytes <= COPIED_SUM_MOST_XEON6)
		return some;
	if (!copied || question->ranks == 2 || most <= tuning->chunk_bytes)
		return most;
	return most / 2 > tuning->chunk_bytes ? most / 2 : tuning->chunk_bytes;
}

static uint64_t chunk_for(const struct ring_tuning *tuning, const struct ring_question *question,
			  enum ring_algorithm algorithm)
{
	switch (algorithm) {
	case RING_ALGORITHM_RING:
		return ring_chunk(tuning, question);
	case RING_ALGORITHM_STAGED:
		return staged_chunk(tuning);
	case RING_ALGORITHM_DIRECT:
		return direct_chunk(tuning, question);
	default:
		return ring_tuning_pair_chunk(tuning, question->ranks);
	}
}

static uint64_t in_segments(uint64_t chunk, const struct ring_question *question)
{
	bool many = share_of(question) / SEGMENTED_CHUNKS >= chunk;
	if (question->path != RING_PATH_SOCKET || chunk < SEGMENT_BYTES || !many)
		return chunk;
	return chunk / SEGMENT_BYTES * SEGMENT_BYTES;
}

static bool is_past_caches(const struct ring_tuning *tuning, const struct ring_question *question)
{
	int ranks = question->ranks;
	uint64_t parts = (uint64_t)ring_direct_parts_out(question->kind, ranks);
	uint64_t least = PAST_BYTES;
	if (ring_cpu_is_amd(tuning->cpu))
		least = PAST_BYTES_AMD / (uint64_t)(ranks < PAST_RANKS_AMD ? ranks : PAST_RANKS_AMD);
	return parts * question->bytes >= least;
}

static void find_row(const struct ring_tuning *tuning, const struct ring_question *question,
		     struct ring_choice *choice)
{
	const struct ring_tuning_table *tables[] = {
		tuning->table,
		tuning->roomy ? &ring_tuning_roomy[tuning->cpu] : NULL,
		&ring_tuning_built_in[tuning->cpu],
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !choice->row; i++) {
		choice->table = tables[i];
		if (tables[i])
			choice->row = ring_tuning_find(tables[i], question);
	}
}

struct ring_choice ring_tuning_choose(const struct ring_tuning *tuning,
				      const struct ring_question *question)
{
	struct ring_choice choice = {
		.algorithm = ring_algorithm_of(question->kind),
		.chunks_per_round = tuning->chunks_per_round,
	};
	choice.forced = tuning->algorithm >= 0;
	if (!choice.forced)
		find_row(tuning, question, &choice);
	else if (ring_question_fits((enum ring_algorithm)tuning->algorithm, question))
		choice.algorithm = (enum ring_algorithm)tuning->algorithm;
	if (choice.row)
		choice.algorithm = choice.row->algorithm;

	bool rings = choice.algorithm == RING_ALGORITHM_RING;
	choice.channels = rings ? channels_for(tuning, question) : 1;
	choice.chunk_bytes = chunk_for(tuning, question, choice.algorithm);
	choice.workers = workers_for(question);
	choice.past = is_past_caches(tuning, question);
	if (choice.row && choice.row->chunk_bytes && choice.row->chunk_bytes < choice.chunk_bytes)
		choice.chunk_bytes = choice.row->chunk_bytes;
	choice.chunk_bytes = in_segments(choice.chunk_bytes, question);
	return choice;
}

bool ring_tuning_reaches(const struct ring_tuning *tuning, const struct ring_question *question)
{
	struct ring_question shared = *question, reachable = *question, staged = *question;
	shared.memory = RING_MEMORY_SHARED;
	reachable.memory = RING_MEMORY_REACHABLE;
	staged.staged = true;
	return ring_tuning_choose(tuning, &shared).algorithm == RING_ALGORITHM_DIRECT ||
	       ring_tuning_choose(tuning, &reachable).algorithm == RING_ALGORITHM_DIRECT ||
	       ring_tuning_choose(tuning, &staged).algorithm == RING_ALGORITHM_STAGED;
}

const char *ring_choice_reason(const struct ring_choice *choice, char text[RING_REASON_TEXT])
{
	const struct ring_tuning_table *table = choice->table;
	const struct ring_tuning_row *row = choice->row;
	char row_text[RING_TUNING_ROW_TEXT];
	if (choice->forced)
		snprintf(text, RING_REASON_TEXT, "RING_ALGORITHM");
	else if (!row)
		snprintf(text, RING_REASON_TEXT, "no row fits");
	else if (row->line)
		snprintf(text, RING_REASON_TEXT, "%.160s, line %d: %s", table->file, row->line,
			 ring_tuning_row_format(row, row_text));
	else
		snprintf(text, RING_REASON_TEXT, "%s row %d: %s", table->file,
			 (int)(row - table->rows) + 1, ring_tuning_row_format(row, row_text));
	return text;
}
