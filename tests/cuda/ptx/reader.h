/* SPDX-License-Identifier: MIT */
/* A function while it is read. */
#ifndef PTX_READER_H
#define PTX_READER_H

#include "instruction.h"
#include "text.h"

/* One name, or a family of registers: %r<34> is %r0 to %r33. */
struct ptx_name {
	struct ptx_word word;
	enum { PTX_A_REGISTER, PTX_A_FAMILY, PTX_AN_ADDRESS } kind;
	uint32_t first, count; /* registers */
	unsigned bits;
	uint64_t address; /* in its space */
};

struct ptx_label {
	struct ptx_word word;
	size_t at; /* an instruction: the one it names, or a branch that goes there */
};

/* Memory that grows: elements of one size. */
struct ptx_list {
	void *items;
	size_t count, room;
};

struct ptx_parameters {
	int count;
	struct ptx_name names[PTX_PARAMETERS];
	size_t bytes[PTX_PARAMETERS];
};

/* A function that is no kernel. */
struct ptx_routine {
	struct ptx_word name;
	struct ptx_parameters results, parameters;
	struct ptx_text text; /* of its body */
	size_t begin;         /* of its code */
};

struct ptx_reader {
	const char *begin; /* of the whole text */
	struct ptx_text text;
	struct ptx_function *function;
	size_t nspecials, names_from; /* those that every function has; and those of this one */
	struct ptx_list names, labels, branches, code, constants, routines, calls;
	struct ptx_error *error;
	int result; /* of the first that went wrong */
};

/* Adds one more element, all zeros. returns NULL: out of memory, which is noted */
void *ptx_list_add(struct ptx_reader *reader, struct ptx_list *list, size_t bytes);

/* Notes what is wrong with a word. returns false */
bool ptx_reader_fail(struct ptx_reader *reader, struct ptx_word word, const char *what);

/* Takes this word. returns false: another is there, which is noted */
bool ptx_reader_expect(struct ptx_reader *reader, const char *word);

/* ---- operand.c ------------------------------------------------------------------------------- */

/* Reads all of an instruction, as its opcode says. returns false: something else is there */
bool ptx_operands_read(struct ptx_reader *reader, const char *operands, struct ptx_instruction *i);

bool ptx_number_read(struct ptx_reader *reader, uint64_t *number);
bool ptx_address_read(struct ptx_reader *reader, uint64_t *address);
bool ptx_constant_add(struct ptx_reader *reader, uint64_t value, struct ptx_operand *operand);
bool ptx_register_read(struct ptx_reader *reader, struct ptx_operand *operand, unsigned *bits);

/* ---- module.c -------------------------------------------------------------------------------- */

unsigned ptx_line_of(const char *text, const char *at);

/* Declares an argument of a call; a body, behind its brace. */
bool ptx_argument_read(struct ptx_reader *reader, size_t *bytes);
bool ptx_body_read(struct ptx_reader *reader);

/* ---- call.c ---------------------------------------------------------------------------------- */

/* A call behind its first word; its instructions have the guard and the line of `like`. */
bool ptx_call_read(struct ptx_reader *reader, const struct ptx_instruction *like);

/* Once the kernel was read. */
bool ptx_routines_read(struct ptx_reader *reader);

/* ---- registers.c ----------------------------------------------------------------------------- */

/* Of a function whose code is complete. returns false: out of memory */
bool ptx_registers_share(struct ptx_function *function);

/* ---- decode.c -------------------------------------------------------------------------------- */

enum ptx_type ptx_type_find(const char *name, size_t length);

/* Reads a statement and adds its instruction. */
bool ptx_statement_read(struct ptx_reader *reader);

#endif
