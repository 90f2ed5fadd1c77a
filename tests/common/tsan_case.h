/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Runs a case of thread sanitizer in a process of its own: the program starts itself. */
#ifndef TSAN_CASE_H
#define TSAN_CASE_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define RACE_STATUS 66 /* the sanitizer's exit status, also used below */

/* The exit status of this program when it is started with only the case's name. */
static inline int tsan_case_status(const char *name)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("TSAN_OPTIONS", "exitcode=66:report_bugs=1:log_path=/dev/null", 1);
		execl("/proc/self/exe", "tsan_case", name, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif
