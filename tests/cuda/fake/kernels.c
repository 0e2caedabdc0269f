/* SPDX-License-Identifier: MIT */
/* The kernels that there are, and those that only the tests of the driver use. */
#include "kernel.h"

#include <stdint.h>
#include <string.h>

/* trap_store(uint32_t *word, uint32_t value) */
static void store(void **parameters)
{
	uint32_t **word = parameters[0], *value = parameters[1];
	*(uint32_t *)fake_reach(*word, sizeof(**word)) = *value;
}

/* trap_store_wide(void *sixteen_bytes, uint32_t value) */
static void store_wide(void **parameters)
{
	void **memory = parameters[0];
	uint32_t *value = parameters[1];
	uint32_t words[4] = {*value, *value, *value, *value};
	memcpy(fake_reach(*memory, sizeof(words)), words, sizeof(words));
}

static const struct fake_kernel trap_store = {"trap_store",
					      store,
					      {sizeof(void *), sizeof(uint32_t)}};
static const struct fake_kernel trap_store_wide = {"trap_store_wide",
						   store_wide,
						   {sizeof(void *), sizeof(uint32_t)}};

const struct fake_kernel *const fake_kernels[] = {&trap_store, &trap_store_wide, NULL};
