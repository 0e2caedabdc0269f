/* SPDX-License-Identifier: MIT */
/* Efficiency over ranks, as a plot; see tools/gnuplot.h. */
#ifndef MODEL_PLOT_H
#define MODEL_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct model_point {
	int ranks;
	double compute, sum, max, event; /* seconds */
};

/* Writes PREFIX.gp and PREFIX-efficiency.svg. returns false with a sentence on stderr */
bool model_plot(const char *prefix, const struct model_point points[], size_t count);

/* Before any work: whether they can be written. NULL is always fine. */
bool model_plot_check(const char *prefix);

#endif
