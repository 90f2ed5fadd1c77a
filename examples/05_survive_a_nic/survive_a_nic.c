/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* An all-to-all pipeline that goes on while ports of NICs go down and come back. Every PE sends a
 * row to every PE in each step, in chunks with a signal each, and compares each chunk that it
 * receives with what it must be, to the bit. The kernel has no code for ports: the library moves
 * its channels to the PE's other port, and back when that port goes down in turn.
 *
 *     row(from, to)[i]  =  from * 1000003 + to * 10007 + i * i + step        (mod 2^32)
 *
 * Shapes (one allocation each, on every PE; n PEs)
 *     rows   [step % 2][to pe][CHUNKS][CHUNK_NELEMS]     uint32: rows to send
 *     in     [step % 2][from pe][CHUNKS][CHUNK_NELEMS]   uint32: rows received
 *     sig    [from pe][CHUNKS]   uint64: the latest step of which this chunk has arrived
 *     wrong  [block][thread]     uint64: elements that were not right
 *
 * Who signals whom
 *     word           writer             value  reader              reset
 *     sig[pe][c]     PE pe (put_signal) step   block that serves   never
 *                                              PE pe
 *     One block of each PE serves each PE, its own included: it sends to that PE, the partner, and
 *     receives from it. A block sends step s + 2 when it has step s + 1 of its partner, which the
 *     partner's block sent after it had checked step s: so the partner's in[s % 2] may be
 *     overwritten, and this block's rows[s % 2] has been read. So two buffers need no credits and
 *     no wait for a completion. Each pair of PEs goes on at its own pace.
 *
 * A switch of a channel repeats no WRITE that was executed: a chunk that has arrived is not written
 * again, so the two buffers are enough then too.
 *
 * Grid: n blocks of THREADS threads, all resident at once.
 * Leaves out: work before and after the exchange (03_alltoall).
 *
 *     SHMEMH_FT=exact SHMEMH_DISABLE_P2P=1 SHMEMH_IB_LIBRARY=.../libshmem_mlx5sw.so.0 \
 *         shmem-launch -n 4 ./survive_a_nic --script ports.txt --trace outages.json
 *
 * or without a script, and  shmem-mlx5sw --pid PID port down mlx5_0  in another terminal. */
#include <errno.h>
#include <getopt.h>
#include <unistd.h>
#include "run.h"
#include "script.h"
#include "timeline.h"

#define CHUNKS 4
#define CHUNK_NELEMS 512
#define CHUNK_NBYTES (CHUNK_NELEMS * sizeof(uint32_t))
#define THREADS 64
#define STEPS 60
#define LIMIT_NS 60000000000ull

typedef struct params {
	shmemd_ctx_t ctx;
	uint32_t *rows;              /* [step % 2][to pe][CHUNKS][CHUNK_NELEMS] */
	uint32_t *in;                /* [step % 2][from pe][CHUNKS][CHUNK_NELEMS] */
	uint64_t *sig;               /* [from pe][CHUNKS] */
	uint64_t *wrong;             /* [block][thread] */
	int *status;                 /* [block] */
	volatile uint64_t *progress; /* steps that block 0 has finished; in host memory */
	uint32_t n_steps;
	uint32_t n_channels; /* at least 1 */
} params_t;

#define ELEMENT(from, to, i, step)                                                                 \
	((uint32_t)(from)*1000003u + (uint32_t)(to)*10007u + (i) * (i) + (uint32_t)(step))

/* Where a chunk is in rows or in. */
SHMEMD_FN size_t chunk_at(const params_t *p, uint32_t step, int pe, uint32_t chunk)
{
	size_t row = (size_t)(step % 2) * (size_t)shmemd_n_pes(&p->ctx) + (size_t)pe;

	return (row * CHUNKS + chunk) * CHUNK_NELEMS;
}

/* The threads of a block make a chunk and send it with its signal. Chunks take channels in turn. */
SHMEMD_FN void send_chunk(const params_t *p, int to, uint32_t step, uint32_t chunk)
{
	shmemd_ctx_t channel = shmemd_ctx_channel(&p->ctx, chunk % p->n_channels);
	uint32_t *row = p->rows + chunk_at(p, step, to, chunk), i;
	int me = shmemd_my_pe(&p->ctx);

	for (i = shmemd_thread_index(); i < CHUNK_NELEMS; i += shmemd_n_threads())
		row[i] = ELEMENT(me, to, chunk * CHUNK_NELEMS + i, step);
	shmemd_group_sync(shmemd_block());
	shmemd_putmem_signal_nbi_block(&channel, p->in + chunk_at(p, step, me, chunk), row,
				       CHUNK_NBYTES, p->sig + (size_t)me * CHUNKS + chunk, step,
				       SHMEMD_SIGNAL_SET, to);
}

/* Wait for a chunk and check it. Each thread adds the number of wrong elements among those that it
 * checks to *wrong. Returns the status of the wait. */
SHMEMD_FN int take_chunk(const params_t *p, int from, uint32_t step, uint32_t chunk,
			 uint64_t *wrong)
{
	const uint32_t *row = p->in + chunk_at(p, step, from, chunk);
	int me = shmemd_my_pe(&p->ctx);
	uint32_t i;
	int status = shmemd_signal_wait_until_for_block(
		&p->ctx, p->sig + (size_t)from * CHUNKS + chunk, SHMEMD_CMP_GE, step, LIMIT_NS);

	for (i = shmemd_thread_index(); i < CHUNK_NELEMS; i += shmemd_n_threads())
		*wrong += row[i] != ELEMENT(from, me, chunk * CHUNK_NELEMS + i, step);
	return status;
}

/* Wait until all that the block has sent is complete. Returns a status: also that of a put that
 * could not be sent. */
SHMEMD_FN int quiet_all(const params_t *p)
{
	int status = SHMEMD_OK;
	uint32_t c;

	for (c = 0; c < p->n_channels && status == SHMEMD_OK; c++) {
		shmemd_ctx_t channel = shmemd_ctx_channel(&p->ctx, c);

		status = shmemd_quiet_block(&channel);
	}
	return status;
}

/* snippet: kernel */
SHMEMD_KERNEL(pipeline, params_t, p)
{
	int n = shmemd_n_pes(&p.ctx);
	int partner = (shmemd_my_pe(&p.ctx) + 1 + (int)shmemd_block_index()) % n;
	uint32_t thread = shmemd_thread_index(), step, c;
	uint64_t wrong = 0;
	int status = SHMEMD_OK;

	for (step = 1; step <= p.n_steps && status == SHMEMD_OK; step++) {
		for (c = 0; c < CHUNKS; c++)
			send_chunk(&p, partner, step, c);
		if (step == 1) /* a PE that no NIC reaches: end now, not after LIMIT_NS */
			status = quiet_all(&p);
		for (c = 0; c < CHUNKS && status == SHMEMD_OK; c++)
			status = take_chunk(&p, partner, step, c, &wrong);
		shmemd_group_sync(shmemd_block()); /* all threads have checked the row */
		if (shmemd_block_index() == 0 && thread == 0)
			*p.progress = step;
	}
	if (status == SHMEMD_OK)
		status = quiet_all(&p);
	p.wrong[shmemd_block_index() * THREADS + thread] = wrong;
	if (thread == 0)
		p.status[shmemd_block_index()] = status;
}
/* end */

/* ---- host ---- */

typedef struct options {
	const char *script, *trace; /* files; NULL: none */
	uint32_t n_steps;
} options_t;

static const char usage[] =
	"usage: survive_a_nic [--steps N] [--script FILE] [--trace FILE]\n"
	"\n"
	"  -s, --steps=N      steps of the pipeline, 1 .. 1000000; default 60\n"
	"  -p, --script=FILE  take ports down: lines STEP PE CONTROL_LINE (script.h)\n"
	"  -t, --trace=FILE   write the outages as a trace for ui.perfetto.dev\n";

/* Returns 0, or 1 after a line on stderr. */
static int parse(options_t *o, int argc, char **argv)
{
	static const struct option names[] = {{"steps", required_argument, NULL, 's'},
					      {"script", required_argument, NULL, 'p'},
					      {"trace", required_argument, NULL, 't'},
					      {NULL, 0, NULL, 0}};
	char *end = NULL;
	unsigned long n = STEPS;
	int c;

	o->script = o->trace = NULL;
	optind = 1; /* emulated PEs share it */
	while ((c = getopt_long(argc, argv, "s:p:t:", names, NULL)) != -1) {
		if (c == 's') {
			n = strtoul(optarg, &end, 10);
			if (*end != '\0' || n < 1 || n > 1000000)
				break;
		} else if (c == 'p') {
			o->script = optarg;
		} else if (c == 't') {
			o->trace = optarg;
		} else {
			break;
		}
	}
	o->n_steps = (uint32_t)n;
	if (c == -1 && optind == argc)
		return 0;
	fputs(usage, stderr);
	return 1;
}

/* The kernel, and lines of the script meanwhile. */
static int run_pipeline(shmemh_t *job, params_t *p, script_t *script)
{
	int i, status, n = shmemh_n_pes(job), failed;

	if (script_start(script, p->progress) != 0)
		return 1;
	failed = run_device(shmemd_launch(pipeline, (uint32_t)n, THREADS, 0, NULL, *p));
	failed |= run_device(shmemd_stream_sync(NULL));
	if (script_stop(script) != 0 || failed)
		return 1;
	for (i = 0; i < n; i++) {
		RUN_TRY(job, run_copy(&status, p->status + i, sizeof(status)));
		RUN_TRY(job, status);
	}
	return 0;
}

/* Sum up the elements that were not right. Returns 0, or 1 after a line on stderr. */
static int count_wrong(const params_t *p, int n, uint64_t *wrong)
{
	uint64_t each[THREADS];
	int block, i;

	*wrong = 0;
	for (block = 0; block < n; block++) {
		if (run_copy(each, p->wrong + (size_t)block * THREADS, sizeof(each)) != 0)
			return 1;
		for (i = 0; i < THREADS; i++)
			*wrong += each[i];
	}
	return 0;
}

/* PE 0 prints the outages and results of all PEs. Returns 0 if every element of every PE was right,
 * and the trace, if one was asked for, was written. */
static int report(const share_t *shares, int n_pes, int n_channels, const options_t *o)
{
	int pe, n, failed = 0, n_lost = 0;
	moment_t *moments;

	printf("survive_a_nic: rows of %zu bytes in %d chunks, each of %d PEs to each, %u steps, "
	       "channels: %d\n",
	       CHUNKS * CHUNK_NBYTES, CHUNKS, n_pes, o->n_steps, n_channels);
	n = timeline_sort(shares, n_pes, &moments);
	if (moments == NULL)
		return 1;
	timeline_print(moments, n, shares[0].began);
	for (pe = 0; pe < n_pes; pe++) {
		failed |= shares[pe].is_wrong;
		if (shares[pe].n_outages > TIMELINE_OUTAGES)
			n_lost += shares[pe].n_outages - TIMELINE_OUTAGES;
	}
	if (n_lost > 0)
		printf("%d outages more are not shown\n", n_lost);
	printf("survive_a_nic: %s\n",
	       failed ? "WRONG VALUES" : "every value of every step is right");
	if (o->trace != NULL)
		failed |= timeline_trace(moments, n, shares[0].began, n_channels, o->trace);
	free(moments);
	return failed;
}

/* Gather the outages and results of all PEs, and report them. Returns the result of `report` on PE
 * 0, on all PEs. */
static int share(shmemh_t *job, const timeline_t *t, const script_t *script, uint64_t wrong,
		 const options_t *o)
{
	size_t n = (size_t)shmemh_n_pes(job);
	share_t *all = (share_t *)calloc(n + 1, sizeof(*all)), *mine = all + n;
	int failed = 0, *each = (int *)calloc(n, sizeof(*each));

	if (all == NULL || each == NULL)
		return 1;
	mine->began = t->began;
	mine->is_wrong = wrong != 0;
	mine->n_lines = script->n_lines;
	mine->n_outages = t->n_outages;
	memcpy(mine->lines, script->lines, sizeof(mine->lines));
	memcpy(mine->outages, t->outages, sizeof(mine->outages));
	RUN_TRY(job, shmemh_allgather(job, mine, all, sizeof(*mine)));
	if (shmemh_my_pe(job) == 0)
		failed = report(all, (int)n, t->n_channels, o);
	RUN_TRY(job, shmemh_allgather(job, &failed, each, sizeof(failed)));
	failed = each[0];
	free(each);
	free(all);
	return failed;
}

/* PE 0 prints the process and the port of each PE, for a user who takes ports down by hand. */
static int print_ports(shmemh_t *job, const timeline_t *t)
{
	typedef struct who {
		long pid;
		char port[32];
	} who_t;
	int pe, n = shmemh_n_pes(job);
	who_t mine, *all = (who_t *)calloc((size_t)n, sizeof(*all));

	memset(&mine, 0, sizeof(mine));
	mine.pid = (long)getpid();
	memcpy(mine.port, t->latest[0].from, sizeof(mine.port));
	if (all == NULL)
		return 1;
	RUN_TRY(job, shmemh_allgather(job, &mine, all, sizeof(mine)));
	for (pe = 0; shmemh_my_pe(job) == 0 && pe < n; pe++)
		printf("%s%d: pid %ld, %s", pe == 0 ? "PE " : "; ", pe, all[pe].pid, all[pe].port);
	if (shmemh_my_pe(job) == 0)
		printf("\n");
	fflush(stdout);
	free(all);
	return 0;
}

static int alloc(shmemh_t *job, params_t *p, const options_t *o)
{
	size_t n = (size_t)shmemh_n_pes(job), n_chunks = 2 * n * CHUNKS;

	memset(p, 0, sizeof(*p));
	p->n_steps = o->n_steps;
	p->n_channels = shmemh_channels(job) > 0 ? (uint32_t)shmemh_channels(job) : 1;
	RUN_TRY(job, shmemh_calloc(job, n_chunks, CHUNK_NBYTES, (void **)&p->rows));
	RUN_TRY(job, shmemh_calloc(job, n_chunks, CHUNK_NBYTES, (void **)&p->in));
	RUN_TRY(job, shmemh_calloc(job, n * CHUNKS, sizeof(*p->sig), (void **)&p->sig));
	RUN_TRY(job, shmemh_calloc(job, n * THREADS, sizeof(*p->wrong), (void **)&p->wrong));
	RUN_TRY(job, shmemh_calloc(job, n, sizeof(*p->status), (void **)&p->status));
	RUN_TRY(job, run_host_alloc((void **)&p->progress, sizeof(*p->progress)));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p->ctx));
	return 0;
}

/* The part of the program during which the timeline records outages: until all PEs have run their
 * kernels. */
static int run_watched(shmemh_t *job, params_t *p, const timeline_t *t, script_t *script,
		       uint64_t *wrong)
{
	int failed;

	if (t->n_channels > 0 && print_ports(job, t) != 0)
		return 1;
	failed = run_pipeline(job, p, script);
	failed |= count_wrong(p, shmemh_n_pes(job), wrong);
	if (failed)
		return 1;
	RUN_TRY(job, shmemh_barrier(job));
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	char why[256];
	timeline_t timeline;
	script_t script;
	options_t o;
	params_t p;
	uint64_t wrong = 0;
	int failed;

	memset(&script, 0, sizeof(script));
	memset(&timeline, 0, sizeof(timeline));
	if (parse(&o, argc, argv) != 0 || alloc(job, &p, &o) != 0)
		return 1;
	if (shmemh_fault_policy(job, why, sizeof(why)) != SHMEMH_FAULT_EXACT) {
		if (shmemh_my_pe(job) == 0)
			printf("survive_a_nic: no port is taken down: fail-over is %s\n", why);
	} else if (o.script != NULL && script_read(&script, o.script, shmemh_my_pe(job)) != 0) {
		return 1;
	}
	failed = timeline_begin(&timeline, job);
	if (!failed)
		failed = run_watched(job, &p, &timeline, &script, &wrong);
	failed |= timeline_end(&timeline);
	if (!failed)
		failed = share(job, &timeline, &script, wrong, &o);
	timeline_free(&timeline);
	run_host_free((void *)p.progress);
	return failed;
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
