/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which memory counts as mapped: by identity, by process, and by the actual result of mapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <cmocka.h>
#include "mem_faults.h"
#include "mem_job.h"
#include "open_fds.h"

static int pe_two_nodes(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(shmemh_malloc(job, 64, &p) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++) {
		int near = pe / 2 == job->pe / 2;

		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == near);
		PE_CHECK(shmemhi_mem_has_atomics(job, pe) == near);
		PE_CHECK((shmemhi_mem_base(job, pe) != NULL) == near);
		PE_CHECK((shmemh_ptr(job, p, pe) != NULL) == near);
	}
	return 0;
}

static void test_two_nodes(void **state)
{
	world_kind_t kind = {.n_pes = 4, .node_ids = {"a", "a", "b", "b"}};

	(void)state;
	assert_int_equal(run_world(&kind, pe_two_nodes), 0);
	kind.forked = 1;
	assert_int_equal(run_world(&kind, pe_two_nodes), 0);
}

/* Write a word to every mapped PE, and check what they wrote here: no two heaps overlap. */
static int exchange_words(shmemh_t *job)
{
	char all[MAX_PES], mine = 0;
	int *words = NULL;

	for (int i = 0; i < 2; i++) { /* two growths */
		PE_CHECK(shmemh_malloc(job, 3u << 20, (void **)&words) == SHMEMH_OK);
		for (int pe = 0; pe < job->n_pes; pe++)
			if (shmemhi_mem_is_mapped(job, pe))
				((int *)shmemh_ptr(job, words, pe))[job->pe] =
					100 * i + 10 * job->pe + pe + 1;
		PE_CHECK(shmemhi_allgather(job, &mine, all, 1) == SHMEMH_OK);
		for (int pe = 0; pe < job->n_pes; pe++)
			PE_CHECK(words[pe] == (shmemhi_mem_is_mapped(job, pe)
						       ? 100 * i + 10 * pe + job->pe + 1
						       : 0));
	}
	return 0;
}

/* PEs 2 and 3 seem to be on the node but cannot map the memory of PE 0, the leader, as in another
 * container: they form a node of their own for all PEs. */
static void break_upper(shmemh_t *job)
{
	faults_t *f = calloc(1, sizeof *f);

	inject(job, f);
	if (job->pe >= 2)
		f->import = 1; /* in the first round */
}

static int pe_halves(shmemh_t *job)
{
	int near[MAX_PES][MAX_PES] = {{1, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 1}, {0, 0, 1, 1}};
	faults_t *f = faults_of(job->mem);

	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == near[job->pe][pe]);
	if (exchange_words(job))
		return 1;
	job->mem->backend = f->real;
	free(f);
	return 0;
}

static void test_unmappable(void **state)
{
	world_kind_t kind = {.n_pes = 4, .forked = 1, .before_node = break_upper};

	(void)state;
	assert_int_equal(run_world(&kind, pe_halves), 0);
}

static int n_fds_before_node;

static void break_upper_and_count(shmemh_t *job)
{
	break_upper(job);
	n_fds_before_node = count_fds();
}

/* In the second round PE 2 still has its connection to PE 0, the leader of the first round, and
 * sends it a descriptor. Once the groups are found, each PE has one connection, to the other PE of
 * its group, and no other descriptor. */
static int pe_counts_fds(shmemh_t *job)
{
	PE_CHECK(count_fds() == n_fds_before_node + 1);
	return pe_halves(job);
}

static void test_fds_of_two_rounds(void **state)
{
	world_kind_t kind = {.n_pes = 4, .forked = 1, .before_node = break_upper_and_count};

	(void)state;
	assert_int_equal(run_world(&kind, pe_counts_fds), 0);
}

/* PE 2 alone cannot map the memory of PE 0. */
static void break_one(shmemh_t *job)
{
	faults_t *f = calloc(1, sizeof *f);

	inject(job, f);
	if (job->pe == 2)
		f->import = 1;
}

static int pe_all_but_2(shmemh_t *job)
{
	faults_t *f = faults_of(job->mem);

	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == ((pe == 2) == (job->pe == 2)));
	if (exchange_words(job))
		return 1;
	job->mem->backend = f->real;
	free(f);
	return 0;
}

static void test_one_apart(void **state)
{
	world_kind_t kind = {.n_pes = 4, .forked = 1, .before_node = break_one};

	(void)state;
	assert_int_equal(run_world(&kind, pe_all_but_2), 0);
}

/* Two processes of two PEs each, PEs 0 and 3, 1 and 2. Those of the leader's process map its file,
 * too. */
static int process_of(int pe)
{
	return pe == 1 || pe == 2;
}

static void pair_up(shmemh_t *job)
{
	job->mem->id.process[0] ^= (unsigned char)process_of(job->pe);
}

static int pe_of_two(shmemh_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		PE_CHECK(shmemhi_mem_is_mapped(job, pe));
		PE_CHECK(job->mem->peers[pe].in_process == (process_of(pe) == process_of(job->pe)));
	}
	return exchange_words(job);
}

static void test_two_processes(void **state)
{
	world_kind_t kind = {.n_pes = 4, .before_node = pair_up};

	(void)state;
	assert_int_equal(run_world(&kind, pe_of_two), 0);
}

/* In host memory all other processes connect to PE 0 alone; PEs of one process use no socket. */
static int pe_same_process(shmemh_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		int forked = !job->mem->peers[pe].in_process;

		PE_CHECK(shmemhi_mem_same_gpu(job, pe) == !forked);
		PE_CHECK((job->mem->peers[pe].range.raw != NULL) == (pe == job->pe));
		PE_CHECK((job->mem->peers[pe].conn >= 0) == (forked && (pe == 0 || job->pe == 0)));
	}
	PE_CHECK(job->mem->peers[job->pe].in_process);
	return 0;
}

static void test_same_process(void **state)
{
	(void)state;
	everywhere(pe_same_process, (world_kind_t){0});
}

/* The linker puts __wrap_listen in place of listen (CMakeLists.txt). */
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

static int has_short_queues; /* one connection may wait, as with net.core.somaxconn=0 */
static int has_stranger;     /* the one that waits is from outside the job */

static int connect_stranger(int listener)
{
	struct sockaddr_un address;
	socklen_t nbytes = sizeof address;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (getsockname(listener, (struct sockaddr *)&address, &nbytes) != 0)
		return -1;
	return connect(fd, (struct sockaddr *)&address, nbytes); /* open until the process ends */
}

int __wrap_listen(int fd, int backlog)
{
	if (__real_listen(fd, has_short_queues ? 0 : backlog) != 0)
		return -1;
	return has_stranger ? connect_stranger(fd) : 0;
}

static int pe_one_node(shmemh_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe));
	return exchange_words(job);
}

/* More PEs than a listening PE's queue has room for connect one after the other. */
static void test_short_queues(void **state)
{
	world_kind_t kind = {.n_pes = 4, .forked = 1};

	(void)state;
	has_short_queues = 1;
	assert_int_equal(run_world(&kind, pe_one_node), 0);
	has_stranger = 1;
	assert_int_equal(run_world(&kind, pe_one_node), 0);
	has_short_queues = has_stranger = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_nodes),         cmocka_unit_test(test_unmappable),
		cmocka_unit_test(test_fds_of_two_rounds), cmocka_unit_test(test_one_apart),
		cmocka_unit_test(test_two_processes),     cmocka_unit_test(test_same_process),
		cmocka_unit_test(test_short_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
