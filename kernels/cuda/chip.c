/* SPDX-License-Identifier: MIT */
#include "chip.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/reduce_list.h"

#define CHIPS_MAX 64

static const struct ring_cuda_chip *chips[CHIPS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

/* An older driver does not know the question. */
static bool can(const struct ring_cuda_chip *chip, int attribute)
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
	chip->pins = can(chip, RING_CUDA_HOST_REGISTER) && can(chip, RING_CUDA_HOST_POINTERS);
	chip->streams_see_words = can(chip, RING_CUDA_STREAM_WORDS);
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

/*
 * All kernels now: one that is loaded by its first launch may wait for whatever the context was
 * given, and that may wait for us.
 */
static int load_kernels(struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	const struct ring_cuda_driver *driver = chip->driver;
	struct CUmod_st *module;
	int result = driver->module_load(&module, ring_cuda_image), registers;
	if (result)
		return refuse_image(chip, result, failure);
#define LOAD(OP, op, TYPE, type, ...)                                                              \
	if (!result)                                                                               \
		result = driver->module_function(&chip->kernels[TYPE][OP], module,                 \
						 "ring_reduce_" #type "_" #op);                    \
	if (!result)                                                                               \
		result = driver->function_attribute(&registers, RING_CUDA_REGISTERS,               \
						    chip->kernels[TYPE][OP]);
#define LOADS(...) RING_REDUCE_OPS(LOAD, __VA_ARGS__)
	RING_REDUCE_TYPES(LOADS, )
#undef LOADS
#undef LOAD
	if (!result)
		result = driver->module_function(&chip->stop, module, "ring_stop");
	if (!result)
		result = driver->function_attribute(&registers, RING_CUDA_REGISTERS, chip->stop);
	return ring_cuda_error(result, "loading the kernels", failure);
}

static int choose_priority(struct ring_cuda_chip *chip, struct ring_failure *failure)
{
	int least;
	return ring_cuda_error(chip->driver->context_priorities(&least, &chip->priority),
			       "asking for priorities", failure);
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
		err = choose_priority(chip, failure);
		if (!err)
			err = load_kernels(chip, failure);
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
	if (!chip)
		return ring_fail(failure, RING_ENOMEM, "no memory for a device");
	chip->driver = driver;
	chip->device = device;
	describe(chip);
	int err = check_abilities(chip, failure);
	if (!err)
		err = open_context(chip, failure);
	if (err) {
		free(chip);
		return err;
	}
	*opened = chip;
	return 0;
}

/* ---- which one ------------------------------------------------------------------------------- */

/* Ordinals name the devices themselves, as drivers give them the same numbers. */
static int own_device(const struct ring_cuda_driver *driver)
{
	struct CUctx_st *context = NULL;
	int device = 0;
	if (driver->context_current(&context) == RING_CUDA_OK && context)
		driver->context_device(&device);
	return device;
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
	*count = visible < CHIPS_MAX ? visible : CHIPS_MAX;
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
	if (device == RING_CHIP_ANY)
		device = own_device(driver);
	int err = check_number(device, failure);
	if (err)
		return err;
	pthread_mutex_lock(&lock);
	if (!chips[device])
		err = open_chip(driver, device, &chips[device], failure);
	*chip = chips[device];
	pthread_mutex_unlock(&lock);
	return err;
}

int ring_cuda_chip_any(const struct ring_cuda_chip **chip, struct ring_failure *failure)
{
	const struct ring_cuda_chip *open = NULL;
	pthread_mutex_lock(&lock);
	for (int device = 0; device < CHIPS_MAX && !open; device++)
		open = chips[device];
	pthread_mutex_unlock(&lock);
	if (!open)
		return ring_cuda_chip_find(RING_CHIP_ANY, chip, failure);
	*chip = open;
	return 0;
}
