/* SPDX-License-Identifier: MIT */
/* Memory of the current device, and memory that calls will use often. */
#include <stdlib.h>

#include "comm.h"
#include "device.h"
#include "error.h"

/* No bytes are no error, and lie nowhere, as cudaMalloc has it. */
NCCL_CALL(int, ncclMemAlloc, void **memory, size_t bytes)
{
	if (!memory)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclMemAlloc: ptr is NULL");
	if (bytes > 0)
		return nccl_device_alloc(memory, bytes);
	*memory = NULL;
	return NCCL_SUCCESS;
}

NCCL_CALL(int, ncclMemFree, void *memory)
{
	return memory ? nccl_device_free(memory) : NCCL_SUCCESS;
}

static int add(struct ncclComm *comm, void *memory, size_t bytes, struct ring_region **region,
	       const char *call)
{
	int result = nccl_comm_enter(comm, call);
	if (result)
		return result;
	result = nccl_result_of(ring_mem_register(comm->ring, memory, bytes, region), comm->ring);
	nccl_comm_leave(comm);
	return result;
}

static int forget(struct ncclComm *comm, struct ring_region *region, const char *call)
{
	int result = nccl_comm_enter(comm, call);
	if (result)
		return result;
	result = nccl_result_of(ring_mem_deregister(comm->ring, region), comm->ring);
	nccl_comm_leave(comm);
	return result;
}

NCCL_CALL(int, ncclCommRegister, struct ncclComm *comm, void *memory, size_t bytes, void **handle)
{
	struct ring_region *region = NULL;
	if (!handle)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclCommRegister: handle is NULL");
	int result = add(comm, memory, bytes, &region, "ncclCommRegister");
	if (!result)
		*handle = region;
	return result;
}

NCCL_CALL(int, ncclCommDeregister, struct ncclComm *comm, void *handle)
{
	return handle ? forget(comm, handle, "ncclCommDeregister") : NCCL_SUCCESS;
}

/* ---- windows: the same, which peers could reach by the device API only ----------------------- */

struct ncclWindow_vidmem {
	struct ring_region *region;
	void *memory;
};

NCCL_CALL(int, ncclCommWindowRegister, struct ncclComm *comm, void *memory, size_t bytes,
	  struct ncclWindow_vidmem **window, int flags)
{
	(void)flags;
	if (!window)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclCommWindowRegister: win is NULL");
	struct ncclWindow_vidmem *made = malloc(sizeof(*made));
	if (!made)
		return nccl_refuse(NCCL_SYSTEM_ERROR, "ncclCommWindowRegister: no memory");
	made->memory = memory;
	int result = add(comm, memory, bytes, &made->region, "ncclCommWindowRegister");
	if (result)
		free(made);
	else
		*window = made;
	return result;
}

NCCL_CALL(int, ncclCommWindowDeregister, struct ncclComm *comm, struct ncclWindow_vidmem *window)
{
	if (!window)
		return NCCL_SUCCESS;
	int result = forget(comm, window->region, "ncclCommWindowDeregister");
	if (!result)
		free(window);
	return result;
}

NCCL_CALL(int, ncclWinGetUserPtr, struct ncclComm *comm, const struct ncclWindow_vidmem *window,
	  void **memory)
{
	if (!comm || !window || !memory)
		return nccl_refuse(NCCL_INVALID_ARGUMENT, "ncclWinGetUserPtr: %s is NULL",
				   !comm    ? "comm"
				   : window ? "outUserPtr"
					    : "win");
	*memory = window->memory;
	return NCCL_SUCCESS;
}
