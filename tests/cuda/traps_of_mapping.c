/* SPDX-License-Identifier: MIT */
/* Virtual memory management: physical memory, addresses, and who is let reach the one by the other. */
#include "trap.h"

#include <fcntl.h>
#include <unistd.h>

#define UNIT ((size_t)2 << 20)

static int create(size_t bytes, bool exports, uint64_t *physical)
{
	const struct ring_cuda_physical what = {.kind = RING_CUDA_PHYSICAL_PINNED,
						.handles = exports ? RING_CUDA_HANDLE_FD : 0,
						.site = {RING_CUDA_SITE_DEVICE, 0}};
	return cuda.physical_create(physical, bytes, &what, 0);
}

char *trap_map(size_t bytes)
{
	uint64_t physical;
	void *start;
	CUDA_MUST(create(bytes, false, &physical));
	CUDA_MUST(cuda.addresses_reserve(&start, bytes, 0, NULL, 0));
	CUDA_MUST(cuda.addresses_map(start, bytes, 0, physical, 0));
	CUDA_MUST(cuda.physical_release(physical));
	return start;
}

static int let(int device, void *start, size_t bytes)
{
	const struct ring_cuda_access access = {{RING_CUDA_SITE_DEVICE, device},
						RING_CUDA_READ_AND_WRITE};
	return cuda.addresses_open(start, bytes, &access, 1);
}

static int store(char *at)
{
	CUDA_MUST(trap_launch(stage.store, stage.first, at, 1));
	return trap_finish();
}

static int create_half_a_unit(bool wrong)
{
	uint64_t physical;
	return create(wrong ? UNIT / 2 : UNIT, false, &physical);
}

static int create_too_much(bool wrong)
{
	uint64_t physical;
	return create(wrong ? 4 * UNIT : 3 * UNIT, false, &physical);
}

static int create_in_any_case(bool wrong)
{
	uint64_t physical;
	(void)wrong;
	return create(UNIT, false, &physical);
}

static int create_to_export(bool wrong)
{
	uint64_t physical;
	(void)wrong;
	return create(UNIT, true, &physical);
}

static int store_without_leave(bool wrong)
{
	char *at = trap_map(UNIT);
	if (!wrong)
		CUDA_MUST(let(0, at, UNIT));
	return store(at);
}

static int copy_without_leave(bool wrong)
{
	char *at = trap_map(UNIT);
	if (!wrong)
		CUDA_MUST(let(0, at, UNIT));
	return cuda.memory_copy(stage.pinned, at, 4, stage.first);
}

/* A kernel of device 1, which may reach device 0's other memory. */
static int store_from_another_device(bool wrong)
{
	char *at = trap_map(UNIT);
	uint32_t value = 7;
	struct CUctx_st *context;
	struct CUmod_st *module;
	struct CUfunc_st *kernel;
	CUDA_MUST(let(0, at, UNIT));
	if (!wrong)
		CUDA_MUST(let(1, at, UNIT));
	CUDA_MUST(cuda.primary_retain(&context, 1));
	CUDA_MUST(cuda.context_push(context));
	CUDA_MUST(cuda.context_enable_peer(stage.context, 0));
	CUDA_MUST(cuda.module_load(&module, trap_image));
	CUDA_MUST(cuda.module_function(&kernel, module, "trap_store"));
	CUDA_MUST(cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at, &value}, NULL));
	int err = cuda.context_synchronize();
	CUDA_MUST(cuda.context_pop(&context));
	return err ? err : trap_look(at) == value ? 0 : TRAP_STALE;
}

static int store_with_leave(bool wrong)
{
	(void)wrong;
	return store_from_another_device(false);
}

static int let_another_device(bool wrong)
{
	(void)wrong;
	return let(1, trap_map(UNIT), UNIT);
}

static int name_it(bool wrong)
{
	struct ring_cuda_handle handle;
	return cuda.memory_handle(&handle, wrong ? trap_map(UNIT) : stage.memory);
}

static int free_it(bool wrong)
{
	return cuda.memory_free(wrong ? trap_map(UNIT) : stage.memory);
}

static int unmap_a_part(bool wrong)
{
	return cuda.addresses_unmap(trap_map(2 * UNIT), wrong ? UNIT : 2 * UNIT);
}

static int free_mapped_addresses(bool wrong)
{
	char *at = trap_map(UNIT);
	if (!wrong)
		CUDA_MUST(cuda.addresses_unmap(at, UNIT));
	return cuda.addresses_free(at, UNIT);
}

static int map_twice(bool wrong)
{
	uint64_t physical;
	char *at = trap_map(UNIT);
	CUDA_MUST(create(UNIT, false, &physical));
	if (!wrong)
		CUDA_MUST(cuda.addresses_unmap(at, UNIT));
	return cuda.addresses_map(at, UNIT, 0, physical, 0);
}

static int export_without_leave(bool wrong)
{
	uint64_t physical;
	int fd;
	CUDA_MUST(create(UNIT, !wrong, &physical));
	return cuda.physical_export(&fd, physical, RING_CUDA_HANDLE_FD, 0);
}

/* A process may import what it has exported itself. */
static int import_something(bool wrong)
{
	uint64_t physical;
	int fd;
	CUDA_MUST(create(UNIT, true, &physical));
	CUDA_MUST(cuda.physical_export(&fd, physical, RING_CUDA_HANDLE_FD, 0));
	if (wrong)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return cuda.physical_import(&physical, (void *)(intptr_t)fd, RING_CUDA_HANDLE_FD);
}

static int ask_where_it_begins(bool wrong)
{
	void *start, *from;
	uint64_t physical;
	CUDA_MUST(create(UNIT, false, &physical));
	CUDA_MUST(cuda.addresses_reserve(&start, 2 * UNIT, 0, NULL, 0));
	char *at = (char *)start + UNIT;
	CUDA_MUST(cuda.addresses_map(at, UNIT, 0, physical, 0));
	CUDA_MUST(let(0, at, UNIT));
	if (wrong)
		CUDA_MUST(cuda.pointer_attribute(&from, RING_CUDA_POINTER_RANGE_START, at + 8));
	else
		CUDA_MUST(cuda.memory_range(&from, NULL, at + 8));
	return from == at ? 0 : TRAP_STALE;
}

/* The process ends by a signal. */
static int leave_it(bool wrong)
{
	char *at = trap_map(UNIT);
	if (wrong)
		return 0;
	CUDA_MUST(cuda.addresses_unmap(at, UNIT));
	return cuda.addresses_free(at, UNIT);
}

const struct trap traps_of_mapping[] = {
	{.name = "physical memory of half a unit",
	 .run = create_half_a_unit,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "more physical memory than there is",
	 .run = create_too_much,
	 .comes_to = RING_CUDA_OUT_OF_MEMORY,
	 .wrong_env = "RING_FAKE_CUDA_MEMORY_MB=8",
	 .right_env = "RING_FAKE_CUDA_MEMORY_MB=8"},
	{.name = "physical memory where there is none",
	 .run = create_in_any_case,
	 .comes_to = RING_CUDA_NOT_SUPPORTED,
	 .wrong_env = "RING_FAKE_CUDA_MAPS=0",
	 .right_env = "RING_FAKE_CUDA_MAPS=1"},
	{.name = "physical memory for descriptors, where there are none",
	 .run = create_to_export,
	 .comes_to = RING_CUDA_NOT_SUPPORTED,
	 .wrong_env = "RING_FAKE_CUDA_MAPS=1",
	 .right_env = "RING_FAKE_CUDA_MAPS=2"},
	{.name = "a kernel stores to mapped memory without leave",
	 .run = store_without_leave,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS},
	{.name = "mapped memory is copied without leave",
	 .run = copy_without_leave,
	 .comes_to = RING_CUDA_INVALID_VALUE,
	 .is_stricter = true},
	{.name = "a peer stores to mapped memory without leave",
	 .run = store_from_another_device,
	 .comes_to = RING_CUDA_ILLEGAL_ADDRESS,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "a device that only says that it reaches mapped memory",
	 .run = store_with_leave,
	 .comes_to = TRAP_STALE,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2 RING_FAKE_CUDA_PEERS=2",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "leave for a device that does not reach mapped memory",
	 .run = let_another_device,
	 .comes_to = RING_CUDA_INVALID_DEVICE,
	 .wrong_env = "RING_FAKE_CUDA_DEVICES=2 RING_FAKE_CUDA_PEERS=0",
	 .right_env = "RING_FAKE_CUDA_DEVICES=2"},
	{.name = "mapped memory is to have a handle",
	 .run = name_it,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "mapped memory is freed as other memory is",
	 .run = free_it,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "a part of a mapping is unmapped",
	 .run = unmap_a_part,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "addresses are freed that have memory",
	 .run = free_mapped_addresses,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "memory is mapped where there is some",
	 .run = map_twice,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "memory is exported that was not made for it",
	 .run = export_without_leave,
	 .comes_to = RING_CUDA_INVALID_VALUE},
	{.name = "a descriptor of something else is imported",
	 .run = import_something,
	 .comes_to = RING_CUDA_INVALID_VALUE,
	 .is_stricter = true},
	{.name = "a pointer is asked where its mapping begins",
	 .run = ask_where_it_begins,
	 .comes_to = TRAP_STALE},
	{.name = "physical memory is left, and that is told",
	 .run = leave_it,
	 .comes_to = TRAP_HANGS,
	 .wrong_env = "RING_FAKE_CUDA_LEFT=1",
	 .right_env = "RING_FAKE_CUDA_LEFT=1"},
	{.name = NULL},
};
