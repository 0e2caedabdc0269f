/* SPDX-License-Identifier: MIT */
/* What the environment asks for, and the dice that decide about delays. */
#include "fake.h"
#include "tests/cuda/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* RING_FAKE_CUDA_FAIL: the call of that function, counted from 1, that returns the result. */
struct fault {
	char before[64]; /* calls count that come right behind one of this in their thread; "": all */
	char function[64];
	unsigned call, result, calls;
};

struct fake_settings fake_settings;
static struct fault faults[8];
static int nfaults;
static unsigned failed; /* calls, by faults */

/* All calls since the last fake_fail(). */
static struct {
	const char *function; /* its name lies in one place only */
	unsigned calls;
} made[256];
static int nmade;

/* A test that sets what cannot be read would test nothing. */
static void refuse(const char *name, const char *value)
{
	fprintf(stderr, "fake CUDA driver: %s=%s is none of what tests/cuda/fake/fake.h says\n",
		name, value);
	abort();
}

static unsigned number(const char *name, unsigned least, unsigned most, unsigned otherwise)
{
	const char *value = getenv(name);
	if (!value)
		return otherwise;
	char *end;
	unsigned long is = strtoul(value, &end, 10);
	if (end == value || *end || is < least || is > most)
		refuse(name, value);
	return (unsigned)is;
}

static void read_faults(const char *value)
{
	const char *name = "RING_FAKE_CUDA_FAIL";
	nfaults = 0;
	for (const char *at = value ? value : ""; *at;) {
		struct fault *fault = &faults[nfaults];
		int length = 0, before = 0;
		if (nfaults == (int)(sizeof(faults) / sizeof(*faults)))
			refuse(name, value);
		*fault = (struct fault){.calls = 0};
		if (sscanf(at, "%63[^+:]+%n", fault->before, &before) != 1 || before == 0)
			fault->before[0] = '\0';
		at += before;
		if (sscanf(at, "%63[^:]:%u=%u%n", fault->function, &fault->call, &fault->result,
			   &length) != 3)
			refuse(name, value);
		nfaults++;
		at += length + (at[length] == ',');
	}
}

static void read_break(void)
{
	const char *name = "RING_FAKE_CUDA_BREAK", *value = getenv(name);
	unsigned job, with;
	if (!value)
		return;
	if (sscanf(value, "%u=%u", &job, &with) != 2)
		refuse(name, value);
	fake_settings.break_at = job;
	fake_settings.break_with = (int)with;
}

/* As the real one reads the list: numbers, until one makes no sense. */
static void choose_visible(void)
{
	const char *at = getenv("CUDA_VISIBLE_DEVICES");
	int all = fake_settings.devices, device, length;
	for (int i = 0; i < all; i++)
		fake_settings.visible[i] = i;
	if (!at)
		return;
	fake_settings.devices = 0;
	while (fake_settings.devices < all && sscanf(at, "%d%n", &device, &length) == 1 &&
	       device >= 0 && device < all) {
		fake_settings.visible[fake_settings.devices++] = device;
		at += length + (at[length] == ',');
	}
}

static void part_peers(void)
{
	const char *name = "RING_FAKE_CUDA_APART", *value = getenv(name);
	for (const char *at = value ? value : ""; *at;) {
		int a, b, length = 0;
		if (sscanf(at, "%d-%d%n", &a, &b, &length) != 2 || a < 0 || b < 0 ||
		    a >= FAKE_DEVICES || b >= FAKE_DEVICES)
			refuse(name, value);
		fake_settings.apart[a][b] = fake_settings.apart[b][a] = true;
		at += length + (at[length] == ',');
	}
}

static unsigned lies(int peers)
{
	static const unsigned lies[] = {
		[FAKE_PEERS_LIE] = FAKE_BOTH, [FAKE_READS_LIE] = FAKE_READS, [FAKE_WRITES_LIE] = FAKE_WRITES};
	return lies[peers];
}

static void choose_lied_to(void)
{
	const char *name = "RING_FAKE_CUDA_LIED_TO", *value = getenv(name);
	for (int i = 0; i < FAKE_DEVICES; i++)
		fake_settings.lied_to[i] = !value;
	for (const char *at = value ? value : ""; *at;) {
		int device, length = 0;
		if (sscanf(at, "%d%n", &device, &length) != 1 || device < 0 ||
		    device >= FAKE_DEVICES)
			refuse(name, value);
		fake_settings.lied_to[device] = true;
		at += length + (at[length] == ',');
	}
}

bool fake_peers(int device, int other)
{
	return fake_settings.peers != FAKE_NO_PEERS && !fake_settings.apart[device][other];
}

void fake_settings_read(void)
{
	const char *loading = getenv("CUDA_MODULE_LOADING");
	fake_settings = (struct fake_settings){
		.devices = (int)number("RING_FAKE_CUDA_DEVICES", 0, FAKE_DEVICES, 1),
		.queues = (int)number("CUDA_DEVICE_MAX_CONNECTIONS", 1, FAKE_CONNECTIONS, 8),
		.copy_queues = (int)number("CUDA_DEVICE_MAX_COPY_CONNECTIONS", 1, FAKE_CONNECTIONS,
					   8),
		.peers = (int)number("RING_FAKE_CUDA_PEERS", FAKE_NO_PEERS, FAKE_WRITES_LIE,
				     FAKE_PEERS),
		.words = number("RING_FAKE_CUDA_WORDS", 0, 1, 1),
		.version = (int)number("RING_FAKE_CUDA_VERSION", 1000, 99990, 13000),
		.maps = (int)number("RING_FAKE_CUDA_MAPS", FAKE_NO_MAPPINGS, FAKE_MAPS_FDS,
				    FAKE_MAPS_FDS),
		.handles = number("RING_FAKE_CUDA_HANDLES", 0, 1, 1),
		.links = number("RING_FAKE_CUDA_LINKS", 0, 1, 0),
		.rdma = number("RING_FAKE_CUDA_RDMA", 0, 1, 1),
		.left = number("RING_FAKE_CUDA_LEFT", 0, 1, 0),
		.pins = number("RING_FAKE_CUDA_PINS", 0, 1, 1),
		.ptx = number("RING_FAKE_CUDA_PTX", 0, ptx_library_bytes > 0, 0),
		.locks = (int)number("RING_FAKE_CUDA_LOCKS", 0, 2, 0),
		.blocking = number("CUDA_LAUNCH_BLOCKING", 0, 1, 0),
		.frees_wait = number("RING_FAKE_CUDA_FREES_WAIT", 0, 1, 1),
		.eager = loading && strcmp(loading, "EAGER") == 0,
		.memory_bytes = (size_t)number("RING_FAKE_CUDA_MEMORY_MB", 1, 8192, 4096) << 20,
		.limit_ms = number("RING_FAKE_CUDA_LIMIT_MS", 0, UINT32_MAX, 0),
		.seed = number("RING_FAKE_CUDA_SEED", 0, UINT32_MAX, 1),
		.delay_us = number("RING_FAKE_CUDA_DELAY_US", 0, 1000000, 200),
		.patience_ms = number("RING_FAKE_CUDA_PATIENCE_MS", 0, UINT32_MAX, 30000),
	};
	choose_visible();
	fake_settings.lies = lies(fake_settings.peers);
	choose_lied_to();
	part_peers();
	read_faults(getenv("RING_FAKE_CUDA_FAIL"));
	read_break();
}

static bool is_about(const struct fault *fault, const char *before, const char *function)
{
	return strcmp(fault->function, function) == 0 &&
	       (!fault->before[0] || strcmp(fault->before, before) == 0);
}

static void count(const char *function)
{
	int i = 0;
	while (i < nmade && made[i].function != function)
		i++;
	if (i == (int)(sizeof(made) / sizeof(*made)))
		return;
	made[i].function = function;
	made[i].calls++;
	nmade += i == nmade;
}

int fake_fault(const char *function)
{
	static _Thread_local const char *last = "";
	const char *before = last;
	last = function;
	count(function);
	for (int i = 0; i < nfaults; i++)
		if (is_about(&faults[i], before, function) && ++faults[i].calls == faults[i].call) {
			failed++;
			return (int)faults[i].result;
		}
	return 0;
}

unsigned fake_fail(const char *text)
{
	pthread_mutex_lock(&fake_lock);
	const unsigned before = failed;
	failed = 0;
	memset(made, 0, sizeof(made));
	nmade = 0;
	read_faults(text);
	pthread_mutex_unlock(&fake_lock);
	return before;
}

unsigned fake_made(const char *function)
{
	unsigned calls = 0;
	pthread_mutex_lock(&fake_lock);
	for (int i = 0; i < nmade; i++)
		if (strcmp(made[i].function, function) == 0)
			calls += made[i].calls;
	pthread_mutex_unlock(&fake_lock);
	return calls;
}

/* SplitMix64 */
uint64_t fake_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void fake_nap(uint64_t *random)
{
	uint64_t dice = fake_random(random);
	if (dice % 4 || !fake_settings.delay_us)
		return;
	long ns = (long)(dice / 4 % (fake_settings.delay_us * 1000ul));
	nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}
