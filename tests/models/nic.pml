/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Send queue and completion queue (include/shmem_dev/abi/mlx5.h), and the NIC between them. */

/* Send queue: in each block the index and the form of the WQE that it belongs to. */
#define BLOCKS(form) ((form) & 3)
#define SIGNALLED 4
#define READ 8  /* all WRITEs before it are in memory when it completes */
#define LANDS 16 /* its answer is placed at any time before that */
byte wqe[DEPTH], form[DEPTH], ticket_of[DEPTH];

/* Completion queue. A CQE's tail is one word: counter, owner bit, opcode (0: success). */
#define TAIL(op, cqes, index) ((op) << 5 | ((cqes) / DEPTH) % 2 << 4 | (index) % MOD_NIC)
#define OPCODE(tail) ((tail) >> 5)
#define OWNER(tail) ((tail) >> 4 & 1)
#define COUNTER(tail) ((tail) & 15)
#define INVALID 7
#define NOTHING 255 /* the tail of a CQE that is not there */
#define FAILED 1
byte cqe[DEPTH] = NOTHING, syndrome[DEPTH];

/* The NIC: doorbell register and record, of which it sees the low bits; executed; completed, by CQE
 * if asked for; last READ that completed; answers on their way. */
byte doorbell = FIRST, record = FIRST, cqes;
byte executed = FIRST, told = FIRST, flushed = FIRST;
bit failed, unplaced[DEPTH];

#define TOLD_OF(index) ((index) % MOD_NIC)
#define TO_EXECUTE (executed != ERROR_AT && TOLD_OF(doorbell) != TOLD_OF(executed))
#define TO_TELL (told < executed && !unplaced[told % DEPTH])
#define TO_FAIL \
	(executed == ERROR_AT && told >= executed && TOLD_OF(doorbell) != TOLD_OF(executed) && \
	 TOLD_OF(record) != TOLD_OF(told))

/* Fetches by the doorbell, executes and tells in order, each as late as it likes. Once a WQE has
 * failed it tells of all up to the record, whether they asked or not. Fetching a block that was not
 * written for this index, or was written anew before it was told of, is what must not happen. */
active proctype nic()
{
	byte n;

end:	do
	:: TO_EXECUTE ->
		d_step {
			n = executed % DEPTH;
			assert(wqe[n] == executed);
			assert(BLOCKS(form[n]) == 1 || wqe[(executed + 1) % DEPTH] == executed);
			if :: form[n] & LANDS -> unplaced[n] = 1 :: else fi;
			executed = executed + BLOCKS(form[n]);
			n = 0
		}
	:: TO_TELL ->
		d_step {
			n = told % DEPTH;
			assert(wqe[n] == told);
			if :: form[n] & READ -> flushed = told :: else fi;
			told = told + BLOCKS(form[n]);
			if
			:: form[n] & SIGNALLED ->
				assert(DIFF(cqes, done_cqes, MOD_CQES) < DEPTH);
				cqe[cqes % DEPTH] = TAIL(0, cqes, told - BLOCKS(form[n]));
				cqes = (cqes + 1) % MOD_CQES
			:: else
			fi;
			n = 0
		}
	:: TO_FAIL ->
		syndrome[cqes % DEPTH] = (failed -> FLUSHED : CAUSE);
		d_step {
			n = told % DEPTH;
			assert(wqe[n] == told);
			assert(DIFF(cqes, done_cqes, MOD_CQES) < DEPTH);
			cqe[cqes % DEPTH] = TAIL(FAILED, cqes, told);
			cqes = (cqes + 1) % MOD_CQES;
			told = told + BLOCKS(form[n]);
			failed = 1;
			n = 0
		}
	od
}
