/* SPDX-License-Identifier: MIT */
/* Twins of buffers, on whichever device twin.h is served by; see tests/place.h. */
#include "tests/place.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "twin.h"

struct twin {
	uintptr_t host;
	size_t bytes;
	char *far;
	struct twin *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct twin *twins;
static _Thread_local bool near; /* their turn is over */

static __attribute__((noreturn)) void die(const char *what, const void *host)
{
	fprintf(stderr, "%s: %p\n", what, host);
	abort();
}

void place_make(void *host, size_t bytes)
{
	struct twin *twin = malloc(sizeof(*twin));
	void *far = twin_make(bytes);
	if (!twin || !far)
		die("no twin", host);
	pthread_mutex_lock(&lock);
	*twin = (struct twin){(uintptr_t)host, bytes, far, twins};
	twins = twin;
	pthread_mutex_unlock(&lock);
}

void place_drop(const void *host)
{
	pthread_mutex_lock(&lock);
	struct twin **link = &twins;
	while (*link && (*link)->host != (uintptr_t)host)
		link = &(*link)->next;
	struct twin *twin = *link;
	if (!twin)
		die("it has no twin", host);
	*link = twin->next;
	pthread_mutex_unlock(&lock);
	twin_end(twin->far);
	free(twin);
}

/* A quarter of the numbers have the device's memory everywhere, an eighth the host's. */
void place_mix(int rank, int number)
{
	const unsigned kind = (unsigned)number / 3 % 8;
	const unsigned turn = (unsigned)rank + (unsigned)number / 24;
	near = getenv("RING_TEST_MIXED") && kind > 1 && (kind == 2 || turn % kind < 2);
}

/* NULL if it has none. The end of a twin belongs to it, as a buffer of nothing may lie there. */
static char *find(const void *host, size_t bytes)
{
	uintptr_t at = (uintptr_t)host;
	pthread_mutex_lock(&lock);
	char *far = NULL;
	for (const struct twin *twin = twins; twin; twin = twin->next) {
		uintptr_t end = twin->host + twin->bytes;
		bool ends = at == end; /* unless another begins there */
		if (at >= twin->host && at + bytes <= end && (!ends || !far))
			far = twin->far + (at - twin->host);
	}
	pthread_mutex_unlock(&lock);
	return far;
}

void *place_of(const void *host)
{
	char *far = near ? NULL : find(host, 0);
	return far ? far : (void *)host;
}

void place_put(const void *host, size_t bytes)
{
	char *far = find(host, bytes);
	if (!far && bytes > 0)
		die("put where no twin is", host);
	if (bytes > 0 && !near)
		twin_write(far, host, bytes);
}

void place_get(void *host, size_t bytes)
{
	char *far = find(host, bytes);
	if (!far && bytes > 0)
		die("got where no twin is", host);
	if (bytes > 0 && !near)
		twin_read(host, far, bytes);
}

bool place_is_far(void)
{
	return true;
}
