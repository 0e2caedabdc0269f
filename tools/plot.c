/* SPDX-License-Identifier: MIT */
/* Plots: the script for gnuplot has the points, too. */
#include "plot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_script(FILE *gnuplot, const struct model_point points[], size_t count)
{
	fputs("$points << END\n", gnuplot);
	for (size_t i = 0; i < count; i++)
		fprintf(gnuplot, "%d %.6f %.6f %.6f\n", points[i].ranks,
			points[i].compute / points[i].sum, points[i].compute / points[i].max,
			points[i].compute / points[i].event);
	fputs("END\n"
	      "set terminal svg size 720,480 background 'white'\n"
	      "set logscale x 2\n"
	      "set yrange [0:1.05]\n"
	      "set xlabel 'ranks'\n"
	      "set ylabel 'efficiency'\n"
	      "set grid\n"
	      "set key bottom left\n"
	      "plot $points using 1:2 with linespoints title 'nothing overlaps', "
	      "$points using 1:3 with linespoints title 'everything overlaps', "
	      "$points using 1:4 with linespoints title 'bucket after bucket', "
	      "0.8 with lines dashtype 2 title '80 %'\n",
	      gnuplot);
}

bool model_plot(const char *path, const struct model_point points[], size_t count)
{
	/* gnuplot gets the path through the environment, so nothing in it can be a command. */
	setenv("RING_MODEL_PLOT", path, 1);
	signal(SIGPIPE, SIG_IGN);
	FILE *gnuplot = popen("exec gnuplot", "w");
	if (gnuplot) {
		fputs("set output system('printf %s \"$RING_MODEL_PLOT\"')\n", gnuplot);
		write_script(gnuplot, points, count);
	}
	if (gnuplot && pclose(gnuplot) == 0)
		return true;
	fprintf(stderr, "ring_model: no plot in %s: gnuplot is missing or failed\n", path);
	return false;
}
