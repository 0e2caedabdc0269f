/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "tests/cuda/fake/.libs"

struct cuda_calls cuda;

/* In front of what is there, of which sanitizers and users may have need. */
static void put_in_front(const char *folder)
{
	const char *others = getenv("LD_LIBRARY_PATH");
	char path[8192];
	snprintf(path, sizeof(path), "%s%s%s", folder, others && *others ? ":" : "",
		 others ? others : "");
	setenv("LD_LIBRARY_PATH", path, 1);
}

void cuda_use_fake(char **argv)
{
	if (getenv("RING_TEST_GPU"))
		return;
	char *folder = realpath(FOLDER, NULL), driver[8192];
	snprintf(driver, sizeof(driver), "%s/" RING_CUDA_LIBRARY, folder ? folder : FOLDER);
	if (access(driver, R_OK)) {
		printf("there is no %s: only static libraries were built\n", driver);
		exit(77);
	}
	const char *path = getenv("LD_LIBRARY_PATH");
	size_t length = strlen(folder);
	bool there = path && strncmp(path, folder, length) == 0 && strchr(":", path[length]);
	if (!there) {
		put_in_front(folder);
		execv("/proc/self/exe", argv);
		perror("exec");
		exit(1);
	}
	free(folder);
}

bool cuda_open(void)
{
	bool all = true;
	void *library = dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("%s\n", dlerror());
		return false;
	}
#define CUDA_FIND(name, symbol, parameters, ...)                                                   \
	*(void **)&cuda.name = dlsym(library, #symbol);                                            \
	if (!cuda.name) {                                                                          \
		printf("there is no " #symbol "\n");                                               \
		all = false;                                                                       \
	}
	RING_CUDA_CALLS(CUDA_FIND)
	RING_CUDA_MAPPING_CALLS(CUDA_FIND)
	MORE_CUDA_CALLS(CUDA_FIND)
	return all;
}

static void *find_in_fake(const char *name)
{
	return dlsym(dlopen(RING_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL), name);
}

unsigned cuda_fail(const char *faults)
{
	static unsigned (*fail)(const char *text);
	if (!fail)
		*(void **)&fail = find_in_fake("fake_fail");
	return fail(faults);
}

unsigned cuda_made(const char *function)
{
	static unsigned (*made)(const char *function);
	if (!made)
		*(void **)&made = find_in_fake("fake_made");
	return made(function);
}

void cuda_must(int result, const char *call, const char *file, int line)
{
	const char *name = NULL;
	if (!result)
		return;
	cuda.error_name(result, &name);
	fprintf(stderr, "%s:%d: %s returns %s (%d)\n", file, line, call, name ? name : "?", result);
	exit(99);
}

static unsigned char *room_for(size_t bytes)
{
	unsigned char *here = malloc(bytes);
	if (!here)
		exit(99);
	return here;
}

void cuda_fill(void *far, size_t bytes, unsigned char value)
{
	unsigned char *here = room_for(bytes);
	memset(here, value, bytes);
	CUDA_MUST(cuda.memory_copy_now(far, here, bytes));
	free(here);
}

bool cuda_is_full_of(const void *far, size_t bytes, unsigned char value)
{
	unsigned char *here = room_for(bytes);
	size_t same = 0;
	CUDA_MUST(cuda.memory_copy_now(here, far, bytes));
	while (same < bytes && here[same] == value)
		same++;
	free(here);
	return same == bytes;
}
