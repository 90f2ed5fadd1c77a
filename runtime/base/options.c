/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "base/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define PREFIX "SHMEMH_"

enum kind { KIND_SIZE, KIND_TIME, KIND_INT, KIND_WORD, KIND_TEXT };

typedef struct option {
	enum kind kind;
	size_t offset; /* of the field in shmemhi_options_t */
	size_t nbytes; /* of the field */
	const char *name;
	const char *dflt;
	const char *help;
} option_t;

static const option_t table[] = {
#define X_(field, kind, name, dflt, help)                                                          \
	{KIND_##kind,                                                                              \
	 offsetof(shmemhi_options_t, field),                                                       \
	 sizeof(((shmemhi_options_t *)0)->field),                                                  \
	 name,                                                                                     \
	 dflt,                                                                                     \
	 help},
	SHMEMHI_OPTIONS(X_)
#undef X_
};

#define N_OPTIONS (sizeof(table) / sizeof(table[0]))

typedef struct unit {
	const char *suffix;
	uint64_t factor;
} unit_t;

static const unit_t size_units[] = {{"", 1},           {"k", 1ull << 10}, {"m", 1ull << 20},
				    {"g", 1ull << 30}, {"t", 1ull << 40}, {NULL, 0}};
static const unit_t time_units[] = {{"", 1000000000}, {"ns", 1},         {"us", 1000},
				    {"ms", 1000000},  {"s", 1000000000}, {NULL, 0}};

/* Is text equal to word (lower case), regardless of case? */
static bool is_word(const char *text, const char *word, size_t word_nbytes)
{
	size_t i;

	for (i = 0; i < word_nbytes; i++)
		if (tolower((unsigned char)text[i]) != word[i])
			return false;
	return text[word_nbytes] == '\0';
}

/* Digits, then one of units. Returns 0, or -1 for anything else or more than 64 bits. */
static int parse_units(const char *text, const unit_t *units, uint64_t *value)
{
	uint64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return -1;
	if (at == text)
		return -1;
	for (; units->suffix; units++)
		if (is_word(at, units->suffix, strlen(units->suffix)))
			return __builtin_mul_overflow(number, units->factor, value) ? -1 : 0;
	return -1;
}

/* A number that fits an int, or -1, which some options have as their default. */
static int parse_int(const char *text, int *value)
{
	uint64_t number;

	if (strcmp(text, "-1") == 0) {
		*value = -1;
		return 0;
	}
	if (parse_units(text, (const unit_t[]){{"", 1}, {NULL, 0}}, &number) != 0 ||
	    number > INT_MAX)
		return -1;
	*value = (int)number;
	return 0;
}

/* Length of the list "a|b|c" that begins the help of a WORD. */
static size_t words_nbytes(const option_t *o)
{
	return strcspn(o->help, ":");
}

static int parse_word(const option_t *o, const char *text, int *value)
{
	const char *end = o->help + words_nbytes(o);
	const char *word = o->help;
	int index = 0;

	while (word < end) {
		size_t nbytes = strcspn(word, "|:");

		if (is_word(text, word, nbytes)) {
			*value = index;
			return 0;
		}
		word += nbytes + 1;
		index++;
	}
	return -1;
}

static int parse_text(const option_t *o, const char *text, char *value)
{
	if (strlen(text) >= o->nbytes)
		return -1;
	memset(value, 0, o->nbytes);
	memcpy(value, text, strlen(text));
	return 0;
}

static int parse(const option_t *o, const char *text, shmemhi_options_t *opt)
{
	void *field = (char *)opt + o->offset;

	switch (o->kind) {
	case KIND_SIZE:
		return parse_units(text, size_units, field);
	case KIND_TIME:
		return parse_units(text, time_units, field);
	case KIND_INT:
		return parse_int(text, field);
	case KIND_WORD:
		return parse_word(o, text, field);
	case KIND_TEXT:
		return parse_text(o, text, field);
	}
	return -1;
}

static int fail_option(const option_t *o, const char *text, shmemhi_err_t *err)
{
	switch (o->kind) {
	case KIND_SIZE:
		return shmemhi_fail(err, SHMEMH_ERR_OPTION,
				    "%s=%.80s is not a size: use a whole number of bytes below "
				    "2^64, or one with k, m, g or t, such as 64m",
				    o->name, text);
	case KIND_TIME:
		return shmemhi_fail(err, SHMEMH_ERR_OPTION,
				    "%s=%.80s is not a time: use a whole number of seconds, or one "
				    "with ns, us, ms or s, such as 500ms; at most 584 years",
				    o->name, text);
	case KIND_INT:
		return shmemhi_fail(err, SHMEMH_ERR_OPTION,
				    "%s=%.80s is not a whole number in -1 .. %d", o->name, text,
				    INT_MAX);
	case KIND_WORD:
		return shmemhi_fail(err, SHMEMH_ERR_OPTION, "%s=%.80s is not one of %.*s", o->name,
				    text, (int)words_nbytes(o), o->help);
	case KIND_TEXT:
		break;
	}
	return shmemhi_fail(err, SHMEMH_ERR_OPTION,
			    "%s is %zu characters long: at most %zu are allowed", o->name,
			    strlen(text), o->nbytes - 1);
}

/* Is it the name of an option, or of the variable that shmemh_local_pe reads? */
static bool is_known(const char *name, size_t name_nbytes)
{
	static const char local_pe[] = PREFIX "LOCAL_PE";
	size_t i;

	if (name_nbytes == sizeof(local_pe) - 1 && memcmp(name, local_pe, name_nbytes) == 0)
		return true;
	for (i = 0; i < N_OPTIONS; i++)
		if (strlen(table[i].name) == name_nbytes &&
		    memcmp(table[i].name, name, name_nbytes) == 0)
			return true;
	return false;
}

static void warn_unknown(const shmemhi_log_t *log)
{
	char **entry;

	for (entry = environ; entry && *entry; entry++) {
		size_t name_nbytes = strcspn(*entry, "=");

		if (strncmp(*entry, PREFIX, strlen(PREFIX)) == 0 && !is_known(*entry, name_nbytes))
			shmemhi_log(log, SHMEMHI_WARN,
				    "%.*s is not an option and has no effect: shmem-info lists all",
				    (int)(name_nbytes < 80 ? name_nbytes : 80), *entry);
	}
}

static void set_default(const char *name, shmemhi_options_t *opt)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strcmp(table[i].name, name) == 0)
			(void)parse(&table[i], table[i].dflt, opt);
}

int shmemhi_options_read(shmemhi_options_t *opt, const shmemhi_log_t *log, shmemhi_err_t *err)
{
	shmemhi_log_t own = *log;
	int status = SHMEMH_OK;
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		const char *text = getenv(table[i].name);

		if (!text || text[0] == '\0')
			text = table[i].dflt;
		if (parse(&table[i], text, opt) != 0) {
			status = fail_option(&table[i], text, err);
			(void)parse(&table[i], table[i].dflt, opt);
		}
	}
	if (opt->boot_timeout_ns == 0) {
		status = shmemhi_fail(err, SHMEMH_ERR_OPTION,
				      "SHMEMH_BOOT_TIMEOUT=0: nothing could start in no time; use "
				      "a large value to wait long");
		/* The PE joins only to say that it cannot; its hub serves the others meanwhile. */
		set_default("SHMEMH_BOOT_TIMEOUT", opt);
	}
	own.level = opt->debug;
	warn_unknown(&own);
	return status;
}

/* Format value in the largest unit that divides it without remainder. */
static void format_units(uint64_t value, const unit_t *units, char *text, size_t text_nbytes)
{
	const unit_t *best = units;
	uint64_t best_factor = 0;

	for (; units->suffix; units++)
		if (value != 0 && value % units->factor == 0 && units->factor >= best_factor) {
			best = units;
			best_factor = units->factor;
		}
	if (best_factor == 0)
		snprintf(text, text_nbytes, "0");
	else
		snprintf(text, text_nbytes, "%llu%s", (unsigned long long)(value / best_factor),
			 best->suffix);
}

/* The word with that index in the option's list. */
static void format_word(const option_t *o, int index, char *text, size_t text_nbytes)
{
	const char *word = o->help;

	for (; index > 0; index--)
		word += strcspn(word, "|:") + 1;
	snprintf(text, text_nbytes, "%.*s", (int)strcspn(word, "|:"), word);
}

/* -1 is a value of its own where the text explains it, and else says that nothing is set. */
static bool has_default(const option_t *o)
{
	return o->dflt[0] != '\0' && (strcmp(o->dflt, "-1") != 0 || strstr(o->help, "-1:"));
}

static void format_value(const option_t *o, const shmemhi_options_t *opt, char *text,
			 size_t text_nbytes)
{
	const void *field = (const char *)opt + o->offset;

	switch (o->kind) {
	case KIND_SIZE:
		format_units(*(const uint64_t *)field, size_units, text, text_nbytes);
		break;
	case KIND_TIME:
		format_units(*(const uint64_t *)field, time_units, text, text_nbytes);
		break;
	case KIND_INT:
		if (*(const int *)field < 0 && !has_default(o))
			snprintf(text, text_nbytes, "-");
		else
			snprintf(text, text_nbytes, "%d", *(const int *)field);
		break;
	case KIND_WORD:
		format_word(o, *(const int *)field, text, text_nbytes);
		break;
	case KIND_TEXT:
		/* Do not print the unique id: it contains the job's secret, and output ends up
		 * in bug reports. */
		if (field == (const void *)opt->uniqueid && opt->uniqueid[0] != '\0')
			snprintf(text, text_nbytes, "(set)");
		else
			snprintf(text, text_nbytes, "%s",
				 *(const char *)field ? (const char *)field : "-");
		break;
	}
}

void shmemhi_options_print(const shmemhi_options_t *opt, FILE *out)
{
	char value[320];
	size_t i;

	fprintf(out, "%-23s %-8s %-12s %s\n", "option", "default", "in force", "meaning");
	for (i = 0; i < N_OPTIONS; i++) {
		const option_t *o = &table[i];

		format_value(o, opt, value, sizeof(value));
		fprintf(out, "%-23s %-8s %-12s %s\n", o->name, has_default(o) ? o->dflt : "-",
			value, o->help);
	}
}
