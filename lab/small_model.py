# SPDX-License-Identifier: MIT
"""Article 000: a character-level GPT on two GPUs is slower than on one. Is that so, and is it
because of communication?"""

import re

from lab import mean_of

MODEL = ("--preset", "seed000", "--text", "markov:1:400000")
PCIE = "5GB/s,10us"  # two T4 in one host, about
SLOW = "200MB/s,100us"


def measure(lab):
    measure_model(lab)
    measure_scaling(lab)
    measure_timers(lab)
    predict_larger(lab)
    count_bytes(lab)
    check_sameness(lab)


def batch(lab):
    return lab.pick(4, 32)  # per rank, as in the article


def measure_model(lab):
    said = lab.run("ring_train", "--preset", "seed000", "--print-model")
    counts = re.search(r"(\d+) parameters in (\d+) tensors, (\d+) bytes", said).groups()
    for name, count in zip(("parameters", "tensors", "gradient_bytes"), counts):
        lab.note(name, int(count), "", "ring_train --print-model")
    row = lab.table("predict", "--link", PCIE, "--ranks", 2, "--sizes", counts[2])[0]
    lab.note("pcie_ms", row[4] / 1000, "ms", f"ring_model predict --link {PCIE}, all gradients")


def measure_scaling(lab):
    runs = lab.in_turns({
        "one": (1, *MODEL, "--batch", batch(lab)),
        "two": (2, *MODEL, "--batch", batch(lab)),
        "half": (2, *MODEL, "--global-batch", batch(lab)),
    })
    t1, t2 = lab.note_step("t1_ms", runs["one"]), lab.note_step("t2_ms", runs["two"])
    half = lab.note_step("t2_half_ms", runs["half"])
    lab.note("weak_percent", 100 * t1 / t2, "%", "T(1) / T(2), batch per rank fixed")
    lab.note("strong_percent", 100 * t1 / (2 * half), "%", "T(1) / (2 T(2)), global batch fixed")
    lab.note("article_percent", 100 * t1 / (2 * t2), "%",
             "T(1) / (2 T(2)), although the batch per rank is fixed")
    lab.note("speedup", 2 * t1 / t2, "", "2 T(1) / T(2): samples per second of 2 ranks / of 1")
    overhead = runs["two"].summary["overhead_percent"]
    lab.note("overhead_percent", overhead, "%", "exposed_ms / step_ms, 2 ranks")
    lab.chart("bars", "Step of the GPT, by ranks and batch", "", "ms", {"median step": [
        ("1 rank", t1), ("2 ranks, twice the examples", t2), ("2 ranks, same examples", half)]})


def misplaced(result):
    """The time that the article's timer takes for communication: the step without backward. DDP's
    waiting is in backward."""
    rest = (mean_of(result, "backward_ms"), mean_of(result, "blocked_ms"))
    return mean_of(result, "step_ms") - sum(rest)


def measure_timers(lab):
    """Runs ranks on slow links with and without communication: what do timers measure?"""
    common = (2, *MODEL, "--batch", batch(lab), "--link", SLOW)
    runs = lab.in_turns({"slow": common, "slow-off": (*common, "--mode", "off")})
    on, off = runs["slow"], runs["slow-off"]
    lab.note("timer_ms", misplaced(on), "ms", "step - backward, with DDP's waiting in backward")
    lab.note("timer_off_ms", misplaced(off), "ms", "the same with --mode off: no gradient is sent")
    lab.note("exposed_ms", mean_of(on, "exposed_ms"), "ms", "blocked for communication")
    lab.note("busy_ms", mean_of(on, "busy_ms"), "ms", "an all-reduce runs")
    hidden = on.summary["hidden_percent"]
    lab.note("hidden_percent", hidden, "%", "of that time is before backward is over")


def predict_larger(lab):
    """Computing and communication grow with the parameters; tokens add only computing."""
    for name, parameters, tokens in (("efficiency_4m", 4e6, 512), ("efficiency_1b", 1e9, 512),
                                     ("efficiency_tokens", 4e6, 2048)):
        rows = lab.ddp("--parameters", int(parameters), "--element-bytes", 4, "--buckets", 20,
                       "--ranks", 2, "--compute", f"{6 * parameters * tokens / 8e12:.6f}s",
                       "--link", "5GB/s,0us")
        lab.note(name, rows[2]["eff"], "", f"ring_model ddp, {parameters:g} parameters, {tokens} "
                 "tokens per rank at 8 TFLOP/s, 5 GB/s")


def count_bytes(lab):
    for ranks in (2, 4, 8):
        lab.note(f"sent_{ranks}", lab.sent_share("all_reduce", ranks), "S",
                 f"sent by the busiest of {ranks} ranks / S, as ring_perf counts")
    fsdp = 2 * lab.sent_share("all_gather", 4) + lab.sent_share("reduce_scatter", 4)
    lab.note("fsdp_4", fsdp, "S", "2 all-gathers and a reduce-scatter on 4 ranks, by ring_perf")


def check_sameness(lab):
    """If ranks' parameters differ, ring_train ends with status 7, which ends this experiment."""
    steps = lab.pick(4, 20)
    lab.train("alike", 3, *MODEL, "--batch", 2, "--hash-every", 1, steps=steps)
    lab.note("compared_steps", steps, "",
             "ring_train --hash-every 1 on 3 ranks, which fails if parameters differ")
