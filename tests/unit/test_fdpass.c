/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Passing descriptors: unknown clients, other users, closed ends, deadlines, and stale messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "base/sockets.h"
#include "mem_job.h"
#include "open_fds.h"

static const unsigned char secret[SHMEMHI_FD_SECRET_NBYTES] = "0123456789abcde";

static uint64_t soon(void)
{
	return shmemhi_deadline(10 * SHMEMHI_SECOND);
}

static shmemhi_peer_hello_t hello_of(int pe)
{
	shmemhi_peer_hello_t hello = {.pe = pe};

	memcpy(hello.secret, secret, sizeof secret);
	return hello;
}

/* A raw connection to path, which any process with access to the directory can make. */
static int connect_raw(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) < sizeof address.sun_path)
		memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int temporary_file(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void test_pass(void **state)
{
	shmemhi_listener_t l;
	shmemhi_err_t err = {""};
	shmemhi_peer_hello_t hello = hello_of(7);
	struct stat st;
	char path[sizeof l.path], dir[sizeof l.dir], text[8] = "";
	int pe = -1, before = count_fds();

	(void)state;
	assert_int_equal(shmemhi_listener_open(&l, &err), SHMEMH_OK);
	assert_int_equal(stat(l.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	strcpy(path, l.path);
	strcpy(dir, l.dir);
	int client = shmemhi_fd_connect(l.path, &hello, soon(), &err);
	assert_true(client >= 0);
	int server = shmemhi_fd_accept(&l, secret, &pe);
	assert_true(server >= 0);
	assert_int_equal(pe, 7);
	assert_int_equal(shmemhi_fd_accept(&l, secret, &pe), -1);
	shmemhi_listener_close(&l);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(stat(dir, &st), -1);

	int file = temporary_file("hello"), got = -1, word = 42, answer = 0;
	assert_int_equal(shmemhi_fd_send(client, &word, sizeof word, file, soon(), &err), 0);
	close(file);
	assert_int_equal(shmemhi_fd_recv(server, &answer, sizeof answer, &got, soon(), &err), 0);
	assert_int_equal(answer, 42);
	assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(pread(got, text, sizeof text, 0), 5);
	assert_string_equal(text, "hello");
	close(got);
	/* And back, without a descriptor. */
	assert_int_equal(shmemhi_fd_send(server, &word, sizeof word, -1, soon(), &err), 0);
	assert_int_equal(shmemhi_fd_recv(client, &answer, sizeof answer, &got, soon(), &err), 0);
	assert_int_equal(got, -1);
	shmemhi_socket_close(client);
	shmemhi_socket_close(server);
	assert_int_equal(count_fds(), before);
}

static void test_bad_messages(void **state)
{
	int pair[2], got = -1, word = 1, before = count_fds();
	shmemhi_err_t err = {""};
	long longer = 2;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(shmemhi_fd_recv(pair[0], &word, sizeof word, &got, 0, &err),
			 SHMEMH_ERR_TIMEOUT);
	int file = temporary_file("x");
	/* Too long and too short; the descriptor that came with it is closed. */
	assert_int_equal(shmemhi_fd_send(pair[1], &longer, sizeof longer, file, soon(), &err), 0);
	assert_int_equal(shmemhi_fd_recv(pair[0], &word, sizeof word, &got, soon(), &err),
			 SHMEMH_ERR_SYSTEM);
	assert_int_equal(got, -1);
	assert_int_equal(shmemhi_fd_send(pair[1], &word, 1, file, soon(), &err), 0);
	assert_int_equal(shmemhi_fd_recv(pair[0], &word, sizeof word, &got, soon(), &err),
			 SHMEMH_ERR_SYSTEM);
	close(file);
	close(pair[1]);
	assert_int_equal(shmemhi_fd_recv(pair[0], &word, sizeof word, &got, soon(), &err),
			 SHMEMH_ERR_PEER);
	assert_int_equal(shmemhi_fd_send(pair[0], &word, sizeof word, -1, soon(), &err),
			 SHMEMH_ERR_PEER);
	close(pair[0]);
	assert_int_equal(count_fds(), before);
}

/* A process that may not open another descriptor reports it, and the next message is received. */
static void test_too_many_open(void **state)
{
	int pair[2], word = 1, got = -1, before = count_fds();
	shmemhi_err_t err = {""};
	struct rlimit limit, low;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	int file = temporary_file("x");
	assert_int_equal(shmemhi_fd_send(pair[1], &word, sizeof word, file, soon(), &err), 0);
	assert_int_equal(shmemhi_fd_send(pair[1], &word, sizeof word, file, soon(), &err), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	int status = shmemhi_fd_recv(pair[0], &word, sizeof word, &got, soon(), &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(status, SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(err.text, "raise ulimit -n"));
	assert_int_equal(got, SHMEMHI_FD_NO_ROOM);
	assert_int_equal(shmemhi_fd_recv(pair[0], &word, sizeof word, &got, soon(), &err), 0);
	assert_true(got >= 0);
	close(got);
	close(file);
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(count_fds(), before);
}

/* A full socket: the send ends at its deadline. */
static void test_send_deadline(void **state)
{
	int pair[2], word = 1, status = SHMEMH_OK;
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (int i = 0; i < 1000000 && status == SHMEMH_OK; i++)
		status = shmemhi_fd_send(pair[0], &word, sizeof word, -1,
					 shmemhi_deadline(SHMEMHI_MS), &err);
	assert_int_equal(status, SHMEMH_ERR_TIMEOUT);
	close(pair[0]);
	close(pair[1]);
}

static void test_accepted_users(void **state)
{
	(void)state;
	assert_true(shmemhi_fd_user_ok(1000, 1000));
	assert_true(shmemhi_fd_user_ok(0, 0));
	assert_false(shmemhi_fd_user_ok(1001, 1000));
	assert_false(shmemhi_fd_user_ok(1000, 0));
	assert_false(shmemhi_fd_user_ok(0, 1000));
	assert_false(shmemhi_fd_user_ok(65534, 1000)); /* a user of another namespace */
}

/* Unknown clients of every kind connect first; the valid one is found, and nothing of the others is
 * kept. */
static void test_unknown_clients(void **state)
{
	shmemhi_listener_t l;
	shmemhi_err_t err = {""};
	shmemhi_peer_hello_t good = hello_of(3), bad = hello_of(4);
	int pe = -1, before = count_fds();
	int clients[5];

	(void)state;
	bad.secret[5] ^= 1;
	assert_int_equal(shmemhi_listener_open(&l, &err), SHMEMH_OK);
	for (int i = 0; i < 5; i++)
		assert_true((clients[i] = connect_raw(l.path)) >= 0);
	/* 0 sends nothing; 1 closes; 2 garbage; 3 a hello with a wrong secret; 4 a descriptor. */
	close(clients[1]);
	assert_int_equal(send(clients[2], "garbage", 7, 0), 7);
	assert_int_equal(send(clients[3], &bad, sizeof bad, 0), sizeof bad);
	int file = temporary_file("x");
	assert_int_equal(shmemhi_fd_send(clients[4], &good, sizeof good, file, soon(), &err), 0);
	close(file);
	int client = shmemhi_fd_connect(l.path, &good, soon(), &err);
	int server = shmemhi_fd_accept(&l, secret, &pe);
	assert_true(server >= 0);
	assert_int_equal(pe, 3);
	assert_int_equal(shmemhi_fd_accept(&l, secret, &pe), -1);
	char byte;
	assert_int_equal(recv(clients[0], &byte, 1, 0), 0);
	shmemhi_listener_close(&l);
	shmemhi_socket_close(client);
	shmemhi_socket_close(server);
	for (int i = 0; i < 5; i++)
		if (i != 1)
			close(clients[i]);
	assert_int_equal(count_fds(), before);
}

/* --- a whole job ---------------------------------------------------------------------------- */

typedef struct garbage_client {
	char dir[64];
	_Atomic int failures_end_the_start;
	_Atomic int met;
} garbage_client_t;

/* Connects to every socket that appears, sends garbage, and stays connected. */
static void *send_garbage(void *arg)
{
	garbage_client_t *p = arg;
	int conns[256], n = 0;

	while (!atomic_load(&p->failures_end_the_start)) {
		DIR *d = opendir(p->dir);
		char path[sizeof p->dir + sizeof(((struct dirent *)0)->d_name) + 4];

		for (struct dirent *e = readdir(d); e; e = readdir(d)) {
			snprintf(path, sizeof path, "%s/%s/s", p->dir, e->d_name);
			int fd = e->d_name[0] != '.' && n < 256 ? connect_raw(path) : -1;
			if (fd < 0)
				continue;
			if (n % 2)
				(void)!send(fd, "garbage", 7, MSG_NOSIGNAL);
			conns[n++] = fd;
			atomic_fetch_add(&p->met, 1);
		}
		closedir(d);
	}
	while (n)
		close(conns[--n]);
	return NULL;
}

static int pe_grow(shmemh_t *job)
{
	void *p = NULL;

	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe));
	PE_CHECK(shmemh_malloc(job, 2u << 20, &p) == SHMEMH_OK);
	return 0;
}

static void test_job_with_garbage_clients(void **state)
{
	garbage_client_t p = {.dir = "/tmp/pest-XXXXXX"};
	pthread_t thread;

	(void)state;
	assert_non_null(mkdtemp(p.dir));
	setenv("TMPDIR", p.dir, 1);
	pthread_create(&thread, NULL, send_garbage, &p);
	for (int i = 0; i < 20 && (i < 5 || !atomic_load(&p.met)); i++)
		assert_int_equal(run_world(&(world_kind_t){.n_pes = 4, .sockets = 1}, pe_grow), 0);
	atomic_store(&p.failures_end_the_start, 1);
	pthread_join(thread, NULL);
	unsetenv("TMPDIR");
	assert_true(atomic_load(&p.met) > 0);
	assert_int_equal(rmdir(p.dir), 0); /* the jobs left no file there */
}

/* One end of a connection closes before a growth: both PEs fail with the same error, and no memory
 * is lost. */
static int pe_cut(shmemh_t *job)
{
	void *p = NULL, *q = job;
	shmemh_heap_info_t before = {.size = sizeof before}, after = {.size = sizeof after};

	PE_CHECK(shmemh_malloc(job, 64, &p) == SHMEMH_OK);
	shmemh_heap_info(job, &before);
	if (job->pe == 1)
		shutdown(job->mem->peers[0].conn, SHUT_RDWR);
	PE_CHECK(shmemh_malloc(job, 2u << 20, &q) != SHMEMH_OK && q == NULL);
	PE_CHECK(strstr(job->err.text, "a descriptor to PE") ||
		 strstr(job->err.text, "the descriptor of PE"));
	shmemh_heap_info(job, &after);
	PE_CHECK(before.committed == after.committed && before.used == after.used);
	PE_CHECK(shmemh_malloc(job, 64, &q) == SHMEMH_OK && q != NULL);
	return 0;
}

static void test_growth_after_a_closed_connection(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 3, .sockets = 1}, pe_cut), 0);
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 3, .forked = 1}, pe_cut), 0);
}

static _Atomic uint32_t *causes_of_1; /* what PE 1 records about the others */
static uint32_t cause_of_0;
static const char *expected_line;

/* PE 0 leaves the collective between the agreement and the exchange. When the message of PE 1 has
 * come, PE 1 waits for that of PE 0, and its monitor records that PE 0 is gone, or that PE 1 has
 * lost the bootstrap. */
static int pe_never_gives(shmemh_t *job)
{
	struct pollfd wait = {.events = POLLIN};
	char all[2], mine = 0;
	int fds[2];

	if (job->pe == 1)
		causes_of_1 = job->causes;
	PE_CHECK(shmemhi_allgather(job, &mine, all, 1) == SHMEMH_OK);
	if (job->pe == 0) {
		wait.fd = job->mem->peers[1].conn;
		PE_CHECK(poll(&wait, 1, 20000) == 1);
		atomic_store(&causes_of_1[0], cause_of_0);
	} else {
		PE_CHECK(shmemhi_exchange(job, -1, fds, &job->err) == SHMEMH_ERR_PEER);
		PE_CHECK(has_text(job, expected_line));
	}
	return 0;
}

static void test_exchange_with_a_pe_that_is_gone(void **state)
{
	(void)state;
	cause_of_0 = SHMEMD_CAUSE_DIED;
	expected_line = "exchanging descriptors with PE 0: it is gone";
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2, .sockets = 1}, pe_never_gives), 0);
	cause_of_0 = SHMEMD_CAUSE_CUT_OFF;
	expected_line = "exchanging descriptors with PE 0: this PE lost the bootstrap";
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2, .sockets = 1}, pe_never_gives), 0);
}

/* PE 0 ends in the middle of a growth, when the others wait for its descriptor. Their line is that
 * of the bootstrap, not of the lost connection. */
static int pe_dies_in_exchange(shmemh_t *job)
{
	world_t *w = ((pe_boot_t *)job->boot.state)->world;
	int fds[3], passed;

	PE_CHECK(shmemhi_agree(job, SHMEMH_OK) == SHMEMH_OK);
	if (job->pe == 0) {
		for (int pe = 1; pe < job->n_pes; pe++) {
			struct pollfd wait = {.fd = job->mem->peers[pe].conn, .events = POLLIN};

			PE_CHECK(poll(&wait, 1, 20000) == 1);
		}
		atomic_store(&w->dead, 1);
		_exit(0);
	}
	passed = shmemhi_exchange(job, -1, fds, &job->err);
	PE_CHECK(passed == SHMEMH_ERR_PEER && has_text(job, "descriptor"));
	atomic_store(&job->n_gone, 1); /* no barrier at the end */
	PE_CHECK(shmemhi_agree(job, passed) == SHMEMH_ERR_PEER);
	PE_CHECK(strcmp(job->err.text, "PE 0 died") == 0);
	return 0;
}

static void test_line_after_a_death(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 3, .forked = 1}, pe_dies_in_exchange),
			 0);
}

/* A message of an abandoned exchange is still in the socket: the next exchange skips it. */
static int pe_left_over(shmemh_t *job)
{
	void *p = NULL;
	int file = temporary_file("old");

	if (job->pe == 1) {
		struct {
			uint64_t number;
			uint64_t has_fd;
		} old = {0, 1};
		shmemhi_err_t err = {""};

		PE_CHECK(shmemhi_fd_send(job->mem->peers[0].conn, &old, sizeof old, file, soon(),
					 &err) == SHMEMH_OK);
	}
	close(file);
	PE_CHECK(shmemh_malloc(job, 2u << 20, &p) == SHMEMH_OK);
	*(int *)shmemh_ptr(job, p, 1 - job->pe) = job->pe + 5;
	char all[2], mine = 0;
	PE_CHECK(shmemhi_allgather(job, &mine, all, 1) == SHMEMH_OK);
	PE_CHECK(*(int *)p == 1 - job->pe + 5);
	return 0;
}

static void test_stale_message_is_skipped(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2, .forked = 1}, pe_left_over), 0);
}

/* A leader without a usable directory makes the start of all PEs fail, with the reason. */
static int pe_never(shmemh_t *job)
{
	(void)job;
	return 1;
}

static void unusable_tmp(shmemh_t *job)
{
	if (job->pe == 0)
		setenv("TMPDIR", "/nowhere", 1);
	if (shmemhi_node_open(job) != SHMEMH_ERR_SYSTEM || !strstr(job->err.text, "/nowhere"))
		_exit(1);
	_exit(0);
}

static void test_unusable_tmp(void **state)
{
	(void)state;
	assert_int_equal(
		run_world(&(world_kind_t){.n_pes = 2, .forked = 1, .before_node = unusable_tmp},
			  pe_never),
		0);
}

/* A PE that may open only a few more descriptors. Wherever they run out, the start fails on all PEs
 * with a line that contains the remedy; no PE continues with memory that is not mapped. */
static struct scarce {
	int pe, n_free;
	_Atomic int *n_started; /* shared by the processes */
} scarce;

static void leave_free(int n)
{
	struct rlimit low = {128, 128};
	int fds[128], n_fds = 0;

	if (setrlimit(RLIMIT_NOFILE, &low) != 0)
		_exit(1);
	while ((fds[n_fds] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		n_fds++;
	while (n-- > 0)
		close(fds[--n_fds]);
}

static void start_with_few(shmemh_t *job)
{
	int status;

	if (job->pe == scarce.pe)
		leave_free(scarce.n_free);
	status = shmemhi_node_open(job);
	if (status == SHMEMH_OK && shmemhi_mem_is_mapped(job, 1 - job->pe))
		atomic_fetch_add(scarce.n_started, 1);
	else if (status != SHMEMH_ERR_SYSTEM || !strstr(job->err.text, "raise ulimit -n"))
		_exit(1);
	_exit(0);
}

static void test_start_with_few_descriptors(void **state)
{
	const world_kind_t kind = {.n_pes = 2, .forked = 1, .before_node = start_with_few};

	(void)state;
	scarce.n_started = mmap(NULL, sizeof *scarce.n_started, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (scarce.pe = 0; scarce.pe < 2; scarce.pe++) {
		atomic_store(scarce.n_started, 0);
		for (scarce.n_free = 0; !atomic_load(scarce.n_started); scarce.n_free++)
			assert_int_equal(run_world(&kind, pe_never), 0);
		assert_int_equal(atomic_load(scarce.n_started), 2);
		/* the last attempt succeeded, the ones before did not */
		assert_true(scarce.n_free > 2);
	}
	munmap(scarce.n_started, sizeof *scarce.n_started);
}

/* The number of descriptors in flight between processes is limited for each user: growth waits for
 * room. */
static int pe_crowded(shmemh_t *job)
{
	void *p;

	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe));
	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 3u << 20, &p) == SHMEMH_OK);
	return 0;
}

/* Use up that limit except one; it does not apply to root. Returns 0, or -1 if there is none. */
static int crowd(void)
{
	struct rlimit low = {64, 64};
	int pair[2], got, word = 0, file = temporary_file("x");
	shmemhi_err_t err = {""};

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return -1;
	prctl(PR_SET_DUMPABLE, 1); /* for /proc/self, and for leak checkers */
	if (setrlimit(RLIMIT_NOFILE, &low) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
		return -1;
	while (shmemhi_fd_send(pair[1], &word, sizeof word, file, 0, &err) == SHMEMH_OK)
		if (++word == 200)
			return -1;
	if (!strstr(err.text, "too many descriptors"))
		return -1;
	err.text[0] = '\0';
	if (shmemhi_fd_recv(pair[0], &word, sizeof word, &got, 0, &err) != SHMEMH_OK)
		return -1;
	close(got);
	close(file);
	return 0;
}

static void test_growth_waits_for_descriptors(void **state)
{
	int wait_status = 0;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(crowd() != 0
			      ? 77
			      : run_world(&(world_kind_t){.n_pes = 4, .forked = 1}, pe_crowded));
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 77)
		skip();
	assert_int_equal(wait_status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_too_many_open),
		cmocka_unit_test(test_send_deadline),
		cmocka_unit_test(test_accepted_users),
		cmocka_unit_test(test_unknown_clients),
		cmocka_unit_test(test_job_with_garbage_clients),
		cmocka_unit_test(test_growth_after_a_closed_connection),
		cmocka_unit_test(test_exchange_with_a_pe_that_is_gone),
		cmocka_unit_test(test_line_after_a_death),
		cmocka_unit_test(test_stale_message_is_skipped),
		cmocka_unit_test(test_unusable_tmp),
		cmocka_unit_test(test_growth_waits_for_descriptors),
		cmocka_unit_test(test_start_with_few_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
