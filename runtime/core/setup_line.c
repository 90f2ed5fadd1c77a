/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One line on how a PE is set up. */
#include <stdio.h>
#include <string.h>
#include "core/core.h"
#include "ib/ib.h"
#include "mem/mem.h"
#include "topo/class.h"

#define TEXT_NBYTES 400

enum reach { REACH_MAPPED, REACH_BOTH, REACH_NIC, REACH_NONE, N_REACHES };

static const char *const reach_names[N_REACHES] = {
	"mapped",
	"mapped over a link without atomics",
	"by NIC",
	"not reached (not mapped, and no NIC is used)",
};

static int reach_of(const shmemh_t *job, int pe)
{
	bool is_mapped = shmemhi_mem_is_for_kernels(job, pe);
	bool has_nic = shmemhi_ib_reaches(job, pe);

	if (is_mapped)
		return has_nic && !shmemhi_mem_has_atomics(job, pe) ? REACH_BOTH : REACH_MAPPED;
	return has_nic ? REACH_NIC : REACH_NONE;
}

__attribute__((format(printf, 2, 3))) static void append(char text[TEXT_NBYTES], const char *fmt,
							 ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, TEXT_NBYTES - used, fmt, args);
	va_end(args);
}

/* The peers reached in one way, as "PEs 0-2 5 mapped". */
static void append_peers(const shmemh_t *job, int reach, char text[TEXT_NBYTES])
{
	int n = 0;

	for (int pe = 0; pe < job->n_pes; pe++) {
		int last = pe;

		if (pe == job->pe || reach_of(job, pe) != reach)
			continue;
		while (last + 1 < job->n_pes && last + 1 != job->pe &&
		       reach_of(job, last + 1) == reach)
			last++;
		append(text, n++ ? " %d" : "; PEs %d", pe);
		if (last > pe)
			append(text, "-%d", last);
		pe = last;
	}
	if (n)
		append(text, " %s", reach_names[reach]);
}

static void append_nics(const shmemh_t *job, char text[TEXT_NBYTES])
{
	const char *home = shmemhi_ib_home(job, job->pe);
	const char *standby = shmemhi_ib_standby(job, job->pe);
	char gpu[SHMEMHI_GPU_NBYTES];

	if (!home)
		return;
	shmemhi_mem_gpu(job, gpu);
	append(text, "; NIC %s", home);
	if (gpu[0])
		append(text, " (%s)", shmemhi_class_name(shmemhi_ib_class(job, 0)));
	append(text, ", stand-by %s", standby ? standby : "none");
	if (standby && gpu[0])
		append(text, " (%s)", shmemhi_class_name(shmemhi_ib_class(job, 1)));
}

void shmemhi_log_setup(const shmemh_t *job)
{
	shmemh_heap_info_t heap = {.size = sizeof heap};
	char text[TEXT_NBYTES] = "", gpu[SHMEMHI_GPU_NBYTES];

	if (job->log.level < SHMEMHI_INFO || shmemh_heap_info(job, &heap) != SHMEMH_OK)
		return;
	shmemhi_mem_gpu(job, gpu);
	append(text, "%s heap of %llu MiB, grows to %llu MiB; GPU %s",
	       heap.kind == SHMEMH_HEAP_GPU ? "GPU" : "host",
	       (unsigned long long)heap.committed >> 20, (unsigned long long)heap.reserved >> 20,
	       gpu[0] ? gpu : "none");
	for (int reach = 0; reach < N_REACHES; reach++)
		append_peers(job, reach, text);
	append_nics(job, text);
	shmemhi_log(&job->log, SHMEMHI_INFO, "%s", text);
}
