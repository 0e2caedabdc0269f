/* SPDX-License-Identifier: MIT */
/*
 * Tables that people write, or ring_perf --tune. Each line is a row; the first that fits a call
 * counts; # begins a comment:
 *
 *	kind        path    memory   ranks  bytes  algorithm  chunk
 *	all_reduce  memory  private  2      8K     oneshot
 *	any         any     any      9-     1M     ring
 *	broadcast   socket  any      3-64   any    oneshot    64K
 *
 *	model       memory  hop      0.3us
 *	model       memory  touch    35GB/s
 *
 * Kinds, paths (enum ring_path), memory (enum ring_memory), ranks and bytes may be "any". Bytes are
 * the size, at most, of a vector or, where each rank has a part, of one part. The chunk may be left
 * out.
 *
 * A line that begins with "model" has a number of the cost model (model.h), for calls that no row
 * fits, and names its section (section.h). A section that has one of them must have all.
 */
#ifndef RING_TUNING_FILE_H
#define RING_TUNING_FILE_H

#include <stddef.h>

#include "base/status.h"
#include "tuning_table.h"

/*
 * Reads a whole file.
 *
 * file      also names the table, so it must outlive it
 * returns   0; RING_EINVAL with the line and what is expected there; RING_ESYSTEM
 */
int ring_tuning_file_read(const char *file, struct ring_tuning_table *table,
			  struct ring_failure *failure);

/* The same from memory; text[bytes] is 0, and text is changed. */
int ring_tuning_text_read(const char *file, char *text, size_t bytes,
			  struct ring_tuning_table *table, struct ring_failure *failure);

/* Differs between tables with different rows; never 0. */
uint64_t ring_tuning_hash(const struct ring_tuning_table *table);

#endif
