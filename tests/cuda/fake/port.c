/* SPDX-License-Identifier: MIT */
/* What crosses the ports of devices; see tests/cuda/ports.h. */
#include "fake.h"

#include <stdatomic.h>

_Static_assert(FAKE_DEVICES == CUDA_PORTS_HOST, "the host is behind all devices");

static _Atomic uint64_t crossed[CUDA_PORTS][CUDA_PORTS];

int fake_port_of(const struct fake_range *range)
{
	return range->kind < FAKE_MANAGED_MEMORY ? range->owner : CUDA_PORTS_HOST;
}

void fake_port_copies(const void *dst, const void *src, size_t bytes)
{
	struct fake_range range;
	const int to = fake_memory_find(dst, &range) ? fake_port_of(&range) : CUDA_PORTS_HOST;
	const int from = fake_memory_find(src, &range) ? fake_port_of(&range) : CUDA_PORTS_HOST;
	atomic_fetch_add(&crossed[from][to], bytes);
}

void fake_port_runs(const struct CUctx_st *context, const struct fake_crossing *crossing)
{
	const int here = fake_settings.visible[context->device];
	for (int there = 0; there < CUDA_PORTS; there++) {
		atomic_fetch_add(&crossed[there][here], crossing->loaded[there]);
		atomic_fetch_add(&crossed[here][there], crossing->stored[there]);
	}
}

/* Within one device nothing crosses anything. */
void fakePorts(struct cuda_ports *ports)
{
	for (int from = 0; from < CUDA_PORTS; from++)
		for (int to = 0; to < CUDA_PORTS; to++)
			ports->bytes[from][to] = from == to ? 0 : atomic_load(&crossed[from][to]);
}
