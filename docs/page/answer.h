/* SPDX-License-Identifier: MIT */
/* How the functions that the page calls give their answers: as texts, which the page frees. */
#ifndef PAGE_ANSWER_H
#define PAGE_ANSWER_H

#include <stdbool.h>
#include <stdio.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

struct answer {
	char *text;
	size_t length;
	FILE *out;
};

static inline bool answer_begin(struct answer *answer)
{
	answer->out = open_memstream(&answer->text, &answer->length);
	return answer->out != NULL;
}

/* returns the text; NULL: out of memory */
static inline char *answer_finish(struct answer *answer)
{
	return fclose(answer->out) == 0 ? answer->text : NULL;
}

#endif
