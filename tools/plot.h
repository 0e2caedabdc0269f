/* SPDX-License-Identifier: MIT */
/* Plots efficiency over ranks with gnuplot. */
#ifndef MODEL_PLOT_H
#define MODEL_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct model_point {
	int ranks;
	double compute, sum, max, event; /* seconds */
};

/* Writes an SVG. returns false with a sentence on stderr, for example without gnuplot */
bool model_plot(const char *path, const struct model_point points[], size_t count);

#endif
