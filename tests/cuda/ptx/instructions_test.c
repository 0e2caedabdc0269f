/* SPDX-License-Identifier: MIT */
/*
 * What each instruction does, also those that the compiler makes of the kernels seldom: a row has
 * statements, and what they leave in a register of the sixth of 32 threads. And what is refused:
 * whatever the interpreter does not know, by its line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

#define THREADS 32
#define LANE 5

/* The register with the result: h0 of 16 bits, r0 of 32, d0 of 64, or the predicate p0. */
static const struct row {
	char result;
	const char *statements;
	uint64_t expected;
} rows[] = {
	/* integers */
	{'r', "add.s32 %r0, 0x7fffffff, 2;", 0x80000001},
	{'h', "add.s16 %h0, 0xffff, 2;", 1},
	{'d', "sub.s64 %d0, 1, 2;", UINT64_MAX},
	{'r', "mul.lo.s32 %r0, -3, 5;", 0xfffffff1},
	{'r', "mul.hi.u32 %r0, 0xffffffff, 0xffffffff;", 0xfffffffe},
	{'r', "mul.hi.s32 %r0, -1, 0x7fffffff;", 0xffffffff},
	{'d', "mul.hi.u64 %d0, 0xffffffffffffffff, 3;", 2},
	{'d', "mul.hi.s64 %d0, -2, 3;", UINT64_MAX},
	{'d', "mul.wide.u32 %d0, 0xffffffff, 0xffffffff;", 0xfffffffe00000001},
	{'d', "mul.wide.s32 %d0, -2, 3;", (uint64_t)-6},
	{'r', "mul.wide.u16 %r0, 0xffff, 0xffff;", 0xfffe0001},
	{'r', "mul.wide.s16 %r0, 0xffff, 3;", 0xfffffffd},
	{'r', "mad.lo.s32 %r0, 3, 5, 7;", 22},
	{'d', "mad.wide.u32 %d0, 0x80000000, 4, 1;", 0x200000001},
	{'d', "mad.lo.s64 %d0, -1, 5, 7;", 2},
	{'r', "div.s32 %r0, -7, 2;", (uint32_t)-3},
	{'r', "div.u32 %r0, 0xfffffff9, 2;", 0x7ffffffc},
	{'r', "div.u32 %r0, 7, 0;", 0xffffffff},
	{'r', "div.s32 %r0, 0x80000000, -1;", 0x80000000},
	{'d', "rem.u64 %d0, 100, 7;", 2},
	{'r', "rem.s32 %r0, -7, 4;", (uint32_t)-3},
	{'r', "min.s32 %r0, -1, 1;", 0xffffffff},
	{'r', "min.u32 %r0, 0xffffffff, 1;", 1},
	{'d', "max.s64 %d0, -1, 1;", 1},
	{'h', "max.u16 %h0, 0x8000, 1;", 0x8000},
	{'r', "abs.s32 %r0, -5;", 5},
	{'d', "neg.s64 %d0, 5;", (uint64_t)-5},
	{'r', "and.b32 %r0, 12, 10;", 8},
	{'h', "or.b16 %h0, 12, 10;", 14},
	{'d', "xor.b64 %d0, 12, 10;", 6},
	{'r', "not.b32 %r0, 1;", 0xfffffffe},
	/* shifts and fields */
	{'r', "shl.b32 %r0, 1, 31;", 0x80000000},
	{'r', "shl.b32 %r0, 1, 32;", 0},
	{'r', "shr.u32 %r0, 0x80000000, 31;", 1},
	{'r', "shr.s32 %r0, 0x80000000, 40;", 0xffffffff},
	{'h', "shr.s16 %h0, 0x8000, 3;", 0xf000},
	{'d', "shr.u64 %d0, 0x8000000000000000, 63;", 1},
	{'r', "shf.l.wrap.b32 %r0, 0x89abcdef, 0x01234567, 8;", 0x23456789},
	{'r', "shf.r.wrap.b32 %r0, 0x89abcdef, 0x01234567, 40;", 0x6789abcd},
	{'r', "shf.r.clamp.b32 %r0, 0x89abcdef, 0x01234567, 40;", 0x01234567},
	{'r', "bfi.b32 %r0, 0xff, 0, 4, 6;", 0x3f0},
	{'d', "bfi.b64 %d0, 0xabcd, 0x1111111111111111, 48, 16;", 0xabcd111111111111},
	{'r', "bfe.u32 %r0, 0x12345678, 8, 8;", 0x56},
	{'r', "bfe.s32 %r0, 0x12348678, 8, 8;", 0xffffff86},
	{'r', "bfe.s32 %r0, 0x80000000, 28, 8;", 0xfffffff8},
	{'r', "clz.b32 %r0, 1;", 31},
	{'r', "clz.b64 %r0, 0;", 64},
	{'r', "popc.b64 %r0, 0xff00ff00ff00ff00;", 32},
	{'r', "brev.b32 %r0, 0x80000001;", 0x80000001},
	{'r', "prmt.b32 %r0, 0x33221100, 0x77665544, 0x7410;", 0x77441100},
	{'r', "prmt.b32 %r0, 0x80, 0, 0x8888;", 0xffffffff},
	{'r', "lop3.b32 %r0, 0xf0, 0xcc, 0xaa, 0x96;", 0xf0 ^ 0xcc ^ 0xaa},
	{'d', "mov.b64 %d0, {%r4, %r5};", 0x500000004},
	{'r', "mov.b32 {%h1, %h0}, 0x12345678; cvt.u32.u16 %r0, %h0;", 0x1234},
	{'r', "mov.b32 {_, %h0}, 0x12345678; cvt.u32.u16 %r0, %h0;", 0x1234},
	{'d', "mov.b64 %d0, {%h4, %h5, %h6, %h7};", 0x7000600050004},
	/* floats */
	{'r', "add.rn.f32 %r0, 0f3f800000, 0f33800000;", 0x3f800000},
	{'r', "add.f32 %r0, 0f7f800000, 0fff800000;", 0x7fffffff},
	{'d', "mul.rn.f64 %d0, 0d3ff8000000000000, 0d4000000000000000;", 0x4008000000000000},
	{'r', "fma.rn.f32 %r0, 0f3f800001, 0f3f800001, 0fbf800002;", 0x28800000},
	{'r', "div.rn.f32 %r0, 0f3f800000, 0f40400000;", 0x3eaaaaab},
	{'r', "rcp.rn.f32 %r0, 0f40400000;", 0x3eaaaaab},
	{'r', "sqrt.rn.f32 %r0, 0f40000000;", 0x3fb504f3},
	{'r', "min.f32 %r0, 0f7fc00000, 0f3f800000;", 0x3f800000},
	{'r', "min.NaN.f32 %r0, 0f7fc00000, 0f3f800000;", 0x7fffffff},
	{'r', "min.f32 %r0, 0f00000000, 0f80000000;", 0x80000000},
	{'r', "max.f32 %r0, 0f80000000, 0f00000000;", 0},
	{'r', "neg.f32 %r0, 0f7fc00001;", 0xffc00001},
	{'r', "abs.f32 %r0, 0fffc00001;", 0x7fc00001},
	/* floats of 16 bits, and pairs */
	{'h', "add.f16 %h0, 0x3c00, 0x1000;", 0x3c00},
	{'h', "add.f16 %h0, 0x3c00, 0x1001;", 0x3c01},
	{'h', "mul.f16 %h0, 0x7bff, 0x4000;", 0x7c00},
	{'h', "add.rn.bf16 %h0, 0x3f80, 0x3b80;", 0x3f80},
	{'r', "add.f16x2 %r0, 0x3c004000, 0x40003c00;", 0x42004200},
	{'r', "fma.rn.bf16x2 %r0, 0x3f804000, 0x40003f80, 0x00003f80;", 0x40004040},
	{'h', "fma.rn.f16 %h0, 0x3c01, 0x3c01, 0x0001;", 0x3c02},
	{'r', "max.f16x2 %r0, 0x7e003c00, 0x3c00bc00;", 0x3c003c00},
	{'r', "max.NaN.f16x2 %r0, 0x7e003c00, 0x3c00bc00;", 0x7fff3c00},
	{'r', "neg.f16x2 %r0, 0x3c00bc00;", 0xbc003c00},
	/* comparisons */
	{'p', "setp.lt.s32 %p0, -1, 1;", 1},
	{'p', "setp.lt.u32 %p0, -1, 1;", 0},
	{'p', "setp.ne.f32 %p0, 0f7fc00000, 0f7fc00000;", 0},
	{'p', "setp.neu.f32 %p0, 0f7fc00000, 0f7fc00000;", 1},
	{'p', "setp.nan.f64 %p0, 0d7ff8000000000000, 0d0000000000000000;", 1},
	{'p', "setp.geu.f32 %p0, 0f3f800000, 0f40000000;", 0},
	{'p', "setp.eq.s64 %p1, 1, 1; setp.lt.and.s32 %p0, 1, 2, !%p1;", 0},
	{'p', "setp.eq.s64 %p1, 1, 2; setp.lt.or.s32 %p2|%p0, 1, 2, %p1;", 0},
	{'p', "setp.gt.f16 %p0, 0x3c00, 0xbc00;", 1},
	{'p', "setp.eq.s32 %p1, 1, 1; setp.eq.s32 %p2, 1, 2; xor.pred %p0, %p1, %p2;", 1},
	{'r', "setp.eq.s32 %p0, 1, 2; selp.b32 %r0, 3, 4, %p0;", 4},
	{'r', "setp.eq.s32 %p0, 1, 2; mov.u32 %r0, 1; @%p0 mov.u32 %r0, 2;", 1},
	{'r', "setp.eq.s32 %p0, 1, 2; mov.u32 %r0, 1; @!%p0 mov.u32 %r0, 2;", 2},
	/* conversions */
	{'r', "cvt.s32.s8 %r0, 0x80;", 0xffffff80},
	{'r', "cvt.u32.u8 %r0, 0x180;", 0x80},
	{'d', "cvt.s64.s32 %d0, -1;", UINT64_MAX},
	{'r', "cvt.u16.u32 %h0, 0x12345678; cvt.u32.u16 %r0, %h0;", 0x5678},
	{'r', "cvt.s8.s32 %r0, 0x17f; add.s32 %r0, %r0, 0;", 0x7f},
	{'r', "cvt.rn.f32.s32 %r0, -16777217;", 0xcb800000},
	{'r', "cvt.rn.f32.u64 %r0, 0xffffffffffffffff;", 0x5f800000},
	{'d', "cvt.rn.f64.u32 %d0, 0xffffffff;", 0x41efffffffe00000},
	{'r', "cvt.rzi.s32.f32 %r0, 0fc0200000;", (uint32_t)-2},
	{'r', "cvt.rni.s32.f32 %r0, 0f40200000;", 2},
	{'r', "cvt.rmi.s32.f32 %r0, 0fc0200000;", (uint32_t)-3},
	{'r', "cvt.rzi.u32.f32 %r0, 0fc0200000;", 0},
	{'r', "cvt.rzi.s32.f32 %r0, 0f7f800000;", 0x7fffffff},
	{'r', "cvt.rzi.u32.f32 %r0, 0f7fc00000;", 0},
	{'d', "cvt.f64.f32 %d0, 0f3fc00000;", 0x3ff8000000000000},
	{'r', "cvt.rn.f32.f64 %r0, 0d3ff0000010000000;", 0x3f800000},
	{'r', "cvt.f32.f16 %r0, 0x0001;", 0x33800000},
	{'h', "cvt.rn.f16.f32 %h0, 0f477fefff;", 0x7bff},
	{'h', "cvt.rn.f16.f32 %h0, 0f477ff000;", 0x7c00},
	{'h', "cvt.rn.f16.f32 %h0, 0f33000001;", 0x0001},
	{'h', "cvt.rn.f16.f32 %h0, 0fffc00000;", 0x7fff},
	{'r', "cvt.f32.bf16 %r0, 0x3fc0;", 0x3fc00000},
	{'h', "cvt.rn.bf16.f32 %h0, 0f3f808000;", 0x3f80},
	{'h', "cvt.rn.bf16.f32 %h0, 0f3f818000;", 0x3f82},
	{'r', "cvt.rn.bf16x2.f32 %r0, 0f3f800000, 0f40000000;", 0x3f804000},
	{'r', "cvt.rn.f16x2.f32 %r0, 0f3f800000, 0f40000000;", 0x3c004000},
	{'h', "cvt.rn.satfinite.e4m3x2.f32 %h0, 0f43f00000, 0fbf800000;", 0x7eb8},
	{'h', "cvt.rn.satfinite.e5m2x2.f32 %h0, 0f7f800000, 0f3f800000;", 0x7b3c},
	{'h', "cvt.rn.satfinite.e4m3x2.f32 %h0, 0f7fc00000, 0f3b000000;", 0x7f01},
	{'r', "cvt.rn.f16x2.e4m3x2 %r0, 0x7e01;", 0x5f001800},
	{'r', "cvt.rn.f16x2.e5m2x2 %r0, 0x7c3c;", 0x7c003c00},
	/* what threads do together */
	{'r', "mov.u32 %r1, %tid.x; shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;", 4},
	{'r', "mov.u32 %r1, %tid.x; shfl.sync.up.b32 %r0|%p0, %r1, 8, 0, -1;", 5},
	{'p', "mov.u32 %r1, %tid.x; shfl.sync.up.b32 %r0|%p0, %r1, 8, 0, -1;", 0},
	{'r', "mov.u32 %r1, %tid.x; shfl.sync.down.b32 %r0, %r1, 3, 31, -1;", 8},
	{'r', "mov.u32 %r1, %tid.x; shfl.sync.idx.b32 %r0, %r1, 9, 31, -1;", 9},
	{'r', "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; vote.sync.ballot.b32 %r0, %p1, -1;",
	 0x7f},
	{'p', "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; vote.sync.all.pred %p0, %p1, -1;", 0},
	{'p', "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; vote.sync.any.pred %p0, !%p1, -1;", 1},
	{'r', "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; bar.red.popc.u32 %r0, 0, %p1;", 7},
	{'p', "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; bar.red.and.pred %p0, 0, %p1;", 0},
	{'r', "activemask.b32 %r0; bar.sync 0;", 0xffffffff},
	{'r',
	 "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; st.shared.u32 [%r2], %r1; bar.sync 0; "
	 "xor.b32 %r2, %r2, 4; ld.shared.u32 %r0, [%r2];",
	 4},
	{'r',
	 "mov.u32 %r1, shared; cvt.u64.u32 %d1, %r1; cvta.shared.u64 %d1, %d1; mov.u32 %r2, 9; "
	 "st.u32 [%d1+8], %r2; bar.sync 0; ld.shared.u32 %r0, [shared+8];",
	 9},
	{'r', "atom.shared.add.u32 %r1, [shared], 2; bar.sync 0; ld.shared.u32 %r0, [shared];", 64},
	{'r', "atom.shared.max.s32 %r1, [shared], -1; bar.sync 0; ld.shared.u32 %r0, [shared];", 0},
	{'r', "atom.shared.cas.b32 %r1, [shared], 0, 7; bar.sync 0; ld.shared.u32 %r0, [shared];", 7},
	{'r',
	 "mov.u32 %r1, %tid.x; cvt.u64.u32 %d1, %r1; st.local.u64 [own], %d1; bar.sync 0; "
	 "mov.u64 %d2, own; cvta.local.u64 %d2, %d2; ld.u32 %r0, [%d2];",
	 LANE},
	/* calls */
	{'r',
	 "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r5; call.uni (y), twice, (x); "
	 "ld.param.b32 %r0, [y]; }",
	 20},
	{'r', "{ bra $one; $one: mov.u32 %r0, 1; bra.uni $two; mov.u32 %r0, 2; $two: }", 1},
};

static const char head[] =
	".version 8.0\n.target sm_89\n.address_size 64\n"
	".func (.param .b32 of) doubled(.param .b32 what)\n"
	"{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [what];\nadd.s32 %r2, %r1, %r1;\n"
	"st.param.b32 [of], %r2;\nret;\n}\n"
	".func (.param .b32 of) twice(.param .b32 what)\n"
	"{\n.reg .b32 %r<3>;\n.param .b32 a;\n.param .b32 b;\nld.param.b32 %r1, [what];\n"
	"st.param.b32 [a], %r1;\ncall (b), doubled, (a);\nld.param.b32 %r1, [b];\n"
	"st.param.b32 [a], %r1;\ncall (b), doubled, (a);\nld.param.b32 %r2, [b];\n"
	"st.param.b32 [of], %r2;\nret;\n}\n"
	".visible .entry row(.param .u64 to)\n{\n"
	".reg .pred %p<4>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n"
	".shared .align 8 .b8 shared[256];\n.local .align 8 .b8 own[16];\n"
	"mov.u32 %r4, 4;\nmov.u32 %r5, 5;\nmov.u16 %h4, 4;\nmov.u16 %h5, 5;\nmov.u16 %h6, 6;\n"
	"mov.u16 %h7, 7;\n";
static const char tail[] = "mov.u32 %r6, %tid.x;\nmul.wide.u32 %d6, %r6, 8;\n"
			   "ld.param.u64 %d7, [to];\nadd.s64 %d7, %d7, %d6;\n"
			   "st.global.u64 [%d7], %d0;\nret;\n}\n";

static uint64_t results[THREADS];

static bool find(void *context, uint64_t address, struct ptx_range *range)
{
	(void)context;
	*range = (struct ptx_range){(uintptr_t)results, sizeof(results), (char *)results, NULL,
				    NULL};
	return address - range->address < range->bytes;
}

static const char *moved(char result)
{
	switch (result) {
	case 'h':
		return "cvt.u64.u16 %d0, %h0;\n";
	case 'r':
		return "cvt.u64.u32 %d0, %r0;\n";
	case 'p':
		return "selp.b64 %d0, 1, 0, %p0;\n";
	default:
		return "";
	}
}

/* returns 0, or what went wrong */
static int run(const char *statements, char result, struct ptx_error *error)
{
	char text[4096];
	const void *to = results;
	const int bytes = snprintf(text, sizeof(text), "%s%s\n%s%s", head, statements,
				   moved(result), tail);
	const struct ptx_host host = {.find = find};
	struct ptx_launch launch = {
		.blocks = 1, .threads = THREADS, .parameters = &to, .seed = 1, .host = &host};
	struct ptx_module *module = ptx_module_open(text, (size_t)bytes);
	if (!module)
		return PTX_OUT_OF_MEMORY;
	int err = ptx_module_function(module, "row", &launch.function, error);
	if (!err)
		err = ptx_run(&launch, error);
	ptx_module_close(module);
	return err;
}

static bool check(const struct row *row)
{
	struct ptx_error error = {""};
	memset(results, 0xa5, sizeof(results));
	const int err = run(row->statements, row->result, &error);
	if (!err && results[LANE] == row->expected)
		return true;
	printf("# %s\n# gives %#jx, want %#jx; %d %s\n", row->statements, (uintmax_t)results[LANE],
	       (uintmax_t)row->expected, err, error.text);
	return false;
}

static const char *const unknown[][2] = {
	{"frobnicate.b32 %r0, 1;", "\"frobnicate.b32\" is not known"},
	{"add.rz.f32 %r0, 0f3f800000, 0f3f800000;", "\"add.rz.f32\" is not known"},
	{"add.ftz.f32 %r0, 0f3f800000, 0f3f800000;", "\"add.ftz.f32\" is not known"},
	{"add.u32.u32 %r0, 1, 1;", "\"add.u32.u32\" is not known"},
	{"ld.release.sys.u32 %r0, [%d0];", "\"ld.release.sys.u32\" is not known"},
	{"ld.v2.u32 %r0, [%d0];", "\"ld.v2.u32\" is not known"},
	{"st.v4.u64 [%d0], {%d1, %d1, %d1, %d1};", "\"st.v4.u64\" is not known"},
	{"cvt.f16.f32 %h0, 0f3f800000;", "\"cvt.f16.f32\" is not known"},
	{"add.s32 %r0, 1;", "\";\" stands where \",\" should"},
	{"add.s32 %r0, 1, 2, 3;", "\",\" stands where \";\" should"},
	{"add.s32 %q0, 1, 2;", "\"%q0\" is no register"},
	{"add.s32 %r8, 1, 2;", "\"%r8\" is no register"},
	{"bra $nowhere;", "\"$nowhere\" is no label"},
	{"call nobody;", "\"nobody\" is no function"},
	{"mov.u32 %r0, 12x;", "\"12x\" is no number"},
	{".weird .b32 x;", "\".weird\" is not known"},
};

static bool check_unknown(const char *statements, const char *says)
{
	struct ptx_error error = {""};
	const int err = run(statements, 'r', &error);
	const bool good = err == PTX_INVALID && strncmp(error.text, "line 41 ", 8) == 0 &&
			  strstr(error.text, says);
	if (!good)
		printf("# %s: %d %s\n", statements, err, error.text);
	return good;
}

int main(void)
{
	const size_t nrows = sizeof(rows) / sizeof(*rows),
		     nunknown = sizeof(unknown) / sizeof(*unknown);
	size_t wrong = 0;
	for (size_t k = 0; k < nrows; k++)
		wrong += !check(&rows[k]);
	for (size_t k = 0; k < nunknown; k++)
		wrong += !check_unknown(unknown[k][0], unknown[k][1]);
	printf("%zu of %zu instructions are wrong\n", wrong, nrows + nunknown);
	return wrong != 0;
}
