/* SPDX-License-Identifier: MIT */
/*
 * Launchers that are recognised but not understood, or that give ranks no way to exchange values.
 * Their processes are ranks of one job: none may take itself for a job of its own.
 */
#include "launch.h"

static const struct foreign {
	const char *marker, *launcher, *advice;
} foreign[] = {
	{"FLUX_TASK_RANK", "Flux", "let it serve PMI: flux run -o pmi=simple"},
	{"PALS_RANKID", "PALS (mpiexec or aprun of Cray)",
	 "start with mpiexec of MPICH, or with srun"},
	{"ALPS_APP_PE", "ALPS (aprun of Cray)", "start with mpiexec of MPICH, or with srun"},
	{"MV2_COMM_WORLD_RANK", "mpirun_rsh of MVAPICH2", "start with its mpiexec"},
	{"JSM_NAMESPACE_RANK", "JSM (jsrun)", "start with mpirun of Open MPI"},
	{"PMIX_NAMESPACE", "a PMIx server without PMIX_RANK",
	 "let PMIX_RANK be as the launcher set it"},
	{"OMPI_COMM_WORLD_RANK", "mpirun of an Open MPI without PMIx",
	 "start with that of Open MPI 4 or later, and pass its PMIX_ variables on"},
	{"PMI_RANK", "mpiexec (PMI) without PMI_FD",
	 "start the program by mpiexec or srun itself, and pass PMI_FD on"},
	{"PMI_ID", "mpiexec (PMI) by PMI_PORT", "start with mpiexec of MPICH without -pmi-port"},
	{"MPI_LOCALRANKID", "mpiexec (Hydra) without PMI_FD",
	 "start the program by mpiexec itself, and pass PMI_FD on"},
};

int ring_launch_refuse_foreign(struct ring_failure *failure)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		const struct foreign *row = &foreign[i];
		const char *value = ring_launch_variable(row->marker);
		if (value)
			return ring_fail(
				failure, RING_EINVAL,
				"%s=%.32s: a rank of %s, which is not understood: %s; or hand "
				"all ranks an id of ring_unique_id_create; or, for ranks on this "
				"host alone, use ring_run",
				row->marker, value, row->launcher, row->advice);
	}
	return 0;
}
