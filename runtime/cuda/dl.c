/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "cuda/dl.h"

#include <dirent.h>
#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

static const struct symbol {
	const char *name;
	size_t offset; /* of the member in shmemhi_cuda_t */
} symbols[] = {
#define X_(member, symbol, parameters) {symbol, offsetof(shmemhi_cuda_t, member)},
	SHMEMHI_CUDA_CALLS(X_)
#undef X_
};

int shmemhi_cuda_open(shmemhi_cuda_t *cuda, int load, shmemhi_err_t *err)
{
	memset(cuda, 0, sizeof *cuda);
	cuda->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
	if (!cuda->library)
		return 0;
	for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
		void *function = dlsym(cuda->library, symbols[i].name);

		if (!function) {
			shmemhi_cuda_close(cuda);
			return shmemhi_fail(err, SHMEMH_ERR_CUDA,
					    "%s has no %s: the CUDA driver is older than 11.4",
					    LIBRARY, symbols[i].name);
		}
		/* ISO C converts no object pointer to a function pointer; POSIX copies it. */
		memcpy((char *)cuda + symbols[i].offset, &function, sizeof function);
	}
	return 1;
}

void shmemhi_cuda_close(shmemhi_cuda_t *cuda)
{
	if (cuda->library)
		dlclose(cuda->library);
	memset(cuda, 0, sizeof *cuda);
}

int shmemhi_cuda_count_devices(const char *dir)
{
	static const char prefix[] = "nvidia";
	DIR *entries = opendir(dir);
	struct dirent *entry;
	int n = 0;

	while (entries && (entry = readdir(entries))) {
		const char *number = entry->d_name + sizeof prefix - 1;

		if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 && *number &&
		    strspn(number, "0123456789") == strlen(number))
			n++;
	}
	if (entries)
		closedir(entries);
	return n;
}

int shmemhi_cuda_check(const shmemhi_cuda_t *cuda, shmemhi_err_t *err, const char *call,
		       shmemhi_cu_result_t result)
{
	const char *name = NULL;

	if (result == SHMEMHI_CU_SUCCESS)
		return SHMEMH_OK;
	if (cuda->get_error_name(result, &name) != SHMEMHI_CU_SUCCESS || !name)
		name = "unknown error";
	return shmemhi_fail(
		err, result == SHMEMHI_CU_OUT_OF_MEMORY ? SHMEMH_ERR_NO_MEMORY : SHMEMH_ERR_CUDA,
		"%s failed: %s (%d)", call, name, result);
}
