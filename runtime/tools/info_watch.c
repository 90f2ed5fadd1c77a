/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem-info --watch: the tables of paths (fault/table.h) of a running process, found among its
 * open files. Linux lets only the same user and root open them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <shmem_host/fault.h>
#include "base/clock.h"
#include "fault/table.h"
#include "info_watch.h"

#define MAX_TABLES 64 /* jobs of one process */
#define MAX_ROWS 40   /* of a table */
#define COUNT_MASK ((UINT64_C(1) << 47) - 1)

typedef struct view {
	const shmemhi_fault_head_t *head;
	const shmemhi_fault_row_t *rows;
	size_t n_rows;
	uint64_t *posted; /* [n_rows] of the rows as they were read at read_at */
	uint64_t read_at; /* 0: they were not read yet */
} view_t;

static view_t views[MAX_TABLES];
static int n_views;

/* Map a table; refuse what is none, or of another version. */
static int open_view(const char *path, view_t *view)
{
	const shmemhi_fault_head_t *head = MAP_FAILED;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	size_t n_rows;

	memset(view, 0, sizeof *view);
	if (fd >= 0 && fstat(fd, &about) == 0 && (size_t)about.st_size > sizeof *head)
		head = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (head == MAP_FAILED)
		return -1;
	n_rows = ((size_t)about.st_size - sizeof *head) / sizeof(shmemhi_fault_row_t);
	if (memcmp(head->magic, SHMEMHI_FAULT_TABLE_MAGIC, sizeof head->magic) != 0 ||
	    head->row_nbytes != sizeof(shmemhi_fault_row_t) || head->n_pes < 1 ||
	    (uint64_t)head->n_pes * head->n_channels != n_rows) {
		munmap((void *)head, (size_t)about.st_size);
		errno = EPROTO;
		return -1;
	}
	view->head = head;
	view->rows = (const shmemhi_fault_row_t *)(head + 1);
	view->n_rows = n_rows;
	view->posted = calloc(n_rows, sizeof *view->posted);
	return view->posted ? 0 : -1;
}

/* Find the tables of a process, and print a line for each that cannot be shown. Returns how many
 * were found; -1: a line was printed. */
static int open_views(const char *pid)
{
	char folder[64], path[384], target[128];
	const struct dirent *entry;
	int n_found = 0;
	DIR *files;

	snprintf(folder, sizeof folder, "/proc/%.20s/fd", pid);
	files = opendir(folder);
	if (!files) {
		fprintf(stderr, "shmem-info: process %.20s: %s: %s\n", pid, folder,
			errno == ENOENT ? "there is no such process here" : strerror(errno));
		return -1;
	}
	while (n_views < MAX_TABLES && (entry = readdir(files))) {
		ssize_t n;

		snprintf(path, sizeof path, "%s/%.255s", folder, entry->d_name);
		n = readlink(path, target, sizeof target - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strncmp(target, "/memfd:" SHMEMHI_FAULT_TABLE_NAME,
			    sizeof("/memfd:" SHMEMHI_FAULT_TABLE_NAME) - 1) != 0)
			continue;
		n_found++;
		if (open_view(path, &views[n_views]) == 0)
			n_views++;
		else
			fprintf(stderr, "shmem-info: %s: %s\n", path,
				errno == EPROTO ? "the table of another version of this library"
						: strerror(errno));
	}
	closedir(files);
	return n_found;
}

/* Printing */

static const char *state_name(int state)
{
	static const char *const names[] = {"running", "SWITCHING", "stand-by", "ENDED"};

	return state >= SHMEMH_FAULT_RUNNING && state <= SHMEMH_FAULT_ENDED ? names[state] : "?";
}

static void print_row(const view_t *view, size_t i, const shmemhi_fault_row_t *row, uint64_t now)
{
	const uint64_t outage =
		row->state == SHMEMH_FAULT_SWITCHING ? now - row->detected_at : row->outage_ns;
	char rate[24] = "-", waiting[24] = "-";

	if (row->has_counts && view->read_at)
		snprintf(rate, sizeof rate, "%.0f",
			 (double)((row->posted - view->posted[i]) & COUNT_MASK) *
				 (double)SHMEMHI_SECOND / (double)(now - view->read_at));
	if (row->has_counts)
		snprintf(waiting, sizeof waiting, "%llu",
			 (unsigned long long)((row->posted - row->completed) & COUNT_MASK));
	printf("%4d %3d %-9s %-10.31s %-10.31s %10s %8s %8llu %10.1f  %s%s\n",
	       (int)(i / view->head->n_channels), (int)(i % view->head->n_channels),
	       state_name(row->state), row->port[0] ? row->port : "?",
	       row->peer_port[0] ? row->peer_port : "?", rate, waiting,
	       (unsigned long long)row->switches, (double)outage / (double)SHMEMHI_MS,
	       row->cause == SHMEMH_FAULT_BY_NONE ? "-" : shmemh_fault_cause_text((int)row->cause),
	       row->cause != SHMEMH_FAULT_BY_NONE && row->is_found_at_peer ? " (at the peer)" : "");
}

/* Those with faults first. Returns how many rows there are in all. */
static size_t print_rows(view_t *view, uint64_t now)
{
	size_t n_shown = 0, n_there = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < view->n_rows; i++) {
			shmemhi_fault_row_t row;

			if (shmemhi_fault_row_copy(&view->rows[i], &row) != 0 || !row.is_there)
				continue;
			row.port[sizeof row.port - 1] = '\0';
			row.peer_port[sizeof row.peer_port - 1] = '\0';
			n_there += pass == 0;
			if ((row.cause == SHMEMH_FAULT_BY_NONE) != pass)
				continue;
			if (n_shown < MAX_ROWS)
				print_row(view, i, &row, now);
			n_shown++;
			view->posted[i] = row.posted;
		}
	view->read_at = now;
	return n_there;
}

static void print_view(view_t *view)
{
	const uint64_t now = shmemhi_now();
	size_t n_there;

	printf("PE %d of %d, %u channels to each PE; its agent was active %.1f s ago\n",
	       view->head->pe, view->head->n_pes, view->head->n_channels,
	       (double)(now - view->head->alive_at) / (double)SHMEMHI_SECOND);
	printf("%4s %3s %-9s %-10s %-10s %10s %8s %8s %10s  %s\n", "PE", "k", "state", "own port",
	       "PE's port", "WQEBB/s", "waiting", "switches", "outage ms", "latest fault");
	n_there = print_rows(view, now);
	if (n_there > MAX_ROWS)
		printf("and %zu more\n", n_there - MAX_ROWS);
	printf("\n");
}

int info_watch(const char *pid, int is_once)
{
	char folder[64];
	int n_found;

	if (strspn(pid, "0123456789") != strlen(pid) || !pid[0] || strlen(pid) > 10)
		return -1;
	n_found = open_views(pid);
	if (n_found == 0)
		fprintf(stderr,
			"shmem-info: process %s has no table of paths: fail-over is off in it "
			"(SHMEMH_FT; SHMEMH_DEBUG=info says why), or it does not use shmem_host\n",
			pid);
	if (n_views == 0)
		return 1;
	snprintf(folder, sizeof folder, "/proc/%.10s", pid);
	do {
		if (isatty(STDOUT_FILENO))
			printf("\033[H\033[2J");
		for (int i = 0; i < n_views; i++)
			print_view(&views[i]);
		fflush(stdout);
		if (!is_once)
			nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
	} while (!is_once && access(folder, F_OK) == 0);
	return 0;
}
