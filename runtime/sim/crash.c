/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A kernel that accesses memory that is not there: one line names the thread before the process
 * dies. The handlers are installed while the emulator runs fibers, only for signals whose action is
 * the default one, and only if the program has no stack for signals: a handler of the program, a
 * library or a sanitizer stays. They call only functions that a signal handler may call, unless
 * they end the run. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "sim/sim.h"

#define ALT_STACK_NBYTES 65536 /* on a CPU with AMX the system saves 11 KiB there */

static const int signals[] = {SIGSEGV, SIGBUS};
static char alt_stack[ALT_STACK_NBYTES];

typedef struct line {
	char text[384];
	size_t n;
} line_t;

static void add(line_t *line, const char *text)
{
	while (*text && line->n < sizeof(line->text) - 1)
		line->text[line->n++] = *text++;
}

static void add_number(line_t *line, uint64_t value, unsigned base)
{
	char digits[24];
	char *at = digits + sizeof(digits) - 1;
	*at = '\0';
	do
		*--at = "0123456789abcdef"[value % base];
	while (value /= base);
	add(line, base == 16 ? "0x" : "");
	add(line, at);
}

static void add_thread(line_t *line, const shmemsimi_fiber_t *f)
{
	if (f->pe >= 0) {
		add(line, "PE ");
		add_number(line, (uint64_t)f->pe, 10);
		add(line, " ");
	}
	add(line, "kernel ");
	add_number(line, f->grid->id, 10);
	add(line, " ");
	add(line, f->grid->name);
	add(line, " block ");
	add_number(line, f->thread.block, 10);
	add(line, " thread ");
	add_number(line, f->thread.tid, 10);
}

static const char *reason(const shmemsimi_fiber_t *f, int sig, const siginfo_t *info)
{
	uintptr_t at = (uintptr_t)info->si_addr, stack = (uintptr_t)f->stack;
	if (sig == SIGBUS)
		return "SIGBUS: memory cannot be accessed at address ";
	if (info->si_code == SI_KERNEL)
		return "SIGSEGV: the address is outside user memory; the CPU reports it as ";
	if (at < stack && stack - at <= SHMEMSIMI_GUARD_NBYTES)
		return "SIGSEGV: the stack of the thread is full at address ";
	return info->si_code == SEGV_ACCERR ? "SIGSEGV: the access is not allowed at address "
					    : "SIGSEGV: no memory at address ";
}

/* The cause is known: the run fails, and the process goes on. The signal came at an access of the
 * kernel, and the fiber is suspended in the handler for good, so a report may be made. Another
 * kernel dies instead, where a debugger finds it. */
static void fail_run(const siginfo_t *info)
{
	shmemsim_fail("accesses %p, where no memory is, after shmemh_finalize of its PE: call "
		      "shmemd_stream_sync before shmemh_finalize",
		      info->si_addr);
}

/* SA_RESETHAND has set the default action, which the repeated access then finds. A signal that was
 * sent does not come again by itself. */
static void crashed(int sig, siginfo_t *info, void *context)
{
	const shmemsimi_world_t *w = &shmemsimi_w;
	const shmemsimi_fiber_t *f = w->current;
	line_t line = {.n = 0};
	(void)context;
	if (info->si_code <= 0) {
		raise(sig);
		return;
	}
	if (f->kind != KIND_LANE || w->thread != (unsigned long)pthread_self())
		return;
	if (w->mode == MODE_RUN && f->grid->is_counted && !w->is_failed)
		fail_run(info);
	add(&line, "shmem_sim: ");
	add_thread(&line, f);
	add(&line, ": ");
	add(&line, reason(f, sig, info));
	add_number(&line, (uintptr_t)info->si_addr, 16);
	add(&line, ": a debugger or -fsanitize=address shows where the kernel accesses it\n");
	(void)!write(STDERR_FILENO, line.text, line.n);
}

void shmemsimi_crash_begin(void)
{
	struct sigaction mine = {.sa_sigaction = crashed,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
	struct sigaction now;
	stack_t stack;
	/* Thread sanitizer has handlers of its own, and hides them from sigaction. A program with a
	 * stack for signals prepares for crashes itself, and that stack may be small. */
	if (shmemsimi_under_tsan() || sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
		return;
	sigaltstack(&(stack_t){.ss_sp = alt_stack, .ss_size = sizeof(alt_stack)}, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		/* Whatever its flags: SA_RESETHAND leaves them. */
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(signals[i], &mine, NULL);
}

/* What the program has installed meanwhile stays. */
void shmemsimi_crash_end(void)
{
	struct sigaction now;
	stack_t stack;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_flags & SA_SIGINFO &&
		    now.sa_sigaction == crashed)
			sigaction(signals[i], &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	if (!sigaltstack(NULL, &stack) && stack.ss_sp == alt_stack)
		sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}
