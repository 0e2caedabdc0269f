/* SPDX-License-Identifier: MIT */
/* What the 128 bytes of a struct ring_unique_id say; ring_unique_id_create is in identity.c. */
#ifndef RING_IDENTITY_H
#define RING_IDENTITY_H

#include "describe.h"

/* returns 0; RING_EINVAL if no process of this version made these bytes */
int ring_identity_read(const struct ring_unique_id *id, struct ring_identity *identity);

#endif
