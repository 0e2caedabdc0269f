/* SPDX-License-Identifier: MIT */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/gnuplot.h"

struct drawing {
	const char *prefix;
	const struct train_summary *runs;
	int count;
	const struct train_step *steps; /* of rank 0 */
	size_t each;
	const double *predicted;
};

/* The parts of a step from the bottom up, each with its title. */
static const struct {
	enum train_metric metric;
	const char *title;
} parts[] = {
	{TRAIN_DATA, "data"},
	{TRAIN_FORWARD, "forward"},
	{TRAIN_BACKWARD, "backward"},
	{TRAIN_WAITING, "waiting for others"},
	{TRAIN_EXPOSED, "exposed communication"},
	{TRAIN_AGREE, "agreement"},
	{TRAIN_OPTIMIZER, "optimizer"},
	{TRAIN_HOST, "host"},
};
#define PARTS (int)(sizeof(parts) / sizeof(parts[0]))

static double known(double value)
{
	return isfinite(value) ? value : 0;
}

/* Writes the title; a second line has what a reader of times must know: model, links, machine. */
static void write_title(FILE *out, const struct train_facts *facts, bool busy, const char *what)
{
	char text[512];
	fprintf(out, "set title \"%s\\n", what);
	snprintf(text, sizeof(text), "%s, %llu parameters; over %s%s%s; on %s, %s, %d CPUs%s",
		 facts->preset, (unsigned long long)facts->parameters, facts->transports,
		 facts->link[0] ? " as slow as " : "", facts->link, facts->host, facts->cpu,
		 facts->cpus, busy ? ", BUSY" : "");
	gnuplot_write_name(out, text);
	fputs("\" noenhanced font ',12'\n", out);
}

static void draw_steps(FILE *out, const struct drawing *drawing)
{
	const struct train_facts *facts = &drawing->runs[0].facts;
	fputs("$steps << END\n", out);
	for (int i = 0; i < drawing->count; i++) {
		const struct train_summary *run = &drawing->runs[i];
		fprintf(out, "\"%d rank%s, %s\"", run->facts.ranks, run->facts.ranks == 1 ? "" : "s",
			run->facts.ranks == 1 ? "alone" : run->facts.mode);
		for (int part = 0; part < PARTS; part++)
			fprintf(out, " %g", known(run->values[parts[part].metric]));
		fputc('\n', out);
	}
	fputs("END\n", out);
	gnuplot_begin(out, drawing->prefix, "steps");
	write_title(out, facts, drawing->runs[0].busy, "parts of a step, mean over steps and ranks");
	fputs("set ylabel 'ms of a step'\nset key outside invert\nset yrange [0:*]\n"
	      "set style data histograms\nset style histogram rowstacked\n"
	      "set style fill solid 0.8 border -1\nset boxwidth 0.6\nplot",
	      out);
	for (int part = 0; part < PARTS; part++)
		fprintf(out, "%s $steps using %d:xtic(1) title '%s'", part > 0 ? "," : "", part + 2,
			parts[part].title);
	fputs("\n\n", out);
}

/* A run of one rank, which the others are compared with, has an efficiency of 1. */
static double efficiency_of(const struct drawing *drawing, int i, enum train_metric metric)
{
	const struct train_summary *run = &drawing->runs[i];
	if (run->facts.ranks > 1)
		return run->values[metric];
	return isfinite(drawing->runs[0].values[metric]) ? 1 : NAN;
}

/*
 * The kinds of efficiency, each with its column in the data; points are shifted so that all are
 * seen.
 */
static const struct {
	enum train_metric metric;
	const char *style;
} kinds[] = {
	{TRAIN_WEAK, "using ($1-0.05):2 pt 7 title 'weak'"},
	{TRAIN_STRONG, "using 1:3 pt 5 title 'strong'"},
	{TRAIN_CORES, "using ($1+0.05):4 pt 9 title 'of what the CPUs allow'"},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool has_points(const struct drawing *drawing, enum train_metric metric)
{
	bool any = false;
	for (int i = 0; i < drawing->count; i++)
		any = any || isfinite(efficiency_of(drawing, i, metric));
	return any;
}

static int most_ranks(const struct drawing *drawing)
{
	int most = 1;
	for (int i = 0; i < drawing->count; i++)
		if (drawing->runs[i].facts.ranks > most)
			most = drawing->runs[i].facts.ranks;
	return most;
}

static void draw_efficiency(FILE *out, const struct drawing *drawing)
{
	if (!has_points(drawing, TRAIN_WEAK) && !has_points(drawing, TRAIN_STRONG))
		return;
	fputs("$efficiency << END\n", out);
	for (int i = 0; i < drawing->count; i++) {
		fprintf(out, "%d", drawing->runs[i].facts.ranks);
		for (size_t k = 0; k < KINDS; k++)
			fprintf(out, " %g", efficiency_of(drawing, i, kinds[k].metric));
		fputc('\n', out);
	}
	fputs("END\n", out);
	gnuplot_begin(out, drawing->prefix, "efficiency");
	write_title(out, &drawing->runs[0].facts, drawing->runs[0].busy, "efficiency over ranks");
	fprintf(out,
		"set xlabel 'ranks'\nset ylabel 'efficiency: X(N) / (N X(1))'\n"
		"set yrange [0:1.2]\nset xrange [0.5:%d.5]\nset xtics 1\n"
		"set key bottom left\nset datafile missing 'nan'\n"
		"set style data points\nset pointsize 1.5\n"
		"plot 1 with lines dt 2 lc 'gray' title 'ideal'",
		most_ranks(drawing));
	for (size_t k = 0; k < KINDS; k++)
		if (has_points(drawing, kinds[k].metric))
			fprintf(out, ", $efficiency %s", kinds[k].style);
	fputs("\n\n", out);
}

static void draw_loss(FILE *out, const struct drawing *drawing)
{
	if (drawing->each == 0)
		return;
	fputs("$loss << END\n", out);
	for (size_t i = 0; i < drawing->each; i++)
		fprintf(out, "%llu %g\n", (unsigned long long)drawing->steps[i].step,
			drawing->steps[i].loss);
	fputs("END\n", out);
	gnuplot_begin(out, drawing->prefix, "loss");
	write_title(out, &drawing->runs[0].facts, drawing->runs[0].busy, "loss over steps");
	fputs("set xlabel 'step'\nset ylabel 'loss, nats per target'\nset key off\n"
	      "plot $loss with lines lw 2\n\n",
	      out);
}

/* Only times are plotted, as they have one unit. */
static bool is_time(int metric)
{
	const char *name = train_metric_names[metric];
	size_t length = strlen(name);
	return length > 3 && strcmp(name + length - 3, "_ms") == 0;
}

static void draw_predicted(FILE *out, const struct drawing *drawing)
{
	int points = 0;
	fputs("$predicted << END\n", out);
	for (int i = 0; drawing->predicted && i < TRAIN_METRICS; i++) {
		double measured = drawing->runs[0].values[i];
		if (!is_time(i) || !(drawing->predicted[i] > 0) || !(measured > 0))
			continue;
		fprintf(out, "%g %g \"%s\"\n", measured, drawing->predicted[i],
			train_metric_names[i]);
		points++;
	}
	fputs("END\n", out);
	if (points == 0)
		return;
	gnuplot_begin(out, drawing->prefix, "predicted");
	write_title(out, &drawing->runs[0].facts, drawing->runs[0].busy,
		    "predicted over measured; the band is 10 %");
	fputs("set xlabel 'measured, ms'\n"
	      "set ylabel 'predicted, ms'\nset logscale xy\nset key off\n"
	      "plot x with lines lc 'black', 0.9*x with lines dt 2 lc 'gray', "
	      "1.1*x with lines dt 2 lc 'gray', $predicted using 1:2 with points ps 1.5, "
	      "$predicted using 1:2:3 with labels left offset 1\n",
	      out);
}

static void write_script(void *context, FILE *out)
{
	const struct drawing *drawing = context;
	draw_steps(out, drawing);
	draw_efficiency(out, drawing);
	draw_loss(out, drawing);
	draw_predicted(out, drawing);
}

int train_plot(const char *prefix, const struct train_summary *runs, int count,
	       const struct train_step *steps, size_t each, const double *predicted)
{
	struct drawing drawing = {prefix, runs, count, steps, each, predicted};
	return gnuplot_draw("ring_train", prefix, write_script, &drawing) ? 0 : -1;
}

int train_plot_check(const char *prefix)
{
	return gnuplot_check("ring_train", prefix, "steps") ? 0 : -1;
}
