/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The RDMA part of shmem-info: what this machine has, and what to do about what is missing. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "info.h"

static int attribute(const shmemhi_cuda_t *cuda, int gpu, int which)
{
	int value = 0;

	return cuda->device_get_attribute(&value, which, gpu) == SHMEMHI_CU_SUCCESS ? value : 0;
}

void info_gpu_rdma(const shmemhi_cuda_t *cuda, int gpu)
{
	int has_rdma = attribute(cuda, gpu, SHMEMHI_CU_ATTR_RDMA);
	int has_vmm = attribute(cuda, gpu, SHMEMHI_CU_ATTR_RDMA_VMM);
	int has_dmabuf = attribute(cuda, gpu, SHMEMHI_CU_ATTR_DMA_BUF);
	int ordering = attribute(cuda, gpu, SHMEMHI_CU_ATTR_RDMA_ORDERING);

	if (!has_rdma || !has_vmm) {
		info_line("    RDMA",
			  "none: NICs cannot reach this GPU's memory: use a heap in host "
			  "memory (SHMEMH_HEAP=host)");
		return;
	}
	info_line("    RDMA", "ok: by %s; %s",
		  has_dmabuf ? "dma-buf"
			     : "nvidia_peermem only (no dma-buf: needs the open kernel "
			       "modules and Linux 5.12)",
		  ordering >= SHMEMHI_CU_RDMA_ORDERING_OWNER
			  ? "its kernels see writes of NICs in order"
			  : "its kernels may see a NIC's signal before the "
			    "data (use SHMEMH_HEAP=host); gets and fetches are in order");
}

#if SHMEMHI_HAVE_IB
#include "ib/ports.h"

static void print_port(const shmemhi_port_t *p)
{
	const shmemhi_open_port_t *port = &p->open;
	const char *records = port->offers_no_record ? "not needed" : "needed";
	char gid[INET6_ADDRSTRLEN] = "?";
	char label[80];

	if (port->number)
		snprintf(label, sizeof label, "  %s:%d", port->name, port->number);
	else
		snprintf(label, sizeof label, "  %s", port->name);
	inet_ntop(AF_INET6, port->gid.raw, gid, sizeof gid);
	if (!p->is_usable)
		info_line(label, "NOT usable: %s", p->why.text);
	else if (port->is_ethernet)
		info_line(label, "ok: active, RoCE v2, GID %d %s, MTU %d, doorbell records %s",
			  port->gid_index, gid, 128 << port->mtu, records);
	else
		info_line(label, "ok: active, InfiniBand, LID %d, MTU %d, doorbell records %s",
			  port->lid, 128 << port->mtu, records);
}

static void print_ports(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt)
{
	shmemhi_ports_t found;
	shmemhi_err_t err = {""};

	if (shmemhi_ports_open(lib, opt, &found, &err) != SHMEMH_OK) {
		info_line("NICs", "%s", err.text);
		return;
	}
	info_line("NICs", "%zu ports", found.n);
	for (size_t i = 0; i < found.n; i++)
		print_port(&found.ports[i]);
	shmemhi_ports_close(lib, &found);
}

static void print_nics(const shmemhi_options_t *opt)
{
	shmemhi_ib_lib_t lib;
	shmemhi_err_t err = {""};

	if (shmemhi_ib_lib_open(&lib, opt->ib_library, &err) != SHMEMH_OK) {
		info_line("NICs", "%s", err.text);
		return;
	}
	info_line("RDMA library", "ok: %s",
		  opt->ib_library[0] ? opt->ib_library : "libibverbs.so.1, libmlx5.so.1");
	print_ports(&lib, opt);
	shmemhi_ib_lib_close(&lib);
}
#else
static void print_nics(const shmemhi_options_t *opt)
{
	(void)opt;
	info_line("NICs", "none (this library was built without the headers of rdma-core 43, "
			  "libibverbs-dev): PEs of one node only");
}
#endif

static void print_peermem(void)
{
	int is_loaded = access("/sys/module/nvidia_peermem", F_OK) == 0;

	info_line("nvidia_peermem", "%s",
		  is_loaded ? "ok"
			    : "not loaded: needed for GPUs without dma-buf: modprobe "
			      "nvidia_peermem");
}

/* Print the driver key that lets GPUs store to registers of other devices. The driver reports it
 * only in a text file. */
static void print_doorbells(void)
{
	static const char path[] = "/proc/driver/nvidia/params";
	FILE *f = fopen(path, "r");
	char text[512];
	int is_set = 0;

	if (!f) {
		info_line("GPU doorbells", "unknown: %s: %s", path, strerror(errno));
		return;
	}
	while (fgets(text, sizeof text, f))
		is_set |= strstr(text, "PeerMappingOverride=1") != NULL;
	fclose(f);
	info_line("GPU doorbells", "%s",
		  is_set ? "ok: PeerMappingOverride=1"
			 : "PeerMappingOverride is not set: the CPU may have to ring doorbells; to "
			   "let GPUs "
			   "do it: options nvidia NVreg_RegistryDwords=\"PeerMappingOverride=1;\" "
			   "in /etc/modprobe.d, and load the driver again");
}

static void print_memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		info_line("locked memory", "ok: no limit");
	else
		info_line("locked memory",
			  "limit of %llu KiB: registration with a NIC may fail: ulimit -l "
			  "unlimited, or memlock in /etc/security/limits.conf",
			  (unsigned long long)limit.rlim_cur / 1024);
}

void info_rdma(const shmemhi_options_t *opt, const shmemhi_cuda_t *cuda)
{
	print_nics(opt);
	if (cuda) {
		print_peermem();
		print_doorbells();
	}
	print_memlock();
}
