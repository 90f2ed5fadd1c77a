/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The heap's memory regions, and the table from which kernels take the key of an offset. A growth
 * is registered in regions of the greatest length that the NICs of all PEs allow, so most growths
 * are one region. */
#include <endian.h>
#include <stdlib.h>
#include "ib/region.h"
#include "mem/mem.h"

#define KEYS_PER_GATHER 256

struct shmemhi_keys {
	uint64_t granule;       /* registration granule in bytes: one table entry covers it */
	uint64_t region_nbytes; /* longest region; a multiple of the granule */
	shmemd_key_t *table;    /* [SHMEMD_N_KEYS], memory of the device */
	size_t n_columns;       /* ports of a PE that paths may use: 1, or with stand-bys 2 */
	struct ibv_mr *
		*regions; /* [n_regions][n_columns], by offset; NULL: a PE without stand-by */
	size_t n_regions;
	struct ibv_mr *first[SHMEMHI_COLUMNS]; /* regions[0], also for other threads: atomic */
};

static int no_memory(shmemh_t *job)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "keys: out of memory");
}

/* Lower *n_granules to the longest region that this NIC can register. */
static int limit_by(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_open_port_t *port,
		    uint64_t granule, uint64_t *n_granules)
{
	struct ibv_device_attr attr = {0};
	int error = ib->lib.query_device(port->context, &attr);

	if (error)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NIC, "%s: ibv_query_device: %s",
				    port->name, strerror(error));
	if (*n_granules > attr.max_mr_size / granule)
		*n_granules = attr.max_mr_size / granule;
	if (*n_granules == 0)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NIC,
				    "%s registers at most %llu bytes at once: set "
				    "SHMEMH_HEAP_CHUNK to no more",
				    port->name, (unsigned long long)attr.max_mr_size);
	return SHMEMH_OK;
}

/* The longest region that each of this PE's NICs can register; n_more counts in 32 bits. */
static int own_limit(shmemh_t *job, const shmemhi_ib_t *ib, uint64_t *n_granules)
{
	int status = SHMEMH_OK;

	*n_granules = UINT32_MAX;
	for (size_t c = 0; status == SHMEMH_OK && c < ib->keys->n_columns; c++)
		if (shmemhi_port_of_column(ib, c)->context)
			status = limit_by(job, ib, shmemhi_port_of_column(ib, c), ib->keys->granule,
					  n_granules);
	return status;
}

/* Agree on the smallest limit of all PEs: then the regions of all PEs have the same boundaries. */
static int agree_limit(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_keys_t *keys = ib->keys;
	uint64_t least = 0;
	uint64_t *all = calloc((size_t)job->n_pes, sizeof *all);
	int status = all ? own_limit(job, ib, &least) : no_memory(job);

	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, &least, all, sizeof least);
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
		if (all[pe] < least)
			least = all[pe];
	free(all);
	keys->region_nbytes = least * keys->granule;
	return status;
}

/* Write the key of the bounce buffers, which are local to this PE and one memory region. */
static int write_bounce_key(shmemh_t *job, const shmemhi_ib_t *ib)
{
	const shmemd_key_t key = {.key = {ib->bounce_keys[0], ib->bounce_keys[1]}};

	return shmemhi_dev_write(
		job,
		ib->keys->table + SHMEMD_LKEY_INDEX(ib->n_granules, job->n_pes, ib->n_granules),
		&key, sizeof key);
}

/* Add what to do to the line of an allocation that failed. */
static int no_table(shmemh_t *job, uint64_t n_granules)
{
	shmemhi_err_t cause = job->err;

	job->err.text[0] = '\0';
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
			    "no device memory for a table of %llu keys for each PE: %.200s: raise "
			    "SHMEMH_HEAP_CHUNK (up to 1g) or lower SHMEMH_SYMMETRIC_MAX",
			    (unsigned long long)n_granules,
			    cause.text[0] ? cause.text : "the table would have 2^32 keys or more");
}

static int open_table(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_keys_t *keys = calloc(1, sizeof *keys);
	uint64_t n_granules;
	int status = SHMEMH_ERR_NO_MEMORY;

	ib->keys = keys;
	if (!keys)
		return no_memory(job);
	keys->n_columns = ib->failover ? SHMEMHI_COLUMNS : 1;
	keys->granule = shmemhi_mem_chunk(job);
	if (keys->granule > SHMEMD_MLX5_MAX_MSG)
		keys->granule = SHMEMD_MLX5_MAX_MSG;
	n_granules = shmemhi_mem_reserved(job) / keys->granule;
	ib->n_granules = (uint32_t)n_granules;
	ib->log_granule = (uint64_t)__builtin_ctzll(keys->granule);
	if (SHMEMD_N_KEYS(n_granules, job->n_pes) <= UINT32_MAX) /* kernels compute with 32 bits */
		status = shmemhi_dev_alloc(
			job, SHMEMD_N_KEYS(n_granules, job->n_pes) * sizeof *keys->table,
			(void **)&keys->table);
	if (status == SHMEMH_ERR_NO_MEMORY)
		return no_table(job, n_granules);
	if (status != SHMEMH_OK)
		return status;
	return write_bounce_key(job, ib);
}

/* Deregister all but the first n regions. */
static void drop_regions(shmemhi_ib_t *ib, size_t n)
{
	shmemhi_keys_t *keys = ib->keys;

	for (; keys->n_regions > n; keys->n_regions--)
		for (size_t c = 0; c < keys->n_columns; c++) {
			struct ibv_mr *mr =
				keys->regions[(keys->n_regions - 1) * keys->n_columns + c];

			if (mr)
				ib->lib.dereg_mr(mr);
		}
}

void shmemhi_keys_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	if (!ib->keys)
		return;
	shmemhi_mem_set_on_growth(job, NULL);
	drop_regions(ib, 0);
	free(ib->keys->regions);
	if (ib->keys->table)
		shmemhi_dev_free(job, ib->keys->table);
	free(ib->keys);
	ib->keys = NULL;
}

const shmemd_key_t *shmemhi_keys_table(const shmemhi_ib_t *ib)
{
	return ib->keys->table;
}

const struct ibv_mr *shmemhi_keys_first_mr(const shmemhi_ib_t *ib, size_t column)
{
	return __atomic_load_n(&ib->keys->first[column], __ATOMIC_ACQUIRE);
}

/* --- growth --------------------------------------------------------------------------------- */

/* Scratch of a growth. All keys are big-endian. */
typedef struct adding {
	uint64_t offset, nbytes;
	size_t n_regions;
	size_t before; /* regions there were */
	size_t n_keys; /* n_regions * n_columns */
	/* [n_keys rounded up to KEYS_PER_GATHER]: the rkeys; once these are gathered, the lkeys */
	uint32_t *mine;
	/* [n_pes][n]: n keys of each PE in one gather, KEYS_PER_GATHER or, in the last, fewer */
	uint32_t *all;
	uint32_t *theirs;      /* [n_pes][n_keys] */
	shmemd_key_t *entries; /* [granules of the growth] */
} adding_t;

static int alloc_adding(shmemh_t *job, shmemhi_keys_t *keys, adding_t *a)
{
	size_t n_pes = (size_t)job->n_pes;
	size_t padded = (a->n_keys + KEYS_PER_GATHER - 1) / KEYS_PER_GATHER * KEYS_PER_GATHER;
	struct ibv_mr **regions = realloc(
		keys->regions, (keys->n_regions * keys->n_columns + a->n_keys) * sizeof *regions);

	if (regions)
		keys->regions = regions;
	a->mine = calloc(padded, sizeof *a->mine);
	a->all = calloc(n_pes * KEYS_PER_GATHER, sizeof *a->all);
	a->theirs = calloc(n_pes * a->n_keys, sizeof *a->theirs);
	a->entries = calloc(a->nbytes / keys->granule, sizeof *a->entries);
	if (!regions || !a->mine || !a->all || !a->theirs || !a->entries)
		return no_memory(job);
	return SHMEMH_OK;
}

static void free_adding(adding_t *a)
{
	free(a->mine);
	free(a->all);
	free(a->theirs);
	free(a->entries);
}

/* Register region i of the growth with each port. */
static int register_one(shmemh_t *job, shmemhi_ib_t *ib, adding_t *a, size_t i)
{
	shmemhi_keys_t *keys = ib->keys;
	uint64_t from = i * keys->region_nbytes;
	uint64_t left = a->nbytes - from;
	struct ibv_mr **at = keys->regions + keys->n_regions * keys->n_columns;

	memset(at, 0, keys->n_columns * sizeof *at);
	keys->n_regions++;
	for (size_t c = 0; c < keys->n_columns; c++) {
		const shmemhi_open_port_t *port = shmemhi_port_of_column(ib, c);

		if (!port->context)
			continue;
		at[c] = shmemhi_region_open(job, &ib->lib, port, a->offset + from,
					    left < keys->region_nbytes ? left
								       : keys->region_nbytes);
		if (!at[c])
			return SHMEMH_ERR_NIC;
		a->mine[i * keys->n_columns + c] = htobe32(at[c]->rkey);
	}
	return SHMEMH_OK;
}

static int register_own(shmemh_t *job, shmemhi_ib_t *ib, adding_t *a)
{
	int status = SHMEMH_OK;

	for (size_t i = 0; status == SHMEMH_OK && i < a->n_regions; i++)
		status = register_one(job, ib, a, i);
	return status;
}

/* Gather in chunks: the size of one collective is limited. */
static int gather_keys(shmemh_t *job, adding_t *a)
{
	int status = SHMEMH_OK;

	for (size_t first = 0; status == SHMEMH_OK && first < a->n_keys; first += KEYS_PER_GATHER) {
		size_t n = a->n_keys - first;

		n = n < KEYS_PER_GATHER ? n : KEYS_PER_GATHER;
		status = shmemhi_allgather(job, a->mine + first, a->all, n * sizeof *a->mine);
		for (size_t pe = 0; pe < (size_t)job->n_pes; pe++)
			memcpy(a->theirs + pe * a->n_keys + first, a->all + pe * n,
			       n * sizeof *a->all);
	}
	return status;
}

/* Write the table entries of one PE for this growth; `first` is the index of the first entry. The
 * keys of a port that the PE does not have are 0. */
static int write_row(shmemh_t *job, const shmemhi_keys_t *keys, adding_t *a, size_t first,
		     const uint32_t *region_keys)
{
	size_t n = a->nbytes / keys->granule, per_region = keys->region_nbytes / keys->granule;

	for (size_t i = 0; i < n; i++) {
		size_t end = (i / per_region + 1) * per_region;

		a->entries[i] = (shmemd_key_t){.n_more = (uint32_t)((end < n ? end : n) - 1 - i)};
		memcpy(a->entries[i].key, region_keys + i / per_region * keys->n_columns,
		       keys->n_columns * sizeof *region_keys);
	}
	return shmemhi_dev_write(job, keys->table + first, a->entries, n * sizeof *a->entries);
}

static int write_table(shmemh_t *job, const shmemhi_ib_t *ib, adding_t *a)
{
	const shmemhi_keys_t *keys = ib->keys;
	size_t granule = a->offset / keys->granule;
	int status;

	for (size_t i = 0; i < a->n_keys; i++) {
		const struct ibv_mr *mr = keys->regions[a->before * keys->n_columns + i];

		a->mine[i] = mr ? htobe32(mr->lkey) : 0;
	}
	status = write_row(job, keys, a, SHMEMD_LKEY_INDEX(ib->n_granules, job->n_pes, granule),
			   a->mine);
	for (size_t pe = 0; status == SHMEMH_OK && pe < (size_t)job->n_pes; pe++)
		status = write_row(job, keys, a, SHMEMD_RKEY_INDEX(ib->n_granules, pe, granule),
				   a->theirs + pe * a->n_keys);
	return status;
}

/* Register [offset, offset + nbytes) of the heap, which has just been mapped, and gather the keys
 * of all others. Collective. Failed: nothing is registered. nbytes is a multiple of the granule. */
static int grow(shmemh_t *job, uint64_t offset, uint64_t nbytes)
{
	shmemhi_ib_t *ib = job->ib;
	shmemhi_keys_t *keys = ib->keys;
	adding_t a = {.offset = offset,
		      .nbytes = nbytes,
		      .n_regions = (nbytes + keys->region_nbytes - 1) / keys->region_nbytes,
		      .before = keys->n_regions};
	int status;

	a.n_keys = a.n_regions * keys->n_columns;
	status = alloc_adding(job, keys, &a);
	if (status == SHMEMH_OK)
		status = register_own(job, ib, &a);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = gather_keys(job, &a);
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, write_table(job, ib, &a));
	if (status != SHMEMH_OK)
		drop_regions(ib, a.before);
	else if (offset == 0)
		for (size_t c = 0; c < keys->n_columns; c++)
			__atomic_store_n(&keys->first[c], keys->regions[c], __ATOMIC_RELEASE);
	free_adding(&a);
	return status;
}

int shmemhi_keys_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	int status = shmemhi_agree(job, open_table(job, ib));

	if (status == SHMEMH_OK)
		status = agree_limit(job, ib);
	if (status == SHMEMH_OK)
		shmemhi_mem_set_on_growth(job, grow);
	else
		shmemhi_keys_close(job, ib);
	return status;
}
