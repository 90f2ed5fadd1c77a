/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Lines of control: `verb noun key=value ...`. README.md lists them. */
#include "control.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fault.h"

typedef struct answer {
	char *text;
	size_t nbytes, n;
} answer_t;

static void say(answer_t *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(answer_t *a, const char *fmt, ...)
{
	va_list args;
	size_t left = a->nbytes > a->n ? a->nbytes - a->n : 0;
	va_start(args, fmt);
	int n = vsnprintf(left ? a->text + a->n : NULL, left, fmt, args);
	va_end(args);
	a->n += n > 0 ? (size_t)n : 0;
}

/* A line's key=value pairs, on top of what a rule has anyway. */
typedef struct request {
	mlx5swi_rule_t rule;
	uint32_t key;      /* of an MR */
	uint32_t first_qp; /* host kill: the QPs end before the MRs */
} request_t;

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

/* A key: where its value goes, its largest, or the words that it may be. */
#define FIELD(member) offsetof(request_t, member), sizeof(((request_t *)0)->member)
static const struct {
	const char *name;
	size_t at, nbytes;
	uint64_t max;
	const word_t *words;
} keys[] = {
	{"host", FIELD(rule.host), UINT32_MAX - 1, NULL},
	{"device", FIELD(rule.device), UINT8_MAX, NULL},
	{"qp", FIELD(rule.qpn), 0xffffff, NULL},
	{"block", FIELD(rule.index), UINT16_MAX, NULL},
	{"opcode", FIELD(rule.opcode), UINT16_MAX, NULL},
	{"kind", FIELD(rule.kind), 0, kinds},
	{"after", FIELD(rule.after), UINT64_MAX, NULL},
	{"n", FIELD(rule.left), UINT64_MAX, NULL},
	{"ns", FIELD(rule.ns), UINT64_MAX / 2, NULL},
	{"nbytes", FIELD(rule.nbytes), UINT32_MAX - 1, NULL},
	{"status", FIELD(rule.status), UINT8_MAX, NULL},
	{"syndrome", FIELD(rule.syndrome), UINT32_MAX, NULL},
	{"vendor", FIELD(rule.vendor), UINT8_MAX, NULL},
	{"until", FIELD(rule.until_error), 0, untils},
	{"key", FIELD(key), UINT32_MAX, NULL},
	{"first", FIELD(first_qp), 0, firsts},
};

static int by_word(const word_t *w, const char *text, uint64_t *value)
{
	for (; w->text; w++)
		if (strcmp(w->text, text) == 0) {
			*value = w->value;
			return 0;
		}
	return EINVAL;
}

static int by_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || end == text || *end || text[0] == '-' || *value > max ? EINVAL : 0;
}

static int key_value(request_t *r, const char *key, const char *text)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint64_t value = 0;
		if (strcmp(keys[i].name, key) != 0)
			continue;
		if (keys[i].words ? by_word(keys[i].words, text, &value)
				  : by_number(text, keys[i].max, &value))
			return EINVAL;
		/* The low bytes: the machines that this runs on are little-endian. */
		memcpy((char *)r + keys[i].at, &value, keys[i].nbytes);
		return 0;
	}
	return EINVAL;
}

/* Devices and queue pairs that a line names */

static int names_device(const request_t *r, const mlx5swi_device_t *dev)
{
	return (r->rule.host == MLX5SWI_ANY || r->rule.host == dev->host) &&
	       (r->rule.device == MLX5SWI_ANY || r->rule.device == dev->index);
}

static unsigned each_device(const request_t *r, void (*fn)(mlx5swi_device_t *, const request_t *))
{
	unsigned n = 0;
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		if (names_device(r, &mlx5swi_w->devices[i])) {
			fn(&mlx5swi_w->devices[i], r);
			n++;
		}
	return n;
}

static mlx5swi_qp_t *next_qp(const mlx5swi_device_t *dev, const request_t *r, uint32_t *i)
{
	while (*i < dev->qps.n) {
		mlx5swi_qp_t *qp = dev->qps.at[(*i)++];
		if (qp && (r->rule.qpn == MLX5SWI_ANY || r->rule.qpn == qp->qpn))
			return qp;
	}
	return NULL;
}

/* Actions */

static void port_down(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	mlx5swi_port_set(&dev->port, 0);
}

static void port_up(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	mlx5swi_port_set(&dev->port, 1);
}

static void device_fatal(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	dev->is_fatal = 1;
	dev->port.is_up = 0;
	mlx5swi_event_device(dev, IBV_EVENT_DEVICE_FATAL);
}

static void gid_change(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	for (uint32_t i = 0; i < MLX5SWI_N_GIDS; i++)
		dev->port.gids[i].raw[15] ^= 0x80;
	mlx5swi_event_port(&dev->port, IBV_EVENT_GID_CHANGE);
}

static void lid_change(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	dev->port.lid ^= 0x8000;
	mlx5swi_event_port(&dev->port, IBV_EVENT_LID_CHANGE);
}

static void qp_err(mlx5swi_device_t *dev, const request_t *r)
{
	mlx5swi_qp_t *qp;
	for (uint32_t i = 0; (qp = next_qp(dev, r, &i)) != NULL;)
		mlx5swi_qp_error(qp, 0, 0);
}

static void mr_lose(mlx5swi_device_t *dev, const request_t *r)
{
	for (uint32_t i = 0; i < dev->mrs.n; i++) {
		mlx5swi_mr_t *mr = dev->mrs.at[i];
		if (mr && (r->key == MLX5SWI_ANY || r->key == mr->key))
			mr->is_lost = 1;
	}
}

/* As when a process dies: nothing of it answers any more, or its memory goes first. */
static void host_kill(mlx5swi_device_t *dev, const request_t *r)
{
	mlx5swi_qp_t *qp;
	if (!r->first_qp) {
		mr_lose(dev, r);
		return;
	}
	for (uint32_t i = 0; (qp = next_qp(dev, r, &i)) != NULL;) {
		qp->state = MLX5SWI_RST;
		mlx5swi_requester_reset(qp);
		mlx5swi_responder_reset(qp);
	}
}

typedef struct action {
	const char *verb, *noun;
	void (*fn)(mlx5swi_device_t *dev, const request_t *r);
} action_t;

static const action_t actions[] = {
	{"port", "down", port_down},       {"port", "up", port_up},
	{"device", "fatal", device_fatal}, {"gid", "change", gid_change},
	{"lid", "change", lid_change},     {"qp", "err", qp_err},
	{"mr", "lose", mr_lose},           {"host", "kill", host_kill},
};

/* Rules */

static const struct {
	const char *verb, *noun;
	int fault;
} rules[] = {
	{"drop", "packet", MLX5SWI_DROP},           {"hold", "packet", MLX5SWI_HOLD},
	{"duplicate", "packet", MLX5SWI_DUPLICATE}, {"delay", "packet", MLX5SWI_DELAY},
	{"cut", "write", MLX5SWI_PARTIAL},          {"lose", "doorbell", MLX5SWI_LOSE_DOORBELL},
	{"lose", "cqe", MLX5SWI_LOSE_CQE},          {"delay", "cqe", MLX5SWI_DELAY_CQE},
	{"fail", "wqe", MLX5SWI_FAIL_WQE},          {"stop", "wqe", MLX5SWI_STOP_AT_WQE},
	{"fail", "command", MLX5SWI_FAIL_COMMAND},  {"delay", "command", MLX5SWI_DELAY_COMMAND},
};

/* Questions */

static void list_rules(answer_t *a)
{
	for (const mlx5swi_rule_t *r = mlx5swi_rules(); r; r = r->next)
		for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
			if (rules[i].fault == r->fault)
				say(a, "%s %s: hit %llu, %s\n", rules[i].verb, rules[i].noun,
				    (unsigned long long)r->n_hits, r->left ? "goes on" : "used up");
}

static void list_reports(answer_t *a)
{
	const char *line;
	for (unsigned i = 0; (line = mlx5sw_report(i)) != NULL; i++)
		say(a, "%s\n", line);
}

static void status_of_qp(answer_t *a, const mlx5swi_qp_t *qp)
{
	static const char *const states[] = {"RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR"};
	const mlx5sw_qp_counters_t *c = &qp->counters;
	say(a,
	    "  QP 0x%06x %s to 0x%06x: doorbells %llu, WQEs %llu, packets %llu + %llu again, "
	    "executed %llu, CQEs %llu + %llu with errors\n",
	    qp->qpn, states[qp->state], qp->attr.remote_qpn, (unsigned long long)c->doorbells,
	    (unsigned long long)c->wqes, (unsigned long long)c->packets_sent,
	    (unsigned long long)c->packets_resent, (unsigned long long)c->executed,
	    (unsigned long long)c->cqes, (unsigned long long)c->error_cqes);
}

static void status(answer_t *a, const request_t *r)
{
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++) {
		const mlx5swi_device_t *dev = &mlx5swi_w->devices[i];
		const mlx5swi_qp_t *qp;
		if (!names_device(r, dev))
			continue;
		say(a, "host %u mlx5_%u: port %s%s\n", dev->host, dev->index,
		    dev->port.is_up ? "up" : "down", dev->is_fatal ? ", device dead" : "");
		for (uint32_t k = 0; (qp = next_qp(dev, r, &k)) != NULL;)
			status_of_qp(a, qp);
	}
}

static int act(request_t *r, const char *verb, const char *noun, answer_t *a)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].verb, verb) == 0 && strcmp(actions[i].noun, noun) == 0) {
			say(a, "%u devices\n", each_device(r, actions[i].fn));
			return 0;
		}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].verb, verb) == 0 && strcmp(rules[i].noun, noun) == 0) {
			r->rule.fault = rules[i].fault;
			return mlx5swi_rule_add(&r->rule);
		}
	if (strcmp(verb, "release") == 0 && strcmp(noun, "packets") == 0)
		say(a, "%u packets\n", mlx5swi_release_held());
	else if (strcmp(verb, "clear") == 0 && strcmp(noun, "rules") == 0)
		mlx5swi_rules_clear();
	else if (strcmp(verb, "list") == 0 && strcmp(noun, "rules") == 0)
		list_rules(a);
	else if (strcmp(verb, "list") == 0 && strcmp(noun, "reports") == 0)
		list_reports(a);
	else if (strcmp(verb, "status") == 0 && !*noun)
		status(a, r);
	else {
		say(a, "'%s%s%s' is no command: README.md of the adapter lists them\n", verb,
		    *noun ? " " : "", noun);
		return EINVAL;
	}
	return 0;
}

/* "mlx5_1" stands for "device=mlx5_1". */
static int take_word(request_t *r, char *word, const char **noun, answer_t *a)
{
	char *value = strchr(word, '=');
	int bad;
	if (!value && strncmp(word, "mlx5_", 5) == 0) {
		bad = key_value(r, "device", word + strlen("mlx5_"));
	} else if (!value) {
		bad = **noun ? EINVAL : 0;
		*noun = word;
	} else {
		*value++ = 0;
		bad = key_value(r, word, value);
		value[-1] = '=';
	}
	if (bad)
		say(a, "'%s' is not understood: want key=value with a value in range\n", word);
	return bad;
}

static int run_line(const char *line, answer_t *a)
{
	request_t r = {.rule = {.host = MLX5SWI_ANY,
				.device = MLX5SWI_ANY,
				.qpn = MLX5SWI_ANY,
				.index = MLX5SWI_ANY,
				.opcode = MLX5SWI_ANY,
				.left = UINT64_MAX},
		       .key = MLX5SWI_ANY};
	char text[512], *save = NULL;
	const char *noun = "";
	if (strlen(line) >= sizeof(text)) {
		say(a, "a line has at most %zu characters\n", sizeof(text) - 1);
		return EINVAL;
	}
	strcpy(text, line);
	const char *verb = strtok_r(text, " \t\n", &save);
	if (!verb)
		return 0;
	for (char *word; (word = strtok_r(NULL, " \t\n", &save)) != NULL;)
		if (take_word(&r, word, &noun, a))
			return EINVAL;
	return act(&r, verb, noun, a);
}

int mlx5swi_console(const char *line, char *answer, size_t nbytes)
{
	answer_t a = {answer, nbytes, 0};
	if (nbytes)
		answer[0] = 0;
	return run_line(line, &a);
}

int mlx5sw_control(const char *line, char *answer, size_t nbytes)
{
	int bad = mlx5swi_world_ready();
	if (nbytes)
		answer[0] = 0;
	if (bad)
		return bad;
	mlx5swi_lock();
	bad = mlx5swi_console(line, answer, nbytes);
	mlx5swi_unlock();
	return bad;
}
