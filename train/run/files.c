/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/whole_file.h"
#include "checkpoint.h"
#include "train/report/plot.h"
#include "train/report/record.h"
#include "train/report/summary.h"

/* Whether the folder has no checkpoints that are not gone on from: they would be replaced. */
static bool is_free(const struct train_options *options, const char *folder)
{
	uint64_t step;
	if (options->resume || options->resume_if_any || !train_checkpoint_find(folder, &step))
		return true;
	fprintf(stderr,
		"ring_train: %s has step %" PRIu64
		": --resume goes on from it, or name another folder\n",
		folder, step);
	return false;
}

static bool can_write(const struct train_options *options)
{
	const char *const paths[] = {options->export, options->json, options->trace,
				     options->profile};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!whole_file_check("ring_train", paths[i]))
			return false;
	if (options->plot && train_plot_check(options->plot) != 0)
		return false;
	return !options->checkpoint || (train_checkpoint_prepare(options->checkpoint) == 0 &&
					is_free(options, options->checkpoint));
}

static bool can_read(const struct train_options *options)
{
	double values[TRAIN_METRICS];
	struct train_summary summary;
	for (int i = 0; i < options->reference_count; i++)
		if (train_record_read(options->references[i], &summary) != 0)
			return false;
	return !options->model || train_record_read_predictions(options->model, values) == 0;
}

bool train_files_check(const struct train_options *options)
{
	return can_write(options) && can_read(options);
}
