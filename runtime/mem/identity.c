/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The identity of this PE: node, process, GPU. Keys are hashes, so they have one size and do not
 * disclose their input. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "mem/state.h"

#define EXEC_RANDOM_NBYTES 16 /* getauxval(3), AT_RANDOM */

/* Append a file's first line to text. Returns 0, or -1 if it cannot be read. */
static int append_file(char *text, size_t nbytes, const char *path)
{
	size_t used = strlen(text);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text + used, nbytes - used - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return -1;
	text[used + (size_t)got] = '\0';
	text[used + strcspn(text + used, "\n")] = '\0';
	return 0;
}

/* Append the identity of a namespace. Returns 0 or -1. */
static int append_namespace(char *text, size_t nbytes, const char *path)
{
	size_t used = strlen(text);
	struct stat st;

	if (stat(path, &st) != 0)
		return -1;
	snprintf(text + used, nbytes - used, " %llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return 0;
}

static void node_key(const shmemh_t *job, unsigned char key[SHMEMHI_KEY_NBYTES])
{
	char text[512] = "";

	if (job->opt.node_id[0]) {
		snprintf(text, sizeof text, "id %s", job->opt.node_id);
	} else if (append_file(text, sizeof text, "/proc/sys/kernel/random/boot_id") != 0 ||
		   append_namespace(text, sizeof text, "/proc/self/ns/net") != 0) {
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "/proc does not give this node's identity: set SHMEMH_NODE_ID; until "
			    "then no other PE counts as being on this node");
		randombytes_buf(text, sizeof text - 1);
	}
	crypto_generichash(key, SHMEMHI_KEY_NBYTES, (const unsigned char *)text, sizeof text, NULL,
			   0);
}

/* The Linux kernel provides fresh random bytes at every exec. Children of a fork share them, and
 * differ by process number and start time. */
static void process_key(unsigned char key[SHMEMHI_KEY_NBYTES])
{
	struct {
		unsigned char exec[EXEC_RANDOM_NBYTES];
		char stat[1024];
		long pid;
	} text;
	const char *start;
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);

	memset(&text, 0, sizeof text);
	if (random)
		memcpy(text.exec, random, sizeof text.exec);
	text.pid = (long)getpid();
	/* Field 22 of stat is the start time; the name before it may contain blanks, and fields
	 * between them change while the process runs. */
	if (append_file(text.stat, sizeof text.stat, "/proc/self/stat") == 0) {
		start = strrchr(text.stat, ')');
		for (int field = 2; start && field < 22; field++)
			start = strchr(start + 1, ' ');
		if (start) {
			unsigned long long ticks = 0;

			sscanf(start, "%llu", &ticks);
			memset(text.stat, 0, sizeof text.stat);
			memcpy(text.stat, &ticks, sizeof ticks);
		} else {
			memset(text.stat, 0, sizeof text.stat);
		}
	}
	crypto_generichash(key, SHMEMHI_KEY_NBYTES, (const unsigned char *)&text, sizeof text, NULL,
			   0);
}

void shmemhi_identity(const shmemh_t *job, shmemhi_identity_t *id)
{
	const shmemhi_cuctx_t *c = job->mem->cuctx;

	memset(id, 0, sizeof *id);
	node_key(job, id->host);
	memcpy(id->node_key, id->host, sizeof id->node_key);
	process_key(id->process);
	if (job->opt.disable_p2p) {
		id->flags = SHMEMHI_ID_NO_P2P;
		randombytes_buf(id->node_key, sizeof id->node_key); /* a node of its own */
	}
	if (!c)
		return;
	id->gpu = c->uuid;
	id->device = c->device;
	id->flags |= SHMEMHI_ID_GPU;
	if (shmemhi_cuctx_attribute(c, SHMEMHI_CU_ATTR_HOST_NATIVE_ATOMIC))
		id->flags |= SHMEMHI_ID_HOST_NATIVE_ATOMIC;
}
