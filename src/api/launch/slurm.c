/* SPDX-License-Identifier: MIT */
/*
 * Ranks of a step of Slurm whose srun exchanges nothing (--mpi=none). All derive where to meet: on
 * the step's first host, at a port computed from job and step. The batch script of sbatch and the
 * shell of salloc are no step.
 */
#include "slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet/identity.h"
#include "served.h"

/* Below the ports that Linux gives to connections (32768 and up), above the well-known ones. */
#define PORT_FIRST 20000
#define PORTS 10000

void ring_slurm_first_host(const char *list, char host[RING_SLURM_HOST])
{
	size_t used = 0;
	bool inside = false, skips = false; /* brackets; what is behind their first number */
	for (; *list && (inside || *list != ','); list++) {
		if (*list == '[' || *list == ']') {
			inside = *list == '[';
			skips = false;
			continue;
		}
		skips = skips || (inside && (*list == ',' || *list == '-'));
		if (!skips && used < RING_SLURM_HOST - 1)
			host[used++] = *list;
	}
	host[used] = '\0';
}

/* Neighbouring jobs, and steps of one job, get other ports. */
static int derive_port(const char *job, const char *step)
{
	unsigned long number = 7 * strtoul(job, NULL, 10) + strtoul(step, NULL, 10);
	return PORT_FIRST + (int)(number % PORTS);
}

static void identify(const char *job, const char *step, const char *secret,
		     const struct ring_launch *launch, struct ring_identity *identity)
{
	char number[16];
	snprintf(number, sizeof(number), "%u", launch->number);
	const char *const facts[] = {"slurm", job, step, number};
	ring_identity_derive(identity, secret, facts, sizeof(facts) / sizeof(facts[0]));
}

static int enter(const struct ring_launcher *launcher, const struct ring_config *config,
		 struct ring_launch *launch, struct ring_failure *failure)
{
	const char *job, *step, *nodes;
	char host[RING_SLURM_HOST];
	int node_count;
	struct ring_identity identity;
	int err = ring_launch_text(launcher, "SLURM_JOB_ID", &job, failure);
	if (!err)
		err = ring_launch_text(launcher, "SLURM_STEP_ID", &step, failure);
	if (!err)
		err = ring_launch_text(launcher, "SLURM_STEP_NODELIST", &nodes, failure);
	if (!err)
		err = ring_launch_number(launcher, "SLURM_STEP_NUM_NODES", 1, launch->size,
					 &node_count, failure);
	if (err)
		return err;
	ring_slurm_first_host(nodes, host);
	struct ring_served served = {
		.address = node_count == 1 ? "127.0.0.1" : host,
		.address_of = "SLURM_STEP_NODELIST's first host",
		.port = derive_port(job, step),
		.port_of = "that SLURM_JOB_ID and SLURM_STEP_ID give",
		.local_size = node_count == 1 ? launch->size : 1,
	};
	err = ring_served_choose(&served, launcher, failure);
	if (err)
		return err;
	identify(job, step, served.secret, launch, &identity);
	return ring_served_enter(&served, &identity, config, launch, failure);
}

const struct ring_launcher ring_launcher_slurm = {
	.name = "srun",
	.marker = "SLURM_STEP_ID",
	.variables = "SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST, SLURM_JOB_ID",
	.job = "SLURM_STEP_ID",
	.size = "SLURM_STEP_NUM_TASKS",
	.rank = "SLURM_PROCID",
	.enter = enter,
};
