# SPDX-License-Identifier: MIT
"""Article 003: scaling, stragglers, extra communication and host work, each on purpose, on one
machine."""

import os

import diagnose
import programs
from lab import mean_of

DELAY_MS, WORK_MS = 40, 20  # the article's


def measure(lab):
    cases = measure_scaling(lab)
    cases.update(inject_faults(lab))
    name_faults(lab, cases)
    explain_growth(lab, cases)
    measure_tokens(lab)


def train(lab, name, ranks, *arguments, batch=True):
    size = ("--batch", lab.pick(32, 128)) if batch else ()
    return lab.train(name, "--preset", "lab", *size, *arguments, ranks=ranks)


def measure_scaling(lab):
    cases = {f"weak{n}": train(lab, f"weak-{n}", n) for n in (1, 2, 4)}
    whole = ("--global-batch", lab.pick(128, 512))
    cases.update(
        {f"strong{n}": train(lab, f"strong-{n}", n, *whole, batch=False) for n in (1, 2, 4)}
    )
    for name, result in cases.items():
        lab.note_step(f"{name}_ms", result)
    number = {name: lab.numbers[f"{name}_ms"].value for name in cases}
    for n in (2, 4):
        lab.note(
            f"weak{n}_percent",
            100 * number["weak1"] / number[f"weak{n}"],
            "%",
            f"T(1) / T({n}), batch of a rank fixed",
        )
        lab.note(
            f"strong{n}_percent",
            100 * number["strong1"] / (n * number[f"strong{n}"]),
            "%",
            f"T(1) / ({n} T({n})), global batch fixed",
        )
    lab.note("cpus", os.cpu_count(), "", "CPUs of this machine")
    lab.chart(
        "lines",
        "Efficiency of the perceptron",
        "ranks",
        "%",
        {
            kind: [(1, 100)] + [(n, lab.numbers[f"{kind}{n}_percent"].value) for n in (2, 4)]
            for kind in ("weak", "strong")
        }
        | {"as many as CPUs": [(n, 100 * min(n, os.cpu_count()) / n) for n in (1, 2, 4)]},
    )
    return cases


def inject_faults(lab):
    extra = lab.pick(16, 128)
    cases = {
        "straggler": train(lab, "straggler", 4, "--slow-rank", f"0:{DELAY_MS}ms"),
        "extra": train(lab, "extra", 4, "--extra-all-reduce", extra),
        "fresh": train(lab, "extra-fresh", 4, "--extra-all-reduce", extra, "--extra-fresh"),
        "host": train(lab, "host", 4, "--rank0-work", f"{WORK_MS}ms", "--barrier"),
    }
    for name, result in cases.items():
        lab.note_step(f"{name}_ms", result)
        lab.note(
            f"{name}_drop_percent",
            100 * (1 - lab.numbers["weak4_ms"].value / lab.numbers[f"{name}_ms"].value),
            "%",
            "throughput lost to 4 ranks as they are",
        )
    return cases


def name_faults(lab, cases):
    lab.note(
        "others_waiting_ms",
        mean_of(cases["straggler"], "waiting_ms", range(1, 4)),
        "ms",
        "waiting of ranks 1 to 3 for rank 0",
    )
    lab.note(
        "rank0_waiting_ms",
        mean_of(cases["straggler"], "waiting_ms", [0]),
        "ms",
        "waiting of rank 0 itself",
    )
    lab.note(
        "straggler_exposed_ms",
        mean_of(cases["straggler"], "exposed_ms"),
        "ms",
        "exposed communication with a late rank",
    )
    lab.note(
        "weak4_exposed_ms",
        mean_of(cases["weak4"], "exposed_ms"),
        "ms",
        "exposed communication without",
    )
    expected = {"straggler": "late", "extra": "communication", "host": "host"}
    named = 0
    for name, kind in expected.items():
        findings = diagnose.diagnose(cases[name])
        named += bool(findings) and findings[0].kind == kind
    lab.note("named", named, "", "of 3 injected faults, how many ring_lab diagnose names first")
    shown = {
        "as it is": "weak4",
        f"rank 0 {DELAY_MS} ms late": "straggler",
        "extra all-reduce": "extra",
        f"rank 0 works {WORK_MS} ms": "host",
    }
    lab.chart(
        "bars",
        "A step of 4 ranks, mean over ranks",
        "",
        "ms",
        {
            part: [(title, mean_of(cases[name], part + "_ms")) for title, name in shown.items()]
            for part in ("data", "forward", "backward", "exposed", "waiting", "optimizer", "host")
        },
    )


def explain_growth(lab, cases):
    """Of what a step of 4 ranks takes longer than one of 1: what is there without any communication?"""
    off = train(lab, "off", 4, "--mode", "off")
    lab.note_step("off4_ms", off)
    one, four = lab.numbers["weak1_ms"].value, lab.numbers["weak4_ms"].value
    lab.note(
        "shared_percent",
        100 * (lab.numbers["off4_ms"].value - one) / max(four - one, 1e-9),
        "%",
        "(T(4) without communication - T(1)) / (T(4) - T(1))",
    )
    lab.note(
        "article_bytes_ms",
        1.5 * 12.5 / ((1.5 * 134.2) / (271.5 - 70.2)),
        "ms",
        "article's numbers: 12.5 MB at the rate that its 128 MiB of 201 ms were sent with",
    )
    lab.note("article_growth_ms", 70.2 - 30.0, "ms", "article's numbers: T(4) - T(1)")
    return cases


def measure_tokens(lab):
    """Uneven lengths, if this ring_train draws them."""
    if "--lengths" not in programs.run("ring_train", "--help"):
        return
