/* SPDX-License-Identifier: MIT */
/*
 * Ranks that torchrun started, or that were given the variables of torch.distributed. All compute
 * the same id, rank 0 serves its meeting, and the others look for it at MASTER_ADDR, at the port
 * after MASTER_PORT, where torchrun's own store listens.
 *
 * The id does not depend on WORLD_SIZE, so that ranks with different ones meet and are told; on
 * TORCHELASTIC_RESTART_COUNT, which differs between hosts (a host that restarts because another
 * failed does not count); and on the text of MASTER_ADDR, which may be a name on one host and an
 * address on another. A restarted job is kept apart from the one before because another process
 * serves its meeting, and ranks link only with those that met there.
 */
#include "torchrun.h"

#include <stdio.h>

#include "meet/identity.h"

/* ---- what is said ---- */

static int read_port(struct ring_torchrun *job, const struct ring_launcher *launcher, int store,
		     struct ring_failure *failure)
{
	job->served.port = store + 1;
	job->served.port_of = "after MASTER_PORT";
	int err = ring_served_choose(&job->served, launcher, failure);
	if (!err && job->served.port > RING_PORT_MAX)
		err = ring_fail(failure, RING_EINVAL,
				"MASTER_PORT=%d leaves no port after it for the ranks to meet: set "
				"RING_ROOT_PORT to one that is free on rank 0's host",
				store);
	return err;
}

int ring_torchrun_read(struct ring_torchrun *job, const struct ring_launcher *launcher,
		       struct ring_failure *failure)
{
	int store = 0;
	*job = (struct ring_torchrun){.served.address_of = "MASTER_ADDR"};
	int err = ring_launch_number(launcher, "WORLD_SIZE", 1, RING_SIZE_MAX, &job->size, failure);
	if (!err)
		err = ring_launch_number(launcher, launcher->rank, 0, job->size - 1, &job->rank,
					 failure);
	if (!err && ring_launch_variable("LOCAL_WORLD_SIZE"))
		err = ring_launch_number(launcher, "LOCAL_WORLD_SIZE", 1, job->size,
					 &job->served.local_size, failure);
	if (!err)
		err = ring_launch_text(launcher, "MASTER_ADDR", &job->served.address, failure);
	if (!err)
		err = ring_launch_text(launcher, "MASTER_PORT", &job->store, failure);
	if (!err)
		err = ring_launch_number(launcher, "MASTER_PORT", 1, RING_PORT_MAX, &store, failure);
	if (!err)
		err = read_port(job, launcher, store, failure);
	job->run = ring_launch_variable("TORCHELASTIC_RUN_ID");
	if (!job->run)
		job->run = "";
	return err;
}

void ring_torchrun_identify(const struct ring_torchrun *job, unsigned call, const char *secret,
			    struct ring_identity *identity)
{
	char number[16];
	snprintf(number, sizeof(number), "%u", call);
	const char *const facts[] = {"torchrun", job->store, job->run, number};
	ring_identity_derive(identity, secret, facts, sizeof(facts) / sizeof(facts[0]));
}

/* ---- the launcher ---- */

static int enter(const struct ring_launcher *launcher, const struct ring_config *config,
		 struct ring_launch *launch, struct ring_failure *failure)
{
	struct ring_torchrun job;
	struct ring_identity identity;
	int err = ring_torchrun_read(&job, launcher, failure);
	if (err)
		return err;
	ring_torchrun_identify(&job, launch->number, job.served.secret, &identity);
	return ring_served_enter(&job.served, &identity, config, launch, failure);
}

#define VARIABLES "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT"

/* Always the innermost launcher: its ranks inherit what srun or mpirun set for torchrun itself. */
const struct ring_launcher ring_launcher_torchrun = {
	.name = "torchrun",
	.marker = "TORCHELASTIC_RUN_ID",
	.variables = VARIABLES,
	.size = "WORLD_SIZE",
	.rank = "RANK",
	.enter = enter,
};

/* For others that set its variables: Kubernetes, people. */
const struct ring_launcher ring_launcher_torch_variables = {
	.name = "torchrun",
	.marker = "RANK",
	.variables = VARIABLES,
	.size = "WORLD_SIZE",
	.rank = "RANK",
	.enter = enter,
};

/* Its pods are numbered; who writes the Job says the rest. Without that, each is one of several. */
const struct ring_launcher ring_launcher_indexed_job = {
	.name = "an indexed Job of Kubernetes, one rank in each pod,",
	.marker = "JOB_COMPLETION_INDEX",
	.variables = "JOB_COMPLETION_INDEX, and its manifest WORLD_SIZE, MASTER_ADDR, MASTER_PORT",
	.size = "WORLD_SIZE",
	.rank = "JOB_COMPLETION_INDEX",
	.enter = enter,
};
