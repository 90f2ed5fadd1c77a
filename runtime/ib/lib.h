/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* libibverbs and libmlx5, loaded at run time: the runtime works without them, and
 * SHMEMH_IB_LIBRARY replaces them by the software adapter. All calls go through this table: the
 * inline functions of verbs.h call linked symbols or use fields that a driver filled in. */
#ifndef SHMEMHI_IB_LIB_H
#define SHMEMHI_IB_LIB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include "base/err.h"

/* X(library, member, symbol, result, parameters): entry points that every library must have.
 * rdma-core has all of them since version 34, the first one with ibv_reg_dmabuf_mr. */
#define SHMEMHI_IB_CALLS(X)                                                                        \
	X(ibverbs, get_device_list, "ibv_get_device_list", struct ibv_device **, (int *n_devices)) \
	X(ibverbs, free_device_list, "ibv_free_device_list", void, (struct ibv_device * *list))    \
	X(ibverbs, get_device_name, "ibv_get_device_name", const char *,                           \
	  (struct ibv_device * device))                                                            \
	X(ibverbs, close_device, "ibv_close_device", int, (struct ibv_context * context))          \
	X(ibverbs, query_device, "ibv_query_device", int,                                          \
	  (struct ibv_context * context, struct ibv_device_attr * attr))                           \
	X(ibverbs, query_port_compat, "ibv_query_port", int,                                       \
	  (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr * attr))       \
	X(ibverbs, query_gid_ex, "_ibv_query_gid_ex", int,                                         \
	  (struct ibv_context * context, uint32_t port, uint32_t index,                            \
	   struct ibv_gid_entry * entry, uint32_t flags, size_t entry_nbytes))                     \
	X(ibverbs, alloc_pd, "ibv_alloc_pd", struct ibv_pd *, (struct ibv_context * context))      \
	X(ibverbs, dealloc_pd, "ibv_dealloc_pd", int, (struct ibv_pd * pd))                        \
	X(ibverbs, reg_mr, "ibv_reg_mr", struct ibv_mr *,                                          \
	  (struct ibv_pd * pd, void *ptr, size_t nbytes, int access))                              \
	X(ibverbs, reg_mr_iova2, "ibv_reg_mr_iova2", struct ibv_mr *,                              \
	  (struct ibv_pd * pd, void *ptr, size_t nbytes, uint64_t iova, unsigned access))          \
	X(ibverbs, reg_dmabuf_mr, "ibv_reg_dmabuf_mr", struct ibv_mr *,                            \
	  (struct ibv_pd * pd, uint64_t offset, size_t nbytes, uint64_t iova, int fd, int access)) \
	X(ibverbs, dereg_mr, "ibv_dereg_mr", int, (struct ibv_mr * mr))                            \
	X(ibverbs, create_ah, "ibv_create_ah", struct ibv_ah *,                                    \
	  (struct ibv_pd * pd, struct ibv_ah_attr * attr))                                         \
	X(ibverbs, destroy_ah, "ibv_destroy_ah", int, (struct ibv_ah * ah))                        \
	X(ibverbs, get_async_event, "ibv_get_async_event", int,                                    \
	  (struct ibv_context * context, struct ibv_async_event * event))                          \
	X(ibverbs, ack_async_event, "ibv_ack_async_event", void, (struct ibv_async_event * event)) \
	X(ibverbs, event_type_str, "ibv_event_type_str", const char *, (enum ibv_event_type type)) \
	X(ibverbs, port_state_str, "ibv_port_state_str", const char *,                             \
	  (enum ibv_port_state state))                                                             \
	X(mlx5, is_supported, "mlx5dv_is_supported", bool, (struct ibv_device * device))           \
	X(mlx5, open_device, "mlx5dv_open_device", struct ibv_context *,                           \
	  (struct ibv_device * device, struct mlx5dv_context_attr * attr))                         \
	X(mlx5, init_obj, "mlx5dv_init_obj", int, (struct mlx5dv_obj * obj, uint64_t type))        \
	X(mlx5, alloc_uar, "mlx5dv_devx_alloc_uar", struct mlx5dv_devx_uar *,                      \
	  (struct ibv_context * context, uint32_t flags))                                          \
	X(mlx5, free_uar, "mlx5dv_devx_free_uar", void, (struct mlx5dv_devx_uar * uar))            \
	X(mlx5, umem_reg, "mlx5dv_devx_umem_reg", struct mlx5dv_devx_umem *,                       \
	  (struct ibv_context * context, void *ptr, size_t nbytes, uint32_t access))               \
	X(mlx5, umem_dereg, "mlx5dv_devx_umem_dereg", int, (struct mlx5dv_devx_umem * umem))       \
	X(mlx5, query_eqn, "mlx5dv_devx_query_eqn", int,                                           \
	  (struct ibv_context * context, uint32_t vector, uint32_t * eqn))                         \
	X(mlx5, obj_create, "mlx5dv_devx_obj_create", struct mlx5dv_devx_obj *,                    \
	  (struct ibv_context * context, const void *in, size_t in_nbytes, void *out,              \
	   size_t out_nbytes))                                                                     \
	X(mlx5, obj_modify, "mlx5dv_devx_obj_modify", int,                                         \
	  (struct mlx5dv_devx_obj * obj, const void *in, size_t in_nbytes, void *out,              \
	   size_t out_nbytes))                                                                     \
	X(mlx5, obj_query, "mlx5dv_devx_obj_query", int,                                           \
	  (struct mlx5dv_devx_obj * obj, const void *in, size_t in_nbytes, void *out,              \
	   size_t out_nbytes))                                                                     \
	X(mlx5, obj_destroy, "mlx5dv_devx_obj_destroy", int, (struct mlx5dv_devx_obj * obj))       \
	X(mlx5, general_cmd, "mlx5dv_devx_general_cmd", int,                                       \
	  (struct ibv_context * context, const void *in, size_t in_nbytes, void *out,              \
	   size_t out_nbytes))                                                                     \
	X(mlx5, create_event_channel, "mlx5dv_devx_create_event_channel",                          \
	  struct mlx5dv_devx_event_channel *,                                                      \
	  (struct ibv_context * context, enum mlx5dv_devx_create_event_channel_flags flags))       \
	X(mlx5, destroy_event_channel, "mlx5dv_devx_destroy_event_channel", void,                  \
	  (struct mlx5dv_devx_event_channel * channel))                                            \
	X(mlx5, subscribe_event, "mlx5dv_devx_subscribe_devx_event", int,                          \
	  (struct mlx5dv_devx_event_channel * channel, struct mlx5dv_devx_obj * obj,               \
	   uint16_t nbytes, uint16_t * events, uint64_t cookie))                                   \
	X(mlx5, get_event, "mlx5dv_devx_get_event", ssize_t,                                       \
	  (struct mlx5dv_devx_event_channel * channel, struct mlx5dv_devx_async_event_hdr * event, \
	   size_t nbytes))

typedef struct shmemhi_ib_lib {
	void *ibverbs, *mlx5; /* handles of dlopen; may be the same library twice */
#define X_(library, member, symbol, result, parameters) result(*member) parameters;
	SHMEMHI_IB_CALLS(X_)
#undef X_
	/* NULL before rdma-core 35; accepts a dma-buf since 43. Without it, queues in GPU memory
	 * are registered by address (nvidia_peermem), or are in host memory. */
	struct mlx5dv_devx_umem *(*umem_reg_ex)(struct ibv_context *context,
						struct mlx5dv_devx_umem_in *in);
	/* Of the software adapter only, else NULL: set the memory that a dma-buf stands for. */
	int (*bind_dmabuf)(int fd, void *ptr, size_t nbytes);
} shmemhi_ib_lib_t;

/* Fill the table.
 *
 * path     what has the entry points of both; empty: libibverbs.so.1 and libmlx5.so.1.
 * Returns  SHMEMH_OK; ERR_NIC: no such library, or one that is too old (text names the symbol). */
int shmemhi_ib_lib_open(shmemhi_ib_lib_t *lib, const char *path, shmemhi_err_t *err);
void shmemhi_ib_lib_close(shmemhi_ib_lib_t *lib);

/* ibv_query_port of verbs.h calls a linked symbol. Libraries fill in the first fields, up to
 * link_layer and flags; the others are 0. */
static inline int shmemhi_ib_query_port(const shmemhi_ib_lib_t *lib, struct ibv_context *context,
					uint8_t port, struct ibv_port_attr *attr)
{
	memset(attr, 0, sizeof *attr);
	return lib->query_port_compat(context, port, (struct _compat_ibv_port_attr *)attr);
}

#endif
