/* SPDX-License-Identifier: MIT */
/*
 * Memory of devices that other processes open: legacy handles, which name a whole allocation.
 *
 * The memory of all devices of a process is one file. A handle says whose it is and where in it the
 * allocation lies; whoever opens it finds the file under /proc. Behind the memory lies a table of
 * what was exported, and who has it open: what is freed is gone, and what others have open cannot
 * be freed.
 */
#include "fake.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define MAGIC 0x43495046u
#define EXPORTS 1024
#define OPENERS 14
#define SKIP_19 " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"

/* A line of the table. */
struct export
{
	_Atomic uint64_t id;          /* of the allocation; 0: none */
	_Atomic int openers[OPENERS]; /* processes, one entry for each context; 0: none */
};

struct table {
	_Atomic uint64_t nonce; /* of the process */
	uint64_t unused[7];
	struct export exports[EXPORTS];
};

_Static_assert(sizeof(struct table) <= FAKE_TABLE_BYTES, "the table fits behind the memory");

/* What is in a handle. */
struct name {
	uint32_t magic, line;
	int pid, fd, device;
	uint64_t nonce, id, offset, bytes;
};

_Static_assert(sizeof(struct name) <= sizeof(struct ring_cuda_handle), "a handle has 64 bytes");

/* What this process has opened. */
struct import {
	struct name name;
	struct CUctx_st *context;
	struct table *table; /* its owner's */
	_Atomic int *opener; /* its entry there */
	struct fake_range range;
	unsigned opens;
	struct import *next;
};

static struct table *own;
static struct import *imports;

/* ---- the table ------------------------------------------------------------------------------- */

static struct table *map_table(int fd)
{
	void *at = mmap(NULL, FAKE_TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			(off_t)FAKE_SPACES);
	if (at == MAP_FAILED)
		return NULL;
	madvise(at, FAKE_TABLE_BYTES, MADV_DONTFORK);
	return at;
}

static struct table *own_table(void)
{
	uint64_t nonce;
	if (own)
		return own;
	own = map_table(fake_memory_file());
	if (own && getrandom(&nonce, sizeof(nonce), 0) == (ssize_t)sizeof(nonce))
		atomic_store(&own->nonce, nonce | 1);
	return own;
}

/* Of an allocation of this process; `id` 0: one that is free. NULL: there is none. */
static struct export *find_export(uint64_t id)
{
	for (int i = 0; own && i < EXPORTS; i++)
		if (atomic_load(&own->exports[i].id) == id)
			return &own->exports[i];
	return NULL;
}

/* Killed, and perhaps not reaped, or on its way there: it has no mappings any more. */
static bool is_dead(int pid)
{
	char path[64];
	unsigned long mapped = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *stat = fopen(path, "re");
	if (!stat)
		return true;
	if (fscanf(stat, "%*d (%*[^)]) %*c" SKIP_19 " %lu", &mapped) != 1)
		mapped = 0;
	fclose(stat);
	return mapped == 0;
}

bool fake_ipc_is_open(const struct fake_range *range)
{
	const struct export *export = find_export(range->id);
	for (int i = 0; export && i < OPENERS; i++) {
		int pid = atomic_load(&export->openers[i]);
		if (pid && !is_dead(pid)) {
			fprintf(stderr,
				"fake CUDA driver: memory is freed that process %d has open\n", pid);
			return true;
		}
	}
	return false;
}

void fake_ipc_forget(uint64_t id)
{
	struct export *export = find_export(id);
	if (!export)
		return;
	for (int i = 0; i < OPENERS; i++)
		atomic_store(&export->openers[i], 0);
	atomic_store(&export->id, 0);
}

/* ---- exporting ------------------------------------------------------------------------------- */

static int export(const struct fake_range *range, struct name *name)
{
	struct table *table = own_table();
	struct export *line = table ? find_export(range->id) : NULL;
	if (table && !line)
		line = find_export(0);
	if (!line)
		return RING_CUDA_OUT_OF_MEMORY;
	atomic_store(&line->id, range->id);
	*name = (struct name){
		.magic = MAGIC,
		.line = (uint32_t)(line - table->exports),
		.pid = getpid(),
		.fd = fake_memory_file(),
		.device = range->owner,
		.nonce = atomic_load(&table->nonce),
		.id = range->id,
		.offset = fake_memory_offset(range),
		.bytes = range->bytes,
	};
	return 0;
}

int cuIpcGetMemHandle(struct ring_cuda_handle *handle, void *memory)
{
	struct fake_range range;
	struct name name = {0};
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	if (!fake_settings.handles)
		return fake_end(RING_CUDA_NOT_SUPPORTED);
	if (!handle || !fake_memory_find(memory, &range) || range.kind != FAKE_DEVICE_MEMORY ||
	    range.base != memory || range.pooled)
		return fake_end(RING_CUDA_INVALID_VALUE);
	err = export(&range, &name);
	if (!err) {
		memset(handle, 0, sizeof(*handle));
		memcpy(handle, &name, sizeof(name));
	}
	return fake_end(err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void end_import(struct import *import)
{
	atomic_store(import->opener, 0);
	fake_memory_remove(import->range.base);
	munmap(import->table, FAKE_TABLE_BYTES);
	free(import);
}

/* Takes an entry, unless what is named is gone. */
static int join(struct import *import)
{
	const struct name *name = &import->name;
	struct export *line = &import->table->exports[name->line];
	if (atomic_load(&import->table->nonce) != name->nonce || atomic_load(&line->id) != name->id)
		return RING_CUDA_INVALID_VALUE;
	for (int i = 0; i < OPENERS; i++) {
		int none = 0;
		import->opener = &line->openers[i];
		if (atomic_compare_exchange_strong(import->opener, &none, getpid()))
			return 0;
		if (is_dead(none) && atomic_compare_exchange_strong(import->opener, &none, getpid()))
			return 0;
	}
	return RING_CUDA_OUT_OF_MEMORY;
}

static int map_memory(struct import *import, int fd)
{
	struct fake_range *range = &import->range;
	size_t pages = (import->name.bytes + 4095) / 4096 * 4096;
	range->place = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    (off_t)import->name.offset);
	if (range->place == MAP_FAILED)
		return RING_CUDA_OUT_OF_MEMORY;
	madvise(range->place, pages, MADV_DONTFORK);
	range->bytes = import->name.bytes;
	range->kind = FAKE_IMPORTED_MEMORY;
	range->context = import->context;
	range->owner = import->name.device;
	int err = fake_memory_add(range);
	if (err)
		munmap(range->place, pages);
	return err;
}

static int open_file(struct import *import)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", import->name.pid, import->name.fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return RING_CUDA_INVALID_VALUE;
	import->table = map_table(fd);
	int err = import->table ? join(import) : RING_CUDA_OUT_OF_MEMORY;
	if (!err) {
		err = map_memory(import, fd);
		if (err)
			atomic_store(import->opener, 0);
	}
	if (err && import->table)
		munmap(import->table, FAKE_TABLE_BYTES);
	close(fd);
	return err;
}

static struct import *find_import(const struct CUctx_st *context, const struct name *name)
{
	struct import *import = imports;
	while (import &&
	       (import->context != context || memcmp(&import->name, name, sizeof(*name)) != 0))
		import = import->next;
	return import;
}

static int import_it(struct CUctx_st *context, const struct name *name, void **memory)
{
	struct import *import = find_import(context, name);
	if (import) {
		import->opens++;
		*memory = import->range.base;
		return 0;
	}
	import = calloc(1, sizeof(*import));
	if (!import)
		return RING_CUDA_OUT_OF_MEMORY;
	*import = (struct import){.name = *name, .context = context, .opens = 1};
	int err = open_file(import);
	if (err) {
		free(import);
		return err;
	}
	import->next = imports;
	imports = import;
	*memory = import->range.base;
	return 0;
}

static int check(const struct CUctx_st *context, const struct name *name)
{
	if (name->magic != MAGIC || name->line >= EXPORTS)
		return RING_CUDA_INVALID_VALUE;
	if (name->pid == getpid())
		return RING_CUDA_INVALID_CONTEXT;
	int here = fake_settings.visible[context->device];
	return here == name->device || fake_peers(here, name->device) ? 0
								      : CUDA_PEER_ACCESS_UNSUPPORTED;
}

int cuIpcOpenMemHandle_v2(void **memory, struct ring_cuda_handle handle, unsigned flags)
{
	struct name name;
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	if (!fake_settings.handles)
		return fake_end(RING_CUDA_NOT_SUPPORTED);
	struct CUctx_st *context = fake_current();
	memcpy(&name, &handle, sizeof(name));
	err = flags == RING_CUDA_IPC_LAZY_PEERS ? check(context, &name) : RING_CUDA_INVALID_VALUE;
	if (!err)
		err = fake_context_await(context, __func__);
	if (!err)
		err = import_it(context, &name, memory);
	return fake_end(err);
}

int cuIpcCloseMemHandle(void *memory)
{
	int err = fake_begin(__func__, FAKE_CONTEXT | FAKE_SAFE);
	if (err)
		return err;
	struct import **place = &imports;
	while (*place && ((*place)->range.base != memory || (*place)->context != fake_current()))
		place = &(*place)->next;
	struct import *import = *place;
	if (!import)
		return fake_end(RING_CUDA_INVALID_VALUE);
	err = fake_settings.frees_wait ? fake_context_await(import->context, __func__) : 0;
	if (!err && --import->opens == 0) {
		*place = import->next;
		end_import(import);
	}
	return fake_end(err);
}

/* ---- in the end ------------------------------------------------------------------------------ */

void fake_ipc_end(const struct CUctx_st *context)
{
	struct import **place = &imports;
	while (*place) {
		struct import *import = *place;
		if (import->context != context) {
			place = &import->next;
			continue;
		}
		*place = import->next;
		end_import(import);
	}
}

void fake_ipc_end_table(void)
{
	if (own)
		munmap(own, FAKE_TABLE_BYTES);
	own = NULL;
}
