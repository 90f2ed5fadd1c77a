/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Doorbell registers of links, in pages of the NIC (UAR), mapped for the GPU. */
#ifndef SHMEMHI_IB_UAR_H
#define SHMEMHI_IB_UAR_H

#include "ib/state.h"

/* Most registers that a PE takes of its home port and of its stand-by; more links share them. With
 * one for each link, a large job would take all that an adapter has, and other processes of the
 * machine could not open it. Those of the stand-by are for paths that most jobs never use, but are
 * allocated at the start of the job: a mapping for the GPU cannot be made while kernels run. */
#define SHMEMHI_HOME_UARS 512u
#define SHMEMHI_STANDBY_UARS 64u

typedef struct shmemhi_uar {
	struct mlx5dv_devx_uar *uar;
	char *page;     /* the system's page of the register */
	char *dev_page; /* its address for threads of kernels; NULL: not mapped */
	int owns;       /* this entry made the mapping, not another one of the same page */
} shmemhi_uar_t;

typedef struct shmemhi_uars {
	shmemhi_uar_t *list;
	uint32_t n;
	/* With fail-over: for the queue that the host posts to (ib/flush.c). A register of its own,
	 * but shared with links if there is no dedicated one: with rdma-core before 45, or if all
	 * are taken. */
	struct mlx5dv_devx_uar *flush_uar;
} shmemhi_uars_t;

/* Allocate one register. Non-cached pages are tried first: in write-combining pages (BF) a doorbell
 * may wait in a buffer. NULL: errno has the reason. */
struct mlx5dv_devx_uar *shmemhi_uar_alloc(const shmemhi_ib_lib_t *lib,
					  const shmemhi_open_port_t *port);

/* Allocate one register of that NIC for each of n_links links, or as many as the device has, but at
 * most SHMEMHI_HOME_UARS or SHMEMHI_STANDBY_UARS; links then share them in turn. With rdma-core
 * before 45, or if no dedicated register is left for the first link, all links share the one
 * register that libmlx5 has for a context. Sharing is correct because a doorbell is one 8-byte
 * store, never a copy of a WQE. With fail-over `flush_uar` is allocated before those of links; NULL
 * if the device gave one register only, which links then have.
 *
 * SHMEMH_IB_DOORBELL says who rings: without a mapping for the GPU, `auto` warns (for the home
 * port) and uses the CPU doorbell proxy, `gpu` fails. If the mapping is missing for the stand-by
 * alone, fail-over is switched off, or init fails (failover_open.c). After a failure close is still
 * to be called. */
int shmemhi_uars_open(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_open_port_t *port,
		      uint32_t n_links, shmemhi_uars_t *uars);
void shmemhi_uars_close(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_uars_t *uars);

/* Give link number i its register, that of queue pairs with a doorbell record. */
void shmemhi_uars_assign(const shmemhi_uars_t *uars, uint32_t i, shmemhi_link_t *link);

/* The link's queue pair has no doorbell record: give it the register for those, of which each UAR
 * has one, at 0x600. Find the link's own UAR by rounding reg_addr down to 4 KiB, not by base_addr:
 * that is the beginning of the system's page, which may hold several UARs. If the link's doorbell
 * is mapped for the GPU, this register is too: the mapping covers the whole page. */
void shmemhi_uars_assign_no_record(shmemhi_link_t *link);

#endif
