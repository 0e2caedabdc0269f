/* SPDX-License-Identifier: MIT */
/* What the machine could do: how fast all ranks at once multiply matrices of the model's size. */
#include <math.h>
#include <stdio.h>

#include "loop.h"
#include "train/model/device.h"
#include "train/step/clock.h"

#define SECONDS 0.05
#define ROWS_MOST 1024

int train_run_products(struct train_run *run)
{
	const int width = run->options->shape.width;
	double targets = (double)run->options->batch * run->source.tokens;
	int rows = (int)fmin(targets, ROWS_MOST), columns = 4 * width;
	size_t a = (size_t)rows * (size_t)width, b = (size_t)width * (size_t)columns;
	const struct train_device *device = run->model->device;
	train_real *factors = device->alloc((a + b + (size_t)rows * (size_t)columns) *
					    sizeof(*factors));
	if (!factors) {
		fputs("ring_train: out of memory\n", stderr);
		return STATUS_SYSTEM;
	}
	int err = train_team_barrier(run->team);
	double begin = train_now(), passed = 0, rate;
	int count = 0;
	for (; passed < SECONDS; count++, passed = train_now() - begin) {
		device->matmul(factors + a + b, columns, 0, 1, train_matrix(factors, rows, width),
			       train_matrix(factors + a, width, columns));
		device->wait();
	}
	rate = 2.0 * rows * width * columns * count / passed;
	device->free(factors);
	if (!err)
		err = train_team_sum(run->team, &rate, 1);
	run->products = rate;
	return train_exit_of(err);
}
