/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The symmetric heap in host memory with 1, 2 and 4 PEs: threads that use each other's addresses,
 * threads that pass descriptors, and processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <cmocka.h>
#include "mem_faults.h"
#include "mem_job.h"

static pid_t test_pid;

static int sync_pes(shmemh_t *job)
{
	char all[MAX_PES], mine = 0;

	return shmemhi_allgather(job, &mine, all, 1);
}

static shmemh_heap_info_t info_of(const shmemh_t *job)
{
	shmemh_heap_info_t info = {.size = sizeof info};

	shmemh_heap_info(job, &info);
	return info;
}

static int same_info(const shmemh_heap_info_t *a, const shmemh_heap_info_t *b)
{
	return a->reserved == b->reserved && a->committed == b->committed && a->used == b->used &&
	       a->largest == b->largest;
}

/* Every PE's offset of p equals PE 0's. */
static int offsets_equal(shmemh_t *job, const void *p)
{
	uint64_t all[MAX_PES];
	uint64_t mine = (uintptr_t)p - (uintptr_t)shmemhi_mem_base(job, job->pe);

	if (shmemhi_allgather(job, &mine, all, sizeof mine) != SHMEMH_OK)
		return 0;
	for (int pe = 0; pe < job->n_pes; pe++)
		if (all[pe] != mine)
			return 0;
	return 1;
}

/* Write to every PE, then check the words that every PE wrote here: both directions of each pair.
 */
static int exchange_data(shmemh_t *job, uint64_t *words, uint64_t salt)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		uint64_t *theirs = shmemh_ptr(job, words, pe);

		PE_CHECK(theirs != NULL);
		theirs[job->pe] = salt + (uint64_t)job->pe * 100 + (uint64_t)pe;
	}
	PE_CHECK(sync_pes(job) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++) {
		uint64_t *theirs = shmemh_ptr(job, words, pe);

		PE_CHECK(words[pe] == salt + (uint64_t)pe * 100 + (uint64_t)job->pe);
		PE_CHECK(theirs[pe] == salt + (uint64_t)pe * 100 + (uint64_t)pe);
	}
	PE_CHECK(sync_pes(job) == SHMEMH_OK);
	return 0;
}

static int pe_growth(shmemh_t *job)
{
	enum { N = 6 };
	static const size_t sizes[N] = {64, 700000, 3u << 20, 512, 900000, 5u << 20};
	void *ptrs[N];
	shmemh_heap_info_t info;

	PE_CHECK(info_of(job).committed == 0);
	for (int i = 0; i < N; i++) {
		PE_CHECK(shmemh_malloc(job, sizes[i], &ptrs[i]) == SHMEMH_OK);
		PE_CHECK((uintptr_t)ptrs[i] % SHMEMHI_ALIGN_MIN == 0);
		PE_CHECK(offsets_equal(job, ptrs[i]));
		/* The last words of each allocation: in its own chunk, if the heap grew. */
		if (exchange_data(job, (uint64_t *)((char *)ptrs[i] + sizes[i]) - MAX_PES,
				  (uint64_t)i))
			return 1;
	}
	info = info_of(job);
	PE_CHECK(info.kind == SHMEMH_HEAP_HOST);
	PE_CHECK(info.base == shmemhi_mem_base(job, job->pe));
	PE_CHECK(info.committed >= info.used && info.committed <= info.reserved);
	PE_CHECK(info.reserved == (uint64_t)64 << 20);
	PE_CHECK(job->mem->heap.n_growths > 2);
	for (int i = 0; i < N; i++)
		PE_CHECK(shmemh_free(job, ptrs[i]) == SHMEMH_OK);
	PE_CHECK(info_of(job).used == 0);
	PE_CHECK(info_of(job).committed == info.committed);
	PE_CHECK(info_of(job).largest == info.committed);
	return 0;
}

static void test_growth(void **state)
{
	(void)state;
	everywhere(pe_growth, (world_kind_t){0});
}

static int pe_arguments(shmemh_t *job)
{
	void *p = job, *q = NULL;
	shmemh_heap_info_t wrong = {.size = 1};
	int other = (job->pe + 1) % job->n_pes;

	PE_CHECK(shmemh_malloc(job, 0, &p) == SHMEMH_OK && p == NULL);
	PE_CHECK(shmemh_free(job, NULL) == SHMEMH_OK);
	PE_CHECK(shmemh_align(job, 3, 64, &p) == SHMEMH_ERR_ARGUMENT && has_text(job, "3"));
	PE_CHECK(shmemh_align(job, 0, 64, &p) == SHMEMH_ERR_ARGUMENT);
	PE_CHECK(shmemh_malloc(job, 64, NULL) == SHMEMH_ERR_ARGUMENT);
	PE_CHECK(shmemh_calloc(job, SIZE_MAX / 2, 3, &p) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(shmemh_malloc(job, SIZE_MAX, &p) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(shmemh_heap_info(job, &wrong) == SHMEMH_ERR_ARGUMENT);
	PE_CHECK(shmemh_heap_info(job, NULL) == SHMEMH_ERR_ARGUMENT);
	PE_CHECK(info_of(job).committed == 0);
	PE_CHECK(shmemh_malloc(job, 1, &q) == SHMEMH_OK);
	for (unsigned bit = 0; bit <= 23; bit++) {
		PE_CHECK(shmemh_align(job, (size_t)1 << bit, 100, &p) == SHMEMH_OK);
		PE_CHECK((uintptr_t)p % ((size_t)1 << bit) == 0);
		PE_CHECK((uintptr_t)shmemh_ptr(job, p, other) % ((size_t)1 << bit) == 0);
		PE_CHECK(shmemh_free(job, p) == SHMEMH_OK);
	}
	PE_CHECK(shmemh_ptr(job, &wrong, other) == NULL);
	PE_CHECK(shmemh_ptr(job, q, -1) == NULL);
	PE_CHECK(shmemh_ptr(job, q, job->n_pes) == NULL);
	PE_CHECK(shmemh_ptr(job, (char *)q + info_of(job).committed, other) == NULL);
	return 0;
}

static void test_arguments(void **state)
{
	(void)state;
	everywhere(pe_arguments, (world_kind_t){0});
}

static int pe_mismatch(shmemh_t *job)
{
	void *p = NULL, *q = NULL;
	shmemh_heap_info_t before;
	int last = job->pe == job->n_pes - 1;

	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 1000, &q) == SHMEMH_OK);
	before = info_of(job);
	void *r = job;
	PE_CHECK(shmemh_malloc(job, last ? 4097 : 4096, &r) == SHMEMH_ERR_MISMATCH && r == NULL);
	PE_CHECK(has_text(job, "PE 0") && has_text(job, "4096 bytes") &&
		 has_text(job, "4097 bytes") && has_text(job, job->n_pes == 2 ? "PE 1" : "PE 3"));
	PE_CHECK(shmemh_align(job, last ? 1024 : 2048, 64, &r) == SHMEMH_ERR_MISMATCH);
	PE_CHECK(has_text(job, "1024") && has_text(job, "2048"));
	PE_CHECK(shmemh_malloc(job, last ? 0 : 64, &r) == SHMEMH_ERR_MISMATCH);
	PE_CHECK((last ? shmemh_free(job, p) : shmemh_malloc(job, 64, &r)) == SHMEMH_ERR_MISMATCH);
	PE_CHECK(has_text(job, "malloc") && has_text(job, "free"));
	PE_CHECK(shmemh_free(job, last ? p : q) == SHMEMH_ERR_MISMATCH);
	before.size = sizeof before;
	shmemh_heap_info_t after = info_of(job);
	PE_CHECK(same_info(&before, &after));
	PE_CHECK(shmemh_free(job, p) == SHMEMH_OK && shmemh_free(job, q) == SHMEMH_OK);
	return 0;
}

static void test_mismatch(void **state)
{
	(void)state;
	for (int n = 2; n <= 4; n += 2) {
		assert_int_equal(run_world(&(world_kind_t){.n_pes = n}, pe_mismatch), 0);
		assert_int_equal(run_world(&(world_kind_t){.n_pes = n, .forked = 1}, pe_mismatch),
				 0);
	}
}

static int pe_exhaustion(shmemh_t *job)
{
	void *p = NULL, *q = job;
	char asked[32];
	shmemh_heap_info_t before, after;

	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_OK);
	before = info_of(job);
	PE_CHECK(shmemh_malloc(job, 6u << 20, &q) == SHMEMH_ERR_NO_MEMORY && q == NULL);
	snprintf(asked, sizeof asked, "%u bytes", 6u << 20);
	PE_CHECK(has_text(job, asked) && has_text(job, "SHMEMH_SYMMETRIC_MAX") &&
		 has_text(job, "8388608") && has_text(job, "5242880"));
	after = info_of(job);
	PE_CHECK(same_info(&before, &after));
	/* The rest of the heap can still be allocated, to the last byte. */
	PE_CHECK(shmemh_malloc(job, 5u << 20, &q) == SHMEMH_OK);
	PE_CHECK(info_of(job).used == info_of(job).reserved);
	PE_CHECK(shmemh_malloc(job, 1, &q) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(shmemh_free(job, p) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 3u << 20, &q) == SHMEMH_OK && q == p);
	return 0;
}

static void test_exhaustion(void **state)
{
	(void)state;
	everywhere(pe_exhaustion, (world_kind_t){.max = 8u << 20});
}

static int pe_not_owned(shmemh_t *job)
{
	void *p = NULL, *q = NULL, *library = NULL;
	char text[64];
	int last = job->pe == job->n_pes - 1;
	shmemh_heap_info_t before, after;

	PE_CHECK(shmemhi_heap_take(job, 64, &library) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 5000, &q) == SHMEMH_OK);
	PE_CHECK(shmemh_free(job, p) == SHMEMH_OK);
	before = info_of(job);
	PE_CHECK(shmemh_free(job, p) == SHMEMH_ERR_NOT_OWNED && has_text(job, "freed before"));
	if (job->pe == 0) {
		snprintf(text, sizeof text, "%p", p);
		PE_CHECK(has_text(job, text));
	}
	/* A mistake of one PE is an error on all PEs, and nothing is freed. */
	PE_CHECK(shmemh_free(job, last ? (void *)&job : q) == SHMEMH_ERR_NOT_OWNED);
	PE_CHECK(has_text(job, "not a symmetric address"));
	/* Reserved for the heap, but without memory: outside of the range in the line. */
	PE_CHECK(before.committed < before.reserved);
	PE_CHECK(shmemh_free(job, (char *)before.base + before.committed) == SHMEMH_ERR_NOT_OWNED);
	if (job->pe == 0) {
		snprintf(text, sizeof text, "its heap has memory from %p to %p", before.base,
			 (void *)((char *)before.base + before.committed));
		PE_CHECK(has_text(job, text));
	}
	PE_CHECK(shmemh_free(job, last ? (char *)q + 512 : q) == SHMEMH_ERR_NOT_OWNED);
	PE_CHECK(has_text(job, "inside the allocation starting at"));
	PE_CHECK(has_text(job, "of 5000 bytes"));
	if (last) {
		snprintf(text, sizeof text, "%p", q);
		PE_CHECK(has_text(job, text));
	}
	PE_CHECK(shmemh_free(job, library) == SHMEMH_ERR_NOT_OWNED && has_text(job, "library"));
	after = info_of(job);
	PE_CHECK(same_info(&before, &after));
	PE_CHECK(shmemh_free(job, q) == SHMEMH_OK);
	return 0;
}

static void test_not_owned(void **state)
{
	(void)state;
	everywhere(pe_not_owned, (world_kind_t){0});
}

static int pe_calloc(shmemh_t *job)
{
	enum { NBYTES = 100000 };
	unsigned char *p = NULL;
	void *again = NULL;

	PE_CHECK(shmemh_malloc(job, NBYTES, (void **)&p) == SHMEMH_OK);
	memset(p, 0xa5, NBYTES);
	PE_CHECK(shmemh_free(job, p) == SHMEMH_OK);
	PE_CHECK(shmemh_calloc(job, NBYTES / 4, 4, &again) == SHMEMH_OK && again == p);
	/* The memory of all PEs is zero when the call returns here. */
	for (int pe = 0; pe < job->n_pes; pe++) {
		const unsigned char *theirs = shmemh_ptr(job, p, pe);

		for (int i = 0; i < NBYTES; i++)
			PE_CHECK(theirs[i] == 0);
	}
	PE_CHECK(sync_pes(job) == SHMEMH_OK);
	return 0;
}

static void test_zeroed(void **state)
{
	(void)state;
	everywhere(pe_calloc, (world_kind_t){0});
}

/* --- injected failures -------------------------------------------------------------------- */

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Is there no memory at p, so that an access ends the process? */
static int is_unmapped(const void *p)
{
	int pipe_fds[2], refused;

	if (pipe(pipe_fds) != 0)
		return 0;
	refused = write(pipe_fds[1], p, 1) < 0 && errno == EFAULT;
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return refused;
}

static int fail_growth_once(shmemh_t *job, int *fault, int at, uint64_t *words)
{
	shmemh_heap_info_t before = info_of(job), after;
	void *p = job;
	int fds = count_fds();

	if (fault)
		*fault = at;
	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_ERR_NO_MEMORY && p == NULL);
	PE_CHECK(has_text(job, "injected"));
	if (fault)
		*fault = 0;
	after = info_of(job);
	PE_CHECK(same_info(&before, &after));
	PE_CHECK(is_unmapped(shmemhi_mem_base(job, job->pe) + after.committed));
	/* other threads open descriptors meanwhile */
	PE_CHECK(getpid() == test_pid || count_fds() == fds);
	if (exchange_data(job, words, 7))
		return 1;
	/* The heap works again. */
	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_OK);
	return exchange_data(job, p, 8);
}

static int pe_failed_growth(shmemh_t *job)
{
	static faults_t per_pe[MAX_PES]; /* must outlive a failed check */
	faults_t *f = &per_pe[job->pe];
	int last = job->pe == job->n_pes - 1;
	int remote = job->n_pes > 1 && !job->mem->peers[!job->pe].in_process;
	int creates = remote ? job->pe == job->mem->leader : last;
	uint64_t *words = NULL;
	void *p = job;
	shmemh_heap_info_t before, after;

	memset(f, 0, sizeof *f);
	PE_CHECK(shmemh_malloc(job, 4096, (void **)&words) == SHMEMH_OK);
	inject(job, f);
	if (fail_growth_once(job, creates ? &f->create : NULL, 1, words) ||
	    fail_growth_once(job, last ? &f->map : NULL, 1, words))
		return 1;
	if (remote && (fail_growth_once(job, last ? &f->import : NULL, 1, words) ||
		       fail_growth_once(job, last ? &f->map : NULL, job->n_pes, words)))
		return 1;
	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_OK && shmemh_free(job, p) == SHMEMH_OK);
	before = info_of(job);
	if (last)
		f->zero = 1;
	PE_CHECK(shmemh_calloc(job, 1, 100, &p) == SHMEMH_ERR_NO_MEMORY && p == NULL);
	after = info_of(job);
	PE_CHECK(same_info(&before, &after));
	job->mem->backend = f->real;
	return 0;
}

/* Sanitizers would otherwise end the program instead of returning NULL. */
SHMEMH_API const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}
SHMEMH_API const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* No host memory for the list of growths: the program's own descriptors stay open. */
static int pe_no_list(shmemh_t *job)
{
	shmemhi_heap_t *heap = &job->mem->heap;
	int last = job->pe == job->n_pes - 1;
	size_t n = heap->n_growths;
	void *p;

	if (last) /* more than realloc can allocate */
		heap->n_growths = SIZE_MAX / 4 / sizeof *heap->growths;
	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_ERR_NO_MEMORY && p == NULL);
	PE_CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	heap->n_growths = n;
	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_OK);
	return 0;
}

static void test_failed_growth(void **state)
{
	(void)state;
	everywhere(pe_failed_growth, (world_kind_t){0});
	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
	everywhere(pe_no_list, (world_kind_t){0});
}

/* The leader may make files of 2 MiB, and a growth is a file of all PEs. The kernel would end the
 * leader by SIGXFSZ. */
static int pe_file_limit(shmemh_t *job)
{
	struct rlimit limit, low;
	void *p = job;

	PE_CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	low = (struct rlimit){2u << 20, limit.rlim_max};
	PE_CHECK(job->pe != job->mem->leader || setrlimit(RLIMIT_FSIZE, &low) == 0);
	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_ERR_NO_MEMORY && p == NULL);
	PE_CHECK(has_text(job, "4194304 bytes") && has_text(job, "2097152") &&
		 has_text(job, "raise ulimit -f"));
	PE_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	return 0;
}

static void test_file_limit(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 4, .forked = 1}, pe_file_limit), 0);
}

static int pe_options(shmemh_t *job)
{
	void *p = NULL;

	shmemhi_heap_close(job);
	job->opt.symmetric_max += job->pe == 1;
	PE_CHECK(shmemhi_heap_open(job) == SHMEMH_ERR_MISMATCH);
	PE_CHECK(has_text(job, "SHMEMH_SYMMETRIC_MAX") && has_text(job, "67108865 on PE 1"));
	job->opt.symmetric_max = 0;
	job->opt.heap_chunk += job->pe == 1;
	shmemhi_begin(job);
	PE_CHECK(shmemhi_heap_open(job) == SHMEMH_ERR_MISMATCH);
	PE_CHECK(has_text(job, "SHMEMH_HEAP_CHUNK"));
	job->opt.heap_chunk = 1000; /* rounded up to a size that can be mapped */
	job->opt.symmetric_max = UINT64_MAX;
	shmemhi_begin(job);
	PE_CHECK(shmemhi_heap_open(job) == SHMEMH_ERR_OPTION);
	job->opt.symmetric_max = 1000001;
	PE_CHECK(shmemhi_heap_open(job) == SHMEMH_OK);
	PE_CHECK(info_of(job).reserved >= 1000001);
	PE_CHECK(shmemh_malloc(job, 1000001, &p) == SHMEMH_OK);
	return 0;
}

static void test_options(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2}, pe_options), 0);
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2, .forked = 1}, pe_options), 0);
}

/* What every PE of a job passes, if all pass the same. */
static int gather_same(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
		       size_t errbuf_nbytes)
{
	(void)errbuf;
	(void)errbuf_nbytes;
	for (int pe = 0; pe < *(int *)state; pe++)
		memcpy((char *)dst + (size_t)pe * nbytes, src, nbytes);
	return SHMEMH_OK;
}

/* 256 mapped heaps of 2^56 bytes are 2^64 bytes, for which a 64-bit sum would be 0. */
static void test_sum_of_reservations(void **state)
{
	world_kind_t kind = {.n_pes = 256, .max = (uint64_t)1 << 56};
	pe_boot_t none = {0};
	shmemh_t *job = bare_job(&kind, &none);

	(void)state;
	job->boot.allgather = gather_same;
	job->boot.state = &kind.n_pes;
	assert_int_equal(shmemhi_mem_open_with(job, NULL), SHMEMH_OK);
	job->mem->peers = calloc((size_t)kind.n_pes, sizeof *job->mem->peers);
	for (int pe = 0; pe < kind.n_pes; pe++)
		job->mem->peers[pe] = (shmemhi_peer_t){.mapped = 1, .conn = -1};
	assert_int_equal(shmemhi_heap_open(job), SHMEMH_ERR_NO_MEMORY);
	assert_true(has_text(job, "256 heaps of 72057594037927936 bytes"));
	assert_true(has_text(job, "set SHMEMH_SYMMETRIC_MAX to less"));
	shmemhi_node_close(job);
	shmemhi_mem_close(job);
	free_job(job);
}

/* --- local memory ------------------------------------------------------------------------- */

static int pe_local(shmemh_t *job)
{
	char *dev = NULL, *pinned = NULL;
	void *none = NULL;
	const char text[] = "text";

	PE_CHECK(shmemhi_dev_alloc(job, 100, (void **)&dev) == SHMEMH_OK);
	PE_CHECK(shmemhi_pinned_alloc(job, 100, (void **)&pinned, &job->err) == SHMEMH_OK);
	for (int i = 0; i < 100; i++)
		PE_CHECK(dev[i] == 0 && pinned[i] == 0);
	PE_CHECK(shmemhi_dev_write(job, dev, text, sizeof text) == SHMEMH_OK);
	PE_CHECK(strcmp(dev, text) == 0);
	PE_CHECK(shmemhi_dev_alloc(job, SIZE_MAX, &none) == SHMEMH_ERR_NO_MEMORY);
	shmemhi_dev_free(job, dev);
	shmemhi_pinned_free(job, pinned);
	return 0;
}

static void test_local(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 1}, pe_local), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_exhaustion),
		cmocka_unit_test(test_not_owned),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_failed_growth),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_sum_of_reservations),
	};

	test_pid = getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
