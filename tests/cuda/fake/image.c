/* SPDX-License-Identifier: MIT */
/*
 * Whether a driver of the version that is asked for could load an image: a fatbin, of which it
 * takes the code for its device, or compiles the newest PTX for an older one. Anything else (the
 * tests' own PTX, a name) is never refused. And the PTX that a fatbin has, where it is not packed.
 *
 * Source: what nvcc writes, as cuobjdump tells it.
 */
#include "fake.h"

#define FATBIN 0xba55ed50
#define CAPABILITY 90 /* see cuDeviceGetAttribute */

enum { IS_PTX = 1, IS_CODE = 2 };

/* In front of each image of a fatbin, and the fatbin's own header in front of all. */
struct fatbin {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* of all entries */
};

struct entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t bytes;
	uint32_t compressed_bytes, options;
	uint16_t minor, major; /* of PTX, as 9.0 */
	uint32_t capability;   /* as 80 */
	uint64_t name, flags;
};

#define PACKED_FOR_SIZE 0x8000 /* a flag: by Zstandard */

static bool is_fatbin(const void *image)
{
	const struct fatbin *fatbin = image;
	return (uintptr_t)image % _Alignof(struct fatbin) == 0 && fatbin->magic == FATBIN;
}

static bool runs(const struct entry *entry)
{
	return entry->kind == IS_CODE && entry->capability / 10 == CAPABILITY / 10 &&
	       entry->capability <= CAPABILITY;
}

static bool compiles(const struct entry *entry)
{
	return entry->kind == IS_PTX && entry->capability <= CAPABILITY;
}

/* Code for the device, or else PTX; NULL: there is neither. */
static const struct entry *choose(const struct fatbin *fatbin)
{
	const struct entry *chosen = NULL;
	const char *at = (const char *)fatbin + fatbin->header_bytes, *end = at + fatbin->bytes;
	while (at < end) {
		const struct entry *entry = (const struct entry *)at;
		if (runs(entry) || (!chosen && compiles(entry)))
			chosen = entry;
		at += entry->header_bytes + entry->bytes;
	}
	return chosen;
}

/* PTX 8.x came with CUDA 12, 9.x with 13. Minor versions are not told apart. */
static int cuda_of(const struct entry *ptx)
{
	return (ptx->major + 4) * 1000;
}

int fake_image_check(const void *image)
{
	if (!is_fatbin(image))
		return 0;
	const struct entry *entry = choose(image);
	if (!entry)
		return RING_CUDA_NO_BINARY_FOR_GPU;
	if (entry->flags & PACKED_FOR_SIZE && fake_settings.version < 12040)
		return RING_CUDA_INVALID_IMAGE;
	if (entry->kind == IS_PTX && fake_settings.version < cuda_of(entry))
		return RING_CUDA_UNSUPPORTED_PTX_VERSION;
	return 0;
}

const char *fake_image_text(const void *image)
{
	if (!is_fatbin(image))
		return NULL;
	const struct fatbin *fatbin = image;
	const char *text = NULL, *at = (const char *)fatbin + fatbin->header_bytes;
	for (const char *end = at + fatbin->bytes; at < end;) {
		const struct entry *entry = (const struct entry *)at;
		if (compiles(entry) && !entry->compressed_bytes)
			text = at + entry->header_bytes;
		at += entry->header_bytes + entry->bytes;
	}
	return text;
}
