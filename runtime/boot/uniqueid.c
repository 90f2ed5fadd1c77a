/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/uniqueid.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define ADDR_NBYTES 20
#define AT_SECRET 8
#define AT_N_ADDRS 24
#define AT_ADDRS 32
#define AT_CHECKSUM 112
#define CHECKSUM_NBYTES (SHMEMH_UNIQUEID_NBYTES - AT_CHECKSUM)

static const unsigned char magic[8] = {'S', 'H', 'M', 'E', 'M', 'I', 'D', 1};

socklen_t shmemhi_addr_nbytes(const shmemhi_addr_t *addr)
{
	return addr->any.sa_family == AF_INET ? sizeof(addr->v4) : sizeof(addr->v6);
}

const char *shmemhi_addr_text(const shmemhi_addr_t *addr, char text[SHMEMHI_ADDR_TEXT_NBYTES])
{
	char ip[INET6_ADDRSTRLEN] = "?";

	if (addr->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &addr->v4.sin_addr, ip, sizeof(ip));
		snprintf(text, SHMEMHI_ADDR_TEXT_NBYTES, "%s:%u", ip, ntohs(addr->v4.sin_port));
	} else {
		inet_ntop(AF_INET6, &addr->v6.sin6_addr, ip, sizeof(ip));
		snprintf(text, SHMEMHI_ADDR_TEXT_NBYTES, "[%s]:%u", ip, ntohs(addr->v6.sin6_port));
	}
	return text;
}

static void checksum(const shmemh_uniqueid_t *packed, unsigned char sum[CHECKSUM_NBYTES])
{
	crypto_generichash(sum, CHECKSUM_NBYTES, packed->bytes, AT_CHECKSUM, NULL, 0);
}

void shmemhi_id_pack(const shmemhi_id_t *id, shmemh_uniqueid_t *packed)
{
	unsigned char *at = packed->bytes + AT_ADDRS;
	int i;

	memset(packed, 0, sizeof(*packed));
	memcpy(packed->bytes, magic, sizeof(magic));
	memcpy(packed->bytes + AT_SECRET, id->secret, sizeof(id->secret));
	packed->bytes[AT_N_ADDRS] = (unsigned char)id->n_addrs;
	for (i = 0; i < id->n_addrs; i++, at += ADDR_NBYTES) {
		const shmemhi_addr_t *addr = &id->addrs[i];

		if (addr->any.sa_family == AF_INET) {
			at[0] = 4;
			memcpy(at + 2, &addr->v4.sin_port, 2);
			memcpy(at + 4, &addr->v4.sin_addr, 4);
		} else {
			at[0] = 6;
			memcpy(at + 2, &addr->v6.sin6_port, 2);
			memcpy(at + 4, &addr->v6.sin6_addr, 16);
		}
	}
	checksum(packed, packed->bytes + AT_CHECKSUM);
}

static int unpack_addr(const unsigned char *at, shmemhi_addr_t *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (at[0] == 4) {
		addr->v4.sin_family = AF_INET;
		memcpy(&addr->v4.sin_port, at + 2, 2);
		memcpy(&addr->v4.sin_addr, at + 4, 4);
		return 0;
	}
	if (at[0] == 6) {
		addr->v6.sin6_family = AF_INET6;
		memcpy(&addr->v6.sin6_port, at + 2, 2);
		memcpy(&addr->v6.sin6_addr, at + 4, 16);
		return 0;
	}
	return -1;
}

int shmemhi_id_unpack(const shmemh_uniqueid_t *packed, shmemhi_id_t *id)
{
	unsigned char sum[CHECKSUM_NBYTES];
	int i;

	id->is_from_torchrun = false;
	checksum(packed, sum);
	if (memcmp(packed->bytes, magic, sizeof(magic)) != 0 ||
	    memcmp(packed->bytes + AT_CHECKSUM, sum, sizeof(sum)) != 0)
		return -1;
	memcpy(id->secret, packed->bytes + AT_SECRET, sizeof(id->secret));
	id->n_addrs = packed->bytes[AT_N_ADDRS];
	if (id->n_addrs < 1 || id->n_addrs > SHMEMHI_ID_MAX_ADDRS)
		return -1;
	for (i = 0; i < id->n_addrs; i++)
		if (unpack_addr(packed->bytes + AT_ADDRS + i * ADDR_NBYTES, &id->addrs[i]) != 0)
			return -1;
	return 0;
}

void shmemh_uniqueid_to_text(const shmemh_uniqueid_t *id, char text[SHMEMH_UNIQUEID_TEXT_NBYTES])
{
	if (id && text)
		sodium_bin2hex(text, SHMEMH_UNIQUEID_TEXT_NBYTES, id->bytes, sizeof(id->bytes));
	else if (text)
		text[0] = '\0';
}

int shmemh_uniqueid_from_text(const char *text, shmemh_uniqueid_t *id)
{
	shmemh_uniqueid_t packed;
	shmemhi_id_t unpacked;
	size_t nbytes = 0;

	if (!text || !id || strlen(text) != SHMEMH_UNIQUEID_TEXT_NBYTES - 1 ||
	    sodium_hex2bin(packed.bytes, sizeof(packed.bytes), text, strlen(text), NULL, &nbytes,
			   NULL) != 0 ||
	    nbytes != sizeof(packed.bytes) || shmemhi_id_unpack(&packed, &unpacked) != 0)
		return shmemhi_fail_thread(SHMEMH_ERR_ARGUMENT,
					   "uniqueid_from_text: text=%.16s, id=%p: text is not "
					   "what shmemh_uniqueid_to_text wrote, or id, which "
					   "receives the unique id, is NULL",
					   text ? text : "NULL", (void *)id);
	*id = packed;
	return SHMEMH_OK;
}

int shmemhi_uniqueid_make(int n_pes, const shmemhi_options_t *opt, const shmemhi_log_t *log,
			  shmemh_uniqueid_t *id, shmemhi_err_t *err)
{
	int fds[SHMEMHI_ID_MAX_ADDRS];
	shmemhi_id_t made;

	if (sodium_init() < 0)
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
				    "sodium_init failed: no random numbers");
	memset(&made, 0, sizeof(made));
	randombytes_buf(made.secret, sizeof(made.secret));
	made.n_addrs = shmemhi_listen(opt->ifname, fds, made.addrs, err);
	if (made.n_addrs < 0)
		return -made.n_addrs;
	shmemhi_id_pack(&made, id);
	return shmemhi_hub_start(&made, n_pes, fds, opt, log, err);
}

int shmemh_get_uniqueid(int n_pes, shmemh_uniqueid_t *id)
{
	shmemhi_err_t *err = shmemhi_thread_err();
	shmemhi_log_t log = {SHMEMHI_WARN, -1, n_pes};
	shmemhi_options_t opt;
	int status;

	err->text[0] = '\0';
	if (n_pes < 1 || !id)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "shmemh_get_uniqueid: n_pes=%d, id=%p: a job has 1 PE or more, "
				    "and id is where the unique id goes",
				    n_pes, (void *)id);
	status = shmemhi_options_read(&opt, &log, err);
	if (status != SHMEMH_OK)
		return status;
	log.level = opt.debug;
	return shmemhi_uniqueid_make(n_pes, &opt, &log, id, err);
}
