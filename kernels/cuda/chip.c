/* SPDX-License-Identifier: MIT */
#include "chip.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/reduce_list.h"
#include "mapping.h"

/*
 * Those that are open, read without the lock: opening one waits for its GPU, and others, as for
 * pinning, are not to wait for that.
 */
static const struct ring_cuda_chip *chips[RING_CUDA_CHIPS];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static const struct ring_cuda_chip *chip_at(int device)
{
	return __atomic_load_n(&chips[device], __ATOMIC_ACQUIRE);
}

int ring_cuda_enter(const struct ring_cuda_chip *chip, struct ring_cuda_visit *visit)
{
	const struct ring_cuda_driver *driver = chip->driver;
	visit->capture_mode = RING_CUDA_CAPTURE_RELAXED;
	int result = driver->capture_mode(&visit->capture_mode);
	if (result)
		return result;
	result = driver->context_push(chip->context);
	if (result)
		driver->capture_mode(&visit->capture_mode);
	return result;
}

void ring_cuda_leave(const struct ring_cuda_chip *chip, const struct ring_cuda_visit *visit)
{
	struct CUctx_st *context;
	int mode = visit->capture_mode;
	chip->driver->context_pop(&context);
	chip->driver->capture_mode(&mode);
}

int ring_cuda_check_at(enum ring_log_level level, const struct ring_cuda_chip *chip, int result,
		       const char *doing)
{
	struct ring_failure failure = {0};
	int err = ring_cuda_error(result, doing, &failure);
	if (err)
		ring_log(level, "%s: %s", chip->text, failure.text);
	return err && err != RING_ENOMEM ? RING_ESYSTEM : err;
}

int ring_cuda_check(const struct ring_cuda_chip *chip, int result, const char *doing)
{
	return ring_cuda_check_at(RING_LOUD, chip, result, doing);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void describe(struct ring_cuda_chip *chip)
{
	char name[64] = "GPU", bus[32] = "?";
	chip->driver->device_name(name, sizeof(name), chip->device);
	chip->driver->device_bus_id(bus, sizeof(bus), chip->device);
	snprintf(chip->name, sizeof(chip->name), "%s at %s", name, bus);
	snprintf(chip->text, sizeof(chip->text), "device %d (%s)", chip->device, chip->name);
}

static int ask(const struct ring_cuda_chip *chip, int attribute, int *value,
	       struct ring_failure *failure)
{
	return ring_cuda_error(chip->driver->device_attribute(value, attribute, chip->device),
			       "asking what the device can", failure);
}

bool ring_cuda_chip_can(const struct ring_cuda_chip *chip, int attribute)
{
	int is = 0;
	return !chip->driver->device_attribute(&is, attribute, chip->device) && is;
}

/* Memory of the host must have one address; what the driver allocates has, if they are unified. */
static int check_abilities(struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	int unified = 0;
	int err = ask(chip, RING_CUDA_MULTIPROCESSORS, &chip->multiprocessors, failure);
	if (!err)
		err = ask(chip, RING_CUDA_UNIFIED_ADDRESSING, &unified, failure);
	if (!err && !unified)
		err = ring_fail(failure, RING_ENOTSUP,
				"CUDA: %s has other addresses for the host's memory than the host, "
				"which the library cannot use",
				chip->text);
	chip->pins = ring_cuda_chip_can(chip, RING_CUDA_HOST_REGISTER) &&
		     ring_cuda_chip_can(chip, RING_CUDA_HOST_POINTERS);
	chip->streams_see_words = ring_cuda_chip_can(chip, RING_CUDA_STREAM_WORDS);
	chip->ends_kernels = ring_cuda_chip_can(chip, RING_CUDA_KERNEL_TIME_LIMIT);
	return err;
}

/* What drivers say to an image that they are too old for. */
static bool is_of_the_image(int result)
{
	return result == RING_CUDA_INVALID_IMAGE || result == RING_CUDA_NO_BINARY_FOR_GPU ||
	       result == RING_CUDA_INVALID_PTX || result == RING_CUDA_UNSUPPORTED_PTX_VERSION;
}

static int refuse_image(const struct ring_cuda_chip *chip, int result, struct ring_failure *failure)
{
	int version = RING_CUDA_LEAST;
	if (!is_of_the_image(result) || chip->driver->driver_version(&version) ||
	    version >= RING_CUDA_LEAST)
		return ring_cuda_error(result, "loading the kernels", failure);
	return ring_fail(
		failure, RING_ENOTSUP,
		"CUDA: the kernels need a driver of CUDA %d.%d or newer, but this one is of "
		"%d.%d: update NVIDIA's driver, or build the library by an older nvcc",
		RING_CUDA_LEAST / 1000, RING_CUDA_LEAST % 1000 / 10, version / 1000,
		version % 1000 / 10);
}

/* Asking for its attributes loads it. returns an enum ring_cuda_result */
static int load(const struct ring_cuda_driver *driver, struct CUmod_st *module, const char *name,
		struct CUfunc_st **kernel)
{
	int registers;
	int result = driver->module_function(kernel, module, name);
	return result ? result
		      : driver->function_attribute(&registers, RING_CUDA_REGISTERS, *kernel);
}

/*
 * All kernels now: one that is loaded by its first launch may wait for whatever the context was
 * given, and that may wait for us.
 */
static int load_kernels(struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	const struct ring_cuda_driver *driver = chip->driver;
	struct CUmod_st *module;
	int result = driver->module_load(&module, ring_cuda_image);
	if (result)
		return refuse_image(chip, result, failure);
#define LOAD(OP, op, TYPE, type, ...)                                                              \
	if (!result)                                                                               \
		result = load(driver, module, "ring_reduce_" #type "_" #op,                        \
			      &chip->kernels[TYPE][OP]);                                           \
	if (!result)                                                                               \
		result = load(driver, module, "ring_one_shot_" #type "_" #op,                      \
			      &chip->shots[TYPE][OP]);                                             \
	if (!result)                                                                               \
		result = load(driver, module, "ring_around_" #type "_" #op, &chip->rings[TYPE][OP]);
	RING_REDUCE_PAIRS(LOAD)
#undef LOAD
	if (!result)
		result = load(driver, module, "ring_stop", &chip->stop);
	return ring_cuda_error(result, "loading the kernels", failure);
}

static int make_idle_stream(struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	int least;
	int err = ring_cuda_error(chip->driver->context_priorities(&least, &chip->priority),
				  "asking for priorities", failure);
	if (!err)
		err = ring_cuda_error(chip->driver->stream_create(&chip->idle,
								  RING_CUDA_STREAM_NON_BLOCKING,
								  chip->priority),
				      "making a stream", failure);
	return err ? err
		   : ring_cuda_error(ring_cuda_pulse_open(chip->pulse, chip), "making an event",
				     failure);
}

static int open_context(struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	struct ring_cuda_visit visit;
	int err = ring_cuda_error(chip->driver->primary_retain(&chip->context, chip->device),
				  "entering the device", failure);
	if (err)
		return err;
	err = ring_cuda_error(ring_cuda_enter(chip, &visit), "entering the device", failure);
	if (!err) {
		err = load_kernels(chip, failure);
		if (!err)
			err = make_idle_stream(chip, failure);
		if (!err)
			ring_cuda_mapping_try(chip);
		ring_cuda_leave(chip, &visit);
	}
	if (err)
		chip->driver->primary_release(chip->device);
	return err;
}

static int open_chip(const struct ring_cuda_driver *driver, int device,
		     const struct ring_cuda_chip **opened, struct ring_failure *failure)
{
	struct ring_cuda_chip *chip = calloc(1, sizeof(*chip));
	struct ring_cuda_pulse *pulse = calloc(1, sizeof(*pulse));
	if (!chip || !pulse) {
		free(chip);
		free(pulse);
		return ring_fail(failure, RING_ENOMEM, "no memory for a device");
	}
	chip->driver = driver;
	chip->pulse = pulse;
	chip->device = device;
	describe(chip);
	int err = check_abilities(chip, failure);
	if (!err)
		err = open_context(chip, failure);
	if (err) {
		free(pulse);
		free(chip);
		return err;
	}
	*opened = chip;
	return 0;
}

/* ---- which one ------------------------------------------------------------------------------- */

/*
 * Ordinals name the devices themselves, as drivers give them the same numbers. A thread without a
 * context has the first one. returns the driver's result
 */
static int find_own_device(const struct ring_cuda_driver *driver, int *device)
{
	struct CUctx_st *context = NULL;
	*device = 0;
	int result = driver->context_current(&context);
	return result || !context ? result : driver->context_device(device);
}

int ring_cuda_chip_count(int *count, struct ring_failure *failure)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver(failure);
	int visible = 0;
	if (!driver)
		return RING_ENOTSUP;
	int err = ring_cuda_error(driver->device_count(&visible), "counting devices", failure);
	if (!err && visible < 1)
		err = ring_cuda_error(RING_CUDA_NO_DEVICE, "counting devices", failure);
	*count = visible < RING_CUDA_CHIPS ? visible : RING_CUDA_CHIPS;
	return err;
}

static int check_number(int device, struct ring_failure *failure)
{
	int count;
	int err = ring_cuda_chip_count(&count, failure);
	if (!err && (device < 0 || device >= count))
		err = ring_fail(failure, RING_ENOTSUP,
				"CUDA: there is no device %d: %d %s visible here, from 0 on (see "
				"CUDA_VISIBLE_DEVICES)",
				device, count, count == 1 ? "is" : "are");
	return err;
}

int ring_cuda_chip_find(int device, const struct ring_cuda_chip **chip, struct ring_failure *failure)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver(failure);
	if (!driver)
		return RING_ENOTSUP;
	if (device >= 0 && device < RING_CUDA_CHIPS && (*chip = chip_at(device)))
		return 0;
	int err = 0;
	if (device == RING_CHIP_ANY)
		err = ring_cuda_error(find_own_device(driver, &device),
				      "asking for the thread's device", failure);
	if (!err)
		err = check_number(device, failure);
	if (err)
		return err;
	*chip = chip_at(device);
	if (*chip)
		return 0;
	pthread_mutex_lock(&opening);
	*chip = chip_at(device);
	if (!*chip)
		err = open_chip(driver, device, chip, failure);
	if (!err)
		__atomic_store_n(&chips[device], *chip, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&opening);
	return err;
}

int ring_cuda_chip_get(int device, const struct ring_cuda_chip **chip)
{
	struct ring_failure failure = {0};
	int err = ring_cuda_chip_find(device, chip, &failure);
	if (err)
		ring_log(RING_LOUD, "%s", failure.text);
	return err && err != RING_ENOMEM ? RING_ESYSTEM : err;
}

int ring_cuda_chip_any(const struct ring_cuda_chip **chip)
{
	const struct ring_cuda_chip *open = NULL;
	for (int device = 0; device < RING_CUDA_CHIPS && !open; device++)
		open = chip_at(device);
	if (!open)
		return ring_cuda_chip_get(RING_CHIP_ANY, chip);
	*chip = open;
	return 0;
}
