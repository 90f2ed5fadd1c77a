/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A kernel that accesses memory that is not there: a line names the kernel, the block and the
 * thread, and the process dies of the signal. Handlers of the program are left alone. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim_test.h"
#include "../common/sanitized.h"

static uint32_t *pointer;
static char text[8192]; /* what the last child wrote to stderr */

/* The status of a child process that runs body. */
static int status_of(int (*body)(void))
{
	int fd = memfd_create("stderr", MFD_CLOEXEC), status;
	ssize_t n;
	assert_true(fd >= 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		static const struct rlimit no_core = {0, 0};
		dup2(fd, STDERR_FILENO);
		setrlimit(RLIMIT_CORE, &no_core);
		if (!SANITIZED) { /* cmocka has handlers */
			signal(SIGSEGV, SIG_DFL);
			signal(SIGBUS, SIG_DFL);
		}
		exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return status;
}

static void assert_killed(int status, int sig, const char *line)
{
	if (!WIFSIGNALED(status) || WTERMSIG(status) != sig || strcmp(text, line) != 0)
		print_error("status %#x, not by signal %d, or another text than: %s%s", status, sig,
			    line, text);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), sig);
	assert_string_equal(text, line);
}

static void strays(const void *params)
{
	(void)params;
	if (shmemd_arch_block() == 1 && shmemd_arch_tid() == 35)
		*(volatile uint32_t *)pointer = 1;
}

static void recurses(const void *params)
{
	volatile char frame[512] = {0};
	if (params)
		recurses((const void *)frame);
	frame[0]++;
}

static void is_sent_one(const void *params)
{
	(void)params;
	raise(SIGSEGV);
}

static int pe_1_strays(int pe, int n_pes, void *arg)
{
	launch_t l = {strays, NULL, 0, pe == 1 ? 2 : 1, 64};
	(void)arg;
	return launch_and_sync(pe, n_pes, &l);
}

static int in_one_process(void)
{
	pointer = (uint32_t *)16;
	/* One schedule after the other: the handlers are installed for each. */
	return run_kernel(NULL, recurses, NULL, 0, 1, 1) ||
	       shmemsim_run(NULL, 2, pe_1_strays, NULL);
}

static int in_a_process(void)
{
	pointer = (uint32_t *)16;
	return shmemsim_launch(recurses, NULL, 0, 1, 1, 0, NULL) ||
	       shmemsim_launch(strays, NULL, 0, 2, 64, 0, NULL) || shmemsim_sync(NULL);
}

static int reads_only(void)
{
	pointer = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return shmemsim_launch(strays, NULL, 0, 2, 64, 0, NULL);
}

static int beyond_a_file(void)
{
	int fd = memfd_create("empty", MFD_CLOEXEC);
	pointer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return shmemsim_launch(strays, NULL, 0, 2, 64, 0, NULL);
}

static int fills_its_stack(void)
{
	return shmemsim_launch(recurses, &text, 1, 1, 1, 0, NULL);
}

static int is_signalled(void)
{
	return shmemsim_launch(is_sent_one, NULL, 0, 1, 1, 0, NULL);
}

/* Of the host, in a PE and after the run. */
static int host_strays(int pe, int n_pes, void *arg)
{
	(void)pe, (void)n_pes, (void)arg;
	*(volatile uint32_t *)pointer = 1;
	return 0;
}

static int in_a_host(void)
{
	pointer = (uint32_t *)16;
	return shmemsim_run(NULL, 1, host_strays, NULL);
}

static void leaves(int sig)
{
	static const char words[] = "the program's handler\n";
	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	_exit(sig == SIGSEGV ? 3 : 4);
}

static int with_a_handler(void)
{
	pointer = (uint32_t *)16;
	signal(SIGSEGV, leaves);
	return shmemsim_launch(strays, NULL, 0, 2, 64, 0, NULL);
}

static int handler_from_a_pe(int pe, int n_pes, void *arg)
{
	(void)pe, (void)n_pes, (void)arg;
	signal(SIGSEGV, leaves);
	return 0;
}

/* A handler that a PE has installed stays; the emulator's own, and its stack, do not. */
static int after_a_run(void)
{
	struct sigaction segv, bus;
	stack_t stack;
	if (shmemsim_run(NULL, 1, handler_from_a_pe, NULL) || sigaction(SIGSEGV, NULL, &segv) ||
	    sigaction(SIGBUS, NULL, &bus) || sigaltstack(NULL, &stack))
		return 1;
	return segv.sa_handler != leaves || bus.sa_handler != SIG_DFL ||
	       !(stack.ss_flags & SS_DISABLE);
}

static void test_line(void **state)
{
	static const char tail[] = ": a debugger or -fsanitize=address shows where the kernel "
				   "accesses it\n";
	char line[256];
	(void)state;
	snprintf(line, sizeof(line),
		 "shmem_sim: PE 1 kernel 1 strays block 1 thread 35: SIGSEGV: no memory at address "
		 "0x10%s",
		 tail);
	/* Which PE launches first depends on the schedule. */
	int status = status_of(in_one_process);
	if (strstr(text, "kernel 0"))
		*(strstr(text, "kernel 0") + 7) = '1';
	assert_killed(status, SIGSEGV, line);
	snprintf(line, sizeof(line),
		 "shmem_sim: kernel 1 strays block 1 thread 35: SIGSEGV: no memory at address 0x10"
		 "%s",
		 tail);
	assert_killed(status_of(in_a_process), SIGSEGV, line);
}

static void assert_line(int status, int sig, const char *words)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), sig);
	if (!strstr(text, words))
		print_error("not in the text: %s\n%s", words, text);
	assert_non_null(strstr(text, words));
}

static void test_reasons(void **state)
{
	(void)state;
	assert_line(status_of(reads_only), SIGSEGV,
		    "thread 35: SIGSEGV: the access is not allowed at address 0x");
	assert_line(status_of(beyond_a_file), SIGBUS,
		    "thread 35: SIGBUS: memory cannot be accessed at address 0x");
	assert_line(status_of(fills_its_stack), SIGSEGV,
		    "recurses block 0 thread 0: SIGSEGV: the stack of the thread is full at");
}

static void test_no_line(void **state)
{
	(void)state;
	assert_killed(status_of(in_a_host), SIGSEGV, "");
	assert_killed(status_of(is_signalled), SIGSEGV, "");
}

static void test_handlers(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(status_of(with_a_handler)), 3);
	assert_string_equal(text, "the program's handler\n");
	assert_int_equal(status_of(after_a_run), 0);
}

static int sanitized_status;

/* A sanitizer prints its own report. */
static void test_sanitizer(void **state)
{
	(void)state;
	assert_int_not_equal(sanitized_status, 0);
	assert_null(strstr(text, "shmem_sim: "));
	assert_non_null(strstr(text, "Sanitizer"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_no_line),
		cmocka_unit_test(test_handlers),
	};
	const struct CMUnitTest sanitized[] = {
		cmocka_unit_test(test_sanitizer),
	};
	if (SANITIZED)
		sanitized_status = status_of(in_a_process); /* before cmocka has handlers */
	return SANITIZED ? cmocka_run_group_tests(sanitized, NULL, NULL)
			 : cmocka_run_group_tests(tests, NULL, NULL);
}
