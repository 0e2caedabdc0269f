# SPDX-License-Identifier: MIT
"""Article 002: averaging gradients after backward, or while it runs, on 40 equal layers."""

import files

STACK = ("--preset", "mlp40", "--layers", 40, "--width", 256, "--inputs", 256, "--outputs", 256)
WIDE = ("--preset", "mlp40", "--layers", 40, "--width", 4096, "--inputs", 4096, "--outputs", 4096)
LARGE = "14000000000"  # bytes of 7e9 gradients
BUCKETS = ("--bucket-mb", 1)
EACH = ("--bucket-mb", 0, "--first-bucket-mb", 0)  # tensor by tensor
LATE = "300MB/s,1ms"  # messages are expensive
PARTS = ("forward", "backward", "waiting", "exposed", "optimizer")


def measure(lab):
    plan_calls(lab)
    predict_bytes(lab)
    link = choose_link(lab)
    measure_modes(lab, link)
    sweep_buckets(lab)
    measure_batches(lab, link)
    compare_bits(lab)


def batch(lab):
    return "--batch", lab.pick(64, 256)


def plan_calls(lab):
    tensors, buckets, lines = lab.plan(*WIDE)
    lab.note("tensors", tensors, "", "40 layers of 4096, ring_train --plan-only")
    lab.note("buckets", buckets, "", "the same, closed at 25 MiB; tensors are not split")
    first = int(lines[1].split("layer ")[1].split()[0])
    lab.note("first_layer", first, "", "a layer in the first bucket, of 0..39")


def predict_bytes(lab):
    for ranks in (2, 1024):
        row = lab.table("predict", "--link", "50GB/s,0us", "--ranks", ranks, "--sizes", LARGE)[0]
        lab.note(f"sent_{ranks}_gb", row[3] / 1e9, "GB",
                 f"sent by a rank of {ranks}, 7e9 gradients of 2 bytes")


def choose_link(lab):
    """Chooses a link on which communication alone is about 35 % of a step, as in the article."""
    off = lab.train("off", 2, *STACK, *batch(lab), "--mode", "off")
    rate = off.run["gradient_bytes"] / (0.54 * lab.note_step("t_off_ms", off)) / 1000
    return f"{max(rate, 1):.0f}MB/s,20us"


def measure_modes(lab, link):
    common = (2, *STACK, *batch(lab), "--link", link)
    runs = lab.in_turns({
        "naive": (*common, "--mode", "naive"),
        "overlap": (*common, *BUCKETS),
        "hooks": (*common, *EACH),
    })
    for name in ("naive", "overlap"):
        summary = runs[name].summary
        lab.note_step(f"t_{name}_ms", runs[name])
        lab.note(f"{name}_percent", summary["overhead_percent"], "%",
                 f"exposed_ms / step_ms, --mode {name}, {link}")
        lab.note(f"{name}_bytes", summary["payload_bytes"], "B",
                 f"sent per step, all ranks, --mode {name}")
    hooks = runs["hooks"].summary
    lab.note("hooks_hidden_percent", hooks["hidden_percent"], "%",
             "hidden_ms / busy_ms, one call per tensor as soon as it is ready")
    lab.note("hooks_calls", hooks["calls"], "", "calls per step in that run")
    trace = lab.folder / "overlap.trace"
    lab.train("traced", *common, *BUCKETS, "--trace", trace, steps=4)
    lab.note("rows_per_rank", rows_of(trace) / 2, "", "named rows of the trace / ranks")
    lab.chart("bars", f"A step without overlap (naive) and with it, {link}", "", "ms", {
        part: [(name, runs[name].summary[part + "_ms"]) for name in ("naive", "overlap")]
        for part in PARTS})


def rows_of(path):
    events = files.read_json(path)
    events = events["traceEvents"] if isinstance(events, dict) else events
    return len({(event.get("pid"), event.get("tid")) for event in events
                if event.get("name") == "thread_name"})


def sweep_buckets(lab):
    """If calls are expensive, many small buckets are slow, but a single one hides nothing."""
    caps = lab.pick((0.25, 2, 64), (0.25, 0.5, 1, 2, 4, 64))
    runs = lab.in_turns({
        f"cap-{cap}": (2, *STACK, *batch(lab), "--bucket-mb", cap,
                       "--first-bucket-mb", min(cap, 1), "--link", LATE) for cap in caps})
    times = [(cap, runs[f"cap-{cap}"].summary["step_median_ms"]) for cap in caps]
    lab.note("cap_smallest_ms", times[0][1], "ms", f"median step, buckets of 0.25 MiB, {LATE}")
    lab.note("cap_largest_ms", times[-1][1], "ms", "median step, all in one bucket")
    lab.note("cap_best_ms", min(ms for _, ms in times), "ms", "shortest median step of the sweep")
    lab.chart("lines", f"Step by size of a bucket, {LATE}", "MiB; 64: all in one", "ms",
              {"median step": times})


def measure_batches(lab, link):
    """A larger batch makes backward longer, but not the gradients larger."""
    sizes = {"small": lab.pick(16, 64), "large": lab.pick(256, 1024)}
    runs = lab.in_turns({
        name: (2, *STACK, *BUCKETS, "--batch", size, "--link", link)
        for name, size in sizes.items()})
    for name, size in sizes.items():
        lab.note(f"hidden_{name}_percent", runs[name].summary["hidden_percent"], "%",
                 f"hidden_ms / busy_ms, batch {size}, {link}")


def compare_bits(lab):
    """Compares all digits of gradients' lengths. Two numbers have the same sum in either order."""
    for ranks in (2, 3):
        lengths = [lab.train(f"bits-{mode}-{ranks}", ranks, *STACK, *BUCKETS, "--batch", 8,
                             "--mode", mode, steps=6).values(0, "gradient_length")
                   for mode in ("naive", "overlap")]
        worst = max(abs(a - b) / max(abs(a), 1e-30) for a, b in zip(*lengths))
        lab.note(f"difference_{ranks}", worst, "",
                 f"gradients' lengths, naive against overlap, relative, {ranks} ranks")
