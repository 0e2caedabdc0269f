/* SPDX-License-Identifier: MIT */
/*
 * Launchers that are recognised but not understood, or that give ranks no way to exchange values.
 * Their processes are ranks of one job: none may take itself for a job of its own.
 */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

static bool is_above_one(const char *number)
{
	return strtol(number, NULL, 10) > 1;
}

/* A list of JSON with more than one entry. */
static bool is_list(const char *json)
{
	return strchr(json, ',') != NULL;
}

/* TF_CONFIG lists "host:port" of all members, in JSON. */
static bool has_addresses(const char *json)
{
	int found = 0;
	for (const char *at = strchr(json, ':'); at; at = strchr(at + 1, ':')) {
		size_t digits = strspn(at + 1, "0123456789");
		found += digits > 0 && at[1 + digits] == '"';
	}
	return found > 1;
}

#define SET_TORCH "set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from it"

/*
 * A process is one of several unless the size says 1, or `several` says no of the marker's value.
 */
static const struct foreign {
	const char *marker, *size;
	bool (*several)(const char *value);
	const char *launcher, *advice;
} foreign[] = {
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL, "Flux", "let it serve PMI: flux run -o pmi=simple"},
	{"PALS_RANKID", NULL, NULL, "PALS (mpiexec or aprun of Cray)",
	 "start with mpiexec of MPICH, or with srun"},
	{"ALPS_APP_PE", NULL, NULL, "ALPS (aprun of Cray)",
	 "start with mpiexec of MPICH, or with srun"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL, "mpirun_rsh of MVAPICH2",
	 "start with its mpiexec"},
	{"MPIRUN_RANK", "MPIRUN_NPROCS", NULL, "mpirun of MVAPICH", "start with its mpiexec"},
	{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", NULL, "JSM (jsrun)",
	 "start with mpirun of Open MPI"},
	{"MP_CHILD", "MP_PROCS", NULL, "POE", SET_TORCH},
	{"LSF_PM_TASKID", NULL, NULL, "LSF (blaunch)", "start with mpirun of Open MPI"},
	{"PMIX_NAMESPACE", NULL, NULL, "a PMIx server without PMIX_RANK",
	 "let PMIX_RANK be as the launcher set it"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, "mpirun of an Open MPI without PMIx",
	 "start with that of Open MPI 4 or later, and pass its PMIX_ variables on"},
	{"PMI_RANK", "PMI_SIZE", NULL, "mpiexec (PMI) without PMI_FD",
	 "start the program by mpiexec or srun itself, and pass PMI_FD on"},
	{"PMI_ID", NULL, NULL, "mpiexec (PMI) by PMI_PORT",
	 "start with mpiexec of MPICH without -pmi-port"},
	{"MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL, "mpiexec (Hydra) without PMI_FD",
	 "start the program by mpiexec itself, and pass PMI_FD on"},
	{"HOROVOD_RANK", "HOROVOD_SIZE", NULL, "horovodrun", SET_TORCH},
	{"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES", NULL,
	 "a multi-node job of AWS Batch", SET_TORCH},
	{"SM_HOSTS", NULL, is_list, "a SageMaker job on several hosts", "start with torchrun"},
	{"TF_CONFIG", NULL, has_addresses, "a cluster of TensorFlow", SET_TORCH},
	{"DMLC_WORKER_ID", "DMLC_NUM_WORKER", NULL, "the tracker of DMLC (BytePS, MXNet)", SET_TORCH},
	{"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", NULL, "the launcher of Paddle", SET_TORCH},
	{"PET_NNODES", NULL, is_above_one, "a PyTorchJob of Kubernetes",
	 "start the program by torchrun"},
	{"WORLD_SIZE", NULL, is_above_one, "a job of torch.distributed without RANK",
	 "set RANK beside it, from 0 on, and MASTER_ADDR and MASTER_PORT"},
	{"LOCAL_RANK", "WORLD_SIZE", NULL, "a job of torch.distributed without RANK and WORLD_SIZE",
	 "set them beside it, and MASTER_ADDR and MASTER_PORT"},
};

static bool is_one_of_several(const struct foreign *row, const char *value)
{
	const char *size = row->size ? ring_launch_variable(row->size) : NULL;
	if (row->several)
		return row->several(value);
	return !size || strcmp(size, "1") != 0;
}

int ring_launch_refuse_foreign(struct ring_failure *failure)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		const struct foreign *row = &foreign[i];
		const char *value = ring_launch_variable(row->marker);
		if (value && is_one_of_several(row, value))
			return ring_fail(
				failure, RING_EINVAL,
				"%s=%.32s: a rank of %s, which is not understood: %s; or hand "
				"all ranks an id of ring_unique_id_create; or, for ranks on this "
				"host alone, use ring_run; unset %s if it is left over",
				row->marker, value, row->launcher, row->advice, row->marker);
	}
	return 0;
}
