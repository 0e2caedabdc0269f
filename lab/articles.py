# SPDX-License-Identifier: MIT
"""The five articles: their numbers, their subjects, and the experiment for each."""

from collections import namedtuple

import cost_model
import large_batch
import overlap
import small_model
import stragglers

# module     has measure(lab)
# source     whose article it is, its title and its address
# theirs     the article's own machine and model, so that readers can compare
# of_cpus    why it is only of CPUs, as a clause; "": it is not
Article = namedtuple("Article", "number name title module source theirs of_cpus", defaults=("",))

ARTICLES = (
    Article(
        "000",
        "small-model",
        "A small GPT on two GPUs is slower than on one",
        small_model,
        'Thokozani Buthelezi, "DDP Is Not Always Faster", DEV Community, '
        "https://dev.to/thokozani_buthelezi_2cd41/ddp-is-not-always-faster-23mh",
        "two T4 in one host, PyTorch DDP, a GPT of 816,705 parameters, 32 examples of 64 characters"
        " per rank",
    ),
    Article(
        "001",
        "cost-model",
        "Ring-AllReduce, buckets and overlap with a cost model",
        cost_model,
        'a lesson of a course, "Data Parallel & DDP", author and address not known',
        "no measurements: 7e9 parameters in 2 bytes, 50 GB/s, 200 ms",
    ),
    Article(
        "002",
        "overlap",
        "Averaging gradients after backward, or while it runs",
        overlap,
        'Vizuara AI, "Gradient Synchronization", in 5D Parallelism: a Visual Guide, '
        "https://vizuaraai.github.io/5d-parallelism-visual-guide/gradient-synchronization.html",
        "two GPUs, 40 layers of 4096",
    ),
    Article(
        "003",
        "stragglers",
        "Scaling, stragglers and communication on one machine",
        stragglers,
        'Duo An, "Learning PyTorch DDP Performance Tuning on a One-GPU Machine", 2026, '
        "https://duoan.github.io/posts/learning-ddp-performance-tuning-on-one-gpu",
        "Ryzen 9 9900X, PyTorch over gloo on CPUs, a perceptron 1024-1024-1024-1000, 128 examples"
        " per rank, 12 steps, one run",
        of_cpus="its claims are about ranks that share the CPUs of one machine",
    ),
    Article(
        "004",
        "large-batch",
        "Why more GPUs and larger batches are slower",
        large_batch,
        'a page of questions and answers, "Why does training with DistributedDataParallel become '
        'slower with more GPUs and larger batch sizes in PyTorch?", 2025, author and address not '
        "known",
        "no measurements: answers from experience",
    ),
)


def find(name):
    """Finds an article by number or name; None if there is none."""
    for article in ARTICLES:
        if name in (article.number, article.name):
            return article
    return None
