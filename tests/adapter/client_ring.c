/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Clients: the rings. WQEs are built in private memory, then copied, because a WQE that starts in
 * the ring's last WQEBB continues in its first. */
#include <stdatomic.h>
#include "client.h"

wqe_t wqe_make(uint8_t opcode, uint8_t opmod, uint8_t flags)
{
	return (wqe_t){.opcode = opcode,
		       .opmod = opmod,
		       .flags = flags,
		       .nbytes = sizeof(struct mlx5_wqe_ctrl_seg)};
}

static void *wqe_append(wqe_t *w, unsigned nbytes)
{
	void *segment = w->bytes + w->nbytes;

	w->nbytes += nbytes;
	must(w->nbytes <= sizeof(w->bytes), "a WQE this long");
	return segment;
}

void wqe_remote(wqe_t *w, const void *address, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *segment = wqe_append(w, sizeof(*segment));

	segment->raddr = htobe64((uintptr_t)address);
	segment->rkey = htobe32(rkey);
}

void wqe_local(wqe_t *w, const void *address, uint32_t nbytes, uint32_t lkey)
{
	struct mlx5_wqe_data_seg *segment = wqe_append(w, sizeof(*segment));

	mlx5dv_set_data_seg(segment, nbytes, lkey, (uintptr_t)address);
}

/* The length, the bytes, then padding to whole segments of 16 bytes. */
void wqe_inline(wqe_t *w, const void *bytes, uint32_t nbytes)
{
	struct mlx5_wqe_inl_data_seg *segment =
		wqe_append(w, (sizeof(*segment) + nbytes + 15) & ~15u);

	segment->byte_count = htobe32(nbytes | MLX5_INLINE_SEG);
	memcpy(segment + 1, bytes, nbytes);
}

void wqe_u32(wqe_t *w, uint32_t value)
{
	__be32 *word = wqe_append(w, sizeof(*word));

	*word = htobe32(value);
}

void wqe_u64(wqe_t *w, uint64_t value)
{
	__be64 *word = wqe_append(w, sizeof(*word));

	*word = htobe64(value);
}

uint16_t sq_post(send_queue_t *sq, wqe_t *w)
{
	uint16_t first = sq->posted;
	unsigned done;

	mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)w->bytes, first, w->opcode, w->opmod,
			    sq->qpn, w->flags, (uint8_t)(w->nbytes / 16), 0, w->imm);
	memcpy(&sq->last, w->bytes, sizeof(sq->last));
	for (done = 0; done < w->nbytes; done += MLX5_SEND_WQE_BB)
		memcpy(sq->wqebbs + sq->posted++ % sq->n_wqebbs * MLX5_SEND_WQE_BB, w->bytes + done,
		       MLX5_SEND_WQE_BB);
	return first;
}

/* The device may read the ring when it reads the new record, and the record when it reads the
 * doorbell: each is stored after the data that it announces. */
static void sq_publish(send_queue_t *sq)
{
	atomic_thread_fence(memory_order_seq_cst);
	*(volatile __be32 *)&sq->record[MLX5_SND_DBR] = htobe32(sq->posted);
	atomic_thread_fence(memory_order_seq_cst);
}

/* Doorbells alternate between the halves of a BlueFlame register. */
static void sq_next_half(send_queue_t *sq)
{
	atomic_thread_fence(memory_order_seq_cst);
	sq->doorbell = (uint8_t *)((uintptr_t)sq->doorbell ^ sq->bf_nbytes);
}

void sq_ring(send_queue_t *sq)
{
	sq_publish(sq);
	*(volatile uint64_t *)sq->doorbell = sq->last;
	sq_next_half(sq);
}

void sq_ring_blueflame(send_queue_t *sq)
{
	uint32_t last = (uint16_t)(sq->posted - 1) % sq->n_wqebbs;
	const uint8_t *wqebb = sq->wqebbs + last * MLX5_SEND_WQE_BB;
	uint64_t word;
	unsigned i;

	sq_publish(sq);
	for (i = 0; i < MLX5_SEND_WQE_BB; i += sizeof(word)) {
		memcpy(&word, wqebb + i, sizeof(word));
		*(volatile uint64_t *)(sq->doorbell + i) = word;
	}
	sq_next_half(sq);
}

/* A list of segments that ends at once. */
uint16_t rq_post(recv_queue_t *rq)
{
	uint16_t index = rq->posted++;

	mlx5dv_set_data_seg((void *)(rq->wqes + index % rq->nwqes * rq->stride), 0,
			    MLX5_INVALID_LKEY, 0);
	atomic_thread_fence(memory_order_seq_cst);
	*(volatile __be32 *)&rq->record[MLX5_RCV_DBR] = htobe32(rq->posted);
	return index;
}

/* The last 8 bytes of a CQE become visible at once, and after the others. */
static struct mlx5_cqe64 cqe_read(const struct mlx5_cqe64 *slot)
{
	const size_t tail = offsetof(struct mlx5_cqe64, sop_drop_qpn);
	const volatile uint8_t *address = (const volatile uint8_t *)slot + tail;
	uint64_t word = *(const volatile uint64_t *)address;
	struct mlx5_cqe64 cqe;

	atomic_thread_fence(memory_order_acquire);
	memcpy(&cqe, slot, tail);
	memcpy((uint8_t *)&cqe + tail, &word, sizeof(word));
	return cqe;
}

static struct mlx5_cqe64 cq_next(const comp_queue_t *cq)
{
	return cqe_read(cq->cqes + (cq->collapsed ? 0 : cq->consumed % cq->ncqes));
}

/* The owner bit changes with each turn of the ring. */
static bool cqe_is_new(const comp_queue_t *cq, struct mlx5_cqe64 *cqe)
{
	if (mlx5dv_get_cqe_opcode(cqe) == MLX5_CQE_INVALID)
		return false;
	return mlx5dv_get_cqe_owner(cqe) == (cq->consumed / cq->ncqes & 1);
}

bool cq_has(const comp_queue_t *cq)
{
	struct mlx5_cqe64 cqe = cq_next(cq);

	return cqe_is_new(cq, &cqe);
}

static completion_t cqe_decode(const struct mlx5_cqe64 *cqe)
{
	const struct mlx5_err_cqe *error = (const struct mlx5_err_cqe *)cqe;
	uint32_t opcode_qpn = be32toh(cqe->sop_drop_qpn);
	completion_t c = {.opcode = cqe->op_own >> 4,
			  .wqe_opcode = (uint8_t)(opcode_qpn >> 24),
			  .counter = be16toh(cqe->wqe_counter),
			  .qpn = opcode_qpn & 0xffffff};

	if (c.opcode == MLX5_CQE_REQ_ERR || c.opcode == MLX5_CQE_RESP_ERR) {
		c.syndrome = error->syndrome;
		c.vendor = error->vendor_err_synd;
	} else {
		c.nbytes = be32toh(cqe->byte_cnt);
		c.imm = cqe->imm_inval_pkey;
	}
	return c;
}

static void cq_consume(comp_queue_t *cq)
{
	cq->consumed++;
	*(volatile __be32 *)&cq->record[0] = htobe32(cq->consumed & 0xffffff);
}

completion_t cq_wait(comp_queue_t *cq, const char *what, uint16_t counter)
{
	patience_t p = patience(what);
	completion_t c;

	for (;;) {
		struct mlx5_cqe64 cqe = cq_next(cq);

		c = cqe_decode(&cqe);
		if (cq->collapsed && c.opcode != MLX5_CQE_INVALID && c.counter == counter)
			return c;
		if (!cq->collapsed && cqe_is_new(cq, &cqe))
			break;
		patient(&p);
	}
	cq_consume(cq);
	same(what, counter, c.counter);
	return c;
}
