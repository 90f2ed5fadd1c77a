/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_NBYTES 4096

/* Words of the file, by verdict. */
static const char *const kept[] = {"pass", "unknown", "fail"};

const char *shmemhi_verdict_word(int verdict)
{
	static const char *const words[] = {"pass", "cannot tell", "FAIL"};

	return words[verdict];
}

int shmemhi_results_path(char *path, size_t nbytes)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (cache && cache[0] == '/')
		n = snprintf(path, nbytes, "%s/shmem_dev/selftest", cache);
	else if (home && home[0] == '/')
		n = snprintf(path, nbytes, "%s/.cache/shmem_dev/selftest", home);
	return n > 0 && (size_t)n < nbytes ? 0 : -1;
}

/* Make the folders above a file. */
static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700); /* fopen reports what is wrong */
		*at = '/';
	}
}

FILE *shmemhi_results_append(const char *path, shmemhi_err_t *err)
{
	char text[PATH_NBYTES];
	FILE *f = NULL;

	if (path) {
		f = fopen(path, "a");
	} else if (shmemhi_results_path(text, sizeof text) == 0) {
		path = text;
		make_folders(text);
		f = fopen(text, "a");
	} else {
		shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
			     "results are not kept: neither XDG_CACHE_HOME nor HOME is an "
			     "absolute path, or the path is too long: use --save FILE");
		return NULL;
	}
	if (!f)
		shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "results are not kept: %s: %s", path,
			     strerror(errno));
	return f;
}

void shmemhi_results_put(FILE *f, const shmemhi_firmware_t *of, const char *row, int verdict)
{
	fprintf(f, "0x%04x %u %s %s %s\n", of->vendor, of->part, of->version[0] ? of->version : "-",
		row, kept[verdict]);
}

static int verdict_of(const char *word)
{
	for (int i = SHMEMHI_PASS; i <= SHMEMHI_FAIL; i++)
		if (strcmp(word, kept[i]) == 0)
			return i;
	return SHMEMHI_UNKNOWN;
}

int shmemhi_results_verdict(const char *path, const shmemhi_firmware_t *of, const char *row)
{
	char text[PATH_NBYTES], line[256], version[64], name[64], word[16];
	int verdict = SHMEMHI_UNKNOWN;
	unsigned vendor, part;
	FILE *f;

	if (!path && shmemhi_results_path(text, sizeof text) == 0)
		path = text;
	f = path ? fopen(path, "r") : NULL;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%x %u %63s %63s %15s", &vendor, &part, version, name, word) ==
			    5 &&
		    vendor == of->vendor && part == of->part && strcmp(name, row) == 0 &&
		    strcmp(version, of->version[0] ? of->version : "-") == 0)
			verdict = verdict_of(word);
	if (f)
		fclose(f);
	return verdict;
}
