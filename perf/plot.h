/* SPDX-License-Identifier: MIT */
/* --plot: times and bandwidths over sizes, as pictures. */
#ifndef PERF_PLOT_H
#define PERF_PLOT_H

#include "run.h"

/* options->plot; NULL is fine. false, with a complaint on stderr, if it could not be drawn */
bool perf_plot(const struct perf_run *run);

/* Before anything is measured: whether the files can be written. false, with a complaint */
bool perf_plot_check(const char *prefix);

#endif
