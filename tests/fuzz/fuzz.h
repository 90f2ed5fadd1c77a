/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Programs that libFuzzer drives: bytes become what a program, or a peer, may do to the adapter,
 * right or wrong. Most steps are right ones that bytes spoil, so that inputs reach deep.
 *
 * Beside the sanitizers, each access of the device is checked: it may reach rings, records and
 * registered memory that exist at that moment, nothing else.
 *
 * tests/fuzz/corpus/NAME has inputs that reach what others do not; `./dev fuzz` starts from them
 * and keeps what it finds in build/fuzz/corpus/NAME. To take the best of these over:
 *   build/fuzz/tests/fuzz_NAME -merge=1 tests/fuzz/corpus/NAME build/fuzz/corpus/NAME */
#ifndef FUZZ_H
#define FUZZ_H

#include "fixture.h"

/* What is left of the input. Past its end everything is zero. */
typedef struct fuzz_input {
	const uint8_t *at, *end;
} fuzz_input_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int fuzz_has_more(const fuzz_input_t *in);
uint64_t fuzz_number(fuzz_input_t *in, unsigned nbytes);
uint32_t fuzz_below(fuzz_input_t *in, uint32_t n); /* n: 1 .. 2^16 */
void fuzz_bytes(fuzz_input_t *in, void *dst, size_t nbytes);
void fuzz_spoil(fuzz_input_t *in, uint8_t *bytes, size_t nbytes); /* some of them, or none */

/* A world of two hosts, with what the input chooses. */
void fuzz_start(fuzz_input_t *in);
void fuzz_step(fuzz_input_t *in);    /* some steps, or some time */
void fuzz_settle(void);              /* until nothing is left to do; it must come to that */
void fuzz_control(const char *line); /* the answer is not looked at */

/* Set around calls in which the verbs library, not the device, writes rings and records. */
extern int fuzz_is_library;

/* A finding, in words. */
_Noreturn void fuzz_found(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
