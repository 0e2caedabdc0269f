/* SPDX-License-Identifier: MIT */
/* Calls of the driver for the trainer's GPU. There is one, as each rank is a process. */
#include "chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "image.h"

#define BLOCK 128 /* threads */

static struct {
	const struct train_cuda_driver *driver;
	int device;
	char name[96];
	void *context, *module;
	void *computing, *communicating; /* streams */
	void *kernels[TRAIN_KERNEL_COUNT];
	void **events; /* [event_count] one for each bucket */
	int event_count;
	void *origin;     /* an event, recorded when the host looked at its clock */
	double origin_at; /* that clock */
	bool noted;       /* since the last wait */
	bool failed;
} chip;

void train_chip_give_up(void)
{
	chip.failed = true;
}

static bool check(int result, const char *doing)
{
	if (!chip.failed && train_cuda_failed(result, doing))
		chip.failed = true;
	return !chip.failed;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* All at once: what is loaded later would wait for calls that are under way. */
static bool find_kernels(void)
{
	static const char *const names[] = {
#define NAME(name) "train_" #name "_kernel",
		TRAIN_KERNELS(NAME)
#undef NAME
	};
	for (int i = 0; i < TRAIN_KERNEL_COUNT; i++) {
		int ignored;
		if (!check(chip.driver->module_function(&chip.kernels[i], chip.module, names[i]),
			   names[i]) ||
		    !check(chip.driver->function_attribute(&ignored, TRAIN_CUDA_LOCAL_BYTES,
							   chip.kernels[i]),
			   names[i]))
			return false;
	}
	return true;
}

static bool open_streams(void)
{
	const struct train_cuda_driver *driver = chip.driver;
	return check(driver->stream_create(&chip.computing, TRAIN_CUDA_STREAM_NON_BLOCKING, 0),
		     "creating a stream") &&
	       check(driver->stream_create(&chip.communicating, TRAIN_CUDA_STREAM_NON_BLOCKING, 0),
		     "creating a stream") &&
	       check(driver->event_create(&chip.origin, 0), "creating an event");
}

bool train_chip_open(int number)
{
	memset(&chip, 0, sizeof(chip));
	chip.driver = train_cuda_driver();
	if (!chip.driver)
		return false;
	const struct train_cuda_driver *driver = chip.driver;
	return check(driver->device_get(&chip.device, number), "asking for the device") &&
	       check(driver->device_name(chip.name, sizeof(chip.name), chip.device),
		     "asking for the device") &&
	       check(driver->context_retain(&chip.context, chip.device), "opening the device") &&
	       check(driver->context_set(chip.context), "opening the device") &&
	       check(driver->module_load(&chip.module, train_cuda_image()),
		     "loading the trainer's kernels") &&
	       find_kernels() && open_streams();
}

void train_chip_close(void)
{
	const struct train_cuda_driver *driver = chip.driver;
	if (!driver || !chip.context)
		return;
	for (int i = 0; i < chip.event_count; i++)
		driver->event_destroy(chip.events[i]);
	free(chip.events);
	if (chip.origin)
		driver->event_destroy(chip.origin);
	if (chip.communicating)
		driver->stream_destroy(chip.communicating);
	if (chip.computing)
		driver->stream_destroy(chip.computing);
	if (chip.module)
		driver->module_unload(chip.module);
	driver->context_set(NULL);
	driver->context_release(chip.device);
	memset(&chip, 0, sizeof(chip));
}

const char *train_chip_name(void)
{
	return chip.name;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* It is zeros once it is there: calls of the library's do not wait for the computing stream. */
void *train_chip_alloc(size_t bytes)
{
	void *memory = NULL;
	if (chip.failed ||
	    !check(chip.driver->memory_alloc(&memory, bytes ? bytes : 1), "allocating memory"))
		return NULL;
	train_chip_clear(memory, bytes);
	train_chip_wait();
	return memory;
}

void train_chip_free(void *memory)
{
	if (memory)
		chip.driver->memory_free(memory);
}

static void copy(void *to, const void *from, size_t bytes, const char *doing)
{
	if (!chip.failed && bytes > 0)
		check(chip.driver->memory_copy(to, from, bytes, chip.computing), doing);
}

void train_chip_read(void *host, const void *from, size_t bytes)
{
	copy(host, from, bytes, "reading memory");
	train_chip_wait();
}

/* The host's memory may change once it returns. */
void train_chip_write(void *to, const void *host, size_t bytes)
{
	copy(to, host, bytes, "writing memory");
	train_chip_wait();
}

void train_chip_copy(void *to, const void *from, size_t bytes)
{
	copy(to, from, bytes, "copying memory");
}

void train_chip_clear(void *memory, size_t bytes)
{
	if (!chip.failed && bytes > 0)
		check(chip.driver->memory_set(memory, 0, bytes, chip.computing), "clearing memory");
}

/* ---- order ----------------------------------------------------------------------------------- */

int train_chip_wait(void)
{
	if (!chip.failed)
		check(chip.driver->stream_synchronize(chip.computing), "computing");
	chip.noted = false;
	return chip.failed ? -1 : 0;
}

void *train_chip_computing(void)
{
	return chip.computing;
}

void *train_chip_stream(void)
{
	return chip.communicating;
}

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/* The stream has nothing to do when the first job behind a wait comes, so this happens at once. */
static void note_origin(void)
{
	if (chip.noted)
		return;
	check(chip.driver->event_record(chip.origin, chip.computing), "recording an event");
	chip.origin_at = now();
	chip.noted = true;
}

static bool make_events(int count)
{
	void **more = count > chip.event_count ? realloc(chip.events, (size_t)count * sizeof(*more))
					       : chip.events;
	if (!more) {
		fputs("ring_train: out of memory for events\n", stderr);
		chip.failed = true;
		return false;
	}
	chip.events = more;
	while (chip.event_count < count) {
		if (!check(chip.driver->event_create(&chip.events[chip.event_count], 0),
			   "creating an event"))
			return false;
		chip.event_count++;
	}
	return true;
}

void train_chip_hand_over(int bucket)
{
	if (chip.failed || !make_events(bucket + 1))
		return;
	note_origin();
	check(chip.driver->event_record(chip.events[bucket], chip.computing), "recording an event");
	check(chip.driver->stream_wait_event(chip.communicating, chip.events[bucket], 0),
	      "ordering streams");
}

double train_chip_handed_over(int bucket)
{
	float milliseconds = 0;
	if (!chip.failed)
		check(chip.driver->event_elapsed(&milliseconds, chip.origin, chip.events[bucket]),
		      "reading an event");
	return chip.origin_at + 1e-3 * (double)milliseconds;
}

/* ---- kernels --------------------------------------------------------------------------------- */

void train_chip_launch(enum train_kernel kernel, const void *job, size_t items)
{
	uint64_t count = items;
	void *arguments[] = {(void *)job, &count};
	if (chip.failed || items == 0)
		return;
	note_origin();
	check(chip.driver->launch(chip.kernels[kernel], (unsigned)((items + BLOCK - 1) / BLOCK), 1,
				  1, BLOCK, 1, 1, 0, chip.computing, arguments, NULL),
	      "launching a kernel");
}
