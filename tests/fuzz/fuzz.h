/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Programs for libFuzzer: input bytes are converted to actions of a program, or of a peer, on the
 * adapter or (fuzz_frames) on an agent of fail-over, right or wrong. Most actions are right ones
 * that some bytes modify, so that inputs reach deep states.
 *
 * Besides the sanitizers, each access of the device is checked: it may access rings, records and
 * registered memory that exist at that moment, and nothing else.
 *
 * tests/fuzz/corpus/NAME has inputs that reach distinct states; `./dev fuzz` starts from them and
 * keeps new ones in build/fuzz/corpus/NAME. To add the best of these:
 *   build/fuzz/tests/fuzz_NAME -merge=1 tests/fuzz/corpus/NAME build/fuzz/corpus/NAME */
#ifndef FUZZ_H
#define FUZZ_H

#include "fixture.h"

/* The rest of the input. Past its end all bytes are zero. */
typedef struct fuzz_input {
	const uint8_t *at, *end;
} fuzz_input_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int fuzz_has_more(const fuzz_input_t *in);
uint64_t fuzz_number(fuzz_input_t *in, unsigned nbytes);
uint32_t fuzz_below(fuzz_input_t *in, uint32_t n); /* n: 1 .. 2^16 */
void fuzz_bytes(fuzz_input_t *in, void *dst, size_t nbytes);
/* changes some of the bytes, or none */
void fuzz_spoil(fuzz_input_t *in, uint8_t *bytes, size_t nbytes);

/* A fabric of two hosts, with options from the input. */
void fuzz_start(fuzz_input_t *in);
void fuzz_step(fuzz_input_t *in);    /* some steps, or some time */
void fuzz_run_until_idle(void);      /* run until no work is left; fails if that takes too long */
void fuzz_control(const char *line); /* the answer is ignored */

/* Set around calls in which the verbs library, not the device, writes rings and records. */
extern int fuzz_is_library;

/* Report a finding and end the program. */
_Noreturn void fuzz_found(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
