/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Capabilities of a NIC: those that are required and missing, and the values derived from the
 * others. */
#include <errno.h>
#include "ib/caps.h"
#include "ib/prm.h"
#include "nic_job.h"

/* Each required capability, and the message if it is missing. */
static void capabilities(void **state)
{
	static const struct {
		size_t set;
		unsigned bit, width, value;
		const char *what;
	} rows[] = {
#define ROW(set, bit, width, value, what)                                                          \
	{offsetof(shmemhi_caps_t, set), 0x80 + (bit), width, value, what}
		ROW(general, 0x23f, 1, 0, "rc ("),
		ROW(general, 0x220, 1, 0, "cq_oi ("),
		ROW(general, 0x1fc, 4, 0, "cqe_version is 0x0, needed: 0x1"),
		ROW(general, 0x1fc, 4, 2, "cqe_version is 0x2"),
		ROW(general, 0x290, 16, 64, "max_wqe_sz_sq (bytes of a WQE) is 0x40, needed: at "),
		ROW(general, 0x1c3, 5, 29, "log_max_msg is 0x1d, needed: at least 0x1e"),
		ROW(general, 0x21e, 1, 0, "atomic ("),
		ROW(general, 0x21d, 1, 0, "roce is"),
		ROW(general, 0x88, 8, 9, "log_max_qp_sz is 9: SHMEMH_IB_DEPTH=1024 is more than"),
		ROW(general, 0xc8, 8, 9, "log_max_cq_sz is 9"),
		ROW(atomic, 0x40, 2, 0, "atomic_req_8B_endianness_mode"),
		ROW(atomic, 0x90, 16, 3, "both masked) is 0x3, needed: all bits of 0xf"),
		ROW(atomic, 0xb0, 16, 8, "atomic_size_qp (4 and 8 bytes) is 0x8"),
		ROW(roce, 0x98, 8, 1, "roce_version"),
#undef ROW
	};
	static shmemhi_caps_t caps, worse;

	(void)state;
	prepare(MLX5SW_ETHERNET, 1);
	assert_int_equal(open_nic(), SHMEMH_OK);
	assert_int_equal(shmemhi_caps_query(&ib.lib, &ib.home_port, &caps, &job->err), SHMEMH_OK);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		shmemhi_err_t err = {""};

		worse = caps;
		shmemhi_prm_put((uint32_t *)(void *)((char *)&worse + rows[i].set), rows[i].bit,
				rows[i].width, rows[i].value);
		assert_int_equal(shmemhi_caps_check(&worse, &job->opt, &ib.home_port, &err),
				 SHMEMH_ERR_NIC);
		if (!strstr(err.text, rows[i].what))
			fail_msg("expected '%s', got '%s'", rows[i].what, err.text);
	}
	shmemhi_ib_close_ports(&ib);
}

static void limits(void **state)
{
	static shmemhi_caps_t caps;

	(void)state;
	prepare(MLX5SW_ETHERNET, 1);
	assert_int_equal(open_nic(), SHMEMH_OK);
	assert_int_equal(shmemhi_caps_query(&ib.lib, &ib.home_port, &caps, &job->err), SHMEMH_OK);
	shmemhi_prm_put(caps.general, 0x80 + 0x14a, 6, 3);
	shmemhi_prm_put(caps.roce, 0x80 + 0xd0, 16, 0); /* not reported */
	shmemhi_prm_put(caps.roce, 0x80 + 0xc0, 16, 0);
	assert_int_equal(shmemhi_caps_check(&caps, &job->opt, &ib.home_port, &job->err), SHMEMH_OK);
	assert_int_equal(ib.home_port.log_max_reads, 3);
	assert_int_equal(ib.home_port.sport_min, 0xc000);
	assert_int_equal(ib.home_port.sport_max, 0xffff);
	shmemhi_prm_put(caps.general, 0x80 + 0x14a, 6, 20);
	shmemhi_prm_put(caps.general, 0x80 + 0x15a, 6, 20);
	shmemhi_prm_put(caps.roce, 0x80 + 0xd0, 16, 0xd000);
	shmemhi_prm_put(caps.roce, 0x80 + 0xc0, 16, 0xd0ff);
	assert_int_equal(shmemhi_caps_check(&caps, &job->opt, &ib.home_port, &job->err), SHMEMH_OK);
	assert_int_equal(ib.home_port.log_max_reads, 7);
	assert_int_equal(ib.home_port.sport_min, 0xd000);
	assert_int_equal(ib.home_port.sport_max, 0xd0ff);
	shmemhi_prm_put(caps.general, 0x80 + 0x15a, 6, 2);
	shmemhi_prm_put(caps.roce, 0x80 + 0xc0, 16, 0xcfff); /* less than the first port */
	assert_int_equal(shmemhi_caps_check(&caps, &job->opt, &ib.home_port, &job->err), SHMEMH_OK);
	assert_int_equal(ib.home_port.log_max_reads, 2);
	assert_int_equal(ib.home_port.sport_min, 0xc000);
	assert_int_equal(ib.home_port.sport_max, 0xffff);
	shmemhi_ib_close_ports(&ib);
}

/* The default format if the device has more than free-running stamps; RoCE has its own capability.
 */
static void time_stamps(void **state)
{
	static shmemhi_caps_t caps;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		unsigned general = i % 3, roce = 2 - i % 3;

		prepare(i < 3 ? MLX5SW_ETHERNET : MLX5SW_INFINIBAND, 1);
		assert_int_equal(open_nic(), SHMEMH_OK);
		assert_int_equal(shmemhi_caps_query(&ib.lib, &ib.home_port, &caps, &job->err),
				 SHMEMH_OK);
		shmemhi_prm_put(caps.general, 0x80 + 0x440, 2, general);
		shmemhi_prm_put(caps.roce, 0x80 + 0x1e, 2, roce);
		assert_int_equal(shmemhi_caps_check(&caps, &job->opt, &ib.home_port, &job->err),
				 SHMEMH_OK);
		assert_int_equal(ib.home_port.ts_format, (i < 3 ? roce : general) != 0);
		shmemhi_ib_close_ports(&ib);
	}
}

/* Whether queue pairs need doorbell records. */
static void no_records(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	static shmemhi_caps_t caps;

	(void)state;
	for (int offers = 0; offers <= 1; offers++) {
		cfg.has_no_dbr = (uint8_t)offers;
		prepare_with(&cfg);
		assert_int_equal(open_nic(), SHMEMH_OK);
		assert_int_equal(ib.home_port.offers_no_record, offers);
		assert_int_equal(shmemhi_caps_query(&ib.lib, &ib.home_port, &caps, &job->err),
				 SHMEMH_OK);
		shmemhi_prm_put(caps.general_2, 0x80 + 0x2e1, 1, !offers);
		assert_int_equal(shmemhi_caps_check(&caps, &job->opt, &ib.home_port, &job->err),
				 SHMEMH_OK);
		assert_int_equal(ib.home_port.offers_no_record, !offers);
		shmemhi_ib_close_ports(&ib);
	}
}

static uint64_t sets_asked; /* bit n: set n */
static int refuse;
static unsigned has_general_2;

static int note_command(struct ibv_context *context, const void *in, size_t in_nbytes, void *out,
			size_t out_nbytes)
{
	unsigned op_mod = (unsigned)shmemhi_prm_get(in, 0x30, 16);

	(void)context;
	assert_int_equal(in_nbytes, 16);
	assert_int_equal(out_nbytes, 0x1010);
	assert_int_equal(shmemhi_prm_get(in, 0, 16), 0x100);
	assert_int_equal(op_mod & 1, 1); /* current capabilities */
	sets_asked |= (uint64_t)1 << (op_mod >> 1);
	if (op_mod >> 1 == 0)
		shmemhi_prm_put(out, 0x80 + 0x20, 1, has_general_2);
	return refuse;
}

static void capability_queries(void **state)
{
	static shmemhi_caps_t caps;
	const shmemhi_ib_lib_t lib = {.general_cmd = note_command};
	shmemhi_open_port_t port = {.is_ethernet = 0};
	shmemhi_err_t err = {""};

	(void)state;
	refuse = 0;
	sets_asked = has_general_2 = 0;
	assert_int_equal(shmemhi_caps_query(&lib, &port, &caps, &err), SHMEMH_OK);
	assert_int_equal(sets_asked, 1 << 0 | 1 << 3);
	port.is_ethernet = 1;
	assert_int_equal(shmemhi_caps_query(&lib, &port, &caps, &err), SHMEMH_OK);
	assert_int_equal(sets_asked, 1 << 0 | 1 << 3 | 1 << 4);
	/* Devices do not have the second general set unless they report it. */
	caps.general_2[0] = 1;
	assert_int_equal(shmemhi_caps_query(&lib, &port, &caps, &err), SHMEMH_OK);
	assert_int_equal(caps.general_2[0], 0);
	has_general_2 = 1;
	assert_int_equal(shmemhi_caps_query(&lib, &port, &caps, &err), SHMEMH_OK);
	assert_int_equal(sets_asked, 1 << 0 | 1 << 3 | 1 << 4 | (uint64_t)1 << 0x20);
	/* The library itself refused: there is no reply. */
	memset(&caps, 0xff, sizeof caps);
	refuse = EPERM;
	assert_int_equal(shmemhi_caps_query(&lib, &port, &caps, &err), SHMEMH_ERR_NIC);
	assert_string_equal(err.text, "QUERY_HCA_CAP of set 0 failed: Operation not permitted, "
				      "status 0x0, syndrome 0x0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities),       cmocka_unit_test(limits),
		cmocka_unit_test(time_stamps),        cmocka_unit_test(no_records),
		cmocka_unit_test(capability_queries),
	};

	return cmocka_run_group_tests(tests, make_job, free_job);
}
