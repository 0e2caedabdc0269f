/* SPDX-License-Identifier: MIT */
/*
 * Asks hwloc for NUMA nodes and cores, the kernel for the affinity mask, the control groups for
 * their quota. What cannot be read is left out with one warning: it costs speed, not correctness.
 */
#include "topology.h"

#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"
#include "base/fd.h"
#include "base/fork_lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "ringccl.h"

/* ---- NUMA nodes and cores -------------------------------------------------------------------- */

/*
 * Reads only what is needed: cores, the groups that separate NUMA nodes, and nodes and PUs, which
 * cannot be left out. hwloc's "x86" component is not used: it would move this thread to every CPU
 * in turn. CPUs that this control group may not use are read as well, so that ranks in different
 * containers number cores alike.
 *
 * On 2 CPUs this takes 1.8 ms, everything 2.2 ms; 1.4 ms of either go into opening plugins, where
 * they are installed. 64 processes that start at once on these 2 CPUs take 0.2 s. That is small
 * beside their start, so each process reads the machine itself.
 */
static hwloc_topology_t read_machine(const char *synthetic)
{
	hwloc_topology_t machine;
	if (hwloc_topology_init(&machine))
		return NULL;
	hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(machine, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(machine, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
	hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	hwloc_topology_set_components(machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	if ((synthetic && hwloc_topology_set_synthetic(machine, synthetic)) ||
	    hwloc_topology_load(machine)) {
		hwloc_topology_destroy(machine);
		return NULL;
	}
	return machine;
}

/* hwloc's own lock might be taken in a child. */
RING_FORK_LOCK(reading)

static hwloc_topology_t load_machine(const char *synthetic)
{
	reading_take();
	hwloc_topology_t machine = read_machine(synthetic);
	reading_give();
	return machine;
}

static void forget_machine(hwloc_topology_t machine)
{
	reading_take();
	hwloc_topology_destroy(machine);
	reading_give();
}

static pthread_once_t machine_loaded = PTHREAD_ONCE_INIT;
static hwloc_topology_t this_machine; /* read by the first call; NULL if that failed */

static void load_this_machine(void)
{
	this_machine = load_machine(NULL);
	if (!this_machine)
		ring_log(RING_WARN,
			 "hwloc cannot read this machine, so ranks follow their numbers: %m");
}

/* Number of the first object of a type whose CPUs match; -1 if none do. */
static int find_object(hwloc_topology_t machine, hwloc_obj_type_t type, hwloc_const_bitmap_t cpus,
		       int (*matches)(hwloc_const_bitmap_t, hwloc_const_bitmap_t))
{
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(machine, type, object))) {
		if (matches(cpus, object->cpuset))
			return (int)object->logical_index;
	}
	return -1;
}

static int place(hwloc_topology_t machine, const uint64_t *cpus, int *numa, int *core)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	if (!set)
		return RING_ENOMEM;
	for (unsigned cpu = 0; cpu < 64 * RING_CPU_WORDS; cpu++) {
		if (cpus[cpu / 64] >> cpu % 64 & 1)
			hwloc_bitmap_set(set, cpu);
	}
	*numa = -1;
	if (!hwloc_bitmap_iszero(set))
		*numa = find_object(machine, HWLOC_OBJ_NUMANODE, set, hwloc_bitmap_isincluded);
	*core = find_object(machine, HWLOC_OBJ_CORE, set, hwloc_bitmap_intersects);
	if (*core < 0) /* some virtual machines have none */
		*core = find_object(machine, HWLOC_OBJ_PU, set, hwloc_bitmap_intersects);
	hwloc_bitmap_free(set);
	return 0;
}

int ring_topology_place(const char *synthetic, const uint64_t *cpus, int *numa, int *core)
{
	if (!synthetic) {
		pthread_once(&machine_loaded, load_this_machine);
		return this_machine ? place(this_machine, cpus, numa, core) : RING_ESYSTEM;
	}
	hwloc_topology_t machine = load_machine(synthetic);
	if (!machine)
		return RING_ESYSTEM;
	int err = place(machine, cpus, numa, core);
	forget_machine(machine);
	return err;
}

/* ---- affinity -------------------------------------------------------------------------------- */

static int ask_this_thread(cpu_set_t sets[RING_CPU_SETS])
{
	memset(sets, 0, RING_CPU_SETS * sizeof(*sets));
	return sched_getaffinity(0, RING_CPU_SETS * sizeof(*sets), sets);
}

static void read_affinity(uint64_t cpus[RING_CPU_WORDS], int (*ask)(cpu_set_t sets[RING_CPU_SETS]))
{
	cpu_set_t sets[RING_CPU_SETS]; /* the kernel insists on room for all CPUs it can have */
	memset(cpus, 0, RING_CPU_WORDS * sizeof(*cpus));
	if (ask(sets) < 0) {
		ring_log(RING_WARN, "the affinity mask cannot be read: %m");
		return;
	}
	for (unsigned cpu = 0; cpu < 64 * RING_CPU_WORDS; cpu++) {
		if (CPU_ISSET_S(cpu, sizeof(sets), sets))
			cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	}
}

/* ---- quota ----------------------------------------------------------------------------------- */

/* Quotas are in whole CPUs; 0 is none. */
static int tighter(int a, int b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

int ring_topology_quota(long long quota, long long period)
{
	if (quota <= 0 || period <= 0)
		return 0;
	long long cpus = quota / period;
	return cpus < 1 ? 1 : cpus > INT_MAX ? INT_MAX : (int)cpus;
}

/* Reads up to two numbers; returns how many there are. */
static int read_numbers(const char *folder, const char *group, const char *name, long long *first,
			long long *second)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s%s/%s", folder, group, name);
	FILE *file = ring_fd_file(path);
	if (!file)
		return 0;
	int found = fscanf(file, "%lld %lld", first, second);
	fclose(file);
	return found;
}

/* cpu.max holds "quota period", or "max period". */
static int quota_v2(const char *group)
{
	long long quota, period;
	return read_numbers("", group, "cpu.max", &quota, &period) == 2
		       ? ring_topology_quota(quota, period)
		       : 0;
}

static int quota_v1(const char *group)
{
	long long quota, period, none;
	if (read_numbers("cpu", group, "cpu.cfs_quota_us", &quota, &none) != 1 ||
	    read_numbers("cpu", group, "cpu.cfs_period_us", &period, &none) != 1)
		return 0;
	return ring_topology_quota(quota, period);
}

/* A group is also bound by those above it; a container sees its own as "/". Shortens group. */
static int quota_upwards(char *group, int (*quota_of)(const char *group))
{
	int quota = quota_of(group);
	for (char *slash; (slash = strrchr(group, '/'));) {
		*slash = '\0';
		quota = tighter(quota, quota_of(group));
	}
	return quota;
}

static bool lists_cpu(const char *controllers)
{
	char list[256];
	snprintf(list, sizeof(list), ",%s,", controllers);
	return strstr(list, ",cpu,");
}

/* Lines are "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1). */
static int read_quota(void)
{
	FILE *file = ring_fd_file("/proc/self/cgroup");
	if (!file)
		return 0;
	int quota = 0;
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, file) > 0) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*controllers++ = *group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (controllers[0] == '\0')
			quota = tighter(quota, quota_upwards(group, quota_v2));
		else if (lists_cpu(controllers))
			quota = tighter(quota, quota_upwards(group, quota_v1));
	}
	free(line);
	fclose(file);
	return quota;
}

void ring_topology_describe(struct ring_peer *self)
{
	uint64_t here[RING_CPU_WORDS];
	read_affinity(self->cpus, ring_thread_cpus);
	self->cpu_quota = read_quota();
	self->numa = -1;
	self->core = -1;
	read_affinity(here, ask_this_thread); /* a thread that is bound says where the rank is */
	ring_topology_place(NULL, here, &self->numa, &self->core);
}
