/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The tokens of low_latency_send, by formula: what each PE sends in a step, and the expected
 * results. */
#ifndef EXAMPLES_WORKLOAD_H
#define EXAMPLES_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPERTS 4 /* of each PE */
#define TOP_K 4
#define MAX_TOKENS 128 /* of a PE in a step */
#define STEPS 8
#define ROW_NELEMS 260 /* the token's number, then its payload */
#define ROW_NBYTES (ROW_NELEMS * sizeof(uint32_t))

/* One element of a row: a macro, for host and device. */
#define ELEMENT(pe, token, i, step)                                                                \
	((i) == 0                                                                                  \
		 ? (token)                                                                         \
		 : (uint32_t)(pe)*1000003u + (token)*10007u + (i) * (i) + (uint32_t)(step)*65537u)

/* The tokens of a PE in a step, and their experts, all different; a pure function of its arguments.
 * Some PEs have none in some steps. Returns the number of tokens. */
static uint32_t route(int pe, uint64_t step, int n, uint32_t *experts)
{
	uint32_t n_experts = (uint32_t)n * EXPERTS, n_tokens, i, j, k;
	uint64_t x = (step * 1024 + (uint64_t)pe) * 2654435761u + 1;

	n_tokens =
		step % ((uint64_t)n + 1) == (uint64_t)pe ? 0 : 1 + (uint32_t)(x >> 7) % MAX_TOKENS;
	for (i = 0; i < n_tokens; i++, experts += TOP_K) {
		for (j = 0; j < TOP_K; j++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			experts[j] = (uint32_t)(x >> 33) % n_experts;
			for (k = 0; k < j; k++) {
				if (experts[k] != experts[j])
					continue;
				experts[j] = (experts[j] + 1) % n_experts;
				k = (uint32_t)-1; /* examine all again */
			}
		}
	}
	return n_tokens;
}

typedef struct tally {
	int checks, passed;
} tally_t;

static int row_is_right(const uint32_t *out, int from, uint32_t token, uint64_t step)
{
	uint32_t i;

	for (i = 0; i < ROW_NELEMS; i++) {
		if (out[i] != ELEMENT(from, token, i, step))
			return 0;
	}
	return 1;
}

/* Compare out and ranges with what all PEs sent in a step. */
static void check(const uint32_t *out, const uint64_t *ranges, int me, int n, uint64_t step,
		  tally_t *tally)
{
	uint32_t experts[MAX_TOKENS * TOP_K], end[EXPERTS] = {0}, begin[EXPERTS], n_tokens, i, e;
	int from;

	for (from = 0; from < n; from++) {
		n_tokens = route(from, step, n, experts);
		memcpy(begin, end, sizeof(begin));
		for (i = 0; i < n_tokens * TOP_K; i++) {
			e = experts[i] - (uint32_t)me * EXPERTS;
			if (e >= EXPERTS)
				continue;
			tally->checks++;
			tally->passed += row_is_right(
				out + ((size_t)e * (size_t)n * MAX_TOKENS + end[e]++) * ROW_NELEMS,
				from, i / TOP_K, step);
		}
		for (e = 0; e < EXPERTS; e++) {
			tally->checks++;
			tally->passed += ranges[e * (uint32_t)n + (uint32_t)from] ==
					 ((uint64_t)begin[e] << 32 | (end[e] - begin[e]));
		}
	}
}

#endif
