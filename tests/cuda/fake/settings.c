/* SPDX-License-Identifier: MIT */
/* What the environment asks for, and the dice that decide about delays. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* RING_FAKE_CUDA_FAIL: the call of that function, counted from 1, that returns the result. */
struct fault {
	char function[64];
	unsigned call, result, calls;
};

struct fake_settings fake_settings;
static struct fault faults[8];
static int nfaults;

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

static void read_faults(void)
{
	const char *name = "RING_FAKE_CUDA_FAIL", *value = getenv(name);
	nfaults = 0;
	for (const char *at = value ? value : ""; *at;) {
		struct fault *fault = &faults[nfaults];
		int length = 0;
		if (nfaults == (int)(sizeof(faults) / sizeof(*faults)) ||
		    sscanf(at, "%63[^:]:%u=%u%n", fault->function, &fault->call, &fault->result,
			   &length) != 3)
			refuse(name, value);
		fault->calls = 0;
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

void fake_settings_read(void)
{
	const char *loading = getenv("CUDA_MODULE_LOADING");
	fake_settings = (struct fake_settings){
		.devices = (int)number("RING_FAKE_CUDA_DEVICES", 0, FAKE_DEVICES, 1),
		.queues = (int)number("CUDA_DEVICE_MAX_CONNECTIONS", 1, FAKE_CONNECTIONS, 8),
		.peers = number("RING_FAKE_CUDA_PEERS", 0, 1, 1),
		.words = number("RING_FAKE_CUDA_WORDS", 0, 1, 1),
		.version = (int)number("RING_FAKE_CUDA_VERSION", 1000, 99990, 12020),
		.pins = number("RING_FAKE_CUDA_PINS", 0, 1, 1),
		.eager = loading && strcmp(loading, "EAGER") == 0,
		.memory_bytes = (size_t)number("RING_FAKE_CUDA_MEMORY_MB", 1, 8192, 4096) << 20,
		.seed = number("RING_FAKE_CUDA_SEED", 0, UINT32_MAX, 1),
		.delay_us = number("RING_FAKE_CUDA_DELAY_US", 0, 1000000, 200),
		.patience_ms = number("RING_FAKE_CUDA_PATIENCE_MS", 0, UINT32_MAX, 30000),
	};
	choose_visible();
	read_faults();
	read_break();
}

int fake_fault(const char *function)
{
	for (int i = 0; i < nfaults; i++)
		if (strcmp(faults[i].function, function) == 0 && ++faults[i].calls == faults[i].call)
			return (int)faults[i].result;
	return 0;
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
