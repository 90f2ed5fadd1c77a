/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Connected links carry requests, on both kinds of networks; QUERY_QP returns their attributes; a
 * failure leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fake_cuda.h"
#include "ib/connect.h"
#include "ib/prm.h"
#include "ib/queue.h"
#include "links_traffic.h"

#define QPC 0xc0u
#define ADS 0x180u
#define QUERY_NBYTES 0x110

static void all_links_carry_requests(void **state)
{
	(void)state;
	for (int n = 1; n <= MAX_PES; n++) {
		with_adapters(MLX5SW_ETHERNET, n, pe_carries);
		with_adapters(MLX5SW_INFINIBAND, n, pe_carries);
	}
}

static void links_without_records_carry_requests(void **state)
{
	(void)state;
	for (int n = 1; n <= MAX_PES; n++)
		with_no_records(n, pe_carries);
}

static const shmemhi_cuda_t *one_gpu(int pe)
{
	my_device = pe;
	return &driver;
}

static void queues_on_gpu(shmemh_t *job)
{
	job->opt.ib_queue = 1;    /* gpu */
	job->opt.ib_doorbell = 2; /* cpu: the records are in host memory */
}

static void links_of_gpus_carry_requests(void **state)
{
	const world_kind_t kind = {.n_pes = 2, .cuda = one_gpu, .before_node = queues_on_gpu};

	(void)state;
	start_adapters(MLX5SW_ETHERNET, 2);
	assert_int_equal(run_world(&kind, pe_carries), 0);
	stop_adapters();
	assert_int_equal(wrong, 0);
}

/* InfiniBand ports that drop packets without a GRH. */
static void with_grh_required(int n, pe_main_t pe_main)
{
	const world_kind_t kind = {.n_pes = n};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.link_layer = MLX5SW_INFINIBAND;
	cfg.requires_grh = 1;
	start_adapters_of(cfg, n);
	assert_int_equal(run_world(&kind, pe_main), 0);
	stop_adapters();
}

static void ports_that_require_a_grh_get_one(void **state)
{
	(void)state;
	for (int n = 1; n <= MAX_PES; n++)
		with_grh_required(n, pe_carries);
}

/* No thread updates the consumer index, and the queue wraps several times. */
static int pe_goes_round(shmemh_t *job)
{
	uint64_t word = 0;
	target_t self = {.addr = (uintptr_t)&word};
	const shmemhi_link_t *link;
	struct ibv_mr *mr;

	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_OK);
	mr = job->ib->lib.reg_mr(job->ib->home_port.pd, &word, sizeof word, ALL_RIGHTS);
	PE_CHECK(mr);
	self.rkey = mr->rkey;
	link = shmemhi_link(job->ib, job, 0, job->pe);
	for (unsigned i = 0; i < 5 * DEPTH; i++) {
		write_word(link, i, &self, 0, i);
		ring(link, link->doorbell, i + 1);
		if (await_success(job, link, i))
			return 1;
		PE_CHECK(word == i);
	}
	PE_CHECK(job->ib->lib.dereg_mr(mr) == 0);
	return unplug(job);
}

static void rings_go_round(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_goes_round);
}

static int query(shmemh_t *job, const shmemhi_link_t *link, uint8_t out[QUERY_NBYTES])
{
	uint8_t in[16] = {0};

	put_bits(in, 0, 16, 0x50b);
	put_bits(in, 0x48, 24, link->qpn);
	PE_CHECK(job->ib->lib.obj_query(link->qp, in, sizeof in, out, QUERY_NBYTES) == 0);
	return 0;
}

/* PE 1 differs: its mtu and its limit of READs are lower. */
static int has_attributes(shmemh_t *job, const uint8_t *out, int pe)
{
	int is_odd = job->pe == 1 || pe == 1;

	PE_CHECK(get_bits(out, QPC + 0x00, 4) == 3); /* RTS */
	PE_CHECK(get_bits(out, QPC + 0x40, 3) == (is_odd ? 2u : job->ib->home_port.mtu));
	PE_CHECK(get_bits(out, QPC + 0x43, 5) == 30);
	PE_CHECK(get_bits(out, QPC + 0x51, 4) == 6);
	PE_CHECK(get_bits(out, QPC + 0x88, 24) == (unsigned)(job->n_pes + pe));
	PE_CHECK(get_bits(out, QPC + 0x388, 3) == (is_odd ? 1 : 4));
	PE_CHECK(get_bits(out, QPC + 0x488, 3) == (job->pe == 1 ? 1 : 4));
	PE_CHECK(get_bits(out, QPC + 0x38d, 3) == 6 && get_bits(out, QPC + 0x390, 3) == 7);
	PE_CHECK(get_bits(out, QPC + 0x48c, 4) == 3 && get_bits(out, QPC + 0x490, 3) == 7);
	PE_CHECK(get_bits(out, QPC + 0x4a3, 5) == 12);
	PE_CHECK(get_bits(out, QPC + 0x565, 3) == 3);
	PE_CHECK(get_bits(out, ADS + 0x40, 5) == 18);
	return 0;
}

static int has_path(shmemh_t *job, const uint8_t *out, const shmemhi_link_t *link)
{
	if (!job->ib->home_port.is_ethernet) {
		PE_CHECK(get_bits(out, ADS + 0x124, 4) == 5);
		PE_CHECK(get_bits(out, ADS + 0x28, 1) == job->ib->home_port.requires_grh);
		PE_CHECK(get_bits(out, ADS + 0x58, 8) ==
			 (job->ib->home_port.requires_grh ? 64 : 0));
		return 0;
	}
	PE_CHECK(get_bits(out, ADS + 0x48, 8) == job->ib->home_port.gid_index);
	PE_CHECK(get_bits(out, ADS + 0x58, 8) == 64);
	PE_CHECK(get_bits(out, ADS + 0x64, 8) == 0x6b);
	PE_CHECK(get_bits(out, ADS + 0x10a, 6) == 0x6b >> 2);
	PE_CHECK(get_bits(out, ADS + 0x110, 16) == link->udp_port);
	PE_CHECK(get_bits(out, ADS + 0x121, 3) == 5);
	return 0;
}

/* The send PSN of one end is the receive PSN of the other. Collective. */
static int has_peer(shmemh_t *job, const uint8_t *out, int pe)
{
	shmemhi_qp_info_t all[MAX_PES];

	for (int other = 0; other < job->n_pes; other++) {
		const shmemhi_link_t *to = shmemhi_link(job->ib, job, 1, other);
		shmemhi_qp_info_t mine = {to->qpn, to->psn};

		PE_CHECK(shmemhi_allgather(job, &mine, all, sizeof mine) == SHMEMH_OK);
		if (other == job->pe)
			PE_CHECK(get_bits(out, QPC + 0xa8, 24) == all[pe].qpn &&
				 get_bits(out, QPC + 0x4a8, 24) == all[pe].psn);
	}
	return 0;
}

static int pe_attributes(shmemh_t *job)
{
	uint8_t out[QUERY_NBYTES];

	if (plug_in(job))
		return 1;
	job->opt.ib_sl = 5;
	job->opt.ib_traffic_class = 0x6b;
	job->opt.ib_ack_timeout = 18;
	job->opt.ib_retries = 6;
	if (job->pe == 1)
		job->ib->home_port.mtu = 2;
	if (job->pe == 1)
		job->ib->home_port.log_max_reads = 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++) {
		const shmemhi_link_t *link = shmemhi_link(job->ib, job, 1, pe);

		PE_CHECK(link->was_connected);
		if (query(job, link, out) || has_attributes(job, out, pe) ||
		    has_path(job, out, link) || has_peer(job, out, pe))
			return 1;
		PE_CHECK(get_bits(out, QPC + 0x3c8, 24) == link->psn);
	}
	return unplug(job);
}

static void queue_pairs_have_their_attributes(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 3, pe_attributes);
	with_adapters(MLX5SW_INFINIBAND, 3, pe_attributes);
	with_grh_required(3, pe_attributes);
}

/* No two links have the same number and first PSN; the UDP ports are spread. */
static int pe_spreads(shmemh_t *job)
{
	const shmemhi_ib_t *ib;
	uint32_t psns = 0;
	int n_ports = 0;

	if (plug_in(job))
		return 1;
	ib = job->ib;
	job->opt.channels = 64;
	job->ib->home_port.sport_min = 50000;
	job->ib->home_port.sport_max = 50099;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_OK);
	for (int i = 0; i < 64; i++) {
		int is_new = 1;

		PE_CHECK(ib->links[i].udp_port >= 50000 && ib->links[i].udp_port <= 50099);
		PE_CHECK(ib->links[i].psn <= 0xffffff);
		psns |= ib->links[i].psn;
		for (int j = 0; j < i; j++)
			is_new &= ib->links[i].udp_port != ib->links[j].udp_port;
		n_ports += is_new;
	}
	PE_CHECK(n_ports > 20); /* 47 for an even choice */
	PE_CHECK(psns == 0xffffff);
	return unplug(job);
}

static void ports_and_psns_spread(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_spreads);
}

static void only_udp_port_is_used(void **state)
{
	const shmemhi_open_port_t port = {.sport_min = 0xc000, .sport_max = 0xc000};
	const shmemhi_open_port_t all = {.sport_min = 0, .sport_max = 0xffff};
	const shmemhi_qp_info_t a = {0x123, 7}, b = {0x124, 7};

	(void)state;
	assert_int_equal(shmemhi_udp_port(&port, &a, &b), 0xc000);
	assert_int_equal(shmemhi_udp_port(&all, &a, &b), shmemhi_udp_port(&all, &a, &b));
	assert_int_not_equal(shmemhi_udp_port(&all, &a, &b), shmemhi_udp_port(&all, &b, &b));
}

/* Fields of the path to a port of the same InfiniBand subnet, with and without a GRH. */
static void an_infiniband_path_has_its_fields(void **state)
{
	(void)state;
	for (unsigned has_grh = 0; has_grh < 2; has_grh++) {
		shmemh_t job = {.opt = {.ib_sl = 9, .ib_traffic_class = 3}};
		shmemhi_ib_t ib = {.home_port = {.number = 1, .requires_grh = has_grh & 1}};
		shmemhi_port_info_t peer = {.lid = 0x77};
		shmemhi_address_t address;
		uint32_t in[SHMEMHI_PRM_LONG] = {0};
		const uint8_t *bytes = (const uint8_t *)in;

		peer.gid.raw[0] = ib.home_port.gid.raw[0] = 0xfe;
		peer.gid.raw[7] = ib.home_port.gid.raw[7] = 1;
		peer.gid.raw[15] = 4;
		assert_int_equal(shmemhi_address_find(&ib.lib, &job.opt, &ib.home_port, 1, &peer,
						      &address, &job.err),
				 SHMEMH_OK);
		shmemhi_address_put(&job.opt, &ib.home_port, &address, 0, in);
		assert_int_equal(get_bits(bytes, ADS + 0x28, 1), has_grh);
		assert_int_equal(get_bits(bytes, ADS + 0x30, 16), 0x77);
		assert_int_equal(get_bits(bytes, ADS + 0x58, 8), has_grh ? 64 : 0);
		assert_int_equal(get_bits(bytes, ADS + 0x64, 8), has_grh ? 3 : 0);
		assert_int_equal(get_bits(bytes, ADS + 0x80 + 56, 8), has_grh ? 1 : 0);
		assert_int_equal(get_bits(bytes, ADS + 0x80 + 120, 8), has_grh ? 4 : 0);
		assert_int_equal(get_bits(bytes, ADS + 0x124, 4), 9);
		assert_int_equal(get_bits(bytes, ADS + 0x128, 8), 1);
	}
}

/* Packets to another InfiniBand subnet would need the LID of a router. */
static void another_subnet_is_refused(void **state)
{
	shmemh_t job = {.n_pes = 2};
	shmemhi_ib_t ib = {.home_port = {.number = 1, .name = "mlx5_0"}};
	shmemhi_port_info_t peer = {.lid = 0x77};
	shmemhi_address_t address;

	(void)state;
	peer.gid.raw[0] = ib.home_port.gid.raw[0] = 0xfe;
	peer.gid.raw[7] = 1;
	assert_int_equal(shmemhi_address_find(&ib.lib, &job.opt, &ib.home_port, 1, &peer, &address,
					      &job.err),
			 SHMEMH_ERR_NIC);
	assert_non_null(strstr(job.err.text, "mlx5_0: the NIC of PE 1 is in another InfiniBand "
					     "subnet (fe00000000000001, this one is in "
					     "fe00000000000000)"));
}

/* Every PE gets a line that says so. */
static int pe_other_subnet(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	job->ib->home_port.gid.raw[7] = job->pe == 1;
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, "is in another InfiniBand subnet"));
	return unplug(job);
}

static void a_job_of_two_subnets_is_refused(void **state)
{
	(void)state;
	with_adapters(MLX5SW_INFINIBAND, 2, pe_other_subnet);
}

/* Within a subnet packets have a GRH if either port requires it: packets leave one port and enter
 * the other. */
static void either_port_may_require_a_grh(void **state)
{
	(void)state;
	for (unsigned ends = 0; ends < 4; ends++) {
		shmemh_t job = {.n_pes = 2};
		shmemhi_ib_t ib = {.home_port = {.number = 1, .requires_grh = ends & 1}};
		shmemhi_port_info_t peer = {.lid = 0x77, .requires_grh = ends >> 1};
		shmemhi_address_t address;
		uint32_t in[SHMEMHI_PRM_LONG] = {0};
		const uint8_t *bytes = (const uint8_t *)in;

		peer.gid.raw[15] = 4;
		assert_int_equal(shmemhi_address_find(&ib.lib, &job.opt, &ib.home_port, 1, &peer,
						      &address, &job.err),
				 SHMEMH_OK);
		shmemhi_address_put(&job.opt, &ib.home_port, &address, 0, in);
		assert_int_equal(get_bits(bytes, ADS + 0x28, 1), ends != 0);
		assert_int_equal(get_bits(bytes, ADS + 0x30, 16), 0x77);
		assert_int_equal(get_bits(bytes, ADS + 0x48, 8), 0); /* the exchanged GID */
		assert_int_equal(get_bits(bytes, ADS + 0x58, 8), ends ? 64 : 0);
		assert_int_equal(get_bits(bytes, ADS + 0x80 + 120, 8), ends ? 4 : 0);
	}
}

/* So many PEs that one collective cannot carry all names. */
enum { MANY_PES = 700, MANY_CHANNELS = 2, ME = 650 };

static uint32_t name_of(size_t pe, size_t peer, size_t k)
{
	return (uint32_t)((pe * MANY_PES + peer) * MANY_CHANNELS + k);
}

static size_t n_calls, n_done; /* number of collectives; PEs whose names they carried */

static int pretend_allgather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
			     size_t errbuf_nbytes)
{
	size_t n = nbytes / (MANY_CHANNELS * sizeof(shmemhi_qp_info_t));
	shmemhi_qp_info_t *all = dst;

	(void)state;
	(void)errbuf;
	(void)errbuf_nbytes;
	if (n_calls++ == 0) { /* names of ports */
		for (size_t pe = 0; pe < MANY_PES; pe++)
			memcpy((char *)dst + pe * nbytes, src, nbytes);
		return SHMEMH_OK;
	}
	if (nbytes * MANY_PES > 1u << 20)
		return SHMEMH_ERR_ARGUMENT;
	for (size_t pe = 0; pe < MANY_PES; pe++)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < MANY_CHANNELS; k++)
				*all++ = (shmemhi_qp_info_t){name_of(pe, n_done + i, k), 1};
	if (memcmp((char *)dst + ME * nbytes, src, nbytes) != 0)
		return SHMEMH_ERR_MISMATCH;
	n_done += n;
	return SHMEMH_OK;
}

static void names_in_several_collectives(void **state)
{
	static shmemhi_link_t links[MANY_CHANNELS * MANY_PES];
	shmemh_t job = {.pe = ME, .n_pes = MANY_PES, .boot.allgather = pretend_allgather};
	shmemhi_ib_t ib = {.n_channels = MANY_CHANNELS, .links = links};
	shmemhi_peer_infos_t names = {0};

	(void)state;
	n_calls = n_done = 0;
	for (size_t k = 0; k < MANY_CHANNELS; k++)
		for (size_t pe = 0; pe < MANY_PES; pe++) {
			links[k * MANY_PES + pe].qpn = name_of(ME, pe, k);
			links[k * MANY_PES + pe].psn = 1;
		}
	assert_int_equal(shmemhi_peer_infos_alloc(&job, &ib, &names), SHMEMH_OK);
	assert_int_equal(shmemhi_peer_infos_exchange(&job, &ib, &names), SHMEMH_OK);
	assert_int_equal(n_done, MANY_PES);
	assert_in_range(n_calls, 3, 20);
	for (size_t k = 0; k < MANY_CHANNELS; k++)
		for (size_t pe = 0; pe < MANY_PES; pe++)
			assert_int_equal(names.links[k * MANY_PES + pe].qpn, name_of(pe, ME, k));
	shmemhi_peer_infos_free(&names);
}

static int pe_mismatch(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	job->opt.channels = job->pe == 2 ? 1 : 2;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_ERR_MISMATCH);
	PE_CHECK(has_text(job, "SHMEMH_CHANNELS is 2 on PE 0, 1 on PE 2"));
	if (unplug(job) || plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	job->ib->home_port.is_ethernet = job->pe != 1;
	job->err.text[0] = '\0';
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_ERR_MISMATCH);
	PE_CHECK(has_text(job, "the NIC of PE 0 is on Ethernet, that of PE 1 is not"));
	return unplug(job);
}

static void mismatch_is_reported_by_all(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 3, pe_mismatch);
}

static const char *fault; /* on the adapter of PE 1 */

/* All PEs get the same line, and another attempt succeeds. */
static int pe_command_fails(shmemh_t *job)
{
	char line[80];

	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	snprintf(line, sizeof line, "fail command mlx5_1 opcode=%s after=2 n=1 status=5 syndrome=9",
		 fault);
	if (job->pe == 1 && control(job, line))
		return 1;
	PE_CHECK(barrier(job) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, strcmp(fault, "0x503") == 0 ? "mlx5_1: INIT2RTR_QP failed"
							   : "mlx5_1: RTR2RTS_QP failed"));
	PE_CHECK(has_text(job, "(channel 2 to PE 0, QPN 0x"));
	PE_CHECK(has_text(job, "status 0x5, syndrome 0x9: bad resource"));
	if (unplug(job))
		return 1;
	job->err.text[0] = '\0';
	return pe_carries(job);
}

static void failed_commands_leave_nothing(void **state)
{
	static const char *const opcodes[] = {"0x503", "0x504"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		fault = opcodes[i];
		with_adapters(MLX5SW_ETHERNET, 3, pe_command_fails);
		with_adapters(MLX5SW_INFINIBAND, 2, pe_command_fails);
	}
}

/* PE 0 publishes an address that no port has. */
static int pe_has_no_way(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	if (job->pe == 0)
		job->ib->home_port.gid.raw[15] ^= 0x80;
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, "no route to the NIC of PE 0 (::ffff:"));
	return unplug(job);
}

static void unknown_peer_address(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 2, pe_has_no_way);
}

/* The fault of PE 0's adapter before the links are closed. */
static const char *closing_fault; /* NULL: the first QP fails by itself */

static int pe_is_closed(shmemh_t *job)
{
	uint8_t out[QUERY_NBYTES];
	char line[80];

	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_OK);
	PE_CHECK(barrier(job) == SHMEMH_OK);
	snprintf(line, sizeof line, "qp err %s qp=%u", job->ib->home_port.name,
		 job->ib->links[0].qpn);
	if (job->pe == 0 && control(job, closing_fault ? closing_fault : line))
		return 1;
	if (job->pe == 0 && !closing_fault) {
		PE_CHECK(query(job, &job->ib->links[0], out) == 0);
		PE_CHECK(get_bits(out, QPC, 4) == 6);
	}
	return unplug(job);
}

static void failed_links_are_closed(void **state)
{
	static const char *const closing_faults[] = {
		NULL, "fail command mlx5_0 opcode=0x507 status=6", "device fatal mlx5_0"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		closing_fault = closing_faults[i];
		with_adapters(MLX5SW_ETHERNET, 2, pe_is_closed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_links_carry_requests),
		cmocka_unit_test(links_without_records_carry_requests),
		cmocka_unit_test(links_of_gpus_carry_requests),
		cmocka_unit_test(ports_that_require_a_grh_get_one),
		cmocka_unit_test(rings_go_round),
		cmocka_unit_test(queue_pairs_have_their_attributes),
		cmocka_unit_test(ports_and_psns_spread),
		cmocka_unit_test(only_udp_port_is_used),
		cmocka_unit_test(an_infiniband_path_has_its_fields),
		cmocka_unit_test(another_subnet_is_refused),
		cmocka_unit_test(a_job_of_two_subnets_is_refused),
		cmocka_unit_test(either_port_may_require_a_grh),
		cmocka_unit_test(names_in_several_collectives),
		cmocka_unit_test(mismatch_is_reported_by_all),
		cmocka_unit_test(failed_commands_leave_nothing),
		cmocka_unit_test(unknown_peer_address),
		cmocka_unit_test(failed_links_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
