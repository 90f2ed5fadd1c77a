/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/uar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mem/mem.h"

/* A register that libmlx5 gives to no other caller. libmlx5 has this type since rdma-core 45; the
 * header may lack a name for it. Older ones refuse it. MLX5DV_UAR_ALLOC_TYPE_NC is one register for
 * the whole context. */
#define NC_DEDICATED (1u << 31)

/* A UAR is a page of the adapter; a page of the system may hold several. */
#define UAR_NBYTES ((uintptr_t)4096)

/* Offset in each UAR. A NIC drops a doorbell written to the register of the other mode.
 * Source  GPUNetIO, doca_verbs_uar.cpp. */
#define REGISTER_NO_RECORD 0x600

enum { DOORBELL_AUTO, DOORBELL_GPU, DOORBELL_CPU }; /* words of SHMEMH_IB_DOORBELL */

/* *kind: receives the type of the register. */
static struct mlx5dv_devx_uar *alloc_one(const shmemhi_ib_lib_t *lib,
					 const shmemhi_open_port_t *port, uint32_t *kind)
{
	static const uint32_t kinds[] = {NC_DEDICATED, MLX5DV_UAR_ALLOC_TYPE_NC,
					 MLX5DV_UAR_ALLOC_TYPE_BF};
	struct mlx5dv_devx_uar *uar = NULL;

	for (size_t i = 0; !uar && i < sizeof kinds / sizeof kinds[0]; i++) {
		*kind = kinds[i];
		uar = lib->alloc_uar(port->context, *kind);
	}
	return uar;
}

struct mlx5dv_devx_uar *shmemhi_uar_alloc(const shmemhi_ib_lib_t *lib,
					  const shmemhi_open_port_t *port)
{
	uint32_t kind;

	return alloc_one(lib, port, &kind);
}

/* Different registers among those allocated: libmlx5 may give one several times. */
static uint32_t n_registers(const shmemhi_uars_t *uars)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < uars->n; i++) {
		uint32_t j = 0;

		while (uars->list[j].uar->reg_addr != uars->list[i].uar->reg_addr)
			j++;
		n += j == i;
	}
	return n;
}

static int alloc_all(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_open_port_t *port,
		     uint32_t n_links, shmemhi_uars_t *uars)
{
	uintptr_t page_mask = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	uint32_t most = port == &ib->home_port ? SHMEMHI_HOME_UARS : SHMEMHI_STANDBY_UARS;
	uint32_t n, kind = 0;

	most = n_links < most ? n_links : most;
	uars->list = calloc(most, sizeof *uars->list);
	if (!uars->list)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "links: out of memory");
	/* Before links take all that the device has. */
	if (ib->failover)
		uars->flush_uar = shmemhi_uar_alloc(&ib->lib, port);
	while (uars->n < most) {
		shmemhi_uar_t *u = &uars->list[uars->n];

		/* All of one kind: when the dedicated ones are used up, links share those, and not
		 * the one register of the context. */
		u->uar = uars->n ? ib->lib.alloc_uar(port->context, kind)
				 : alloc_one(&ib->lib, port, &kind);
		if (!u->uar && !uars->n) {
			u->uar = uars->flush_uar;
			uars->flush_uar = NULL;
		}
		if (!u->uar)
			break;
		u->page = (char *)((uintptr_t)u->uar->reg_addr & page_mask);
		uars->n++;
	}
	if (!uars->n)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NIC,
				    "%s: mlx5dv_devx_alloc_uar gives no doorbell register: %s",
				    port->name, strerror(errno));
	n = n_registers(uars);
	if (n < n_links)
		shmemhi_log(&job->log, SHMEMHI_INFO, "%s: %u links share %u doorbell register%s",
			    port->name, n_links, n, n == 1 ? "" : "s");
	return SHMEMH_OK;
}

/* Map the page of register i, or take the mapping of an earlier register in the same page: CUDA
 * maps a page only once. */
static int map_one(shmemh_t *job, shmemhi_uars_t *uars, uint32_t i, shmemhi_err_t *err)
{
	shmemhi_uar_t *u = &uars->list[i];
	void *dev_page;
	int status;

	for (uint32_t j = 0; j < i; j++)
		if (uars->list[j].page == u->page) {
			u->dev_page = uars->list[j].dev_page;
			return SHMEMH_OK;
		}
	status = shmemhi_io_map(job, u->page, (size_t)sysconf(_SC_PAGESIZE), &dev_page, err);
	if (status != SHMEMH_OK)
		return status;
	u->dev_page = dev_page;
	u->owns = 1;
	return SHMEMH_OK;
}

static void unmap_all(shmemh_t *job, shmemhi_uars_t *uars)
{
	for (uint32_t i = 0; i < uars->n; i++) {
		if (uars->list[i].owns)
			shmemhi_io_unmap(job, uars->list[i].page);
		uars->list[i].owns = 0;
		uars->list[i].dev_page = NULL;
	}
}

#define CURE                                                                                       \
	"load the NVIDIA driver with the option NVreg_RegistryDwords=\"PeerMappingOverride=1;\""

/* No host thread rings for the stand-by port alone (check_doorbells in failover_open.c). */
static int is_standby_alone(const shmemhi_ib_t *ib, const shmemhi_open_port_t *port)
{
	return port != &ib->home_port && ib->links[0].doorbell;
}

/* Map the doorbell registers of a port for the GPU. A failure is a warning for the home port, whose
 * doorbells the CPU then rings. If it is the stand-by's, there is no warning here: the home port
 * has had one, or only the stand-by fails; then fail-over is switched off, with a warning of its
 * own, or init fails (failover_open.c). */
static int map_all(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_open_port_t *port,
		   shmemhi_uars_t *uars)
{
	shmemhi_err_t why = {""};
	int status = SHMEMH_OK;

	if (job->opt.ib_doorbell == DOORBELL_CPU && shmemhi_ib_is_emulated(ib))
		return shmemhi_fail(&job->err, SHMEMH_ERR_OPTION,
				    "SHMEMH_IB_DOORBELL=cpu: no thread rings in the emulator: use "
				    "auto");
	if (job->opt.ib_doorbell == DOORBELL_CPU)
		return SHMEMH_OK;
	for (uint32_t i = 0; status == SHMEMH_OK && i < uars->n; i++)
		status = map_one(job, uars, i, &why);
	if (status == SHMEMH_OK)
		return SHMEMH_OK;
	unmap_all(job, uars);
	if (job->opt.ib_doorbell == DOORBELL_GPU)
		return shmemhi_fail(&job->err, status,
				    "SHMEMH_IB_DOORBELL=gpu: the GPU cannot write to the doorbells "
				    "of %s (%s): " CURE ", or set SHMEMH_IB_DOORBELL=cpu",
				    port->name, why.text);
	shmemhi_log(&job->log, port == &ib->home_port ? SHMEMHI_WARN : SHMEMHI_INFO,
		    "the GPU cannot write to the doorbells of %s (%s): %s: " CURE
		    ", or set SHMEMH_IB_DOORBELL=cpu",
		    port->name, why.text,
		    is_standby_alone(ib, port)
			    ? "fail-over needs both ports alike"
			    : "a thread of the host rings them, which is slower");
	return SHMEMH_OK;
}

int shmemhi_uars_open(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_open_port_t *port,
		      uint32_t n_links, shmemhi_uars_t *uars)
{
	int status = alloc_all(job, ib, port, n_links, uars);

	return status == SHMEMH_OK ? map_all(job, ib, port, uars) : status;
}

void shmemhi_uars_close(shmemh_t *job, const shmemhi_ib_t *ib, shmemhi_uars_t *uars)
{
	unmap_all(job, uars);
	for (uint32_t i = 0; i < uars->n; i++)
		ib->lib.free_uar(uars->list[i].uar);
	if (uars->flush_uar)
		ib->lib.free_uar(uars->flush_uar);
	free(uars->list);
	memset(uars, 0, sizeof *uars);
}

void shmemhi_uars_assign(const shmemhi_uars_t *uars, uint32_t i, shmemhi_link_t *link)
{
	const shmemhi_uar_t *u = &uars->list[i % uars->n];
	char *reg = u->uar->reg_addr;

	link->uar = u->uar;
	link->host_doorbell = reg;
	link->doorbell = u->dev_page ? u->dev_page + (reg - u->page) : NULL;
}

void shmemhi_uars_assign_no_record(shmemhi_link_t *link)
{
	char *uar = (char *)((uintptr_t)link->uar->reg_addr & ~(UAR_NBYTES - 1));
	char *reg = uar + REGISTER_NO_RECORD;

	link->doorbell = (char *)link->doorbell + (reg - (char *)link->host_doorbell);
	link->host_doorbell = reg;
}
