/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bulk-copy engine (arch/bulk_cpu.h). A thread has a list of what it has posted; a copy is made
 * when the thread waits for it, or posts more than the list holds, and a write that has read its
 * source also when the thread ends. It is made in the name of that thread, so that the scheduler,
 * weak memory and sanitizers see its accesses. */
#include <shmem_dev/arch/bulk_cpu.h>
#include <shmem_dev/impl/half.h>
#include "sim/sim.h"

#define N_COPIES 64 /* of a thread; before a further one is posted, the oldest is made */

typedef struct copy {
	char *to;
	const char *from;
	uint32_t nbytes;
	int what;      /* shmemsim_bulk */
	uint64_t *bar; /* of a load; NULL: a store, which has a group */
	uint64_t group;
	char *bytes; /* of a store: what it has read, or NULL */
} copy_t;

/* A thread's copies, in the order of posting. */
struct shmemsimi_bulk {
	copy_t copies[N_COPIES];
	uint32_t n;
	uint64_t group; /* bulk groups committed */
};

static struct shmemsimi_bulk *own(void)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;

	if (f->kind != KIND_LANE)
		shmemsim_fail("bulk copy outside of a kernel");
	if (!f->bulk)
		f->bulk = shmemsimi_alloc(sizeof(*f->bulk));
	return f->bulk;
}

/* The word of a barrier object: a mark, and the number of phases that are over. */
#define BAR_MARK 0x6261727269657200ull

void shmemsim_bulk_bar(uint64_t *bar, int is_init)
{
	shmemd_arch_st_data_u64(bar, is_init ? BAR_MARK : 0);
}

static void check_bar(uint64_t word)
{
	if (word < BAR_MARK || word > BAR_MARK + 0xff)
		shmemsim_fail("bulk copy: no barrier object there: never initialised, already "
			      "ended, or overwritten");
}

static void check_multiples(const void *to, const void *from, uint32_t nbytes)
{
	if ((((uintptr_t)to | (uintptr_t)from | nbytes) & 15) || nbytes == 0)
		shmemsim_fail("bulk copy: addresses and size must be multiples of 16, and the size "
			      "not 0; size %u",
			      nbytes);
}

static void move(char *to, const char *from, uint32_t nbytes)
{
	for (uint32_t i = 0; i < nbytes; i += 16)
		shmemd_arch_st_data_v16(to + i, shmemd_arch_ld_data_v16(from + i));
}

static void add_halves(char *to, uint32_t value, int what)
{
	uint32_t old, seen = shmemd_arch_ld_relaxed_u32(to);

	do {
		old = seen;
		seen = shmemd_arch_atom_cas_u32(to, old,
						what == SHMEMSIM_BULK_F16
							? shmemdi_f16_sum2(old, value)
							: shmemdi_bf16_sum2(old, value));
	} while (seen != old);
}

static void add_words(const copy_t *c)
{
	const char *from = c->bytes;
	uint64_t wide;
	uint32_t word;

	for (uint32_t i = 0; i < c->nbytes; i += c->what == SHMEMSIM_BULK_U64 ? 8 : 4) {
		if (c->what == SHMEMSIM_BULK_U64) {
			shmemsimi_copy(&wide, from + i, sizeof(wide));
			shmemd_arch_red_add_u64(c->to + i, wide);
			continue;
		}
		shmemsimi_copy(&word, from + i, sizeof(word));
		if (c->what == SHMEMSIM_BULK_U32)
			shmemd_arch_red_add_u32(c->to + i, word);
		else if (c->what == SHMEMSIM_BULK_F32)
			shmemd_arch_red_add_f32(c->to + i, shmemdi_f32(word));
		else
			add_halves(c->to + i, word, c->what);
	}
}

/* The source of a store. Its private copy needs no hooks, and sanitizers need not see it. */
static void read_source(copy_t *c)
{
	shmemd_v16_t unit;

	if (c->bytes)
		return;
	c->bytes = shmemsimi_alloc(c->nbytes);
	for (uint32_t i = 0; i < c->nbytes; i += sizeof(unit)) {
		unit = shmemd_arch_ld_data_v16(c->from + i);
		shmemsimi_copy(c->bytes + i, &unit, sizeof(unit));
	}
}

static void write_target(const copy_t *c)
{
	shmemd_v16_t unit;

	if (c->what != SHMEMSIM_BULK_COPY) {
		add_words(c);
		return;
	}
	for (uint32_t i = 0; i < c->nbytes; i += sizeof(unit)) {
		shmemsimi_copy(&unit, c->bytes + i, sizeof(unit));
		shmemd_arch_st_data_v16(c->to + i, unit);
	}
}

static void drop(struct shmemsimi_bulk *b, uint32_t i)
{
	shmemsimi_free(b->copies[i].bytes, b->copies[i].nbytes);
	b->n--;
	shmemsimi_copy(&b->copies[i], &b->copies[i + 1], (b->n - i) * sizeof(b->copies[0]));
}

/* Make the copy of a load, which ends the phase of its barrier object. */
static void load(const copy_t *c)
{
	uint64_t word;

	move(c->to, c->from, c->nbytes);
	word = shmemd_arch_ld_data_u64(c->bar);
	check_bar(word);
	shmemd_arch_st_data_u64(c->bar, BAR_MARK | ((word + 1) & 0xff));
}

static void perform(struct shmemsimi_bulk *b, uint32_t i)
{
	copy_t *c = &b->copies[i];

	if (c->bar) {
		load(c);
	} else {
		read_source(c);
		write_target(c);
	}
	drop(b, i);
}

static void post(copy_t c)
{
	struct shmemsimi_bulk *b = own();

	check_multiples(c.to, c.from, c.nbytes);
	if (b->n == N_COPIES)
		perform(b, 0);
	c.group = b->group;
	b->copies[b->n++] = c;
}

void shmemsim_bulk_load(void *to, const void *from, uint32_t nbytes, uint64_t *bar)
{
	struct shmemsimi_bulk *b = own();
	copy_t c = {to, from, nbytes, SHMEMSIM_BULK_COPY, bar, 0, NULL};

	check_bar(shmemd_arch_ld_data_u64(bar));
	for (uint32_t i = 0; i < b->n; i++)
		if (b->copies[i].bar == bar)
			shmemsim_fail("bulk copy: its barrier object awaits another copy");
	post(c);
}

void shmemsim_bulk_wait_load(uint64_t *bar, uint32_t parity)
{
	struct shmemsimi_bulk *b = own();
	uint64_t word = shmemd_arch_ld_data_u64(bar);

	check_bar(word);
	if ((word & 1) != (parity & 1)) /* the phase before, which is over */
		return;
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->copies[i].bar != bar)
			continue;
		perform(b, i);
		return;
	}
	shmemsim_fail("wait for a bulk copy that was not posted");
}

void shmemsim_bulk_store(void *to, const void *from, uint32_t nbytes, int what)
{
	copy_t c = {to, from, nbytes, what, NULL, 0, NULL};

	post(c);
}

void shmemsim_bulk_commit(void)
{
	own()->group++;
}

void shmemsim_bulk_wait(uint32_t n, int is_read)
{
	struct shmemsimi_bulk *b = own();
	uint32_t i = 0;

	while (i < b->n) {
		copy_t *c = &b->copies[i];
		if (c->bar || c->group + n >= b->group) {
			i++;
		} else if (is_read) {
			read_source(c);
			i++;
		} else {
			perform(b, i);
		}
	}
}

void shmemsimi_bulk_end(void)
{
	struct shmemsimi_bulk *b = shmemsimi_w.current->bulk;

	while (b && b->n) {
		if (b->copies[0].bar || !b->copies[0].bytes)
			shmemsim_fail("a thread ended before its bulk copy had read or written the "
				      "shared memory of its block");
		perform(b, 0);
	}
}

void shmemsimi_bulk_discard(shmemsimi_fiber_t *f)
{
	for (uint32_t i = 0; f->bulk && i < f->bulk->n; i++)
		shmemsimi_free(f->bulk->copies[i].bytes, f->bulk->copies[i].nbytes);
	if (f->bulk)
		shmemsimi_free(f->bulk, sizeof(*f->bulk));
	f->bulk = NULL;
}
