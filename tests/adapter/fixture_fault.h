/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Control lines, and checks of their effects. */
#ifndef ADAPTER_FIXTURE_FAULT_H
#define ADAPTER_FIXTURE_FAULT_H

#include "fixture.h"

/* CQE syndromes with the vendor's, as measured on a ConnectX-6. */
#define LOCAL_KEY 0x04, 0x52
#define LOCAL_STOP 0x05, 0xf5
#define FLUSHED 0x05, 0xf9
#define NO_ACCESS 0x13, 0x88
#define RETRIES 0x15, 0x81

/* execute a line, which must succeed */
void fault_control(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Check that the line is refused with this answer. */
void fault_refused(const char *line, const char *answer);
/* execute a line, which must succeed, and return its answer */
const char *fault_answer(const char *line);

/* Check the next event of the context, or that there is none. */
void fault_event(struct ibv_context *ctx, int type);
void fault_no_event(struct ibv_context *ctx);

#endif
