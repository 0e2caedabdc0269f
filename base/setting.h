/* SPDX-License-Identifier: MIT */
/*
 * A RING_* variable as a row of a table: its kind, what is allowed, its default. One reader, and
 * one sentence for what is not allowed.
 */
#ifndef RING_SETTING_H
#define RING_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "status.h"

#define RING_ALLOWED_TEXT 160

enum ring_setting_kind { RING_SETTING_TEXT, RING_SETTING_NUMBER, RING_SETTING_BYTES };

struct ring_setting_value {
	const char *text; /* TEXT, and what a number was read from; NULL: neither */
	long long number; /* NUMBER, BYTES */
};

struct ring_setting {
	enum ring_setting_kind kind;
	const char *variable;
	size_t offset;         /* of the value in a struct of the table's owner */
	long long least, most; /* TEXT: of its characters */
	long long fallback;    /* the default, allowed too */

	/* Optional: checks what a variable or a TEXT says, and says what is allowed. */
	bool (*valid)(const char *text, char allowed[RING_ALLOWED_TEXT]);
};

/* Checks a value, and says what it should be. A TEXT that is NULL or empty is not set. */
bool ring_setting_allows(const struct ring_setting *setting, struct ring_setting_value value,
			 char allowed[RING_ALLOWED_TEXT]);

/* Sets *value if the variable is set and not empty. returns 0; RING_EINVAL with the sentence */
int ring_setting_read(const struct ring_setting *setting, struct ring_setting_value *value,
		      struct ring_failure *failure);

#endif
