/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rings, records and doorbells of two connected queue pairs, under faults and state changes. Two
 * other queue pairs between the same hosts must be unaffected, and must work at the end. */
#include "fuzz.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#define FEW 4096u /* bytes of memory that are in use */

typedef struct scene {
	adapter_end_t ends[2], others[2];
	fuzz_input_t in;
} scene_t;

typedef struct turn { /* one acting end */
	scene_t *s;
	fuzz_input_t *in;
	adapter_end_t *e, *peer;
} turn_t;

static adapter_spec_t spec_of(fuzz_input_t *in, uint32_t host)
{
	adapter_spec_t spec = {.host = host};

	spec.sq_wqebbs = 1u << fuzz_below(in, 5);
	spec.cq_entries = 1u << fuzz_below(in, 7);
	spec.rq_wqes = fuzz_below(in, 2) ? 4 : 0;
	spec.is_collapsed = (uint8_t)fuzz_below(in, 2);
	spec.minds_overrun = (uint8_t)fuzz_below(in, 2);
	spec.has_no_dbr = mlx5swi_w->cfg.has_no_dbr && fuzz_below(in, 2);
	spec.is_signed = fuzz_below(in, 8) == 1;
	spec.access = fuzz_below(in, 8) == 1 ? IBV_ACCESS_REMOTE_READ : 0;
	return spec;
}

static void connect_to(turn_t *t)
{
	mlx5swi_qp_attr_t attr = adapter_attr(t->e, t->peer);

	attr.mtu = (uint8_t)(5 - fuzz_below(t->in, 5));
	attr.log_msg_max = 16;
	attr.rnr_retry = (uint8_t)fuzz_below(t->in, 7); /* 7: without a limit */
	attr.retry_count = (uint8_t)fuzz_below(t->in, 8);
	attr.log_sra_max = (uint8_t)fuzz_below(t->in, 5);
	attr.log_rra_max = (uint8_t)fuzz_below(t->in, 5);
	attr.path.ack_timeout = (uint8_t)fuzz_below(t->in, 20);
	adapter_init(t->e);
	adapter_modify(t->e, &attr);
}

/* Steps */

/* In the first bytes of memory, or, less often, near its end. */
static uint32_t offset_of(fuzz_input_t *in)
{
	const uint32_t at = fuzz_below(in, 4 * FEW);

	return at < 3 * FEW ? at % FEW : ADAPTER_NBYTES - at % FEW;
}

static void spoil(turn_t *t, uint16_t index)
{
	uint8_t *wqebb = t->e->sq + (size_t)(index % t->e->sq_wqebbs) * 64;

	fuzz_spoil(t->in, wqebb, 64);
}

/* Mostly the peer's memory, but also that of other queue pairs, with their key. */
static const adapter_end_t *target(turn_t *t)
{
	const uint32_t whose = fuzz_below(t->in, 16);

	return whose > 13 ? &t->s->others[whose - 14] : t->peer;
}

static void post_write(turn_t *t)
{
	const uint32_t from = offset_of(t->in), to = offset_of(t->in);
	const uint32_t nbytes = fuzz_below(t->in, 3 * FEW);
	const uint8_t flags = (uint8_t)fuzz_number(t->in, 1);

	spoil(t, adapter_write(t->e, target(t), from, to, nbytes, flags));
}

static void post_inline(turn_t *t)
{
	const uint32_t to = offset_of(t->in), nbytes = fuzz_below(t->in, 200);
	const uint8_t flags = (uint8_t)fuzz_number(t->in, 1);

	spoil(t, adapter_write_inline(t->e, target(t), to, t->e->memory, nbytes, flags));
}

static void post_read(turn_t *t)
{
	const uint32_t to = offset_of(t->in), from = offset_of(t->in);
	const uint32_t nbytes = fuzz_below(t->in, 3 * FEW);
	const uint8_t flags = (uint8_t)fuzz_number(t->in, 1);

	spoil(t, adapter_read(t->e, target(t), to, from, nbytes, flags));
}

static void post_atomic(turn_t *t)
{
	static const uint8_t opcodes[] = {OP_CS, OP_FA, OP_MASKED_CS, OP_MASKED_FA};
	const uint8_t opcode = opcodes[fuzz_below(t->in, sizeof(opcodes))];
	const uint32_t width = opcode >= OP_MASKED_CS && fuzz_below(t->in, 2) ? 4 : 8;
	const uint32_t to = 8 * fuzz_below(t->in, 32), remote = 8 * fuzz_below(t->in, 32);
	const uint8_t flags = (uint8_t)fuzz_number(t->in, 1);
	uint64_t operands[4] = {0};

	for (uint32_t i = 0; i < 4; i++)
		operands[i] = (uint64_t)(int64_t)(int8_t)fuzz_number(t->in, 1);
	spoil(t, adapter_atomic(t->e, target(t), opcode, width, operands, to, remote, flags));
}

/* Any opcode with any segments. */
static void post_any(turn_t *t)
{
	adapter_wqe_t w;
	const uint8_t opcode = (uint8_t)fuzz_below(t->in, 64);
	const uint8_t opmod = (uint8_t)fuzz_below(t->in, 16);
	const adapter_end_t *to = target(t);

	adapter_control(&w, t->e, opcode, opmod, (uint8_t)fuzz_number(t->in, 1));
	for (uint32_t n = fuzz_below(t->in, 8); n; n--) {
		const uint32_t offset = offset_of(t->in), nbytes = fuzz_below(t->in, FEW);

		if (fuzz_below(t->in, 2))
			adapter_remote(&w, (uintptr_t)to->memory + offset, to->mr->rkey);
		else
			adapter_data(&w, nbytes, t->e->mr->lkey, (uintptr_t)t->e->memory + offset);
	}
	if (fuzz_below(t->in, 2))
		adapter_set_ds(&w, fuzz_below(t->in, 64));
	spoil(t, adapter_post(t->e, &w));
}

static void post_raw(turn_t *t)
{
	fuzz_bytes(t->in, t->e->sq + (size_t)(t->e->pi % t->e->sq_wqebbs) * 64, 64);
	t->e->pi++;
}

static void ring(turn_t *t)
{
	adapter_ring(t->e);
}

/* An index ahead, behind, or in only one of doorbell and record. */
static void ring_wrong(turn_t *t)
{
	const uint32_t which = fuzz_below(t->in, 4);
	const uint16_t index = (uint16_t)(t->e->pi + (int8_t)fuzz_number(t->in, 1));

	if (which & 1)
		adapter_record(t->e, index);
	if (which & 2)
		adapter_doorbell(t->e, index);
}

static void ring_any(turn_t *t)
{
	static const uint32_t offsets[] = {0x800, 0x600, 0x808, 0x900, 0x20, 0xa00};
	const uint32_t offset = offsets[fuzz_below(t->in, 6)];
	const uint32_t first = (uint32_t)fuzz_number(t->in, 4);
	const uint32_t low = (uint32_t)fuzz_number(t->in, 2);

	adapter_register(t->e->uar->base_addr, offset, first,
			 fuzz_below(t->in, 2) ? t->e->qp->qpn << 8 | low % 256
					      : t->s->others[0].qp->qpn << 8);
}

static void poll_some(turn_t *t)
{
	adapter_cqe_t cqe;

	for (uint32_t n = fuzz_below(t->in, 16); n && adapter_poll(t->e, &cqe); n--)
		;
}

static void write_records(turn_t *t)
{
	const uint32_t which = fuzz_below(t->in, 4), value = (uint32_t)fuzz_number(t->in, 4);

	if (which & 2)
		t->e->cq_dbr[which & 1] = htobe32(value);
	else
		t->e->dbr[which & 1] = htobe32(value);
}

static void give_receive(turn_t *t)
{
	if (!t->e->rq)
		return;
	fuzz_bytes(t->in, t->e->rq, 16);
	t->e->dbr[0] = htobe32(fuzz_below(t->in, 8));
}

/* Each line names a queue pair, so that the other pairs are not affected. */
static void break_something(turn_t *t)
{
	static const char *const rules[] = {
		"drop packet",
		"drop packet kind=ack",
		"hold packet",
		"hold packet kind=write until=error",
		"duplicate packet",
		"delay packet ns=500000",
		"cut write nbytes=100",
		"lose doorbell",
		"lose cqe",
		"delay cqe ns=500000",
		"hold cqe",
		"fail wqe syndrome=0x15 vendor=0x81",
		"stop wqe",
	};
	const char *rule = rules[fuzz_below(t->in, sizeof(rules) / sizeof(rules[0]))];
	const uint32_t after = fuzz_below(t->in, 8), n = 1 + fuzz_below(t->in, 8);
	char line[128];

	snprintf(line, sizeof(line), "%s qp=%u after=%u n=%u", rule, t->e->qp->qpn, after, n);
	fuzz_control(line);
}

static void control_something(turn_t *t)
{
	static const char *const lines[] = {"release packets", "clear rules", "port down",
					    "port up",         "status",      "list rules"};
	const uint32_t which = fuzz_below(t->in, 8);
	char line[64];

	if (which == 6)
		snprintf(line, sizeof(line), "release cqes qp=%u", t->e->qp->qpn);
	else if (which == 7)
		snprintf(line, sizeof(line), "mr lose key=%u", t->e->mr->rkey);
	fuzz_control(which < 6 ? lines[which] : line);
}

static void stop(turn_t *t)
{
	adapter_error(t->e);
}

/* Reset and connect both ends again. */
static void start_again(turn_t *t)
{
	turn_t peer = {t->s, t->in, t->peer, t->e};

	adapter_reset(t->e);
	if (t->e != t->peer)
		adapter_reset(t->peer);
	connect_to(t);
	if (t->e != t->peer)
		connect_to(&peer);
}

/* The old key remains in use. */
static void deregister(turn_t *t)
{
	static struct ibv_mr gone[2];
	struct ibv_mr *mr = t->e->mr;

	if (mr == &gone[0] || mr == &gone[1] || fuzz_below(t->in, 8) != 1)
		return;
	for (uint32_t i = 0; i < 2; i++)
		if (t->s->ends[i].mr == mr) {
			gone[i] = *mr;
			t->s->ends[i].mr = &gone[i];
		}
	ibv_dereg_mr(mr);
}

static void take_step(turn_t *t)
{
	fuzz_step(t->in);
}

static void run_until_idle(turn_t *t)
{
	(void)t;
	fuzz_run_until_idle();
}

static void (*const steps[])(turn_t *t) = {
	take_step, post_write,    post_inline,  post_read,       post_atomic,
	post_any,  post_raw,      ring,         ring_wrong,      ring_any,
	poll_some, write_records, give_receive, break_something, control_something,
	stop,      start_again,   deregister,   run_until_idle,
};

/* Setups: two processes, one process, or an end connected to itself. */
static turn_t make_ends(scene_t *s)
{
	const uint32_t kind = fuzz_below(&s->in, 3);
	adapter_spec_t spec = spec_of(&s->in, 0);
	turn_t t = {s, &s->in, &s->ends[0], &s->ends[kind < 2]};

	adapter_make(&s->ends[0], &spec);
	spec = spec_of(&s->in, 1);
	spec.with = kind == 1 ? &s->ends[0] : NULL;
	if (kind == 2)
		t.peer = t.e;
	else
		adapter_make(&s->ends[1], &spec);
	memset(t.e->memory, 0xa5, FEW); /* detectable wherever it is copied */
	memset(t.peer->memory, 0x5a, FEW);
	connect_to(&t);
	return t;
}

static void check_others(scene_t *s)
{
	adapter_end_t *a = &s->others[0], *b = &s->others[1];
	static const uint8_t none[ADAPTER_NBYTES];
	const uint64_t value = 0x0123456789abcdef;

	if (memcmp(a->memory, none, sizeof(none)) != 0 || memcmp(b->memory, none, sizeof(none)))
		fuzz_found("memory of another protection domain was written");
	adapter_expect_none(a);
	fuzz_control("clear rules");
	fuzz_control("port up");
	adapter_write_inline(a, b, 8, &value, sizeof(value), SIGNALLED);
	adapter_ring(a);
	fuzz_run_until_idle();
	adapter_expect(a, (uint16_t)(a->pi - 1), OP_WRITE);
	if (memcmp(b->memory + 8, &value, sizeof(value)) != 0)
		fuzz_found("the other queue pairs do not work any more");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	scene_t s = {.in = {data, data + nbytes}};
	turn_t t, back;

	fuzz_start(&s.in);
	adapter_pair(&s.others[0], &s.others[1]);
	t = make_ends(&s);
	back = (turn_t){&s, &s.in, t.peer, t.e};
	if (t.e != t.peer)
		connect_to(&back);
	while (fuzz_has_more(&s.in)) {
		const uint32_t what = fuzz_below(&s.in, 256);

		steps[what / 2 % (sizeof(steps) / sizeof(steps[0]))](what & 1 ? &back : &t);
	}
	fuzz_run_until_idle();
	check_others(&s);
	adapter_stop();
	return 0;
}
