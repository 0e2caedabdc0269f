/* SPDX-License-Identifier: MIT */
/*
 * A grid: as many of its blocks as there are places for, whose threads go on by some instructions
 * each in an order that chance decides. Which threads are a warp matters only to instructions that
 * say so.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "machine.h"

#define TURN 32         /* instructions at most, before another thread's turn */
#define DRAIN_ONE_IN 32 /* turns: one more store is seen */
#define LAG_TURNS 1024  /* on average */
#define LOOK_EVERY 1024 /* turns: whether all should end */
#define NAP_NS 20000

/* SplitMix64 */
uint64_t ptx_random(struct ptx_grid *grid)
{
	uint64_t z = grid->random += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void ptx_trap(struct ptx_thread *t, const struct ptx_instruction *i, int result, const char *format,
	      ...)
{
	struct ptx_grid *grid = t->block->grid;
	const struct ptx_function *function = grid->function;
	char text[sizeof(grid->error->text) / 2];
	va_list arguments;
	t->state = PTX_ENDED;
	if (grid->result)
		return;
	grid->result = result;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(grid->error->text, sizeof(grid->error->text),
		 "line %u of the PTX of %.*s, thread %u of block %u, error %d: %s", i->line,
		 (int)(function->name_length < 80 ? function->name_length : 80), function->name,
		 t->number, t->block->number, result, text);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void run(struct ptx_grid *grid, struct ptx_thread *t)
{
	t->state = PTX_RUNS;
	t->place = grid->nruns;
	grid->runs[grid->nruns++] = t;
}

static void stop_running(struct ptx_grid *grid, const struct ptx_thread *t)
{
	struct ptx_thread *last = grid->runs[--grid->nruns];
	grid->runs[t->place] = last;
	last->place = t->place;
}

/* The one whose turn it is waits, but was not taken out yet. */
void ptx_wake(struct ptx_thread *t)
{
	struct ptx_grid *grid = t->block->grid;
	t->state = PTX_RUNS;
	if (t->place >= grid->nruns || grid->runs[t->place] != t)
		run(grid, t);
}

static void begin_thread(struct ptx_thread *t, struct ptx_block *block, unsigned number)
{
	const struct ptx_function *function = block->grid->function;
	uint64_t *registers = block->registers + number * function->nregisters;
	*t = (struct ptx_thread){.bank = {registers, function->constants},
				 .next = function->code,
				 .number = number,
				 .block = block};
	if (block->flying)
		t->flying = block->flying + number * function->nregisters;
	const uint64_t specials[] = {
#define VALUE(name, value) value,
		PTX_SPECIALS(VALUE)
#undef VALUE
	};
	memcpy(registers, specials, sizeof(specials));
	run(block->grid, t);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void free_block(struct ptx_block *block)
{
	free(block->threads);
	free(block->registers);
	free(block->shared);
	free(block->local);
	free(block->flying);
	free(block->sectors);
	free(block);
}

static struct ptx_block *make_block(struct ptx_grid *grid)
{
	const struct ptx_launch *launch = grid->launch;
	const struct ptx_function *function = grid->function;
	const size_t registers = launch->threads * function->nregisters;
	struct ptx_block *block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->grid = grid;
	block->threads = calloc(launch->threads, sizeof(*block->threads));
	block->registers = calloc(registers, sizeof(*block->registers));
	block->shared = calloc(1, function->shared_bytes + launch->shared_bytes + 1);
	block->local = calloc(launch->threads, function->local_bytes + 1);
	block->flying = launch->counts ? calloc(registers, 1) : NULL;
	block->sectors = calloc(PTX_SECTORS, sizeof(*block->sectors));
	if (block->threads && block->registers && block->shared && block->local && block->sectors &&
	    (block->flying || !launch->counts))
		return block;
	free_block(block);
	return NULL;
}

static bool make_room(struct ptx_grid *grid)
{
	const size_t needs = (size_t)(grid->resident + 1) * grid->launch->threads;
	if (needs <= grid->room)
		return true;
	void *more = realloc(grid->runs, 2 * needs * sizeof(*grid->runs));
	if (!more)
		return false;
	grid->runs = more;
	grid->room = 2 * needs;
	return true;
}

static bool has_place(const struct ptx_host *host)
{
	return !host->enter || host->enter(host->context);
}

static void leave(const struct ptx_host *host)
{
	if (host->leave)
		host->leave(host->context);
}

static void begin_block(struct ptx_grid *grid)
{
	struct ptx_block *block = make_room(grid) ? make_block(grid) : NULL;
	if (!block) {
		grid->result = PTX_OUT_OF_MEMORY;
		leave(grid->launch->host);
		return;
	}
	block->number = grid->begun++;
	block->alive = grid->launch->threads;
	block->next = grid->blocks;
	grid->blocks = block;
	grid->resident++;
	for (unsigned k = 0; k < grid->launch->threads; k++)
		begin_thread(&block->threads[k], block, k);
}

static void begin_blocks(struct ptx_grid *grid)
{
	while (!grid->result && grid->begun < grid->launch->blocks && has_place(grid->launch->host))
		begin_block(grid);
}

/* All threads of it are gone, and all that they have stored is seen. */
static bool is_done(const struct ptx_block *block)
{
	return block->alive == 0 && block->npending == 0;
}

static void end_block(struct ptx_block *block)
{
	struct ptx_grid *grid = block->grid;
	struct ptx_block **place = &grid->blocks;
	while (*place != block)
		place = &(*place)->next;
	*place = block->next;
	free_block(block);
	grid->resident--;
	grid->ended++;
	leave(grid->launch->host);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void end_thread(struct ptx_grid *grid, struct ptx_thread *t)
{
	struct ptx_block *block = t->block;
	if (grid->result)
		return;
	block->alive--;
	if (is_done(block))
		end_block(block);
	else
		ptx_control_left(t);
}

static void turn(struct ptx_thread *t, unsigned instructions)
{
	unsigned left = instructions;
	while (left && t->state == PTX_RUNS) {
		const struct ptx_instruction *i = t->next++;
		left--;
		if (!ptx_is_guarded_off(t, i))
			i->step(t, i);
	}
	t->block->grid->instructions += instructions - left;
}

/* Time passes: one more store of each block is seen. returns false: there are none */
static bool drain_some(struct ptx_grid *grid)
{
	bool some = false;
	for (struct ptx_block *block = grid->blocks, *next; block; block = next) {
		next = block->next;
		some |= block->npending > 0;
		ptx_memory_drain_one(block);
		if (is_done(block))
			end_block(block);
	}
	return some;
}

/* For a while one warp in four has hardly a turn. */
static bool lags(struct ptx_grid *grid, const struct ptx_thread *t, uint64_t dice)
{
	if (dice % LAG_TURNS == 0)
		grid->lagging = (unsigned)(dice / LAG_TURNS % 4);
	return (t->number / PTX_WARP + t->block->number) % 4 == grid->lagging && dice / 4 % 32;
}

/* Of a thread that chance chooses; and perhaps some store is seen. */
static void take_turn(struct ptx_grid *grid)
{
	const uint64_t dice = ptx_random(grid);
	struct ptx_thread *t = grid->runs[(dice >> 32) % grid->nruns];
	const unsigned instructions = 1 + dice % TURN;
	if (dice / TURN % DRAIN_ONE_IN == 0)
		drain_some(grid);
	if (lags(grid, t, dice >> 16))
		return;
	if (grid->launch->counts)
		ptx_counts_turn(t, instructions);
	else
		turn(t, instructions);
	const bool slept = t->state == PTX_YIELDS;
	grid->idle = slept ? grid->idle + 1 : 0;
	if (slept)
		t->state = PTX_RUNS;
	if (t->state == PTX_RUNS)
		return;
	stop_running(grid, t);
	if (t->state == PTX_ENDED)
		end_thread(grid, t);
}

/* What the threads sleep for may be a store; if not, others of this machine do it. */
static void nap(struct ptx_grid *grid)
{
	if (!drain_some(grid))
		nanosleep(&(struct timespec){0, NAP_NS}, NULL);
	grid->idle = 0;
}

static bool is_over(const struct ptx_grid *grid)
{
	const struct ptx_host *host = grid->launch->host;
	return host->is_over && host->is_over(host->context);
}

static bool all_wait(const struct ptx_grid *grid)
{
	for (const struct ptx_block *block = grid->blocks; block; block = block->next)
		if (block->alive)
			return true;
	return false;
}

static void check(struct ptx_grid *grid)
{
	if (is_over(grid)) {
		grid->result = PTX_LAUNCH_FAILED;
		snprintf(grid->error->text, sizeof(grid->error->text), "the context is over");
	} else if (!grid->nruns && all_wait(grid)) {
		grid->result = PTX_LAUNCH_FAILED;
		snprintf(grid->error->text, sizeof(grid->error->text),
			 "all threads of %.*s wait for each other",
			 (int)grid->function->name_length, grid->function->name);
	}
}

/* Without a store for so long it waits for others, and a machine may have few CPUs. */
static void look_up(struct ptx_grid *grid)
{
	const bool stores = grid->stores != grid->stores_seen;
	grid->stores_seen = grid->stores;
	begin_blocks(grid);
	check(grid);
	if (stores || drain_some(grid))
		sched_yield();
	else
		nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

static void run_all(struct ptx_grid *grid)
{
	for (uint64_t turns = 0; !grid->result && grid->ended < grid->launch->blocks; turns++) {
		if (turns % LOOK_EVERY == 0 || !grid->nruns)
			look_up(grid);
		if (grid->result)
			return;
		if (!grid->nruns || grid->idle > 2 * grid->nruns)
			nap(grid);
		else
			take_turn(grid);
	}
}

int ptx_run(const struct ptx_launch *launch, struct ptx_error *error)
{
	struct ptx_grid *grid = calloc(1, sizeof(*grid));
	if (!grid)
		return PTX_OUT_OF_MEMORY;
	grid->launch = launch;
	grid->function = launch->function;
	grid->random = launch->seed;
	grid->error = error;
	run_all(grid);
	while (grid->blocks) /* of a grid that went wrong */
		end_block(grid->blocks);
	const int result = grid->result;
	if (launch->counts)
		launch->counts->instructions += grid->instructions;
	free(grid->runs);
	free(grid);
	return result;
}
