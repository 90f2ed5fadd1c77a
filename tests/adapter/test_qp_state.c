/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* S1: transitions of queue pairs. A refused transition changes nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fixture_devx.h"
#include "mlx5sw/control/control.h"
#include "mlx5sw/engine/engine.h"

enum { OK, BAD_PARAM = 3, BAD_STATE = 0x10, BAD_IN = 0x50 };
enum { OPT_RRE = 2, OPT_RAE = 4, OPT_RWE = 8, OPT_PKEY = 16, OPT_RNR = 64, OPT_ADDR = 128 };

typedef struct fixture {
	devx_t d;
	struct mlx5dv_devx_obj *qp;
	uint32_t qpn;
} fixture_t;

static void open_qp(fixture_t *f, const mlx5sw_config_t *cfg)
{
	uint8_t in[MAILBOX_NBYTES];

	devx_open(&f->d, cfg);
	devx_cq_mailbox(&f->d, in);
	f->d.cq = devx_create(&f->d, in, sizeof(in), &f->d.cqn);
	devx_qp_mailbox(&f->d, in);
	f->qp = devx_create(&f->d, in, sizeof(in), &f->qpn);
}

static int setup(void **state)
{
	static fixture_t f;

	open_qp(&f, NULL);
	*state = &f;
	return 0;
}

static int setup_infiniband(void **state)
{
	static fixture_t f;
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.link_layer = MLX5SW_INFINIBAND;
	open_qp(&f, &cfg);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture_t *f = *state;

	assert_int_equal(mlx5dv_devx_obj_destroy(f->qp), 0);
	devx_close(&f->d);
	return 0;
}

static void bring(fixture_t *f, int to)
{
	uint8_t in[EXTENDED_NBYTES];

	devx_state_mailbox(&f->d, in, 0x50a, f->qpn, 0);
	assert_int_equal(devx_modify(f->qp, in, 16), OK);
	devx_bring(&f->d, f->qp, f->qpn, f->qpn, to);
}

static unsigned state_of(fixture_t *f)
{
	uint8_t out[MAILBOX_NBYTES];

	devx_query_qp(f->qp, f->qpn, out);
	return (unsigned)get_bits(out, QPC, 4);
}

/* Check the status of the command; if it is refused, QUERY_QP returns the same as before. */
static void expect(fixture_t *f, const uint8_t *in, size_t nbytes, unsigned status)
{
	uint8_t before[MAILBOX_NBYTES], after[MAILBOX_NBYTES];

	devx_query_qp(f->qp, f->qpn, before);
	assert_int_equal(devx_modify(f->qp, in, nbytes), status);
	devx_query_qp(f->qp, f->qpn, after);
	if (status)
		assert_memory_equal(before, after, sizeof(after));
}

/* Each command in each state: accepted in one, refused in all others. */
static void commands_in_wrong_states(void **state)
{
	static const struct {
		unsigned opcode;
		int from, to; /* -1: from all but RESET; -2: from all */
	} commands[] = {
		{0x502, 0, INIT}, {0x503, INIT, RTR},  {0x504, RTR, RTS}, {0x505, RTS, RTS},
		{0x506, 4, RTS},  {0x50e, INIT, INIT}, {0x507, -1, ERR},  {0x50a, -2, 0},
	};
	static const int states[] = {0, INIT, RTR, RTS, ERR};
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++) {
			int from = commands[i].from, is_right = from == states[k] || from == -2;

			is_right |= from == -1 && states[k] != 0;
			bring(f, states[k]);
			devx_state_mailbox(&f->d, in, commands[i].opcode, f->qpn, f->qpn);
			expect(f, in, MAILBOX_NBYTES, is_right ? OK : BAD_STATE);
			assert_int_equal(state_of(f), is_right ? commands[i].to : states[k]);
		}
}

typedef struct spoil {
	unsigned bit, width;
	uint64_t value;
	unsigned status;
} spoil_t;

/* Each field of a transition from a state: refused without a change, or accepted and returned by a
 * query. */
static void spoil(fixture_t *f, int from, unsigned opcode, const spoil_t *s, size_t n)
{
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	for (size_t i = 0; i < n; i++) {
		bring(f, from);
		devx_state_mailbox(&f->d, in, opcode, f->qpn, f->qpn);
		put_bits(in, s[i].bit, s[i].width, s[i].value);
		expect(f, in, MAILBOX_NBYTES, s[i].status);
		devx_query_qp(f->qp, f->qpn, out);
		if (!s[i].status && s[i].bit >= QPC)
			assert_int_equal(get_bits(out, s[i].bit, s[i].width), s[i].value);
	}
}

#define SPOIL(from, opcode, fields)                                                                \
	spoil(*state, from, opcode, fields, sizeof(fields) / sizeof((fields)[0]))

static void fields_of_rst2init(void **state)
{
	static const spoil_t fields[] = {
		{QPC + 0x48c, 4, 0, OK},        {QPC + 0x48c, 4, 3, OK},
		{QPC + 0x48c, 4, 4, BAD_PARAM}, {QPC + 0x490, 3, 0, OK},
		{QPC + 0x490, 1, 0, OK},        {QPC + 0x491, 1, 0, OK},
		{QPC + 0x492, 1, 0, OK},        {ADS + 0x10, 16, 1, BAD_PARAM}, /* pkey_index */
		{ADS + 0x128, 8, 0, BAD_PARAM},                                 /* port */
		{ADS + 0x128, 8, 2, BAD_PARAM}, {0x80, 32, OPT_RNR, BAD_PARAM},
		{0x80, 32, 1, BAD_PARAM},       {0x80, 32, OPT_RWE, OK},
	};

	SPOIL(0, 0x502, fields);
}

static void fields_of_init2rtr(void **state)
{
	static const spoil_t fields[] = {
		{QPC + 0x40, 3, 0, BAD_PARAM}, /* mtu */
		{QPC + 0x40, 3, 1, OK},
		{QPC + 0x40, 3, 5, OK},
		{QPC + 0x40, 3, 6, BAD_PARAM},
		{QPC + 0x43, 5, 0, OK}, /* log_msg_max */
		{QPC + 0x43, 5, 31, BAD_PARAM},
		{QPC + 0xa8, 24, 0xffffff, OK}, /* remote_qpn */
		{QPC + 0x488, 3, 0, OK},        /* log_rra_max */
		{QPC + 0x488, 3, 5, BAD_PARAM},
		{QPC + 0x4a3, 5, 31, OK},        /* min_rnr_nak */
		{QPC + 0x4a8, 24, 0xffffff, OK}, /* next_rcv_psn */
		{ADS + 0x48, 8, 0, OK},          /* src_addr_index */
		{ADS + 0x48, 8, 4, BAD_PARAM},
		{ADS + 0x54, 4, 7, OK}, /* stat_rate: 2.5 Gb/s */
		{ADS + 0x54, 4, 6, BAD_PARAM},
		{ADS + 0x54, 4, 5, BAD_PARAM},
		{ADS + 0x58, 8, 1, OK},                  /* hop_limit */
		{ADS + 0x64, 8, 0xff, OK},               /* tclass */
		{ADS + 0x6c, 20, 0xfffff, OK},           /* flow_label */
		{ADS + 0x80, 64, 0x123456789abcdef, OK}, /* rgid: both halves */
		{ADS + 0xc0, 64, 0xfedcba987654321, OK},
		{ADS + 0x10a, 6, 63, OK},      /* dscp */
		{ADS + 0x110, 16, 0xffff, OK}, /* udp_sport */
		{ADS + 0x121, 3, 7, OK},       /* eth_prio */
		{ADS + 0x130, 16, 0x1234, OK}, /* rmac */
		{ADS + 0x140, 32, 0x56789abc, OK},
		{0x80, 32, OPT_ADDR | OPT_RNR, OK}, /* needless */
		{0x80, 32, 1 << 16, BAD_PARAM},     /* the port cannot change */
		{0x80, 32, 1, BAD_PARAM},           /* an alternate path */
	};

	SPOIL(INIT, 0x503, fields);
}

static void fields_of_rtr2rts(void **state)
{
	static const spoil_t fields[] = {
		{QPC + 0x388, 3, 0, OK}, /* log_sra_max */
		{QPC + 0x388, 3, 5, BAD_PARAM},
		{QPC + 0x38d, 3, 0, OK},         /* retry_count */
		{QPC + 0x390, 3, 7, OK},         /* rnr_retry */
		{QPC + 0x3c8, 24, 0xffffff, OK}, /* next_send_psn */
		{ADS + 0x40, 5, 31, OK},         /* ack_timeout */
		{ADS + 0x40, 5, 0, OK},
		{0x80, 32, OPT_ADDR, BAD_PARAM},
		{0x80, 32, OPT_PKEY, BAD_PARAM},
		{0x80, 32, 1 << 8 | 1 << 12 | 1 << 13 | 1 << 14, OK},
	};

	SPOIL(RTR, 0x504, fields);
}

static void address_on_infiniband(void **state)
{
	static const spoil_t fields[] = {
		{ADS + 0x30, 16, 0x1234, OK}, /* rlid */
		{ADS + 0x124, 4, 15, OK},     /* sl */
		{ADS + 0x28, 1, 1, OK},       /* grh */
	};

	SPOIL(INIT, 0x503, fields);
}

/* M2: an optional field without its bit is ignored, whatever its value. */
static void optional_without_its_bit(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	devx_state_mailbox(&f->d, in, 0x502, f->qpn, f->qpn);
	put_bits(in, QPC + 0x490, 3, 0);
	assert_int_equal(devx_modify(f->qp, in, MAILBOX_NBYTES), OK);
	devx_state_mailbox(&f->d, in, 0x503, f->qpn, f->qpn);
	put_bits(in, QPC + 0x490, 3, 7);
	put_bits(in, ADS + 0x10, 16, 0x7fff); /* pkey_index */
	put_bits(in, ADS + 0x128, 8, 9);      /* port */
	put_bits(in, ADS + 0x40, 5, 9);       /* ack_timeout: of the next transition */
	assert_int_equal(devx_modify(f->qp, in, MAILBOX_NBYTES), OK);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, QPC + 0x490, 3), 0);
	assert_int_equal(get_bits(out, ADS + 0x10, 16), 0);
	assert_int_equal(get_bits(out, ADS + 0x128, 8), 1);
	assert_int_equal(get_bits(out, ADS + 0x40, 5), 0);
	devx_state_mailbox(&f->d, in, 0x504, f->qpn, f->qpn);
	put_bits(in, QPC + 0x4a3, 5, 3);
	assert_int_equal(devx_modify(f->qp, in, MAILBOX_NBYTES), OK);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, QPC + 0x4a3, 5), 12);
}

/* Each permission has its own bit, in every transition that has the field. */
static void optional_with_its_bit(void **state)
{
	static const struct {
		unsigned opcode;
		int from;
	} commands[] = {{0x50e, INIT}, {0x503, INIT}, {0x504, RTR}, {0x505, RTS}};
	static const struct {
		unsigned opt, bits;
	} permissions[] = {{OPT_RRE, 3}, {OPT_RWE, 5}, {OPT_RAE, 6}, {OPT_RRE | OPT_RAE, 2}};
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 4; k++) {
			bring(f, commands[i].from);
			devx_state_mailbox(&f->d, in, commands[i].opcode, f->qpn, f->qpn);
			put_bits(in, QPC + 0x490, 3, 0);
			put_bits(in, QPC + 0x48c, 4, 1);
			put_bits(in, 0x80, 32, permissions[k].opt);
			assert_int_equal(devx_modify(f->qp, in, MAILBOX_NBYTES), OK);
			devx_query_qp(f->qp, f->qpn, out);
			assert_int_equal(get_bits(out, QPC + 0x490, 3), permissions[k].bits);
			assert_int_equal(get_bits(out, QPC + 0x48c, 4),
					 permissions[k].opt & OPT_RAE ? 1 : 3);
		}
}

/* Bits of fields that are used anyway have no effect. */
static void needless_bits(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	devx_state_mailbox(&f->d, in, 0x502, f->qpn, f->qpn);
	put_bits(in, 0x80, 32, OPT_RWE);
	expect(f, in, MAILBOX_NBYTES, OK);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, QPC + 0x490, 3), 7);
}

/* A zero-length WRITE to itself: one packet, so the PSN advances by one. */
static void write_once(fixture_t *f)
{
	uint8_t *wqe = f->d.memory + DEVX_QUEUES, *dbr = f->d.memory + DEVX_RECORDS + 8;
	uint64_t doorbell;

	put_bits(wqe, 24, 8, 0x08); /* opcode */
	put_bits(wqe, 32, 24, f->qpn);
	put_bits(wqe, 32 + 26, 6, 2); /* ds */
	put_bits(wqe, 88 + 4, 2, 2);  /* ce: always */
	put_bits(dbr, 32, 32, 1);
	put_bits((uint8_t *)&doorbell, 0, 32, 1 << 8);
	put_bits((uint8_t *)&doorbell, 32, 32, f->qpn << 8);
	memcpy(f->d.uar->reg_addr, &doorbell, sizeof(doorbell));
	while (mlx5sw_step() > 0)
		;
}

/* A QP created and connected by commands only works; RTS2RTS does not reset its progress. */
static void rts2rts_keeps_progress(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	bring(f, RTS);
	write_once(f);
	devx_state_mailbox(&f->d, in, 0x505, f->qpn, f->qpn);
	expect(f, in, MAILBOX_NBYTES, OK);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, QPC, 4), RTS);
	assert_int_equal(get_bits(out, QPC + 0x3c8, 24), 0x1235); /* next_send_psn */
	assert_int_equal(get_bits(out, QPC + 0x4a8, 24), 0x1235); /* next_rcv_psn */
	assert_int_equal(get_bits(out, QPC + 0x588, 24), 1);      /* rmsn */
	assert_int_equal(get_bits(out, QPC + 0x5a0, 16), 1);      /* hw_sq_wqebb_counter */
	assert_int_equal(f->d.memory[DEVX_CQ + 63], 0);           /* a completion, first round */
	assert_int_equal(f->d.memory[DEVX_CQ + 56], 0x08);
}

/* In RTS: the RNR timer and the path may change. */
static void changes_in_rts(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	bring(f, RTS);
	devx_state_mailbox(&f->d, in, 0x505, f->qpn, f->qpn);
	put_bits(in, QPC + 0x4a3, 5, 20);
	put_bits(in, ADS + 0x110, 16, 0xc123);
	put_bits(in, 0x80, 32, OPT_RNR);
	expect(f, in, MAILBOX_NBYTES, OK);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, QPC + 0x4a3, 5), 20);
	assert_int_equal(get_bits(out, ADS + 0x110, 16), 0xc000);
	put_bits(in, 0x80, 32, OPT_ADDR);
	put_bits(in, ADS + 0x48, 8, 4);
	expect(f, in, MAILBOX_NBYTES, BAD_PARAM);
	put_bits(in, ADS + 0x48, 8, 3);
	expect(f, in, MAILBOX_NBYTES, OK);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, ADS + 0x110, 16), 0xc123);
	assert_int_equal(get_bits(out, ADS + 0x128, 8), 1);
	assert_int_equal(get_bits(out, ADS + 0x40, 5), 20);
	put_bits(in, 0x80, 32, OPT_PKEY);
	expect(f, in, MAILBOX_NBYTES, BAD_PARAM);
}

static void lengths_of_transitions(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES];

	devx_state_mailbox(&f->d, in, 0x502, f->qpn, f->qpn);
	expect(f, in, MAILBOX_NBYTES - 1, BAD_IN);
	expect(f, in, MAILBOX_NBYTES, OK);
	devx_state_mailbox(&f->d, in, 0x50e, f->qpn, f->qpn);
	put_bits(in, 0x40, 1, 1); /* qpc_ext */
	expect(f, in, EXTENDED_NBYTES - 1, BAD_IN);
	expect(f, in, EXTENDED_NBYTES, OK);
	put_bits(in, 0x87f, 1, 1); /* opt_param_mask_95_32 */
	expect(f, in, EXTENDED_NBYTES, BAD_PARAM);
	put_bits(in, 0x40, 1, 0); /* the field is ignored */
	expect(f, in, EXTENDED_NBYTES, OK);
}

/* QUERY_QP returns the attributes that the transitions set. */
static void query_round_trip(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES], out[MAILBOX_NBYTES];

	bring(f, RTS);
	devx_query_qp(f->qp, f->qpn, out);
	assert_int_equal(get_bits(out, QPC, 4), RTS);
	assert_int_equal(get_bits(out, QPC + 0x13, 2), 3);
	assert_int_equal(get_bits(out, QPC + 0x40, 3), 3);
	assert_int_equal(get_bits(out, QPC + 0x43, 5), 30);
	assert_int_equal(get_bits(out, QPC + 0xa8, 24), f->qpn);
	assert_int_equal(get_bits(out, QPC + 0x388, 3), 4);
	assert_int_equal(get_bits(out, QPC + 0x38d, 3), 7);
	assert_int_equal(get_bits(out, QPC + 0x390, 3), 6);
	assert_int_equal(get_bits(out, QPC + 0x3c8, 24), 0x1234);
	assert_int_equal(get_bits(out, QPC + 0x488, 3), 4);
	assert_int_equal(get_bits(out, QPC + 0x48c, 4), 3);
	assert_int_equal(get_bits(out, QPC + 0x490, 3), 7);
	assert_int_equal(get_bits(out, QPC + 0x4a3, 5), 12);
	assert_int_equal(get_bits(out, QPC + 0x4a8, 24), 0x1234);
	assert_int_equal(get_bits(out, ADS + 0x128, 8), 1);
	assert_int_equal(get_bits(out, ADS + 0x40, 5), 20);
	assert_int_equal(get_bits(out, ADS + 0x48, 8), 3);
	assert_int_equal(get_bits(out, ADS + 0x58, 8), 255);
	devx_state_mailbox(&f->d, in, 0x503, f->qpn, f->qpn);
	assert_memory_equal(out + (ADS + 0x80) / 8, in + (ADS + 0x80) / 8, 16);
}

/* 2RST clears all attributes of transitions; those of creation remain. */
static void reset_clears_attributes(void **state)
{
	fixture_t *f = *state;
	uint8_t fresh[MAILBOX_NBYTES], out[MAILBOX_NBYTES];

	devx_query_qp(f->qp, f->qpn, fresh);
	bring(f, RTS);
	bring(f, 0);
	devx_query_qp(f->qp, f->qpn, out);
	assert_memory_equal(out, fresh, sizeof(fresh));
}

/* S12: uninitialised attributes. */
static void stale_bytes_are_refused(void **state)
{
	fixture_t *f = *state;
	uint8_t in[EXTENDED_NBYTES];

	for (unsigned opcode = 0x502; opcode <= 0x505; opcode++) {
		bring(f, (int)(opcode - 0x502));
		memset(in, 0xa5, sizeof(in));
		put_bits(in, 0, 16, opcode);
		put_bits(in, 0x48, 24, f->qpn);
		expect(f, in, EXTENDED_NBYTES, BAD_PARAM);
	}
}

/* The layer below verbs: the attributes that each transition requires and allows, as in the
 * kernel's table for RC. */

#define A(x) MLX5SWI_ATTR_##x
#define FLAGS A(ACCESS)

static const struct {
	int from, to;
	uint32_t required, optional;
} table[] = {
	{0, INIT, A(PORT) | A(PKEY) | FLAGS, 0},
	{INIT, INIT, 0, A(PORT) | A(PKEY) | FLAGS},
	{INIT, RTR, A(AV) | A(MTU) | A(DEST_QPN) | A(RQ_PSN) | A(RRA) | A(MIN_RNR),
	 A(PKEY) | FLAGS},
	{RTR, RTS, A(SQ_PSN) | A(SRA) | A(RETRY) | A(RNR_RETRY) | A(TIMEOUT), FLAGS | A(MIN_RNR)},
	{RTS, RTS, 0, FLAGS | A(MIN_RNR)},
	{INIT, ERR, 0, 0},
	{RTR, 0, 0, 0},
	{RTS, ERR, 0, 0},
	{ERR, ERR, 0, 0},
	{ERR, 0, 0, 0},
};

/* One by one: the attributes of verbs, without those of commands only. */
static const uint32_t attrs[] = {A(PORT),     A(PKEY),   FLAGS,        A(AV),      A(MTU),
				 A(DEST_QPN), A(RQ_PSN), A(RRA),       A(MIN_RNR), A(SQ_PSN),
				 A(SRA),      A(RETRY),  A(RNR_RETRY), A(TIMEOUT)};

static const mlx5swi_qp_attr_t good = {
	.rwe = 1, .mtu = 3, .remote_qpn = 5, .path = {.is_global = 1, .port = 1, .sgid_index = 3}};

static void attributes_of_each_transition(void **state)
{
	fixture_t *f = *state;
	mlx5swi_qp_t *qp = mlx5swi_table_get(&mlx5swi_device(0, 0)->qps, f->qpn);
	mlx5swi_qp_attr_t before;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (size_t k = 0; k < sizeof(attrs) / sizeof(attrs[0]); k++) {
			uint32_t given = table[i].required ^ attrs[k];
			int is_right = (table[i].optional & attrs[k]) != 0;

			bring(f, table[i].from);
			before = qp->attr;
			assert_int_equal(mlx5swi_qp_modify(qp, table[i].to, &good, given),
					 is_right ? OK : BAD_PARAM);
			assert_int_equal(qp->state, is_right ? table[i].to : table[i].from);
			if (!is_right)
				assert_memory_equal(&qp->attr, &before, sizeof(before));
			bring(f, table[i].from);
			assert_int_equal(
				mlx5swi_qp_modify(qp, table[i].to, &good, table[i].required), OK);
		}
}

static void unknown_transitions_are_refused_below_verbs(void **state)
{
	static const int states[] = {0, INIT, RTR, RTS, ERR};
	static const char *const ways[] = {"RI", "IERT", "RES", "RES", "RE"};
	static const char names[] = "RITS45E";
	fixture_t *f = *state;
	mlx5swi_qp_t *qp = mlx5swi_table_get(&mlx5swi_device(0, 0)->qps, f->qpn);

	for (size_t i = 0; i < 5; i++)
		for (int to = 0; to <= 7; to++) {
			if (to < 7 && strchr(ways[i], names[to]))
				continue;
			bring(f, states[i]);
			assert_int_equal(mlx5swi_qp_modify(qp, to, &good, 0), BAD_STATE);
			assert_int_equal(qp->state, states[i]);
		}
}

/* Fields that are wider in verbs than in a mailbox. */
static void ranges_below_verbs(void **state)
{
	static const struct {
		int from, to;
		size_t at; /* offset of a byte; setting all its bits exceeds the range */
	} fields[] = {
		{0, INIT, offsetof(mlx5swi_qp_attr_t, rwe)},
		{0, INIT, offsetof(mlx5swi_qp_attr_t, rre)},
		{0, INIT, offsetof(mlx5swi_qp_attr_t, rae)},
		{0, INIT, offsetof(mlx5swi_qp_attr_t, path.port)},
		{0, INIT, offsetof(mlx5swi_qp_attr_t, path.pkey_index)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, mtu)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, min_rnr_nak)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, log_rra_max)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, remote_qpn) + 3},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, next_rcv_psn) + 3},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, path.is_global)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, path.sgid_index)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, path.sl)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, path.static_rate)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, path.dscp)},
		{INIT, RTR, offsetof(mlx5swi_qp_attr_t, path.flow_label) + 3},
		{RTR, RTS, offsetof(mlx5swi_qp_attr_t, log_sra_max)},
		{RTR, RTS, offsetof(mlx5swi_qp_attr_t, retry_count)},
		{RTR, RTS, offsetof(mlx5swi_qp_attr_t, rnr_retry)},
		{RTR, RTS, offsetof(mlx5swi_qp_attr_t, path.ack_timeout)},
		{RTR, RTS, offsetof(mlx5swi_qp_attr_t, next_send_psn) + 3},
	};
	fixture_t *f = *state;
	mlx5swi_qp_t *qp = mlx5swi_table_get(&mlx5swi_device(0, 0)->qps, f->qpn);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		mlx5swi_qp_attr_t bad = good, before;
		uint32_t required = 0;

		for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
			if (table[k].from == fields[i].from && table[k].to == fields[i].to)
				required = table[k].required;
		((uint8_t *)&bad)[fields[i].at] = 0xff;
		bring(f, fields[i].from);
		before = qp->attr;
		assert_int_equal(mlx5swi_qp_modify(qp, fields[i].to, &bad, required), BAD_PARAM);
		assert_int_equal(qp->state, fields[i].from);
		assert_memory_equal(&qp->attr, &before, sizeof(before));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(commands_in_wrong_states),
		TEST(fields_of_rst2init),
		TEST(fields_of_init2rtr),
		TEST(fields_of_rtr2rts),
		cmocka_unit_test_setup_teardown(address_on_infiniband, setup_infiniband, teardown),
		TEST(optional_without_its_bit),
		TEST(optional_with_its_bit),
		TEST(needless_bits),
		TEST(rts2rts_keeps_progress),
		cmocka_unit_test_setup_teardown(rts2rts_keeps_progress, setup_infiniband, teardown),
		TEST(changes_in_rts),
		TEST(lengths_of_transitions),
		TEST(query_round_trip),
		TEST(reset_clears_attributes),
		TEST(stale_bytes_are_refused),
		TEST(attributes_of_each_transition),
		TEST(unknown_transitions_are_refused_below_verbs),
		TEST(ranges_below_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
