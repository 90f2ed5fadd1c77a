/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Doorbell registers: the requested pages, their distribution over links, and their mapping for a
 * GPU, on a fake driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "fake_cuda.h"
#include "ib/uar.h"
#include "links_job.h"

#define NC_DEDICATED (1u << 31)
#define MAX_ASKED 1024
#define PAGE 4096

enum { WORD_AUTO, WORD_GPU, WORD_CPU }; /* values of SHMEMH_IB_DOORBELL */

/* A device with so many registers of its kinds, several to a page of 4 KiB. */
static struct {
	uint32_t kinds[MAX_ASKED]; /* requested kinds */
	int n_asked, n_given, n_live, limit, per_page;
	int pages_per_base; /* pages with one base_addr, as where pages of the system are larger */
	int is_single;      /* one register for the context, whatever is requested */
	uint32_t has;       /* bits: 1 BF, 2 NC, 4 dedicated NC */
	int nc_is_shared;   /* NC is one register for the context, beside the others */
	struct mlx5dv_devx_uar nc;
	struct mlx5dv_devx_uar uars[MAX_ASKED];
	struct ibv_context context;
} device;

static char pages[MAX_ASKED * PAGE] __attribute__((aligned(PAGE)));

static uint32_t bit_of(uint32_t kind)
{
	return kind == NC_DEDICATED ? 4 : kind == MLX5DV_UAR_ALLOC_TYPE_NC ? 2 : 1;
}

static struct mlx5dv_devx_uar *give_uar(struct ibv_context *context, uint32_t kind)
{
	int i = device.is_single ? 0 : device.n_given, page = i / device.per_page;

	(void)context;
	if (device.n_asked < MAX_ASKED)
		device.kinds[device.n_asked++] = kind;
	if (device.nc_is_shared && kind == MLX5DV_UAR_ALLOC_TYPE_NC) {
		device.n_live++;
		device.nc.base_addr = pages + (MAX_ASKED - 1) * PAGE;
		device.nc.reg_addr = pages + (MAX_ASKED - 1) * PAGE + 0x800;
		return &device.nc;
	}
	if (!(device.has & bit_of(kind)) || i == device.limit) {
		errno = ENOSPC;
		return NULL;
	}
	device.n_given++;
	device.n_live++;
	device.uars[i].base_addr = pages + (page - page % device.pages_per_base) * PAGE;
	device.uars[i].reg_addr = pages + page * PAGE + 0x800 + i % device.per_page * 0x100;
	return &device.uars[i];
}

static void take_uar(struct mlx5dv_devx_uar *uar)
{
	(void)uar;
	device.n_live--;
}

static void make_device(shmemhi_ib_t *ib, uint32_t has, int limit, int per_page)
{
	memset(&device, 0, sizeof device);
	memset(ib, 0, sizeof *ib);
	device.has = has;
	device.limit = limit;
	device.per_page = per_page;
	device.pages_per_base = 1;
	ib->home_port.context = &device.context;
	snprintf(ib->home_port.name, sizeof ib->home_port.name, "mlx5_7");
	ib->lib.alloc_uar = give_uar;
	ib->lib.free_uar = take_uar;
}

static void switch_on_failover(shmemhi_ib_t *ib)
{
	ib->failover = (void *)&device; /* uar.c only compares it with NULL */
}

/* Uncached registers first; others when those are used up. */
static int pe_kinds(shmemh_t *job)
{
	static const uint32_t all[] = {NC_DEDICATED, MLX5DV_UAR_ALLOC_TYPE_NC,
				       MLX5DV_UAR_ALLOC_TYPE_BF};
	shmemhi_uars_t uars = {0};
	shmemhi_ib_t ib;

	for (uint32_t kind = 0; kind < 3; kind++) {
		make_device(&ib, bit_of(all[kind]), MAX_ASKED, 1);
		PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 1, &uars) == SHMEMH_OK);
		PE_CHECK(device.n_asked == (int)kind + 1);
		PE_CHECK(memcmp(device.kinds, all, (kind + 1) * sizeof all[0]) == 0);
		shmemhi_uars_close(job, &ib, &uars);
		PE_CHECK(device.n_live == 0);
	}
	return 0;
}

static void kinds_of_pages(void **state)
{
	const world_kind_t kind = {.n_pes = 1};

	(void)state;
	assert_int_equal(run_world(&kind, pe_kinds), 0);
}

/* Seven links on three dedicated registers, in turn, although the context has one more, which all
 * of its callers share. They have that one if there is no dedicated one left for them. */
static int pe_dedicated_first(shmemh_t *job)
{
	shmemhi_uars_t uars = {0};
	shmemhi_ib_t ib;

	make_device(&ib, 2 | 4, 3, 1);
	device.nc_is_shared = 1;
	PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 7, &uars) == SHMEMH_OK);
	PE_CHECK(uars.n == 3);
	for (uint32_t i = 0; i < 3; i++)
		PE_CHECK(uars.list[i].uar == &device.uars[i]);
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0);

	make_device(&ib, 2 | 4, 1, 1);
	device.nc_is_shared = 1;
	switch_on_failover(&ib);
	PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 7, &uars) == SHMEMH_OK);
	PE_CHECK(uars.flush_uar == &device.uars[0]);
	for (uint32_t i = 0; i < uars.n; i++)
		PE_CHECK(uars.list[i].uar == &device.nc);
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0);
	return 0;
}

static void dedicated_registers_first(void **state)
{
	const world_kind_t kind = {.n_pes = 1};

	(void)state;
	assert_int_equal(run_world(&kind, pe_dedicated_first), 0);
}

/* Seven links on three registers, in turn. */
static int pe_shares(shmemh_t *job)
{
	shmemhi_uars_t uars = {0};
	shmemhi_ib_t ib;

	make_device(&ib, 4, 3, 1);
	PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 7, &uars) == SHMEMH_OK);
	PE_CHECK(uars.n == 3 && device.n_given == 3);
	for (uint32_t i = 0; i < 7; i++) {
		shmemhi_link_t link = {0};

		shmemhi_uars_assign(&uars, i, &link);
		PE_CHECK(link.uar == &device.uars[i % 3]);
		PE_CHECK(link.host_doorbell == link.uar->reg_addr);
		PE_CHECK(link.doorbell == link.host_doorbell);
	}
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0);
	return 0;
}

static void links_share_registers(void **state)
{
	const world_kind_t kind = {.n_pes = 1};

	(void)state;
	assert_int_equal(run_world(&kind, pe_shares), 0);
}

/* However many links there are: other processes need registers of the device, too. */
static int pe_leaves_some(shmemh_t *job)
{
	shmemhi_open_port_t standby;
	shmemhi_uars_t uars = {0};
	shmemhi_link_t link = {0};
	shmemhi_ib_t ib;

	make_device(&ib, 4, MAX_ASKED, 1);
	standby = ib.home_port;
	PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 8192, &uars) == SHMEMH_OK);
	PE_CHECK(uars.n == 512 && device.n_given == 512);
	shmemhi_uars_assign(&uars, 8191, &link);
	PE_CHECK(link.uar == &device.uars[511]);
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(shmemhi_uars_open(job, &ib, &standby, 8192, &uars) == SHMEMH_OK);
	PE_CHECK(uars.n == 64);
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0);
	return 0;
}

static void registers_are_left(void **state)
{
	const world_kind_t kind = {.n_pes = 1};

	(void)state;
	assert_int_equal(run_world(&kind, pe_leaves_some), 0);
}

/* With fail-over one register is for the host's flushes, unless the device has no other. */
static int pe_reserves(shmemh_t *job)
{
	shmemhi_uars_t uars = {0};
	shmemhi_ib_t ib;

	for (int limit = 1; limit <= 3; limit++) {
		make_device(&ib, 4, limit, 1);
		switch_on_failover(&ib);
		PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 7, &uars) == SHMEMH_OK);
		PE_CHECK(device.n_given == limit);
		PE_CHECK(uars.n == (limit == 1 ? 1 : (uint32_t)limit - 1));
		PE_CHECK(limit == 1 ? !uars.flush_uar : uars.flush_uar != NULL);
		for (uint32_t i = 0; i < uars.n; i++)
			PE_CHECK(uars.list[i].uar && uars.list[i].uar != uars.flush_uar);
		shmemhi_uars_close(job, &ib, &uars);
		PE_CHECK(device.n_live == 0);
	}
	return 0;
}

static void flushes_have_a_register(void **state)
{
	const world_kind_t kind = {.n_pes = 1};

	(void)state;
	assert_int_equal(run_world(&kind, pe_reserves), 0);
}

/* The log, to be read afterwards. */
static int log_fd;

static int say_into_file(void)
{
	int saved = dup(STDERR_FILENO);

	log_fd = memfd_create("log", MFD_CLOEXEC);
	dup2(log_fd, STDERR_FILENO);
	return saved;
}

static void read_log(int saved, char *text, size_t nbytes)
{
	ssize_t n = pread(log_fd, text, nbytes - 1, 0);

	dup2(saved, STDERR_FILENO);
	close(saved);
	close(log_fd);
	text[n > 0 ? n : 0] = '\0';
}

static int n_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static const shmemhi_cuda_t *one_gpu(int pe)
{
	(void)pe;
	my_device = 0;
	return &driver;
}

/* libmlx5 before rdma-core 45 has one register of this kind for the context. The log says so. */
static int pe_has_one(shmemh_t *job)
{
	shmemhi_uars_t uars = {0};
	char text[2048];
	shmemhi_ib_t ib;
	int saved = say_into_file(), status;

	job->log.level = SHMEMHI_INFO;
	make_device(&ib, 2, MAX_ASKED, 1);
	device.is_single = 1;
	status = shmemhi_uars_open(job, &ib, &ib.home_port, 7, &uars);
	read_log(saved, text, sizeof text);
	job->log.level = SHMEMHI_OFF;
	PE_CHECK(status == SHMEMH_OK);
	PE_CHECK(strstr(text, "mlx5_7: 7 links share 1 doorbell register\n"));
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0);
	return 0;
}

static void one_register_for_all_links(void **state)
{
	const world_kind_t kind = {.n_pes = 1};

	(void)state;
	assert_int_equal(run_world(&kind, pe_has_one), 0);
}

/* Two registers to a page: a page is mapped once. The register of queue pairs without doorbell
 * record is that of the same page, also if base_addr is that of an earlier page. */
static int pe_maps(shmemh_t *job)
{
	shmemhi_uars_t uars = {0};
	shmemhi_link_t link = {0};
	shmemhi_ib_t ib;

	for (int turn = 0; turn < 4; turn++) {
		job->opt.ib_doorbell = turn % 2 ? WORD_GPU : WORD_AUTO;
		make_device(&ib, 2, MAX_ASKED, 2);
		device.pages_per_base = turn < 2 ? 1 : 4;
		n_io_refused = 0;
		PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 5, &uars) == SHMEMH_OK);
		PE_CHECK(n_registered == 3 && n_io_refused == 3);
		for (uint32_t i = 0; i < 5; i++) {
			shmemhi_uars_assign(&uars, i, &link);
			PE_CHECK((uintptr_t)link.doorbell ==
				 (uintptr_t)link.host_doorbell + FAKE_IO_SHIFT);
			shmemhi_uars_assign_no_record(&link);
			PE_CHECK(link.host_doorbell == pages + i / 2 * PAGE + 0x600);
			PE_CHECK((uintptr_t)link.doorbell ==
				 (uintptr_t)link.host_doorbell + FAKE_IO_SHIFT);
		}
		shmemhi_uars_close(job, &ib, &uars);
		PE_CHECK(n_registered == 0 && device.n_live == 0 && wrong == 0);
	}
	return 0;
}

/* If configured or if the GPU cannot, the host rings, with one warning unless it was configured. */
static int host_rings(shmemh_t *job, int word, const char *warning)
{
	shmemhi_uars_t uars = {0};
	shmemhi_link_t link = {0};
	char text[2048];
	shmemhi_ib_t ib;
	int saved = say_into_file(), status;

	job->opt.ib_doorbell = word;
	job->log.level = SHMEMHI_WARN;
	make_device(&ib, 4, MAX_ASKED, 1);
	status = shmemhi_uars_open(job, &ib, &ib.home_port, 3, &uars);
	read_log(saved, text, sizeof text);
	job->log.level = SHMEMHI_OFF;
	PE_CHECK(status == SHMEMH_OK && n_registered == 0);
	PE_CHECK(n_lines(text) == (warning ? 1 : 0));
	PE_CHECK(!warning || strstr(text, warning));
	PE_CHECK(!warning || strstr(text, "PeerMappingOverride=1;"));
	shmemhi_uars_assign(&uars, 2, &link);
	PE_CHECK(!link.doorbell && link.host_doorbell == link.uar->reg_addr);
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0);
	return 0;
}

/* A stand-by alone whose registers the GPU cannot write to: no thread rings them, and fail-over
 * ends (check_doorbells in failover_open.c). */
static int standby_cannot(shmemh_t *job, int is_home_mapped)
{
	shmemhi_open_port_t standby = {.name = "mlx5_8"};
	shmemhi_link_t home = {0};
	shmemhi_uars_t uars = {0};
	char text[2048];
	shmemhi_ib_t ib;
	int saved = say_into_file(), status;

	job->opt.ib_doorbell = WORD_AUTO;
	job->log.level = SHMEMHI_INFO;
	make_device(&ib, 4, MAX_ASKED, 1);
	home.doorbell = is_home_mapped ? pages : NULL;
	ib.links = &home;
	status = shmemhi_uars_open(job, &ib, &standby, 3, &uars);
	read_log(saved, text, sizeof text);
	job->log.level = SHMEMHI_OFF;
	PE_CHECK(status == SHMEMH_OK && n_lines(text) == 1);
	PE_CHECK(strstr(text, "the GPU cannot write to the doorbells of mlx5_8 (cuMem"));
	PE_CHECK(strstr(text, is_home_mapped ? "): fail-over needs both ports alike: "
					     : "): a thread of the host rings them, "));
	shmemhi_uars_close(job, &ib, &uars);
	return 0;
}

/* Opening the registers fails, with a line that has the text, and leaves nothing. */
static int is_refused(shmemh_t *job, int word, int async_fd, int status, const char *text)
{
	shmemhi_uars_t uars = {0};
	shmemhi_ib_t ib;

	job->opt.ib_doorbell = word;
	job->err.text[0] = '\0';
	make_device(&ib, 4, MAX_ASKED, 1);
	device.context.async_fd = async_fd;
	PE_CHECK(shmemhi_uars_open(job, &ib, &ib.home_port, 3, &uars) == status);
	PE_CHECK(has_text(job, text));
	shmemhi_uars_close(job, &ib, &uars);
	PE_CHECK(device.n_live == 0 && n_registered == 0);
	return 0;
}

static int gpu_cannot(shmemh_t *job)
{
	PE_CHECK(is_refused(job, WORD_GPU, 0, SHMEMH_ERR_CUDA,
			    "SHMEMH_IB_DOORBELL=gpu: the GPU cannot write to the doorbells of "
			    "mlx5_7 (cuMem") == 0);
	PE_CHECK(has_text(job, "PeerMappingOverride=1;"));
	return 0;
}

/* In the emulator no thread rings. */
static int emulator_refuses(shmemh_t *job)
{
	return is_refused(job, WORD_CPU, -1, SHMEMH_ERR_OPTION, "SHMEMH_IB_DOORBELL=cpu");
}

static int pe_does_not_map(shmemh_t *job)
{
	int failed = host_rings(job, WORD_CPU, NULL) || emulator_refuses(job);

	for (fail_register = 1; fail_register <= 3; fail_register++) /* of three */
		failed |= host_rings(job, WORD_AUTO, "(cuMemHostRegister") || gpu_cannot(job) ||
			  standby_cannot(job, 0) || standby_cannot(job, 1);
	fail_register = 0;
	fail_device_pointer = 1;
	failed |= host_rings(job, WORD_AUTO, "(cuMemHostGetDevicePointer") || gpu_cannot(job);
	fail_device_pointer = 0;
	PE_CHECK(wrong == 0);
	return failed;
}

static void gpus_have_registers_mapped(void **state)
{
	const world_kind_t kind = {.n_pes = 1, .cuda = one_gpu};

	(void)state;
	assert_int_equal(run_world(&kind, pe_maps), 0);
}

static void host_rings_if_gpus_cannot(void **state)
{
	const world_kind_t kind = {.n_pes = 1, .cuda = one_gpu};

	(void)state;
	assert_int_equal(run_world(&kind, pe_does_not_map), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_pages),
		cmocka_unit_test(dedicated_registers_first),
		cmocka_unit_test(links_share_registers),
		cmocka_unit_test(registers_are_left),
		cmocka_unit_test(flushes_have_a_register),
		cmocka_unit_test(one_register_for_all_links),
		cmocka_unit_test(gpus_have_registers_mapped),
		cmocka_unit_test(host_rings_if_gpus_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
