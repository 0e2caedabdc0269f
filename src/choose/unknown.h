/* SPDX-License-Identifier: MIT */
/* RING_* variables that the library does not read: most are misspelt. */
#ifndef RING_UNKNOWN_H
#define RING_UNKNOWN_H

#include <stdbool.h>

/* Names those of the environment, once in the process, at level warn. */
void ring_unknown_variables_tell(void);

/* Whether "RING_NAME" is one of them; the sentence says so, and which one may have been meant. */
#define RING_UNKNOWN_TEXT 160
bool ring_variable_is_unknown(const char *variable, char sentence[RING_UNKNOWN_TEXT]);

#endif
