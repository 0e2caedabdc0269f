/* SPDX-License-Identifier: MIT */
/* Plots of a run and of those it is compared with, drawn by gnuplot. */
#ifndef TRAIN_PLOT_H
#define TRAIN_PLOT_H

#include "summary.h"

/*
 * Writes PREFIX.gp, a script that holds its data, and has gnuplot draw by it
 *
 *	PREFIX-steps.svg        where a step's time goes: a bar per run of as many ranks
 *	PREFIX-efficiency.svg   efficiency over ranks, of all runs, if it is known of any
 *	PREFIX-predicted.svg    predicted over measured, if there are predictions
 *
 * runs[0] is this run. predicted: as train_report_print. Without gnuplot the script is all there is.
 * returns 0; -1 with a sentence on stderr
 */
int train_plot(const char *prefix, const struct train_summary *runs, int count,
	       const double *predicted);

/* Whether the script and the pictures could be written. returns 0; -1 with a sentence on stderr */
int train_plot_check(const char *prefix);

#endif
