/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Data from peers that do not follow the format, or follow it with wrong values: frames of a TCP
 * connection, a ring in shared memory, packets that are nearly right for a queue pair. */
#include "fuzz.h"

/* Include the sources, so that receiving needs neither a socket nor a file. */
#include "mlx5sw/link/shm.c"
#include "mlx5sw/link/tcp.c"

#define WIRE_NBYTES (sizeof(mlx5swi_packet_t) + 1024)

typedef struct scene {
	fuzz_input_t in;
	adapter_end_t a, b, others[2];
	uint8_t wire[WIRE_NBYTES];
	in_t connection;
	ring_t *ring;
} scene_t;

/* Make a packet of any kind from b to a, near what a expects, then modify it. Returns its length.
 */
static uint32_t make_packet(scene_t *s)
{
	fuzz_input_t *in = &s->in;
	const uint32_t nbytes = fuzz_below(in, 4) ? fuzz_below(in, 64) : 1024;
	const int kind = (int)fuzz_below(in, MLX5SWI_ACK + 1);
	mlx5swi_packet_t *p = mlx5swi_packet_new(s->b.qp, kind, nbytes);
	mlx5swi_receive_state_t receiver;
	size_t n;

	assert_non_null(p);
	mlx5swi_responder_query(s->a.qp, &receiver);
	p->flags = (uint8_t)fuzz_below(in, 32);
	p->nak = (uint8_t)fuzz_below(in, 8);
	p->psn = kind <= MLX5SWI_ATOMIC ? receiver.next_rcv_psn
					: adapter_send_state(&s->a).last_acked_psn + 1;
	p->psn = mlx5swi_psn_add(p->psn, fuzz_below(in, 8) + 0xfffffe);
	p->raddr = (uintptr_t)s->a.memory + 8 * fuzz_below(in, 16);
	p->rkey = s->a.mr->rkey;
	p->dma_nbytes = fuzz_below(in, 8) ? nbytes : fuzz_below(in, 5000);
	p->opcode = (uint8_t)(OP_CS + fuzz_below(in, 8));
	p->width = (uint8_t)(4 + 4 * fuzz_below(in, 2));
	memset(p->data, 0x5a, nbytes);
	n = mlx5swi_packet_wire_nbytes(p);
	fuzz_spoil(in, &p->kind, n);
	memcpy(s->wire, &p->kind, n);
	mlx5swi_packet_free(p);
	return (uint32_t)n;
}

/* Put bytes into the connection's buffer, as receive() would. */
static void receive_bytes(scene_t *s, const void *bytes, size_t nbytes)
{
	in_t *c = &s->connection;

	if (nbytes > sizeof(c->bytes) - c->n)
		nbytes = sizeof(c->bytes) - c->n;
	memcpy(c->bytes + c->n, bytes, nbytes);
	c->n += nbytes;
	if (take_frames(c) < 0)
		c->n = 0; /* a new connection */
}

static void by_tcp(scene_t *s)
{
	const uint32_t nbytes = make_packet(s), length = htonl(nbytes);

	receive_bytes(s, &length, sizeof(length));
	receive_bytes(s, s->wire, nbytes);
}

static void by_tcp_raw(scene_t *s)
{
	uint8_t bytes[64];
	const uint32_t nbytes = fuzz_below(&s->in, sizeof(bytes));

	fuzz_bytes(&s->in, bytes, nbytes);
	receive_bytes(s, bytes, nbytes);
}

static void take_all(scene_t *s)
{
	for (uint32_t n = 0; get(s->ring); n++)
		if (n > BYTES_NBYTES / sizeof(record_t))
			fuzz_found("a ring returns more packets than it holds");
}

static void by_shm(scene_t *s)
{
	mlx5swi_packet_t *p;
	const uint32_t nbytes = make_packet(s);

	p = mlx5swi_packet_from_wire(s->wire, nbytes);
	if (p && put(s->ring, p))
		take_all(s);
	if (p)
		mlx5swi_packet_free(p);
}

/* Write bytes at the tail, after a length that may be wrong. */
static void by_shm_raw(scene_t *s)
{
	const uint32_t n = fuzz_below(&s->in, 64);
	const uint64_t at = s->ring->tail % BYTES_NBYTES;

	if (at + n <= BYTES_NBYTES)
		fuzz_bytes(&s->in, s->ring->bytes + at, n);
	s->ring->tail += fuzz_below(&s->in, 2) ? (n + 7) / 8 * 8 : fuzz_number(&s->in, 3) * 8;
	take_all(s);
}

static void near_end_of_ring(scene_t *s)
{
	s->ring->tail += BYTES_NBYTES - s->ring->tail % BYTES_NBYTES - 8 * fuzz_below(&s->in, 32);
	s->ring->head = s->ring->tail;
}

/* Post requests of a, whose responses are then modified. */
static void ask(scene_t *s)
{
	const uint64_t operand = 1;

	if ((uint16_t)(s->a.pi - adapter_send_state(&s->a).hw_counter) >= s->a.sq_wqebbs - 2)
		return;
	adapter_read(&s->a, &s->b, 0, 64, 1 + fuzz_below(&s->in, 4000), SIGNALLED);
	adapter_atomic(&s->a, &s->b, OP_FA, 8, &operand, 0, 8, SIGNALLED);
	adapter_ring(&s->a);
}

static void step(scene_t *s)
{
	fuzz_step(&s->in);
}

static void (*const steps[])(scene_t *s) = {
	step, by_tcp, by_tcp_raw, by_shm, by_shm_raw, near_end_of_ring, ask, by_tcp,
};

/* Packets of a peer never change memory of another protection domain. */
static void check_others(const scene_t *s)
{
	static const uint8_t none[ADAPTER_NBYTES];

	for (uint32_t i = 0; i < 2; i++)
		if (memcmp(s->others[i].memory, none, sizeof(none)) != 0)
			fuzz_found("memory of another protection domain was written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	static scene_t s;

	memset(&s, 0, offsetof(scene_t, connection));
	s.connection.n = 0;
	s.in = (fuzz_input_t){data, data + nbytes};
	/* exact size, so that accesses beyond it are detected */
	s.ring = aligned_alloc(64, sizeof(*s.ring));
	assert_non_null(s.ring);
	memset(s.ring, 0, sizeof(*s.ring));
	fuzz_start(&s.in);
	adapter_pair(&s.a, &s.b);
	adapter_pair(&s.others[0], &s.others[1]);
	while (fuzz_has_more(&s.in))
		steps[fuzz_below(&s.in, sizeof(steps) / sizeof(steps[0]))](&s);
	fuzz_run_until_idle();
	check_others(&s);
	adapter_stop();
	free(s.ring);
	return 0;
}
