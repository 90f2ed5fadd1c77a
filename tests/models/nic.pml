/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Send queue and completion queue (include/shmem_dev/abi/mlx5.h), and the NIC between them. */

/* Send queue: each WQEBB has the index and the form of its WQE. */
#define WQEBBS(form) ((form) & 3)
#define SIGNALLED 4
#define READ 8  /* all WRITEs before it are in memory when it completes */
#define USES_BUFFER 16 /* its response is placed at any time before it completes */
byte wqe[DEPTH], form[DEPTH], ticket_of[DEPTH];

/* Completion queue. A CQE's tail is one word: counter, owner bit, opcode (0: success). */
#define TAIL(op, cqes, index) ((op) << 5 | ((cqes) / DEPTH) % 2 << 4 | (index) % MOD_NIC)
#define OPCODE(tail) ((tail) >> 5)
#define OWNER(tail) ((tail) >> 4 & 1)
#define COUNTER(tail) ((tail) & 15)
#define INVALID 7
#define NOTHING 255 /* the tail of a CQE that was never written */
#define FAILED 1
byte cqe[DEPTH] = NOTHING, syndrome[DEPTH];

/* The NIC: doorbell register and record, of which it reads the low bits; WQEBBs executed; WQEBBs
 * reported, by a CQE if requested; the last READ that completed; responses that are not placed. */
byte doorbell = FIRST, record = FIRST, cqes;
byte executed = FIRST, reported = FIRST, flushed = FIRST;
bit failed, unplaced[DEPTH];

#define NIC_COUNTER(index) ((index) % MOD_NIC)
#define TO_EXECUTE (executed != ERROR_AT && NIC_COUNTER(doorbell) != NIC_COUNTER(executed))
#define TO_REPORT (reported < executed && !unplaced[reported % DEPTH])
#define TO_FAIL \
	(executed == ERROR_AT && reported >= executed && NIC_COUNTER(doorbell) != NIC_COUNTER(executed) && \
	 NIC_COUNTER(record) != NIC_COUNTER(reported))

/* The NIC fetches up to the doorbell, executes and reports in order, each at any later time. After
 * a WQE has failed it writes a CQE for each one up to the record, signalled or not. The assertions:
 * a fetched WQEBB was written for its index, and is not written again before it is reported. */
active proctype nic()
{
	byte n;

end:	do
	:: TO_EXECUTE ->
		d_step {
			n = executed % DEPTH;
			assert(wqe[n] == executed);
			assert(WQEBBS(form[n]) == 1 || wqe[(executed + 1) % DEPTH] == executed);
			if :: form[n] & USES_BUFFER -> unplaced[n] = 1 :: else fi;
			executed = executed + WQEBBS(form[n]);
			n = 0
		}
	:: TO_REPORT ->
		d_step {
			n = reported % DEPTH;
			assert(wqe[n] == reported);
			if :: form[n] & READ -> flushed = reported :: else fi;
			reported = reported + WQEBBS(form[n]);
			if
			:: form[n] & SIGNALLED ->
				assert(DIFF(cqes, done_cqes, MOD_CQES) < DEPTH);
				cqe[cqes % DEPTH] = TAIL(0, cqes, reported - WQEBBS(form[n]));
				cqes = (cqes + 1) % MOD_CQES
			:: else
			fi;
			n = 0
		}
	:: TO_FAIL ->
		syndrome[cqes % DEPTH] = (failed -> FLUSHED : CAUSE);
		d_step {
			n = reported % DEPTH;
			assert(wqe[n] == reported);
			assert(DIFF(cqes, done_cqes, MOD_CQES) < DEPTH);
			cqe[cqes % DEPTH] = TAIL(FAILED, cqes, reported);
			cqes = (cqes + 1) % MOD_CQES;
			reported = reported + WQEBBS(form[n]);
			failed = 1;
			n = 0
		}
	od
}
