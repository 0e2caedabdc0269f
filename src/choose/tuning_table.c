/* SPDX-License-Identifier: MIT */
/* The built-in rows, finding one, and what people call things; see tuning_table.h. */
#include "tuning_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "plan/record.h"

#define ANY RING_TUNING_ANY

/*
 * What no row fits goes around the ring, or in one shot where there is no ring.
 *
 * X(call, what links the ranks, from so many ranks, to so many, KiB at most, algorithm). Behind that: on
 * how many ranks the ring took how many times as long, over the sizes that come to the row; medians of
 * three runs of ring_perf --tune, private memory, a virtual machine with 2 CPUs, for NETWORK links of
 * 1 GB/s and 20 us (RING_LINK). There 4 ranks and more take turns, so each message costs more than it
 * does where all have a CPU, and a ring of large messages less. So rows end well before the size at which
 * the ring won, and what saved nothing but turns has none: large vectors in one shot to or from a root.
 * BRUCK sends fewer messages than one shot, but waits for more of them, and TREE still fewer: over sockets of one host
 * 8 bytes took one shot 1.6 to 2.2 times as long as TREE on 4 ranks, 2.9 to 3.6 times on 8, on an EPYC, and BRUCK 1.04 to
 * 1.6 times and 1.3 to 1.6 times. Their rows end where they have no plan; a broadcast in one shot took 1.3, 4.3 and 5
 * times as long on 2, 4 and 8. Over a network each wait is a latency.
 *
 * Large broadcasts, which TREE cuts into chunks: how many times as long what carried them before took (one shot for 3 to 8 ranks up
 * to 1 MiB over sockets, else the ring), on Zen 4, the network by RING_LINK=1GB/s,20us:
 *
 *	              64 KiB  256 KiB  512 KiB  1 MiB  2 MiB  4 MiB  8 MiB  16 MiB
 *	sockets    3    1.1     1.1       -      1.0     -     1.1     -     1.1
 *	           4    1.2     1.4       -      1.6     -     1.4     -     1.1
 *	           5    0.93    1.1       -      0.91    -     1.0     -     0.79
 *	           6    1.0     1.4       -      1.3     -     1.2     -     0.94
 *	           7    1.4     1.7       -      1.4     -     1.4     -     0.96
 *	           8    1.4     1.9       -      1.5     -     1.4     -     1.0
 *	          12    3.0     2.0       -      1.6     -     1.3     -     1.1
 *	          16    3.3     2.1       -      1.8     -     1.3     -     1.2
 *	          32    6.0      -       2.1      -     1.2     -     1.1     -
 *	          64    6.7      -        -       -     0.87    -     0.79    -
 *	network    3    1.0     0.84     0.70     -      -      -      -      -
 *	           4    1.3     1.1      0.87    0.71    -     0.57    -      -
 *	           8    2.1     1.7      1.3     0.95    -     0.65    -      -
 *	          16    2.9     2.1      1.7      -      -      -      -      -
 */
#define ANY_MEMORY(X)                                                                              \
	X(ALL_REDUCE, MEMORY, 2, 2, 32, ONE_SHOT)     /* 2: 1.05 to 2.02 */                        \
	X(ALL_REDUCE, MEMORY, 3, 8, 4, ONE_SHOT)      /* 4, 8: 1.14 to 2.22 */                     \
	X(ALL_REDUCE, MEMORY, 3, 16, 16, TWO_SHOT)    /* 4, 8, 16: 1.08 to 1.80 */                 \
	X(REDUCE_SCATTER, MEMORY, 2, 2, 1, ONE_SHOT)  /* 2: 0.99 to 1.78 */                        \
	X(REDUCE_SCATTER, MEMORY, 3, 16, 2, ONE_SHOT) /* 4, 8, 16: 1.11 to 1.83 */                 \
	X(ALL_GATHER, MEMORY, 2, 2, 1, ONE_SHOT)      /* 2: 1.48 to 2.54 */                        \
	X(ALL_GATHER, MEMORY, 3, 8, 16, ONE_SHOT)     /* 4, 8: 1.15 to 3.16 */                     \
	X(ALL_GATHER, MEMORY, 9, 16, 4, ONE_SHOT)     /* 16: 1.70 to 3.31 */                       \
	X(BROADCAST, MEMORY, 2, 2, 16, ONE_SHOT)      /* 2: 1.03 to 1.58 */                        \
	X(BROADCAST, MEMORY, 3, 16, 48, ONE_SHOT)     /* 4, 8, 16: 1.07 to 3.79 */                 \
	X(REDUCE, MEMORY, 2, 2, 16, ONE_SHOT)         /* 2: 1.04 to 1.60 */                        \
	X(REDUCE, MEMORY, 3, 16, 64, ONE_SHOT)        /* 4, 8, 16: 1.27 to 4.73 */                 \
	X(BARRIER, MEMORY, 2, 2, 0, ONE_SHOT)         /* 2: 1.26 */                                \
	X(BARRIER, MEMORY, 3, 16, 0, ONE_SHOT)        /* 4, 8, 16: 1.66 to 1.98 */                 \
	X(ALL_REDUCE, SOCKET, 2, 2, 64, ONE_SHOT)     /* 2: 1.13 to 2.07 */                        \
	X(ALL_REDUCE, SOCKET, 4, INT_MAX, 1, TREE)    /* 4, 8, 16: 2.72 to 4.20, on an EPYC */     \
	X(ALL_REDUCE, SOCKET, 3, 8, 16, ONE_SHOT)     /* 4, 8: 1.34 to 2.44 */                     \
	X(REDUCE_SCATTER, SOCKET, 3, 4, 1, ONE_SHOT)  /* 4: 1.06 to 1.26 */                        \
	X(ALL_GATHER, SOCKET, 4, 8, 1, BRUCK)         /* 4, 8: 1.93 to 3.77 */                     \
	X(ALL_GATHER, SOCKET, 3, 8, 16, ONE_SHOT)     /* 4, 8: 1.19 to 2.07 */                     \
	X(BROADCAST, SOCKET, 2, 2, 1, ONE_SHOT)                                                    \
	X(BROADCAST, SOCKET, 3, INT_MAX, 1, TREE)                                                  \
	X(BROADCAST, SOCKET, 3, 4, 16384, TREE)                                                    \
	X(BROADCAST, SOCKET, 5, 8, 4096, TREE)                                                     \
	X(BROADCAST, SOCKET, 9, 32, 16384, TREE)                                                   \
	X(BROADCAST, SOCKET, 33, INT_MAX, 1024, TREE)                                              \
	X(REDUCE, SOCKET, 3, 8, 64, ONE_SHOT)         /* 4, 8: 1.20 to 1.77 */                     \
	X(BARRIER, SOCKET, 4, INT_MAX, 0, TREE)       /* 4, 8, 16: 1.76 to 4.10, on an EPYC */     \
	X(ALL_REDUCE, NETWORK, 2, 2, 32, ONE_SHOT)    /* 2: 1.40 to 1.89 */                        \
	X(ALL_REDUCE, NETWORK, 3, 8, 8, ONE_SHOT)     /* 4, 8: 1.42 to 3.57 */                     \
	X(ALL_REDUCE, NETWORK, 3, 8, 32, TWO_SHOT)    /* 4, 8: 1.18 to 1.24 */                     \
	X(ALL_REDUCE, NETWORK, 3, 16, 256, STRIDE)    /* 4, 8, 16: 1.01 to 1.55, on an EPYC */     \
	X(REDUCE_SCATTER, NETWORK, 3, 8, 4, ONE_SHOT) /* 4, 8: 1.33 to 1.68 */                     \
	X(ALL_GATHER, NETWORK, 3, 8, 16, ONE_SHOT)    /* 4, 8: 1.36 to 2.74 */                     \
	X(BROADCAST, NETWORK, 2, 2, 1, ONE_SHOT)                                                   \
	X(BROADCAST, NETWORK, 3, INT_MAX, 1, TREE)                                                 \
	X(BROADCAST, NETWORK, 3, 8, 16, ONE_SHOT) /* 4, 8: 1.70 to 2.51 */                         \
	X(BROADCAST, NETWORK, 3, 4, 128, TREE)                                                     \
	X(BROADCAST, NETWORK, 5, 8, 256, TREE)                                                     \
	X(BROADCAST, NETWORK, 9, INT_MAX, 512, TREE)                                               \
	X(REDUCE, NETWORK, 3, 8, 32, ONE_SHOT) /* 4, 8: 1.93 to 2.72 */                            \
	X(BARRIER, NETWORK, 3, 8, 0, ONE_SHOT) /* 4, 8: 1.88 to 2.29 */

/*
 * One host: X(call, whose memory, from so many ranks, to so many, KiB at most or 0, algorithm). What is
 * larger than a call costs to tell where buffers lie is reached into. Shared memory always, before the rows
 * above: 2 ranks took 3 to 5 times as long without, from 64 KiB to 4 MiB. Private memory, which is
 * copied, behind them, and where that was faster.
 * Behind the rows how many times as long the ring took, or one shot, from 256 KiB to 16 MiB; of reduce and reduce_scatter
 * from 128 KiB on, on two of the 16 CPUs of a Xeon (Emerald Rapids); on all 16 it took 0.79 to 3.2 times as long. 3 ranks reduced
 * to root by either way in the same time. Much that all gather goes by way of slots, where each rank's part is read once, and
 * results pass the caches by: reached into, 128 and 256 MiB took 4 ranks 1.28 times as long, 8 ranks 1.15 to 1.33 times from
 * 64 MiB on. (Where they do not pass, 0.91 to 0.98 times.)
 */
#define SHARED_MEMORY(X)                                                                           \
	X(ANY, SHARED, 2, INT_MAX, 16, RING)                                                       \
	X(ANY, SHARED, 2, INT_MAX, 16, ONE_SHOT)                                                   \
	X(ANY, SHARED, 2, INT_MAX, 0, DIRECT)

#define REACHABLE_MEMORY(X)                                                                        \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 2, 2, 32, RING)                                         \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 2, 2, 0, DIRECT) /* 2: 1.06 to 1.59 */                  \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 3, 3, 64, STAGED)                                       \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 4, 4, 48, STAGED)   /* 4: 1.11 to 1.32 */               \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 3, 8, 32, TWO_SHOT) /* 4, 8: 1.08 to 1.36 */            \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 3, 4, 0, DIRECT)    /* 4: 1.21; stages 1.03 to 1.65 */  \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 5, 16, 512, STAGED) /* 8, 16: 1.02 to 1.61 */           \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 5, 16, 512, RING)                                       \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 17, 64, 2048, RING)                                     \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 5, 64, 0, DIRECT) /* 8: 1.29; stages 1.09 to 1.34 */    \
	X(RING_KIND_ALL_REDUCE, PRIVATE, 2, 2, 64, ONE_SHOT)                                       \
	X(RING_KIND_ALL_REDUCE, PRIVATE, 3, 4, 65536, STAGED)                                      \
	X(RING_KIND_ALL_REDUCE, PRIVATE, 5, 16, 2048, STAGED)                                      \
	X(RING_KIND_ALL_REDUCE, PRIVATE, 3, 8, 32, TWO_SHOT)                                       \
	X(RING_KIND_ALL_GATHER, REACHABLE, 2, 2, 8, RING)                                          \
	X(RING_KIND_ALL_GATHER, REACHABLE, 2, 2, 0, DIRECT) /* 2: 1.24 to 2.15 */                  \
	X(RING_KIND_ALL_GATHER, REACHABLE, 3, 4, 32, RING)                                         \
	X(RING_KIND_ALL_GATHER, REACHABLE, 3, 4, 16384, DIRECT) /* 4: 1.10 to 1.5 */               \
	X(RING_KIND_ALL_GATHER, REACHABLE, 5, 8, 16, ONE_SHOT)                                     \
	X(RING_KIND_ALL_GATHER, REACHABLE, 5, 8, 4096, DIRECT) /* 8: 1.00 to 1.62 */               \
	X(RING_KIND_ALL_GATHER, REACHABLE, 3, 8, 0, ONE_SHOT)                                      \
	X(RING_KIND_BROADCAST, REACHABLE, 2, 2, 16, RING)                                          \
	X(RING_KIND_BROADCAST, REACHABLE, 2, 2, 0, DIRECT)  /* 2: 1.07 to 2.12 */                  \
	X(RING_KIND_BROADCAST, REACHABLE, 3, 16, 0, DIRECT) /* 12, 16: 1.4 to 3.2 */               \
	X(RING_KIND_BROADCAST, PRIVATE, 3, 16, 64, ONE_SHOT)                                       \
	X(RING_KIND_REDUCE, REACHABLE, 2, 2, 0, DIRECT)     /* 2: 1.04 to 2.10 */                  \
	X(RING_KIND_REDUCE, REACHABLE, 4, 8, 16384, DIRECT) /* 4, 8: 1.21 to 2.00 */               \
	X(RING_KIND_REDUCE, PRIVATE, 3, 8, 256, ONE_SHOT)   /* 4, 8: 1.44 to 1.98 */               \
	X(RING_KIND_REDUCE_SCATTER, REACHABLE, 2, 2, 64, RING)                                     \
	X(RING_KIND_REDUCE_SCATTER, REACHABLE, 2, 2, 0, DIRECT) /* 2: 0.95 to 1.98 */              \
	X(RING_KIND_REDUCE_SCATTER, REACHABLE, 3, 4, 32, RING)                                     \
	X(RING_KIND_REDUCE_SCATTER, REACHABLE, 3, 4, 4096, DIRECT) /* 3, 4: 0.92 to 1.62 */        \
	X(RING_KIND_REDUCE_SCATTER, REACHABLE, 5, 8, 64, RING)                                     \
	X(RING_KIND_REDUCE_SCATTER, REACHABLE, 5, 8, 4096, DIRECT) /* 8: 1.22 to 1.49 */           \
	X(RING_KIND_GATHER, REACHABLE, 2, 2, 8, ONE_SHOT)                                          \
	X(RING_KIND_GATHER, REACHABLE, 2, 2, 0, DIRECT) /* 2: 1.08 to 2.67 */                      \
	X(RING_KIND_GATHER, REACHABLE, 3, 8, 64, ONE_SHOT)                                         \
	X(RING_KIND_GATHER, REACHABLE, 3, 8, 0, DIRECT) /* 4, 8: 1.54 to 2.84 */                   \
	X(RING_KIND_SCATTER, REACHABLE, 2, 2, 1024, ONE_SHOT)                                      \
	X(RING_KIND_SCATTER, REACHABLE, 2, 2, 0, DIRECT) /* 2: 1.00 to 1.19 */                     \
	X(RING_KIND_SCATTER, REACHABLE, 3, 8, 256, ONE_SHOT)                                       \
	X(RING_KIND_SCATTER, REACHABLE, 3, 8, 0, DIRECT) /* 4, 8: 1.14 to 3.28 */                  \
	X(RING_KIND_ALL_TO_ALL, REACHABLE, 2, 8, 16, ONE_SHOT)                                     \
	X(RING_KIND_ALL_TO_ALL, REACHABLE, 2, 8, 0, DIRECT) /* 2, 4, 8: 1.03 to 1.68 */

/*
 * Large Xeons 6 (Granite Rapids), before the rows above: there few messages are worth more. Behind the rows how many times as long
 * those took, from 24 KiB on.
 */
#define REACHABLE_XEON6(X)                                                                         \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 3, 3, 64, TWO_SHOT) /* 3: 1.16 to 1.31 */               \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 4, 4, 48, TWO_SHOT) /* 4: 1.04 to 1.19 */               \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 4, 4, 128, STAGED)  /* 4: 1.06 to 1.21 */               \
	X(RING_KIND_ALL_REDUCE, REACHABLE, 5, 8, 32, STAGED)   /* 5, 6, 7, 8: 0.98 to 1.35 */      \
	REACHABLE_MEMORY(X)

/*
 * One host with CPUs of AMD (EPYC, Zen 5): a core there copies from another's cache 3.6 times as fast as the
 * system does, page by page. So private memory goes by way of slots: reached into, whatever the call, it took 1.17
 * to 5 times as long, on 2, 4 and 8 ranks, from 64 KiB to 64 MiB. One shot is worth it for more than
 * on any CPU. Behind the rows how many times as long the ring took.
 */
#define COPIED_MEMORY(X)                                                                           \
	X(ALL_REDUCE, MEMORY, 3, 4, 512, STAGED)        /* 4: 1.11 to 1.32 */                      \
	X(ALL_REDUCE, MEMORY, 5, 16, 2048, STAGED)      /* 8, 16: 1.02 to 1.61 */                  \
	X(ALL_REDUCE, MEMORY, 3, 16, 1024, TWO_SHOT)    /* 4, 8: 0.99 to 1.46 */                   \
	X(REDUCE_SCATTER, MEMORY, 3, 4, 16, ONE_SHOT)   /* 4: 1.16 to 1.40 */                      \
	X(REDUCE_SCATTER, MEMORY, 5, 16, 128, ONE_SHOT) /* 8: 1.03 to 1.79 */                      \
	X(ALL_GATHER, MEMORY, 2, 2, 512, ONE_SHOT)      /* 2: 1.04 to 1.46 */                      \
	X(ALL_GATHER, MEMORY, 3, 16, 128, ONE_SHOT)     /* 4, 8: 1.14 to 2.34 */                   \
	X(BROADCAST, MEMORY, 3, 16, 256, ONE_SHOT)      /* 4, 8: 1.15 to 2.17 */                   \
	X(REDUCE, MEMORY, 3, 16, 512, ONE_SHOT)         /* 4, 8: 1.14 to 2.18 */

/*
 * EPYCs up to Zen 4, before the rows above. The system copies at 28 GB/s there where buffers are of 2 MiB and more, so that it
 * finds them in huge pages, and while all stays in the last cache, 32 MiB of eight cores; so what is only copied is
 * reached into from there and for that long. Behind the rows how many times as long slots took.
 */
#define NEAR_MEMORY(X)                                                                             \
	X(RING_KIND_ALL_GATHER, REACHABLE, 2, 2, 512, ONE_SHOT)                                    \
	X(RING_KIND_ALL_GATHER, REACHABLE, 2, 2, 8192, DIRECT) /* 2: 1.17 to 1.33 */               \
	X(RING_KIND_ALL_GATHER, REACHABLE, 3, 4, 256, ONE_SHOT)                                    \
	X(RING_KIND_ALL_GATHER, REACHABLE, 3, 4, 4096, DIRECT) /* 3, 4: 0.99 to 1.64 */            \
	X(RING_KIND_ALL_GATHER, REACHABLE, 5, 8, 128, ONE_SHOT)                                    \
	X(RING_KIND_ALL_GATHER, REACHABLE, 5, 8, 2048, DIRECT) /* 8: 1.00 to 1.66 */               \
	X(RING_KIND_BROADCAST, REACHABLE, 2, 2, 64, ONE_SHOT)                                      \
	X(RING_KIND_BROADCAST, REACHABLE, 2, 2, 256, DIRECT) /* 2: 1.05 to 1.48 */                 \
	X(RING_KIND_BROADCAST, REACHABLE, 2, 2, 1024, RING)                                        \
	X(RING_KIND_BROADCAST, REACHABLE, 2, 2, 32768, DIRECT) /* 2: 1.30 to 2.1 */                \
	X(RING_KIND_BROADCAST, REACHABLE, 3, 6, 256, ONE_SHOT)                                     \
	X(RING_KIND_BROADCAST, REACHABLE, 7, 8, 64, ONE_SHOT)                                      \
	X(RING_KIND_BROADCAST, REACHABLE, 5, 5, 1024, RING)                                        \
	X(RING_KIND_BROADCAST, REACHABLE, 3, 8, 1024, TREE)    /* 3, 4, 6, 7, 8: 0.98 to 1.7 */    \
	X(RING_KIND_BROADCAST, REACHABLE, 3, 8, 16384, DIRECT) /* 3, 4, 8: 1.11 to 2.26 */         \
	X(RING_KIND_GATHER, REACHABLE, 3, 4, 512, ONE_SHOT)                                        \
	X(RING_KIND_GATHER, REACHABLE, 3, 4, 16384, DIRECT) /* 4: 0.96 to 2.15 */                  \
	X(RING_KIND_GATHER, REACHABLE, 5, 8, 256, ONE_SHOT)                                        \
	X(RING_KIND_GATHER, REACHABLE, 5, 8, 8192, DIRECT) /* 8: 1.07 to 1.77 */                   \
	X(RING_KIND_SCATTER, REACHABLE, 3, 8, 256, ONE_SHOT)                                       \
	X(RING_KIND_SCATTER, REACHABLE, 3, 8, 0, DIRECT) /* 3, 4, 8: 1.05 to 3.4 */                \
	X(RING_KIND_ALL_TO_ALL, REACHABLE, 2, 2, 1024, ONE_SHOT)                                   \
	X(RING_KIND_ALL_TO_ALL, REACHABLE, 2, 2, 8192, DIRECT) /* 2: 0.97 to 1.37 */               \
	X(RING_KIND_ALL_TO_ALL, REACHABLE, 3, 4, 256, ONE_SHOT)                                    \
	X(RING_KIND_ALL_TO_ALL, REACHABLE, 3, 4, 4096, DIRECT) /* 3, 4: 0.98 to 1.95 */

/* There, too: what is added, and what is too much for the last cache. */
#define ADDED_MEMORY(X)                                                                            \
	X(ALL_REDUCE, MEMORY, 3, 4, 1024, TWO_SHOT)   /* stages 1.23 to 3.5 */                     \
	X(REDUCE_SCATTER, MEMORY, 2, 5, 0, ONE_SHOT)  /* 2, 3, 4, 5: 0.85 to 1.95 */               \
	X(REDUCE_SCATTER, MEMORY, 6, 8, 64, ONE_SHOT) /* 6, 8: 0.83 to 1.11 */                     \
	X(REDUCE_SCATTER, MEMORY, 6, 8, 0, RING)      /* one shot 0.93 to 1.79 */                  \
	X(ALL_GATHER, MEMORY, 3, 4, 0, ONE_SHOT)      /* 3, 4: 1.13 to 1.29 */                     \
	X(BROADCAST, MEMORY, 7, 16, 64, ONE_SHOT)                                                  \
	X(BROADCAST, MEMORY, 7, 16, 4096, TREE) /* 12, 16: 1.10 to 2.5 */                          \
	COPIED_MEMORY(X)

#define NO_MEMORY(X)

/*
 * Where every rank has a CPU, before all others: X(call, what links the ranks, whose memory, from so many ranks, to so many,
 * bytes at most or 0, algorithm). Nobody waits for a turn there: how many messages follow one another counts, and not how many
 * there are, and so BRUCK, where half as many do as in TREE. Behind the rows how many times as long it took by the algorithm
 * that the other tables choose, on a Xeon (Emerald Rapids) with 16 CPUs, buffers untouched and written anew.
 */
#define ROOMY_MEMORY(X)                                                                            \
	X(ALL_REDUCE, MEMORY, ANY, 4, 16, 16 << 10, STAGED) /* 4, 8, 16: 1.1 to 1.8 */             \
	X(ALL_GATHER, MEMORY, REACHABLE, 4, 4, 8 << 10, ONE_SHOT)                                  \
	X(ALL_GATHER, MEMORY, REACHABLE, 4, 4, 32 << 10, DIRECT) /* 4: 1.1 to 1.3 */               \
	X(ALL_GATHER, MEMORY, REACHABLE, 9, 16, 4 << 10, ONE_SHOT)                                 \
	X(ALL_GATHER, MEMORY, REACHABLE, 9, 16, 1 << 20, DIRECT) /* 16: 1.5 to 2.5 */              \
	X(BROADCAST, MEMORY, REACHABLE, 5, 16, 32 << 10, ONE_SHOT)                                 \
	X(BROADCAST, MEMORY, REACHABLE, 5, 16, 0, DIRECT) /* 8, 16: 1.3 to 3.2 */                  \
	X(REDUCE, MEMORY, REACHABLE, 9, 16, 64 << 10, ONE_SHOT)                                    \
	X(REDUCE, MEMORY, REACHABLE, 9, 16, 16 << 20, DIRECT)        /* 16: 1.3 to 2.2 */          \
	X(REDUCE_SCATTER, MEMORY, ANY, 2, 4, 32 << 10, ONE_SHOT)     /* 2, 4: 1.0 to 1.6 */        \
	X(REDUCE_SCATTER, MEMORY, ANY, 5, 8, 64 << 10, ONE_SHOT)     /* 8: 1.2 to 1.5 */           \
	X(REDUCE_SCATTER, MEMORY, ANY, 9, 16, 16 << 10, ONE_SHOT)    /* 16: 1.1 to 1.5 */          \
	X(REDUCE_SCATTER, MEMORY, REACHABLE, 9, 16, 1 << 20, DIRECT) /* 16: 1.2 to 1.6 */          \
	X(GATHER, MEMORY, REACHABLE, 9, 16, 8 << 10, ONE_SHOT)                                     \
	X(GATHER, MEMORY, REACHABLE, 9, 16, 0, DIRECT) /* 16: 0.9 to 12 */                         \
	X(SCATTER, MEMORY, REACHABLE, 9, 16, 32 << 10, ONE_SHOT)                                   \
	X(SCATTER, MEMORY, REACHABLE, 9, 16, 0, DIRECT) /* 16: 0.9 to 13 */                        \
	X(ALL_TO_ALL, MEMORY, REACHABLE, 4, 16, 8 << 10, ONE_SHOT)                                 \
	X(ALL_TO_ALL, MEMORY, REACHABLE, 4, 16, 0, DIRECT) /* 4, 16: 1.0 to 1.8 */

/* On CPUs of AMD, too, which were not measured: few bytes, and what is mostly the system's time. */
#define ROOMY_ANY(X)                                                                               \
	X(ALL_REDUCE, MEMORY, ANY, 4, 16, 128, ONE_SHOT)  /* 16: 5 to 12 */                        \
	X(ALL_REDUCE, SOCKET, ANY, 4, 16, 1 << 10, BRUCK) /* 4, 8, 16: 1.4 to 2.3 */               \
	X(ALL_REDUCE, SOCKET, ANY, 4, 4, 16 << 10, ONE_SHOT)                                       \
	X(ALL_REDUCE, SOCKET, ANY, 5, 8, 4 << 10, ONE_SHOT)                                        \
	X(ALL_REDUCE, SOCKET, ANY, 9, 16, 1 << 10, ONE_SHOT)  /* 16: 2.4 to 2.8 */                 \
	X(ALL_REDUCE, SOCKET, ANY, 4, 16, 256 << 10, STRIDE)  /* 4, 8, 16: 1.0 to 2.4 */           \
	X(ALL_GATHER, SOCKET, ANY, 4, 16, 1 << 10, BRUCK)     /* 16: 4.9 to 8.1 */                 \
	X(ALL_GATHER, SOCKET, ANY, 4, 8, 128 << 10, ONE_SHOT) /* 4, 8: 1.1 to 1.6 */               \
	X(ALL_GATHER, SOCKET, ANY, 9, 16, 64 << 10, ONE_SHOT) /* 16: 1.3 to 2.9 */                 \
	X(BROADCAST, SOCKET, ANY, 4, 16, 1 << 10, TREE)                                            \
	X(BROADCAST, SOCKET, ANY, 4, 16, 256 << 10, ONE_SHOT)     /* 4, 8, 16: 1.0 to 2.6 */       \
	X(BROADCAST, SOCKET, ANY, 4, 16, 0, RING)                 /* 4: 1.06 to 1.12 */            \
	X(REDUCE, SOCKET, ANY, 4, 16, 256 << 10, ONE_SHOT)        /* 4, 8, 16: 1.2 to 2.6 */       \
	X(REDUCE_SCATTER, SOCKET, ANY, 4, 8, 32 << 10, ONE_SHOT)  /* 4, 8: 1.1 to 1.5 */           \
	X(REDUCE_SCATTER, SOCKET, ANY, 9, 16, 16 << 10, ONE_SHOT) /* 16: 1.1 to 1.7 */             \
	X(BARRIER, SOCKET, ANY, 4, 16, 0, BRUCK)                  /* 4, 8, 16: 1.2 to 2.3 */

/*
 * Sockets of one host: X(call, what links the ranks, from so many ranks, to so many, KiB at most or 0,
 * algorithm, KiB of a chunk or 0). Few messages are worth most there. And many ranks' large sums come in smaller chunks than
 * the links could take, so that what has come is still in the cache when it is added and sent on. Behind the row how many
 * times as long two shots took, or chunks of 256 KiB, from 8 to 128 MiB; other calls that only copy took no longer.
 */
#define LARGE_SUMS(X)                                                                              \
	X(ALL_REDUCE, SOCKET, 3, 4, 64, STRIDE, 0)  /* 4: 1.20 to 1.32 */                          \
	X(ALL_REDUCE, SOCKET, 5, 8, 128, STRIDE, 0) /* 8: 1.19 to 1.27 */                          \
	X(ALL_REDUCE, SOCKET, 5, 16, 2048, RING, 0)                                                \
	X(ALL_REDUCE, SOCKET, 5, 16, 0, RING, 128) /* 8: 1.00 to 1.29 */

/*
 * The same on that EPYC, where few messages are worth more: two shots took 0.98 to 1.54 times as long as strides. All barriers
 * were those of the built-in rows, as a slow one before the call makes it longer. Behind rows with chunks, which are cut to whole
 * segments, how many times as long it took without: by 8 segments on 2 ranks, by 4 on 8, from 8 to 64 MiB of the vector.
 */
#define FEW_STEPS(X)                                                                               \
	X(ALL_REDUCE, SOCKET, 3, 4, 2048, STRIDE, 0)      /* 3, 4: 1.01 to 1.64 */                 \
	X(ALL_REDUCE, SOCKET, 5, 8, 128, STRIDE, 0)       /* 5, 6, 8: 1.45 to 1.73 */              \
	X(ALL_REDUCE, SOCKET, 5, 8, 256, TWO_SHOT, 0)     /* 5, 6, 8: 1.15 to 1.36 */              \
	X(ALL_REDUCE, SOCKET, 9, 16, 8, ONE_SHOT, 0)      /* 12, 16: 1.89 to 2.31 */               \
	X(ALL_REDUCE, SOCKET, 9, 16, 256, STRIDE, 0)      /* 12, 16: 1.29 to 2.00 */               \
	X(REDUCE_SCATTER, SOCKET, 3, 4, 256, ONE_SHOT, 0) /* 4: 1.05 to 1.34 */                    \
	X(REDUCE_SCATTER, SOCKET, 5, 8, 16, ONE_SHOT, 0)  /* 8: 1.14 */                            \
	X(ALL_GATHER, SOCKET, 3, 4, 128, ONE_SHOT, 0)     /* 4: 1.20 to 1.61 */                    \
	X(ALL_GATHER, SOCKET, 5, 8, 32, ONE_SHOT, 0)      /* 8: 1.66 to 1.78 */                    \
	X(ALL_REDUCE, SOCKET, 5, 16, 2048, RING, 0)                                                \
	X(ALL_REDUCE, SOCKET, 5, 16, 0, RING, 192) /* 8: 0.95 to 1.29 */                           \
	X(ALL_REDUCE, SOCKET, 2, 2, 4096, RING, 0)                                                 \
	X(ALL_REDUCE, SOCKET, 2, 2, 0, RING, 256) /* 2: 0.99 to 1.10 */                            \
	X(REDUCE_SCATTER, SOCKET, 2, 2, 2048, RING, 0)                                             \
	X(REDUCE_SCATTER, SOCKET, 2, 2, 0, RING, 256) /* 2: 1.01 to 1.29 */                        \
	X(ALL_GATHER, SOCKET, 2, 2, 2048, RING, 0)                                                 \
	X(ALL_GATHER, SOCKET, 2, 2, 0, RING, 256) /* 2: 0.97 to 1.16 */                            \
	X(ALL_TO_ALL, SOCKET, 2, 2, 2048, ONE_SHOT, 0)                                             \
	X(ALL_TO_ALL, SOCKET, 2, 2, 0, ONE_SHOT, 256) /* 2: 0.98 to 1.09 */

#define COUNT(...) +1
#define RING_MEMORY_ANY ANY
#define FULL_ROW(call, links, whose, from, to, most, carrier, chunk)                               \
	{.kind = call,                                                                             \
	 .path = links,                                                                            \
	 .memory = whose,                                                                          \
	 .ranks_from = from,                                                                       \
	 .ranks_to = to,                                                                           \
	 .bytes = (most) > 0 ? (most) : UINT64_MAX,                                                \
	 .algorithm = RING_ALGORITHM_##carrier,                                                    \
	 .chunk_bytes = chunk},
#define CHUNK_ROW(call, links, from, to, kib, carrier, chunk_kib)                                  \
	FULL_ROW(RING_KIND_##call, RING_PATH_##links, ANY, from, to, (kib) << 10, carrier,         \
		 (chunk_kib) << 10)
#define ROW(call, links, from, to, kib, carrier) CHUNK_ROW(call, links, from, to, kib, carrier, 0)
#define MEMORY_ROW(call, whose, from, to, kib, carrier)                                            \
	FULL_ROW(call, RING_PATH_MEMORY, RING_MEMORY_##whose, from, to, (kib) << 10, carrier, 0)
#define ROOMY_ROW(call, links, whose, from, to, most, carrier)                                     \
	FULL_ROW(RING_KIND_##call, RING_PATH_##links, RING_MEMORY_##whose, from, to, most,         \
		 carrier, 0)

#define TABLE(name, REACHED_ROWS, COPIED_ROWS, SOCKET_ROWS)                                        \
	{                                                                                          \
		.file = name,                                                                      \
		.count = 0 SHARED_MEMORY(COUNT) ANY_MEMORY(COUNT) REACHED_ROWS(COUNT)              \
			COPIED_ROWS(COUNT) SOCKET_ROWS(COUNT),                                     \
		.rows = {SHARED_MEMORY(MEMORY_ROW) ANY_MEMORY(ROW) REACHED_ROWS(MEMORY_ROW)        \
				 COPIED_ROWS(ROW) SOCKET_ROWS(CHUNK_ROW)},                         \
	}

#define ROOMY_TABLE(name, MEMORY_ROWS)                                                             \
	{                                                                                          \
		.file = name, .count = 0 ROOMY_ANY(COUNT) MEMORY_ROWS(COUNT),                      \
		.rows = {ROOMY_ANY(ROOMY_ROW) MEMORY_ROWS(ROOMY_ROW)},                             \
	}

const struct ring_tuning_table ring_tuning_built_in[RING_CPUS] = {
	[RING_CPU_ANY] = TABLE("built-in", REACHABLE_MEMORY, NO_MEMORY, LARGE_SUMS),
	[RING_CPU_AMD] = TABLE("built-in AMD", NO_MEMORY, COPIED_MEMORY, FEW_STEPS),
	[RING_CPU_ZEN4] = TABLE("built-in Zen 4", NEAR_MEMORY, ADDED_MEMORY, FEW_STEPS),
	[RING_CPU_XEON6] = TABLE("built-in Xeon 6", REACHABLE_XEON6, NO_MEMORY, LARGE_SUMS),
};

const struct ring_tuning_table ring_tuning_roomy[RING_CPUS] = {
	[RING_CPU_ANY] = ROOMY_TABLE("built-in, a CPU each,", ROOMY_MEMORY),
	[RING_CPU_AMD] = ROOMY_TABLE("built-in AMD, a CPU each,", NO_MEMORY),
	[RING_CPU_ZEN4] = ROOMY_TABLE("built-in Zen 4, a CPU each,", NO_MEMORY),
	[RING_CPU_XEON6] = ROOMY_TABLE("built-in Xeon 6, a CPU each,", ROOMY_MEMORY),
};

/*
 * A virtual machine may hide the model, but not the last cache: Sapphire Rapids has up to 112.5 MiB of it, Emerald Rapids up to 320,
 * Granite Rapids up to 504. Those of Granite Rapids with less than this choose like the former, as they did.
 */
#define CACHE_XEON6 (330L << 20)

enum ring_cpu ring_cpu_find(void)
{
#if defined(__x86_64__) || defined(__i386__)
	if (__builtin_cpu_is("amdfam17h") || __builtin_cpu_is("amdfam19h"))
		return RING_CPU_ZEN4;
	if (__builtin_cpu_is("amd"))
		return RING_CPU_AMD;
	if (__builtin_cpu_is("intel") && sysconf(_SC_LEVEL3_CACHE_SIZE) > CACHE_XEON6)
		return RING_CPU_XEON6;
#endif
	return RING_CPU_ANY;
}

bool ring_question_fits(enum ring_algorithm algorithm, const struct ring_question *question)
{
	bool mapped = question->path == RING_PATH_MEMORY && question->ranks > 1;
	bool reached = mapped && question->memory != RING_MEMORY_PRIVATE;
	return ring_algorithm_can(algorithm, question->kind, question->ranks, question->bytes,
				  question->scaled) &&
	       (algorithm != RING_ALGORITHM_STAGED || (mapped && question->staged)) &&
	       (algorithm != RING_ALGORITHM_DIRECT || reached);
}

static bool fits(const struct ring_tuning_row *row, const struct ring_question *question)
{
	return (row->kind == ANY || row->kind == (int)question->kind) &&
	       (row->path == ANY || row->path == (int)question->path) &&
	       (row->memory == ANY || row->memory == (int)question->memory) &&
	       row->ranks_from <= question->ranks && question->ranks <= row->ranks_to &&
	       question->bytes <= row->bytes;
}

const struct ring_tuning_row *ring_tuning_find(const struct ring_tuning_table *table,
					       const struct ring_question *question)
{
	for (int i = 0; i < table->count; i++) {
		const struct ring_tuning_row *row = &table->rows[i];
		if (fits(row, question) && ring_question_fits(row->algorithm, question))
			return row;
	}
	return NULL;
}

static const char *const algorithm_names[] = {
#define ALGORITHM_NAME(NAME, name, text) [RING_ALGORITHM_##NAME] = text,
	RING_ALGORITHM_LIST(ALGORITHM_NAME)};

const char *ring_algorithm_name(enum ring_algorithm algorithm)
{
	return algorithm_names[algorithm];
}

/* Sends and receives are pairs, and nothing else is. */
int ring_algorithm_find(const char *name)
{
	for (int algorithm = 0; algorithm < RING_ALGORITHMS; algorithm++)
		if (algorithm != RING_ALGORITHM_PAIR && strcmp(name, algorithm_names[algorithm]) == 0)
			return algorithm;
	return -1;
}

static const char *const path_names[] = {
	[RING_PATH_MEMORY] = "memory",
	[RING_PATH_SOCKET] = "socket",
	[RING_PATH_NETWORK] = "network",
	[RING_PATH_MIXED] = "mixed",
};

const char *ring_path_name(enum ring_path path)
{
	return path_names[path];
}

static const char *const memory_names[] = {
	[RING_MEMORY_PRIVATE] = "private",
	[RING_MEMORY_REACHABLE] = "reachable",
	[RING_MEMORY_SHARED] = "shared",
};

const char *ring_memory_name(enum ring_memory memory)
{
	return memory_names[memory];
}

/* ---- a row as text ---- */

/* "any", "2", "3-64" or "9-". */
static const char *format_ranks(const struct ring_tuning_row *row, char text[RING_NUMBER_TEXT])
{
	if (row->ranks_from <= 1 && row->ranks_to == INT_MAX)
		snprintf(text, RING_NUMBER_TEXT, "any");
	else if (row->ranks_to == INT_MAX)
		snprintf(text, RING_NUMBER_TEXT, "%d-", row->ranks_from);
	else if (row->ranks_from < row->ranks_to)
		snprintf(text, RING_NUMBER_TEXT, "%d-%d", row->ranks_from, row->ranks_to);
	else
		snprintf(text, RING_NUMBER_TEXT, "%d", row->ranks_to);
	return text;
}

const char *ring_tuning_row_format(const struct ring_tuning_row *row,
				   char text[RING_TUNING_ROW_TEXT])
{
	char ranks[RING_NUMBER_TEXT], bytes[RING_NUMBER_TEXT], chunk[RING_NUMBER_TEXT];
	bool any_bytes = row->bytes == UINT64_MAX, has_chunk = row->chunk_bytes > 0;
	snprintf(text, RING_TUNING_ROW_TEXT, "%s %s %s %s %s %s%s%s",
		 row->kind == ANY ? "any" : ring_kind_name((enum ring_kind)row->kind),
		 row->path == ANY ? "any" : path_names[row->path],
		 row->memory == ANY ? "any" : memory_names[row->memory], format_ranks(row, ranks),
		 any_bytes ? "any" : ring_number_write(row->bytes, bytes),
		 algorithm_names[row->algorithm], has_chunk ? " " : "",
		 has_chunk ? ring_number_write(row->chunk_bytes, chunk) : "");
	return text;
}
