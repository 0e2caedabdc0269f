/* SPDX-License-Identifier: MIT */
/* Numbers as people write them. */
#ifndef RING_NUMBER_H
#define RING_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads "12", "-1", and with units "64K", "2M", "1G". False if that is not all of the text. */
bool ring_number_read(const char *text, bool units, long long *number);

/*
 * Reads "12" or "1.5" at *text, whatever the locale; *text moves behind it. False if none is there.
 */
bool ring_number_read_decimal(const char **text, double *number);

/* Writes bytes as ring_number_read() reads them, with a unit if one divides them. Returns text. */
#define RING_NUMBER_TEXT 24
const char *ring_number_write(uint64_t bytes, char text[RING_NUMBER_TEXT]);

/* Writes a number below 1e12 with six decimals, without zeros at their end. Returns text. */
const char *ring_number_write_decimal(double number, char text[RING_NUMBER_TEXT]);

#endif
