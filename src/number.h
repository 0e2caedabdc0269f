/* SPDX-License-Identifier: MIT */
/* Numbers as people write them. */
#ifndef RING_NUMBER_H
#define RING_NUMBER_H

#include <stdbool.h>

/* Reads "12", "-1", and with units "64K", "2M", "1G". False if that is not all of the text. */
bool ring_number_read(const char *text, bool units, long long *number);

#endif
