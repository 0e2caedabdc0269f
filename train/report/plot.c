/* SPDX-License-Identifier: MIT */
/*
 * The script for gnuplot also has the data, so that one file can be kept, changed and drawn again.
 */
#include "plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/whole_file.h"

struct drawing {
	const char *prefix;
	const struct train_summary *runs;
	int count;
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

/*
 * Writes a name in a string of gnuplot; other characters become octal numbers, as they could end
 * the string or run.
 */
static void write_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		bool is_plain = isalnum((unsigned char)*name) || strchr("/._-+=,: ", *name);
		fprintf(out, is_plain ? "%c" : "\\%03o", (unsigned char)*name);
	}
}

static void begin_plot(FILE *out, const struct drawing *drawing, const char *what)
{
	fputs("reset\nset terminal svg size 900,540 font 'sans,14' background 'white'\n"
	      "set output \"",
	      out);
	write_name(out, drawing->prefix);
	fprintf(out, "-%s.svg\"\nset grid ytics\n", what);
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
	write_name(out, text);
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
	begin_plot(out, drawing, "steps");
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
	begin_plot(out, drawing, "efficiency");
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
	begin_plot(out, drawing, "predicted");
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
	draw_predicted(out, drawing);
}

static int run_gnuplot(char *script)
{
	char *const argv[] = {"gnuplot", script, NULL};
	pid_t child;
	int status, err = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);
	if (err == ENOENT) {
		fprintf(stderr, "ring_train: gnuplot is not installed; it can draw from %s\n",
			script);
		return 0;
	}
	if (err || waitpid(child, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "ring_train: gnuplot %s failed%s%s\n", script, err ? ": " : "",
			err ? strerror(err) : "");
		return -1;
	}
	return 0;
}

int train_plot(const char *prefix, const struct train_summary *runs, int count,
	       const double *predicted)
{
	struct drawing drawing = {prefix, runs, count, predicted};
	char *script;
	if (asprintf(&script, "%s.gp", prefix) < 0) {
		fputs("ring_train: out of memory\n", stderr);
		return -1;
	}
	int err = whole_file_write("ring_train", script, write_script, &drawing) ? 0 : -1;
	if (!err)
		err = run_gnuplot(script);
	free(script);
	return err;
}

int train_plot_check(const char *prefix)
{
	static const char *const names[] = {".gp", "-steps.svg"};
	int err = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++) {
		char *path;
		if (asprintf(&path, "%s%s", prefix, names[i]) < 0) {
			fputs("ring_train: out of memory\n", stderr);
			return -1;
		}
		err = whole_file_check("ring_train", path) ? 0 : -1;
		free(path);
	}
	return err;
}
