/* SPDX-License-Identifier: MIT */
#include "plot.h"

#include <stdio.h>

#include "tools/gnuplot.h"

struct drawing {
	const char *prefix;
	const struct model_point *points;
	size_t count;
};

static void write_script(void *context, FILE *out)
{
	const struct drawing *drawing = context;
	fputs("$points << END\n", out);
	for (size_t i = 0; i < drawing->count; i++) {
		const struct model_point *point = &drawing->points[i];
		fprintf(out, "%d %.6f %.6f %.6f\n", point->ranks, point->compute / point->sum,
			point->compute / point->max, point->compute / point->event);
	}
	fputs("END\n", out);
	gnuplot_begin(out, drawing->prefix, "efficiency");
	fputs("set logscale x 2\n"
	      "set yrange [0:1.05]\n"
	      "set xlabel 'ranks'\n"
	      "set ylabel 'efficiency'\n"
	      "set key bottom left\n"
	      "plot $points using 1:2 with linespoints title 'nothing overlaps', "
	      "$points using 1:3 with linespoints title 'everything overlaps', "
	      "$points using 1:4 with linespoints title 'bucket after bucket', "
	      "0.8 with lines dashtype 2 title '80 %'\n",
	      out);
}

bool model_plot(const char *prefix, const struct model_point points[], size_t count)
{
	struct drawing drawing = {prefix, points, count};
	return gnuplot_draw("ring_model", prefix, write_script, &drawing);
}

bool model_plot_check(const char *prefix)
{
	return gnuplot_check("ring_model", prefix, "efficiency");
}
