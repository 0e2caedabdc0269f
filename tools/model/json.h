/* SPDX-License-Identifier: MIT */
/* JSON files as ring_model reads and writes them. */
#ifndef MODEL_JSON_H
#define MODEL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints "ring_model: FILE: why". returns false */
bool model_json_refuse(const char *path, const char *why);

/*
 * Reads a file with one value, "-" is standard input. All numbers are reals, since a seed may be
 * larger than the parser's integers. returns NULL with a sentence on stderr
 */
json_t *model_json_read(const char *path);

/* Opens a file with a value per line. returns NULL with a sentence on stderr */
FILE *model_json_open(const char *path);

/* The next value of it. returns NULL at the end; with a sentence, and *wrong, if it is not JSON */
json_t *model_json_next(FILE *in, const char *path, bool *wrong);

/*
 * Writes the file whole or not at all. Takes over root; NULL: out of memory. returns false with a
 * sentence on stderr
 */
bool model_json_write(const char *path, json_t *root);

/* 0 if there is no such number. */
double model_json_number(const json_t *object, const char *key);

/* Copies what may be shown of a text; "" if there is none. */
void model_json_text(char *to, size_t room, const json_t *object, const char *key);

#endif
