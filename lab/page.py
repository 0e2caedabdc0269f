# SPDX-License-Identifier: MIT
"""The report as one page, which loads nothing else."""

import re
from html import escape

import plots
import report as reports
from shown import show_number

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1180px; padding: 0 1em;
	color: #222 }
h2 { margin-top: 2em; border-bottom: 2px solid #2a6f97; padding-bottom: .2em }
table { border-collapse: collapse; width: 100%; margin: 1em 0; font-size: 14px }
.claims { table-layout: fixed }
th, td { text-align: left; vertical-align: top; padding: .45em .6em; border-bottom: 1px solid #ddd }
th { background: #f4f6f8 }
.verdict { font-weight: bold; white-space: nowrap }
.confirmed { color: #2d6a4f } .refuted { color: #bc4749 } .undecided { color: #b08900 }
.out { color: #777; white-space: normal }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(420px, 1fr)); gap: 1em }
svg { width: 100%; background: #fff; border: 1px solid #e5e5e5; font-family: inherit }
code, .number { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere }
details { margin: .6em 0 } .note { color: #555 } .warn { color: #bc4749; font-weight: bold }
"""

# The columns of every article's table, and their widths in percent.
COLUMNS = (("", 4), ("claim", 17), ("theirs", 9), ("ours", 17),
           ("formula, and how it is measured", 17), ("verdict", 8), ("why", 28))


def cell(content, kind="", title=""):
    kind = f' class="{kind}"' if kind else ""
    title = f' title="{escape(title)}"' if title else ""
    return f"<td{kind}{title}>{content}</td>"


def row(cells):
    return f"<tr>{''.join(cells)}</tr>"


def table(rows):
    return f"<table>{''.join(rows)}</table>"


def claims_table(rows):
    head = "".join(f'<th style="width: {width}%">{heading}</th>' for heading, width in COLUMNS)
    return f'<table class="claims">{row([head])}{"".join(rows)}</table>'


def unbroken(text):
    """Keeps formulas and options such as 2(N-1)/N or --trace on one line."""
    return re.sub(r"(?<=[\w(-])-(?=[\w-])|(?<= )-(?=-)", "\N{NON-BREAKING HYPHEN}", escape(text))


def claim_row(claim):
    ours = "<br>".join(f"{name} <b>{value}</b>" for name, value in claim["ours"].items())
    rule = "no rule"
    if claim["confirmed"]:
        rule = f"confirmed if {claim['confirmed']}; refuted if {claim['refuted']}"
    how = f'{unbroken(claim["formula"])}<br><span class="note">{unbroken(claim["measured"])}</span>'
    return row((
        cell(claim["number"]),
        cell(escape(claim["says"])),
        cell(unbroken(claim["theirs"])),
        cell(ours, "number"),
        cell(how if claim["formula"] != "-" else "-", title=rule),
        cell(claim["verdict"], f"verdict {claim['verdict'].split()[0]}"),
        cell(escape(claim["why"])),
    ))


def number_row(name, number):
    value = f"{show_number(number['value'])} {escape(number['unit'])}"
    return row((cell(escape(name), "number"), cell(value), cell(escape(number["source"]))))


def details(summary, content):
    return f"<details><summary>{summary}</summary>{content}</details>"


def with_link(text):
    return re.sub(r"https://[^\s,]+", r'<a rel="noreferrer" href="\g<0>">\g<0></a>', escape(text))


def article_part(article):
    parts = [
        f'<h2 id="{article["number"]}">{article["number"]} {article["name"]}: '
        f"{escape(article['title'])}</h2>",
        f'<p class="note">The article: {with_link(article["source"])}.<br>'
        f'Its own setup: {escape(article["theirs"])}.</p>',
    ]
    if article["failed"]:
        failed = f"This experiment did not finish: {escape(article['failed'])}"
        parts.append(f'<p class="warn">{failed}</p>')
    parts.append(f'<div class="charts">{"".join(map(plots.draw, article["charts"]))}</div>')
    parts.append(claims_table(map(claim_row, article["claims"])))
    numbers = [number_row(name, number) for name, number in article["numbers"].items()]
    parts.append(details(f"{len(numbers)} numbers with their sources", table(numbers)))
    commands = escape("\n".join(article["commands"]))
    parts.append(details(f"{len(article['commands'])} commands, {article['seconds']:.0f} s",
                         f"<pre><code>{commands}</code></pre>"))
    return "".join(parts)


def make(report):
    links = " · ".join(f'<a href="#{article["number"]}">{article["number"]} {article["name"]}</a>'
                       for article in report["articles"])
    return "\n".join((
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>ring_lab</title>',
        f"<style>{STYLE}</style><h1>Claims of five articles, and measurements on this machine</h1>",
        f"<p>{escape(reports.machine(report))}.</p><p><b>{reports.summary(report)}.</b></p>",
        f"<p>{links}</p>",
        *map(article_part, report["articles"]),
        "</html>\n",
    ))
