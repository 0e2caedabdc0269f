/* SPDX-License-Identifier: MIT */
/*
 * The model's numbers are of a section each: of calls on the host's memory by a path, of calls on
 * memory apart from the host whose messages go by a path, and of plans that reach into one
 * another's memory of devices, by what lies between the farthest two. A file of numbers
 * (tuning_file.h) has the sections that were measured.
 */
#ifndef RING_SECTION_H
#define RING_SECTION_H

#include "base/distance.h"
#include "model.h"

enum ring_section {
	RING_SECTION_HOST,                     /* and a path (enum ring_path) */
	RING_SECTION_APART = RING_PATHS,       /* and a path */
	RING_SECTION_REACHED = 2 * RING_PATHS, /* and a distance (enum ring_distance) */
	RING_SECTIONS = 2 * RING_PATHS + RING_DISTANCES
};

/* Whose numbers predict the call, if the algorithm carries it. */
int ring_section_of(const struct ring_question *question, enum ring_algorithm algorithm);

/* "memory", "memory-apart", "bus-reached" */
const char *ring_section_name(int section);

/* What links the ranks of such calls. */
enum ring_path ring_section_path(int section);

/* The library's numbers of a section, beside those that its path has on the host. */
struct ring_model ring_section_built_in(int section, const struct ring_model *host);

/*
 * Of so many ranks, those that have one memory together: each touches bytes that many times as
 * slowly as the section says.
 */
uint64_t ring_section_sharers(int section, int ranks);

#endif
