/* SPDX-License-Identifier: MIT */
/*
 * What the devices here are and what no program on them can exceed, as JSON: GB/s within a device's
 * memory, between it and the host, and from device to device. NVLink or PCIe: the rates tell.
 *
 *	tests/gpu/ceilings [MIB]    of so much memory at most, 256 if not said
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

#define DEVICES 16

static int attribute(int device, int which)
{
	int value = 0;
	CUDA_MUST(cuda.device_attribute(&value, which, device));
	return value;
}

static double measure(const struct gpu *gpu, void *to, const void *from, size_t room, int blocks)
{
	size_t bytes;
	CUDA_MUST(cuda.context_set(gpu->context));
	return gpu_measure(&(struct gpu_rate){gpu, to, from, room, blocks}, &bytes);
}

/* Copies within a device read and write every byte. */
static void print_device(const struct gpu *gpu, char *far, size_t room)
{
	char name[128], bus[64];
	size_t free_bytes, total;
	const int device = gpu->device, many = 4 * gpu->multiprocessors;
	CUDA_MUST(cuda.context_set(gpu->context));
	CUDA_MUST(cuda.device_name(name, sizeof(name), device));
	CUDA_MUST(cuda.device_bus_id(bus, sizeof(bus), device));
	CUDA_MUST(cuda.memory_info(&free_bytes, &total));
	char *near = gpu_pinned(room);
	printf("{\"device\": %d, \"name\": \"%s\", \"bus\": \"%s\", \"capability\": \"%d.%d\", "
	       "\"multiprocessors\": %d, \"memory_bytes\": %zu, \"free_bytes\": %zu, ",
	       device, name, bus, attribute(device, RING_CUDA_CAPABILITY_MAJOR),
	       attribute(device, RING_CUDA_CAPABILITY_MINOR), gpu->multiprocessors, total,
	       free_bytes);
	printf("\"hbm_copy_engine\": %.6g, \"hbm_kernel\": %.6g, ",
	       2 * measure(gpu, far + room, far, room, 0),
	       2 * measure(gpu, far + room, far, room, many));
	printf("\"from_host_copy_engine\": %.6g, \"from_host_kernel\": %.6g, ",
	       measure(gpu, far, near, room, 0), measure(gpu, far, near, room, many));
	printf("\"to_host_copy_engine\": %.6g, \"to_host_kernel\": %.6g}",
	       measure(gpu, near, far, room, 0), measure(gpu, near, far, room, many));
	CUDA_MUST(cuda.host_free(near));
}

/* Copies that the sender's device makes, through the host where there is no other way. */
static void print_pair(const struct gpu *from, const struct gpu *to, char *src, char *dst,
		       size_t room)
{
	int reaches = 0;
	CUDA_MUST(cuda.context_set(from->context));
	CUDA_MUST(cuda.device_reaches(&reaches, from->device, to->device));
	if (reaches) {
		int result = cuda.context_enable_peer(to->context, 0);
		reaches = result == 0 || result == RING_CUDA_PEER_ALREADY_ENABLED;
	}
	printf("{\"from\": %d, \"to\": %d, \"peer\": %s, \"copy_engine\": %.6g", from->device,
	       to->device, reaches ? "true" : "false", measure(from, dst, src, room, 0));
	if (reaches)
		printf(", \"kernel\": %.6g",
		       measure(from, dst, src, room, 4 * from->multiprocessors));
	printf("}");
}

int main(int argc, char **argv)
{
	const size_t room = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 20;
	struct gpu gpus[DEVICES];
	char *memory[DEVICES];
	const char *why;
	int version = 0, n = gpu_find(&why);
	if (!n || !room) {
		printf("%s\n", n ? "usage: ceilings [MIB]" : why);
		return n ? 2 : 77;
	}
	n = n < DEVICES ? n : DEVICES;
	CUDA_MUST(cuda.driver_version(&version));
	printf("{\"driver_cuda\": \"%d.%d\", \"devices\": [", version / 1000, version % 1000 / 10);
	for (int i = 0; i < n; i++) {
		gpu_open(&gpus[i], i);
		memory[i] = gpu_memory(2 * room);
		printf("%s", i ? ", " : "");
		print_device(&gpus[i], memory[i], room);
	}
	printf("], \"pairs\": [");
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			if (i != j) {
				printf("%s", i || j > 1 ? ", " : "");
				print_pair(&gpus[i], &gpus[j], memory[i], memory[j], room);
			}
	printf("]}\n");
	return 0;
}
