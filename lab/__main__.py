# SPDX-License-Identifier: MIT
"""ring_lab tests the claims of five articles about data-parallel training by experiments on this
machine, and finds out what makes the steps of a recorded training long."""

import argparse
import difflib
import os
import platform
import signal
import sys
import time
from pathlib import Path

import articles
import diagnose
import files
import page
import programs
import progress
import record
import report
from lab import CPU, Lab, find_device
from shown import plain
from statuses import FAILED, FOUND, OK, SIGNAL, SYSTEM, USAGE
from version import VERSION

EXPERIMENTS = "".join(f"  {article.number}  {article.name:<12} {article.title}\n"
                      for article in articles.ARTICLES)
EPILOG = f"""experiments:
{EXPERIMENTS}  all               all of them, in half an hour on 2 quiet CPUs
  again             those of the report in --output that a busy machine left undecided

  diagnose RECORD...  names what makes the steps of a run of ring_train (--json) long
  judge REPORT.json   judges a report again, from its numbers alone

Examples:
  ring_lab stragglers
  ring_lab diagnose run.jsonl
"""


def say(sentence):
    if say.quiet:
        return
    print(plain(sentence), flush=True)


say.quiet = False  # --quiet


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


def run_article(article, options, going):
    """Runs an experiment. Returns its part of the report. A failed program ends only it."""
    def tell_command(command):
        progress.wipe()
        say(f"   {command}")
        if not say.quiet:
            going.show(command)

    progress.wipe()
    say(f"== {article.number} {article.name}: {article.title}")
    lab = Lab(options.output / article.name, options.short, options.device, tell_command)
    begin = time.monotonic()
    failed = measure(article, lab)
    going.done += 1
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


def disturbed(options):
    """The articles of an earlier report with claims that a busy machine left undecided, and all
    its parts, by number."""
    path = options.output / "report.json"
    before = read_report(path)
    if before["host"] != platform.node():
        stop(SYSTEM, f"{path} is of another host, {before['host']}")
    options.short, options.device = before["short"], before.get("device", CPU)
    parts = {part["number"]: part for part in before["articles"]}
    again = [number for number, part in parts.items()
             if any(claim["busy"] for claim in part["claims"])]
    chosen = [article for article in articles.ARTICLES if article.number in again]
    return chosen, parts


def write_report(parts, options):
    made = report.make([part for _, part in sorted(parts.items())], options.short,
                       len(os.sched_getaffinity(0)), options.device, options.device_name)
    report.write(made, options.output, page.make)
    tell(made)
    say(f"{options.output}/report.html, report.md, report.json and claims.csv; beside them the "
        "records of all runs")


def prepare(chosen, options):
    """Ends the program if files cannot be written, or the device is missing: before measuring."""
    try:
        report.check_folder(options.output)
        for article in chosen:
            files.make_own_folder(options.output / article.name)
    except OSError as reason:
        stop(SYSTEM, f"--output {options.output}: {files.reason_of(reason)}")
    try:
        options.device_name = "" if options.device == CPU else find_device(options.device)
    except (programs.Failed, files.Unreadable) as reason:
        stop(SYSTEM, getattr(reason, "said", str(reason)).removeprefix("ring_train: "))


def experiment(chosen, options, kept):
    """Runs experiments. kept: parts of an earlier report, by number, which new ones replace. If it
    is interrupted, the report has those that are finished."""
    prepare(chosen, options)
    going = progress.Progress(len(chosen))
    parts = {}
    try:
        for article in chosen:
            parts[article.number] = run_article(article, options, going)
    except (KeyboardInterrupt, SystemExit) as interrupt:
        progress.wipe()
        if parts:
            write_report({**kept, **parts}, options)
        stop(getattr(interrupt, "code", SIGNAL + signal.SIGINT),
             f"interrupted; {len(parts)} of {len(chosen)} experiments were finished, "
             f"{'which the report has' if parts else 'so there is no report'}")
    progress.wipe()
    write_report({**kept, **parts}, options)
    return FAILED if any(part["failed"] for part in parts.values()) else OK


# ---- records -------------------------------------------------------------------------------------


def diagnose_all(paths):
    found = False
    for path in paths:
        try:
            lines, something = diagnose.tell(record.read(path))
        except files.Unreadable as reason:
            stop(SYSTEM, reason)
        found |= something
        for line in lines:
            say(line)
    return FOUND if found else OK


def read_report(path):
    """A report with verdicts that follow from its numbers, whatever it says itself."""
    try:
        return report.judge_again(report.read(path))
    except files.Unreadable as reason:
        stop(SYSTEM, reason)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError,
            RecursionError) as reason:
        stop(SYSTEM, f"{path}: not a report of ring_lab that can be judged: {reason}")


# ---- the command line ----------------------------------------------------------------------------


OPTIONS = ("--short", "--device", "--output", "--quiet", "--version", "--help")
DEVICES = (CPU, "cuda")


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
                        help="an experiment, all, again, diagnose or judge")
    parser.add_argument("files", metavar="FILE", nargs="*", help="files for diagnose and judge")
    parser.add_argument("--short", action="store_true",
                        help="take only a minute or two: shows that it works, times say little")
    parser.add_argument("--device", default=CPU, metavar="NAME",
                        help="the device that trains, and has ring_perf's buffers: cpu, cuda; "
                             "%(default)s")
    parser.add_argument("--output", type=Path, default=Path("ring_lab.out"), metavar="FOLDER",
                        help="write the report and the records of all runs there; %(default)s")
    parser.add_argument("--quiet", action="store_true", help="print nothing; write only files")
    parser.add_argument("--version", action="version", version=f"ring_lab {VERSION}")
    options, unknown = parser.parse_known_intermixed_args()
    if unknown:
        parser.error(f"there is no option {unknown[0]}{nearest(unknown[0], OPTIONS)}")
    if not options.name:
        parser.error("name an experiment, all, again, diagnose or judge")
    if options.device not in DEVICES:
        parser.error(f"--device wants {' or '.join(DEVICES)}, not '{options.device}'")
    return options


def those_of_device(chosen, device):
    """The experiments that the device can make; says which are left out, and why."""
    left_out = [] if device == CPU else [article for article in chosen if article.of_cpus]
    for article in left_out:
        sentence = (f"{article.number} ({article.name}) takes no --device {device}: "
                    f"{article.of_cpus}")
        if len(chosen) == 1:
            stop(USAGE, sentence)
        complain(f"{sentence}; it is left out")
    return [article for article in chosen if article not in left_out]


def main():
    options = read_options()
    say.quiet = options.quiet
    if options.name in ("diagnose", "judge"):
        if not options.files:
            files = {"diagnose": "records of ring_train --json", "judge": "a report.json"}
            stop(USAGE, f"{options.name} needs {files[options.name]}")
        if options.name == "judge":
            for path in options.files:
                tell(read_report(path))
            return OK
        return diagnose_all(options.files)
    if options.files:
        stop(USAGE, f"what is '{options.files[0]}'? An experiment takes no files")
    if options.name == "again":
        chosen, kept = disturbed(options)
        if not chosen:
            say("a busy machine left no claim undecided; nothing is to be repeated")
            return OK
        return experiment(chosen, options, kept)
    article = articles.find(options.name)
    if not article and options.name != "all":
        known = ", ".join(f"{known.number} ({known.name})" for known in articles.ARTICLES)
        near = nearest(options.name, [*(known.name for known in articles.ARTICLES), "all",
                                      "again", "diagnose", "judge"])
        stop(USAGE, f"there is no experiment '{options.name}'{near}; there are {known}, and all")
    chosen = [article] if article else articles.ARTICLES
    return experiment(those_of_device(chosen, options.device), options, {})


if __name__ == "__main__":
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, lambda number, _: sys.exit(SIGNAL + number))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends as other programs do if the reader is gone
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        stop(SIGNAL + signal.SIGINT, "interrupted")
    except OSError as reason:
        stop(SYSTEM, f"{reason.filename}: {reason.strerror}" if reason.filename else reason)
    except MemoryError:
        stop(SYSTEM, "out of memory")
