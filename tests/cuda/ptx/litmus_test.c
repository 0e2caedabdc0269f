/* SPDX-License-Identifier: MIT */
/*
 * The memory model: small programs of two or three blocks, each of one thread or two, what PTX lets
 * them see, and what it does not. In many runs what is allowed and marked as such must be seen at
 * least once, as a kernel that relies on more would not be found out, and what is forbidden never.
 * The names of the first are those of the literature (Lustig, Sahasrabuddhe, Giroux: A Formal
 * Analysis of the NVIDIA PTX Memory Consistency Model, 2019).
 *
 *	litmus_test [--seed N] [--long]
 */
#include <stdio.h>
#include <string.h>

#include "ptx.h"
#include "tests/harness.h"

#define BLOCKS 3
#define THREADS 2
#define REGISTERS 4

/* Words on lines of their own; and what each thread's r0 to r3 were at its end. */
static _Alignas(128) struct {
	_Alignas(128) uint32_t x[4];
	_Alignas(128) uint32_t y[4];
	_Alignas(128) uint32_t z[4];
	_Alignas(128) uint32_t end[BLOCKS][THREADS][REGISTERS];
} memory;

struct condition {
	int block, thread, number; /* of a register; behind all blocks it is x that is meant */
	uint32_t is;
};

/* Of the second thread of a block, where it has one, %p1 holds. */
static const struct litmus {
	const char *name;
	const char *programs[BLOCKS];
	struct condition conditions[3]; /* all of them; one that is of no program ends them */
	bool seen;
} litmus[] = {
#define NO_MORE                                                                                    \
	{                                                                                          \
		.block = -1                                                                        \
	}
#define WRITE(word) "st.relaxed.sys.global.u32 [" word "], 1;"
#define RELEASE(word) "st.release.sys.global.u32 [" word "], 1;"
#define READ(number, word) "ld.relaxed.sys.global.u32 %r" number ", [" word "];"
#define ACQUIRE(number, word) "ld.acquire.sys.global.u32 %r" number ", [" word "];"
#define SEE(number, word) "ld.global.u32 %r" number ", [" word "];"
#define UNTIL_SET(number) "setp.eq.s32 %p3, %r" number ", 0; @%p3 bra $again" number ";"
#define AWAIT(number, word) "$again" number ": " READ(number, word) UNTIL_SET(number)
#define ACQUIRE_SET(number, word) "$again" number ": " ACQUIRE(number, word) UNTIL_SET(number)
#define PUT(word) "st.global.u32 [" word "], 1;"
	{"message, relaxed",
	 {PUT("%x") WRITE("%y"), AWAIT("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"message, release only: a load that was made before is used",
	 {PUT("%x") RELEASE("%y"), SEE("2", "%x") AWAIT("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"message, acquire only",
	 {PUT("%x") WRITE("%y"), ACQUIRE_SET("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"message, release and acquire",
	 {PUT("%x") RELEASE("%y"), SEE("2", "%x") ACQUIRE_SET("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 false},
	{"message, fences",
	 {PUT("%x") "fence.acq_rel.sys;" WRITE("%y"),
	  SEE("2", "%x") AWAIT("0", "%y") "fence.acq_rel.sys;" SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 false},
	{"message, scopes of a block",
	 {PUT("%x") "st.release.cta.global.u32 [%y], 1;",
	  "$again0: ld.acquire.cta.global.u32 %r0, [%y];" UNTIL_SET("0") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"message, membar of a block",
	 {PUT("%x") "membar.cta;" WRITE("%y"), ACQUIRE_SET("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"message, by loads that no acquire renews",
	 {PUT("%x") RELEASE("%y"),
	  "ld.global.nc.u32 %r2, [%x];" ACQUIRE_SET("0", "%y") "ld.global.nc.u32 %r1, [%x];"},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"message, atomics",
	 {PUT("%x") "red.release.sys.global.add.u32 [%y], 1;",
	  SEE("2", "%x") "$again0: atom.acquire.sys.global.or.b32 %r0, [%y], 0;" UNTIL_SET("0")
		  SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 false},
	{"store buffering, release and acquire",
	 {RELEASE("%x") ACQUIRE("0", "%y"), RELEASE("%y") ACQUIRE("0", "%x")},
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, NO_MORE},
	 true},
	{"store buffering, fences",
	 {WRITE("%x") "fence.sc.sys;" READ("0", "%y"), WRITE("%y") "fence.sc.sys;" READ("0", "%x")},
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, NO_MORE},
	 false},
	{"a third block, relaxed",
	 {PUT("%x") RELEASE("%y"), ACQUIRE_SET("0", "%y") RELEASE("%z"),
	  SEE("2", "%x") AWAIT("1", "%z") SEE("3", "%x")},
	 {{1, 0, 0, 1}, {2, 0, 1, 1}, {2, 0, 3, 0}},
	 true},
	{"a third block, which never saw the first",
	 {PUT("%x") RELEASE("%y"), ACQUIRE_SET("0", "%y") RELEASE("%z"),
	  SEE("2", "%x") ACQUIRE_SET("1", "%z") SEE("3", "%x")},
	 {{1, 0, 0, 1}, {2, 0, 1, 1}, {2, 0, 3, 0}},
	 false},
	{"one word, in the order that it was written",
	 {WRITE("%x") "st.relaxed.sys.global.u32 [%x], 2;"},
	 {{BLOCKS, 0, 0, 1}, NO_MORE},
	 false},
	{"one's own store",
	 {SEE("2", "%x") PUT("%x") SEE("0", "%x"), "st.relaxed.sys.global.u32 [%x+4], 5;"},
	 {{0, 0, 0, 0}, NO_MORE},
	 false},
	{"a vector, of which half is seen",
	 {"st.volatile.global.v2.u32 [%x], {1, 1};",
	  "$again2: ld.volatile.global.v2.u32 {%r0, %r1}, [%x]; or.b32 %r2, %r0, %r1;" UNTIL_SET("2")},
	 {{1, 0, 0, 0}, {1, 0, 1, 1}, NO_MORE},
	 true},
	{"two words in one",
	 {"st.relaxed.sys.global.u64 [%x], 0x100000001;",
	  "$again2: ld.relaxed.sys.global.u64 %w, [%x]; mov.b64 {%r0, %r1}, %w; or.b32 %r2, %r0, "
	  "%r1;" UNTIL_SET("2")},
	 {{1, 0, 0, 0}, {1, 0, 1, 1}, NO_MORE},
	 false},
	{"a block's threads, without a barrier",
	 {"@%p1 " PUT("%x") "@!%p1 " SEE("0", "%x")},
	 {{0, 0, 0, 0}, NO_MORE},
	 true},
	{"a block's threads, with a barrier",
	 {"@!%p1 " SEE("2", "%x") "@%p1 " PUT("%x") "bar.sync 0; @!%p1 " SEE("0", "%x")},
	 {{0, 0, 0, 0}, NO_MORE},
	 false},
	{"a barrier before a release of another thread",
	 {"@%p1 " PUT("%x") "bar.sync 0; @!%p1 " RELEASE("%y"),
	  SEE("2", "%x") ACQUIRE_SET("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 false},
	{"no barrier before a release of another thread",
	 {"@%p1 " PUT("%x") "@!%p1 " RELEASE("%y"), ACQUIRE_SET("0", "%y") SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 0, 1, 0}, NO_MORE},
	 true},
	{"a barrier behind an acquire of another thread",
	 {PUT("%x") RELEASE("%y"), "@%p1 " SEE("2", "%x") "@%p1 bra $met;" ACQUIRE_SET(
					   "0", "%y") "$met: bar.sync 0; @%p1 " SEE("1", "%x")},
	 {{1, 0, 0, 1}, {1, 1, 1, 0}, NO_MORE},
	 false},
	{"a release of a block, to its other thread",
	 {"@%p1 bra $put; " SEE("2",
				"%x") "$again0: ld.acquire.cta.global.u32 %r0, [%y];" UNTIL_SET("0")
		  SEE("1",
		      "%x") "bra $behind0; $put: " PUT("%x") "st.release.cta.global.u32 [%y], 1;"},
	 {{0, 0, 0, 1}, {0, 0, 1, 0}, NO_MORE},
	 false},
	{"a fence of a whole warp",
	 {"@!%p1 " SEE("2", "%x") "@%p1 " PUT("%x") "bar.warp.sync -1; @!%p1 " SEE("0", "%x")},
	 {{0, 0, 0, 0}, NO_MORE},
	 false},
	{"exchanges of one word",
	 {"atom.relaxed.sys.global.exch.b32 %r0, [%x], 1;",
	  "atom.relaxed.sys.global.exch.b32 %r0, [%x], 1;"},
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, NO_MORE},
	 false},
};

static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	(void)context;
	*range = (struct ptx_range){(uintptr_t)&memory, sizeof(memory), (char *)&memory, NULL, NULL};
	return address - range->address < range->bytes;
}

static size_t write_text(const struct litmus *it, char *text, size_t room)
{
	int n = snprintf(
		text, room,
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .entry litmus(.param .u64 all)\n{\n.reg .pred %%p<4>;\n"
		".reg .b32 %%r<9>;\n.reg .b64 %%x, %%y, %%z, %%w, %%end;\n"
		"ld.param.u64 %%x, [all];\nadd.s64 %%y, %%x, 128;\nadd.s64 %%z, %%x, 256;\n"
		"mov.u32 %%r7, %%tid.x;\nsetp.eq.s32 %%p1, %%r7, 1;\nmov.u32 %%r8, %%ctaid.x;\n"
		"mov.u32 %%r0, 9;\nmov.u32 %%r1, 9;\nmov.u32 %%r2, 9;\nmov.u32 %%r3, 9;\n");
	for (int block = 0; block < BLOCKS; block++)
		n += snprintf(text + n, room - (size_t)n,
			      "setp.ne.s32 %%p2, %%r8, %d;\n@%%p2 bra $behind%d;\n%s\n$behind%d:\n",
			      block, block, it->programs[block] ? it->programs[block] : "", block);
	n += snprintf(text + n, room - (size_t)n,
		      "mad.lo.s32 %%r7, %%r8, 2, %%r7;\nmad.wide.u32 %%end, %%r7, 16, %%x;\n"
		      "st.global.v4.u32 [%%end+384], {%%r0, %%r1, %%r2, %%r3};\nret;\n}\n");
	return (size_t)n;
}

static bool has_two_threads(const struct litmus *it)
{
	for (int block = 0; block < BLOCKS; block++)
		if (it->programs[block] && strstr(it->programs[block], "%p1"))
			return true;
	return false;
}

static bool holds(const struct litmus *it)
{
	for (int k = 0; k < 3 && it->conditions[k].block >= 0; k++) {
		const struct condition *c = &it->conditions[k];
		const uint32_t is = c->block == BLOCKS ? memory.x[c->number]
						       : memory.end[c->block][c->thread][c->number];
		if (is != c->is)
			return false;
	}
	return true;
}

/* returns in how many runs the conditions hold; -1: something went wrong */
static int count(const struct litmus *it, uint64_t seed, int runs)
{
	char text[4096];
	const void *all = &memory;
	struct ptx_error error = {""};
	const struct ptx_host host = {.find = find};
	struct ptx_launch launch = {.blocks = BLOCKS,
				    .threads = has_two_threads(it) ? 2 : 1,
				    .parameters = &all,
				    .host = &host};
	struct ptx_module *module = ptx_module_open(text, write_text(it, text, sizeof(text)));
	int err = ptx_module_function(module, "litmus", &launch.function, &error), held = 0;
	for (int k = 0; k < runs && !err; k++) {
		memset(&memory, 0, sizeof(memory));
		launch.seed = harness_random(&seed);
		err = ptx_run(&launch, &error);
		held += holds(it);
	}
	if (err)
		printf("# %s\n", error.text);
	ptx_module_close(module);
	return err ? -1 : held;
}

int main(int argc, char **argv)
{
	const uint64_t seed = harness_seed(argc, argv);
	const int runs = harness_is_long(argc, argv) ? 50000 : harness_is_quick() ? 500 : 1000;
	bool good = true;
	for (size_t k = 0; k < sizeof(litmus) / sizeof(*litmus); k++) {
		const int held = count(&litmus[k], seed, runs);
		const bool right = litmus[k].seen ? held > 0 : held == 0;
		printf("%s%s: in %d of %d runs%s\n", right ? "" : "# wrong: ", litmus[k].name, held,
		       runs, litmus[k].seen ? "" : ", of which it must be in none");
		good &= right;
	}
	printf("--seed %ju\n", (uintmax_t)seed);
	return !good;
}
