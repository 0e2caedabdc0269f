/* SPDX-License-Identifier: MIT */
/*
 * Where a rank runs: NUMA node, core, affinity mask, CPU quota. The only user of hwloc.
 */
#ifndef RING_TOPOLOGY_H
#define RING_TOPOLOGY_H

#include <stdint.h>

struct ring_peer;

/*
 * Fills numa and core of the calling thread, cpus of those that it would start, and cpu_quota. The
 * machine is read once per process.
 */
void ring_topology_describe(struct ring_peer *self);

/* A control group's quota in whole CPUs, at least 1; 0: there is none */
int ring_topology_quota(long long quota, long long period);

/*
 * The NUMA node that holds all of cpus[RING_CPU_WORDS] (-1 if several do) and the first core among
 * them, in hwloc's logical order. synthetic: hwloc's description of a machine, "numa:2 core:4
 * pu:1", or NULL for this one. returns 0; RING_ESYSTEM if the machine cannot be read
 */
int ring_topology_place(const char *synthetic, const uint64_t *cpus, int *numa, int *core);

#endif
