/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* stream.h: each call, in the order of a stream, three times; on GPUs the second and the third time
 * as a replayed CUDA graph. shmemd_launch_resident. */
#include <shmem_dev/stream.h>
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "sanitized.h"

#define ROUNDS 3
#define SMALL 600                          /* bytes */
#define LARGE (SANITIZED ? 70000 : 200000) /* several blocks; put_signal by two kernels */

typedef struct buffers {
	char *src, *dst, *got; /* [LARGE] symmetric */
	uint64_t *sig;         /* [2] symmetric: of the data, and alone */
	uint64_t *round;       /* [1] rounds that the kernels have begun */
	uint64_t *taken;       /* [1] signals that kernels have found after the wait for them */
} buffers_t;

typedef struct fill_params {
	char *src;
	uint64_t *round;
	size_t nbytes;
	int pe;
} fill_params_t;

/* As pes_pattern, also on the device. */
SHMEMD_FN unsigned char pattern(int pe, size_t i)
{
	return (unsigned char)(((uint32_t)i * 2654435761u >> 13) + (uint32_t)pe * 31u + 7u);
}

/* What round r sends: a kernel in the graph counts the rounds. */
SHMEMD_KERNEL(fill_kernel, fill_params_t, p)
{
	uint64_t round = *p.round;
	size_t i;

	shmemd_group_sync(shmemd_block());
	if (shmemd_thread_index() == 0)
		*p.round = round + 1;
	for (i = shmemd_thread_index(); i < p.nbytes; i += shmemd_n_threads())
		p.src[i] = (char)pattern(p.pe, i + round * 7);
}

typedef struct take_params {
	uint64_t *sig, *taken;
} take_params_t;

/* Count the signals and set the word to 0, so that the wait of the next round waits, too. The next
 * one is sent after a barrier that follows on the stream. */
SHMEMD_KERNEL(take_kernel, take_params_t, p)
{
	*p.taken += shmemd_arch_ld_relaxed_u64(p.sig);
	shmemd_arch_st_relaxed_u64(p.sig, 0);
}

static int buffers(pes_t *pes, buffers_t *b)
{
	PES_ALLOC(pes, b->src, char, LARGE, 0);
	PES_ALLOC(pes, b->dst, char, LARGE, 0);
	PES_ALLOC(pes, b->got, char, LARGE, 0);
	PES_ALLOC(pes, b->sig, uint64_t, 2, 0);
	PES_ALLOC(pes, b->round, uint64_t, 1, 0);
	PES_ALLOC(pes, b->taken, uint64_t, 1, 0);
	return 0;
}

/* One round on the stream: send to the next PE in one of two ways, read back from it, signal the
 * PE before. Signals are added to, and that which is waited for is taken, so that a graph need not
 * know the round. */
static int round_on(pes_t *pes, const buffers_t *b, size_t nbytes, int by_signal,
		    shmemd_stream_t stream)
{
	fill_params_t fill = {b->src, b->round, nbytes, pes->pe};
	take_params_t take = {&b->sig[1], b->taken};
	int next = (pes->pe + 1) % pes->n_pes, before = (pes->pe + pes->n_pes - 1) % pes->n_pes;
	const shmemd_ctx_t *ctx = &pes->ctx;

	PES_TRY(pes, run_device(shmemd_launch(fill_kernel, 1, 64, 0, stream, fill)));
	PES_TRY(pes, run_device(shmemd_sync_on_stream(ctx, stream)));
	if (by_signal)
		PES_TRY(pes, run_device(shmemd_putmem_signal_on_stream(
				     ctx, b->dst, b->src, nbytes, &b->sig[0], 1, SHMEMD_SIGNAL_ADD,
				     next, stream)));
	else
		PES_TRY(pes, run_device(shmemd_putmem_on_stream(ctx, b->dst, b->src, nbytes, next,
								stream)));
	PES_TRY(pes, run_device(shmemd_quiet_on_stream(ctx, stream)));
	PES_TRY(pes, run_device(shmemd_signal_op_on_stream(ctx, &b->sig[1], 1, SHMEMD_SIGNAL_ADD,
							   before, stream)));
	PES_TRY(pes, run_device(shmemd_signal_wait_until_on_stream(ctx, &b->sig[1], SHMEMD_CMP_GE,
								   1, stream)));
	PES_TRY(pes, run_device(shmemd_launch(take_kernel, 1, 1, 0, stream, take)));
	PES_TRY(pes, run_device(shmemd_barrier_on_stream(ctx, stream)));
	PES_TRY(pes,
		run_device(shmemd_getmem_on_stream(ctx, b->got, b->dst, nbytes, next, stream)));
	PES_TRY(pes, run_device(shmemd_barrier_on_stream(ctx, stream)));
	return 0;
}

static int check_round(pes_t *pes, const buffers_t *b, size_t nbytes, uint64_t round, int by_signal)
{
	int before = (pes->pe + pes->n_pes - 1) % pes->n_pes;
	char *dst = (char *)pes_read(pes, b->dst, nbytes);
	char *got = (char *)pes_read(pes, b->got, nbytes);
	uint64_t *sig = (uint64_t *)pes_read(pes, b->sig, 2 * sizeof(*sig));
	uint64_t *taken = (uint64_t *)pes_read(pes, b->taken, sizeof(*taken));
	char *want = (char *)malloc(nbytes);
	size_t i;

	if (dst == NULL || got == NULL || sig == NULL || taken == NULL || want == NULL) {
		free(want);
		return 1;
	}
	for (i = 0; i < nbytes; i++)
		want[i] = (char)pes_pattern(before, i + round * 7);
	pes_bytes(pes, dst, want, nbytes, "dst", __FILE__, __LINE__);
	for (i = 0; i < nbytes; i++)
		want[i] = (char)pes_pattern(pes->pe, i + round * 7);
	pes_bytes(pes, got, want, nbytes, "got", __FILE__, __LINE__);
	PES_EQ(pes, sig[0], by_signal ? round + 1 : 0);
	PES_EQ(pes, *taken, round + 1);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	free(want);
	return 0;
}

#ifdef __CUDACC__

typedef cudaGraphExec_t graph_t;

static int capture(pes_t *pes, const buffers_t *b, size_t nbytes, int by_signal,
		   shmemd_stream_t stream, graph_t *exec)
{
	cudaGraph_t graph;

	PES_TRY(pes, run_device(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)));
	if (round_on(pes, b, nbytes, by_signal, stream))
		return 1;
	PES_TRY(pes, run_device(cudaStreamEndCapture(stream, &graph)));
	PES_TRY(pes, run_device(cudaGraphInstantiate(exec, graph, 0)));
	PES_TRY(pes, run_device(cudaGraphDestroy(graph)));
	return 0;
}

static int replay(pes_t *pes, graph_t exec, shmemd_stream_t stream)
{
	PES_TRY(pes, run_device(cudaGraphLaunch(exec, stream)));
	return 0;
}

#endif

static int rounds(pes_t *pes, size_t nbytes, int by_signal)
{
	shmemd_stream_t stream;
	buffers_t b;
	uint64_t round;
#ifdef __CUDACC__
	graph_t exec;
#endif

	if (buffers(pes, &b))
		return 1;
	PES_TRY(pes, run_device(shmemd_stream_prepare()));
	PES_TRY(pes, run_stream_open(&stream));
#ifdef __CUDACC__
	if (capture(pes, &b, nbytes, by_signal, stream, &exec))
		return 1;
#endif
	for (round = 0; round < ROUNDS; round++) {
#ifdef __CUDACC__
		if (round > 0 ? replay(pes, exec, stream)
			      : round_on(pes, &b, nbytes, by_signal, stream))
			return 1;
#else
		if (round_on(pes, &b, nbytes, by_signal, stream))
			return 1;
#endif
		PES_TRY(pes, run_device(shmemd_stream_sync(stream)));
		if (check_round(pes, &b, nbytes, round, by_signal))
			return 1;
		PES_TRY(pes, shmemh_barrier(pes->job));
	}
#ifdef __CUDACC__
	PES_TRY(pes, run_device(cudaGraphExecDestroy(exec)));
#endif
	run_stream_close(stream);
	return 0;
}

static int puts_small(pes_t *pes)
{
	return rounds(pes, SMALL, 0);
}

static int puts_large(pes_t *pes)
{
	return pes->seed ? 0 : rounds(pes, LARGE, 0);
}

static int signals_small(pes_t *pes)
{
	return rounds(pes, SMALL, 1);
}

static int signals_large(pes_t *pes)
{
	return pes->seed ? 0 : rounds(pes, LARGE, 1);
}

/* Refused on the host, in every build; nothing is launched. */
static int refused(pes_t *pes)
{
	const shmemd_ctx_t *ctx = &pes->ctx;
	shmemd_ctx_t zero;
	buffers_t b;

	if (buffers(pes, &b))
		return 1;
	memset(&zero, 0, sizeof(zero));
	PES_EQ(pes, shmemd_barrier_on_stream(&zero, NULL), SHMEMD_ERR_BAD_CONTEXT);
	PES_EQ(pes, shmemd_putmem_on_stream(ctx, b.dst, b.src, 8, pes->n_pes, NULL),
	       SHMEMD_ERR_BAD_PE);
	PES_EQ(pes, shmemd_getmem_on_stream(ctx, b.dst, b.src, 8, -1, NULL), SHMEMD_ERR_BAD_PE);
	PES_EQ(pes, shmemd_signal_op_on_stream(ctx, b.sig, 1, 2, 0, NULL), SHMEMD_ERR_BAD_ARGUMENT);
	PES_EQ(pes, shmemd_putmem_signal_on_stream(ctx, b.dst, b.src, 8, b.sig, 1, -1, 0, NULL),
	       SHMEMD_ERR_BAD_ARGUMENT);
	PES_EQ(pes, shmemd_signal_wait_until_on_stream(ctx, b.sig, 6, 1, NULL),
	       SHMEMD_ERR_BAD_ARGUMENT);
	PES_TRY(pes, run_device(shmemd_stream_sync(NULL)));
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	return 0;
}

typedef struct meet_params {
	uint32_t *count;
	int *status;
} meet_params_t;

/* All blocks wait for each other. */
SHMEMD_KERNEL(meet_kernel, meet_params_t, p)
{
	if (shmemd_thread_index() != 0)
		return;
	shmemd_arch_atom_add_u32(p.count, 1);
	while (shmemd_arch_ld_relaxed_u32(p.count) < shmemd_n_blocks())
		shmemd_arch_spin_hint();
}

static int resident(pes_t *pes)
{
	meet_params_t p;
	uint32_t n = 0, *count;

	PES_ALLOC(pes, p.count, uint32_t, 1, 0);
	p.status = pes->status;
	PES_TRY(pes, run_device(shmemd_resident_blocks(meet_kernel, 64, 0, &n)));
	PES_CHECK(pes, n > 0);
	PES_CHECK(pes, shmemd_launch_resident(meet_kernel, n + 1, 64, 0, NULL, p) != 0);
#ifndef __CUDACC__ /* the emulator would make as many fibers */
	n = 16;
#endif
	/* One PE after the other: PEs may share a GPU, and two kernels, each of which fills it,
	 * could have half of their blocks there and wait for the other half. */
	for (int turn = 0; turn < pes->n_pes; turn++) {
		if (turn == pes->pe) {
			int code = shmemd_launch_resident(meet_kernel, n, 64, 0, NULL, p);

			PES_TRY(pes, run_device(code));
		}
		if (pes_finish(pes, __FILE__, __LINE__) != 0)
			return 1;
	}
	count = (uint32_t *)pes_read(pes, p.count, sizeof(*count));
	if (count != NULL)
		PES_EQ(pes, *count, n);
	return 0;
}

#ifdef __CUDACC__

/* A launch leaves no error behind, and does not return one that somebody else left. */
static int last_error(pes_t *pes)
{
	meet_params_t p;
	uint32_t n;

	PES_ALLOC(pes, p.count, uint32_t, 1, 0);
	p.status = pes->status;
	PES_CHECK(pes, shmemd_launch(meet_kernel, 1, 4096, 0, NULL, p) != 0);
	PES_CHECK(pes, shmemd_launch_resident(meet_kernel, 1, 4096, 0, NULL, p) != 0);
	PES_CHECK(pes, shmemd_resident_blocks(NULL, 64, 0, &n) != 0);
	PES_CHECK(pes, cudaPeekAtLastError() == cudaSuccess);
	(void)cudaSetDevice(-1);
	PES_TRY(pes, run_device(shmemd_launch(meet_kernel, 1, 64, 0, NULL, p)));
	PES_CHECK(pes, cudaGetLastError() == cudaErrorInvalidDevice);
	PES_TRY(pes, run_device(shmemd_stream_sync(NULL)));
	return 0;
}

#endif

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(puts_small),    PES_TEST(puts_large), PES_TEST(signals_small),
		PES_TEST(signals_large), PES_TEST(refused),    PES_TEST(resident),
#ifdef __CUDACC__
		PES_TEST(last_error),
#endif
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
