/* SPDX-License-Identifier: MIT */
/* What a device does for tests whose buffers have twins on it (twins.c). */
#ifndef TWIN_H
#define TWIN_H

#include <stddef.h>

/* Memory of the device; NULL: there is none. */
void *twin_make(size_t bytes);
void twin_end(void *far);

/* Copies as a program would, and waits for it. */
void twin_write(void *far, const void *host, size_t bytes);
void twin_read(void *host, const void *far, size_t bytes);

#endif
