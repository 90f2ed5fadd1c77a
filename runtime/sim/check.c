/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The emulator's part of check builds: it ends a run for a mistake that has no error record, tests
 * whether (the first 256 bytes of) memory can be read, and finds sources of nbi operations that
 * were written too early. */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>
#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/arch/cpu_checks.h>
#include "sim/sim.h"

#define MAX_RECORDS 16

/* Of shmem_host, with which the program need not be linked. */
extern const char *shmemh_error_format(const shmemd_error_t *err, char *text, size_t text_nbytes)
	__attribute__((weak));

/* Records of the PEs that have one, where the host library keeps them. */
static const shmemd_error_t *records[MAX_RECORDS];
static int record_pes[MAX_RECORDS];
static unsigned n_records;

#define MAX_SOURCES 256 /* of all PEs; the oldest is dropped */

typedef struct source {
	const unsigned char *at;
	size_t nbytes;
	uint64_t hash;
	int pe;
} source_t;

static source_t sources[MAX_SOURCES];
static unsigned n_sources;

void shmemsim_tell(const char *text, const char *site, uint32_t line)
{
	if (line)
		shmemsim_fail("%s:%u: %s", site, line, text);
	else
		shmemsim_fail("%s%s%s", site ? site : "", site ? ": " : "", text);
}

void shmemsim_recorded(const void *err)
{
	for (unsigned i = 0; i < n_records; i++)
		if (records[i] == err)
			return;
	if (n_records == MAX_RECORDS)
		return;
	record_pes[n_records] = shmemsimi_w.current->pe;
	records[n_records++] = err;
}

void shmemsimi_report_records(void)
{
	char text[512];
	for (unsigned i = 0; i < n_records && shmemh_error_format; i++) {
		if (!shmemsim_is_readable(records[i], sizeof(*records[i])) || !records[i]->status)
			continue;
		shmemsimi_report_line("PE %d before: %s", record_pes[i],
				      shmemh_error_format(records[i], text, sizeof(text)));
	}
}

/* One byte of each page is read. */
int shmemsim_is_readable(const void *p, size_t nbytes)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)p + nbytes;
	char byte;
	struct iovec to = {&byte, 1};
	for (uintptr_t at = (uintptr_t)p; at < end; at = (at / page + 1) * page) {
		struct iovec from = {(void *)at, 1};
		/* without the system call (ENOSYS, EPERM) it is not known: 1 */
		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0)
			return errno != EFAULT;
	}
	return 1;
}

/* Without libc functions, which thread sanitizer intercepts: it would attribute the loads to the
 * fiber. */
static uint64_t hash_of(const unsigned char *at, size_t nbytes)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < nbytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

/* A source that is kept already keeps its hash: several blocks make one transfer, and one of them
 * may have written the source, wrongly, before the last one calls. */
void shmemsim_nbi_source(const void *src, size_t nbytes)
{
	source_t *s;
	if (!nbytes)
		return;
	for (s = sources; s < sources + n_sources; s++)
		if (s->at == src && s->nbytes == nbytes && s->pe == shmemsimi_w.current->pe)
			return;
	if (n_sources == MAX_SOURCES)
		shmemsimi_copy(sources, sources + 1, --n_sources * sizeof(sources[0]));
	s = &sources[n_sources++];
	s->at = src;
	s->nbytes = nbytes;
	s->hash = hash_of(src, nbytes);
	s->pe = shmemsimi_w.current->pe;
}

/* Drop those of this PE. Returns the size of the first one whose contents have changed; 0: none, or
 * they were not compared. */
static uint64_t drop(int is_compared)
{
	uint64_t changed = 0;
	unsigned kept = 0;
	for (unsigned i = 0; i < n_sources; i++) {
		source_t *s = &sources[i];
		if (s->pe != shmemsimi_w.current->pe)
			shmemsimi_copy(&sources[kept++], s, sizeof(*s));
		else if (is_compared && !changed && shmemsim_is_readable(s->at, s->nbytes) &&
			 hash_of(s->at, s->nbytes) != s->hash)
			changed = s->nbytes;
	}
	n_sources = kept;
	return changed;
}

uint64_t shmemsim_nbi_changed(void)
{
	return n_sources ? drop(1) : 0;
}

void shmemsim_nbi_forget(void)
{
	if (n_sources)
		(void)drop(0);
}

void shmemsimi_check_end(void)
{
	n_sources = 0;
	n_records = 0;
}
