/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* nvrtc_probe include-folder cccl-folder: compile a kernel that uses the device headers at run
 * time. Needs no GPU. The cccl folder holds <cuda/std/cstdint>, from which abi/base.h takes the
 * fixed-width types: NVRTC has no <stdint.h>. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

static const char source[] =
	"#include <shmem_dev/shmem_dev.h>\n"
	"#include <shmem_dev/generic.h>\n"
	"#include <shmem_dev/sized.h>\n"
	"#include <shmem_dev/bulk.h>\n"
	"#include <shmem_dev/grid.h>\n"
	"#include <shmem_dev/state.h>\n"
	"#include <shmem_dev/typed/float.h>\n"
	"struct params { shmemd_ctx_t ctx; float *dst; uint64_t *sig; int *status; };\n"
	"extern \"C\" SHMEMD_KERNEL(probe, params, p)\n"
	"{\n"
	"	SHMEMD_SHARED(float, 256, tile);\n"
	"	tile[shmemd_thread_index() % 256] = 1.0f;\n"
	"	shmemd_group_sync(shmemd_block());\n"
	"	shmemd_float_put_signal_block(&p.ctx, p.dst, tile, 256, p.sig, 1,\n"
	"				      SHMEMD_SIGNAL_ADD, 0);\n"
	"	*p.status = shmemd_barrier_block(&p.ctx);\n"
	"	shmemd_p_u64(shmemd_state(), p.sig, 1, 0);\n"
	"}\n";

/* Returns 0 if it compiled without a message. */
static int compile(const char *const *options, int n_options)
{
	nvrtcProgram program;
	size_t log_nbytes = 0, cubin_nbytes = 0;
	char *log;
	nvrtcResult result = nvrtcCreateProgram(&program, source, "probe.cu", 0, NULL, NULL);

	if (result != NVRTC_SUCCESS) {
		printf("nvrtcCreateProgram: %s\n", nvrtcGetErrorString(result));
		return 1;
	}
	result = nvrtcCompileProgram(program, n_options, options);
	nvrtcGetProgramLogSize(program, &log_nbytes);
	log = calloc(1, log_nbytes + 1);
	if (log && log_nbytes > 1) {
		nvrtcGetProgramLog(program, log);
		printf("%s", log);
	}
	free(log);
	if (result == NVRTC_SUCCESS)
		result = nvrtcGetCUBINSize(program, &cubin_nbytes);
	printf("%s: %s, cubin of %zu bytes\n", options[n_options - 1], nvrtcGetErrorString(result),
	       cubin_nbytes);
	nvrtcDestroyProgram(&program);
	return result != NVRTC_SUCCESS || log_nbytes > 1 || cubin_nbytes == 0;
}

int main(int argc, char **argv)
{
	char ours[4096], cccl[4096];

	if (argc != 3) {
		printf("usage: nvrtc_probe include-folder cccl-folder\n");
		return 2;
	}
	snprintf(ours, sizeof(ours), "-I%s", argv[1]);
	snprintf(cccl, sizeof(cccl), "-I%s", argv[2]);
	const char *plain[] = {"--gpu-architecture=sm_90", "--std=c++17", ours, cccl, "-DPLAIN"};
	const char *check[] = {"--gpu-architecture=sm_90", "--std=c++17", ours, cccl,
			       "-DSHMEMD_CHECK"};
	return compile(plain, 5) + compile(check, 5);
}
