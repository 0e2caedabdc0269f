/* SPDX-License-Identifier: MIT */
/*
 * Compares predicted with measured times: a table of signed relative errors, and whether they are
 * small enough.
 */
#ifndef MODEL_COMPARE_H
#define MODEL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct model_case {
	char name[128];
	double predicted, measured; /* seconds */
};

struct model_cases {
	struct model_case *at;
	size_t count, room;
};

/* returns the new case, all zero; NULL without memory */
struct model_case *model_cases_add(struct model_cases *cases);
void model_cases_free(struct model_cases *cases);

/* Of absolute values. */
struct model_errors {
	double median, worst;
};
struct model_errors model_errors_of(double errors[], size_t count);

/* The largest errors that are allowed; INFINITY: any. */
struct model_errors model_errors_any(void);
bool model_parse_errors(const char *text, struct model_errors *most); /* "0.10,0.25" */

/*
 * Writes the table to `out`, and a sentence to stderr if the errors exceed `most`.
 * returns STATUS_OK; STATUS_FOUND if they do; STATUS_SYSTEM without cases, as nothing was shown
 */
int model_compare(const struct model_cases *cases, const struct model_errors *most, FILE *out);

#endif
