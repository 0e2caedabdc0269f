# SPDX-License-Identifier: MIT
"""ring_lab tests the claims of five articles about data-parallel training by experiments on this
machine, and finds out what makes the steps of a recorded training long."""

import argparse
import difflib
import os
import signal
import sys
import time
from pathlib import Path

import articles
import diagnose
import files
import page
import programs
import record
import report
from lab import Lab
from shown import plain
from version import VERSION

OK, FOUND, USAGE, FAILED = 0, 1, 2, 3

EXPERIMENTS = "".join(f"  {article.number}  {article.name:<12} {article.title}\n"
                      for article in articles.ARTICLES)
EPILOG = f"""experiments:
{EXPERIMENTS}  all               all of them, in half an hour on 2 quiet CPUs

  diagnose RECORD...  names what makes the steps of a run of ring_train (--json) long
  judge REPORT.json   judges a report again, from its numbers alone
"""


def say(sentence):
    print(plain(sentence), flush=True)


def complain(sentence):
    print(f"ring_lab: {plain(sentence)}", file=sys.stderr)


def stop(status, sentence):
    complain(sentence)
    sys.exit(status)


# ---- experiments ---------------------------------------------------------------------------------


def measure(article, lab):
    """Returns why an experiment failed, or None."""
    try:
        article.module.measure(lab)
    except (programs.Failed, files.Unreadable) as reason:
        return str(reason)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as reason:
        last = lab.commands[-1] if lab.commands else article.name
        return f"{last}: its answer makes no sense: {reason!r}"
    return None


def run_article(article, options):
    """Runs an experiment. Returns its part of the report. A failed program ends only it."""
    say(f"== {article.number} {article.name}: {article.title}")
    lab = Lab(options.output / article.name, options.short, lambda command: say(f"   {command}"))
    begin = time.monotonic()
    failed = measure(article, lab)
    if failed:
        complain(failed)
    return report.article_part(article, lab, failed, time.monotonic() - begin)


def tell(made):
    for article in made["articles"]:
        say("")
        for claim in article["claims"]:
            say(f"{claim['number']:>5}  {claim['verdict']:<18} {claim['says']}")
            say(f"{'':>25} {claim['why']}")
    say("")
    say(report.machine(made))
    say(report.summary(made))


def experiment(chosen, options):
    try:
        report.check_folder(options.output)
        for article in chosen:
            files.make_own_folder(options.output / article.name)
    except OSError as reason:
        stop(USAGE, f"--output {options.output}: {files.reason_of(reason)}")
    parts = [run_article(article, options) for article in chosen]
    made = report.make(parts, options.short, len(os.sched_getaffinity(0)))
    report.write(made, options.output, page.make)
    tell(made)
    say(f"{options.output}/report.html, report.md, report.json and claims.csv; beside them the "
        "records of all runs")
    return FAILED if any(part["failed"] for part in parts) else OK


# ---- records -------------------------------------------------------------------------------------


def diagnose_all(paths):
    found = False
    for path in paths:
        try:
            lines, something = diagnose.tell(record.read(path))
        except files.Unreadable as reason:
            stop(USAGE, reason)
        found |= something
        for line in lines:
            say(line)
    return FOUND if found else OK


def judge_again(path):
    try:
        tell(report.judge_again(report.read(path)))
    except files.Unreadable as reason:
        stop(USAGE, reason)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError,
            RecursionError) as reason:
        stop(USAGE, f"{path}: not a report of ring_lab that can be judged: {reason}")
    return OK


# ---- the command line ----------------------------------------------------------------------------


OPTIONS = ("--short", "--output", "--version", "--help")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        stop(USAGE, f"{message}; see ring_lab --help")


def nearest(word, known):
    """", did you mean ...?" if that is likely."""
    near = difflib.get_close_matches(word.split("=")[0], known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def read_options():
    parser = Parser(prog="ring_lab", description=__doc__, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", nargs="?",
                        help="an experiment, all, diagnose or judge")
    parser.add_argument("files", metavar="FILE", nargs="*", help="files for diagnose and judge")
    parser.add_argument("--short", action="store_true",
                        help="take only a minute or two: shows that it works, times say little")
    parser.add_argument("--output", type=Path, default=Path("ring_lab.out"), metavar="FOLDER",
                        help="write the report and the records of all runs there; %(default)s")
    parser.add_argument("--version", action="version", version=f"ring_lab {VERSION}")
    options, unknown = parser.parse_known_intermixed_args()
    if unknown:
        parser.error(f"there is no option {unknown[0]}{nearest(unknown[0], OPTIONS)}")
    if not options.name:
        parser.error("name an experiment, all, diagnose or judge")
    return options


def main():
    options = read_options()
    if options.name in ("diagnose", "judge"):
        if not options.files:
            files = {"diagnose": "records of ring_train --json", "judge": "a report.json"}
            stop(USAGE, f"{options.name} needs {files[options.name]}")
        if options.name == "judge":
            return max(judge_again(path) for path in options.files)
        return diagnose_all(options.files)
    if options.files:
        stop(USAGE, f"what is '{options.files[0]}'? An experiment takes no files")
    article = articles.find(options.name)
    if not article and options.name != "all":
        known = ", ".join(f"{known.number} ({known.name})" for known in articles.ARTICLES)
        near = nearest(options.name, [*(known.name for known in articles.ARTICLES), "all",
                                      "diagnose", "judge"])
        stop(USAGE, f"there is no experiment '{options.name}'{near}; there are {known}, and all")
    return experiment([article] if article else articles.ARTICLES, options)


if __name__ == "__main__":
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, lambda number, _: sys.exit(128 + number))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends as other programs do if the reader is gone
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        stop(128 + signal.SIGINT, "interrupted, so there is no report")
    except OSError as reason:
        stop(FAILED, f"{reason.filename}: {reason.strerror}" if reason.filename else reason)
    except MemoryError:
        stop(FAILED, "out of memory")
