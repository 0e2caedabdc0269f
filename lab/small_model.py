# SPDX-License-Identifier: MIT
"""Article 000: a character-level GPT on two GPUs is slower than on one. Is it, and is it for
communication?"""

import re

from lab import mean_of

TEXT = "markov:1:400000"
BATCH = 32  # the article's, of each rank
PCIE = "5GB/s,10us"  # two T4 in one host, about
SLOW = "200MB/s,100us"


def measure(lab):
    measure_model(lab)
    measure_scaling(lab)
    measure_timers(lab)
    predict_larger(lab)
    count_bytes(lab)
    check_sameness(lab)


def measure_model(lab):
    said = lab.run("ring_train", "--preset", "seed000", "--print-model")
    parameters, tensors, size = map(
        int, re.search(r"(\d+) parameters in (\d+) tensors, (\d+) bytes", said).groups()
    )
    lab.note("parameters", parameters, "", "ring_train --print-model")
    lab.note("tensors", tensors, "", "ring_train --print-model")
    lab.note("gradient_bytes", size, "B", "ring_train --print-model")
    row = lab.table("predict", "--link", PCIE, "--ranks", 2, "--sizes", size)[0]
    lab.note(
        "pcie_ms",
        row[5] / 1000,
        "ms",
        f"ring_model predict --link {PCIE}, one all-reduce of all gradients",
    )


def train(lab, name, ranks, *arguments):
    batch = lab.pick(4, BATCH)
    return lab.train(
        name, "--preset", "seed000", "--batch", batch, *arguments, ranks=ranks, text=TEXT
    )


def measure_scaling(lab):
    one, two = train(lab, "one", 1), train(lab, "two", 2)
    half = lab.train(
        "half", "--preset", "seed000", "--global-batch", lab.pick(4, BATCH), ranks=2, text=TEXT
    )
    t1, t2 = lab.note_step("t1_ms", one), lab.note_step("t2_ms", two)
    t2_half = lab.note_step("t2_half_ms", half)
    lab.note("weak_percent", 100 * t1 / t2, "%", "T(1) / T(2), batch of a rank fixed")
    lab.note("strong_percent", 100 * t1 / (2 * t2_half), "%", "T(1) / (2 T(2)), global batch fixed")
    lab.note(
        "article_percent",
        100 * t1 / (2 * t2),
        "%",
        "T(1) / (2 T(2)), though the batch of a rank is fixed",
    )
    lab.note("speedup", 2 * t1 / t2, "", "samples per second of 2 ranks / of 1 = 2 T(1) / T(2)")
    lab.note(
        "overhead_percent", two.summary["overhead_percent"], "%", "exposed_ms / step_ms, 2 ranks"
    )
    lab.chart(
        "bars",
        "Step of the GPT, by ranks and batch",
        "",
        "ms",
        {
            "median step": [
                ("1 rank", t1),
                ("2 ranks, twice the examples", t2),
                ("2 ranks, as many", t2_half),
            ]
        },
    )


def misplaced(result):
    """What the article's timer calls communication: all of a step but backward, where DDP communicates."""
    return (
        mean_of(result, "step_ms") - mean_of(result, "backward_ms") - mean_of(result, "blocked_ms")
    )


def measure_timers(lab):
    """The same ranks on slow links with and without communication: what does each timer see of it?"""
    on = train(lab, "slow", 2, "--link", SLOW)
    off = train(lab, "slow-off", 2, "--link", SLOW, "--mode", "off")
    lab.note(
        "timer_ms", misplaced(on), "ms", "step - backward, with DDP's waiting in backward; 2 ranks"
    )
    lab.note("timer_off_ms", misplaced(off), "ms", "the same with --mode off: no gradient is sent")
    lab.note("exposed_ms", mean_of(on, "exposed_ms"), "ms", "blocked for communication, 2 ranks")
    lab.note("busy_ms", mean_of(on, "busy_ms"), "ms", "an all-reduce runs")
    lab.note(
        "hidden_percent", on.summary["hidden_percent"], "%", "of that, before backward is over"
    )


def predict_larger(lab):
    """Computing and communicating both grow with the parameters: what changes is what a token brings."""

    def efficiency(parameters, tokens):
        compute_s = 6 * parameters * tokens / 8e12
        rows = lab.ddp(
            "--parameters",
            int(parameters),
            "--element-bytes",
            4,
            "--buckets",
            20,
            "--ranks",
            2,
            "--compute",
            f"{compute_s:.6f}s",
            "--link",
            "5GB/s,0us",
        )
        return rows[2]["eff"]

    said = "ring_model ddp, 6 P tokens / (8 TFLOP/s), 5 GB/s"
    lab.note(
        "efficiency_4m", efficiency(4e6, 512), "", said + ", 4e6 parameters, 512 tokens of a rank"
    )
    lab.note("efficiency_1b", efficiency(1e9, 512), "", said + ", 1e9 parameters, 512 tokens")
    lab.note("efficiency_tokens", efficiency(4e6, 2048), "", said + ", 4e6 parameters, 2048 tokens")


def count_bytes(lab):
    for ranks in (2, 4, 8):
        lab.note(
            f"sent_{ranks}",
            lab.sent_share("all_reduce", ranks),
            "S",
            f"bytes that the busiest of {ranks} ranks sent / S, as ring_perf counts them",
        )
    fsdp = 2 * lab.sent_share("all_gather", 4) + lab.sent_share("reduce_scatter", 4)
    lab.note("fsdp_4", fsdp, "S", "2 all-gathers and a reduce-scatter on 4 ranks, as counted")


def check_sameness(lab):
    """ring_train ends with status 7, and so this experiment, if ranks' parameters ever differ."""
    steps = lab.pick(4, 20)
    lab.train(
        "alike",
        "--preset",
        "seed000",
        "--batch",
        2,
        "--hash-every",
        1,
        ranks=3,
        steps=steps,
        text=TEXT,
    )
    lab.note(
        "compared_steps",
        steps,
        "",
        "ring_train --hash-every 1 on 3 ranks, which fails if parameters differ",
    )
