/* SPDX-License-Identifier: MIT */
/*
 * What is not here: every name that programs may need to be loaded, and a sentence for whoever
 * calls it. Nobody looks at the arguments, so these functions have none.
 */
#include "error.h"

#define ABSENT(name, sentence)                                                                     \
	NCCL_CALL(int, name, void)                                                                 \
	{                                                                                          \
		return nccl_refuse(NCCL_INVALID_USAGE, #name ": " sentence);                       \
	}

ABSENT(ncclCommRevoke, "a communicator whose calls were stopped is of no more use here: end it by "
		       "ncclCommAbort() and make a new one")

ABSENT(ncclSetEncryption, "nothing that ranks say is encrypted here: use links that are")

/* One-sided calls. */
#define ONE_SIDED "there are no one-sided calls here: use ncclSend() and ncclRecv() in a group"
ABSENT(ncclPutSignal, ONE_SIDED)
ABSENT(ncclSignal, ONE_SIDED)
ABSENT(ncclWaitSignal, ONE_SIDED)

/* What kernels of the program's would communicate by. */
#define BY_KERNELS "kernels cannot communicate here: make calls of the host"
ABSENT(ncclDevCommCreate, BY_KERNELS)
ABSENT(ncclDevCommDestroy, BY_KERNELS)
ABSENT(ncclGetCftDeviceLeInfo, BY_KERNELS)
ABSENT(ncclGetLsaDevicePointer, BY_KERNELS)
ABSENT(ncclGetLsaMultimemDevicePointer, BY_KERNELS)
ABSENT(ncclGetMultimemDeviceLeInfo, BY_KERNELS)
ABSENT(ncclGetMultimemDevicePointer, BY_KERNELS)
ABSENT(ncclGetPeerDeviceLeInfo, BY_KERNELS)
ABSENT(ncclGetPeerDevicePointer, BY_KERNELS)
ABSENT(ncclGinBarrierCreateRequirement, BY_KERNELS)
ABSENT(ncclGinInboxA2ACreateRequirement, BY_KERNELS)
ABSENT(ncclGinOutboxCreateRequirement, BY_KERNELS)
ABSENT(ncclLLA2ACreateRequirement, BY_KERNELS)
ABSENT(ncclLsaBarrierCreateRequirement, BY_KERNELS)

/* Returns a number of slots, not an error. */
NCCL_CALL(int, ncclLLA2ACalcSlots, void)
{
	return 0;
}

/* Parameters. */
#define NO_PARAMETERS "there are no NCCL_* parameters here: RING_* variables do such things"
ABSENT(ncclParamBind, NO_PARAMETERS)
ABSENT(ncclParamGet, NO_PARAMETERS)
ABSENT(ncclParamGetI8, NO_PARAMETERS)
ABSENT(ncclParamGetI16, NO_PARAMETERS)
ABSENT(ncclParamGetI32, NO_PARAMETERS)
ABSENT(ncclParamGetI64, NO_PARAMETERS)
ABSENT(ncclParamGetU8, NO_PARAMETERS)
ABSENT(ncclParamGetU16, NO_PARAMETERS)
ABSENT(ncclParamGetU32, NO_PARAMETERS)
ABSENT(ncclParamGetU64, NO_PARAMETERS)
ABSENT(ncclParamGetStr, NO_PARAMETERS)
ABSENT(ncclParamGetParameter, NO_PARAMETERS)

NCCL_CALL(int, ncclParamGetAllParameterKeys, const char ***keys, int *count)
{
	static const char *none[1];
	if (!keys || !count)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclParamGetAllParameterKeys: %s is NULL",
				   keys ? "tableLen" : "table");
	*keys = none;
	*count = 0;
	return NCCL_SUCCESS;
}

NCCL_CALL(void, ncclParamDumpAll, void)
{
}

/* Logging is read from RING_LOG when the library first writes a line. */
NCCL_CALL(void, ncclResetDebugInit, void)
{
}

NCCL_CALL(void, ncclResetDebugInitInternal, void)
{
}
