/* SPDX-License-Identifier: MIT */
/* Opens NVIDIA's driver for the trainer. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>

static struct train_cuda_driver driver;

bool train_cuda_failed(int result, const char *doing)
{
	const char *name = NULL, *text = NULL;
	if (result == 0)
		return false;
	if (driver.error_name(result, &name) || !name)
		name = "an unknown error";
	if (driver.error_text(result, &text) || !text)
		text = "the driver has no text for it";
	fprintf(stderr, "ring_train: --device cuda: %s: %s (%d), %s\n", doing, name, result, text);
	return true;
}

static bool find_calls(void *library)
{
	const struct {
		const char *symbol;
		void *pointer;
	} calls[] = {
#define CALL(name, symbol, ...) {#symbol, &driver.name},
		TRAIN_CUDA_CALLS(CALL)
#undef CALL
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *found = dlsym(library, calls[i].symbol);
		if (!found) {
			fprintf(stderr,
				"ring_train: --device cuda: " TRAIN_CUDA_LIBRARY
				" has no %s: update NVIDIA's driver\n",
				calls[i].symbol);
			return false;
		}
		*(void **)calls[i].pointer = found;
	}
	return true;
}

const struct train_cuda_driver *train_cuda_driver(void)
{
	static bool is_open;
	if (is_open)
		return &driver;
	void *library = dlopen(TRAIN_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr,
			"ring_train: --device cuda: this machine has no driver of NVIDIA's: %s\n",
			dlerror());
		return NULL;
	}
	if (!find_calls(library) || train_cuda_failed(driver.init(0), "starting the driver"))
		return NULL;
	is_open = true;
	return &driver;
}
