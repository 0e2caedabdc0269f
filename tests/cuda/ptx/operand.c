/* SPDX-License-Identifier: MIT */
/* What instructions work on: registers, numbers, addresses, labels. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_number(struct ptx_word word)
{
	return word.length && (isdigit((unsigned char)*word.at) || *word.at == '-');
}

/* 0f3F800000 and 0d3FF0000000000000 are bits; U says nothing new. */
bool ptx_number_read(struct ptx_reader *reader, uint64_t *number)
{
	const bool negative = ptx_text_take_if(&reader->text, "-");
	const struct ptx_word word = ptx_text_take(&reader->text);
	char digits[32], *end;
	if (!word.length || word.length >= sizeof(digits))
		return ptx_reader_fail(reader, word, "is no number");
	memcpy(digits, word.at, word.length);
	digits[word.length] = '\0';
	const bool is_bits = digits[0] == '0' && digits[1] && strchr("fFdD", digits[1]);
	*number = is_bits ? strtoull(digits + 2, &end, 16) : strtoull(digits, &end, 0);
	end += *end == 'U';
	if (*end || end == digits)
		return ptx_reader_fail(reader, word, "is no number");
	*number = negative ? -*number : *number;
	return true;
}

/* Those that are used again have one place. */
bool ptx_constant_add(struct ptx_reader *reader, uint64_t value, struct ptx_operand *operand)
{
	const uint64_t *all = reader->constants.items;
	size_t k = 0;
	while (k < reader->constants.count && all[k] != value)
		k++;
	*operand = (struct ptx_operand){PTX_CONSTANTS, (uint32_t)k};
	if (k < reader->constants.count)
		return true;
	uint64_t *constant = ptx_list_add(reader, &reader->constants, sizeof(*constant));
	if (constant)
		*constant = value;
	return constant != NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* %r7 of a family %r. returns false: it is none of it */
static bool is_in_family(const struct ptx_name *name, struct ptx_word word, uint32_t *number)
{
	if (word.length <= name->word.length || memcmp(word.at, name->word.at, name->word.length))
		return false;
	*number = 0;
	for (size_t k = name->word.length; k < word.length; k++) {
		if (!isdigit((unsigned char)word.at[k]))
			return false;
		*number = *number * 10 + (uint32_t)(word.at[k] - '0');
	}
	return *number < name->count;
}

static bool is_name(const struct ptx_name *name, struct ptx_word word, uint32_t *number)
{
	return name->kind == PTX_A_FAMILY ? is_in_family(name, word, number)
					  : ptx_word_same(name->word, word);
}

/* The last that was declared hides those before it, of which other functions' do not count. */
static const struct ptx_name *find_name(const struct ptx_reader *reader, struct ptx_word word,
					uint32_t *number)
{
	const struct ptx_name *names = reader->names.items;
	*number = 0;
	for (size_t k = reader->names.count; k-- > reader->names_from;)
		if (is_name(&names[k], word, number))
			return &names[k];
	for (size_t k = 0; k < reader->nspecials; k++)
		if (is_name(&names[k], word, number))
			return &names[k];
	return NULL;
}

bool ptx_register_read(struct ptx_reader *reader, struct ptx_operand *operand, unsigned *bits)
{
	const struct ptx_word word = ptx_text_take(&reader->text);
	uint32_t number;
	const struct ptx_name *name = find_name(reader, word, &number);
	if (!name || name->kind == PTX_AN_ADDRESS)
		return ptx_reader_fail(reader, word, "is no register");
	*operand = (struct ptx_operand){PTX_REGISTERS, name->first + number};
	*bits = name->bits;
	return true;
}

bool ptx_address_read(struct ptx_reader *reader, uint64_t *address)
{
	const struct ptx_word word = ptx_text_take(&reader->text);
	uint32_t number;
	const struct ptx_name *name = find_name(reader, word, &number);
	if (!name || name->kind != PTX_AN_ADDRESS)
		return ptx_reader_fail(reader, word, "is no memory");
	*address = name->address;
	return true;
}

static bool read_source(struct ptx_reader *reader, struct ptx_operand *operand)
{
	const struct ptx_word word = reader->text.word;
	uint64_t value;
	uint32_t number;
	unsigned bits;
	if (is_number(word))
		return ptx_number_read(reader, &value) && ptx_constant_add(reader, value, operand);
	const struct ptx_name *name = find_name(reader, word, &number);
	if (!name || name->kind != PTX_AN_ADDRESS)
		return ptx_register_read(reader, operand, &bits);
	ptx_text_take(&reader->text);
	return ptx_constant_add(reader, name->address, operand);
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool read_to(struct ptx_reader *reader, struct ptx_instruction *i)
{
	unsigned bits;
	const struct ptx_word word = reader->text.word;
	if (i->nto == PTX_DESTINATIONS)
		return ptx_reader_fail(reader, word, "is one register too many");
	if (!ptx_register_read(reader, &i->to[i->nto], &bits))
		return false;
	if (i->nto++ == 0)
		i->bits = (uint8_t)bits;
	return true;
}

static bool read_from(struct ptx_reader *reader, struct ptx_instruction *i)
{
	if (i->nfrom == PTX_SOURCES)
		return ptx_reader_fail(reader, reader->text.word, "is one operand too many");
	return read_source(reader, &i->from[i->nfrom++]);
}

/* One, or several in braces. */
static bool read_several(struct ptx_reader *reader, struct ptx_instruction *i,
			 bool read_one(struct ptx_reader *reader, struct ptx_instruction *i))
{
	if (!ptx_text_take_if(&reader->text, "{"))
		return read_one(reader, i);
	do {
		if (!read_one(reader, i))
			return false;
	} while (ptx_text_take_if(&reader->text, ","));
	return ptx_reader_expect(reader, "}");
}

static bool read_address(struct ptx_reader *reader, struct ptx_instruction *i)
{
	uint64_t offset = 0;
	if (!ptx_reader_expect(reader, "[") || !read_source(reader, &i->base))
		return false;
	const bool has_offset = ptx_text_take_if(&reader->text, "+") ||
				ptx_word_is(reader->text.word, "-");
	if (has_offset && !ptx_number_read(reader, &offset))
		return false;
	i->offset = (int64_t)offset;
	return ptx_reader_expect(reader, "]");
}

static bool read_label(struct ptx_reader *reader)
{
	struct ptx_label *branch = ptx_list_add(reader, &reader->branches, sizeof(*branch));
	if (!branch)
		return false;
	*branch = (struct ptx_label){ptx_text_take(&reader->text), reader->code.count};
	return true;
}

static bool read_one(struct ptx_reader *reader, char operand, struct ptx_instruction *i)
{
	switch (operand) {
	case 'd':
		return read_to(reader, i);
	case 'D':
		return read_several(reader, i, read_to);
	case 'q':
		return read_to(reader, i) &&
		       (!ptx_text_take_if(&reader->text, "|") || read_to(reader, i));
	case 'S':
		return read_several(reader, i, read_from);
	case 'p':
		i->inverted = ptx_text_take_if(&reader->text, "!");
		return read_from(reader, i);
	case 'm':
		return read_address(reader, i);
	case 'l':
		return read_label(reader);
	default:
		return read_from(reader, i);
	}
}

bool ptx_operands_read(struct ptx_reader *reader, const char *operands, struct ptx_instruction *i)
{
	bool first = true, may_end = *operands == '\0' || *operands == '?';
	for (; *operands; operands++) {
		if (*operands == '?') {
			may_end = true;
			continue;
		}
		if (may_end && ptx_word_is(reader->text.word, ";"))
			break;
		if (!first && !ptx_reader_expect(reader, ","))
			return false;
		if (!read_one(reader, *operands, i))
			return false;
		first = false;
	}
	return ptx_reader_expect(reader, ";");
}
