# SPDX-License-Identifier: MIT
"""Charts as SVG, within a page: stacked or single bars, and lines."""

from html import escape
from math import floor, log10

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 44
COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a", "#3d405b", "#bc4749")


def nice_step(most):
    """Of a scale from 0 to `most` with some five marks: 1, 2 or 5 of a power of ten."""
    rough = max(most, 1e-12) / 5
    power = 10 ** floor(log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def text(x, y, words, anchor="middle", size=12, weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
        f' font-weight="{weight}">{escape(str(words))}</text>'
    )


def scale(most, y_label):
    """The y axis: its marks, and what turns a value into a place."""
    step = nice_step(most)
    top = step * max(1, -(-most // step))
    height = HEIGHT - TOP - BOTTOM

    def place(value):
        return TOP + height * (1 - value / top)

    parts, value = [], 0
    while value <= top * 1.0001:
        y = place(value)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        parts.append(text(LEFT - 6, y + 4, f"{value:.10g}" if step >= 1 else f"{value:.3g}", "end"))
        value += step
    parts.append(text(14, TOP - 12, y_label, "start"))
    return parts, place


def legend(names, parts):
    x = LEFT
    for index, name in enumerate(names):
        parts.append(
            f'<rect x="{x}" y="{HEIGHT - 14}" width="10" height="10"'
            f' fill="{COLOURS[index % len(COLOURS)]}"/>'
        )
        parts.append(text(x + 14, HEIGHT - 5, name, "start", 11))
        x += 28 + 6.3 * len(name)


def frame(title, parts):
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'{text(WIDTH / 2, 16, title, size=14, weight="bold")}{"".join(parts)}</svg>'
    )


def bars(chart):
    """Series stand on top of one another, but for one that is a bound: it stands beside."""
    series = chart["series"]
    labels = [label for label, _ in next(iter(series.values()))]
    beside = (
        len(series) == 2
        and all(len(points) == len(labels) for points in series.values())
        and "max(compute, comm)" in series
    )
    sums = [sum(dict(map(tuple, points))[label] for points in series.values()) for label in labels]
    most = max(value for points in series.values() for _, value in points) if beside else max(sums)
    parts, place = scale(most, chart["y_label"])
    pitch = (WIDTH - LEFT - RIGHT) / len(labels)
    for index, label in enumerate(labels):
        base = 0
        for order, points in enumerate(series.values()):
            value = points[index][1]
            width = pitch * (0.3 if beside else 0.6)
            x = LEFT + pitch * (index + 0.2) + (width if beside and order else 0)
            bottom = 0 if beside else base
            parts.append(
                f'<rect x="{x:.1f}" y="{place(bottom + value):.1f}" width="{width:.1f}"'
                f' height="{max(0, place(bottom) - place(bottom + value)):.1f}"'
                f' fill="{COLOURS[order % len(COLOURS)]}"><title>{escape(label)}:'
                f" {value:.4g}</title></rect>"
            )
            base += value
        if not beside:
            parts.append(
                text(LEFT + pitch * (index + 0.5), place(base) - 4, f"{base:.4g}", size=11)
            )
        parts.append(text(LEFT + pitch * (index + 0.5), HEIGHT - BOTTOM + 15, label, size=11))
    if len(series) > 1:
        legend(series, parts)
    return frame(chart["title"], parts)


def lines(chart):
    """The x axis has one place for each x, as these double from one to the next."""
    series = chart["series"]
    xs = sorted({x for points in series.values() for x, _ in points})
    most = max(y for points in series.values() for _, y in points)
    parts, place = scale(most, chart["y_label"])
    pitch = (WIDTH - LEFT - RIGHT) / len(xs)

    def across(x):
        return LEFT + pitch * (xs.index(x) + 0.5)

    for x in xs:
        parts.append(text(across(x), HEIGHT - BOTTOM + 15, f"{x:g}", size=11))
    parts.append(text(WIDTH - RIGHT, HEIGHT - BOTTOM + 29, chart["x_label"], "end", 11))
    for order, points in enumerate(series.values()):
        colour = COLOURS[order % len(COLOURS)]
        way = " ".join(f"{across(x):.1f},{place(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{across(x):.1f}" cy="{place(y):.1f}" r="3.5" fill="{colour}">'
            f"<title>{x:g}: {y:.4g}</title></circle>"
            for x, y in points
        ]
    if len(series) > 1:
        legend(series, parts)
    return frame(chart["title"], parts)


def draw(chart):
    return bars(chart) if chart["kind"] == "bars" else lines(chart)
