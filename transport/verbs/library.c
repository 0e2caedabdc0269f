/* SPDX-License-Identifier: MIT */
/* Opens libibverbs and looks its names up. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/fork_lock.h"
#include "transport/transport.h"

static const char file[] = "libibverbs.so.1";

RING_FORK_LOCK(lock)

static bool find_names(void *handle, struct ring_verbs_library *library, char *why)
{
#define FIND(name) {"ibv_" #name, (void **)&library->name},
	const struct {
		const char *name;
		void **address;
	} rows[] = {RING_VERBS_NAMES(FIND)};
#undef FIND
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*rows[i].address = dlsym(handle, rows[i].name);
		if (!*rows[i].address) {
			snprintf(why, RING_ABSENT_TEXT, "%s has no %s; is it very old?", file,
				 rows[i].name);
			return false;
		}
	}
	return true;
}

/*
 * Registered memory is copied for a child at fork() since Linux 5.12. Before that the library keeps
 * it from the child, which then has none there, if it is told so before anything is registered; it
 * does so on any system. Only libraries since 2021 say whether it must.
 */
static void prepare_for_fork(void *handle, const struct ring_verbs_library *library)
{
	enum { UNNEEDED = 2 }; /* IBV_FORK_UNNEEDED; headers may be older */
	unsigned (*status)(void);
	*(void **)&status = dlsym(handle, "ibv_is_fork_initialized");
	if (!status || status() != UNNEEDED)
		library->fork_init();
}

static const struct ring_verbs_library *open_library(char *why)
{
	static struct ring_verbs_library library;
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(why, RING_ABSENT_TEXT,
			 "%s is not installed (package libibverbs1 or libibverbs)", file);
		return NULL;
	}
	if (!find_names(handle, &library, why)) {
		dlclose(handle);
		return NULL;
	}
	prepare_for_fork(handle, &library);
	return &library;
}

const struct ring_verbs_library *ring_verbs_library(char *why)
{
	static const struct ring_verbs_library *library;
	pthread_mutex_lock(&lock);
	if (!library)
		library = open_library(why);
	const struct ring_verbs_library *found = library;
	pthread_mutex_unlock(&lock);
	return found;
}
