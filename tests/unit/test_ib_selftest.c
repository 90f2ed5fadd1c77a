/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The messages of a self-test over two machines: what a PE says when the other one has another
 * version, cannot take part, dies, or sends what is out of range. The other PE is a script. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "selftest/far.h"
#include "selftest/rows.h"

#define MAX_STEPS 16

/* What the other PE sends in each gather, and what this PE has sent. */
typedef struct script {
	struct {
		const void *theirs; /* NULL: the same as this PE */
		char mine[sizeof(shmemhi_far_message_t)];
		int status;
	} steps[MAX_STEPS];
	int n;
	shmemh_boot_t boot;
	shmemhi_far_t far;
} script_t;

static int gather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
		  size_t errbuf_nbytes)
{
	script_t *s = state;
	size_t first = nbytes < sizeof s->steps[0].mine ? nbytes : sizeof s->steps[0].mine;
	const void *theirs;

	assert_true(s->n < MAX_STEPS);
	theirs = s->steps[s->n].theirs;
	memcpy(s->steps[s->n].mine, src, first);
	memcpy((char *)dst + (size_t)s->boot.pe * nbytes, src, nbytes);
	memcpy((char *)dst + (size_t)!s->boot.pe * nbytes, theirs ? theirs : src, nbytes);
	if (s->steps[s->n].status)
		snprintf(errbuf, errbuf_nbytes, "PE %d died", !s->boot.pe);
	return s->steps[s->n++].status;
}

static script_t *start(int pe)
{
	script_t *s = calloc(1, sizeof *s);

	assert_non_null(s);
	s->boot = (shmemh_boot_t){
		.size = sizeof s->boot, .pe = pe, .n_pes = 2, .state = s, .allgather = gather};
	return s;
}

static void stop(script_t *s)
{
	shmemhi_far_free(&s->far);
	free(s);
}

/* The other PE is like this one: their first two gathers succeed. */
static script_t *start_met(int pe)
{
	script_t *s = start(pe);
	shmemhi_err_t err = {""};

	assert_int_equal(shmemhi_far_meet(&s->far, &s->boot, &err), SHMEMH_OK);
	assert_int_equal(s->n, 2);
	return s;
}

static void test_other_version(void **state)
{
	static const char version[64] = "9.8.7";
	script_t *s = start(0);
	shmemhi_err_t err = {""};

	(void)state;
	s->steps[0].theirs = version;
	assert_int_equal(shmemhi_far_meet(&s->far, &s->boot, &err), SHMEMH_ERR_VERSION);
	assert_non_null(strstr(err.text, "the other PE has version 9.8.7"));
	assert_int_equal(s->n, 1);
	stop(s);
}

static void test_other_cannot(void **state)
{
	static const shmemhi_far_hello_t hello = {
		.status = SHMEMH_ERR_NIC, .host = "host-b", .text = "no NIC"};
	script_t *s = start(0);
	shmemhi_err_t err = {""};

	(void)state;
	s->steps[1].theirs = &hello;
	assert_int_equal(shmemhi_far_meet(&s->far, &s->boot, &err), SHMEMH_ERR_NIC);
	assert_string_equal(err.text, "self-test: PE 1 (host-b): no NIC");
	stop(s);
}

/* The rest of a row must not wait for a PE that is dead. */
static void test_other_dies(void **state)
{
	script_t *s = start_met(0);
	shmemhi_far_message_t m = {.op = SHMEMHI_FAR_QUERY};
	shmemhi_err_t err = {""};

	(void)state;
	s->steps[3].status = SHMEMH_ERR_PEER;
	for (int i = 0; i < 3; i++) {
		err.text[0] = '\0';
		assert_int_equal(shmemhi_far_call(&s->far, &m, NULL, NULL, &err), SHMEMH_ERR_PEER);
		assert_string_equal(err.text, "self-test: PE 1 died");
		assert_true(s->far.is_lost);
		assert_int_equal(s->n, 4);
	}
	stop(s);
}

static void test_request_fails(void **state)
{
	static const shmemhi_far_message_t reply = {
		.op = SHMEMHI_FAR_LOAD, .status = SHMEMH_ERR_ARGUMENT, .text = "out of range"};
	script_t *s = start_met(0);
	shmemhi_far_message_t m = {.op = SHMEMHI_FAR_LOAD, .nbytes = 8};
	shmemhi_err_t err = {""};

	(void)state;
	s->steps[3].theirs = &reply;
	assert_int_equal(shmemhi_far_call(&s->far, &m, NULL, NULL, &err), SHMEMH_ERR_ARGUMENT);
	assert_string_equal(err.text, "PE 1: out of range");
	assert_false(s->far.is_lost);
	assert_int_equal(s->n, 4); /* no payload follows such a reply */
	stop(s);
}

/* PE 1 refuses what is out of range, stores, loads, and ends. */
static void test_serve(void **state)
{
	const uint64_t value = 0x1122334455667788;
	const shmemhi_far_message_t far_away = {.op = SHMEMHI_FAR_STORE,
						.offset = SHMEMHI_RIG_NBYTES - 4,
						.nbytes = 8},
				    spread = {.op = SHMEMHI_FAR_LOAD,
					      .nbytes = 16,
					      .piece = 8,
					      .offset = 8,
					      .stride = SHMEMHI_RIG_NBYTES - 15},
				    no_port = {.op = SHMEMHI_FAR_OPEN, .port = 1},
				    no_peer = {.op = SHMEMHI_FAR_JOIN, .peer_port = 1},
				    store = {.op = SHMEMHI_FAR_STORE, .offset = 64, .nbytes = 8},
				    last = {.op = SHMEMHI_FAR_END,
					    .nbytes = sizeof(shmemhi_port_verdicts_t)};
	static shmemhi_port_verdicts_t sent = {{{1, 2}}}, got;
	const void *const theirs[] = {&far_away, &value, NULL,   &spread, NULL, &no_port, NULL,
				      &no_peer,  NULL,   &store, &value,  NULL, &last,    &sent};
	static const struct {
		int step;
		const char *text;
	} refusals[] = {
		{2, "request 9:"}, {4, "request 10:"}, {6, "request 0: port 1"}, {8, "request 2:"}};
	script_t *s = start_met(1);
	shmemhi_rig_t *rig = calloc(1, sizeof *rig);
	shmemhi_far_message_t reply;
	shmemhi_err_t err = {""};

	(void)state;
	assert_non_null(rig);
	rig->memory = calloc(2, SHMEMHI_RIG_NBYTES);
	assert_non_null(rig->memory);
	s->n = 0;
	for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
		s->steps[i].theirs = theirs[i];
	assert_int_equal(shmemhi_far_serve(rig, &s->far, &got, &err), SHMEMH_OK);
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		memcpy(&reply, s->steps[refusals[i].step].mine, sizeof reply);
		assert_int_equal(reply.status, SHMEMH_ERR_ARGUMENT);
		assert_non_null(strstr(reply.text, refusals[i].text));
	}
	assert_memory_equal(shmemhi_remote_ptr(rig, 64), &value, 8);
	assert_memory_equal(&got, &sent, sizeof got);
	free(rig->memory);
	free(rig);
	stop(s);
}

/* More bytes than PE 1 has room for: nothing is written, and PE 1 ends. */
static void test_long_request(void **state)
{
	const shmemhi_far_message_t store = {.op = SHMEMHI_FAR_STORE,
					     .nbytes = SHMEMHI_RIG_NBYTES + 1};
	static shmemhi_port_verdicts_t got;
	script_t *s = start_met(1);
	shmemhi_rig_t *rig = calloc(1, sizeof *rig);
	shmemhi_err_t err = {""};

	(void)state;
	assert_non_null(rig);
	s->steps[2].theirs = &store;
	assert_int_equal(shmemhi_far_serve(rig, &s->far, &got, &err), SHMEMH_ERR_MISMATCH);
	assert_int_equal(s->n, 3);
	free(rig);
	stop(s);
}

/* The worst verdict on the ports of a kind is kept, wherever its port is in their order; for a kind
 * on which a row has not run, none. */
static void test_keep(void **state)
{
	static const shmemhi_firmware_t kinds[] = {{0x02c9, 4123, "20.43.4100"},
						   {0x02c9, 4123, "20.43.4100"},
						   {0x02c9, 4129, "28.43.1000"},
						   {0x02c9, 4123, "20.43.4100"},
						   {0x02c9, 4123, "20.44.1000"}};
	const int none = SHMEMHI_ROW_NOT_RUN, pass = SHMEMHI_PASS, unknown = SHMEMHI_UNKNOWN,
		  fail = SHMEMHI_FAIL;
	const int found[4][5] = {{fail, fail, pass, pass, pass},
				 {pass, unknown, fail, pass, none},
				 {none, none, pass, none, none},
				 {pass, none, pass, pass, unknown}};
	const int kept[4][3] = {{fail, pass, pass},
				{unknown, fail, none},
				{none, pass, none},
				{pass, pass, unknown}};
	const int kind_of[3] = {0, 2, 4};
	char path[] = "/tmp/shmem_selftest_XXXXXX", line[256];
	int n_rows, n_lines = 0, fd = mkstemp(path);
	const shmemhi_selftest_row_t *rows = shmemhi_selftest_rows(&n_rows);
	static shmemhi_port_verdicts_t verdicts;
	FILE *f = fdopen(fd, "w");

	(void)state;
	assert_non_null(f);
	memset(&verdicts, none, sizeof verdicts);
	for (int row = 0; row < 4; row++)
		for (int port = 0; port < 5; port++)
			verdicts.verdicts[row][port] = (uint8_t)found[row][port];
	shmemhi_verdicts_keep(&verdicts, kinds, 5, f);
	fclose(f);
	for (int row = 0; row < 4; row++)
		for (int i = 0; i < 3; i++)
			assert_int_equal(
				shmemhi_results_verdict(path, &kinds[kind_of[i]], rows[row].name),
				kept[row][i] == none ? unknown : kept[row][i]);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		n_lines++;
	fclose(f);
	assert_int_equal(n_lines, 9);
	assert_int_equal(unlink(path), 0);
}

/* A row that ended before it ran on all ports leaves only its failures. */
static void test_end_early(void **state)
{
	static shmemhi_port_verdicts_t verdicts;

	(void)state;
	memset(&verdicts, SHMEMHI_ROW_NOT_RUN, sizeof verdicts);
	for (int row = 0; row < 2; row++) {
		verdicts.verdicts[row][0] = SHMEMHI_PASS;
		verdicts.verdicts[row][1] = SHMEMHI_FAIL;
		verdicts.verdicts[row][2] = SHMEMHI_UNKNOWN;
	}
	shmemhi_verdicts_end_early(&verdicts, 1);
	assert_int_equal(verdicts.verdicts[0][0], SHMEMHI_PASS);
	assert_int_equal(verdicts.verdicts[1][0], SHMEMHI_ROW_NOT_RUN);
	assert_int_equal(verdicts.verdicts[1][1], SHMEMHI_FAIL);
	assert_int_equal(verdicts.verdicts[1][2], SHMEMHI_ROW_NOT_RUN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_version), cmocka_unit_test(test_other_cannot),
		cmocka_unit_test(test_other_dies),    cmocka_unit_test(test_request_fails),
		cmocka_unit_test(test_serve),         cmocka_unit_test(test_long_request),
		cmocka_unit_test(test_keep),          cmocka_unit_test(test_end_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
