/* SPDX-License-Identifier: MIT */
/* Sections of the model's numbers, and those of devices that nobody has measured; see section.h. */
#include "section.h"

static const char *const names[RING_SECTIONS] = {
	[RING_SECTION_APART + RING_PATH_MEMORY] = "memory-apart",
	[RING_SECTION_APART + RING_PATH_SOCKET] = "socket-apart",
	[RING_SECTION_APART + RING_PATH_NETWORK] = "network-apart",
	[RING_SECTION_APART + RING_PATH_VERBS] = "verbs-apart",
	[RING_SECTION_APART + RING_PATH_MIXED] = "mixed-apart",
	[RING_SECTION_REACHED + RING_DISTANCE_BUS] = "bus-reached",
	[RING_SECTION_REACHED + RING_DISTANCE_LINK] = "link-reached",
	[RING_SECTION_REACHED + RING_DISTANCE_NONE] = "chip-reached",
};

const char *ring_section_name(int section)
{
	return section < RING_SECTION_APART ? ring_path_name((enum ring_path)section)
					    : names[section];
}

enum ring_path ring_section_path(int section)
{
	return section < RING_SECTION_REACHED ? (enum ring_path)(section % RING_PATHS)
					      : RING_PATH_MEMORY;
}

int ring_section_of(const struct ring_question *question, enum ring_algorithm algorithm)
{
	if (!question->apart)
		return RING_SECTION_HOST + (int)question->path;
	return ring_algorithm_has(algorithm, RING_NEEDS_REACH)
		       ? RING_SECTION_REACHED + (int)question->distance
		       : RING_SECTION_APART + (int)question->path;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/*
 * Not measured: a message is copied by a job of its sender's and read by one of its receiver's,
 * each submitted and looked for; a hop waits until both are seen to be over; and bytes go over
 * PCIe, at 20 GB/s.
 */
#define JOB_PS 3000000
#define SEEN_PS 5000000
#define PCIE_PS 51200

static struct ring_model apart(const struct ring_model *host)
{
	struct ring_model model = *host;
	model.message += 2 * JOB_PS;
	model.hop += 2 * SEEN_PS;
	model.touch = host->touch > PCIE_PS ? host->touch : PCIE_PS;
	return model;
}

/*
 * Nor these: what makers say, both ways at once, as half of what a rank touches is read and half
 * written: 55 GB/s each of PCIe 5.0 x16, 450 of the NVLinks of an H100; and 3 TB/s of its memory,
 * which ranks of one chip share. A rank's share is a job.
 */
static const uint64_t reached_touch[RING_DISTANCES] = {
	[RING_DISTANCE_BUS] = 9310,
	[RING_DISTANCE_LINK] = 1140,
	[RING_DISTANCE_NONE] = 341,
};

static struct ring_model reached(const struct ring_model *host, int distance)
{
	struct ring_model model = *host;
	model.call += JOB_PS + SEEN_PS;
	model.touch = reached_touch[distance];
	return model;
}

struct ring_model ring_section_built_in(int section, const struct ring_model *host)
{
	if (section < RING_SECTION_APART)
		return *host;
	return section < RING_SECTION_REACHED ? apart(host)
					      : reached(host, section - RING_SECTION_REACHED);
}

uint64_t ring_section_sharers(int section, int ranks)
{
	return section == RING_SECTION_REACHED + RING_DISTANCE_NONE ? (uint64_t)ranks : 1;
}
