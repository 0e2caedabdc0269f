/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions that are no kernels. Their code is read behind that of the kernel, and their
 * parameters are memory of the thread: one place for each function, as none calls itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "reader.h"

/* ---- while it runs --------------------------------------------------------------------------- */

static void call(struct ptx_thread *t, const struct ptx_instruction *i)
{
	if (t->depth == PTX_CALLS) {
		ptx_trap(t, i, PTX_LAUNCH_FAILED, "functions call each other too deeply");
		return;
	}
	t->callers[t->depth++] = t->next;
	t->next = t->block->grid->function->code + i->target;
}

static void ret(struct ptx_thread *t, const struct ptx_instruction *i)
{
	(void)i;
	if (t->depth)
		t->next = t->callers[--t->depth];
	else
		t->state = PTX_ENDED;
}

/* An argument becomes a parameter, or a result that of the caller. */
static void hand_over(struct ptx_thread *t, const struct ptx_instruction *i)
{
	const struct ptx_block *block = t->block;
	char *memory = block->local + t->number * block->grid->function->local_bytes;
	memmove(memory + ptx_value(t, i->from[1]), memory + ptx_value(t, i->from[0]),
		ptx_value(t, i->from[2]));
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool take_parameters(struct ptx_reader *reader, struct ptx_parameters *all)
{
	if (!ptx_text_take_if(&reader->text, "("))
		return true;
	while (ptx_text_take_if(&reader->text, ".param")) {
		if (all->count == PTX_PARAMETERS)
			return ptx_reader_fail(reader, reader->text.word, "is a parameter too many");
		if (!ptx_argument_read(reader, &all->bytes[all->count]))
			return false;
		const struct ptx_name *names = reader->names.items;
		all->names[all->count++] = names[reader->names.count - 1];
		ptx_text_take_if(&reader->text, ",");
	}
	return ptx_reader_expect(reader, ")");
}

/*
 * .func (results) name(parameters) { or ; and then its body is elsewhere. returns whether it is
 * this one
 */
static bool try_function(struct ptx_reader *reader, struct ptx_word name,
			 struct ptx_routine *routine)
{
	*routine = (struct ptx_routine){.name = name};
	bool is_it = take_parameters(reader, &routine->results) &&
		     ptx_word_same(ptx_text_take(&reader->text), name) &&
		     take_parameters(reader, &routine->parameters);
	while (is_it && reader->text.word.length && !ptx_word_is(reader->text.word, "{") &&
	       !ptx_word_is(reader->text.word, ";"))
		ptx_text_take(&reader->text);
	is_it = is_it && ptx_text_take_if(&reader->text, "{");
	routine->text = reader->text;
	return is_it;
}

static bool find_function(struct ptx_reader *reader, struct ptx_word name,
			  struct ptx_routine *routine)
{
	static const char func[] = ".func";
	const struct ptx_text text = reader->text;
	const size_t names = reader->names.count, local_bytes = reader->function->local_bytes;
	bool found = false;
	const char *at = reader->begin;
	while (!found && (at = memmem(at, (size_t)(text.end - at), func, sizeof(func) - 1))) {
		at += sizeof(func) - 1;
		ptx_text_begin(&reader->text, at, text.end, ptx_line_of(reader->begin, at));
		reader->function->local_bytes = local_bytes;
		found = try_function(reader, name, routine) && !reader->result;
		reader->names.count = names;
	}
	reader->text = text;
	return found || ptx_reader_fail(reader, name, "is no function");
}

/* Reads only what its callers need to know. returns its number; -1: there is none */
static int find_routine(struct ptx_reader *reader, struct ptx_word name)
{
	const struct ptx_routine *routines = reader->routines.items;
	struct ptx_routine found;
	for (size_t k = 0; k < reader->routines.count; k++)
		if (ptx_word_same(routines[k].name, name))
			return (int)k;
	if (!find_function(reader, name, &found))
		return -1;
	struct ptx_routine *added = ptx_list_add(reader, &reader->routines, sizeof(found));
	if (!added)
		return -1;
	*added = found;
	return (int)reader->routines.count - 1;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* (name, name ...) of arguments */
static bool take_arguments(struct ptx_reader *reader, uint64_t addresses[PTX_PARAMETERS], int *count)
{
	*count = 0;
	if (!ptx_text_take_if(&reader->text, "("))
		return true;
	while (!ptx_text_take_if(&reader->text, ")")) {
		if (*count == PTX_PARAMETERS || !ptx_address_read(reader, &addresses[(*count)++]))
			return ptx_reader_fail(reader, reader->text.word, "is no argument");
		ptx_text_take_if(&reader->text, ",");
	}
	return true;
}

static bool add(struct ptx_reader *reader, const struct ptx_instruction *like, ptx_step *step,
		enum ptx_flow flow, const uint64_t values[3])
{
	struct ptx_instruction i = *like;
	i.step = step;
	i.flow = (uint8_t)flow;
	i.nfrom = 0;
	for (int k = 0; values && k < 3; k++)
		if (!ptx_constant_add(reader, values[k], &i.from[i.nfrom++]))
			return false;
	struct ptx_instruction *added = ptx_list_add(reader, &reader->code, sizeof(i));
	if (added)
		*added = i;
	return added != NULL;
}

static bool hand(struct ptx_reader *reader, const struct ptx_instruction *like,
		 const struct ptx_parameters *parameters, const uint64_t *addresses, bool back)
{
	bool good = true;
	for (int k = 0; k < parameters->count && good; k++) {
		const uint64_t there = parameters->names[k].address - PTX_ARGUMENTS;
		const uint64_t here = addresses[k] - PTX_ARGUMENTS;
		const uint64_t values[] = {back ? there : here, back ? here : there,
					   parameters->bytes[k]};
		good = add(reader, like, hand_over, PTX_GOES_ON, values);
	}
	return good;
}

/* call (results), function, (arguments); behind its first word. */
bool ptx_call_read(struct ptx_reader *reader, const struct ptx_instruction *like)
{
	uint64_t results[PTX_PARAMETERS], arguments[PTX_PARAMETERS];
	int nresults, narguments;
	if (!take_arguments(reader, results, &nresults))
		return false;
	ptx_text_take_if(&reader->text, ",");
	const struct ptx_word name = ptx_text_take(&reader->text);
	ptx_text_take_if(&reader->text, ",");
	if (!take_arguments(reader, arguments, &narguments) || !ptx_reader_expect(reader, ";"))
		return false;
	const int number = find_routine(reader, name);
	if (number < 0)
		return false;
	const struct ptx_routine routine = ((struct ptx_routine *)reader->routines.items)[number];
	if (routine.parameters.count != narguments || routine.results.count != nresults)
		return ptx_reader_fail(reader, name, "is called with other arguments");
	struct ptx_label *made = NULL;
	if (hand(reader, like, &routine.parameters, arguments, false))
		made = ptx_list_add(reader, &reader->calls, sizeof(*made));
	if (made)
		*made = (struct ptx_label){name, reader->code.count};
	return made && add(reader, like, call, PTX_CALLS_ANOTHER, NULL) &&
	       hand(reader, like, &routine.results, results, true);
}

static bool add_ret(struct ptx_reader *reader)
{
	const struct ptx_instruction nothing = {.line = reader->text.word.line};
	return add(reader, &nothing, ret, PTX_RETURNS, NULL);
}

/* Behind the kernel's code that of all functions that are called, which may call more. */
bool ptx_routines_read(struct ptx_reader *reader)
{
	bool good = add_ret(reader);
	for (size_t k = 0; k < reader->routines.count && good; k++) {
		struct ptx_routine *routine = (struct ptx_routine *)reader->routines.items + k;
		const struct ptx_parameters *const sets[] = {&routine->results,
							     &routine->parameters};
		routine->begin = reader->code.count;
		reader->names_from = reader->names.count;
		reader->text = routine->text;
		for (int set = 0; set < 2; set++) {
			for (int n = 0; n < sets[set]->count && good; n++) {
				struct ptx_name *name = ptx_list_add(reader, &reader->names,
								     sizeof(*name));
				good = name != NULL;
				if (name)
					*name = sets[set]->names[n];
			}
		}
		good = good && ptx_body_read(reader) && add_ret(reader);
	}
	const struct ptx_label *calls = reader->calls.items;
	const struct ptx_routine *routines = reader->routines.items;
	struct ptx_instruction *code = reader->code.items;
	for (size_t k = 0; k < reader->calls.count && good; k++)
		for (size_t n = 0; n < reader->routines.count; n++)
			if (ptx_word_same(calls[k].word, routines[n].name))
				code[calls[k].at].target = (uint32_t)routines[n].begin;
	return good;
}

static ptx_step *choose_ret(const struct ptx_instruction *i)
{
	(void)i;
	return ret;
}

const struct ptx_opcode ptx_calls[] = {
	{"ret", "", PTX_IN(PTX_HINT), NULL, choose_ret},
	{NULL, NULL, 0, NULL, NULL},
};
