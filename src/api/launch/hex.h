/* SPDX-License-Identifier: MIT */
/* An id as text: 256 lower-case hexadecimal digits, as launchers hand it to ranks. */
#ifndef RING_LAUNCH_HEX_H
#define RING_LAUNCH_HEX_H

#include <stdbool.h>

#include "ringccl.h"

#define RING_ID_TEXT (2 * sizeof(struct ring_unique_id) + 1)

/* False if the text is not an id. */
bool ring_id_from_hex(const char *text, struct ring_unique_id *id);
void ring_id_to_hex(const struct ring_unique_id *id, char text[RING_ID_TEXT]);

#endif
