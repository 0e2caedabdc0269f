/* SPDX-License-Identifier: MIT */
/*
 * Two blocks hand messages on through a slot (hop.cu): what they take is right in every run, and
 * wrong, or stuck, in every one as soon as a single acquire, release, fence or barrier is missing.
 *
 *	hop_test [--seed N] [--long]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "tests/harness.h"
#include "weaken.h"

#define MESSAGES 50
#define WORDS 64 /* of 16 bytes, of a message */
#define THREADS 64
#define PATIENCE 3000 /* looks, each after a thousand turns */

/* As hop.cu has it. */
struct hop {
	const void *from;
	void *slot, *to;
	uint64_t *sent, *taken;
	uint64_t messages;
	uint32_t words;
};

static _Alignas(64) struct memory {
	unsigned char from[MESSAGES * WORDS * 16], slot[WORDS * 16], to[MESSAGES * WORDS * 16];
	_Alignas(64) uint64_t sent;
	_Alignas(64) uint64_t taken;
} memory;

static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	(void)context;
	*range = (struct ptx_range){(uintptr_t)&memory, sizeof(memory), (char *)&memory, NULL, NULL};
	return address - range->address < range->bytes;
}

static bool is_over(void *context)
{
	return ++*(unsigned *)context > PATIENCE;
}

/* returns whether it went wrong */
static bool run(const struct ptx_function *function, uint64_t seed)
{
	unsigned looks = 0;
	struct ptx_error error;
	const struct hop hop = {memory.from,   memory.slot, memory.to, &memory.sent,
				&memory.taken, MESSAGES,    WORDS};
	const struct ptx_host host = {.find = find, .is_over = is_over, .context = &looks};
	const struct ptx_launch launch = {.function = function,
					  .blocks = 2,
					  .threads = THREADS,
					  .parameters = &hop,
					  .seed = seed,
					  .host = &host};
	memset(&memory, 0, sizeof(memory));
	for (size_t i = 0; i < sizeof(memory.from); i++)
		memory.from[i] = (unsigned char)harness_random(&seed);
	return ptx_run(&launch, &error) || memcmp(memory.from, memory.to, sizeof(memory.to)) != 0;
}

static const char *const lacks[][2] = {
	{"hop", "the taker's acquire"},
	{"hop", "the sender's release"},
	{"hop", "the barrier before the slot is written"},
	{"hop", "the barrier before it is sent"},
	{"hop", "the barrier before the slot is read"},
	{"hop", "the barrier before it is free"},
	{"fenced", "the fence behind a look"},
	{"fenced", "the fence before a word"},
	{"fenced", "the barrier behind a look"},
	{"fenced", "the barrier before a word"},
};

/* The compiler may have made several of one. */
static bool lacks_one(const struct runs *runs, const char *function, const char *what)
{
	return runs_are_wrong(runs, function, what, 0,
			      ptx_weaken_count(runs->text, runs->bytes, function, what));
}

int main(int argc, char **argv)
{
	const int count = harness_is_long(argc, argv) ? 400 : harness_is_quick() ? 20 : 40;
	struct runs runs = {.run = run, .seed = harness_seed(argc, argv)};
	if (!runs_read(&runs, "tests/cuda/ptx/hop.ptx"))
		return 77;
	bool good = runs_are_right(&runs, "hop", count);
	good &= runs_are_right(&runs, "fenced", count);
	for (size_t k = 0; k < sizeof(lacks) / sizeof(*lacks); k++)
		good &= lacks_one(&runs, lacks[k][0], lacks[k][1]);
	free(runs.text);
	printf("--seed %ju\n", (uintmax_t)runs.seed);
	return !good;
}
