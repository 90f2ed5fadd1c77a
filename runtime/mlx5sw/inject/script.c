/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A script: control lines, each with the time when it is executed.
 *
 *   # a comment
 *   drop packet kind=ack n=3
 *   @250 port down mlx5_0        250 ms after the start
 *
 * Times are counted from the start, and scaled by MLX5SW_SLOW; a line without one has the time of
 * the line before.
 *
 * The result of each line is printed to stderr. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/inject/fault.h"
#include "mlx5sw/inject/socket.h"

typedef struct mlx5swi_step {
	struct mlx5swi_step *next;
	uint64_t due;
	char line[];
} step_t;

static step_t *add(step_t **end, uint64_t due, const char *line)
{
	step_t *s = malloc(sizeof(*s) + strlen(line) + 1);
	if (!s)
		return NULL;
	s->next = NULL;
	s->due = due;
	strcpy(s->line, line);
	*end = s;
	return s;
}

#define MAX_MS 1000000000000u

/* Returns where the command begins, and its time in *due; NULL: the time is not valid. */
static const char *take_time(const char *line, uint64_t start, uint64_t *due)
{
	char *end;
	if (*line != '@')
		return line;
	errno = 0;
	unsigned long long ms = strtoull(line + 1, &end, 10);
	if (errno || end == line + 1 || line[1] == '-' || ms > MAX_MS ||
	    (*end != ' ' && *end != '\t'))
		return NULL;
	*due = start + mlx5swi_scaled(ms * 1000000u);
	return end + strspn(end, " \t");
}

/* Report a mistake in a line when the script is read, not when the line is due. */
static int take_line(char *line, uint64_t start, uint64_t *due, step_t ***end, char *why, size_t n)
{
	const char *command = take_time(line + strspn(line, " \t"), start, due);
	snprintf(why, n, "want '@milliseconds command'\n");
	if (!command || mlx5swi_console(command, 1, why, n))
		return EINVAL;
	if (!*command)
		return 0;
	snprintf(why, n, "no memory\n");
	step_t *s = add(*end, *due, command);
	if (!s)
		return ENOMEM;
	*end = &s->next;
	return 0;
}

static int read_lines(FILE *f, const char *path, step_t **end)
{
	char line[MLX5SWI_MAX_LINE], why[256];
	uint64_t start = mlx5swi_now(), due = start;
	int bad = 0;
	for (int number = 1; !bad && fgets(line, sizeof(line), f); number++) {
		size_t n = strcspn(line, "\n");
		if (!line[n] && !feof(f)) {
			snprintf(why, sizeof(why), "a line has at most %d characters\n",
				 MLX5SWI_MAX_LINE - 2);
			bad = EINVAL;
		} else {
			line[strcspn(line, "#\n")] = 0;
			bad = take_line(line, start, &due, &end, why, sizeof(why));
		}
		if (bad)
			fprintf(stderr, "mlx5sw: %s:%d: %s", path, number, why);
	}
	return bad;
}

int mlx5swi_script_open(const char *path)
{
	FILE *f = fopen(path, "r");
	int bad = f ? 0 : errno;
	if (!f) {
		fprintf(stderr, "mlx5sw: MLX5SW_SCRIPT=%s: %s\n", path, strerror(bad));
		return bad;
	}
	bad = read_lines(f, path, &mlx5swi_w->script);
	fclose(f);
	if (bad)
		mlx5swi_script_close();
	return bad;
}

void mlx5swi_script_close(void)
{
	step_t *s = mlx5swi_w->script, *next;
	for (; s; s = next) {
		next = s->next;
		free(s);
	}
	mlx5swi_w->script = NULL;
}

/* Lines are executed in the order of the file: each waits for the previous ones. */
unsigned mlx5swi_script_run(void)
{
	unsigned n = 0;
	for (step_t *s; (s = mlx5swi_w->script) && s->due <= mlx5swi_now(); n++) {
		char answer[4096];
		mlx5swi_w->script = s->next;
		(void)mlx5swi_console(s->line, 0, answer, sizeof(answer));
		fprintf(stderr, "mlx5sw: script: %s: %s%s", s->line, answer,
			*answer ? "" : "done\n");
		free(s);
	}
	return n;
}

uint64_t mlx5swi_script_deadline(void)
{
	const step_t *s = mlx5swi_w->script;
	return s ? s->due : UINT64_MAX;
}
