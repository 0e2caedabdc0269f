/* SPDX-License-Identifier: MIT */
/* PTX without what orders memory: whoever relies on it must go wrong. */
#ifndef PTX_WEAKEN_H
#define PTX_WEAKEN_H

#include <stddef.h>

/* How often a function says this: ld.acquire, st.release, membar, bar.sync, or a comment's text. */
size_t ptx_weaken_count(const char *text, size_t bytes, const char *function, const char *word);

/*
 * A copy of the text, to be freed, in which `count` of those, from number `first` on, are relaxed,
 * or gone if they are fences or barriers; of a comment that goes for the statement behind it.
 * returns NULL: there are not as many, or out of memory
 */
char *ptx_weaken(const char *text, size_t bytes, const char *function, const char *word,
		 size_t first, size_t count);

#endif
