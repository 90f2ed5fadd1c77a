/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/lib.h"

#include <dlfcn.h>
#include <stdbool.h>

static const struct symbol {
	size_t library; /* member of shmemhi_ib_lib_t */
	size_t member;
	const char *name;
} symbols[] = {
#define X_(library, member, symbol, result, parameters)                                            \
	{offsetof(shmemhi_ib_lib_t, library), offsetof(shmemhi_ib_lib_t, member), symbol},
	SHMEMHI_IB_CALLS(X_)
#undef X_
};

static int load(void **library, const char *name, shmemhi_err_t *err)
{
	/* Never unload the library: libibverbs keeps its drivers loaded, and the software
	 * adapter runs a thread. */
	*library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (*library)
		return SHMEMH_OK;
	return shmemhi_fail(err, SHMEMH_ERR_NIC,
			    "no NIC: cannot load %s (%s): install rdma-core (libibverbs1 and "
			    "ibverbs-providers), or set SHMEMH_IB_LIBRARY",
			    name, dlerror());
}

/* ISO C converts no object pointer to a function pointer; POSIX copies it. */
static bool find(shmemhi_ib_lib_t *lib, size_t library, size_t member, const char *name)
{
	void *handle, *function;

	memcpy(&handle, (char *)lib + library, sizeof handle);
	function = dlsym(handle, name);
	memcpy((char *)lib + member, &function, sizeof function);
	return function != NULL;
}

static int find_all(shmemhi_ib_lib_t *lib, shmemhi_err_t *err)
{
	for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
		if (!find(lib, symbols[i].library, symbols[i].member, symbols[i].name))
			return shmemhi_fail(
				err, SHMEMH_ERR_NIC,
				"the NIC's library has no %s: use rdma-core 34 or newer",
				symbols[i].name);
	find(lib, offsetof(shmemhi_ib_lib_t, mlx5), offsetof(shmemhi_ib_lib_t, umem_reg_ex),
	     "mlx5dv_devx_umem_reg_ex");
	find(lib, offsetof(shmemhi_ib_lib_t, ibverbs), offsetof(shmemhi_ib_lib_t, bind_dmabuf),
	     "mlx5sw_bind_dmabuf");
	return SHMEMH_OK;
}

int shmemhi_ib_lib_open(shmemhi_ib_lib_t *lib, const char *path, shmemhi_err_t *err)
{
	int status;

	memset(lib, 0, sizeof *lib);
	status = load(&lib->ibverbs, path[0] ? path : "libibverbs.so.1", err);
	if (status == SHMEMH_OK)
		status = load(&lib->mlx5, path[0] ? path : "libmlx5.so.1", err);
	if (status == SHMEMH_OK)
		status = find_all(lib, err);
	if (status != SHMEMH_OK)
		shmemhi_ib_lib_close(lib);
	return status;
}

void shmemhi_ib_lib_close(shmemhi_ib_lib_t *lib)
{
	if (lib->ibverbs)
		dlclose(lib->ibverbs);
	if (lib->mlx5)
		dlclose(lib->mlx5);
	memset(lib, 0, sizeof *lib);
}
