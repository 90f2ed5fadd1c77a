// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// One PE of the bench: bench_LIBRARY [options] [op ...]. Started by bench/run.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define EXIT_SKIPPED 77

static const struct {
	const char *name;
	int (*run)(bench_t *b);
} ops[] = {
	{"put_bw", bench_put_bw},
	{"get_bw", bench_get_bw},
	{"put_bulk_bw", bench_put_bulk_bw},
	{"add_tile_bw", bench_add_tile_bw},
	{"put_latency", bench_put_latency},
	{"put_latency_leader", bench_put_latency_leader},
	{"get_latency", bench_get_latency},
	{"p_latency", bench_p_latency},
	{"g_latency", bench_g_latency},
	{"fetch_latency", bench_fetch_latency},
	{"p_rate", bench_p_rate},
	{"add_rate", bench_add_rate},
	{"signal_pingpong", bench_signal_pingpong},
	{"put_signal_pingpong", bench_put_signal_pingpong},
	{"packed_pingpong", bench_packed_pingpong},
	{"sync", bench_sync_latency},
	{"barrier", bench_barrier_latency},
};
#define N_OPS (sizeof(ops) / sizeof(ops[0]))

static int usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [--quick] [--json FILE] [-b min_bytes] [-e max_bytes] [-f factor] "
		"[-n iterations] [-w warm-up] [-c blocks] [-t threads] [-s scope] [op ...], "
		"with op one of",
		program);
	for (size_t i = 0; i < N_OPS; i++)
		fprintf(stderr, " %s", ops[i].name);
	fprintf(stderr, "\n");
	return 2;
}

static int known_op(const char *name)
{
	for (size_t i = 0; i < N_OPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			return 1;
	return 0;
}

/* Returns the number that the launcher has set, or -1 after a line. */
static int from_launcher(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	long value = text ? strtol(text, &end, 10) : -1;

	if (text == NULL || end == text || *end != '\0' || value < 0 || value > 1 << 20) {
		fprintf(stderr, "bench: %s is %s: start this program through bench/run\n", name,
			text ? text : "not set");
		return -1;
	}
	return (int)value;
}

static int pick_gpu(bench_t *b)
{
	cudaDeviceProp prop;
	int n_gpus = 0;
	cudaError_t err = cudaGetDeviceCount(&n_gpus);

	if (err == cudaErrorNoDevice || err == cudaErrorInsufficientDriver || n_gpus < b->n_pes) {
		if (b->my_pe == 0)
			printf("bench: needs a GPU for each of %d PEs, found %d\n", b->n_pes,
			       n_gpus);
		return EXIT_SKIPPED;
	}
	if (err == cudaSuccess)
		err = cudaSetDevice(b->my_pe);
	if (err == cudaSuccess)
		err = cudaGetDeviceProperties(&prop, b->my_pe);
	if (err == cudaSuccess)
		err = cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking);
	if (err != cudaSuccess) {
		fprintf(stderr, "bench: PE %d: cannot use GPU %d: %s\n", b->my_pe, b->my_pe,
			cudaGetErrorString(err));
		return 1;
	}
	snprintf(b->gpu, sizeof(b->gpu), "%s", prop.name);
	return 0;
}

/* Raise the clock of the GPU: it rises only under load. */
static __global__ void spin(uint64_t ns)
{
	const uint64_t begin = bench_time_ns();

	while (bench_time_ns() - begin < ns)
		;
}

static int set_up(bench_t *b)
{
	const size_t words_nbytes = BENCH_WORDS(b->n_pes) * sizeof(uint64_t);
	const size_t data_nbytes = 2 * BENCH_MAX_NBYTES + BENCH_GUARD_NBYTES;
	void *heap;
	cudaError_t err;

	if (bench_lib_open(&b->lib, b->my_pe, b->n_pes) ||
	    bench_lib_malloc(&b->lib, data_nbytes + words_nbytes, &heap))
		return 1;
	b->args.ctx = b->lib.ctx;
	b->args.src = (char *)heap;
	b->args.dst = b->args.src + BENCH_MAX_NBYTES;
	b->args.words = (uint64_t *)(b->args.src + data_nbytes);
	b->args.peer = b->my_pe ^ 1;
	err = cudaMalloc((void **)&b->args.result, sizeof(bench_result_t));
	/* No PE writes these words before the first meet() has ended on all PEs. */
	if (err == cudaSuccess)
		err = cudaMemset(b->args.words, 0, words_nbytes);
	spin<<<1024, 128, 0, b->stream>>>(200 * 1000 * 1000);
	if (err == cudaSuccess)
		err = cudaDeviceSynchronize();
	if (err != cudaSuccess)
		fprintf(stderr, "bench: PE %d: set-up: %s\n", b->my_pe, cudaGetErrorString(err));
	return err != cudaSuccess;
}

static int run_ops(bench_t *b, char **names, int n_names)
{
	for (size_t i = 0; i < N_OPS; i++) {
		int wanted = n_names == 0;

		for (int k = 0; k < n_names; k++)
			wanted |= strcmp(names[k], ops[i].name) == 0;
		if (wanted && ops[i].run(b))
			return 1;
	}
	return 0;
}

/* The number that follows an option, from least to most. Returns 0, or -1 after a line. */
static int number(int option, size_t least, size_t most, size_t *value)
{
	char *end = NULL;

	*value = strtoul(optarg, &end, 10);
	if (*optarg >= '0' && *optarg <= '9' && *end == '\0' && *value >= least && *value <= most)
		return 0;
	fprintf(stderr, "bench: -%c %s: use a number from %zu to %zu\n", option, optarg, least,
		most);
	return -1;
}

static int scope_of(const char *name, size_t *scope)
{
	for (*scope = 0; *scope < BENCH_N_SCOPES; ++*scope)
		if (strcmp(name, bench_scope_names[*scope]) == 0)
			return 0;
	fprintf(stderr, "bench: -s %s: use thread, warp, block or grid\n", name);
	return -1;
}

/* The options of NVSHMEM's own tests, and -s. Returns 0, or -1 after a line. */
static int choose(bench_choice_t *choice, int option)
{
	switch (option) {
	case 'b':
		return number(option, 4, BENCH_MAX_NBYTES, &choice->min_nbytes);
	case 'e':
		return number(option, 4, BENCH_MAX_NBYTES, &choice->max_nbytes);
	case 'f':
		return number(option, 2, BENCH_MAX_NBYTES, &choice->factor);
	case 'n':
		return number(option, 1, 1000 * 1000, &choice->iters);
	case 'w':
		choice->sets_warm = true;
		return number(option, 0, 1000 * 1000, &choice->warm);
	case 'c':
		return number(option, 1, 1024, &choice->blocks);
	case 't':
		return number(option, 1, 1024, &choice->threads);
	default:
		choice->sets_scope = true;
		return scope_of(optarg, &choice->scope);
	}
}

/* One of the options for sizes gives the others their defaults, those of NVSHMEM's own tests.
 * Returns 0, or -1 after a line. */
static int complete_sizes(bench_choice_t *choice)
{
	if (choice->min_nbytes == 0 && choice->max_nbytes == 0 && choice->factor == 0)
		return 0;
	choice->min_nbytes = choice->min_nbytes ? choice->min_nbytes : 4;
	choice->max_nbytes = choice->max_nbytes ? choice->max_nbytes : BENCH_MAX_NBYTES;
	choice->factor = choice->factor ? choice->factor : 2;
	if (choice->min_nbytes % 4 == 0 && choice->min_nbytes <= choice->max_nbytes)
		return 0;
	fprintf(stderr,
		"bench: -b %zu -e %zu: the first size is a multiple of 4 and not above the last\n",
		choice->min_nbytes, choice->max_nbytes);
	return -1;
}

/* Returns 0, or an exit status after a line. */
static int parse(bench_t *b, int argc, char **argv)
{
	static const struct option options[] = {{"quick", no_argument, NULL, 'q'},
						{"json", required_argument, NULL, 'j'},
						{NULL, 0, NULL, 0}};
	const char *json = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "b:e:f:n:w:c:t:s:", options, NULL)) != -1) {
		if (c == 'q')
			b->quick = true;
		else if (c == 'j')
			json = optarg;
		else if (c == '?')
			return usage(argv[0]);
		else if (choose(&b->choice, c))
			return 2;
	}
	if (complete_sizes(&b->choice))
		return 2;
	for (int i = optind; i < argc; i++)
		if (!known_op(argv[i]))
			return usage(argv[0]);
	b->my_pe = from_launcher("SHMEMH_PE");
	b->n_pes = b->my_pe < 0 ? -1 : from_launcher("SHMEMH_NPES");
	if (b->n_pes < 0)
		return 2;
	if (b->n_pes < 2) {
		fprintf(stderr, "bench: needs at least 2 PEs, got %d\n", b->n_pes);
		return 2;
	}
	if (json && b->my_pe == 0 && (b->json = fopen(json, "w")) == NULL) {
		fprintf(stderr, "bench: cannot write %s: %s\n", json, strerror(errno));
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static bench_t b;
	int status = parse(&b, argc, argv);

	if (status == 0)
		status = pick_gpu(&b);
	if (status == 0)
		status = set_up(&b);
	if (status == 0)
		status = run_ops(&b, argv + optind, argc - optind);
	if (b.json && fclose(b.json) != 0)
		status = 1;
	/* After a failure the other PEs may wait forever: the launcher ends them. */
	if (status == 0)
		bench_lib_close(&b.lib);
	return status;
}
