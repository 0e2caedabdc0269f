/* SPDX-License-Identifier: MIT */
/*
 * One row for each option: its variable, what is allowed, its default, its fields in struct
 * ring_options and struct ring_config, and whether ranks must agree. tests/check-man compares rows,
 * ringccl.h and ringccl(7).
 */
#ifndef RING_OPTION_ROWS_H
#define RING_OPTION_ROWS_H

#include "options.h"
#include "base/setting.h"

enum ring_agreement {
	RING_OWN,          /* ranks may differ */
	RING_ALIKE,        /* equal on all ranks */
	RING_ALIKE_INSIDE, /* a file, of which the contents are equal: see tuning_hash */
};

struct ring_option_row {
	struct ring_setting setting; /* its offset is that in struct ring_options */
	const char *field;
	size_t config_offset; /* text is held there, numbers have the same type */
	enum ring_agreement agreement;
};

extern const struct ring_option_row ring_option_rows[];
extern const int ring_option_row_count;

/* RING_PORT_RANGE: false if it is none. */
bool ring_option_ports(const char *text, int *first, int *last);

#endif
