/* SPDX-License-Identifier: MIT */
/* What a step of Slurm tells a rank, as pure functions; slurm.c acts on it. */
#ifndef RING_LAUNCH_SLURM_H
#define RING_LAUNCH_SLURM_H

#define RING_SLURM_HOST 256

/* The first of a list such as "node-[003-005,9],head". */
void ring_slurm_first_host(const char *list, char host[RING_SLURM_HOST]);

#endif
