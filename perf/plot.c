/* SPDX-License-Identifier: MIT */
/*
 * A curve has the rows of one call, in one place and kind of buffers, over sizes; both axes are
 * logarithmic, so calls without bytes, as barriers are, have none.
 */
#include "plot.h"

#include <string.h>

#include "tools/gnuplot.h"

/* Called with each curve: its first row, its number and its place. */
typedef void curve_writer(FILE *out, const struct perf_run *run, size_t first, int number,
			  enum perf_place place);

static bool is_of_curve(const struct perf_row *row, const struct perf_row *curve)
{
	const struct perf_call *one = &row->call, *other = &curve->call;
	return one->collective == other->collective && row->buffers == curve->buffers &&
	       strcmp(perf_call_type_name(one), perf_call_type_name(other)) == 0 &&
	       strcmp(perf_call_op_name(one), perf_call_op_name(other)) == 0 &&
	       perf_call_root(one) == perf_call_root(other);
}

static bool has_point(const struct perf_row *row, enum perf_place place)
{
	return row->call.bytes > 0 && row->has_place[place] && row->places[place].times.median > 0;
}

static bool begins_curve(const struct perf_run *run, size_t row, enum perf_place place)
{
	for (size_t before = 0; before < row; before++)
		if (has_point(&run->rows[before], place) &&
		    is_of_curve(&run->rows[before], &run->rows[row]))
			return false;
	return has_point(&run->rows[row], place);
}

/* returns how many there are */
static int each_curve(const struct perf_run *run, FILE *out, curve_writer *write)
{
	int number = 0;
	for (size_t row = 0; row < run->row_count; row++) {
		for (int place = 0; place < PERF_PLACES; place++) {
			if (!begins_curve(run, row, (enum perf_place)place))
				continue;
			if (write)
				write(out, run, row, number, (enum perf_place)place);
			number++;
		}
	}
	return number;
}

/* Bytes; median, 10th and 90th percentile in us; GB/s of the bus; time and GB/s at the limit. */
static void write_points(FILE *out, const struct perf_run *run, size_t first, int number,
			 enum perf_place place)
{
	fprintf(out, "$curve%d << END\n", number);
	for (size_t i = first; i < run->row_count; i++) {
		const struct perf_row *row = &run->rows[i];
		const struct perf_times *times = &row->places[place].times;
		if (!has_point(row, place) || !is_of_curve(row, &run->rows[first]))
			continue;
		fprintf(out, "%zu %.4f %.4f %.4f %.5f", row->call.bytes, times->median, times->p10,
			times->p90, perf_bus_bandwidth(&row->call, times->median));
		if (row->limit_us > 0)
			fprintf(out, " %.4f %.5f\n", row->limit_us,
				perf_bus_bandwidth(&row->call, row->limit_us));
		else
			fputs(" NaN NaN\n", out);
	}
	fputs("END\n", out);
}

static void write_curve(FILE *out, const struct perf_run *run, size_t first, int number,
			enum perf_place place, const char *columns, const char *limit)
{
	const struct perf_row *row = &run->rows[first];
	fprintf(out, "%s$curve%d using %s lc %d title '", number ? ", \\\n\t" : "plot ", number,
		columns, number + 1);
	gnuplot_write_name(out, row->call.collective->name);
	fprintf(out, " %s %s, %s, %s', ", perf_call_type_name(&row->call),
		perf_call_op_name(&row->call), place == PERF_IN_PLACE ? "in place" : "out of place",
		perf_buffers_names[row->buffers]);
	fprintf(out, "$curve%d using %s with lines dt 2 lc %d title '%s'", number, limit,
		number + 1, number ? "" : "limit of this machine");
}

static void write_time(FILE *out, const struct perf_run *run, size_t first, int number,
		       enum perf_place place)
{
	write_curve(out, run, first, number, place, "1:2:3:4 with yerrorlines", "1:6");
}

static void write_bandwidth(FILE *out, const struct perf_run *run, size_t first, int number,
			    enum perf_place place)
{
	write_curve(out, run, first, number, place, "1:5 with linespoints", "1:7");
}

/* The second line has what a reader of times must know. */
static void begin(FILE *out, const struct perf_run *run, const char *what, const char *title)
{
	const struct machine *machine = &run->facts.ranks[0].machine;
	char text[512];
	gnuplot_begin(out, run->options->plot, what);
	snprintf(text, sizeof(text), "%d ranks over %s%s%s; on %s, %s%s", run->team.size,
		 run->team.transports, machine_link()[0] ? " as slow as " : "", machine_link(),
		 machine->host, machine->cpu, perf_run_busyness(run).busy ? ", BUSY" : "");
	fprintf(out, "set title \"%s\\n", title);
	gnuplot_write_name(out, text);
	fputs("\" noenhanced font ',12'\nset logscale x 2\nset logscale y 10\n"
	      "set xlabel 'bytes'\nset format x '%.0b %B'\n",
	      out);
}

static void write_script(void *context, FILE *out)
{
	const struct perf_run *run = context;
	each_curve(run, out, write_points);
	begin(out, run, "time", "Median time of a call, and its 10th and 90th percentiles");
	fputs("set ylabel 'us'\nset key top left noenhanced\n", out);
	each_curve(run, out, write_time);
	fputc('\n', out);
	begin(out, run, "bandwidth", "Bandwidth of the bus");
	fputs("set ylabel 'GB/s'\nset key bottom right noenhanced\n", out);
	each_curve(run, out, write_bandwidth);
	fputc('\n', out);
}

bool perf_plot(const struct perf_run *run)
{
	if (!run->options->plot)
		return true;
	if (each_curve(run, NULL, NULL) == 0) {
		fputs("ring_perf: --plot: there is no row that has bytes and a time\n", stderr);
		return true;
	}
	return gnuplot_draw("ring_perf", run->options->plot, write_script, (void *)run);
}

bool perf_plot_check(const char *prefix)
{
	return gnuplot_check("ring_perf", prefix, "time") &&
	       gnuplot_check("ring_perf", prefix, "bandwidth");
}
