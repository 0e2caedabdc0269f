/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices without a library. Panels of both factors are packed, so that the innermost
 * loop reads consecutive elements whether or not a factor is transposed:
 *
 *	for each panel of DEPTH of the inner dimension, and of WIDE columns of b
 *		for each HIGH rows of a
 *			a tile of HIGH x WIDE sums, which the compiler keeps in vector registers
 */
#include "matmul.h"

#include <string.h>

#define HIGH 4
#define WIDE 8
#define DEPTH 256

int train_matmul_start(void)
{
	return 0;
}

const char *train_matmul_name(void)
{
	return "built-in loops, 1 thread";
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static train_real element(struct train_matrix a, int row, int column)
{
	return a.transposed ? a.at[(size_t)column * a.stride + row]
			    : a.at[(size_t)row * a.stride + column];
}

/* Packs columns of b from `column` on, rows from `from` on; elements beyond b are 0. */
static void pack_columns(train_real panel[DEPTH][WIDE], struct train_matrix b, int from, int depth,
			 int column)
{
	int wide = min_int(WIDE, b.columns - column);
	for (int k = 0; k < depth; k++)
		for (int j = 0; j < WIDE; j++)
			panel[k][j] = j < wide ? element(b, from + k, column + j) : 0;
}

static void pack_rows(train_real panel[DEPTH][HIGH], struct train_matrix a, int row, int from,
		      int depth)
{
	int high = min_int(HIGH, a.rows - row);
	for (int k = 0; k < depth; k++)
		for (int i = 0; i < HIGH; i++)
			panel[k][i] = i < high ? element(a, row + i, from + k) : 0;
}

static void multiply_tile(train_real tile[HIGH][WIDE], train_real rows[DEPTH][HIGH],
			  train_real columns[DEPTH][WIDE], int depth)
{
	train_real sum[HIGH][WIDE] = {{0}};
	for (int k = 0; k < depth; k++)
		for (int i = 0; i < HIGH; i++)
			for (int j = 0; j < WIDE; j++)
				sum[i][j] += rows[k][i] * columns[k][j];
	memcpy(tile, sum, sizeof(sum));
}

static void add_tile(train_real *c, int stride, train_real scale, train_real tile[HIGH][WIDE],
		     int high, int wide)
{
	for (int i = 0; i < high; i++)
		for (int j = 0; j < wide; j++)
			c[(size_t)i * stride + j] += scale * tile[i][j];
}

static void keep_part(train_real *c, int stride, train_real keep, int rows, int columns)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) {
			train_real *at = &c[(size_t)i * stride + j];
			*at = keep == 0 ? 0 : keep * *at;
		}
}

void train_matmul(train_real *c, int stride, train_real keep, train_real scale,
		  struct train_matrix a, struct train_matrix b)
{
	train_real rows[DEPTH][HIGH], columns[DEPTH][WIDE], tile[HIGH][WIDE];

	if (keep != 1)
		keep_part(c, stride, keep, a.rows, b.columns);
	for (int from = 0; from < a.columns; from += DEPTH) {
		int depth = min_int(DEPTH, a.columns - from);
		for (int j = 0; j < b.columns; j += WIDE) {
			pack_columns(columns, b, from, depth, j);
			for (int i = 0; i < a.rows; i += HIGH) {
				pack_rows(rows, a, i, from, depth);
				multiply_tile(tile, rows, columns, depth);
				add_tile(c + (size_t)i * stride + j, stride, scale, tile,
					 min_int(HIGH, a.rows - i), min_int(WIDE, b.columns - j));
			}
		}
	}
}
