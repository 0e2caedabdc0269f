/* SPDX-License-Identifier: MIT */
/*
 * Memory of GPUs, and memory of the host that they reach. Freeing and unpinning is done later,
 * while something on a GPU waits for a call; calls refuse memory that is to be freed.
 */
#include "memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/held.h"
#include "base/log.h"
#include "chip.h"
#include "later.h"
#include "mapping.h"

/* What the driver answers of memory that it knows nothing of, or while it has not been started. */
static bool is_unknown(int result)
{
	return result == RING_CUDA_INVALID_VALUE || result == RING_CUDA_INVALID_CONTEXT ||
	       result == RING_CUDA_NOT_INITIALIZED || result == RING_CUDA_DEINITIALIZED;
}

bool ring_cuda_memory_owns(const void *memory)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver_used();
	int kind = 0;
	if (!driver)
		return false;
	int result = driver->pointer_attribute(&kind, RING_CUDA_POINTER_KIND, memory);
	return result ? !is_unknown(result) : kind == RING_CUDA_MEMORY_DEVICE;
}

/* Whether the host has memory there. Where the system does not tell, it has. */
static bool host_reads(const void *memory)
{
	char byte;
	const struct iovec here = {&byte, 1}, there = {(void *)memory, 1};
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) >= 0 || errno != EFAULT;
}

/* What the driver knows of an address; all zero: nothing. */
struct known {
	unsigned kind; /* enum ring_cuda_memory */
	int device;
	unsigned managed; /* a byte of it, or all */
};

/* returns an enum ring_cuda_result */
static int ask(const struct ring_cuda_driver *driver, const void *memory, struct known *known)
{
	const int attributes[] = {RING_CUDA_POINTER_KIND, RING_CUDA_POINTER_DEVICE,
				  RING_CUDA_POINTER_MANAGED};
	void *values[] = {&known->kind, &known->device, &known->managed};
	*known = (struct known){0};
	int result = driver->pointer_attributes(3, attributes, values, memory);
	if (result)
		*known = (struct known){0};
	return result;
}

/* ---- freed, or unpinned, when nothing on a GPU waits for a call ------------------------------ */

struct freed {
	struct ring_cuda_later base;
	const struct ring_cuda_chip *chip;
	void (*free)(const struct freed *freed);
	void *memory;
	size_t bytes;
	uint64_t id;        /* of a device's memory, which no other memory ever has; 0: unknown */
	struct freed *next; /* that has one */
};

/* Memory of devices that its owner is done with, and that is not free yet. */
static struct freed *leaving;
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t id_of(const struct ring_cuda_driver *driver, const void *memory)
{
	uint64_t id = 0;
	return driver->pointer_attribute(&id, RING_CUDA_POINTER_ID, memory) ? 0 : id;
}

static void begin_leaving(struct freed *freed)
{
	pthread_mutex_lock(&leaving_lock);
	freed->next = leaving;
	__atomic_store_n(&leaving, freed, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&leaving_lock);
}

static void end_leaving(const struct freed *freed)
{
	pthread_mutex_lock(&leaving_lock);
	struct freed **place = &leaving;
	while (*place != freed)
		place = &(*place)->next;
	__atomic_store_n(place, freed->next, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&leaving_lock);
}

static struct freed *find_leaving(uint64_t id)
{
	pthread_mutex_lock(&leaving_lock);
	struct freed *freed = leaving;
	while (freed && freed->id != id)
		freed = freed->next;
	pthread_mutex_unlock(&leaving_lock);
	return freed;
}

/* Asked before the driver is, to whom what has left is unknown. */
static bool is_leaving(const struct ring_cuda_driver *driver, const void *memory)
{
	if (!__atomic_load_n(&leaving, __ATOMIC_RELAXED))
		return false;
	return find_leaving(id_of(driver, memory));
}

static void end_freed(struct ring_cuda_later *base)
{
	struct freed *freed = (struct freed *)base;
	freed->free(freed);
	if (freed->id)
		end_leaving(freed);
	free(freed);
}

/* Without memory for that it is freed now. */
static void free_later(const struct freed *what)
{
	struct freed *freed = malloc(sizeof(*freed));
	if (!freed) {
		what->free(what);
		return;
	}
	*freed = *what;
	freed->base.end = end_freed;
	if (freed->id)
		begin_leaving(freed);
	ring_cuda_later(&freed->base);
}

/* With the context its memory is gone. */
static void free_by(const struct freed *freed, int (*call)(void *memory), const char *doing)
{
	struct ring_cuda_visit visit;
	if (ring_cuda_enter(freed->chip, &visit))
		return;
	ring_cuda_check(freed->chip, call(freed->memory), doing);
	ring_cuda_leave(freed->chip, &visit);
}

static void free_far(const struct freed *freed)
{
	const struct ring_cuda_chip *chip = freed->chip;
	struct ring_cuda_visit visit;
	if (ring_cuda_enter(chip, &visit))
		return;
	if (ring_cuda_mapping_is(chip, freed->memory))
		ring_cuda_mapping_end(chip, freed->memory);
	else
		ring_cuda_check(chip, chip->driver->memory_free(freed->memory), "freeing memory");
	ring_cuda_leave(chip, &visit);
}

static void free_near(const struct freed *freed)
{
	free_by(freed, freed->chip->driver->host_free, "freeing memory of the host");
}

static void unpin(const struct freed *freed)
{
	madvise(freed->memory, freed->bytes, MADV_DOFORK);
	free_by(freed, freed->chip->driver->host_unregister, "unpinning memory");
	ring_held_drop(freed->memory);
}

/* ---- what a call is given -------------------------------------------------------------------- */

/* Memory of which the driver does not say whether the host may touch it is no call's. */
static int check_answer(int result, struct ring_failure *failure)
{
	struct ring_failure why = {0};
	if (result == RING_CUDA_OK || is_unknown(result))
		return 0;
	ring_cuda_error(result, "asking whether it is a device's", &why);
	return ring_fail(failure, RING_ESYSTEM, "is at an unknown place: %.400s", why.text);
}

int ring_cuda_memory_look(const void *memory, size_t bytes, struct ring_memory_sort *sort,
			  struct ring_failure *failure)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver_opened();
	struct known first, last;
	if (!driver || bytes == 0)
		return 0;
	const bool leaves = is_leaving(driver, memory);
	int result = ask(driver, memory, &first);
	if (result == RING_CUDA_NOT_INITIALIZED)
		return 0; /* nobody has started it, so it has no memory */
	int err = check_answer(result, failure);
	if (!err)
		err = check_answer(ask(driver, (const char *)memory + bytes - 1, &last), failure);
	if (err)
		return err;
	if (leaves || (first.kind == 0 && !host_reads(memory)))
		return ring_fail(failure, RING_EINVAL,
				 "is memory neither of a device nor of the host, perhaps freed: "
				 "free memory when the calls that use it are complete");
	if (first.managed)
		return ring_fail(failure, RING_EINVAL,
				 "is managed memory, which moves between the host and devices: "
				 "give memory from cudaMalloc() or ring_mem_alloc()");
	if (first.kind == RING_CUDA_MEMORY_DEVICE &&
	    (last.kind != first.kind || last.device != first.device))
		return ring_fail(failure, RING_EINVAL,
				 "begins in memory of cuda device %d that ends before %zu bytes: "
				 "give more memory, or a smaller count",
				 first.device, bytes);
	if (first.kind == RING_CUDA_MEMORY_DEVICE)
		sort->chip = first.device;
	else
		sort->what = first.kind ? "pinned memory of the host"
					: "pageable memory of the host";
	return 0;
}

/* ---- allocating and pinning ------------------------------------------------------------------ */

int ring_cuda_memory_alloc(int number, size_t bytes, void **memory)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = ring_cuda_chip_get(number, &chip);
	if (err)
		return err;
	err = ring_cuda_check(chip, ring_cuda_enter(chip, &visit), "entering the device");
	if (err)
		return err;
	bool passed = ring_cuda_gate_await(chip);
	if (bytes == 0)
		bytes = 1;
	int result = chip->unit ? ring_cuda_mapping_make(chip, bytes, memory)
				: chip->driver->memory_alloc(memory, bytes);
	ring_cuda_gate_give(passed);
	ring_cuda_leave(chip, &visit);
	bool full = result == RING_CUDA_OUT_OF_MEMORY; /* programs try how much there is */
	return ring_cuda_check_at(full ? RING_WARN : RING_LOUD, chip, result, "allocating memory");
}

/* returns whether it is a device's */
static bool describe(void *memory, struct freed *freed)
{
	const struct ring_cuda_driver *driver = ring_cuda_driver_opened();
	struct known known;
	*freed = (struct freed){.base = {.end = end_freed}, .free = free_far, .memory = memory};
	if (!memory || !driver || ask(driver, memory, &known) ||
	    ring_cuda_chip_get(known.device, &freed->chip))
		return false;
	freed->id = id_of(driver, memory);
	return true;
}

void ring_cuda_memory_leave(void *memory)
{
	struct freed what, *freed;
	if (!describe(memory, &what) || !what.id || !(freed = malloc(sizeof(*freed))))
		return;
	*freed = what;
	begin_leaving(freed);
}

void ring_cuda_memory_free(void *memory)
{
	struct freed what;
	if (!describe(memory, &what))
		return;
	struct freed *left = what.id ? find_leaving(what.id) : NULL;
	if (left)
		ring_cuda_later(&left->base);
	else
		free_later(&what);
}

/* For all devices, by way of one. */
static int enter_any(const struct ring_cuda_chip **chip, struct ring_cuda_visit *visit)
{
	int err = ring_cuda_chip_any(chip);
	return err ? err
		   : ring_cuda_check(*chip, ring_cuda_enter(*chip, visit), "entering the device");
}

int ring_cuda_memory_host_alloc(size_t bytes, void **memory)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = enter_any(&chip, &visit);
	if (err)
		return err;
	bool passed = ring_cuda_gate_await(NULL);
	int result = chip->driver->host_alloc(memory, bytes,
					      RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED);
	ring_cuda_gate_give(passed);
	ring_cuda_leave(chip, &visit);
	return ring_cuda_check(chip, result, "allocating memory of the host");
}

void ring_cuda_memory_host_free(void *memory)
{
	const struct ring_cuda_chip *chip;
	if (memory && !ring_cuda_chip_any(&chip))
		free_later(&(struct freed){.chip = chip, .free = free_near, .memory = memory});
}

/* As Jetson, and some virtual GPUs. */
static int cannot_pin(const struct ring_cuda_chip *chip)
{
	static bool told;
	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		ring_log(RING_INFO,
			 "%s pins no memory that exists: what arrives is copied once more",
			 chip->text);
	return RING_ENOTSUP;
}

static int pin(const struct ring_cuda_chip *chip, void *memory, size_t bytes)
{
	if (!chip->pins)
		return RING_CUDA_NOT_SUPPORTED;
	bool passed = ring_cuda_gate_await(NULL);
	int result = chip->driver->host_register(memory, bytes,
						 RING_CUDA_HOST_PORTABLE | RING_CUDA_HOST_MAPPED);
	ring_cuda_gate_give(passed);
	return result;
}

/*
 * A write after fork() would give this process another page, and leave the device the old one. It
 * is held until it is unpinned: other memory that came to lie there could not be pinned.
 */
int ring_cuda_memory_pin(void *memory, size_t bytes)
{
	const struct ring_cuda_chip *chip;
	struct ring_cuda_visit visit;
	int err = enter_any(&chip, &visit);
	if (err)
		return err;
	int result = ring_held_take(memory) ? RING_CUDA_OK : RING_CUDA_OUT_OF_MEMORY;
	if (!result) {
		result = pin(chip, memory, bytes);
		if (result)
			ring_held_drop(memory);
	}
	ring_cuda_leave(chip, &visit);
	if (result == RING_CUDA_NOT_SUPPORTED)
		return cannot_pin(chip);
	if (!result)
		madvise(memory, bytes, MADV_DONTFORK);
	return ring_cuda_check(chip, result, "pinning memory");
}

void ring_cuda_memory_unpin(void *memory, size_t bytes)
{
	const struct ring_cuda_chip *chip;
	if (!ring_cuda_chip_any(&chip))
		free_later(&(struct freed){
			.chip = chip, .free = unpin, .memory = memory, .bytes = bytes});
}
