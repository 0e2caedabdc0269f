/* SPDX-License-Identifier: MIT */
/* Plots of a run and its references, drawn by gnuplot. */
#ifndef TRAIN_PLOT_H
#define TRAIN_PLOT_H

#include "summary.h"

/*
 * Writes PREFIX.gp, a script with its data, from which gnuplot draws
 *
 *	PREFIX-steps.svg        where a step's time goes: a bar for each run of as many ranks
 *	PREFIX-efficiency.svg   efficiency over ranks, of all runs, if any has one
 *	PREFIX-loss.svg         the loss over this run's steps
 *	PREFIX-predicted.svg    predicted over measured, if there are predictions
 *
 * runs[0] is this run, whose steps are steps[each]. predicted: as for train_report_print. Without
 * gnuplot it writes only the script. returns 0; -1 with a sentence on stderr
 */
int train_plot(const char *prefix, const struct train_summary *runs, int count,
	       const struct train_step *steps, size_t each, const double *predicted);

/* Whether the script and the pictures could be written. returns 0; -1 with a sentence on stderr */
int train_plot_check(const char *prefix);

#endif
