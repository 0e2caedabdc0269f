# SPDX-License-Identifier: MIT
"""The claims of the five articles, in our own words. Each row also says how its claim is judged.

number      in the article's table of claims: 1.4 is in article 001
timed       whether times decide; then a busy machine gives no verdict
says        the claim
theirs      the article's number, or its statement
formula     of the numbers that decide
measured    how they are measured here
confirmed   the rule that confirms it, over names of numbers (judge.py); "": out of reach here
refuted     the rule that refutes it; if neither holds, it is undecided
yes, no     the reason, with {names} for numbers, if the claim is confirmed or refuted
unless      the reason, if the claim is out of reach
"""

from collections import namedtuple

Claim = namedtuple(
    "Claim",
    "number timed says theirs formula measured confirmed refuted yes no unless",
    defaults=("-", "-", "-", "", "", "", "", ""),
)

CLAIMS = (
    # ---- 000: a small model on two GPUs ----------------------------------------------------------
    Claim("0.1", timed=True,
          says="A second GPU makes training slower: the efficiency is 41.8 %.",
          theirs="22.03 ms, 26.36 ms, 41.8 %",
          formula="T(1) / T(2), batch per rank fixed; the article's is T(1) / (2 T(2))",
          measured="the same GPT on 1 and 2 ranks, twice the examples on 2",
          confirmed="speedup < 1",
          refuted="speedup > 1.05 and weak_percent > 1.5 * article_percent",
          yes="Two ranks process fewer examples per second than one rank, {speedup} times as "
              "many. The article's own formula gives {article_percent} %.",
          no="Two ranks process {speedup} times as many examples per second, so the efficiency "
             "is {weak_percent} %. The article divides by the number of ranks once too often: "
             "its batch per rank is fixed. By its formula this run has {article_percent} %."),
    Claim("0.2", timed=True,
          says="42.6 % of a step is communication: everything except backward.",
          theirs="15.12 + 11.24 ms, 42.6 %",
          formula="step - backward, with and without communication",
          measured="2 ranks on links of 200 MB/s, and the same without communication",
          confirmed="timer_off_ms < 0.3 * timer_ms",
          refuted="timer_off_ms > 0.6 * timer_ms",
          yes="The article's timer reads {timer_ms} ms, and {timer_off_ms} ms when nothing is "
              "sent. So it measures communication.",
          no="The article's timer reads {timer_ms} ms, and still {timer_off_ms} ms when nothing "
             "is sent. It measures forward and the optimizer; DDP communicates within backward."),
    Claim("0.3", timed=False,
          says="The model has 4 million parameters.",
          theirs="4M",
          formula="elements of all tensors",
          measured="the article's configuration, built here",
          confirmed="3.5e6 < parameters < 4.5e6",
          refuted="parameters < 1e6",
          yes="The configuration has {parameters} parameters, as the article says.",
          no="The configuration has {parameters} parameters in {tensors} tensors. Their "
             "gradients have 3.27 MB; perhaps the article's number comes from that."),
    Claim("0.4", timed=False,
          says="At this size, over PCIe, communication dominates the step.",
          theirs="11.24 ms",
          formula="2(N-1)/N S / B at 5 GB/s",
          measured="ring_model's prediction for two ranks",
          confirmed="pcie_ms > 5",
          refuted="pcie_ms < 2",
          yes="Sending all gradients takes {pcie_ms} ms. That is near the article's number.",
          no="Sending all gradients over such a bus takes {pcie_ms} ms, a few percent of the "
             "article's step. If it took 11.24 ms, the bus would have only 0.29 GB/s."),
    Claim("0.5", timed=False,
          says="A model of 1e9 parameters would reach 80 to 90 %, because it computes more.",
          theirs="80-90 %",
          formula="6 P tokens / F against 2(N-1)/N 4 P / B: P cancels",
          measured="ring_model, 4e6 and 1e9 parameters, 512 and 2048 tokens",
          confirmed="efficiency_1b > efficiency_4m + 0.1",
          refuted="abs(efficiency_1b - efficiency_4m) < 0.02 and efficiency_tokens > "
                  "efficiency_4m + 0.1",
          yes="With more parameters efficiency goes from {efficiency_4m} to {efficiency_1b}. So "
              "the size of the model matters.",
          no="Efficiency is {efficiency_4m} with 4e6 parameters and {efficiency_1b} with 1e9, "
             "because computing and communication both grow with the parameters. The tokens per "
             "rank matter: with four times as many, efficiency is {efficiency_tokens}."),
    Claim("0.6", timed=False,
          says="With more than two GPUs, each has a smaller share of the communication.",
          theirs="-",
          formula="bytes sent by a rank: 2(N-1)/N S",
          measured="counted by the links of 2, 4 and 8 ranks",
          confirmed="sent_8 < sent_2",
          refuted="sent_8 > sent_4 > sent_2",
          yes="A rank sends less when there are more ranks. So they share the cost.",
          no="Each of 2 ranks sends {sent_2} S, each of 4 ranks {sent_4} S, each of 8 ranks "
             "{sent_8} S. The amount grows towards 2 S; ranks do not share it."),
    Claim("0.7", timed=False,
          says="Sharded parameters (FSDP) help if communication is expensive.",
          theirs="-",
          formula="3(N-1)/N S against 2(N-1)/N S",
          measured="bytes of two all-gathers and a reduce-scatter, counted on 4 ranks",
          confirmed="fsdp_4 < sent_4",
          refuted="fsdp_4 > 1.4 * sent_4",
          yes="Each of 4 ranks sends {fsdp_4} S with sharded parameters, and {sent_4} S to "
              "average gradients. So sharding sends less.",
          no="Each of 4 ranks sends {fsdp_4} S with sharded parameters, and {sent_4} S to average "
             "gradients. Sharding saves memory, but sends half as much again."),
    Claim("0.8", timed=False,
          says="All processes get identical gradients and make identical steps.",
          theirs="-",
          formula="hash of all parameters, compared after each step",
          measured="3 ranks, ring_train --hash-every 1",
          confirmed="compared_steps > 0",
          refuted="compared_steps == 0",
          yes="Parameters were compared after each of {compared_steps} steps, and were equal bit "
              "for bit. The reason: each part of a sum is added up once and then copied.",
          no="Parameters differed, which is an error."),
    Claim("0.9", timed=True,
          says="Gradients are averaged after backward is over.",
          theirs="-",
          formula="communication before the end of backward / all of it",
          measured="2 ranks on links of 200 MB/s, buckets as DDP makes them",
          confirmed="hidden_percent < 2",
          refuted="hidden_percent > 5",
          yes="{hidden_percent} % of communication runs before backward is over. So nearly all of "
              "it comes after backward.",
          no="{hidden_percent} % of communication runs before backward is over. Only the last "
             "bucket has to wait for the end of backward."),

    # ---- 001: a tutorial with a cost model -------------------------------------------------------
    Claim("1.1", timed=False,
          says="Each GPU of a ring sends 2 (N-1) params / N bytes per step.",
          theirs="2(N-1) params / N",
          formula="2(N-1)/N S, S in bytes",
          measured="counted by the links of 4 ranks",
          confirmed="abs(sent_4 - elements_formula) < 0.01",
          refuted="abs(sent_4 - bytes_formula) < 0.01",
          yes="A rank sends {sent_4} bytes per byte of gradients, as the formula says.",
          no="A rank sends {sent_4} bytes per byte of gradients. The formula counts elements "
             "and leaves out the bytes of each; further down the article has it right."),
    Claim("1.2", timed=False,
          says="With 7e9 parameters of 2 bytes, each of 8 GPUs sends about 24 GB.",
          theirs="24 GB",
          formula="2(N-1)/N S",
          measured="ring_model predict, which counts the bytes of the plan",
          confirmed="abs(large_gb - 24) < 1",
          refuted="abs(large_gb - 24) > 3",
          yes="A rank sends {large_gb} GB. The article rounds.",
          no="A rank sends {large_gb} GB. That is not the article's number."),
    Claim("1.3", timed=False,
          says="At 50 GB/s that takes about 500 ms.",
          theirs="500 ms",
          formula="2(N-1)/N S / B",
          measured="ring_model ddp",
          confirmed="abs(large_ms - 500) < 25",
          refuted="abs(large_ms - 500) > 50",
          yes="It takes {large_ms} ms. Whether NVLink reaches 50 GB/s is another question.",
          no="It takes {large_ms} ms. That is not the article's number."),
    Claim("1.4", timed=False,
          says="Reduce-scatter takes N-1 rounds and all-gather N-1 more; after the first N-1 each "
               "GPU has one chunk of the complete sum.",
          theirs="2(N-1)",
          formula="steps of the plan",
          measured="ring_steps walks the plan of 8 ranks",
          confirmed="steps_8 == 14 and owners_8 == 8",
          refuted="steps_8 != 14 or owners_8 != 8",
          yes="The plan of 8 ranks has {steps_8} steps. After 7 of them each of {owners_8} ranks "
              "has one block of the complete sum.",
          no="The plan of 8 ranks has {steps_8} steps. After 7 of them {owners_8} ranks have a "
             "block of the complete sum."),
    Claim("1.5", timed=False,
          says="The ring is bandwidth-optimal: no algorithm beats it.",
          theirs="-",
          formula="2(N-1)/N S / B against (S + c) / B",
          measured="ring_model predict --algorithms, with a switch that adds",
          confirmed="in_network_ms > 0.9 * ring_ms",
          refuted="in_network_ms < 0.75 * ring_ms",
          yes="With a switch that adds it takes {in_network_ms} ms, with the ring {ring_ms} ms. So "
              "the switch is no better.",
          no="If a switch adds, each rank sends every byte only once: {in_network_ms} ms against "
             "the ring's {ring_ms} ms. The ring is optimal only among algorithms in which ranks do "
             "all additions."),
    Claim("1.6", timed=True,
          says="Buckets give about 10 times the bandwidth.",
          theirs="10 times",
          formula="bandwidth in buckets / tensor by tensor",
          measured="94 small tensors on links of 1 GB/s, 200 us; shapes of a large model by "
                   "ring_model",
          confirmed="gain_small > 5 and gain_large > 5",
          refuted="gain_large < 2",
          yes="In buckets small tensors have {gain_small} times the bandwidth, those of a large "
              "model {gain_large} times. So buckets help in both cases.",
          no="In buckets small tensors have {gain_small} times the bandwidth, those of a model of "
             "7e9 parameters {gain_large} times. A tensor that is larger than a bucket is sent "
             "alone in either case."),
    Claim("1.7", timed=False,
          says="Thousands of parameter tensors become 50 to 100 all-reduces.",
          theirs="10000 to 50-100",
          formula="buckets of 25 MiB, tensors are not split",
          measured="ring_model, shapes of a model of 7e9 parameters",
          confirmed="llama_tensors > 1000 and 50 <= llama_buckets <= 100",
          refuted="llama_tensors < 500 and llama_buckets > 150",
          yes="{llama_tensors} tensors become {llama_buckets} buckets, as the article says.",
          no="{llama_tensors} tensors become {llama_buckets} buckets. Most tensors are larger "
             "than a bucket, and tensors are not split."),
    Claim("1.8", timed=True,
          says="With overlap a step takes max(compute, comm).",
          theirs="max(compute, comm)",
          formula="T / max(T without communication, communication alone)",
          measured="16 equal layers on links as slow as the computation; ring_model bucket by "
                   "bucket",
          confirmed="over_max < 1.05 and event_over_max < 1.05",
          refuted="over_max > 1.1 and event_over_max > 1.02",
          yes="The measured step takes {over_max} times the maximum, a step of the model "
              "{event_over_max} times. So the maximum is a good estimate.",
          no="The measured step takes {over_max} times the maximum, a step of the model, which "
             "knows only of buckets, {event_over_max} times. The maximum is a lower bound: "
             "forward, the wait for the first bucket, the last bucket and the optimizer hide no "
             "communication."),
    Claim("1.9", timed=True,
          says="Overlap raises efficiency from 50 % to 80 % and more.",
          theirs="50 to 80 %",
          formula="T without communication / T",
          measured="16 equal layers on links where all gradients take as long as the computation",
          confirmed="eff_naive < 0.6 and eff_overlap > 0.78",
          refuted="eff_overlap < 0.75",
          yes="Efficiency is {eff_naive} if communication comes after backward, and {eff_overlap} "
              "if it overlaps. That is what the article says.",
          no="Efficiency is {eff_naive} if communication comes after backward, and {eff_overlap} "
             "if it overlaps. Only backward hides communication, so at most {eff_bound} is "
             "possible. Communication also takes CPU time: beside it backward takes "
             "{backward_overlap_ms} ms instead of {backward_naive_ms} ms."),
    Claim("1.10", timed=False,
          says="Efficiency stays above 80 % up to 16 GPUs, and collapses beyond 32.",
          theirs=">= 80 %, then collapse",
          formula="compute / max(compute, 2(N-1)/N S / B)",
          measured="ring_model ddp with the article's 50 GB/s and 200 ms; then with 20 us per "
                   "message",
          confirmed="eff_16 > 0.8 and eff_64 < 0.5 * eff_16",
          refuted="eff_16 < 0.8 and eff_64 > 0.9 * eff_16",
          yes="Efficiency is {eff_16} on 16 ranks and {eff_64} on 64. That is a collapse.",
          no="By the article's own formula efficiency is {eff_8} on 8, {eff_16} on 16 and {eff_64} "
             "on 64 ranks: low from the start, and then flat, because 2(N-1)/N saturates. Only "
             "latency, which every bucket pays, or slower links between hosts make it collapse: "
             "with 20 us per message, 226 buckets and 700 ms it falls from {eff_latency_16} on 16 "
             "ranks to {eff_latency_128} on 128."),
    Claim("1.11", timed=False,
          says="gradient_as_bucket_view=True is the default of modern PyTorch.",
          theirs="True",
          formula="the constructor's signature",
          measured="the installed PyTorch is asked",
          confirmed="view_by_default == 1",
          refuted="view_by_default == 0",
          yes="In the installed PyTorch the default is True.",
          no="In the installed PyTorch the default is False. A program must ask for it.",
          unless="No PyTorch is installed for this Python. In all versions that were checked the "
                 "default is False."),
    Claim("1.12", timed=False,
          says="static_graph overlaps better; find_unused_parameters adds overhead.",
          theirs="-",
          formula="all-reduces of a step, and their buckets",
          measured="the installed PyTorch is asked, 8 layers on one rank",
          confirmed="static_same == 0 and calls_unused > calls_plain",
          refuted="static_same == 1",
          yes="With static_graph a step makes {calls_static} all-reduces, and its buckets differ "
              "from those of the {calls_plain} without it. With find_unused_parameters it makes "
              "{calls_unused}.",
          no="With static_graph a step makes {calls_static} all-reduces of the same buckets as "
             "without it, so they overlap no better. The claim is right about the other option: "
             "with find_unused_parameters a step makes {calls_unused} instead of {calls_plain}.",
          unless="No PyTorch is installed for this Python. ring_train has neither option, because "
                 "it knows beforehand which gradients there are."),
    Claim("1.13", timed=False,
          says="All-reduce is a reduce and a broadcast in one round.",
          theirs="1 round",
          formula="steps of the plan",
          measured="ring_steps walks the plan of 8 ranks",
          confirmed="steps_8 == 1",
          refuted="steps_8 > 1",
          yes="The plan has {steps_8} step. So it is one round.",
          no="A ring of 8 ranks takes {steps_8} steps. Only the result is that of a reduce and a "
             "broadcast."),
    Claim("1.14", timed=False,
          says="A naive DDP makes one call per tensor, after backward.",
          theirs="1 per tensor",
          formula="calls of a step",
          measured="ring_train --mode naive on a model of 94 tensors",
          confirmed="naive_calls == 94",
          refuted="naive_calls != 94",
          yes="It makes {naive_calls} calls for 94 tensors, one each. Other modes are compared "
              "with this one.",
          no="It makes {naive_calls} calls for 94 tensors. That is not one each."),
    Claim("1.15", timed=False,
          says="DDP begins to break down with Ethernet of 25 Gbit/s between nodes.",
          theirs="25 Gbit/s",
          formula="compute / event",
          measured="ring_model ddp, hosts of 8 ranks, 700 ms of compute",
          confirmed="eff_host > 0.8 and eff_hosts < 0.5",
          refuted="eff_hosts > 0.8",
          yes="Efficiency is {eff_host} on one host and {eff_hosts} on two. The slowest link "
              "limits the whole ring.",
          no="Efficiency is {eff_host} on one host and {eff_hosts} on two. DDP does not break "
             "down."),

    # ---- 002: overlap, seen ----------------------------------------------------------------------
    Claim("2.1", timed=False,
          says="A model of 7e9 parameters sends about 28 GB per step.",
          theirs="2 P, 28 GB",
          formula="2(N-1)/N S",
          measured="ring_model predict for 2 and for 1024 ranks",
          confirmed="sent_2_gb > 26",
          refuted="sent_2_gb < 16",
          yes="Each of 2 ranks sends {sent_2_gb} GB. That is the article's number.",
          no="Each of 2 ranks, as in the article, sends {sent_2_gb} GB. It comes near 28 GB only "
             "on very many ranks: {sent_1024_gb} GB on 1024."),
    Claim("2.2", timed=False,
          says="One call per parameter makes about 80 calls; buckets make 4 to 8.",
          theirs="80 and 4-8",
          formula="buckets of 25 MiB, tensors are not split",
          measured="ring_train --plan-only for 40 layers of 4096",
          confirmed="tensors == 80 and 4 <= buckets <= 8",
          refuted="buckets > 8",
          yes="{tensors} tensors make {buckets} buckets, as the article says.",
          no="{tensors} tensors make {buckets} buckets. Each weight has 64 MiB, more than a "
             "bucket; layers of 1024 would make 7."),
    Claim("2.3", timed=False,
          says="Buckets fill in reverse order: the first bucket has the last layer.",
          theirs="last layer first",
          formula="layers of the first bucket",
          measured="ring_train --plan-only",
          confirmed="first_layer == 39",
          refuted="first_layer != 39",
          yes="The first bucket begins with layer {first_layer} of 0 to 39. Backward finishes it "
              "first.",
          no="The first bucket begins with layer {first_layer} of 0 to 39. That is not the last."),
    Claim("2.4", timed=True,
          says="Smaller buckets overlap more, but each call has a fixed cost.",
          theirs="25 MB",
          formula="T by size of a bucket",
          measured="a sweep on links of 300 MB/s where a message takes 1 ms",
          confirmed="cap_best_ms < 0.95 * cap_smallest_ms and cap_best_ms < 0.97 * cap_largest_ms",
          refuted="cap_best_ms > 0.99 * cap_smallest_ms or cap_best_ms > 0.99 * cap_largest_ms",
          yes="A step takes {cap_smallest_ms} ms with the smallest buckets, {cap_largest_ms} ms "
              "with a single one, and {cap_best_ms} ms in between. So there is an optimum.",
          no="A step takes {cap_smallest_ms} ms with the smallest buckets, {cap_largest_ms} ms "
             "with a single one, and {cap_best_ms} ms at best. There is no optimum in between."),
    Claim("2.5", timed=True,
          says="Overlap reduces overhead from 35 % of a step to 0.",
          theirs="35 %, 0 %",
          formula="exposed_ms / step_ms",
          measured="40 equal layers; communication alone takes about 35 % of a step",
          confirmed="naive_percent > 20 and overlap_percent < 0.5",
          refuted="overlap_percent > 0.5",
          yes="Overhead is {naive_percent} % if communication comes after backward, and "
              "{overlap_percent} % if it overlaps. Hardly any is left.",
          no="Overhead is {naive_percent} % if communication comes after backward, and "
             "{overlap_percent} % if it overlaps. It cannot be 0: the last bucket is ready only "
             "when backward ends, and nothing is left to hide it."),
    Claim("2.6", timed=True,
          says="A call from a hook of each tensor already overlaps.",
          theirs="-",
          formula="communication before the end of backward / all of it",
          measured="a call for each tensor as soon as it is ready",
          confirmed="hooks_hidden_percent > 20",
          refuted="hooks_hidden_percent < 2",
          yes="{hooks_hidden_percent} % of the time of {hooks_calls} calls is hidden. That is so "
              "if hooks do not wait for their call; if they wait, they delay backward, and hide "
              "nothing.",
          no="{hooks_hidden_percent} % of the time of {hooks_calls} calls is hidden. So they do "
             "not overlap."),
    Claim("2.7", timed=False,
          says="Gradients are mathematically identical with and without overlap.",
          theirs="identical",
          formula="difference of gradients' lengths, relative",
          measured="the same training naive and overlapped on 2 and 3 ranks",
          confirmed="difference_2 == 0 and difference_3 < 1e-5",
          refuted="difference_2 > 0 or difference_3 > 1e-5",
          yes="On 2 ranks they are equal bit for bit, on 3 they differ by {difference_3}. With "
              "more than two numbers the order of additions depends on where blocks begin.",
          no="They differ by {difference_2} on 2 ranks and by {difference_3} on 3. Rounding does "
             "not explain that."),
    Claim("2.8", timed=False,
          says="As many bytes are sent with overlap as without.",
          theirs="the same",
          formula="payload of a step",
          measured="counted by the links, naive and overlapped",
          confirmed="abs(naive_bytes - overlap_bytes) <= 0.001 * naive_bytes",
          refuted="abs(naive_bytes - overlap_bytes) > 0.01 * naive_bytes",
          yes="{naive_bytes} bytes are sent without overlap and {overlap_bytes} with it. A "
              "difference comes from small calls, which may be padded.",
          no="{naive_bytes} bytes are sent without overlap and {overlap_bytes} with it. The "
             "numbers differ."),
    Claim("2.9", timed=True,
          says="Overlap is best if backward takes longer than communication.",
          theirs="-",
          formula="hidden_ms / busy_ms",
          measured="a small and a large batch on the same links",
          confirmed="hidden_large_percent > hidden_small_percent + 10",
          refuted="hidden_large_percent < hidden_small_percent",
          yes="{hidden_small_percent} % of communication is hidden with the small batch, "
              "{hidden_large_percent} % with the large one. A larger batch makes backward longer, "
              "but not the gradients larger.",
          no="{hidden_small_percent} % of communication is hidden with the small batch, "
             "{hidden_large_percent} % with the large one. A longer backward does not help."),
    Claim("2.10", timed=False,
          says="A trace shows rows for the CPU, for computing and for communication.",
          theirs="3 rows",
          formula="named rows per rank",
          measured="ring_train --trace",
          confirmed="rows_per_rank >= 3",
          refuted="rows_per_rank < 3",
          yes="The trace has {rows_per_rank} named rows for each rank, as the article says.",
          no="The trace has {rows_per_rank} named rows for each rank. One is missing."),

    # ---- 003: one machine, faults on purpose -----------------------------------------------------
    Claim("3.1", timed=True,
          says="Weak scaling reaches 70.4 % on 2 ranks and 42.7 % on 4.",
          theirs="70.4 %, 42.7 %",
          formula="T(1) / T(N), batch per rank fixed",
          measured="the article's perceptron on 1, 2 and 4 ranks",
          confirmed="weak4_percent < weak2_percent and weak4_percent < 60",
          refuted="weak4_percent > 75",
          yes="Weak efficiency is {weak2_percent} % on 2 ranks and {weak4_percent} % on 4. This "
              "machine has {cpus} CPUs, which limits 4 ranks.",
          no="Weak efficiency is {weak2_percent} % on 2 ranks and {weak4_percent} % on 4. With "
             "{cpus} CPUs 4 ranks scale well."),
    Claim("3.2", timed=True,
          says="Strong scaling falls from 67.8 % on 2 ranks to 29.9 % on 4.",
          theirs="67.8 %, 29.9 %",
          formula="T(1) / (N T(N)), global batch fixed",
          measured="the same with a fixed number of examples per step",
          confirmed="strong4_percent < 0.8 * strong2_percent",
          refuted="strong4_percent > strong2_percent",
          yes="Strong efficiency is {strong2_percent} % on 2 ranks and {strong4_percent} % on 4. "
              "Each rank computes less, but communicates as much.",
          no="Strong efficiency is {strong2_percent} % on 2 ranks and {strong4_percent} % on 4. "
             "It does not fall."),
    Claim("3.3", timed=True,
          says="A rank that is 40 ms late costs all ranks throughput (31.5 %), because they wait.",
          theirs="-31.5 %",
          formula="1 - T(4) / T(4, late); waiting until the last rank comes",
          measured="rank 0 of 4 sleeps for 40 ms before each step",
          confirmed="straggler_ms > weak4_ms + 5 and others_waiting_ms > rank0_waiting_ms + 10",
          refuted="straggler_ms < weak4_ms or others_waiting_ms < rank0_waiting_ms",
          yes="It costs {straggler_drop_percent} %. In each step the others wait for "
              "{others_waiting_ms} ms, and rank 0 for {rank0_waiting_ms} ms; exposed "
              "communication is {straggler_exposed_ms} ms, and {weak4_exposed_ms} ms without the "
              "delay. Steps take {straggler_ms} ms instead of {weak4_ms} ms. If ranks share CPUs "
              "({cpus} here), the others have more of them while rank 0 sleeps, and gain back "
              "some of that time.",
          no="Steps take {straggler_ms} ms instead of {weak4_ms} ms. In each the others wait for "
             "{others_waiting_ms} ms, and rank 0 for {rank0_waiting_ms} ms."),
    Claim("3.4", timed=True,
          says="An extra all-reduce of 128 MB in each step costs throughput (74.1 %), because "
               "communication dominates.",
          theirs="-74.1 %",
          formula="1 - T(4) / T(4, extra)",
          measured="4 ranks with that all-reduce; its memory is kept, or new in each step as in "
                   "the article's program",
          confirmed="extra_drop_percent > 20",
          refuted="extra_drop_percent < 5",
          yes="It costs {extra_drop_percent} %, and {fresh_drop_percent} % with new memory in each "
              "step. The article's program allocates memory within the step, so a part of what it "
              "calls communication is the time to fill pages.",
          no="It costs {extra_drop_percent} %, and {fresh_drop_percent} % with new memory in each "
             "step. Memory is fast on this machine."),
    Claim("3.5", timed=True,
          says="20 ms of work on rank 0 and a barrier cost throughput (21.2 %).",
          theirs="-21.2 %, +19.0 ms",
          formula="T(4, work) - T(4)",
          measured="rank 0 of 4 works for 20 ms after each step, then all meet",
          confirmed="5 < host_ms - weak4_ms < 40",
          refuted="host_ms - weak4_ms < 2",
          yes="Steps take {host_ms} ms instead of {weak4_ms} ms, which costs {host_drop_percent} "
              "%. At the barrier all ranks wait for the work of one.",
          no="Steps take {host_ms} ms instead of {weak4_ms} ms. The work is hidden."),
    Claim("3.6", timed=True,
          says="At 4 ranks efficiency is lost mostly to coordination and process overhead.",
          theirs="40.2 ms",
          formula="(T(4) without communication - T(1)) / (T(4) - T(1))",
          measured="4 ranks that send nothing",
          confirmed="shared_percent < 30",
          refuted="shared_percent > 50",
          yes="{shared_percent} % of the growth remains without any communication. The rest is "
              "coordination.",
          no="{shared_percent} % of the growth remains without any communication, because ranks "
             "share CPUs, caches and memory. By the article's own table its gradients take "
             "{article_bytes_ms} of {article_growth_ms} ms."),
    Claim("3.7", timed=True,
          says="A straggler, communication and host work leave different fingerprints.",
          theirs="3 kinds",
          formula="faults that are named / injected",
          measured="ring_lab diagnose on the three runs",
          confirmed="named == 3",
          refuted="named < 2",
          yes="{named} of 3 faults are named from their records alone: one shows in a rank's own "
              "time, one in calls of all ranks, one in work beside the training.",
          no="{named} of 3 faults are named from their records. They look alike on this machine."),
    Claim("3.8", timed=False,
          says="Ranks have equal numbers of examples, but not of tokens; token budgets, buckets by "
               "length and packing help.",
          theirs="8 x 512 against 8 x 4096",
          formula="tokens computed by the busiest rank / the mean one; padding",
          measured="a GPT on 4 ranks, lengths of a lognormal distribution, four ways of batching",
          confirmed="imbalance_samples > 1.1 and imbalance_buckets < imbalance_samples and "
                    "padding_buckets_percent < 0.5 * padding_samples_percent",
          refuted="imbalance_samples < 1.02 or imbalance_buckets > imbalance_samples",
          yes="Batched by examples, the busiest rank computes {imbalance_samples} times the tokens "
              "of the mean one, and {padding_samples_percent} % are padding. With a token budget "
              "it is {imbalance_tokens} times and {padding_tokens_percent} %, with buckets by "
              "length {imbalance_buckets} times and {padding_buckets_percent} %, packed "
              "{imbalance_packed} times and {padding_packed_percent} %. In this order all ranks "
              "train on {rate_samples}, {rate_tokens}, {rate_buckets} and {rate_packed} tokens "
              "per second.",
          no="Batched by examples, the busiest rank computes {imbalance_samples} times the tokens "
             "of the mean one; with buckets by length {imbalance_buckets} times. That is no "
             "better."),
    Claim("3.9", timed=False,
          says="One GPU cannot show NCCL's bandwidth, NVLink, or two streams at once.",
          theirs="-",
          formula="-",
          measured="-",
          unless="No experiment uses NCCL, or links between GPUs. Paced links take the place of a "
                 "network here; their rate says nothing about NVLink."),

    # ---- 004: answers ----------------------------------------------------------------------------
    Claim("4.1", timed=False,
          says="The gradients grow with the batch.",
          theirs="-",
          formula="bytes of all gradients",
          measured="the same model with batches of 8 and 128",
          confirmed="bytes_2_128 > bytes_2_8",
          refuted="bytes_2_128 == bytes_2_8",
          yes="They have {bytes_2_8} bytes with a batch of 8 and {bytes_2_128} with 128. So they "
              "grow.",
          no="They have {bytes_2_8} bytes with a batch of 8 and {bytes_2_128} with 128. A "
             "gradient has the size of its parameter, for any batch."),
    Claim("4.2", timed=True,
          says="The time of communication is linear in the batch, and the same on any number of "
               "GPUs.",
          theirs="-",
          formula="time of all gradients alone",
          measured="batches of 8 and 128, 2 and 4 ranks, links of 200 MB/s",
          confirmed="alone_2_128_ms > 4 * alone_2_8_ms",
          refuted="alone_2_128_ms < 1.5 * alone_2_8_ms and alone_4_8_ms > 1.15 * alone_2_8_ms",
          yes="It takes {alone_2_8_ms} ms with a batch of 8 and {alone_2_128_ms} ms with 128. So "
              "it grows with the batch.",
          no="It takes {alone_2_8_ms} ms with a batch of 8 and {alone_2_128_ms} ms with 128, but "
             "{alone_4_8_ms} ms on 4 ranks. It grows with (N-1)/N and with N-1 latencies, not "
             "with the batch."),
    Claim("4.3", timed=False,
          says="The number of rounds of communication does not depend on the number of GPUs.",
          theirs="constant",
          formula="steps of the plan: 2(N-1)",
          measured="ring_steps walks the plans of 2 and 8 ranks",
          confirmed="steps_2 == steps_8",
          refuted="steps_8 > steps_2",
          yes="A call takes {steps_2} steps on 2 ranks and {steps_8} on 8. So their number is the "
              "same.",
          no="A call takes {steps_2} steps on 2 ranks and {steps_8} on 8. Only the number of calls "
             "per training step does not depend on the ranks."),
    Claim("4.4", timed=False,
          says="The example with gradient accumulation communicates less often.",
          theirs="-",
          formula="all-reduces per step",
          measured="4 micro-batches as in the example, and with no_sync",
          confirmed="calls_example == calls_plain",
          refuted="calls_example == 4 * calls_plain",
          yes="It makes {calls_example} calls per step, as many as without accumulation.",
          no="It makes {calls_example} calls per step, because it averages each of 4 "
             "micro-batches; {calls_plain} would be enough. With no_sync around the first three "
             "it makes {calls_no_sync}."),
    Claim("4.5", timed=False,
          says="Example 1 is a basic, complete DDP.",
          theirs="-",
          formula="length of the averaged gradient",
          measured="1 rank, 2 ranks without a sampler as in the example, and 2 that share the "
                   "examples",
          confirmed="abs(length_none - length_one) > 1e-4 * length_one",
          refuted="abs(length_none - length_one) < 1e-5 * length_one and abs(length_shared - "
                  "length_one) > 1e-4 * length_one",
          yes="The gradient of two ranks has the length {length_none}, that of one rank "
              "{length_one}. They differ, so two ranks share the work.",
          no="The gradient of two ranks without a sampler has the length {length_none}, that of "
             "one rank {length_one}. Both ranks train on the same examples, so the second GPU "
             "brings nothing."),
    Claim("4.6", timed=True,
          says="One slow GPU slows all of them down.",
          theirs="-",
          formula="T with a slow rank / T; waiting",
          measured="rank 0 of 2 at half its speed",
          confirmed="slow_ms > 1.15 * even_ms and fast_waiting_ms > slow_waiting_ms",
          refuted="slow_ms < 1.02 * even_ms",
          yes="Steps take {slow_ms} ms instead of {even_ms} ms. The fast rank waits for "
              "{fast_waiting_ms} ms of each, the slow one for {slow_waiting_ms} ms.",
          no="Steps take {slow_ms} ms instead of {even_ms} ms. No rank waits."),
    Claim("4.7", timed=True,
          says="Asynchronous communication needs custom code.",
          theirs="-",
          formula="communication before the end of backward / all of it",
          measured="ring_train with its defaults, buckets as DDP makes them",
          confirmed="hidden_percent < 2",
          refuted="hidden_percent > 5",
          yes="{hidden_percent} % of communication runs before backward is over. So buckets alone "
              "do not overlap.",
          no="{hidden_percent} % of communication runs before backward is over, and the training "
             "loop has no code for that. Averaging in buckets overlaps by itself."),
    Claim("4.8", timed=False,
          says="On a shared Ethernet more than 8 GPUs bring nothing.",
          theirs="8",
          formula="N compute / event, B / N for each rank",
          measured="ring_model ddp, 10 Gbit/s that all ranks share",
          confirmed="speedup_16 < 1.05 * speedup_8",
          refuted="speedup_16 > 1.5 * speedup_8",
          yes="8 ranks are {speedup_8} times as fast as one, and 16 ranks {speedup_16} times. Each "
              "rank has an N-th of the medium and sends no less, so N ranks take N times as long "
              "for N times the work.",
          no="8 ranks are {speedup_8} times as fast as one, and 16 ranks {speedup_16} times. So "
             "more ranks help."),
)


def of_article(article):
    """The claims of an article, "003"."""
    return [claim for claim in CLAIMS if claim.number.split(".")[0] == str(int(article))]
