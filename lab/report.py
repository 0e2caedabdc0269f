# SPDX-License-Identifier: MIT
"""The report: each claim with its numbers and the verdict that follows from them. The JSON is the
report, other files are views of it; verdicts can be judged again from the JSON alone."""

import csv
import io
import json
import platform
import re
import time
from collections import Counter

import claims
import files
import judge
from shown import fill_in, markdown, show_number

FORMAT = 1
BUSY_MOST = 1 / 3  # if more of an article's runs were disturbed, times decide nothing


def explain(claim, verdict, missing, numbers):
    """The reason for a verdict, in a few sentences."""
    texts = {name: show_number(value) for name, value in numbers.items() if value is not None}
    if verdict == judge.CONFIRMED:
        return fill_in(claim["yes"], texts)
    if verdict == judge.REFUTED:
        return fill_in(claim["no"], texts)
    unless = claim["unless"] if verdict == judge.OUT_OF_REACH else ""
    return unless or f"This run gives no verdict: {missing}."


def is_busy(claim, numbers):
    """Whether times decide, and other programs disturbed too many runs."""
    return claim["timed"] and numbers.get("busy_share", 0) > BUSY_MOST


def judge_claim(claim, numbers, failed):
    """The verdict; if it is undecided or out of reach, also why."""
    verdict, missing = judge.judge(claim["confirmed"], claim["refuted"], numbers)
    if verdict == judge.OUT_OF_REACH:
        return verdict, failed or missing
    if is_busy(claim, numbers):
        said = "do not decide" if verdict == judge.UNDECIDED else f"say {verdict}"
        return judge.UNDECIDED, (
            f"its numbers {said}, but they are times, and other programs disturbed "
            f"{100 * numbers['busy_share']:.0f} % of the runs. Run it again when the machine is "
            "quiet")
    return verdict, missing


def rule_names(claim):
    """The names of the numbers in a claim's rules and reasons."""
    names = [
        name
        for rule in (claim["confirmed"], claim["refuted"])
        if rule
        for name in judge.names_in(rule)
    ]
    names += re.findall(r"{(\w+)}", claim["yes"] + claim["no"])
    return list(dict.fromkeys(names))


def judge_again(report):
    """Sets all verdicts and reasons by the report's numbers and rules."""
    for article in report["articles"]:
        numbers = {name: number["value"] for name, number in article["numbers"].items()}
        for claim in article["claims"]:
            verdict, missing = judge_claim(claim, numbers, article["failed"])
            claim["verdict"], claim["why"] = verdict, explain(claim, verdict, missing, numbers)
            claim["busy"] = verdict == judge.UNDECIDED and is_busy(claim, numbers)
            claim["ours"] = {name: show_number(numbers[name]) for name in rule_names(claim)
                             if numbers.get(name) is not None}
    return report


def article_part(article, lab, failed, seconds):
    return {
        "number": article.number,
        "name": article.name,
        "title": article.title,
        "source": article.source,
        "theirs": article.theirs,
        "failed": failed,
        "seconds": round(seconds, 1),
        "busy": lab.busy,
        "runs": lab.runs,
        "commands": lab.commands,
        "numbers": {name: number._asdict() for name, number in lab.numbers.items()},
        "charts": [chart._asdict() for chart in lab.charts],
        "claims": [claim._asdict() for claim in claims.of_article(article.number)],
    }


def make(parts, short, cpus, device="cpu", device_name=""):
    """device: that of --device; device_name: as it says itself, "" for the CPU."""
    report = {
        "report": "ring_lab",
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
        "host": platform.node(),
        "cpus": cpus,
        "system": f"{platform.system()} {platform.release()}",
        "short": short,
        "device": device,
        "device_name": device_name,
        "articles": parts,
    }
    return judge_again(report)


def read(path):
    report = files.read_json(path)
    if (
        not isinstance(report, dict)
        or report.get("report") != "ring_lab"
        or report.get("format") != FORMAT
    ):
        raise ValueError("no report of ring_lab, or one of another version")
    return report


def counts(report):
    return Counter(
        claim["verdict"] for article in report["articles"] for claim in article["claims"]
    )


def summary(report):
    counted = counts(report)
    busy = sum(claim["busy"] for article in report["articles"] for claim in article["claims"])
    parts = [f"{counted[verdict]} {verdict}" for verdict in
             (judge.CONFIRMED, judge.REFUTED, judge.UNDECIDED, judge.OUT_OF_REACH)]
    if busy:
        parts[2] += f" ({busy} because the machine was busy)"
    return f"{sum(counted.values())} claims: {', '.join(parts)}"


def machine(report):
    busy = sum(len(article["busy"]) for article in report["articles"])
    runs = sum(article["runs"] for article in report["articles"])
    said = f"{report['host']}, {report['cpus']} CPUs, {report['system']}, {report['time']}"
    if report.get("device_name"):
        said += f"; trained with --device {report.get('device')}: {report['device_name']}"
    if report["short"]:
        said += "; the short form: few steps and small batches, so times say little"
    if busy:
        said += f"; OTHER PROGRAMS DISTURBED {busy} of {runs} runs of ring_train"
    return said


# ---- views ---------------------------------------------------------------------------------------


def ours(claim):
    return ", ".join(f"{name} {value}" for name, value in claim["ours"].items())


def markdown_row(cells):
    return "| " + " | ".join(cells) + " |"


def markdown_article(article):
    lines = ["", f"## {article['number']} {article['name']}: {markdown(article['title'])}", "",
             f"The article: {markdown(article['source'])}.", "",
             f"Its own setup: {markdown(article['theirs'])}. "
             'Its numbers are in the column "theirs".', ""]
    if article["failed"]:
        lines += [f"This experiment did not finish: {markdown(article['failed'])}", ""]
    lines += [markdown_row(("", "claim", "theirs", "ours", "formula", "verdict", "why")),
              markdown_row(["---"] * 7)]
    for claim in article["claims"]:
        lines.append(markdown_row((claim["number"], markdown(claim["says"]),
                                   markdown(claim["theirs"]), markdown(ours(claim)),
                                   markdown(claim["formula"]), f"**{claim['verdict']}**",
                                   markdown(claim["why"]))))
    return lines


def in_markdown(report):
    lines = ["# Claims of five articles, and measurements on this machine", "",
             f"Measured on {markdown(machine(report))}.", "", summary(report) + "."]
    for article in report["articles"]:
        lines += markdown_article(article)
    return "\n".join(lines) + "\n"


def table_of_claims(report):
    columns = ("number", "says", "theirs", "ours", "formula", "measured", "confirmed", "refuted",
               "verdict", "why")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("article", *columns))
    for article in report["articles"]:
        for claim in article["claims"]:
            cells = {**claim, "ours": ours(claim)}
            writer.writerow((article["number"], *(cells[column] for column in columns)))
    return out.getvalue()


VIEWS = ("report.json", "report.md", "report.html", "claims.csv")


def check_folder(folder):
    """Makes the folder, and raises OSError if files cannot be written there: before measuring."""
    folder.mkdir(parents=True, exist_ok=True)
    for view in VIEWS:
        files.check(folder, view)


def write(report, folder, page):
    """Writes all views, each completely or not at all. page makes the HTML."""
    texts = (json.dumps(report, indent=1) + "\n", in_markdown(report), page(report),
             table_of_claims(report))
    for view, text in zip(VIEWS, texts):
        files.write(folder, view, text)
