# SPDX-License-Identifier: MIT
"""Article 003: scaling on one machine; stragglers, extra communication and host work on purpose."""

import os

import diagnose
from lab import mean_of

MODEL = ("--preset", "lab")  # the article's
DELAY_MS, WORK_MS = 40, 20
BATCHINGS = ("samples", "tokens", "buckets", "packed")
PARTS = ("data", "forward", "backward", "exposed", "waiting", "optimizer", "host")

# From the article's table: 12.5 MB of gradients, at the rate of its 128 MiB in 201.3 ms
ARTICLE_BYTES_MS, ARTICLE_GROWTH_MS = 12.5 / 134.2 * (271.5 - 70.2), 70.2 - 30.0


def measure(lab):
    cases = measure_scaling(lab)
    cases.update(inject_faults(lab))
    name_faults(lab, cases)
    explain_growth(lab, cases)
    measure_tokens(lab)


def batch(lab):
    return "--batch", lab.pick(32, 128)


def measure_scaling(lab):
    whole = "--global-batch", lab.pick(128, 512)
    cases = {f"weak{n}": (n, *MODEL, *batch(lab)) for n in (1, 2, 4)}
    cases["off4"] = (*cases["weak4"], "--mode", "off")
    cases.update({f"strong{n}": (n, *MODEL, *whole) for n in (1, 2, 4)})
    runs = lab.in_turns(cases)
    ms = {name: lab.note_step(f"{name}_ms", run) for name, run in runs.items()}
    for n in (2, 4):
        lab.note(f"weak{n}_percent", 100 * ms["weak1"] / ms[f"weak{n}"], "%",
                 f"T(1) / T({n}), batch per rank fixed")
        lab.note(f"strong{n}_percent", 100 * ms["strong1"] / (n * ms[f"strong{n}"]), "%",
                 f"T(1) / ({n} T({n})), global batch fixed")
    cpus = lab.note("cpus", len(os.sched_getaffinity(0)), "", "CPUs that the ranks may use")
    curves = {kind: [(1, 100)] + [(n, lab.numbers[f"{kind}{n}_percent"].value) for n in (2, 4)]
              for kind in ("weak", "strong")}
    curves["as many as CPUs"] = [(n, 100 * min(n, cpus) / n) for n in (1, 2, 4)]
    lab.chart("lines", "Efficiency of the perceptron", "ranks", "%", curves)
    return runs


def inject_faults(lab):
    four, extra = (4, *MODEL, *batch(lab)), ("--extra-all-reduce", lab.pick(16, 128))
    runs = lab.in_turns({
        "straggler": (*four, "--slow-rank", f"0:{DELAY_MS}ms"),
        "extra": (*four, *extra),
        "fresh": (*four, *extra, "--extra-fresh"),
        "host": (*four, "--rank0-work", f"{WORK_MS}ms", "--barrier"),
    })
    usual = lab.numbers["weak4_ms"].value
    for name, run in runs.items():
        ms = lab.note_step(f"{name}_ms", run)
        lab.note(f"{name}_drop_percent", 100 * (1 - usual / ms), "%",
                 "throughput lost, compared with 4 ranks without faults")
    return runs


def name_faults(lab, cases):
    late = cases["straggler"]
    lab.note("others_waiting_ms", mean_of(late, "waiting_ms", range(1, 4)), "ms",
             "waiting of ranks 1 to 3 for rank 0")
    lab.note("rank0_waiting_ms", mean_of(late, "waiting_ms", [0]), "ms", "waiting of rank 0 itself")
    for name in ("straggler", "weak4"):
        lab.note(f"{name}_exposed_ms", mean_of(cases[name], "exposed_ms"), "ms",
                 "exposed communication, mean over ranks")
    expected = {"straggler": "late", "extra": "communication", "host": "host"}
    first = {name: [finding.kind for finding in diagnose.diagnose(cases[name])[:1]]
             for name in expected}
    named = sum(first[name] == [kind] for name, kind in expected.items())
    lab.note("named", named, "", "how many of 3 injected faults ring_lab diagnose names first")
    shown = {"no fault": "weak4", f"rank 0 {DELAY_MS} ms late": "straggler",
             "extra all-reduce": "extra", f"rank 0 works {WORK_MS} ms": "host"}
    lab.chart("bars", "A step of 4 ranks, mean over ranks", "", "ms", {
        part: [(title, mean_of(cases[name], part + "_ms")) for title, name in shown.items()]
        for part in PARTS})


def explain_growth(lab, cases):
    """Steps of 4 ranks are longer than those of 1: how much of that is not communication?"""
    one, four, off = (lab.numbers[f"{name}_ms"].value for name in ("weak1", "weak4", "off4"))
    lab.note("shared_percent", 100 * (off - one) / max(four - one, 1e-9), "%",
             "(T(4) without communication - T(1)) / (T(4) - T(1))")
    lab.note("article_bytes_ms", ARTICLE_BYTES_MS, "ms",
             "article's table: 12.5 MB at the rate of its 128 MiB in 201.3 ms")
    lab.note("article_growth_ms", ARTICLE_GROWTH_MS, "ms", "article's table: T(4) - T(1)")


def measure_tokens(lab):
    """Trains a GPT on examples of uneven lengths, batched in four ways. Ranks compute padding,
    too."""
    uneven = ("--preset", "seed000", "--text", "markov:1:400000", "--batch", 8,
              "--lengths", "lognormal:16:1")
    runs = lab.in_turns({by: (4, *uneven, "--batching", by) for by in BATCHINGS})
    for by in BATCHINGS:
        summary = runs[by].summary
        lab.note(f"imbalance_{by}", summary["imbalance"], "",
                 f"tokens computed by the busiest rank / the mean one, --batching {by}")
        lab.note(f"padding_{by}_percent", summary["padding_percent"], "%",
                 f"padding / all tokens computed, --batching {by}")
        lab.note(f"rate_{by}", summary["tokens_per_s"], "1/s",
                 f"tokens of all ranks / T(4), --batching {by}")
    lab.chart("bars", "Tokens of uneven examples, 4 ranks", "", "tokens per second",
              {"tokens_per_s": [(by, runs[by].summary["tokens_per_s"]) for by in BATCHINGS]})
