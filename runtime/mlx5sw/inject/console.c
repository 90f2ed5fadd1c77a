/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Control lines: `verb noun key=value ...`. README.md lists them.
 *
 * A line accepts only keys that have a meaning for it: a fault with a mistyped key would never hit.
 */
#include "mlx5sw/inject/console.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/inject/socket.h"

void mlx5swi_print(answer_t *a, const char *fmt, ...)
{
	va_list args;
	size_t left = a->nbytes > a->n ? a->nbytes - a->n : 0;
	va_start(args, fmt);
	int n = vsnprintf(left ? a->text + a->n : NULL, left, fmt, args);
	va_end(args);
	a->n += n > 0 ? (size_t)n : 0;
}

/* Keys */

typedef struct word {
	const char *text;
	uint32_t value;
} word_t;

static const word_t kinds[] = {
	{"write", 1u << MLX5SWI_WRITE},
	{"read", 1u << MLX5SWI_READ},
	{"atomic", 1u << MLX5SWI_ATOMIC},
	{"request", 1u << MLX5SWI_WRITE | 1u << MLX5SWI_READ | 1u << MLX5SWI_ATOMIC},
	{"ack", 1u << MLX5SWI_ACK},
	{"response", 1u << MLX5SWI_ACK | 1u << MLX5SWI_READ_DATA | 1u << MLX5SWI_ATOMIC_DATA},
	{NULL, 0},
};
static const word_t firsts[] = {{"qp", 1}, {"mr", 0}, {NULL, 0}};
static const word_t untils[] = {{"error", 1}, {"release", 0}, {NULL, 0}};

enum key {
	HOST = 1 << 0,
	DEVICE = 1 << 1,
	QP = 1 << 2,
	WQEBB = 1 << 3,
	OPCODE = 1 << 4,
	KIND = 1 << 5,
	AFTER = 1 << 6,
	N = 1 << 7,
	NS = 1 << 8,
	NBYTES = 1 << 9,
	STATUS = 1 << 10,
	CAUSE = 1 << 11,
	SYNDROME = 1 << 12,
	VENDOR = 1 << 13,
	UNTIL = 1 << 14,
	MR = 1 << 15,
	FIRST = 1 << 16,
	WHERE = HOST | DEVICE,
	HOW_MANY = AFTER | N,
	PACKETS = WHERE | QP | KIND | HOW_MANY,
	WQES = WHERE | QP | WQEBB | OPCODE | HOW_MANY,
	COMMANDS = WHERE | OPCODE | HOW_MANY,
};

/* A key: where its value is stored, and its range or its allowed words. */
#define FIELD(member) offsetof(request_t, member), sizeof(((request_t *)0)->member)
typedef struct key_rule {
	const char *name;
	uint32_t bit;
	size_t at, nbytes;
	uint64_t min, max;
	const word_t *words;
} key_rule_t;

static const key_rule_t keys[] = {
	{"host", HOST, FIELD(rule.host), 0, UINT32_MAX - 1, NULL},
	{"device", DEVICE, FIELD(rule.device), 0, UINT8_MAX, NULL},
	{"qp", QP, FIELD(rule.qpn), 0, 0xffffff, NULL},
	{"wqebb", WQEBB, FIELD(rule.index), 0, UINT16_MAX, NULL},
	{"opcode", OPCODE, FIELD(rule.opcode), 0, UINT16_MAX, NULL},
	{"kind", KIND, FIELD(rule.kind), 0, 0, kinds},
	{"after", AFTER, FIELD(rule.after), 0, UINT64_MAX, NULL},
	{"n", N, FIELD(rule.left), 1, UINT64_MAX, NULL},
	{"ns", NS, FIELD(rule.ns), 1, UINT64_MAX / 4, NULL},
	{"nbytes", NBYTES, FIELD(rule.nbytes), 0, UINT32_MAX - 1, NULL},
	{"status", STATUS, FIELD(rule.status), 1, UINT8_MAX, NULL},
	{"syndrome", CAUSE, FIELD(rule.syndrome), 0, UINT32_MAX, NULL},
	{"syndrome", SYNDROME, FIELD(rule.syndrome), 1, UINT8_MAX, NULL},
	{"vendor", VENDOR, FIELD(rule.vendor), 0, UINT8_MAX, NULL},
	{"until", UNTIL, FIELD(rule.until_error), 0, 0, untils},
	{"key", MR, FIELD(key), 0, UINT32_MAX - 1, NULL},
	{"first", FIRST, FIELD(first_qp), 0, 0, firsts},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

/* Commands: an action on each selected device, a query, or a rule. */
typedef struct command {
	const char *verb, *noun;
	unsigned (*act)(mlx5swi_device_t *dev, const request_t *r);
	void (*ask)(answer_t *a);
	int fault;
	uint32_t may, must; /* keys */
} command_t;

static void release_packets(answer_t *a)
{
	mlx5swi_print(a, "%u released\n", mlx5swi_release_held());
}

static void clear_rules(answer_t *a)
{
	(void)a;
	mlx5swi_rules_clear();
}

#define ACT(fn) fn, NULL, 0
#define ASK(fn) NULL, fn, 0
#define RULE(fault) NULL, NULL, fault
static const command_t commands[] = {
	{"status", "", ASK(NULL), WHERE | QP, 0},
	{"port", "down", ACT(mlx5swi_port_down), WHERE, 0},
	{"port", "up", ACT(mlx5swi_port_up), WHERE, 0},
	{"device", "fatal", ACT(mlx5swi_device_kill), WHERE, 0},
	{"gid", "change", ACT(mlx5swi_gid_change), WHERE, 0},
	{"lid", "change", ACT(mlx5swi_lid_change), WHERE, 0},
	{"qp", "err", ACT(mlx5swi_qps_stop), WHERE | QP, 0},
	{"mr", "lose", ACT(mlx5swi_mrs_lose), WHERE | MR, 0},
	{"host", "kill", ACT(mlx5swi_host_kill), WHERE, FIRST},
	{"release", "cqes", ACT(mlx5swi_cqes_release), WHERE | QP, 0},
	{"release", "packets", ASK(release_packets), 0, 0},
	{"clear", "rules", ASK(clear_rules), 0, 0},
	{"list", "rules", ASK(mlx5swi_list_rules), 0, 0},
	{"list", "reports", ASK(mlx5swi_list_reports), 0, 0},
	{"drop", "packet", RULE(MLX5SWI_DROP), PACKETS, 0},
	{"hold", "packet", RULE(MLX5SWI_HOLD), PACKETS | UNTIL, 0},
	{"duplicate", "packet", RULE(MLX5SWI_DUPLICATE), PACKETS, 0},
	{"delay", "packet", RULE(MLX5SWI_DELAY), PACKETS, NS},
	{"cut", "write", RULE(MLX5SWI_PARTIAL), WHERE | QP | HOW_MANY, NBYTES},
	{"lose", "doorbell", RULE(MLX5SWI_LOSE_DOORBELL), WHERE | QP | HOW_MANY, 0},
	{"lose", "cqe", RULE(MLX5SWI_LOSE_CQE), WQES, 0},
	{"delay", "cqe", RULE(MLX5SWI_DELAY_CQE), WQES, NS},
	{"hold", "cqe", RULE(MLX5SWI_HOLD_CQE), WQES, 0},
	{"fail", "wqe", RULE(MLX5SWI_FAIL_WQE), WQES | VENDOR, SYNDROME},
	{"stop", "wqe", RULE(MLX5SWI_STOP_AT_WQE), WQES, 0},
	{"fail", "command", RULE(MLX5SWI_FAIL_COMMAND), COMMANDS | CAUSE, STATUS},
	{"delay", "command", RULE(MLX5SWI_DELAY_COMMAND), COMMANDS, NS},
};

/* Parsing */

static int by_word(const word_t *w, const char *text, uint64_t *value)
{
	for (; w->text; w++)
		if (strcmp(w->text, text) == 0) {
			*value = w->value;
			return 0;
		}
	return EINVAL;
}

static int by_number(const key_rule_t *k, const char *text, uint64_t *value)
{
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || *text < '0' || *text > '9' || *end || *value < k->min || *value > k->max
		       ? EINVAL
		       : 0;
}

static int refuse_value(const key_rule_t *k, const char *text, answer_t *a)
{
	mlx5swi_print(a, "%s=%s: must be ", k->name, text);
	if (!k->words)
		mlx5swi_print(a, "a number, %llu to %llu\n", (unsigned long long)k->min,
			      (unsigned long long)k->max);
	for (const word_t *w = k->words; w && w->text; w++)
		mlx5swi_print(a, "%s%s", w->text, w[1].text ? ", " : "\n");
	return EINVAL;
}

static int take_value(request_t *r, const key_rule_t *k, const char *text, answer_t *a)
{
	uint64_t value = 0;
	if (k->words ? by_word(k->words, text, &value) : by_number(k, text, &value))
		return refuse_value(k, text, a);
	/* Copy the low bytes: the machines that this code runs on are little-endian. */
	memcpy((char *)r + k->at, &value, k->nbytes);
	return 0;
}

/* The word "mlx5_1" is an abbreviation of "device=1". */
static int take_word(request_t *r, const command_t *c, char *word, uint32_t *given, answer_t *a)
{
	char *value = strchr(word, '=');
	size_t i = 0;
	if (value) {
		*value++ = 0;
	} else if (strncmp(word, "mlx5_", 5) == 0) {
		value = word + 5;
		word = "device";
	}
	while (i < N_KEYS && !(keys[i].bit & (c->may | c->must) && !strcmp(keys[i].name, word)))
		i++;
	if (!value || i == N_KEYS || keys[i].bit & *given) {
		mlx5swi_print(a, "'%s %s' takes no%s '%s'\n", c->verb, c->noun,
			      value && i < N_KEYS ? " second" : "", word);
		return EINVAL;
	}
	*given |= keys[i].bit;
	return take_value(r, &keys[i], value, a);
}

static bool has_all(const command_t *c, uint32_t given, answer_t *a)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].bit & c->must & ~given) {
			mlx5swi_print(a, "'%s %s' needs %s=\n", c->verb, c->noun, keys[i].name);
			return false;
		}
	return true;
}

static const command_t *find_command(char **save, char *verb, answer_t *a)
{
	const char *noun = "";
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const command_t *c = &commands[i];
		if (strcmp(c->verb, verb) != 0)
			continue;
		if (*c->noun && !*noun && !(noun = strtok_r(NULL, " \t\n", save)))
			noun = " "; /* no noun */
		if (strcmp(c->noun, noun) == 0)
			return c;
	}
	mlx5swi_print(a, "'%s%s%s' is not a command\n", verb, *noun > ' ' ? " " : "",
		      *noun > ' ' ? noun : "");
	return NULL;
}

/* *c is NULL if the line is empty. */
static int parse(const char *line, request_t *r, const command_t **c, answer_t *a)
{
	char text[MLX5SWI_MAX_LINE], *save = NULL;
	uint32_t given = 0;
	*c = NULL;
	if (strlen(line) >= sizeof(text)) {
		mlx5swi_print(a, "a line has at most %zu characters\n", sizeof(text) - 1);
		return EINVAL;
	}
	strcpy(text, line);
	char *word = strtok_r(text, " \t\n", &save);
	if (!word)
		return 0;
	*c = find_command(&save, word, a);
	if (!*c)
		return EINVAL;
	while ((word = strtok_r(NULL, " \t\n", &save)) != NULL)
		if (take_word(r, *c, word, &given, a))
			return EINVAL;
	return has_all(*c, given, a) ? 0 : EINVAL;
}

/* Execution */

/* Run the action on each selected device. Returns the number of objects that match. */
static unsigned each_device(const request_t *r, const command_t *c, answer_t *a)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++) {
		mlx5swi_device_t *dev = &mlx5swi_w->devices[i];
		if ((r->rule.host != MLX5SWI_ANY && r->rule.host != dev->host) ||
		    (r->rule.device != MLX5SWI_ANY && r->rule.device != dev->index))
			continue;
		if (!c->act && !c->fault)
			mlx5swi_show_status(a, dev, r);
		n += c->act ? c->act(dev, r) : 1;
	}
	return n;
}

static int run(request_t *r, const command_t *c, answer_t *a)
{
	if (c->ask) {
		c->ask(a);
		return 0;
	}
	unsigned n = each_device(r, c, a);
	if (!n) {
		mlx5swi_print(a, "'%s%s%s': no object matches\n", c->verb, *c->noun ? " " : "",
			      c->noun);
		return EINVAL;
	}
	if (c->act)
		mlx5swi_print(a, "%u hit\n", n);
	r->rule.fault = c->fault;
	return c->fault ? mlx5swi_rule_add(&r->rule) : 0;
}

static request_t blank(const char *line)
{
	request_t r = {.rule = {.host = MLX5SWI_ANY,
				.device = MLX5SWI_ANY,
				.qpn = MLX5SWI_ANY,
				.index = MLX5SWI_ANY,
				.opcode = MLX5SWI_ANY,
				.left = UINT64_MAX},
		       .key = MLX5SWI_ANY};
	snprintf(r.rule.text, sizeof(r.rule.text), "%.*s", (int)strcspn(line, "\n"), line);
	return r;
}

int mlx5swi_console(const char *line, int is_check, char *answer, size_t nbytes)
{
	answer_t a = {answer, nbytes, 0};
	request_t r = blank(line);
	const command_t *c;
	if (nbytes)
		answer[0] = 0;
	int bad = parse(line, &r, &c, &a);
	return bad || !c || is_check ? bad : run(&r, c, &a);
}
