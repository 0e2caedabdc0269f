/* SPDX-License-Identifier: MIT */
/*
 * Memory of devices. It goes through the library's own table, so every device of the library can be
 * measured.
 */
#include "memory.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/status.h"
#include "kernels/device.h"

static const struct ring_device *find_row(const char *name, size_t length)
{
	const struct ring_device *const *row = ring_devices + 1;
	while (*row && (strncmp((*row)->name, name, length) != 0 || (*row)->name[length]))
		row++;
	return *row;
}

bool perf_device_is_known(const char *name, size_t length)
{
	if (find_row(name, length))
		return true;
	fprintf(stderr, "ring_perf: --device %.*s: this build has", (int)length, name);
	for (int i = 1; ring_devices[i]; i++)
		fprintf(stderr, "%s %s", i > 1 ? "," : "", ring_devices[i]->name);
	fputs(ring_devices[1] ? "\n" : " no devices beside the CPU: configure found no nvcc\n",
	      stderr);
	return false;
}

int perf_device_open(struct perf_device *device, const char *name, size_t length, int place)
{
	struct ring_failure failure = {0};
	int chips = 1;
	*device = (struct perf_device){.row = find_row(name, length)};
	const char *text = device->row->name;
	int err = device->row->count(&chips, &failure);
	if (!err) {
		device->chip = place % chips;
		err = device->row->open(&device->chip, &text, &failure);
	}
	if (!err)
		err = device->row->queue_open(device->chip, &device->queue);
	if (failure.err)
		snprintf(device->text, sizeof(device->text), "%s", failure.text);
	else
		snprintf(device->text, sizeof(device->text), "%s%s%s", text, err ? ": " : "",
			 err ? ring_strerror(err) : "");
	return err;
}

bool perf_device_is_cuda(const struct perf_device *device)
{
	return device->row && strcmp(device->row->name, "cuda") == 0;
}

void perf_device_close(struct perf_device *device)
{
	if (device->queue)
		device->row->queue_close(device->queue);
	device->queue = NULL;
}

int perf_device_copy(struct perf_device *device, void *to, const void *from, size_t bytes)
{
	int err = device->row->copy(device->queue, to, from, bytes, false);
	device->jobs += !err;
	return err;
}

int perf_device_add(struct perf_device *device, void *to, const void *from, size_t bytes)
{
	const struct ring_reduction sum = {
		.sources = {to, from},
		.nsources = 2,
		.results = {to},
		.nresults = 1,
		.count = bytes / sizeof(float),
		.type = RING_FLOAT32,
		.op = RING_SUM,
	};
	int err = device->row->reduce(device->queue, &sum);
	device->jobs += !err;
	return err;
}

int perf_device_finish(struct perf_device *device)
{
	uint64_t done = 0;
	int err = device->row->finished(device->queue, &done);
	while (!err && done < device->jobs) {
		sched_yield();
		err = device->row->finished(device->queue, &done);
	}
	return err;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int map_pages(size_t bytes, unsigned char **pages)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return RING_ENOMEM;
	*pages = memory;
	return 0;
}

/* The device copies from and to the mirror. */
static int map_on_device(struct perf_memory *memory)
{
	const struct ring_device *row = memory->device->row;
	void *place;
	int err = memory->comm ? ring_mem_alloc(memory->comm, memory->bytes, &place)
			       : row->alloc(memory->device->chip, memory->bytes, &place);
	if (err)
		return err;
	memory->place = place;
	err = row->host_alloc(memory->bytes, &place);
	if (!err)
		memory->mirror = place;
	return err;
}

int perf_memory_map(struct perf_memory *memory, struct ring_comm *comm, struct perf_device *device,
		    size_t bytes)
{
	void *place;
	*memory = (struct perf_memory){.comm = comm, .device = device, .bytes = bytes};
	if (device)
		return map_on_device(memory);
	int err = comm ? ring_mem_alloc(comm, bytes, &place) : map_pages(bytes, &memory->place);
	if (comm && !err)
		memory->place = place;
	memory->mirror = memory->place;
	return err;
}

void perf_memory_unmap(struct perf_memory *memory)
{
	const struct ring_device *row = memory->device ? memory->device->row : NULL;
	if (row)
		row->host_free(memory->mirror);
	if (row && !memory->comm) {
		row->free(memory->place);
	} else if (memory->place && memory->comm) {
		ring_mem_free(memory->comm, memory->place);
	} else if (memory->place) {
		munmap(memory->place, memory->bytes);
	}
	*memory = (struct perf_memory){0};
}

int perf_memory_push(const struct perf_memory *memory, size_t offset, size_t bytes)
{
	if (!memory->device)
		return 0;
	int err = perf_device_copy(memory->device, memory->place + offset, memory->mirror + offset,
				   bytes);
	return err ? err : perf_device_finish(memory->device);
}

int perf_memory_pull(const struct perf_memory *memory, size_t offset, size_t bytes)
{
	if (!memory->device)
		return 0;
	int err = perf_device_copy(memory->device, memory->mirror + offset, memory->place + offset,
				   bytes);
	return err ? err : perf_device_finish(memory->device);
}
