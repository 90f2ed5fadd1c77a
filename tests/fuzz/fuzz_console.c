/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Control lines, with traffic in between. An answer never exceeds its buffer. */
#include "fuzz.h"

#include <stdlib.h>

#define LONG_LINE 600u /* longer than what is accepted */

static void say(fuzz_input_t *in)
{
	const size_t nbytes = fuzz_below(in, 64) * fuzz_below(in, 16);
	char line[LONG_LINE], *answer = malloc(nbytes + 1);
	size_t n = 0;
	int status;

	assert_non_null(answer);
	while (n < LONG_LINE - 1 && fuzz_has_more(in) && (line[n] = (char)*in->at++) != '\n')
		n++;
	line[n] = 0;
	status = mlx5sw_control(line, nbytes ? answer : NULL, nbytes);
	if (nbytes && !memchr(answer, 0, nbytes))
		fuzz_found("an answer is not terminated");
	if (status && nbytes > 64 && !*answer)
		fuzz_found("'%s' was refused without an answer", line);
	free(answer);
}

static void send_traffic(adapter_end_t *a, adapter_end_t *b)
{
	const uint64_t operand = 1;

	if (a->pi - a->qp->counters.wqebbs < a->sq_wqebbs - 4) {
		adapter_write(a, b, 0, 64, 3000, SIGNALLED);
		adapter_read(a, b, 8, 128, 2000, SIGNALLED);
		adapter_atomic(a, b, OP_FA, 8, &operand, 16, 16, SIGNALLED);
	}
	adapter_ring(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	fuzz_input_t in = {data, data + nbytes};
	adapter_end_t a, b;

	fuzz_start(&in);
	adapter_pair(&a, &b);
	while (fuzz_has_more(&in)) {
		const uint32_t what = fuzz_below(&in, 8);

		say(&in);
		if (what & 1)
			send_traffic(&a, &b);
		if (what & 2)
			send_traffic(&b, &a);
		if (what & 4)
			fuzz_step(&in);
	}
	fuzz_run_until_idle();
	adapter_stop();
	return 0;
}
