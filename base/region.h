/* SPDX-License-Identifier: MIT */
/*
 * The memory that this process's communicators know: what ring_mem_alloc() made, what
 * ring_mem_register() was told of, and what ranks of a host share. One object says whose it is,
 * where it lies, and by what others reach it: ranks of this host by its descriptor or handle, a
 * device that moves data by an access that it makes when it first needs one. Any thread.
 *
 * It is made once (add), found by any place in it (find, access), and forgotten in one place.
 */
#ifndef RING_REGION_H
#define RING_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_device;

/* What names memory of a device to other processes of its host: written and read by its row. */
struct ring_lent {
	unsigned char handle[64]; /* of a whole allocation, or what goes with its descriptor ... */
	uint64_t offset;          /* ... and how far into it the memory begins */
};

/* How a chip's jobs come to reach memory that another rank has lent. */
struct ring_opener {
	int chip;
	/*
	 * Of another process; fd: the descriptor that came with it, or -1. *memory: the allocation,
	 * of *bytes as the driver says, whatever its owner does. returns 0; RING_EPEER: the
	 * descriptor is of no such memory; RING_ENOTSUP: they cannot reach it; RING_ENOMEM,
	 * _ESYSTEM
	 */
	int (*open)(int chip, const struct ring_lent *lent, int fd, void **memory, size_t *bytes);
	/* As it was opened; at once, or when nothing on the chip waits any more. */
	void (*close)(int chip, void *memory);
	/* Whether all is closed that was to be; NULL: whoever lent it need not know. */
	bool (*has_closed)(int chip);
	/* Of this process, perhaps of another chip. returns as open() */
	int (*reach)(int chip, const void *memory);
};

/* What `owner`, such as a port of an RDMA device, has made of a region; its own struct goes on. */
struct ring_access {
	const void *owner;
	void (*drop)(struct ring_access *access); /* undoes and frees it */
	struct ring_access *next;
};

struct ring_region {
	void *start;
	size_t bytes;
	uint64_t number;                  /* from 1; a process never uses one again */
	const struct ring_device *device; /* whose memory it is, on `chip`; NULL: the host's */
	int chip;
	bool allocated; /* by the library; else it is the program's, and was registered */
	int fd;         /* sealed memory of that size, which ranks of this host map; -1: private */
	bool lends;     /* a device's: ranks of this host open it by ... */
	struct ring_lent lent; /* ... this, and by `fd`, if there is one */
	/* Frees its memory, once the last holder lets go; NULL: nothing to free. */
	void (*free)(struct ring_region *region);

	/* The registry's. */
	bool known; /* it has not been forgotten */
	int holders;
	struct ring_access *accesses;

	struct ring_region *next; /* in a list of whoever added it */
};

/*
 * Makes the region that `made` describes known; whoever adds it holds it. Regions may overlap.
 * returns NULL: no memory
 */
struct ring_region *ring_region_add(const struct ring_region *made);

/* From now on nobody finds it, and nobody has an access to it. Its holders may still use it. */
void ring_region_forget(struct ring_region *region);

/* Forgets it, unless others than its owner and one more hold it. returns whether it did */
bool ring_region_withdraw(struct ring_region *region);

/* returns whether it has not been forgotten */
bool ring_region_is_known(const struct ring_region *region);

/* returns false: it is forgotten, and not held */
bool ring_region_hold(struct ring_region *region);

/* The region of that number, held; NULL: there is none. */
struct ring_region *ring_region_hold_number(uint64_t number);

/* The last one frees it. NULL is allowed. */
void ring_region_release(struct ring_region *region);

/*
 * A region in which all `bytes` bytes at `start` lie, valid until it is forgotten; of several, one
 * that ranks of this host map, else one that the library allocated. NULL: there is none. The last
 * few that a thread has found cost it a few loads.
 */
struct ring_region *ring_region_find(const void *start, size_t bytes);

/*
 * The access of `owner` to host memory in which they lie, as make() made it; NULL: it is in no
 * region, or no memory. Valid until the region is forgotten or the owner gone. make() returns NULL
 * if there is no memory; an owner that cannot reach the region says so in its own struct.
 */
const struct ring_access *ring_region_access(const void *start, size_t bytes, void *owner,
					     struct ring_access *(*make)(void *owner,
									 const struct ring_region *));

/* Before an owner goes: drops all its accesses. */
void ring_region_drop_accesses(const void *owner);

/* Changes whenever regions or accesses come or go; 0: there never were any. Cheap. */
uint64_t ring_region_epoch(void);

#endif
