/* SPDX-License-Identifier: MIT */
/*
 * Plots: PREFIX.gp, a script for gnuplot that also has the data, so that one file can be kept,
 * changed and drawn again; and PREFIX-WHAT.svg, which gnuplot draws from it.
 */
#ifndef TOOLS_GNUPLOT_H
#define TOOLS_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes the script, and runs gnuplot where it is installed; if not, that is said.
 *
 * program   the name in complaints: "ring_perf"
 * write     writes the script: gnuplot_begin() for each plot, and what is drawn there
 * returns   false, with a complaint, if it could not be written or drawn
 */
bool gnuplot_draw(const char *program, const char *prefix, void (*write)(void *context, FILE *out),
		  void *context);

/* Before any work: whether the script and PREFIX-WHAT.svg can be written. NULL is always fine. */
bool gnuplot_check(const char *program, const char *prefix, const char *what);

/* A new plot in a script. */
void gnuplot_begin(FILE *out, const char *prefix, const char *what);

/* Writes what is in a string of gnuplot, where other characters could end the string or run. */
void gnuplot_write_name(FILE *out, const char *name);

#endif
