/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Doorbell registers: words of RAM that hold all ones while idle. The device takes a doorbell by an
 * exchange that leaves all ones, so that the same value, written again after that, is another
 * doorbell. Of two writes between two polls the device sees the second one only. */
#include <endian.h>
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/requester.h"

#define REGISTER 0x800u   /* also the first word of a BlueFlame write */
#define OTHER_HALF 0x100u /* offset of a BlueFlame register's second half from its first */
#define REGISTER_NO_RECORD 0x600u
#define N_WORDS (MLX5SWI_WQEBB / 8)
#define IDLE_HALF 0xffffffffu

/* The halves in memory order, converted to host order: index << 8, QPN << 8. */
typedef struct doorbell {
	uint32_t index, qpn;
} doorbell_t;

static doorbell_t split(uint64_t v)
{
	uint32_t half[2];

	memcpy(half, &v, sizeof(half));
	return (doorbell_t){be32toh(half[0]), be32toh(half[1])};
}

static const mlx5swi_qp_t *owner(const mlx5swi_device_t *dev, const mlx5swi_uar_t *uar,
				 uint32_t word)
{
	const mlx5swi_qp_t *qp = mlx5swi_table_get(&dev->qps, word >> 8);

	return qp && qp->uar == uar ? qp : NULL;
}

static void unknown(const mlx5swi_device_t *dev, const mlx5swi_uar_t *uar, doorbell_t d)
{
	const mlx5swi_qp_t *qp;

	if ((qp = owner(dev, uar, d.index)) != NULL)
		mlx5swi_lint("D6", qp, -1,
			     "doorbell 0x%08x 0x%08x: with its halves swapped it "
			     "would be valid",
			     d.index, d.qpn);
	else if ((qp = owner(dev, uar, be32toh(d.qpn))) != NULL)
		mlx5swi_lint("D6", qp, -1,
			     "doorbell 0x%08x 0x%08x: in big-endian order it would "
			     "be valid",
			     d.index, d.qpn);
	else
		mlx5swi_lint("D4", NULL, -1,
			     "host %u mlx5_%u: doorbell for QP 0x%x, which does not exist",
			     dev->host, dev->index, d.qpn >> 8);
}

/* Returns the QP that accepts this doorbell; NULL: none does. */
static mlx5swi_qp_t *addressee(mlx5swi_device_t *dev, const mlx5swi_uar_t *uar, uint32_t reg,
			       doorbell_t d)
{
	mlx5swi_qp_t *qp = mlx5swi_table_get(&dev->qps, d.qpn >> 8);

	if (!qp) {
		unknown(dev, uar, d);
		return NULL;
	}
	if (qp->uar == uar && qp->reg == uar->page + (reg & ~OTHER_HALF))
		return mlx5swi_fault_doorbell(qp) ? NULL : qp;
	qp->counters.dropped++;
	if (qp->uar != uar)
		mlx5swi_lint("D5", qp, -1, "rung by UAR 0x%x, its own is 0x%x", uar->id,
			     qp->uar->id);
	else
		mlx5swi_lint("D13", qp, -1,
			     "rung at +0x%x: its register is the one for queues "
			     "with%s doorbell records",
			     reg, qp->has_no_dbr ? "out" : "");
	return NULL;
}

/* Take the words of a BlueFlame write after the first one. Words that arrive late are discarded:
 * they do not belong to a later doorbell. */
static bool take_rest(mlx5swi_uar_t *uar, uint32_t reg, uint64_t words[N_WORDS])
{
	uint8_t *left = &uar->blueflame_left[reg != REGISTER];

	for (uint32_t i = 1; i < N_WORDS; i++) {
		if (!(*left & 1u << i))
			continue;
		words[i] = mlx5swi_take(uar->page + reg + 8 * i);
		if (words[i] != MLX5SWI_NO_DOORBELL)
			*left &= (uint8_t) ~(1u << i);
	}
	return *left == 0;
}

/* A BlueFlame write starts with the doorbell and may contain the rest of the WQEBB. */
static void ring(mlx5swi_uar_t *uar, uint32_t reg, uint64_t v)
{
	const doorbell_t d = split(v);
	const uint16_t index = (uint16_t)(d.index >> 8);
	mlx5swi_qp_t *qp = addressee(uar->ctx->dev, uar, reg, d);
	uint64_t words[N_WORDS] = {v};

	if ((d.qpn & 0x3f) && reg != REGISTER_NO_RECORD) {
		uar->blueflame_left[reg != REGISTER] = 0xfe;
		if (take_rest(uar, reg, words) && qp)
			mlx5swi_requester_blueflame(qp, index, words);
	}
	if (qp)
		mlx5swi_requester_doorbell(qp, index);
}

/* Combine the halves of a doorbell: a first half waits for the second. Software that writes halves
 * is wrong, and rings once or twice. *half holds the complement, so that zero means empty. */
static uint64_t whole(uint64_t *half, uint64_t v)
{
	doorbell_t d;

	v &= ~*half;
	*half = 0;
	d = split(v);
	if (d.index != IDLE_HALF && d.qpn != IDLE_HALF)
		return v;
	mlx5swi_lint("D7", NULL, -1,
		     "half a doorbell, 0x%08x 0x%08x: write it with one store of 8 bytes", d.index,
		     d.qpn);
	if (mlx5swi_has_chaos(MLX5SW_CHAOS_ORDER) && mlx5swi_choose(2))
		return v;
	*half = ~v;
	return MLX5SWI_NO_DOORBELL;
}

/* The doorbell record has this index: may a doorbell for it have been replaced in the register?
 * Not if the device took that doorbell, nor if the index is 0 and the queue was never rung: its
 * record is 0 until then. */
static bool may_have_been_replaced(const mlx5swi_qp_t *qp, uint16_t index)
{
	return index != qp->requester->last_index && (index || qp->requester->is_rung);
}

/* A register is a word of RAM: a doorbell replaces that of another queue pair which the device has
 * not taken yet. A NIC receives both. So the record of each queue pair that shares the register
 * counts as a doorbell. Without a record nothing tells what was replaced. */
static void ring_replaced(const mlx5swi_uar_t *uar)
{
	for (mlx5swi_qp_t *qp = uar->qps; qp; qp = qp->next_of_uar) {
		uint16_t index;

		if (qp->has_no_dbr || (qp->state != MLX5SWI_RTS && qp->state != MLX5SWI_ERR))
			continue;
		index = mlx5swi_record(qp);
		if (may_have_been_replaced(qp, index))
			mlx5swi_requester_doorbell(qp, index);
	}
}

static void poll(mlx5swi_uar_t *uar, uint32_t reg, uint64_t *half)
{
	uint64_t v = mlx5swi_take(uar->page + reg);

	if (v == MLX5SWI_NO_DOORBELL)
		return;
	v = whole(half, v);
	if (v == MLX5SWI_NO_DOORBELL)
		return;
	ring(uar, reg, v);
	if (uar->qps && uar->qps->next_of_uar)
		ring_replaced(uar);
}

static void poll_register(mlx5swi_uar_t *uar, uint32_t reg)
{
	uint64_t late[N_WORDS];

	if (uar->blueflame_left[reg != REGISTER])
		take_rest(uar, reg, late);
	poll(uar, reg, &uar->half[reg != REGISTER]);
}

void mlx5swi_doorbells_take(mlx5swi_uar_t *uar)
{
	poll_register(uar, REGISTER);
	if (uar->has_blueflame)
		poll_register(uar, REGISTER + OTHER_HALF);
	if (mlx5swi_w->cfg.has_no_dbr)
		poll(uar, REGISTER_NO_RECORD, &uar->half[2]);
}

void mlx5swi_doorbells_poll(mlx5swi_device_t *dev)
{
	for (uint32_t i = 0; i < dev->uars.n; i++)
		if (dev->uars.at[i])
			mlx5swi_doorbells_take(dev->uars.at[i]);
}
