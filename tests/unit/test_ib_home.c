/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The home port and the stand-by of each PE of a job, on the software adapter: PEs of a host share
 * the NICs out, and notice if they do not have the same map. PEs are threads of this process. */
#include "links_job.h"

#include <unistd.h>
#include "core/core.h"
#include "ib/ib.h"
#include "stderr_log.h"

static const char *homes[MAX_PES], *standbys[MAX_PES];
static const char *lists[MAX_PES], *mapping = "";

static void options(shmemh_t *job)
{
	set_options(job);
	job->opt.channels = 1;
	snprintf(job->opt.hca_list, sizeof job->opt.hca_list, "%s",
		 lists[job->pe] ? lists[job->pe] : "");
	snprintf(job->opt.hca_pe_mapping, sizeof job->opt.hca_pe_mapping, "%s", mapping);
}

static int is_name(const char *name, const char *expected)
{
	return expected ? name && strcmp(name, expected) == 0 : !name;
}

/* Every PE has the ports expected, and every PE says so of every other. */
static int pe_has(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && job->ib);
	for (int pe = 0; pe < job->n_pes; pe++) {
		PE_CHECK(is_name(shmemhi_ib_home(job, pe), homes[pe]));
		PE_CHECK(is_name(shmemhi_ib_standby(job, pe), standbys[pe]));
	}
	PE_CHECK(strncmp(job->ib->home_port.name, homes[job->pe],
			 strlen(job->ib->home_port.name)) == 0);
	shmemhi_ib_close(job);
	return 0;
}

static int pe_has_none(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && !job->ib);
	PE_CHECK(!shmemhi_ib_home(job, 0) && !shmemhi_ib_standby(job, 0));
	return 0;
}

/* Reset what the PEs are given and what is expected of them. */
static world_kind_t world(int n_nics, const char *const *home, const char *const *standby)
{
	start_adapters(MLX5SW_ETHERNET, n_nics);
	mapping = "";
	for (int pe = 0; pe < MAX_PES; pe++) {
		homes[pe] = home[pe];
		standbys[pe] = standby[pe];
		lists[pe] = NULL;
	}
	return (world_kind_t){.n_pes = MAX_PES, .disable_p2p = ~0u, .before_node = options};
}

#define NAMES(...) ((const char *const[MAX_PES]){__VA_ARGS__})

static const char *const one_each[] = {"mlx5_0:1", "mlx5_1:1", "mlx5_2:1", "mlx5_3:1"};
static const char *const beside[] = {"mlx5_1:1", "mlx5_0:1", "mlx5_3:1", "mlx5_2:1"};

static void run(const world_kind_t *kind, pe_main_t pe_main)
{
	assert_int_equal(run_world(kind, pe_main), 0);
	stop_adapters();
}

/* SHMEMH_DISABLE_P2P makes each PE a node of its own, yet they share the NICs of their host. */
static void pes_of_a_host_share_nics_out(void **state)
{
	world_kind_t kind = world(4, one_each, beside);

	(void)state;
	run(&kind, pe_has);
	kind = world(2, NAMES("mlx5_0:1", "mlx5_1:1", "mlx5_0:1", "mlx5_1:1"),
		     NAMES("mlx5_1:1", "mlx5_0:1", "mlx5_1:1", "mlx5_0:1"));
	run(&kind, pe_has);
	kind = world(1, NAMES("mlx5_0:1", "mlx5_0:1", "mlx5_0:1", "mlx5_0:1"), NAMES(NULL));
	run(&kind, pe_has);
}

/* Two hosts with equal NICs: each PE of a host counts from the first. */
static void hosts_are_apart(void **state)
{
	world_kind_t kind = world(4, NAMES("mlx5_0:1", "mlx5_0:1", "mlx5_1:1", "mlx5_1:1"),
				  NAMES("mlx5_1:1", "mlx5_1:1", "mlx5_0:1", "mlx5_0:1"));

	(void)state;
	kind.node_ids[0] = kind.node_ids[2] = "a";
	kind.node_ids[1] = kind.node_ids[3] = "b";
	run(&kind, pe_has);
}

/* As in containers of one host, each of which shows other NICs. */
static void pes_that_see_different_nics(void **state)
{
	world_kind_t kind = world(4, NAMES("mlx5_2:1", "mlx5_0:1", "mlx5_1:1", "mlx5_3:1"),
				  NAMES(NULL, "mlx5_1:1", "mlx5_0:1", NULL));

	(void)state;
	lists[0] = "mlx5_2";
	lists[1] = lists[2] = "mlx5_0,mlx5_1";
	lists[3] = "^mlx5_0,mlx5_1,mlx5_2";
	run(&kind, pe_has);
}

static void mapping_by_rank_on_the_host(void **state)
{
	world_kind_t kind = world(4, NAMES("mlx5_3:1", "mlx5_3:1", "mlx5_3:1", "mlx5_1:1"),
				  NAMES("mlx5_2:1", "mlx5_2:1", "mlx5_2:1", "mlx5_0:1"));

	(void)state;
	mapping = "mlx5_3:1:3,mlx5_1";
	run(&kind, pe_has);
}

static void mapping_to_a_port_that_is_down(void **state)
{
	world_kind_t kind = world(4, one_each, beside);

	(void)state;
	mapping = "mlx5_1";
	adapter_control("port down mlx5_1");
	run(&kind, pe_has_none);
}

static void port_down_is_no_stand_by(void **state)
{
	world_kind_t kind = world(4, NAMES("mlx5_0:1", "mlx5_2:1", "mlx5_3:1", "mlx5_0:1"),
				  NAMES("mlx5_2:1", "mlx5_3:1", "mlx5_2:1", "mlx5_3:1"));

	(void)state;
	adapter_control("port down mlx5_1");
	run(&kind, pe_has);
}

/* --- maps that differ ----------------------------------------------------------------------- */

/* PE 2 sends a map of its own. */
static int lie(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
	       size_t errbuf_nbytes)
{
	shmemhi_pe_ports_t pe_nic;

	if (nbytes != sizeof pe_nic || ((pe_boot_t *)state)->pe != 2)
		return boot_allgather(state, src, dst, nbytes, errbuf, errbuf_nbytes);
	memcpy(&pe_nic, src, sizeof pe_nic);
	pe_nic.map_hash++;
	return boot_allgather(state, &pe_nic, dst, nbytes, errbuf, errbuf_nbytes);
}

static void options_of_a_liar(shmemh_t *job)
{
	options(job);
	job->boot.allgather = lie;
}

static int pe_stops(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_ERR_MISMATCH && !job->ib);
	PE_CHECK(has_text(job, "on the same host, has chosen NICs by another map"));
	return 0;
}

static void maps_that_differ(void **state)
{
	world_kind_t kind = world(4, one_each, beside);

	(void)state;
	kind.before_node = options_of_a_liar;
	run(&kind, pe_stops);
}

/* Maps of two hosts differ, as they may. */
static void maps_of_hosts(void **state)
{
	world_kind_t kind = world(4, NAMES("mlx5_0:1", "mlx5_1:1", "mlx5_0:1", "mlx5_2:1"),
				  NAMES("mlx5_1:1", "mlx5_0:1", "mlx5_1:1", "mlx5_3:1"));

	(void)state;
	kind.node_ids[0] = kind.node_ids[1] = kind.node_ids[3] = "a";
	kind.node_ids[2] = "b";
	run(&kind, pe_has);
}

/* --- what the log says ---------------------------------------------------------------------- */

static int pe_reports(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK);
	job->log.level = SHMEMHI_INFO;
	if (job->pe == 1)
		shmemhi_log_setup(job);
	job->log.level = SHMEMHI_OFF;
	shmemhi_ib_close(job);
	return 0;
}

static void expect_report(const world_kind_t *kind, const char *words)
{
	int failed;

	log_begin();
	failed = run_world(kind, pe_reports);
	if (failed || !log_has(words) || log_count("\n") != 1)
		failed = 1;
	log_end();
	stop_adapters();
	assert_int_equal(failed, 0);
}

static void one_line_for_a_pe(void **state)
{
	world_kind_t kind = world(4, one_each, beside);

	(void)state;
	expect_report(&kind,
		      "INFO host heap of 0 MiB, grows to 64 MiB; GPU none; PEs 0 2-3 by NIC; "
		      "NIC mlx5_1:1, stand-by mlx5_0:1");
	kind = world(1, one_each, beside);
	kind.disable_p2p = 0;
	expect_report(&kind,
		      "INFO host heap of 0 MiB, grows to 64 MiB; GPU none; PEs 0 2-3 mapped\n");
	kind = world(1, one_each, beside);
	kind.disable_p2p = 0;
	kind.node_ids[0] = kind.node_ids[1] = kind.node_ids[2] = "a";
	kind.node_ids[3] = "b";
	expect_report(&kind, "; PEs 0 2 mapped; PEs 3 by NIC; NIC mlx5_0:1, stand-by none\n");
	kind = world(1, one_each, beside);
	adapter_control("port down mlx5_0");
	expect_report(&kind, "; PEs 0 2-3 not reached (not mapped, and no NIC is used)\n");
}

static char dev_dir[64];

/* A heap in host memory on a machine with one GPU, or none if number is not digits. */
static int warned(const char *number, int attr_kind, int opt_kind, int pe)
{
	shmemhi_mem_t mem = {.backend = &shmemhi_backend_host};
	shmemh_t job = {.mem = &mem, .pe = pe, .log = {SHMEMHI_WARN, pe, 2}};
	char path[128];
	int is;

	job.attr.heap_kind = attr_kind;
	job.opt.heap_kind = opt_kind;
	snprintf(path, sizeof path, "%s/nvidia%s", dev_dir, number);
	fclose(fopen(path, "w"));
	log_begin();
	is = shmemhi_mem_warn_host(&job, dev_dir);
	if (is != log_count("WARN the heap is in host memory, although this machine has GPUs (1): "
			    "the thread that called shmemh_init had no CUDA context, or the driver "
			    "cannot be used (a warning before this line says why): call "
			    "cudaSetDevice before shmemh_init"))
		is = -1;
	log_end();
	unlink(path);
	return is;
}

static void host_heap_beside_a_gpu(void **state)
{
	(void)state;
	strcpy(dev_dir, "/tmp/shmem_dev_XXXXXX");
	assert_non_null(mkdtemp(dev_dir));
	assert_int_equal(warned("0", SHMEMH_HEAP_AUTO, SHMEMH_HEAP_AUTO, 0), 1);
	assert_int_equal(warned("0", SHMEMH_HEAP_AUTO, SHMEMH_HEAP_AUTO, 1), 0);
	assert_int_equal(warned("0", SHMEMH_HEAP_HOST, SHMEMH_HEAP_AUTO, 0), 0);
	assert_int_equal(warned("0", SHMEMH_HEAP_AUTO, SHMEMH_HEAP_HOST, 0), 0);
	assert_int_equal(warned("ctl", SHMEMH_HEAP_AUTO, SHMEMH_HEAP_AUTO, 0), 0);
	assert_int_equal(warned("-caps", SHMEMH_HEAP_AUTO, SHMEMH_HEAP_AUTO, 0), 0);
	assert_int_equal(rmdir(dev_dir), 0);
	assert_int_equal(shmemhi_cuda_count_devices(dev_dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pes_of_a_host_share_nics_out),
		cmocka_unit_test(hosts_are_apart),
		cmocka_unit_test(pes_that_see_different_nics),
		cmocka_unit_test(mapping_by_rank_on_the_host),
		cmocka_unit_test(mapping_to_a_port_that_is_down),
		cmocka_unit_test(port_down_is_no_stand_by),
		cmocka_unit_test(maps_that_differ),
		cmocka_unit_test(maps_of_hosts),
		cmocka_unit_test(one_line_for_a_pe),
		cmocka_unit_test(host_heap_beside_a_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
