/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "reasons.h"

#define MAX_REASONS 200
#define MAX_FILES 64
#define WORD "weakened "

typedef struct reason {
	const char *file;
	uint32_t line;    /* of the call: the one below the comment */
	char variant[16]; /* a reason for several is one entry for each */
	char *text;       /* in one line */
	int is_found;
} reason_t;

static reason_t reasons[MAX_REASONS];
static const char *files[MAX_FILES];
static int n_reasons, n_files;

static char *read_all(const char *file)
{
	FILE *f = fopen(file, "r");
	char *text = NULL;
	size_t capacity = 0;
	if (!f)
		return NULL;
	if (getdelim(&text, &capacity, 0, f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* The words of [from, to) with one space between them, and without the stars of the comment. */
static char *in_one_line(const char *from, const char *to)
{
	char *line = malloc((size_t)(to - from) + 2), *at = line;
	if (!line)
		errx(2, "out of memory");
	while (from < to) {
		while (from < to && (isspace((unsigned char)*from) || *from == '*'))
			from++;
		while (from < to && !isspace((unsigned char)*from))
			*at++ = *from++;
		*at++ = ' ';
	}
	while (at > line && at[-1] == ' ')
		at--;
	*at = '\0';
	return line;
}

static void add(const char *file, uint32_t line, const char *variant, size_t len, char *text)
{
	if (n_reasons == MAX_REASONS)
		errx(2, "raise MAX_REASONS");
	reason_t *r = &reasons[n_reasons++];
	r->file = file;
	r->line = line;
	r->text = text;
	snprintf(r->variant, sizeof(r->variant), "%.*s", (int)len, variant);
}

/* "weakened a, b: text" from start to end. */
static void parse_reason(const char *file, uint32_t line, const char *start, const char *end)
{
	const char *colon = memchr(start, ':', (size_t)(end - start));
	const char *at = start + strlen(WORD);
	if (!colon || strspn(at, "abcdefghijklmnopqrstuvwxyz_, ") < (size_t)(colon - at))
		return; /* the word in ordinary prose */
	char *text = in_one_line(colon + 1, end);
	while (at < colon) {
		size_t len = strcspn(at, ",:");
		add(file, line, at, len, text);
		at += len + 1;
		at += strspn(at, " ");
	}
}

static void parse_comment(const char *file, uint32_t line, char *comment)
{
	char *start = strstr(comment, WORD);
	while (start) {
		char *next = strstr(start + 1, WORD);
		parse_reason(file, line, start, next ? next : start + strlen(start));
		start = next;
	}
}

static void parse(const char *file, char *text)
{
	uint32_t line = 1;
	char *start, *end;
	while ((start = strstr(text, "/*")) != NULL && (end = strstr(start, "*/")) != NULL) {
		for (; text < end; text++)
			line += *text == '\n';
		*end = '\0';
		parse_comment(file, line + 1, start);
		text = end + 2;
	}
}

/* Its lines are no longer those that were compiled. */
static int is_newer_than_program(const char *file)
{
	struct stat header, program;
	return !stat(file, &header) && !stat("/proc/self/exe", &program) &&
	       header.st_mtime > program.st_mtime;
}

void reasons_read(const char *file)
{
	for (int i = 0; i < n_files; i++)
		if (strcmp(files[i], file) == 0)
			return;
	if (is_newer_than_program(file))
		errx(2, "%s was changed: build this program again", file);
	char *text = read_all(file);
	if (!text || n_files == MAX_FILES)
		errx(2, "%s: cannot read it, or raise MAX_FILES", file);
	files[n_files++] = file;
	parse(file, text);
	free(text);
}

const char *reasons_find(const char *file, uint32_t line, const char *variant)
{
	for (int i = 0; i < n_reasons; i++) {
		reason_t *r = &reasons[i];
		if (r->line == line && !strcmp(r->file, file) && !strcmp(r->variant, variant)) {
			r->is_found = 1;
			return r->text;
		}
	}
	return NULL;
}

int reasons_print_lost(void)
{
	int n = 0;
	for (int i = 0; i < n_reasons; i++)
		if (!reasons[i].is_found) {
			printf("%s:%u: 'weakened %s', but no call below has this variant\n",
			       reasons[i].file, reasons[i].line - 1, reasons[i].variant);
			n++;
		}
	return n;
}
