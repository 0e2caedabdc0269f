# SPDX-License-Identifier: MIT
"""Article 001: a tutorial of Ring-AllReduce, buckets and overlap with a cost model of its own."""

import subprocess
import sys

# A stack of equal layers: what it computes and what it sends can be set against each other.
STACK = ("--preset", "mlp40", "--layers", 16, "--width", 512, "--inputs", 512, "--outputs", 512)
TEXT = "markov:1:400000"
LARGE_BYTES = 14e9  # 7e9 gradients of 2 bytes


def measure(lab):
    count_bytes(lab)
    walk_the_ring(lab)
    predict_the_article(lab)
    predict_tiers(lab)
    measure_buckets(lab)
    measure_overlap(lab)
    ask_torch(lab)


def count_bytes(lab):
    lab.note(
        "sent_4",
        lab.sent_share("all_reduce", 4),
        "B/B",
        "bytes sent by the busiest of 4 ranks / bytes of all gradients",
    )
    lab.note("bytes_formula", 2 * 3 / 4, "B/B", "2(N-1)/N for N = 4")
    lab.note(
        "elements_formula",
        2 * 3 / 4 / 4,
        "B/B",
        "2(N-1) params / N, taken as bytes, of 4-byte gradients",
    )


def walk_the_ring(lab):
    plan = lab.steps(8)
    whole = [sum(10**rank * (block + 1) for rank in range(8)) for block in range(8)]
    owners = {
        tuple(rank for rank in range(8) if plan["steps"][7]["has"][rank][block] == whole[block])
        for block in range(8)
    }
    lab.note("steps_8", plan["steps_counted"], "", "steps of an all-reduce on 8 ranks, ring_steps")
    lab.note(
        "owners_8",
        len(owners) if all(len(ranks) == 1 for ranks in owners) else 0,
        "",
        "blocks that one rank each has summed whole after 7 steps",
    )


def predict_the_article(lab):
    rows = lab.ddp("--ranks", "2..1024*2")  # its defaults are the article's
    lab.note(
        "large_gb",
        lab.table("predict", "--link", "50GB/s,0us", "--ranks", 8, "--sizes", "14000000000")[0][3]
        / 1e9,
        "GB",
        "sent by a rank of 8, 14e9 bytes of gradients, ring_model predict",
    )
    lab.note(
        "large_ms", rows[8]["communication"], "ms", "2(N-1)/N S/B: ring_model ddp, N = 8, 50 GB/s"
    )
    for ranks in (8, 16, 32, 64):
        lab.note(
            f"eff_{ranks}",
            rows[ranks]["eff_max"],
            "",
            f"200 ms / max(200 ms, communication) on {ranks} ranks, ring_model ddp",
        )
    late = lab.ddp(
        "--ranks", "2..1024*2", "--shape", "llama7b", "--link", "50GB/s,20us", "--compute", "700ms"
    )
    for ranks in (16, 32, 128):
        lab.note(
            f"eff_latency_{ranks}",
            late[ranks]["eff"],
            "",
            f"226 buckets, 20 us a message, 700 ms of compute, {ranks} ranks: ring_model ddp",
        )
    event = lab.ddp("--ranks", 8, "--compute", "600ms")[8]
    lab.note(
        "event_over_max",
        event["event"] / event["max"],
        "",
        "bucket by bucket / max(compute, comm), 600 ms, N = 8",
    )
    ring, inside = algorithms(lab)
    lab.note("ring_ms", ring, "ms", "ring_model predict --algorithms, N = 8, 14e9 bytes, 50 GB/s")
    lab.note("in_network_ms", inside, "ms", "the same where a switch adds: each byte is sent once")
    lab.chart(
        "lines",
        "Efficiency of a model of 7e9 parameters",
        "ranks",
        "efficiency",
        {
            "article's numbers": [(n, row["eff_max"]) for n, row in rows.items()],
            "226 buckets, 20 us, 700 ms": [(n, row["eff"]) for n, row in late.items()],
        },
    )


def algorithms(lab):
    """Milliseconds of the ring, and of a switch that adds."""
    row = lab.table(
        "predict",
        "--link",
        "50GB/s,0us",
        "--chunk",
        "1M",
        "--ranks",
        8,
        "--sizes",
        "14000000000",
        "--algorithms",
    )[0]
    return row[1] / 1000, row[-1] / 1000


def predict_tiers(lab):
    """8 ranks to a host, and 25 Gbit/s between hosts."""
    rows = lab.ddp(
        "--ranks",
        "8,16",
        "--compute",
        "700ms",
        "--ranks-per-host",
        8,
        "--between",
        "25Gbit/s,20us",
        "--link",
        "50GB/s,5us",
    )
    lab.note("eff_host", rows[8]["eff"], "", "8 ranks of one host, 50 GB/s, 700 ms, ring_model ddp")
    lab.note(
        "eff_hosts", rows[16]["eff"], "", "16 ranks of two hosts, 25 Gbit/s between, ring_model ddp"
    )


def measure_buckets(lab):
    """The same gradients tensor by tensor and in buckets, on links where a message costs 200 us."""
    common = ("--preset", "seed000", "--batch", 2, "--link", "1GB/s,200us")
    tensors = lab.train("per-tensor", *common, "--mode", "naive", ranks=2, text=TEXT)
    buckets = lab.train("buckets", *common, ranks=2, text=TEXT)
    per_tensor = lab.note(
        "bus_tensors_gbs",
        tensors.summary["bus_gb_per_s"],
        "GB/s",
        "2(N-1)/N S / time of all calls alone; a call for each of 94 tensors",
    )
    lab.note("bus_buckets_gbs", buckets.summary["bus_gb_per_s"], "GB/s", "the same in buckets")
    lab.note(
        "gain_small",
        buckets.summary["bus_gb_per_s"] / per_tensor,
        "",
        "small tensors: in buckets / tensor by tensor",
    )
    lab.note("naive_calls", tensors.summary["calls"], "", "calls of a step, --mode naive")
    shape = ("--ranks", 8, "--shape", "llama7b", "--link", "50GB/s,20us", "--compute", "700ms")
    one_each, usual = lab.ddp(*shape, "--bucket", 1, "--first-bucket", 1), lab.ddp(*shape)
    lab.note(
        "gain_large",
        one_each[8]["communication"] / usual[8]["communication"],
        "",
        "shapes of a model of 7e9 parameters: tensor by tensor / in buckets, ring_model ddp",
    )
    lab.note(
        "llama_tensors",
        count_buckets(lab, *shape, "--bucket", 1, "--first-bucket", 1),
        "",
        "ring_model ddp --shape llama7b, a bucket for each",
    )
    lab.note("llama_buckets", count_buckets(lab, *shape), "", "the same in buckets of 25 MiB")


def count_buckets(lab, *arguments):
    said = lab.run("ring_model", "ddp", *arguments).splitlines()[0]
    return int(said.split(" buckets")[0].split()[-1])


def measure_overlap(lab):
    """Links on which the gradients take as long as all of the computation."""

    def train(name, *arguments):
        return lab.train(
            name, *STACK, "--batch", lab.pick(32, 128), "--bucket-mb", 1, *arguments, ranks=2
        )

    off = train("off", "--mode", "off")
    t_off = lab.note_step("t_off_ms", off)
    rate = off.run["gradient_bytes"] / t_off / 1000  # 2(N-1)/N is 1 for 2 ranks
    link = f"{max(rate, 1):.0f}MB/s,50us"
    naive, overlap = train("naive", "--mode", "naive", "--link", link), train(
        "overlap", "--link", link
    )
    alone = lab.note(
        "alone_ms", overlap.summary["comm_alone_ms"], "ms", f"all gradients, nothing else, {link}"
    )
    t_naive, t_overlap = lab.note_step("t_naive_ms", naive), lab.note_step("t_overlap_ms", overlap)
    lab.note("eff_naive", t_off / t_naive, "", "T without communication / T, --mode naive")
    lab.note("eff_overlap", t_off / t_overlap, "", "the same, --mode overlap")
    lab.note(
        "over_max",
        t_overlap / max(t_off, alone),
        "",
        "T / max(T without communication, communication alone)",
    )
    lab.chart(
        "bars",
        f"Links as slow as the computation, {link}",
        "",
        "ms",
        {
            "median step": [
                ("no communication", t_off),
                ("behind backward", t_naive),
                ("overlapped", t_overlap),
            ],
            "max(compute, comm)": [
                ("no communication", t_off),
                ("behind backward", max(t_off, alone)),
                ("overlapped", max(t_off, alone)),
            ],
        },
    )


def ask_torch(lab):
    """What the installed PyTorch takes for gradient_as_bucket_view, if there is one."""
    question = (
        "import inspect; from torch.nn.parallel import DistributedDataParallel as D; "
        "print(int(inspect.signature(D).parameters['gradient_as_bucket_view'].default))"
    )
    try:
        said = subprocess.run(
            [sys.executable, "-c", question],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return
    if said.returncode == 0:
        lab.note(
            "view_by_default",
            int(said.stdout),
            "",
            "signature of DistributedDataParallel, installed PyTorch",
        )
