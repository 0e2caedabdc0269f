# SPDX-License-Identifier: MIT
"""Article 002: gradients behind backward, or while it runs, on a stack of 40 equal layers."""

import json

STACK = ("--preset", "mlp40", "--layers", 40, "--width", 256, "--inputs", 256, "--outputs", 256)
WIDE = ("--preset", "mlp40", "--layers", 40, "--width", 4096, "--inputs", 4096, "--outputs", 4096)
BUCKET = ("--bucket-mb", 1)


def measure(lab):
    plan_calls(lab)
    predict_bytes(lab)
    link = choose_link(lab)
    measure_modes(lab, link)
    sweep_buckets(lab)
    measure_batches(lab, link)
    compare_bits(lab)


def plan_calls(lab):
    tensors, buckets, lines = lab.plan(*WIDE)
    lab.note("tensors", tensors, "", "40 layers of 4096, ring_train --plan-only")
    lab.note("buckets", buckets, "", "the same, closed at 25 MiB; a tensor is never cut")
    lab.note(
        "first_layer",
        int(lines[1].split("layer ")[1].split()[0]),
        "",
        "a layer whose gradients are in the first bucket, of 0..39",
    )


def predict_bytes(lab):
    for ranks in (2, 1024):
        row = lab.table(
            "predict", "--link", "50GB/s,0us", "--ranks", ranks, "--sizes", "14000000000"
        )[0]
        lab.note(
            f"sent_{ranks}_gb",
            row[3] / 1e9,
            "GB",
            f"sent by a rank of {ranks}, 7e9 gradients of 2 bytes",
        )


def train(lab, name, *arguments, ranks=2, batch=None):
    return lab.train(name, *STACK, "--batch", batch or lab.pick(64, 256), *arguments, ranks=ranks)


def choose_link(lab):
    """Communication alone shall be some 35 % of a step, as in the article's table."""
    off = train(lab, "off", "--mode", "off")
    t_off = lab.note_step("t_off_ms", off)
    return f"{max(off.run['gradient_bytes'] / (0.54 * t_off) / 1000, 1):.0f}MB/s,20us"


def measure_modes(lab, link):
    naive = train(lab, "naive", "--mode", "naive", "--link", link)
    overlap = train(
        lab, "overlap", *BUCKET, "--link", link, "--trace", lab.folder / "overlap.trace"
    )
    hooks = train(lab, "hooks", "--bucket-mb", 0, "--first-bucket-mb", 0, "--link", link)
    for name, result in (("naive", naive), ("overlap", overlap)):
        lab.note_step(f"t_{name}_ms", result)
        lab.note(
            f"{name}_percent",
            result.summary["overhead_percent"],
            "%",
            f"exposed_ms / step_ms, --mode {name}, {link}",
        )
    lab.note(
        "hooks_hidden_percent",
        hooks.summary["hidden_percent"],
        "%",
        "hidden, a call for each tensor as soon as it is ready",
    )
    lab.note("hooks_calls", hooks.summary["calls"], "", "calls of a step of that")
    lab.note(
        "naive_bytes",
        naive.summary["payload_bytes"],
        "B",
        "sent in a step, all ranks, --mode naive",
    )
    lab.note(
        "overlap_bytes",
        overlap.summary["payload_bytes"],
        "B",
        "sent in a step, all ranks, --mode overlap",
    )
    lab.note(
        "rows_per_rank",
        rows_of(lab.folder / "overlap.trace") / 2,
        "",
        "named rows of the trace / ranks",
    )
    lab.chart(
        "bars",
        f"A step behind one another and overlapped, {link}",
        "",
        "ms",
        {
            part: [
                (mode, result.summary[part + "_ms"])
                for mode, result in (("naive", naive), ("overlap", overlap))
            ]
            for part in ("forward", "backward", "waiting", "exposed", "optimizer")
        },
    )


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    events = events["traceEvents"] if isinstance(events, dict) else events
    return len(
        {
            (event.get("pid"), event.get("tid"))
            for event in events
            if event.get("name") == "thread_name"
        }
    )


def sweep_buckets(lab):
    """Where a call is dear many small buckets are slow, and a single one hides nothing."""
    times = {}
    for cap in lab.pick((0.25, 2, 64), (0.25, 0.5, 1, 2, 4, 64)):
        result = train(
            lab,
            f"cap-{cap}",
            "--bucket-mb",
            cap,
            "--first-bucket-mb",
            min(cap, 1),
            "--link",
            "300MB/s,1ms",
        )
        times[cap] = result.summary["step_median_ms"]
    lab.note(
        "cap_smallest_ms", times[0.25], "ms", "median step, buckets of 0.25 MiB, 300 MB/s and 1 ms"
    )
    lab.note("cap_largest_ms", times[64], "ms", "median step, one bucket of all")
    lab.note("cap_best_ms", min(times.values()), "ms", "the shortest median step of the sweep")
    lab.chart(
        "lines",
        "Step by size of a bucket, 300 MB/s and 1 ms",
        "MiB",
        "ms",
        {"median step": list(times.items())},
    )


def measure_batches(lab, link):
    """A larger batch makes backward longer, and leaves the gradients as they are."""
    hidden = {}
    for batch in (lab.pick(16, 64), lab.pick(256, 1024)):
        result = train(lab, f"batch-{batch}", *BUCKET, "--link", link, batch=batch)
        hidden[batch] = result.summary["hidden_percent"]
    small, large = sorted(hidden)
    lab.note(
        "hidden_small_percent", hidden[small], "%", f"hidden_ms / busy_ms, batch {small}, {link}"
    )
    lab.note(
        "hidden_large_percent", hidden[large], "%", f"hidden_ms / busy_ms, batch {large}, {link}"
    )


def compare_bits(lab):
    """All digits of gradients' lengths: of two numbers either order gives the same sum."""
    for ranks in (2, 3):
        runs = [
            lab.train(
                f"bits-{mode}-{ranks}",
                *STACK,
                "--batch",
                8,
                "--mode",
                mode,
                *BUCKET,
                ranks=ranks,
                steps=6,
            )
            for mode in ("naive", "overlap")
        ]
        lengths = [run.values(0, "gradient_length") for run in runs]
        worst = max(abs(a - b) / max(abs(a), 1e-30) for a, b in zip(*lengths))
        lab.note(
            f"difference_{ranks}",
            worst,
            "",
            f"gradients' lengths, naive against overlap, relative, {ranks} ranks",
        )
