/* SPDX-License-Identifier: MIT */
/* Products of matrices, whoever computes them, against three loops in double. */
#include "train/model/matmul.h"
#include "train/model/random.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 300
#define GAP 3 /* between rows in memory */

static const double epsilon = sizeof(train_real) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;

static train_real *random_matrix(uint64_t seed)
{
	const size_t count = (size_t)MOST * (MOST + GAP);
	train_real *matrix = malloc(count * sizeof(*matrix));
	assert_non_null(matrix);
	for (size_t i = 0; i < count; i++)
		matrix[i] = (train_real)((double)(train_random(seed, i) >> 40) * 0x1p-23 - 1);
	return matrix;
}

static struct train_matrix factor(const train_real *at, int rows, int columns, bool transposed)
{
	int line = transposed ? rows : columns;
	return (struct train_matrix){at, rows, columns, line + GAP, transposed};
}

static double element(struct train_matrix a, int i, int j)
{
	return a.at[a.transposed ? (size_t)j * a.stride + i : (size_t)i * a.stride + j];
}

static void check(struct train_matrix a, struct train_matrix b, train_real keep, train_real scale)
{
	int stride = b.columns + GAP;
	train_real *c = random_matrix(3), *was = random_matrix(3);
	train_matmul(c, stride, keep, scale, a, b);
	for (int i = 0; i < a.rows; i++) {
		for (int j = 0; j < stride; j++) {
			double before = was[(size_t)i * stride + j], sum = 0;
			for (int k = 0; k < a.columns && j < b.columns; k++)
				sum += element(a, i, k) * element(b, k, j);
			double expected = j < b.columns ? keep * before + scale * sum : before;
			double error = fabs(c[(size_t)i * stride + j] - expected);
			if (!(error <= 4 * epsilon * (1 + a.columns)))
				fail_msg("%d x %d x %d, transposed %d %d, keep %g: c[%d][%d] is "
					 "%g, not %g",
					 a.rows, a.columns, b.columns, a.transposed, b.transposed,
					 (double)keep, i, j, (double)c[(size_t)i * stride + j],
					 expected);
		}
	}
	free(was);
	free(c);
}

static void products(void **state)
{
	(void)state;
	static const int sizes[][3] = {{1, 1, 1},   {2, 3, 5},     {4, 8, 256}, {64, 64, 32},
				       {65, 7, 33}, {5, 300, 257}, {3, 4, 0},   {0, 4, 3}};
	train_real *left = random_matrix(1), *right = random_matrix(2);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
		for (int variant = 0; variant < 16; variant++)
			check(factor(left, m, k, variant & 1), factor(right, k, n, variant & 2),
			      variant & 4 ? 1 : 0, variant & 8 ? (train_real)0.25 : 1);
	}
	free(right);
	free(left);
}

static void what_is_not_kept_may_be_anything(void **state)
{
	(void)state;
	train_real a = 2, b = 3, c = (train_real)NAN;
	train_matmul(&c, 1, 0, 1, train_matrix(&a, 1, 1), train_matrix(&b, 1, 1));
	assert_true(c == 6);
}

static void twice_the_same_bits(void **state)
{
	(void)state;
	train_real *left = random_matrix(1), *right = random_matrix(2);
	train_real *first = random_matrix(3), *second = random_matrix(3);
	struct train_matrix a = train_matrix(left, 200, 170), b = train_matrix(right, 170, 190);
	train_matmul(first, 190, 1, 1, a, b);
	train_matmul(second, 190, 1, 1, a, b);
	assert_memory_equal(first, second, 200 * 190 * sizeof(*first));
	free(second);
	free(first);
	free(right);
	free(left);
}

static void one_thread(void **state)
{
	(void)state;
	const char *end = strstr(train_matmul_name(), ", 1 thread");
	print_message("# %s\n", train_matmul_name());
	assert_non_null(end);
	assert_string_equal(end, ", 1 thread");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(what_is_not_kept_may_be_anything),
		cmocka_unit_test(twice_the_same_bits),
		cmocka_unit_test(one_thread),
	};
	return train_matmul_start() || cmocka_run_group_tests(tests, NULL, NULL);
}
