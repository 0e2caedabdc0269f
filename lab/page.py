# SPDX-License-Identifier: MIT
"""The report as one page that fetches nothing."""

from html import escape

import plots
import report as reports

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1180px; padding: 0 1em; color: #222 }
h2 { margin-top: 2em; border-bottom: 2px solid #2a6f97; padding-bottom: .2em }
table { border-collapse: collapse; width: 100%; margin: 1em 0; font-size: 14px }
th, td { text-align: left; vertical-align: top; padding: .45em .6em; border-bottom: 1px solid #ddd }
th { background: #f4f6f8 }
.verdict { font-weight: bold; white-space: nowrap }
.confirmed { color: #2d6a4f } .refuted { color: #bc4749 } .out { color: #777; white-space: normal }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(420px, 1fr)); gap: 1em }
svg { width: 100%; background: #fff; border: 1px solid #e5e5e5; font-family: inherit }
code, .number { font-family: ui-monospace, monospace; font-size: 12.5px }
details { margin: .6em 0 } .note { color: #555 } .warn { color: #bc4749; font-weight: bold }
"""


def verdict(claim):
    kind = claim["verdict"].split()[0]
    return f'<td class="verdict {kind}">{escape(claim["verdict"])}</td>'


def claim_row(claim):
    ours = "<br>".join(
        f"{escape(name)} <b>{escape(value)}</b>" for name, value in claim["ours"].items()
    )
    rule = (
        f"confirmed if {claim['confirmed']}; refuted if {claim['refuted']}"
        if claim["confirmed"]
        else "no rule"
    )
    return (
        f'<tr id="claim-{claim["number"]}"><td>{claim["number"]}</td><td>{escape(claim["says"])}</td>'
        f'<td>{escape(claim["theirs"])}</td><td class="number">{ours}</td>'
        f'<td title="{escape(rule)}">{escape(claim["formula"])}<br><span class="note">'
        f'{escape(claim["measured"])}</span></td>{verdict(claim)}<td>{escape(claim["why"])}</td></tr>'
    )


def numbers_table(article):
    rows = "".join(
        "<tr><td"
        f" class='number'>{escape(name)}</td><td>{escape(reports.show_number(number['value']))}"
        f" {escape(number['unit'])}</td><td>{escape(number['source'])}</td></tr>"
        for name, number in article["numbers"].items()
    )
    commands = "\n".join(article["commands"])
    return (
        f"<details><summary>{len(article['numbers'])} numbers and where they come"
        f" from</summary><table>{rows}</table></details><details><summary>{len(article['commands'])}"
        f" commands, {article['seconds']:.0f}"
        f" s</summary><pre><code>{escape(commands)}</code></pre></details>"
    )


def article_part(article):
    failed = (
        f'<p class="warn">It did not run to its end: {escape(article["failed"])}</p>'
        if article["failed"]
        else ""
    )
    rows = "".join(map(claim_row, article["claims"]))
    charts = "".join(map(plots.draw, article["charts"]))
    return (
        f'<h2 id="{article["number"]}">{article["number"]} {escape(article["name"])}:'
        f' {escape(article["title"])}</h2><p class="note">The article\'s own laboratory:'
        f' {escape(article["theirs"])}.</p>{failed}<div'
        f' class="charts">{charts}</div><table><tr><th></th><th>claim</th><th>theirs</th><th>ours</th><th>formula,'
        " and how it is"
        f" measured</th><th>verdict</th><th>why</th></tr>{rows}</table>{numbers_table(article)}"
    )


def make(report):
    links = " · ".join(
        f'<a href="#{article["number"]}">{article["number"]} {escape(article["name"])}</a>'
        for article in report["articles"]
    )
    return (
        '<!doctype html><html lang="en"><meta'
        f' charset="utf-8"><title>ring_lab</title><style>{STYLE}</style>'
        "<h1>What five articles claim, and what is measured"
        f" here</h1><p>{escape(reports.machine(report))}.</p>"
        f"<p><b>{escape(reports.summary(report))}.</b></p><p>{links}</p>"
        f'{"".join(map(article_part, report["articles"]))}</html>\n'
    )
