/* SPDX-License-Identifier: MIT */
/* Numbers as ring_model prints them. */
#ifndef MODEL_TEXT_H
#define MODEL_TEXT_H

#define MODEL_TEXT_ROOM 24

/* "64 KiB" */
const char *model_size_text(double bytes, char text[MODEL_TEXT_ROOM]);

/* a / b, or "-" if there is no such number: nothing was sent, or it took no time. */
const char *model_ratio_text(double a, double b, int decimals, char text[MODEL_TEXT_ROOM]);

#endif
