/* SPDX-License-Identifier: MIT */
/* Which algorithms can answer a question, and the names of things; see question.h. */
#include "question.h"

#include <string.h>

bool ring_question_fits(enum ring_algorithm algorithm, const struct ring_question *question)
{
	bool mapped = question->path == RING_PATH_MEMORY && question->ranks > 1;
	bool reached = mapped && question->memory != RING_MEMORY_PRIVATE;
	bool opened = ring_algorithm_has(algorithm, RING_NEEDS_REACH) &&
		      question->memory == RING_MEMORY_SHARED;
	return ring_algorithm_can(algorithm, question->kind, question->ranks, question->bytes,
				  question->scaled) &&
	       (!question->apart || opened ||
		ring_algorithm_keeps_apart(algorithm, question->kind)) &&
	       (!question->in_order || ring_algorithm_adds_in_order(algorithm, question->ranks)) &&
	       (!question->uneven || ring_algorithm_has(algorithm, RING_TAKES_PARTS)) &&
	       (!ring_algorithm_has(algorithm, RING_NEEDS_STAGES) || (mapped && question->staged)) &&
	       (!ring_algorithm_has(algorithm, RING_NEEDS_REACH) || reached);
}

bool ring_question_equals(const struct ring_question *a, const struct ring_question *b)
{
	return a->kind == b->kind && a->ranks == b->ranks && a->order == b->order &&
	       a->bytes == b->bytes && a->path == b->path && a->memory == b->memory &&
	       a->scaled == b->scaled && a->in_order == b->in_order && a->uneven == b->uneven &&
	       a->staged == b->staged && a->apart == b->apart && a->distance == b->distance &&
	       a->workers == b->workers;
}

int ring_algorithm_find(const char *name)
{
	for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
		if (ring_algorithm_is_choice((enum ring_algorithm)algorithm) &&
		    strcmp(name, ring_algorithm_name((enum ring_algorithm)algorithm)) == 0)
			return algorithm;
	return -1;
}

static const char *const path_names[] = {
	[RING_PATH_MEMORY] = "memory",   [RING_PATH_SOCKET] = "socket",
	[RING_PATH_NETWORK] = "network", [RING_PATH_VERBS] = "verbs",
	[RING_PATH_MIXED] = "mixed",
};

const char *ring_path_name(enum ring_path path)
{
	return path_names[path];
}

static const char *const memory_names[] = {
	[RING_MEMORY_PRIVATE] = "private",
	[RING_MEMORY_REACHABLE] = "reachable",
	[RING_MEMORY_SHARED] = "shared",
};

const char *ring_memory_name(enum ring_memory memory)
{
	return memory_names[memory];
}
