/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completions of a channel, read in order by the thread that holds the lock of `done`. */
#ifndef SHMEMD_IMPL_CQREAD_H
#define SHMEMD_IMPL_CQREAD_H

#include <shmem_dev/impl/report.h>

/* The last 8 bytes of CQE number `cqe`; its opcode is INVALID if the NIC has not written it. */
SHMEMD_FN uint64_t shmemdi_cqe_tail(const shmemdi_chan_t *c, uint64_t queue, uint32_t cqe)
{
	uint64_t tail = shmemd_arch_ld_relaxed_u64(shmemdi_cqe(c, queue, cqe) + SHMEMD_CQE_TAIL);

	return shmemdi_cqe_is(tail, cqe, shmemdi_depth(c)) ? tail
							   : (uint64_t)SHMEMD_CQE_INVALID << 60;
}

/* WQEBBs of the WQE that a CQE completes. Of the opcodes in use one has two lengths, and only the
 * WQE itself tells which; it is still there, for `done` has not passed it. */
SHMEMD_FN uint32_t shmemdi_cqe_wqebbs(const shmemdi_chan_t *c, uint64_t path, uint64_t queue,
				      uint64_t tail)
{
	uint32_t index = shmemdi_cqe_counter(tail) + SHMEMD_PATH_BASE(path), ds;

	if (shmemdi_cqe_wqe_opcode(tail) != SHMEMD_MLX5_ATOMIC_MASKED_CS)
		return 1;
	ds = shmemd_arch_bswap32(
		     shmemd_arch_ld_relaxed_u32(shmemdi_wqebb(c, path, queue, index) + 4)) &
	     0x3f;
	return ds > 4 ? 2 : 1;
}

/* Record what went wrong, then fail the channel. Where faults of paths are tolerated, the host
 * gets a report, and a lost path fails nothing: what was posted is not complete, and waits for a
 * switch to another path.
 *
 * A channel to this PE itself has one queue pair, which is requester and responder. When the
 * responder refuses a request, the queue pair goes to ERR before the requester gets the refusal, so
 * the request is flushed. Without fail-over nothing else moves a queue pair to ERR while its first
 * error CQE says flushed. */
SHMEMD_FN void shmemdi_cqe_error(const shmemdi_chan_t *c, shmemdi_call_t call, const char *cqe,
				 uint64_t tail)
{
	uint64_t synd = shmemd_arch_ld_relaxed_u64(cqe + SHMEMD_CQE_SYNDROMES);
	uint32_t opcode = shmemdi_cqe_wqe_opcode(tail);
	uint32_t syndrome = (uint32_t)(synd >> 56), vendor = (uint32_t)(synd >> 48) & 0xff;
	int status = shmemdi_syndrome_status(syndrome);

	if (c->flags & SHMEMD_CTX_FT) {
		shmemdi_report_error(c->ctx, c->ch, shmemdi_report_index(c), cqe);
		if (status == SHMEMD_ERR_PATH)
			return;
	} else if (syndrome == SHMEMD_SYNDROME_WR_FLUSH && c->pe == c->ctx->my_pe) {
		status = SHMEMD_ERR_REFUSED;
	}
	call.op = shmemdi_wqe_op(opcode);
	if (shmemdi_channel_status(c) == SHMEMD_OK)
		shmemdi_record(c->ctx, call, status, c->pe,
			       (const void *)(uintptr_t)shmemdi_cqe_counter(tail),
			       (uint64_t)shmemdi_cqe_qpn(tail) << 32 | opcode << 16 | vendor << 8 |
				       syndrome,
			       SHMEMD_WANTED_CQE);
	shmemdi_channel_fail(c, status);
}

/* CQEs that were requested from number `next` on: at most one lap of the queue, within which a
 * CQE's owner bit tells whether it is there. The result only says where to look. */
SHMEMD_FN uint32_t shmemdi_cqes_due(uint64_t ready, uint32_t next, uint32_t depth)
{
	uint32_t n = (SHMEMD_READY_CQES(ready) - next) & 0xffff;

	return n < depth ? n : depth;
}

/* By the thread that holds the lock of `done`: read the next CQE if it is there, and return the new
 * `done`. If more than depth / 8 WQEBBs are outstanding, also probe two later CQEs, an eighth and
 * half of the outstanding CQEs further on: a success there completes everything before it.
 * Coalesced lanes share a CQE, so CQEs can be far fewer than WQEBBs. */
SHMEMD_FN_CALL uint64_t shmemdi_cq_read(const shmemdi_chan_t *c, shmemdi_call_t call, uint64_t done)
{
	c = (const shmemdi_chan_t *)shmemd_arch_as_local(c);
	shmemdi_line_t line = shmemdi_line(c->ch);
	uint64_t index = SHMEMD_DONE_INDEX(done);
	uint32_t next = SHMEMD_DONE_CQES(done), last = next, depth = shmemdi_depth(c);
	uint64_t tail = shmemdi_cqe_tail(c, line.queue, next);

	if (SHMEMD_READY_INDEX(line.ready) - (uint32_t)index > depth / 8) {
		uint32_t due = shmemdi_cqes_due(line.ready, next, depth);
		uint64_t near = shmemdi_cqe_tail(c, line.queue, next + due / 8);
		uint64_t far = shmemdi_cqe_tail(c, line.queue, next + due / 2);

		if (shmemdi_cqe_opcode(near) == SHMEMD_CQE_REQ) {
			tail = near;
			last = next + due / 8;
		}
		if (shmemdi_cqe_opcode(far) == SHMEMD_CQE_REQ) {
			tail = far;
			last = next + due / 2;
		}
	}
	if (shmemdi_cqe_opcode(tail) == SHMEMD_CQE_INVALID)
		return done;
	shmemd_arch_fence_acquire();
	if (shmemdi_cqe_opcode(tail) != SHMEMD_CQE_REQ) {
		shmemdi_cqe_error(c, call, shmemdi_cqe(c, line.queue, next), tail);
		return done;
	}
	index = shmemdi_unwrap(index, shmemdi_cqe_counter(tail) + SHMEMD_PATH_BASE(line.path), 16) +
		shmemdi_cqe_wqebbs(c, line.path, line.queue, tail);
	return SHMEMD_DONE_WORD(index, last + 1);
}

#endif
