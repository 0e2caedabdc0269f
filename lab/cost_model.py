# SPDX-License-Identifier: MIT
"""Article 001: a tutorial of Ring-AllReduce, buckets and overlap, with its own cost model."""

import pytorch
from lab import mean_of

# A stack of equal layers, so that computing and sending can be balanced.
STACK = ("--preset", "mlp40", "--layers", 16, "--width", 512, "--inputs", 512, "--outputs", 512)
GPT = ("--preset", "seed000", "--text", "markov:1:400000", "--batch", 2)
LARGE = "14000000000"  # bytes of 7e9 gradients
LLAMA = ("--shape", "llama7b", "--link", "50GB/s,20us", "--compute", "700ms")
EACH = ("--bucket", 1, "--first-bucket", 1)  # tensor by tensor


def measure(lab):
    count_bytes(lab)
    walk_the_ring(lab)
    predict_the_article(lab)
    predict_tiers(lab)
    measure_buckets(lab)
    predict_buckets(lab)
    measure_overlap(lab)
    ask_torch(lab)


def count_bytes(lab):
    lab.note("sent_4", lab.sent_share("all_reduce", 4), "B/B",
             "sent by the busiest of 4 ranks / bytes of all gradients, as ring_perf counts")
    lab.note("bytes_formula", 2 * 3 / 4, "B/B", "2(N-1)/N for N = 4")
    lab.note("elements_formula", 2 * 3 / 4 / 4, "B/B",
             "2(N-1) params / N, taken as bytes, of gradients of 4 bytes")


def walk_the_ring(lab):
    plan = lab.steps(8)
    whole = [sum(10**rank * (block + 1) for rank in range(8)) for block in range(8)]
    after = plan["steps"][7]["has"]
    owners = [[rank for rank in range(8) if after[rank][block] == whole[block]]
              for block in range(8)]
    alone = {ranks[0] for ranks in owners if len(ranks) == 1}
    lab.note("steps_8", plan["steps_counted"], "", "of an all-reduce on 8 ranks, ring_steps")
    lab.note("owners_8", len(alone), "", "ranks that alone have a complete block after 7 steps")


def predict_the_article(lab):
    rows = lab.ddp("--ranks", "2..1024*2")  # its defaults are the article's
    large = lab.table("predict", "--link", "50GB/s,0us", "--ranks", 8, "--sizes", LARGE)[0]
    lab.note("large_gb", large[3] / 1e9, "GB", "sent by a rank of 8 for 14e9 bytes of gradients")
    lab.note("large_ms", rows[8]["communication"], "ms", "2(N-1)/N S/B, N = 8, 50 GB/s")
    for ranks in (8, 16, 32, 64):
        lab.note(f"eff_{ranks}", rows[ranks]["eff_max"], "",
                 f"ring_model ddp: 200 ms / max(200 ms, communication), {ranks} ranks")
    late = lab.ddp("--ranks", "2..1024*2", *LLAMA)
    for ranks in (16, 32, 128):
        lab.note(f"eff_latency_{ranks}", late[ranks]["eff"], "",
                 f"ring_model ddp: 226 buckets, 20 us per message, 700 ms, {ranks} ranks")
    event = lab.ddp("--ranks", 8, "--compute", "600ms")[8]
    lab.note("event_over_max", event["event"] / event["max"], "",
             "ring_model ddp: bucket by bucket / max(compute, comm), 600 ms, N = 8")
    algorithms = lab.table("predict", "--link", "50GB/s,0us", "--chunk", "1M", "--ranks", 8,
                           "--sizes", LARGE, "--algorithms")[0]
    lab.note("ring_ms", algorithms[1] / 1000, "ms", "ring_model predict --algorithms, N = 8")
    lab.note("in_network_ms", algorithms[-1] / 1000, "ms", "the same with a switch that adds")
    lab.chart("lines", "Efficiency of a model of 7e9 parameters", "ranks", "efficiency", {
        "article's numbers": [(n, row["eff_max"]) for n, row in rows.items()],
        "226 buckets, 20 us, 700 ms": [(n, row["eff"]) for n, row in late.items()]})


def predict_tiers(lab):
    """8 ranks per host, and 25 Gbit/s between hosts."""
    rows = lab.ddp("--ranks", "8,16", "--compute", "700ms", "--ranks-per-host", 8,
                   "--between", "25Gbit/s,20us", "--link", "50GB/s,5us")
    lab.note("eff_host", rows[8]["eff"], "", "ring_model ddp: 8 ranks on one host, 700 ms")
    lab.note("eff_hosts", rows[16]["eff"], "", "ring_model ddp: 16 ranks on two hosts, 25 Gbit/s")


def measure_buckets(lab):
    """The same gradients tensor by tensor and in buckets, on links where a message costs 200 us."""
    common = (2, *GPT, "--link", "1GB/s,200us")
    runs = lab.in_turns({"per-tensor": (*common, "--mode", "naive"), "buckets": common})
    tensors, buckets = runs["per-tensor"].summary, runs["buckets"].summary
    lab.note("bus_tensors_gbs", tensors["bus_gb_per_s"], "GB/s",
             "2(N-1)/N S / time of all calls alone, one call for each of 94 tensors")
    lab.note("bus_buckets_gbs", buckets["bus_gb_per_s"], "GB/s", "the same in buckets")
    lab.note("gain_small", buckets["bus_gb_per_s"] / tensors["bus_gb_per_s"], "",
             "small tensors: bandwidth in buckets / tensor by tensor")
    lab.note("naive_calls", tensors["calls"], "", "calls per step, --mode naive")


def predict_buckets(lab):
    one_each = lab.ddp("--ranks", 8, *LLAMA, *EACH)[8]
    usual = lab.ddp("--ranks", 8, *LLAMA)[8]
    lab.note("gain_large", one_each["communication"] / usual["communication"], "",
             "shapes of a model of 7e9 parameters: tensor by tensor / in buckets, ring_model ddp")
    lab.note("llama_tensors", count_buckets(lab, *EACH), "", "ring_model ddp, one bucket for each")
    lab.note("llama_buckets", count_buckets(lab), "", "the same in buckets of 25 MiB")


def count_buckets(lab, *arguments):
    said = lab.run("ring_model", "ddp", "--ranks", 8, *LLAMA, *arguments).splitlines()[0]
    return int(said.split(" buckets")[0].split()[-1])


def measure_overlap(lab):
    """Uses links on which sending all gradients takes as long as computing the step."""
    common = (2, *STACK, "--batch", lab.pick(32, 128), "--bucket-mb", 1)
    first = lab.train("first", *common, "--mode", "off")
    # 2(N-1)/N is 1 for 2 ranks
    rate = first.run["gradient_bytes"] / first.summary["step_median_ms"] / 1000
    link = f"{max(rate, 1):.0f}MB/s,50us"
    runs = lab.in_turns({
        "off": (*common, "--mode", "off"),
        "naive": (*common, "--mode", "naive", "--link", link),
        "overlap": (*common, "--link", link),
    })
    off, naive, over = (lab.note_step(f"t_{name}_ms", runs[name]) for name in runs)
    alone = runs["overlap"].summary["comm_alone_ms"]
    bound = max(off, alone)
    backward = {name: lab.note(f"backward_{name}_ms", mean_of(run, "backward_ms"), "ms",
                               f"mean over steps and ranks, --mode {name}")
                for name, run in runs.items()}
    lab.note("eff_bound", off / (off - backward["off"] + max(backward["off"], alone)), "",
             "the best case: all communication runs beside backward, and nothing else does")
    lab.note("alone_ms", alone, "ms", f"all gradients alone, {link}")
    lab.note("eff_naive", off / naive, "", "T without communication / T, --mode naive")
    lab.note("eff_overlap", off / over, "", "the same, --mode overlap")
    lab.note("over_max", over / bound, "", "T / max(T without communication, communication alone)")
    lab.chart("bars", f"Links as slow as the computation, {link}", "", "ms", {
        "median step": [("no communication", off), ("after backward", naive),
                        ("overlapped", over)],
        "max(compute, comm)": [("no communication", off), ("after backward", bound),
                               ("overlapped", bound)]})


def ask_torch(lab):
    """Asks the installed PyTorch, if there is one."""
    answers = pytorch.ask()
    if not answers:
        return
    lab.note("view_by_default", answers["view"], "",
             "signature of DistributedDataParallel, the installed PyTorch")
    for name, calls in answers["calls"].items():
        lab.note(f"calls_{name}", calls, "",
                 "all-reduces of PyTorch's fifth step: plain, static_graph or "
                 "find_unused_parameters")
    lab.note("static_same", answers["same"], "", "1: static_graph has the same buckets as without")
