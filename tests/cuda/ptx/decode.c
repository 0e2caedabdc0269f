/* SPDX-License-Identifier: MIT */
/* A statement's name: which opcode, and what stands between its points. */
#include "reader.h"

#include <string.h>

const struct ptx_type_traits ptx_types[PTX_TYPE_COUNT] = {{"", 0, PTX_BITS},
#define TRAITS(type, name, bits, kind) {name, bits, PTX_##kind},
							  PTX_TYPES(TRAITS)
#undef TRAITS
};

/* ---- parts of names -------------------------------------------------------------------------- */

#define ORDERED (PTX_LESS | PTX_EQUAL | PTX_GREATER)

static const struct part {
	const char *name;
	enum ptx_group group;
	uint8_t value;
} parts[] = {
	{"global", PTX_SPACE, PTX_GLOBAL},
	{"param", PTX_SPACE, PTX_PARAM},
	{"shared", PTX_SPACE, PTX_SHARED},
	{"local", PTX_SPACE, PTX_LOCAL},
	{"weak", PTX_ORDER, PTX_WEAK},
	{"relaxed", PTX_ORDER, PTX_RELAXED},
	{"volatile", PTX_ORDER, PTX_RELAXED},
	{"acquire", PTX_ORDER, PTX_ACQUIRE},
	{"release", PTX_ORDER, PTX_RELEASE},
	{"acq_rel", PTX_ORDER, PTX_ACQ_REL},
	{"sc", PTX_ORDER, PTX_SC},
	{"cta", PTX_SCOPE, PTX_CTA},
	{"gpu", PTX_SCOPE, PTX_GPU},
	{"gl", PTX_SCOPE, PTX_GPU},
	{"sys", PTX_SCOPE, PTX_SYS},
	{"v2", PTX_VECTOR, 2},
	{"v4", PTX_VECTOR, 4},
	{"eq", PTX_RELATION, PTX_EQUAL},
	{"ne", PTX_RELATION, PTX_LESS | PTX_GREATER},
	{"lt", PTX_RELATION, PTX_LESS},
	{"le", PTX_RELATION, PTX_LESS | PTX_EQUAL},
	{"gt", PTX_RELATION, PTX_GREATER},
	{"ge", PTX_RELATION, PTX_GREATER | PTX_EQUAL},
	{"equ", PTX_RELATION, PTX_EQUAL | PTX_UNORDERED},
	{"neu", PTX_RELATION, PTX_LESS | PTX_GREATER | PTX_UNORDERED},
	{"ltu", PTX_RELATION, PTX_LESS | PTX_UNORDERED},
	{"leu", PTX_RELATION, PTX_LESS | PTX_EQUAL | PTX_UNORDERED},
	{"gtu", PTX_RELATION, PTX_GREATER | PTX_UNORDERED},
	{"geu", PTX_RELATION, PTX_GREATER | PTX_EQUAL | PTX_UNORDERED},
	{"num", PTX_RELATION, ORDERED},
	{"nan", PTX_RELATION, PTX_UNORDERED},
	{"and", PTX_COMBINE, PTX_AND},
	{"or", PTX_COMBINE, PTX_OR},
	{"xor", PTX_COMBINE, PTX_XOR},
	{"add", PTX_COMBINE, PTX_ADD},
	{"min", PTX_COMBINE, PTX_MIN},
	{"max", PTX_COMBINE, PTX_MAX},
	{"exch", PTX_COMBINE, PTX_EXCHANGE},
	{"cas", PTX_COMBINE, PTX_COMPARE},
	{"popc", PTX_COMBINE, PTX_POPULATION},
	{"lo", PTX_PART, PTX_LOW},
	{"hi", PTX_PART, PTX_HIGH},
	{"wide", PTX_PART, PTX_WIDE},
	{"rn", PTX_ROUND, PTX_NEAREST},
	{"rz", PTX_ROUND, PTX_ZERO},
	{"rni", PTX_ROUND, PTX_INT_NEAREST},
	{"rzi", PTX_ROUND, PTX_INT_ZERO},
	{"rmi", PTX_ROUND, PTX_INT_DOWN},
	{"rpi", PTX_ROUND, PTX_INT_UP},
	{"satfinite", PTX_CLAMP, PTX_SATFINITE},
	{"clamp", PTX_CLAMP, PTX_TO_WIDTH},
	{"wrap", PTX_CLAMP, PTX_MODULO},
	{"up", PTX_LANES, PTX_UP},
	{"down", PTX_LANES, PTX_DOWN},
	{"bfly", PTX_LANES, PTX_BUTTERFLY},
	{"idx", PTX_LANES, PTX_INDEX},
	{"any", PTX_LANES, PTX_ANY},
	{"all", PTX_LANES, PTX_ALL},
	{"ballot", PTX_LANES, PTX_BALLOT},
	{"l", PTX_SIDE, PTX_LEFT},
	{"r", PTX_SIDE, PTX_RIGHT},
	{"NaN", PTX_NAN, 1},
	{"nc", PTX_STALE, 1},
	{"to", PTX_TO, 1},
	{"uni", PTX_HINT, 1},
	{"sync", PTX_HINT, 1},
	{"aligned", PTX_HINT, 1},
	{"ca", PTX_HINT, 1},
	{"cg", PTX_HINT, 1},
	{"cs", PTX_HINT, 1},
	{"lu", PTX_HINT, 1},
	{"cv", PTX_HINT, 1},
	{"wb", PTX_HINT, 1},
	{"wt", PTX_HINT, 1},
	{"L1::no_allocate", PTX_HINT, 1},
	{"L1::evict_first", PTX_HINT, 1},
	{"L1::evict_last", PTX_HINT, 1},
	{"L2::64B", PTX_HINT, 1},
	{"L2::128B", PTX_HINT, 1},
	{"L2::256B", PTX_HINT, 1},
};

enum ptx_type ptx_type_find(const char *name, size_t length)
{
	for (int type = PTX_UNTYPED + 1; type < PTX_TYPE_COUNT; type++)
		if (strlen(ptx_types[type].name) == length &&
		    memcmp(ptx_types[type].name, name, length) == 0)
			return (enum ptx_type)type;
	return PTX_UNTYPED;
}

static const struct part *find_part(struct ptx_word word)
{
	for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
		if (ptx_word_is(word, parts[k].name))
			return &parts[k];
	return NULL;
}

/* returns false: the opcode has no such part, or another of its group */
static bool set_part(const struct ptx_opcode *opcode, struct ptx_word word,
		     struct ptx_instruction *i)
{
	const enum ptx_type type = ptx_type_find(word.at, word.length);
	struct part is = {.group = i->is[PTX_TYPE] ? PTX_FROM : PTX_TYPE, .value = (uint8_t)type};
	if (!type) {
		const struct part *part = find_part(word);
		if (!part)
			return false;
		is = *part;
	}
	const bool again = i->is[is.group] && is.group != PTX_HINT;
	i->is[is.group] = is.value;
	return !again && opcode->groups & PTX_IN(is.group);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const struct ptx_opcode *const subjects[] = {ptx_arithmetic, ptx_bits,    ptx_conversions,
						    ptx_accesses,   ptx_atomics, ptx_calls,
						    ptx_controls};

/* The longest that a word begins with, up to a point or its end. */
static const struct ptx_opcode *find_opcode(struct ptx_word word)
{
	const struct ptx_opcode *found = NULL;
	for (size_t k = 0; k < sizeof(subjects) / sizeof(*subjects); k++) {
		for (const struct ptx_opcode *opcode = subjects[k]; opcode->name; opcode++) {
			const size_t length = strlen(opcode->name);
			if (length <= word.length && memcmp(opcode->name, word.at, length) == 0 &&
			    (length == word.length || word.at[length] == '.') &&
			    (!found || length > strlen(found->name)))
				found = opcode;
		}
	}
	return found;
}

static bool read_parts(const struct ptx_opcode *opcode, struct ptx_word word,
		       struct ptx_instruction *i)
{
	const char *at = word.at + strlen(opcode->name), *end = word.at + word.length;
	while (at < end) {
		const char *point = memchr(at + 1, '.', (size_t)(end - at - 1));
		const char *behind = point ? point : end;
		if (!set_part(opcode, (struct ptx_word){at + 1, (size_t)(behind - at - 1), 0}, i))
			return false;
		at = behind;
	}
	return true;
}

/* Other ways to round are conversions'. */
static ptx_step *choose(const struct ptx_opcode *opcode, const struct ptx_instruction *i)
{
	if (i->is[PTX_ROUND] > PTX_NEAREST && !(opcode->groups & PTX_IN(PTX_FROM)))
		return NULL;
	return opcode->steps ? opcode->steps[i->is[PTX_TYPE]] : opcode->choose(i);
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool read_guard(struct ptx_reader *reader, struct ptx_instruction *i)
{
	if (!ptx_text_take_if(&reader->text, "@"))
		return true;
	struct ptx_operand guard;
	i->guarded = true;
	i->unless = ptx_text_take_if(&reader->text, "!");
	if (!ptx_register_read(reader, &guard, &(unsigned){0}))
		return false;
	i->guard = guard.index;
	return true;
}

bool ptx_statement_read(struct ptx_reader *reader)
{
	struct ptx_instruction i = {.line = reader->text.word.line};
	if (!read_guard(reader, &i))
		return false;
	const struct ptx_word word = ptx_text_take(&reader->text);
	if (ptx_word_is(word, "call") || ptx_word_is(word, "call.uni"))
		return ptx_call_read(reader, &i);
	const struct ptx_opcode *opcode = find_opcode(word);
	if (!opcode || !read_parts(opcode, word, &i))
		return ptx_reader_fail(reader, word, "is not known");
	if (!ptx_operands_read(reader, opcode->operands, &i))
		return false;
	i.step = choose(opcode, &i);
	i.moves = strcmp(opcode->name, "mov") == 0;
	i.flow = strcmp(opcode->name, "bra") == 0   ? PTX_BRANCHES
		 : strcmp(opcode->name, "ret") == 0 ? PTX_RETURNS
						    : PTX_GOES_ON;
	if (!i.step)
		return ptx_reader_fail(reader, word, "is not known");
	struct ptx_instruction *added = ptx_list_add(reader, &reader->code, sizeof(i));
	if (added)
		*added = i;
	return added != NULL;
}
