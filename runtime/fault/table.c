/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/file_limit.h"

#define N_TRIES 1000 /* of a copy, while the writer changes the row */

int shmemhi_fault_table_open(shmemhi_fault_table_t *table, int pe, int n_pes, uint32_t n_channels,
			     shmemhi_err_t *err)
{
	void *memory = MAP_FAILED;
	uint64_t limit;

	memset(table, 0, sizeof *table);
	table->nbytes = sizeof *table->head + (size_t)n_pes * n_channels * sizeof *table->rows;
	if (shmemhi_exceeds_file_limit(table->nbytes, &limit))
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
				    "fail-over: no table of %zu bytes for states of paths: the "
				    "limit of this process for files is %llu: raise ulimit -f",
				    table->nbytes, (unsigned long long)limit);
	/* Pages that nothing was written to take no memory. */
	table->fd = memfd_create(SHMEMHI_FAULT_TABLE_NAME, MFD_CLOEXEC);
	if (table->fd >= 0 && ftruncate(table->fd, (off_t)table->nbytes) == 0)
		memory =
			mmap(NULL, table->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, table->fd, 0);
	if (memory == MAP_FAILED) {
		const int error = errno;

		if (table->fd >= 0)
			close(table->fd);
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
				    "fail-over: no table of %zu bytes for states of paths: %s%s",
				    table->nbytes, strerror(error),
				    shmemhi_descriptor_advice(error));
	}
	pthread_mutex_init(&table->lock, NULL);
	table->head = memory;
	table->rows = (shmemhi_fault_row_t *)(table->head + 1);
	*table->head = (shmemhi_fault_head_t){.pe = pe,
					      .n_pes = n_pes,
					      .n_channels = n_channels,
					      .row_nbytes = sizeof *table->rows};
	memcpy(table->head->magic, SHMEMHI_FAULT_TABLE_MAGIC, sizeof table->head->magic);
	return SHMEMH_OK;
}

void shmemhi_fault_table_close(shmemhi_fault_table_t *table)
{
	if (!table->head)
		return;
	munmap(table->head, table->nbytes);
	close(table->fd);
	pthread_mutex_destroy(&table->lock);
	table->head = NULL;
}

void shmemhi_fault_table_write(shmemhi_fault_table_t *table, uint32_t index,
			       const shmemhi_fault_row_t *row)
{
	const size_t head = offsetof(shmemhi_fault_row_t, is_there);
	shmemhi_fault_row_t *to = &table->rows[index];
	uint32_t seq = to->seq;

	pthread_mutex_lock(&table->lock);
	__atomic_store_n(&to->seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy((char *)to + head, (const char *)row + head, sizeof *to - head);
	__atomic_store_n(&to->seq, seq + 2, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&table->lock);
}

void shmemhi_fault_table_read(shmemhi_fault_table_t *table, uint32_t index,
			      shmemhi_fault_row_t *row)
{
	pthread_mutex_lock(&table->lock);
	memcpy(row, &table->rows[index], sizeof *row);
	pthread_mutex_unlock(&table->lock);
}

int shmemhi_fault_row_copy(const shmemhi_fault_row_t *from, shmemhi_fault_row_t *row)
{
	for (int i = 0; i < N_TRIES; i++) {
		const uint32_t seq = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);

		memcpy(row, from, sizeof *row);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && __atomic_load_n(&from->seq, __ATOMIC_RELAXED) == seq)
			return 0;
	}
	return -1;
}
