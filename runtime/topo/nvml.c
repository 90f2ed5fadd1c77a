/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"
#define MAX_LANES 18       /* NVML_NVLINK_MAX_LINKS */
#define FABRIC_COMPLETED 3 /* NVML_GPU_FABRIC_STATE_COMPLETED */

enum { REMOTE_GPU = 0, REMOTE_SWITCH = 2 }; /* nvmlIntNvLinkDeviceType_t */

typedef void *device_t;

typedef struct pci_info { /* nvmlPciInfo_t */
	char legacy_id[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
} pci_info_t;

typedef struct fabric_info { /* nvmlGpuFabricInfo_t */
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
} fabric_info_t;

/* X(member, symbol, parameters, needed) */
#define NVML_CALLS(X)                                                                              \
	X(init, "nvmlInit_v2", (void), 1)                                                          \
	X(shutdown, "nvmlShutdown", (void), 1)                                                     \
	X(count, "nvmlDeviceGetCount_v2", (unsigned *n), 1)                                        \
	X(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, device_t *device), 1)          \
	X(pci, "nvmlDeviceGetPciInfo_v3", (device_t device, pci_info_t * info), 1)                 \
	X(lane_state, "nvmlDeviceGetNvLinkState", (device_t device, unsigned lane, unsigned *on),  \
	  1)                                                                                       \
	X(lane_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2",                                         \
	  (device_t device, unsigned lane, pci_info_t *info), 1)                                   \
	X(lane_remote, "nvmlDeviceGetNvLinkRemoteDeviceType",                                      \
	  (device_t device, unsigned lane, unsigned *type), 0)                                     \
	X(fabric, "nvmlDeviceGetGpuFabricInfo", (device_t device, fabric_info_t * info), 0)

typedef struct nvml {
	void *library;
#define X_(member, symbol, parameters, needed) int(*member) parameters;
	NVML_CALLS(X_)
#undef X_
} nvml_t;

static const struct {
	const char *name;
	size_t offset;
	int is_needed;
} symbols[] = {
#define X_(member, symbol, parameters, needed) {symbol, offsetof(nvml_t, member), needed},
	NVML_CALLS(X_)
#undef X_
};

static int load(nvml_t *nvml)
{
	memset(nvml, 0, sizeof *nvml);
	nvml->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library)
		return 0;
	for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
		void *function = dlsym(nvml->library, symbols[i].name);

		if (!function && symbols[i].is_needed) {
			dlclose(nvml->library);
			return 0;
		}
		/* ISO C converts no object pointer to a function pointer; POSIX copies it. */
		memcpy((char *)nvml + symbols[i].offset, &function, sizeof function);
	}
	return 1;
}

void shmemhi_nvml_addr(const char *bus_id, char addr[SHMEMHI_ADDR_NBYTES])
{
	size_t domain = strcspn(bus_id, ":");

	while (domain > 4 && *bus_id == '0') {
		bus_id++;
		domain--;
	}
	snprintf(addr, SHMEMHI_ADDR_NBYTES, "%s", bus_id);
	for (char *at = addr; *at; at++)
		*at = (char)tolower((unsigned char)*at);
}

/* Add a lane to the connection of these two. */
static void add_lane(shmemhi_nvml_t *found, const char *from, const char *to)
{
	shmemhi_nvml_link_t *link;

	for (int i = 0; i < found->n_links; i++) {
		link = &found->links[i];
		if (strcmp(link->from, from) == 0 && strcmp(link->to, to) == 0) {
			link->n_lanes++;
			return;
		}
	}
	if (found->n_links == SHMEMHI_MAX_NVLINKS)
		return;
	link = &found->links[found->n_links++];
	snprintf(link->from, sizeof link->from, "%s", from);
	snprintf(link->to, sizeof link->to, "%s", to);
	link->n_lanes = 1;
}

static void query_lanes(const nvml_t *nvml, device_t device, const char *addr,
			shmemhi_nvml_t *found)
{
	for (unsigned lane = 0; lane < MAX_LANES; lane++) {
		char to[SHMEMHI_ADDR_NBYTES];
		unsigned is_on = 0, type = REMOTE_GPU;
		pci_info_t pci;

		if (nvml->lane_state(device, lane, &is_on) != 0 || !is_on)
			continue;
		if (nvml->lane_remote && nvml->lane_remote(device, lane, &type) != 0)
			type = REMOTE_GPU;
		if (type == REMOTE_SWITCH) {
			add_lane(found, addr, "switch");
		} else if (type == REMOTE_GPU && nvml->lane_pci(device, lane, &pci) == 0) {
			shmemhi_nvml_addr(pci.bus_id, to);
			if (strcmp(addr, to) < 0) /* the other GPU reports the lane too */
				add_lane(found, addr, to);
		}
	}
}

static void query_fabric(const nvml_t *nvml, device_t device, shmemhi_nvml_gpu_t *gpu)
{
	static const unsigned char none[16];
	fabric_info_t info = {.state = 0};
	size_t used = 0;

	if (!nvml->fabric || nvml->fabric(device, &info) != 0 || info.state != FABRIC_COMPLETED ||
	    memcmp(info.cluster, none, sizeof none) == 0)
		return;
	for (size_t i = 0; i < sizeof info.cluster; i++)
		used += (size_t)snprintf(gpu->fabric + used, sizeof gpu->fabric - used, "%02x",
					 info.cluster[i]);
	snprintf(gpu->fabric + used, sizeof gpu->fabric - used, ".%u", info.clique);
}

int shmemhi_nvml_query(shmemhi_nvml_t *found)
{
	unsigned n = 0;
	nvml_t nvml;

	memset(found, 0, sizeof *found);
	if (!load(&nvml))
		return 0;
	if (nvml.init() == 0) {
		nvml.count(&n);
		for (unsigned i = 0; i < n && found->n_gpus < SHMEMHI_MAX_GPUS; i++) {
			shmemhi_nvml_gpu_t *gpu = &found->gpus[found->n_gpus];
			device_t device;
			pci_info_t pci;

			if (nvml.device(i, &device) != 0 || nvml.pci(device, &pci) != 0)
				continue;
			found->n_gpus++;
			shmemhi_nvml_addr(pci.bus_id, gpu->addr);
			query_lanes(&nvml, device, gpu->addr, found);
			query_fabric(&nvml, device, gpu);
		}
		nvml.shutdown();
	}
	dlclose(nvml.library);
	return found->n_gpus > 0;
}

void shmemhi_nvml_write(const shmemhi_nvml_t *found, FILE *out)
{
	for (int i = 0; i < found->n_gpus; i++)
		fprintf(out, "gpu %s %s\n", found->gpus[i].addr,
			found->gpus[i].fabric[0] ? found->gpus[i].fabric : "-");
	for (int i = 0; i < found->n_links; i++)
		fprintf(out, "nvlink %s %s %d\n", found->links[i].from, found->links[i].to,
			found->links[i].n_lanes);
}

static int read_gpu(const char *line, shmemhi_nvml_t *found)
{
	shmemhi_nvml_gpu_t gpu = {.addr = ""};

	if (found->n_gpus == SHMEMHI_MAX_GPUS ||
	    sscanf(line, "gpu %23s %47s", gpu.addr, gpu.fabric) != 2)
		return -1;
	if (strcmp(gpu.fabric, "-") == 0)
		gpu.fabric[0] = '\0';
	found->gpus[found->n_gpus++] = gpu;
	return 0;
}

static int read_link(const char *line, shmemhi_nvml_t *found)
{
	shmemhi_nvml_link_t link = {.from = ""};

	if (found->n_links == SHMEMHI_MAX_NVLINKS ||
	    sscanf(line, "nvlink %23s %23s %d", link.from, link.to, &link.n_lanes) != 3)
		return -1;
	found->links[found->n_links++] = link;
	return 0;
}

int shmemhi_nvml_read(FILE *in, shmemhi_nvml_t *found)
{
	char line[160];

	memset(found, 0, sizeof *found);
	if (!in)
		return 0;
	while (fgets(line, sizeof line, in))
		if (read_gpu(line, found) != 0 && read_link(line, found) != 0)
			return -1;
	return 1;
}
