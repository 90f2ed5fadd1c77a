/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Clients: functions by name and version, checks, time limits of waits. */
#include <dlfcn.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "client.h"

#define PATIENCE_S 30

struct client_library lib;
int failures;

static void *library_open(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		printf("skipped: %s\n", dlerror());
		exit(77);
	}
	return library;
}

static void library_find(void *library, const char *name, const char *version, void *field)
{
	void *found = dlvsym(library, name, version);

	if (!found) {
		fprintf(stderr, "%s: expected at version %s, got %s\n", name, version, dlerror());
		exit(1);
	}
	/* C has no conversion from an object pointer to a function pointer */
	memcpy(field, &found, sizeof(found));
}

void library_load(const char *ibverbs_name, const char *mlx5_name)
{
	void *ibverbs = library_open(ibverbs_name), *mlx5 = library_open(mlx5_name);

#define FIND(library, version, result, name, arguments)                                            \
	library_find(library, #name, version, &lib.name);
	CLIENT_FUNCTIONS(FIND)
#undef FIND
}

bool same(const char *what, uint64_t expected, uint64_t got)
{
	if (expected == got)
		return true;
	fprintf(stderr, "%s: expected 0x%" PRIx64 ", got 0x%" PRIx64 "\n", what, expected, got);
	failures++;
	return false;
}

bool same_bytes(const char *what, const void *expected, const void *got, size_t nbytes)
{
	const uint8_t *e = expected, *g = got;
	size_t i;

	for (i = 0; i < nbytes; i++)
		if (e[i] != g[i]) {
			fprintf(stderr, "%s: byte %zu of %zu: expected 0x%02x, got 0x%02x\n", what,
				i, nbytes, e[i], g[i]);
			failures++;
			return false;
		}
	return true;
}

void must(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static uint64_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec;
}

patience_t patience(const char *what)
{
	return (patience_t){what, seconds() + PATIENCE_S};
}

void patient(patience_t *p)
{
	if (seconds() < p->end_s) {
		sched_yield();
		return;
	}
	fprintf(stderr, "%s: expected within %d s, got nothing\n", p->what, PATIENCE_S);
	exit(1);
}

bool readable(const char *what, int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return same(what, 1, (uint64_t)poll(&poll_fd, 1, PATIENCE_S * 1000));
}
