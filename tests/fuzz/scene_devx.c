/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands. Mailboxes are valid before input bytes modify them, and have exactly the size of the
 * command. */
#include "scene.h"

#include <endian.h>
#include <stdlib.h>

#define ANSWER_NBYTES 0x1010u /* of QUERY_HCA_CAP, the longest */
#define MKC 0x80u

struct ibv_context *scene_context(scene_t *s)
{
	return s->ctx[fuzz_below(&s->in, 16) == 1];
}

/* Commands */

typedef struct command {
	uint8_t *in, *out;
	size_t in_nbytes, out_nbytes;
} command_t;

static command_t begin(fuzz_input_t *in, const uint8_t *mailbox, size_t nbytes)
{
	const int is_cut = fuzz_below(in, 16) == 1;
	command_t c = {NULL, NULL, nbytes, ANSWER_NBYTES};

	if (is_cut) {
		c.in_nbytes = fuzz_below(in, (uint32_t)nbytes) + 1;
		c.out_nbytes = fuzz_below(in, ANSWER_NBYTES) + 1;
	}
	c.in = malloc(c.in_nbytes);
	c.out = malloc(c.out_nbytes);
	assert_true(c.in && c.out);
	memcpy(c.in, mailbox, c.in_nbytes);
	fuzz_spoil(in, c.in, c.in_nbytes);
	return c;
}

static void end(command_t *c)
{
	free(c->in);
	free(c->out);
}

static void create(scene_t *s, made_t *made, struct ibv_context *ctx, const uint8_t *mailbox,
		   size_t nbytes)
{
	command_t c = begin(&s->in, mailbox, nbytes);

	made->obj = mlx5dv_devx_obj_create(ctx, c.in, c.in_nbytes, c.out, c.out_nbytes);
	if (made->obj) {
		made->number = (uint32_t)get_bits(c.out, 0x48, 24);
		if (get_bits(c.out, 0, 8))
			fuzz_found("an object was created although its command failed");
	}
	end(&c);
}

/* The objects that mailboxes refer to; some entries may be empty. */
static devx_t names(scene_t *s, struct ibv_context *ctx)
{
	static struct mlx5dv_devx_umem no_umem;
	static struct mlx5dv_devx_uar no_uar;
	devx_t d = {.ctx = ctx, .eqn = MLX5SWI_EQN};
	struct mlx5dv_devx_umem **umem = SCENE_PICK(s, s->umems);
	struct mlx5dv_devx_uar **uar = SCENE_PICK(s, s->uars);

	d.umem = *umem ? *umem : &no_umem;
	d.uar = *uar ? *uar : &no_uar;
	d.pdn = SCENE_PICK(s, s->pds)->number;
	d.cqn = SCENE_PICK(s, s->cqs)->number;
	return d;
}

static void destroy(made_t *made)
{
	if (made->obj && mlx5dv_devx_obj_destroy(made->obj) == 0)
		made->obj = NULL;
}

/* Steps: fill or empty an entry. */

static void umem(scene_t *s)
{
	const uint32_t i = fuzz_below(&s->in, N_SLOTS), what = fuzz_below(&s->in, 256);

	if (s->umems[i]) {
		if (mlx5dv_devx_umem_dereg(s->umems[i]))
			return;
		free(s->umem_memory[i]);
		s->umems[i] = NULL;
		return;
	}
	s->umem_memory[i] = aligned_alloc(4096, SLOT_NBYTES);
	assert_non_null(s->umem_memory[i]);
	memset(s->umem_memory[i], 0, SLOT_NBYTES);
	s->umems[i] = mlx5dv_devx_umem_reg(scene_context(s), s->umem_memory[i] + what % 8 * 64,
					   what < 240 ? SLOT_NBYTES - 512 : what % 16 * 256,
					   IBV_ACCESS_LOCAL_WRITE);
	if (!s->umems[i])
		free(s->umem_memory[i]);
}

static void uar(scene_t *s)
{
	struct mlx5dv_devx_uar **u = SCENE_PICK(s, s->uars);
	const uint32_t flags = fuzz_below(&s->in, 3);

	if (!*u) {
		*u = mlx5dv_devx_alloc_uar(scene_context(s), flags);
		return;
	}
	mlx5dv_devx_free_uar(*u); /* void: a page in use is not freed */
	for (uint32_t i = 0; i < mlx5swi_device(0, 0)->uars.n; i++)
		if (mlx5swi_device(0, 0)->uars.at[i] == (void *)*u)
			return;
	*u = NULL;
}

static void pd(scene_t *s)
{
	made_t *made = SCENE_PICK(s, s->pds);
	uint8_t in[16] = {0};

	put_bits(in, 0, 16, 0x800);
	if (made->obj)
		destroy(made);
	else
		create(s, made, scene_context(s), in, sizeof(in));
}

static void cq(scene_t *s)
{
	made_t *made = SCENE_PICK(s, s->cqs);
	uint8_t in[MAILBOX_NBYTES];
	devx_t d = names(s, scene_context(s));

	devx_cq_mailbox(&d, in);
	put_bits(in, CQC + 0x63, 5, fuzz_below(&s->in, 8));
	put_bits(in, CQC + 0x0a, 2, fuzz_below(&s->in, 4)); /* cc, oi */
	if (made->obj)
		destroy(made);
	else
		create(s, made, d.ctx, in, sizeof(in));
}

static void qp(scene_t *s)
{
	made_t *made = SCENE_PICK(s, s->qps);
	uint8_t in[MAILBOX_NBYTES];
	devx_t d = names(s, scene_context(s));

	devx_qp_mailbox(&d, in);
	put_bits(in, QPC + 0x4e8, 24, SCENE_PICK(s, s->cqs)->number);
	if (made->obj)
		destroy(made);
	else
		create(s, made, d.ctx, in, sizeof(in));
}

static void mkey(scene_t *s)
{
	made_t *made = SCENE_PICK(s, s->mkeys);
	uint8_t in[MAILBOX_NBYTES] = {0};
	devx_t d = names(s, scene_context(s));

	put_bits(in, 0, 16, 0x200);
	put_bits(in, MKC + 0x11, 5, 0x1f); /* a, rw, rr, lw, lr */
	put_bits(in, MKC + 0x16, 2, 1);    /* access_mode: MTT */
	put_bits(in, MKC + 0x20, 24, 0xffffff);
	put_bits(in, MKC + 0x68, 24, d.pdn);
	put_bits(in, MKC + 0xc0, 64, 0x1000);
	put_bits(in, 0x320, 32, d.umem->umem_id);
	put_bits(in, 0x340, 64, 0x4000);
	if (made->obj)
		destroy(made);
	else
		create(s, made, d.ctx, in, sizeof(in));
}

/* A transition to another queue pair, or to itself. */
static void change_qp(scene_t *s)
{
	static const uint16_t opcodes[] = {0x502, 0x503, 0x504, 0x505, 0x507, 0x50a, 0x506, 0x508};
	made_t *made = SCENE_PICK(s, s->qps), *peer = SCENE_PICK(s, s->qps);
	const unsigned opcode = opcodes[fuzz_below(&s->in, 8)];
	uint8_t in[EXTENDED_NBYTES];
	devx_t d = names(s, s->ctx[0]);
	command_t c;

	if (!made->obj)
		return;
	devx_state_mailbox(&d, in, opcode, made->number, peer->number);
	c = begin(&s->in, in, fuzz_below(&s->in, 2) ? EXTENDED_NBYTES : MAILBOX_NBYTES);
	mlx5dv_devx_obj_modify(made->obj, c.in, c.in_nbytes, c.out, c.out_nbytes);
	end(&c);
}

/* From RESET to RTS, both ends: without modified mailboxes, so that later states are reached often.
 */
static void connect_qps(scene_t *s)
{
	made_t *a = SCENE_PICK(s, s->qps), *b = SCENE_PICK(s, s->qps);
	devx_t d = {.ctx = s->ctx[0]};
	uint8_t in[EXTENDED_NBYTES], out[16];

	for (unsigned opcode = 0x502; a->obj && b->obj && opcode <= 0x504; opcode++) {
		devx_state_mailbox(&d, in, opcode, a->number, b->number);
		mlx5dv_devx_obj_modify(a->obj, in, MAILBOX_NBYTES, out, sizeof(out));
		devx_state_mailbox(&d, in, opcode, b->number, a->number);
		mlx5dv_devx_obj_modify(b->obj, in, MAILBOX_NBYTES, out, sizeof(out));
	}
}

static void query(scene_t *s)
{
	static const uint16_t opcodes[] = {0x50b, 0x402, 0x201, 0x40a};
	const uint32_t kind = fuzz_below(&s->in, 4);
	made_t *made = SCENE_PICK(s, kind == 0 ? s->qps : kind == 1 ? s->cqs : s->mkeys);
	uint8_t in[16] = {0};
	command_t c;

	if (!made->obj)
		return;
	put_bits(in, 0, 16, opcodes[kind]);
	put_bits(in, 0x48, 24, made->number);
	c = begin(&s->in, in, sizeof(in));
	mlx5dv_devx_obj_query(made->obj, c.in, c.in_nbytes, c.out, c.out_nbytes);
	end(&c);
}

static void general(scene_t *s)
{
	static const uint16_t opcodes[] = {0x100, 0x761, 0x762, 0x500};
	uint8_t in[32] = {0};
	command_t c;

	put_bits(in, 0, 16, opcodes[fuzz_below(&s->in, 4)]);
	put_bits(in, 0x30, 16, fuzz_below(&s->in, 128));
	c = begin(&s->in, in, sizeof(in));
	mlx5dv_devx_general_cmd(scene_context(s), c.in, c.in_nbytes, c.out, c.out_nbytes);
	end(&c);
}

/* Any bytes to any function. */
static void raw(scene_t *s)
{
	made_t *made = SCENE_PICK(s, s->qps), new = {NULL, 0};
	uint8_t in[64];
	command_t c;

	fuzz_bytes(&s->in, in, sizeof(in));
	create(s, &new, scene_context(s), in, sizeof(in));
	if (new.obj)
		fuzz_control("clear rules"); /* otherwise destruction may fail */
	destroy(&new);
	c = begin(&s->in, in, sizeof(in));
	if (made->obj)
		mlx5dv_devx_obj_modify(made->obj, c.in, c.in_nbytes, c.out, c.out_nbytes);
	mlx5dv_devx_general_cmd(scene_context(s), c.in, c.in_nbytes, c.out, c.out_nbytes);
	end(&c);
}

/* Rings: WQEBBs of NOPs and of random bytes, and doorbells. */
static void ring(scene_t *s)
{
	const uint32_t i = fuzz_below(&s->in, N_SLOTS), what = fuzz_below(&s->in, 256);
	struct mlx5dv_devx_uar **u = SCENE_PICK(s, s->uars);
	made_t *made = SCENE_PICK(s, s->qps);
	uint8_t *memory;
	uint32_t record;

	if (!s->umems[i] || !*u)
		return;
	memory = ((mlx5swi_umem_t *)s->umems[i])->p;
	if (((mlx5swi_umem_t *)s->umems[i])->nbytes < DEVX_RECORDS + 16)
		return;
	put_bits(memory + DEVX_QUEUES, 0x20, 32, made->number << 8 | 1);
	put_bits(memory + DEVX_QUEUES, 0x58, 8, what);
	record = htobe32(what % 64);
	memcpy(memory + DEVX_RECORDS + 12, &record, sizeof(record));
	adapter_register((*u)->base_addr, 0x800, what << 8, made->number << 8);
}

static void write_registers(scene_t *s)
{
	const uint32_t i = fuzz_below(&s->in, N_SLOTS), at = fuzz_below(&s->in, SLOT_NBYTES - 64);

	if (s->umems[i])
		fuzz_bytes(&s->in, s->umem_memory[i] + at, fuzz_below(&s->in, 65));
}

static void channel(scene_t *s)
{
	struct mlx5dv_devx_event_channel **ch = SCENE_PICK(s, s->channels);
	const uint32_t flags = fuzz_below(&s->in, 2);

	if (*ch) {
		mlx5dv_devx_destroy_event_channel(*ch);
		*ch = NULL;
	} else {
		*ch = mlx5dv_devx_create_event_channel(scene_context(s), flags);
	}
}

static void subscribe(scene_t *s)
{
	struct mlx5dv_devx_event_channel **ch = SCENE_PICK(s, s->channels);
	const uint32_t kind = fuzz_below(&s->in, 4);
	made_t *made = SCENE_PICK(s, kind == 0 ? s->qps : kind == 1 ? s->cqs : s->mkeys);
	uint16_t types[3];

	for (uint32_t i = 0; i < 3; i++)
		types[i] = (uint16_t)fuzz_below(&s->in, 32);
	if (*ch)
		mlx5dv_devx_subscribe_devx_event(*ch, kind == 3 ? NULL : made->obj,
						 (uint16_t)fuzz_below(&s->in, 7), types, kind);
}

static void get_event(scene_t *s)
{
	struct mlx5dv_devx_event_channel **ch = SCENE_PICK(s, s->channels);
	const size_t nbytes = fuzz_below(&s->in, 128);
	struct mlx5dv_devx_async_event_hdr *header;

	if (!*ch)
		return;
	header = malloc(nbytes + 1);
	assert_non_null(header);
	mlx5dv_devx_get_event(*ch, header, nbytes);
	free(header);
}

static void step(scene_t *s)
{
	fuzz_step(&s->in);
}

static void run_until_idle(scene_t *s)
{
	(void)s;
	fuzz_run_until_idle();
}

static void control(scene_t *s)
{
	static const char *const lines[] = {
		"fail command status=5 n=1",
		"fail command opcode=0x500 status=8 n=2",
		"delay command ns=1000 n=3",
		"fail command status=3 after=2 n=1",
		"clear rules",
		"status",
		"port down",
		"port up",
	};

	fuzz_control(lines[fuzz_below(&s->in, 8)]);
}

scene_step_t *const scene_devx_steps[] = {
	step,  umem,    uar,       pd,          cq,
	qp,    mkey,    change_qp, connect_qps, query,
	query, ring,    general,   raw,         write_registers,
	ring,  channel, subscribe, get_event,   run_until_idle,
	mkey,  control,
};
const uint32_t scene_n_devx_steps = sizeof(scene_devx_steps) / sizeof(scene_devx_steps[0]);

static void end_all(made_t *slots, const char *kind)
{
	for (uint32_t i = 0; i < N_SLOTS; i++) {
		destroy(&slots[i]);
		if (slots[i].obj)
			fuzz_found("a %s cannot be destroyed: %s", kind, mlx5swi_refusal());
	}
}

void scene_end_devx(scene_t *s)
{
	end_all(s->qps, "QP");
	end_all(s->cqs, "CQ");
	end_all(s->mkeys, "mkey");
	end_all(s->pds, "PD");
	for (uint32_t i = 0; i < N_SLOTS; i++) {
		if (s->channels[i])
			mlx5dv_devx_destroy_event_channel(s->channels[i]);
		if (s->uars[i])
			mlx5dv_devx_free_uar(s->uars[i]);
		if (s->umems[i] && mlx5dv_devx_umem_dereg(s->umems[i]))
			fuzz_found("a umem cannot be destroyed: %s", mlx5swi_refusal());
		if (s->umems[i])
			free(s->umem_memory[i]);
	}
}
