# SPDX-License-Identifier: MIT
"""Article 004: why more GPUs and larger batches may make training slower."""

from lab import mean_of

MODEL = ("--preset", "lab")
SMALL = (*MODEL, "--batch", 8)
LINK = "200MB/s,200us"


def measure(lab):
    measure_batches(lab)
    count_rounds(lab)
    count_calls(lab)
    measure_sampler(lab)
    measure_slow_rank(lab)
    predict_shared_medium(lab)


def measure_batches(lab):
    cases = {(n, size): f"{n}_{size}" for n, size in ((2, 8), (2, 128), (4, 8))}
    runs = lab.in_turns({name: (n, *MODEL, "--batch", size, "--link", LINK)
                         for (n, size), name in cases.items()})
    for (n, size), name in cases.items():
        lab.note(f"bytes_{name}", runs[name].run["gradient_bytes"], "B",
                 f"gradients per step, {n} ranks, batch {size}")
        lab.note(f"alone_{name}_ms", runs[name].summary["comm_alone_ms"], "ms",
                 f"all gradients alone, {LINK}, {n} ranks, batch {size}")
    hidden = runs["2_128"].summary["hidden_percent"]
    lab.note("hidden_percent", hidden, "%", "of communication runs before backward is over")
    lab.chart("bars", f"Communication alone, {LINK}", "", "ms", {"comm_alone_ms": [
        (f"{n} ranks, batch {size}", lab.numbers[f"alone_{name}_ms"].value)
        for (n, size), name in cases.items()]})


def count_rounds(lab):
    for ranks in (2, 8):
        lab.note(f"steps_{ranks}", lab.steps(ranks)["steps_counted"], "",
                 f"of an all-reduce on {ranks} ranks, ring_steps")


def count_calls(lab):
    four = (2, *SMALL, "--accumulate", 4)
    for name, run, source in (
            ("plain", (2, *SMALL), "without accumulation"),
            ("example", (*four, "--sync-every-micro"),
             "4 micro-batches as in the article's example: each is averaged"),
            ("no_sync", four, "4 micro-batches with no_sync around the first three")):
        calls = lab.train(f"calls-{name}", *run, steps=4).summary["calls"]
        lab.note(f"calls_{name}", calls, "", f"all-reduces per step, {source}")


def measure_sampler(lab):
    """Without a sampler all ranks have the same examples, so their mean gradient is that of one
    rank."""
    for name, run, source in (
            ("one", (1, *SMALL), "1 rank"),
            ("none", (2, *SMALL, "--sampler", "none"), "2 ranks, --sampler none"),
            ("shared", (2, *SMALL), "2 ranks that share the examples")):
        length = lab.train(f"sampler-{name}", *run, steps=4).steps[0][0]["gradient_length"]
        lab.note(f"length_{name}", length, "", f"of the averaged gradient in step 3, {source}")


def measure_slow_rank(lab):
    common = (2, *MODEL, "--batch", lab.pick(32, 128))
    runs = lab.in_turns({"even": common, "slow": (*common, "--slow-rank", "0:50%")})
    lab.note_step("even_ms", runs["even"])
    lab.note_step("slow_ms", runs["slow"])
    lab.note("fast_waiting_ms", mean_of(runs["slow"], "waiting_ms", [1]), "ms",
             "waiting of the other rank")
    lab.note("slow_waiting_ms", mean_of(runs["slow"], "waiting_ms", [0]), "ms",
             "waiting of the rank with half its speed")


def predict_shared_medium(lab):
    """N ranks share one medium, so each has an N-th of it. 25e6 parameters: a model for images."""
    speedups = {1: 1}
    for ranks in (2, 4, 8, 16, 32):
        rows = lab.ddp("--parameters", 25000000, "--element-bytes", 4, "--buckets", 5,
                       "--compute", "350ms", "--ranks", ranks,
                       "--link", f"{1.25 / ranks:.6f}GB/s,50us")
        speedups[ranks] = ranks * rows[ranks]["eff"]
    for ranks in (4, 8, 16):
        lab.note(f"speedup_{ranks}", speedups[ranks], "",
                 f"ring_model ddp, {ranks} ranks that share 10 Gbit/s, 350 ms")
    lab.chart("lines", "Ranks on one medium of 10 Gbit/s", "ranks", "times as fast as one",
              {"speedup": list(speedups.items())})
