# SPDX-License-Identifier: MIT
"""The tables and the plot of a comparison."""

from collections import Counter
from itertools import groupby
from statistics import median

import figures
import results
from launching import run
from targets import size_name

PATHS = {
    "shm": "on one host",
    "tcp": "TCP on loopback, the system's congestion control for peers",
    "tcp-reno": "TCP on loopback, reno for all",
    "1gbit": "hosts with links of 1 Gbit/s, reno for all",
    "5gbit": "hosts with links of 5 Gbit/s, reno for all",
}
TYPED = ("half", "bfloat16")
UNSIZED = ("start", "busy")  # where bandwidth says nothing


def short(number):
    """Three significant digits, without an exponent for large numbers."""
    return f"{number:#.3g}" if number < 99.95 else f"{number:.0f}"


def bus_gbs(measurement, microseconds):
    return measurement.bus_bytes() / microseconds * 1e-3


def time_text(values):
    return f"{short(median(values))} ±{100 * figures.spread(values):.0f}%"


# ---- the table -----------------------------------------------------------------------------------


def title_of(cell):
    measurement = cell.measurement
    call = f"all_reduce of {measurement.call}" if measurement.call in TYPED else measurement.call
    return (f"{cell.row}: {call}, {measurement.ranks} ranks, {cell.memory} memory, "
            f"{PATHS[measurement.path]}")


def ratio_text(ratio, interval):
    if ratio is None:
        return "-"
    low, high = interval
    return f"{ratio:.2f} [{low:.2f}, {high:.2f}]"


def line_of(outcome, names):
    measurement = outcome.cell.measurement
    words = [f"{size_name(measurement.size):>8} {measurement.buffers:>6}"]
    words += [f"{time_text(outcome.times[name]) if name in outcome.times else '-':>16}" for name in names]
    bus = short(bus_gbs(measurement, outcome.time_us())) if measurement.call not in UNSIZED else "-"
    percent = f"{outcome.percent:.0f} %" if outcome.percent else "-"
    words += [f"{bus:>8} {ratio_text(outcome.ratio, outcome.interval):>22} {percent:>7}"]
    words += [f"{'met' if outcome.is_met() else 'MISSED':>7}  {outcome.cell.wanted}"]
    if outcome.is_missed_at_limit():
        words += [f"(at the limit {ratio_text(outcome.limit_ratio, outcome.limit_interval)})"]
    if outcome.join_us:
        words += [f" (creation {outcome.join_us / 1e3:.1f} ms)"]
    return " ".join(words)


def table(outcomes):
    """The lines of a table. The outcomes of one row must follow one another."""
    lines = []
    for _, group in groupby(outcomes, lambda outcome: outcome.cell.row):
        group = list(group)
        names = list(dict.fromkeys(name for outcome in group for name in outcome.times))
        heads = "".join(f" {name:>16}" for name in names)
        lines += ["", title_of(group[0].cell)]
        lines += [f"{'size':>8} {'':6}{heads} {'GB/s':>8} {'ratio':>22} {'%limit':>7}"]
        lines += [line_of(outcome, names) for outcome in group]
    return lines


def launches_of(records, quick):
    """How many launches this library has of each measurement that is quick, or not."""
    counts = Counter((record.measurement, record.contender) for record in records
                     if record.measurement.is_quick() == quick and results.is_ours(record.contender)).values()
    return " to ".join(str(count) for count in sorted({min(counts, default=0), max(counts, default=0)}))


def medians_of(most, fewer):
    """Says how many launches there are of quick sizes, and how many of others."""
    if "0" in (most, fewer):
        return f"{most if fewer == '0' else fewer} interleaved launches"
    return f"{fewer} interleaved launches, {most} of sizes up to 1 MiB on one host"


def explanation(records, seed):
    most, fewer = (launches_of(records, quick) for quick in (True, False))
    again = ["(more where an interval contained its target),"] if " to " in most + fewer else []
    return [
        f"times in us, in place: medians of {medians_of(most, fewer)},",
        *again,
        "and half the distance between their extremes; GB/s: our bus bandwidth; ratio: how many times as fast as the best peer",
        f"we are, the median over rounds, with its 95 % interval from {figures.RESAMPLES} resamples of the rounds (seed {seed});",
        "%limit: the limit's share of our time, by the rates of copying, reducing, hops and the wire that ring_perf measured in",
        "the same launch, between hosts by the rate of one TCP flow right after it; at the limit: the ratio of a call that",
        "takes the limit's time, where it misses, too",
    ]


# ---- beside nccl-tests ---------------------------------------------------------------------------


def beside_nccl_tests(theirs, times_of):
    """Their table beside ours; times_of has this library's launches for each of its rows."""
    lines = [
        "",
        f"{theirs.call}, {theirs.ranks} ranks: {theirs.version} beside this library on this machine",
        f"{'size':>12} {'type':>9} {'redop':>6} {'nccl us':>10} {'GB/s':>8} {'ring us':>16} {'GB/s':>8}"
        f" {'ring/nccl':>10}",
    ]
    for row, (measurement, times) in zip(theirs.rows, times_of):
        ours = median(times)
        lines.append(
            f"{row.size:12} {row.datatype:>9} {row.op:>6} {short(row.time_us):>10} {short(row.bus_gbs):>8}"
            f" {time_text(times):>16} {short(bus_gbs(measurement, ours)):>8} {row.time_us / ours:10.3g}"
        )
    return lines


# ---- the plot ------------------------------------------------------------------------------------


def panels_of(outcomes):
    """The panels, by call, path, ranks and buffers: median bandwidths by contender and size."""
    panels = {}
    for outcome in outcomes:
        measurement = outcome.cell.measurement
        if measurement.call in UNSIZED:
            continue
        title = f"{measurement.call}, {measurement.path}, {measurement.ranks} ranks, {measurement.buffers}"
        for name, times in outcome.times.items():
            points = panels.setdefault(title, {}).setdefault(name, {})
            points[measurement.size] = bus_gbs(measurement, median(times))
    return panels


def gnuplot_script(path, panels):
    rows = (len(panels) + 1) // 2
    terminal = "pngcairo" if path.suffix == ".png" else "svg"
    sizes = sorted({size for series in panels.values() for points in series.values() for size in points})
    tics = ", ".join(f'"{size_name(size)}" {size}' for size in sizes)
    lines = [f"set terminal {terminal} noenhanced size 1200,{420 * rows}", f'set output "{path}"']
    lines += [f"set multiplot layout {rows},2", "set logscale xy", "set key left top", "set grid"]
    lines += [f"set xtics ({tics})", 'set format y "%g"', 'set ylabel "bus bandwidth, GB/s"']
    for title, series in panels.items():
        plots = [f"'-' using 1:2 with linespoints title \"{name}\"" for name in series]
        lines += [f'set title "{title}"', "plot " + ", ".join(plots)]
        for points in series.values():
            lines += [f"{size} {gbs:.6g}" for size, gbs in sorted(points.items())] + ["e"]
    return "\n".join([*lines, "unset multiplot", ""])


def plot(path, outcomes, folder):
    script = folder / "plot"
    script.write_text(gnuplot_script(path.resolve(), panels_of(outcomes)), encoding="utf-8")
    run(["gnuplot", script])
