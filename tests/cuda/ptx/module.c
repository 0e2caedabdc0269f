/* SPDX-License-Identifier: MIT */
/* Which functions a text has, and what they declare before their statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

struct ptx_module {
	const char *text, *end;
	struct ptx_function *functions; /* that were read */
};

enum { NOT_FOUND = 500 };

/* ---- what readers share ---------------------------------------------------------------------- */

void *ptx_list_add(struct ptx_reader *reader, struct ptx_list *list, size_t bytes)
{
	if (list->count == list->room) {
		const size_t room = 2 * list->room + 16;
		void *more = realloc(list->items, room * bytes);
		if (!more) {
			reader->result = PTX_OUT_OF_MEMORY;
			return NULL;
		}
		list->items = more;
		list->room = room;
	}
	return memset((char *)list->items + list->count++ * bytes, 0, bytes);
}

bool ptx_reader_fail(struct ptx_reader *reader, struct ptx_word word, const char *what)
{
	if (reader->result)
		return false;
	reader->result = PTX_INVALID;
	snprintf(reader->error->text, sizeof(reader->error->text),
		 "line %u of the PTX of %.*s: \"%.*s\" %s", word.line,
		 (int)reader->function->name_length, reader->function->name,
		 word.length < 80 ? (int)word.length : 80, word.at, what);
	return false;
}

bool ptx_reader_expect(struct ptx_reader *reader, const char *word)
{
	char what[48];
	if (ptx_text_take_if(&reader->text, word))
		return true;
	snprintf(what, sizeof(what), "stands where \"%s\" should", word);
	return ptx_reader_fail(reader, reader->text.word, what);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static struct ptx_name *add_name(struct ptx_reader *reader, struct ptx_word word)
{
	struct ptx_name *name = ptx_list_add(reader, &reader->names, sizeof(*name));
	if (name)
		name->word = word;
	return name;
}

static bool add_registers(struct ptx_reader *reader, struct ptx_word word, uint32_t count,
			  unsigned bits)
{
	struct ptx_name *name = add_name(reader, word);
	if (!name)
		return false;
	name->kind = count ? PTX_A_FAMILY : PTX_A_REGISTER;
	name->first = (uint32_t)reader->function->nregisters;
	name->count = count;
	name->bits = bits;
	reader->function->nregisters += count ? count : 1;
	return true;
}

static bool add_special(struct ptx_reader *reader, const char *name, unsigned bits)
{
	return add_registers(reader, (struct ptx_word){name, strlen(name), 0}, 0, bits);
}

/* In the order of enum ptx_special. */
static bool add_specials(struct ptx_reader *reader)
{
#define SPECIAL(name, value)                                                                       \
	if (!add_special(reader, name, 32))                                                        \
		return false;
	PTX_SPECIALS(SPECIAL)
#undef SPECIAL
	return add_special(reader, "%globaltimer", 64) && add_special(reader, "%clock64", 64) &&
	       add_special(reader, "_", 64);
}

static enum ptx_type take_type(struct ptx_reader *reader)
{
	const struct ptx_word word = ptx_text_take(&reader->text);
	const enum ptx_type type = word.length ? ptx_type_find(word.at + 1, word.length - 1)
					       : PTX_UNTYPED;
	if (!type)
		ptx_reader_fail(reader, word, "is no type");
	return type;
}

/* .reg .b32 %r<34>, a, b; */
static bool read_registers(struct ptx_reader *reader)
{
	const enum ptx_type type = take_type(reader);
	if (!type)
		return false;
	do {
		const struct ptx_word word = ptx_text_take(&reader->text);
		uint64_t count = 0;
		if (ptx_text_take_if(&reader->text, "<") &&
		    !(ptx_number_read(reader, &count) && ptx_reader_expect(reader, ">")))
			return false;
		if (!add_registers(reader, word, (uint32_t)count, ptx_types[type].bits))
			return false;
	} while (ptx_text_take_if(&reader->text, ","));
	return ptx_reader_expect(reader, ";");
}

/* .align 8 .b8 name[1584]; of no alignment that of its type. Takes the place that is next. */
static bool read_memory(struct ptx_reader *reader, size_t *room, size_t *bytes)
{
	uint64_t align = 0, count = 1;
	if (ptx_text_take_if(&reader->text, ".align") && !ptx_number_read(reader, &align))
		return false;
	const enum ptx_type type = take_type(reader);
	while (ptx_text_take_if(&reader->text, ".ptr") ||
	       ptx_text_take_if(&reader->text, ".global"))
		;
	uint64_t pointed;
	if (ptx_text_take_if(&reader->text, ".align") && !ptx_number_read(reader, &pointed))
		return false;
	struct ptx_name *name = type ? add_name(reader, ptx_text_take(&reader->text)) : NULL;
	if (!name)
		return false;
	if (ptx_text_take_if(&reader->text, "[") &&
	    !(ptx_number_read(reader, &count) && ptx_reader_expect(reader, "]")))
		return false;
	const size_t element = ptx_types[type].bits / 8;
	align = align ? align : element;
	*room = (*room + align - 1) / align * align;
	name->kind = PTX_AN_ADDRESS;
	name->address = *room;
	*bytes = count * element;
	*room += *bytes;
	return true;
}

static bool read_parameters(struct ptx_reader *reader)
{
	struct ptx_function *function = reader->function;
	if (!ptx_reader_expect(reader, "("))
		return false;
	while (ptx_text_take_if(&reader->text, ".param")) {
		const int n = function->nparameters;
		size_t bytes;
		if (n == PTX_PARAMETERS)
			return ptx_reader_fail(reader, reader->text.word, "is a parameter too many");
		if (!read_memory(reader, &function->parameter_bytes, &bytes))
			return false;
		function->parameter_offsets[n] = function->parameter_bytes - bytes;
		function->parameter_sizes[n] = bytes;
		function->nparameters++;
		ptx_text_take_if(&reader->text, ",");
	}
	return ptx_reader_expect(reader, ")");
}

/* .maxntid 256, 1, 1 and others, up to the brace. */
static bool read_attributes(struct ptx_reader *reader)
{
	while (reader->text.word.length && !ptx_word_is(reader->text.word, "{")) {
		uint64_t threads;
		const bool is_most = ptx_word_is(reader->text.word, ".maxntid") ||
				     ptx_word_is(reader->text.word, ".reqntid");
		ptx_text_take(&reader->text);
		if (is_most && !ptx_number_read(reader, &threads))
			return false;
		if (is_most)
			reader->function->threads_most = (unsigned)threads;
	}
	return ptx_reader_expect(reader, "{");
}

bool ptx_argument_read(struct ptx_reader *reader, size_t *bytes)
{
	if (!read_memory(reader, &reader->function->local_bytes, bytes))
		return false;
	struct ptx_name *names = reader->names.items;
	names[reader->names.count - 1].address |= PTX_ARGUMENTS;
	return true;
}

static bool read_directive(struct ptx_reader *reader)
{
	size_t bytes;
	if (ptx_text_take_if(&reader->text, ".reg"))
		return read_registers(reader);
	if (ptx_text_take_if(&reader->text, ".shared"))
		return read_memory(reader, &reader->function->shared_bytes, &bytes) &&
		       ptx_reader_expect(reader, ";");
	if (ptx_text_take_if(&reader->text, ".local"))
		return read_memory(reader, &reader->function->local_bytes, &bytes) &&
		       ptx_reader_expect(reader, ";");
	if (ptx_text_take_if(&reader->text, ".param"))
		return ptx_argument_read(reader, &bytes) && ptx_reader_expect(reader, ";");
	if (ptx_word_is(reader->text.word, ".pragma"))
		return ptx_text_skip_behind(&reader->text, ";");
	return ptx_reader_fail(reader, reader->text.word, "is not known");
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static bool is_label(const struct ptx_text *text)
{
	const char *behind = text->word.at + text->word.length;
	return text->word.length && behind < text->end && *behind == ':';
}

static bool read_label(struct ptx_reader *reader)
{
	struct ptx_label *label = ptx_list_add(reader, &reader->labels, sizeof(*label));
	if (!label)
		return false;
	*label = (struct ptx_label){ptx_text_take(&reader->text), reader->code.count};
	return ptx_reader_expect(reader, ":");
}

/* Names that were declared between braces are hidden by those that come later. */
bool ptx_body_read(struct ptx_reader *reader)
{
	for (int depth = 1; depth > 0;) {
		bool done = true;
		if (ptx_text_take_if(&reader->text, "{"))
			depth++;
		else if (ptx_text_take_if(&reader->text, "}"))
			depth--;
		else if (ptx_text_take_if(&reader->text, ";"))
			continue;
		else if (is_label(&reader->text))
			done = read_label(reader);
		else if (reader->text.word.length && *reader->text.word.at == '.')
			done = read_directive(reader);
		else
			done = ptx_statement_read(reader);
		if (!done)
			return false;
	}
	return true;
}

static bool find_targets(struct ptx_reader *reader)
{
	const struct ptx_label *labels = reader->labels.items, *branches = reader->branches.items;
	struct ptx_instruction *code = reader->code.items;
	for (size_t k = 0; k < reader->branches.count; k++) {
		size_t n = 0;
		while (n < reader->labels.count && !ptx_word_same(labels[n].word, branches[k].word))
			n++;
		if (n == reader->labels.count)
			return ptx_reader_fail(reader, branches[k].word, "is no label");
		code[branches[k].at].target = (uint32_t)labels[n].at;
	}
	return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool read_function(struct ptx_reader *reader)
{
	bool good = add_specials(reader);
	reader->nspecials = reader->names.count;
	return good && read_parameters(reader) && read_attributes(reader) &&
	       ptx_body_read(reader) && ptx_routines_read(reader) && find_targets(reader);
}

static void free_function(struct ptx_function *function)
{
	free(function->code);
	free(function->constants);
	free(function);
}

/* The text stands behind the function's name. */
static int read(struct ptx_module *module, struct ptx_text text, struct ptx_word name,
		struct ptx_error *error)
{
	struct ptx_reader reader = {.begin = module->text, .text = text, .error = error};
	reader.function = calloc(1, sizeof(*reader.function));
	if (!reader.function)
		return PTX_OUT_OF_MEMORY;
	reader.function->name = name.at;
	reader.function->name_length = name.length;
	if (!read_function(&reader) && !reader.result)
		reader.result = PTX_INVALID;
	reader.function->code = reader.code.items;
	reader.function->ncode = reader.code.count;
	reader.function->constants = reader.constants.items;
	reader.function->nconstants = reader.constants.count;
	if (!reader.result && !ptx_registers_share(reader.function))
		reader.result = PTX_OUT_OF_MEMORY;
	free(reader.names.items);
	free(reader.labels.items);
	free(reader.branches.items);
	free(reader.routines.items);
	free(reader.calls.items);
	if (reader.result) {
		free_function(reader.function);
		return reader.result;
	}
	reader.function->next = module->functions;
	module->functions = reader.function;
	return 0;
}

unsigned ptx_line_of(const char *text, const char *at)
{
	unsigned line = 1;
	for (const char *c = text; (c = memchr(c, '\n', (size_t)(at - c))); c++)
		line++;
	return line;
}

/* Finds ".entry NAME". returns false: there is none */
static bool find_entry(const struct ptx_module *module, const char *name, struct ptx_text *text,
		       struct ptx_word *word)
{
	static const char entry[] = ".entry ";
	const char *at = module->text;
	while ((at = memmem(at, (size_t)(module->end - at), entry, sizeof(entry) - 1))) {
		at += sizeof(entry) - 1;
		const size_t length = strlen(name);
		if ((size_t)(module->end - at) <= length || memcmp(at, name, length))
			continue;
		ptx_text_begin(text, at, module->end, ptx_line_of(module->text, at));
		*word = ptx_text_take(text);
		if (word->length == length)
			return true;
	}
	return false;
}

int ptx_module_function(struct ptx_module *module, const char *name,
			const struct ptx_function **function, struct ptx_error *error)
{
	struct ptx_function *it = module->functions;
	struct ptx_text text;
	struct ptx_word word;
	while (it && !ptx_word_is((struct ptx_word){it->name, it->name_length, 0}, name))
		it = it->next;
	if (!it) {
		if (!find_entry(module, name, &text, &word))
			return NOT_FOUND;
		int err = read(module, text, word, error);
		if (err)
			return err;
		it = module->functions;
	}
	*function = it;
	return 0;
}

struct ptx_module *ptx_module_open(const char *text, size_t bytes)
{
	struct ptx_module *module = calloc(1, sizeof(*module));
	if (module)
		*module = (struct ptx_module){text, text + bytes, NULL};
	return module;
}

void ptx_module_close(struct ptx_module *module)
{
	if (!module)
		return;
	for (struct ptx_function *function = module->functions, *next; function; function = next) {
		next = function->next;
		free_function(function);
	}
	free(module);
}

bool ptx_parameter(const struct ptx_function *function, int index, size_t *offset, size_t *bytes)
{
	if (index >= function->nparameters)
		return false;
	*offset = function->parameter_offsets[index];
	*bytes = function->parameter_sizes[index];
	return true;
}

size_t ptx_parameter_bytes(const struct ptx_function *function)
{
	return function->parameter_bytes;
}

unsigned ptx_threads_most(const struct ptx_function *function)
{
	return function->threads_most;
}
