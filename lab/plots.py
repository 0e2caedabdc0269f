# SPDX-License-Identifier: MIT
"""Charts as SVG for the page: stacked bars, bars beside a bound, and lines."""

from html import escape
from math import floor, log10

from shown import show_number

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 44
COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#6d597a", "#3d405b", "#f2cc8f", "#bc4749")

# Parts of a step have the same colour in every chart.
PARTS = {"data": "#8d99ae", "forward": "#a8c5da", "backward": "#2a6f97", "exposed": "#e07a5f",
         "waiting": "#f2cc8f", "optimizer": "#81b29a", "host": "#bc4749"}

BOUND = "max(compute, comm)"  # bars of this series stand beside the others


def colour_of(name, order):
    return PARTS.get(name, COLOURS[order % len(COLOURS)])


def nice_step(most):
    """The step of a scale to `most` with about five marks: 1, 2 or 5 times a power of ten."""
    rough = max(most, 1e-12) / 5
    power = 10 ** floor(log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def text(x, y, words, anchor="middle", size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}">{escape(str(words))}</text>')


def scale(most, y_label):
    """The marks of the y axis, and the function from a value to its place."""
    step = nice_step(most)
    top = step * max(1, -(-most // step))
    parts = [text(14, TOP - 12, y_label, "start")]

    def place(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
    for mark in range(round(top / step) + 1):
        y = place(mark * step)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                     'stroke="#ddd"/>')
        parts.append(text(LEFT - 6, y + 4, show_number(mark * step), "end"))
    return parts, place


def legend(names):
    parts, x = [], LEFT
    for order, name in enumerate(names):
        parts.append(f'<rect x="{x:.0f}" y="{HEIGHT - 14}" width="10" height="10" '
                     f'fill="{colour_of(name, order)}"/>')
        parts.append(text(x + 14, HEIGHT - 5, name, "start", 11))
        x += 28 + 6.3 * len(name)
    return parts


def frame(chart, parts):
    if len(chart["series"]) > 1:
        parts = parts + legend(chart["series"])
    title = chart["title"]
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
            f'{text(WIDTH / 2, 16, title, size=14, weight="bold")}{"".join(parts)}</svg>')


def bar(x, width, place, base, value, colour, title):
    y, bottom = place(base + value), place(base)
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(0, bottom - y):.1f}" '
            f'fill="{colour}"><title>{escape(title)}: {value:.4g}</title></rect>')


def bars(chart):
    """Stacks parts on one another; a bound stands beside them."""
    series = chart["series"]
    labels = [label for label, _ in next(iter(series.values()))]
    columns = [[points[index][1] for points in series.values()] for index in range(len(labels))]
    beside = BOUND in series
    parts, place = scale(max(map(max if beside else sum, columns)), chart["y_label"])
    pitch = (WIDTH - LEFT - RIGHT) / len(labels)
    width = pitch * (0.3 if beside else 0.6)
    for index, (label, values) in enumerate(zip(labels, columns)):
        base, left = 0, LEFT + pitch * (index + 0.2)
        for order, (name, value) in enumerate(zip(series, values)):
            x = left + (order * width if beside else 0)
            title = f"{label}, {name}"
            parts.append(bar(x, width, place, base, value, colour_of(name, order), title))
            base += 0 if beside else value
        middle = LEFT + pitch * (index + 0.5)
        if not beside:
            parts.append(text(middle, place(base) - 4, show_number(base), size=11))
        parts.append(text(middle, HEIGHT - BOTTOM + 15, label, size=11))
    return frame(chart, parts)


def lines(chart):
    """Draws lines; values of x are equally far apart, because each is twice the one before it."""
    series = chart["series"]
    xs = sorted({x for points in series.values() for x, _ in points})
    parts, place = scale(max(y for points in series.values() for _, y in points), chart["y_label"])
    pitch = (WIDTH - LEFT - RIGHT) / len(xs)

    def across(x):
        return LEFT + pitch * (xs.index(x) + 0.5)
    parts += [text(across(x), HEIGHT - BOTTOM + 15, f"{x:g}", size=11) for x in xs]
    parts.append(text(WIDTH - RIGHT, HEIGHT - BOTTOM + 29, chart["x_label"], "end", 11))
    for order, (name, points) in enumerate(series.items()):
        colour = colour_of(name, order)
        way = " ".join(f"{across(x):.1f},{place(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{place(y):.1f}" r="3.5" fill="{colour}">'
                  f"<title>{x:g}: {y:.4g}</title></circle>" for x, y in points]
    return frame(chart, parts)


def draw(chart):
    return bars(chart) if chart["kind"] == "bars" else lines(chart)
