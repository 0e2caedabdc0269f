# SPDX-License-Identifier: MIT
"""Article 004: answers to why more GPUs and larger batches make training slower."""

from lab import mean_of

TEXT = "markov:1:400000"
LINK = "200MB/s,200us"


def measure(lab):
    measure_batches(lab)
    count_rounds(lab)
    count_calls(lab)
    measure_sampler(lab)
    measure_slow_rank(lab)
    predict_shared_medium(lab)


def train(lab, name, *arguments, ranks=2, batch=8):
    return lab.train(name, "--preset", "lab", "--batch", batch, *arguments, ranks=ranks)


def measure_batches(lab):
    runs = {
        (n, batch): train(lab, f"batch-{batch}-{n}", "--link", LINK, ranks=n, batch=batch)
        for n, batch in ((2, 8), (2, 128), (4, 8))
    }
    for (n, batch), result in runs.items():
        lab.note(
            f"bytes_{n}_{batch}",
            result.run["gradient_bytes"],
            "B",
            f"gradients of a step, {n} ranks, batch {batch}",
        )
        lab.note(
            f"alone_{n}_{batch}_ms",
            result.summary["comm_alone_ms"],
            "ms",
            f"all gradients, nothing else, {LINK}, {n} ranks, batch {batch}",
        )
    lab.note(
        "hidden_percent",
        runs[2, 128].summary["hidden_percent"],
        "%",
        "of communication, before backward is over, --mode overlap",
    )
    lab.chart(
        "bars",
        f"Communication alone, {LINK}",
        "",
        "ms",
        {
            "comm_alone_ms": [
                (f"{n} ranks, batch {batch}", result.summary["comm_alone_ms"])
                for (n, batch), result in runs.items()
            ]
        },
    )


def count_rounds(lab):
    for ranks in (2, 8):
        lab.note(
            f"steps_{ranks}",
            lab.steps(ranks)["steps_counted"],
            "",
            f"steps of an all-reduce on {ranks} ranks, ring_steps",
        )


def count_calls(lab):
    plain = train(lab, "plain")
    example = train(lab, "accumulate-example", "--accumulate", 4, "--sync-every-micro")
    no_sync = train(lab, "accumulate-no-sync", "--accumulate", 4)
    lab.note(
        "calls_plain", plain.summary["calls"], "", "all-reduces of a step without accumulation"
    )
    lab.note(
        "calls_example",
        example.summary["calls"],
        "",
        "4 micro-batches as in the article's example: each is averaged",
    )
    lab.note(
        "calls_no_sync",
        no_sync.summary["calls"],
        "",
        "4 micro-batches with no_sync around the first three",
    )


def measure_sampler(lab):
    """Without a sampler all ranks have the same examples: the mean of equal gradients is that of one rank."""
    one = train(lab, "one", ranks=1)
    none = train(lab, "no-sampler", "--sampler", "none")
    shared = train(lab, "sampler")
    for name, result in (("one", one), ("none", none), ("shared", shared)):
        lab.note(
            f"length_{name}",
            result.steps[0][0]["gradient_length"],
            "",
            "length of the averaged gradient in step 3: "
            + {
                "one": "1 rank",
                "none": "2 ranks, --sampler none",
                "shared": "2 ranks that share the examples",
            }[name],
        )


def measure_slow_rank(lab):
    even = train(lab, "even", batch=lab.pick(32, 128))
    slow = train(lab, "slow", "--slow-rank", "0:50%", batch=lab.pick(32, 128))
    lab.note_step("even_ms", even)
    lab.note_step("slow_ms", slow)
    lab.note(
        "fast_waiting_ms",
        mean_of(slow, "waiting_ms", [1]),
        "ms",
        "waiting of the rank that is not slow",
    )
    lab.note(
        "slow_waiting_ms",
        mean_of(slow, "waiting_ms", [0]),
        "ms",
        "waiting of the rank that has half its speed",
    )


def predict_shared_medium(lab):
    """N ranks on one medium: each has an N-th of it. 25e6 parameters, as of a model of images, 10 Gbit/s."""
    speedups = {}
    for ranks in (1, 2, 4, 8, 16, 32):
        if ranks == 1:
            speedups[1] = 1
            continue
        rows = lab.ddp(
            "--parameters",
            25000000,
            "--element-bytes",
            4,
            "--buckets",
            5,
            "--compute",
            "350ms",
            "--ranks",
            ranks,
            "--link",
            f"{1.25 / ranks:.6f}GB/s,50us",
        )
        speedups[ranks] = ranks * rows[ranks]["eff"]
    for ranks in (4, 8, 16):
        lab.note(
            f"speedup_{ranks}",
            speedups[ranks],
            "",
            f"{ranks} ranks with 10 Gbit/s among them, 350 ms, ring_model ddp",
        )
    lab.chart(
        "lines",
        "Ranks on one medium of 10 Gbit/s",
        "ranks",
        "times as fast as one",
        {"speedup": list(speedups.items())},
    )
