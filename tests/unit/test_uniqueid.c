/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The unique id: its text form, its contents, and the refusal of anything else. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "boot/uniqueid.h"

static void make(shmemhi_id_t *id)
{
	size_t i;

	memset(id, 0, sizeof(*id));
	for (i = 0; i < sizeof(id->secret); i++)
		id->secret[i] = (unsigned char)(17 * i + 3);
	id->n_addrs = 2;
	id->addrs[0].v4.sin_family = AF_INET;
	id->addrs[0].v4.sin_port = htons(4711);
	inet_pton(AF_INET, "10.1.2.3", &id->addrs[0].v4.sin_addr);
	id->addrs[1].v6.sin6_family = AF_INET6;
	id->addrs[1].v6.sin6_port = htons(65535);
	inet_pton(AF_INET6, "2001:db8::7", &id->addrs[1].v6.sin6_addr);
}

static void test_pack(void **state)
{
	char text[SHMEMHI_ADDR_TEXT_NBYTES];
	shmemh_uniqueid_t packed;
	shmemhi_id_t id;
	shmemhi_id_t back;

	(void)state;
	make(&id);
	shmemhi_id_pack(&id, &packed);
	assert_int_equal(shmemhi_id_unpack(&packed, &back), 0);
	assert_memory_equal(back.secret, id.secret, sizeof(id.secret));
	assert_int_equal(back.n_addrs, 2);
	assert_string_equal(shmemhi_addr_text(&back.addrs[0], text), "10.1.2.3:4711");
	assert_string_equal(shmemhi_addr_text(&back.addrs[1], text), "[2001:db8::7]:65535");
}

static void test_text(void **state)
{
	char text[SHMEMH_UNIQUEID_TEXT_NBYTES];
	shmemh_uniqueid_t packed;
	shmemh_uniqueid_t back;
	shmemhi_id_t id;
	size_t i;

	(void)state;
	make(&id);
	shmemhi_id_pack(&id, &packed);
	shmemh_uniqueid_to_text(&packed, text);
	assert_int_equal(strlen(text), SHMEMH_UNIQUEID_TEXT_NBYTES - 1);
	assert_int_equal(shmemh_uniqueid_from_text(text, &back), SHMEMH_OK);
	assert_memory_equal(&back, &packed, sizeof(back));
	for (i = 0; text[i]; i++)
		if (text[i] >= 'a')
			text[i] = (char)(text[i] - 'a' + 'A');
	assert_int_equal(shmemh_uniqueid_from_text(text, &back), SHMEMH_OK);
}

/* Every single changed byte is detected. */
static void test_damage(void **state)
{
	shmemh_uniqueid_t packed;
	shmemhi_id_t id;
	size_t i;

	(void)state;
	make(&id);
	shmemhi_id_pack(&id, &packed);
	for (i = 0; i < sizeof(packed.bytes); i++) {
		packed.bytes[i] ^= 0x40;
		assert_int_equal(shmemhi_id_unpack(&packed, &id), -1);
		packed.bytes[i] ^= 0x40;
	}
	assert_int_equal(shmemhi_id_unpack(&packed, &id), 0);
}

static void expect_refused(const char *text)
{
	shmemh_uniqueid_t before;
	shmemh_uniqueid_t id;

	memset(&before, 0x55, sizeof(before));
	id = before;
	assert_int_equal(shmemh_uniqueid_from_text(text, &id), SHMEMH_ERR_ARGUMENT);
	assert_memory_equal(&id, &before, sizeof(id)); /* nothing was written */
}

static void test_bad_text(void **state)
{
	char good[SHMEMH_UNIQUEID_TEXT_NBYTES];
	char text[SHMEMH_UNIQUEID_TEXT_NBYTES + 2];
	shmemh_uniqueid_t packed;
	shmemhi_id_t id;

	(void)state;
	make(&id);
	shmemhi_id_pack(&id, &packed);
	shmemh_uniqueid_to_text(&packed, good);
	expect_refused(NULL);
	expect_refused("");
	expect_refused("deadbeef");
	memcpy(text, good, sizeof(good));
	text[strlen(good) - 1] = '\0'; /* one character short */
	expect_refused(text);
	memcpy(text, good, sizeof(good));
	strcat(text, "00"); /* too long */
	expect_refused(text);
	memcpy(text, good, sizeof(good));
	text[40] = 'g'; /* not a digit */
	expect_refused(text);
	memcpy(text, good, sizeof(good));
	text[40] = text[40] == '0' ? '1' : '0'; /* another digit */
	expect_refused(text);
	memset(text, '0', strlen(good));
	expect_refused(text);
}

/* With a valid checksum, made by a later runtime: refused, not misread. */
static void test_counts(void **state)
{
	shmemh_uniqueid_t packed;
	shmemhi_id_t id;
	shmemhi_id_t back;

	(void)state;
	make(&id);
	id.n_addrs = 0;
	shmemhi_id_pack(&id, &packed);
	assert_int_equal(shmemhi_id_unpack(&packed, &back), -1);
}

/* Interfaces that the library sees in place of those of this machine. */
static struct ifaddrs *interfaces;

int getifaddrs(struct ifaddrs **list)
{
	int (*of_libc)(struct ifaddrs **);

	*(void **)&of_libc = dlsym(RTLD_NEXT, "getifaddrs");
	if (!interfaces)
		return of_libc(list);
	*list = interfaces;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	void (*of_libc)(struct ifaddrs *);

	*(void **)&of_libc = dlsym(RTLD_NEXT, "freeifaddrs");
	if (list != interfaces)
		of_libc(list);
}

/* The line names every interface once, also one whose name is part of another name. */
static void test_interfaces(void **state)
{
	static char names[][8] = {"veth1", "eth10", "eth1", "veth1", "th"};
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a010203)};
	struct ifaddrs list[5] = {0};
	shmemh_uniqueid_t id;

	(void)state;
	for (int i = 0; i < 5; i++)
		list[i] = (struct ifaddrs){.ifa_next = i < 4 ? &list[i + 1] : NULL,
					   .ifa_name = names[i],
					   .ifa_flags = IFF_UP,
					   .ifa_addr = (struct sockaddr *)&addr};
	interfaces = list;
	setenv("SHMEMH_IFNAME", "eht1", 1);
	assert_int_equal(shmemh_get_uniqueid(2, &id), SHMEMH_ERR_OPTION);
	interfaces = NULL;
	assert_non_null(strstr(shmemhi_thread_err()->text, "there are: veth1 eth10 eth1 th"));
}

static void test_get(void **state)
{
	char lo[] = "lo";
	shmemh_uniqueid_t a;
	shmemh_uniqueid_t b;
	shmemhi_id_t in_a;
	shmemhi_id_t in_b;

	(void)state;
	setenv("SHMEMH_IFNAME", lo, 1);
	setenv("SHMEMH_BOOT_TIMEOUT", "10ms", 1);
	assert_int_equal(shmemh_get_uniqueid(2, &a), SHMEMH_OK);
	assert_int_equal(shmemh_get_uniqueid(2, &b), SHMEMH_OK);
	assert_int_equal(shmemhi_id_unpack(&a, &in_a), 0);
	assert_int_equal(shmemhi_id_unpack(&b, &in_b), 0);
	assert_memory_not_equal(in_a.secret, in_b.secret, sizeof(in_a.secret));
	assert_int_not_equal(in_a.addrs[0].v4.sin_port, in_b.addrs[0].v4.sin_port);
	assert_int_equal(in_a.addrs[0].v4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(shmemh_get_uniqueid(0, &a), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(shmemhi_thread_err()->text, "n_pes=0"));
	assert_int_equal(shmemh_get_uniqueid(2, NULL), SHMEMH_ERR_ARGUMENT);
	setenv("SHMEMH_IFNAME", "nosuch0", 1);
	assert_int_equal(shmemh_get_uniqueid(2, &a), SHMEMH_ERR_OPTION);
	assert_non_null(strstr(shmemhi_thread_err()->text, "SHMEMH_IFNAME=nosuch0"));
	assert_non_null(strstr(shmemhi_thread_err()->text, " lo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack),       cmocka_unit_test(test_text),
		cmocka_unit_test(test_damage),     cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_counts),     cmocka_unit_test(test_get),
		cmocka_unit_test(test_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
