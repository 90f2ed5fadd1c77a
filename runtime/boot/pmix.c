/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/boot.h"

#include <stdlib.h>

/* Both are set for every process of a PMIx launcher (PMIx reference, process environment). */
bool shmemhi_boot_pmix_present(void)
{
	return getenv("PMIX_RANK") != NULL && getenv("PMIX_NAMESPACE") != NULL;
}

bool shmemhi_boot_pmix_built(void)
{
#ifdef SHMEMHI_HAVE_PMIX
	return true;
#else
	return false;
#endif
}

#ifdef SHMEMHI_HAVE_PMIX

#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <pmix.h>
#include <stdbool.h>
#include "base/clock.h"
#include "boot/uniqueid.h"

#define LIBRARY "libpmix.so.2"
#define ASK_AGAIN_MS 20

/* The calls used; the types come from the headers. */
#define CALLS(X) X(Init) X(Finalize) X(Put) X(Commit) X(Get) X(Error_string)

typedef struct pmix {
	void *library;
	pmix_proc_t self;
	char key[48];
	pmix_info_t timeout; /* of each Get */
#define X_(name) __typeof__(PMIx_##name) *name;
	CALLS(X_)
#undef X_
} pmix_lib_t;

/* PMIx keeps one store per process and job, and a key in it cannot be changed reliably. So each
 * init of the process uses a new key. init is collective, so all PEs count the same. */
static void next_key(char key[48])
{
	static atomic_uint n_inits;

	snprintf(key, 48, "shmem_host.uniqueid.%u", atomic_fetch_add(&n_inits, 1));
}

static int fail_call(const pmix_lib_t *p, const char *call, pmix_status_t status,
		     shmemhi_err_t *err)
{
	return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, "%s: %s (%d)", call, p->Error_string(status),
			    status);
}

/* Never unload the library: PMIx has threads and exit handlers of its own. */
static int load(pmix_lib_t *p, shmemhi_err_t *err)
{
	void *symbol;

	p->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!p->library)
		return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP,
				    "started by a PMIx launcher, but %s; install it, or give "
				    "SHMEMH_UNIQUEID, SHMEMH_PE and SHMEMH_NPES",
				    dlerror());
#define X_(name)                                                                                   \
	symbol = dlsym(p->library, "PMIx_" #name);                                                 \
	if (!symbol)                                                                               \
		return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, LIBRARY " has no PMIx_" #name);     \
	memcpy(&p->name, &symbol, sizeof(symbol));
	CALLS(X_)
#undef X_
	return SHMEMH_OK;
}

static void set_timeout(pmix_lib_t *p, uint64_t ns)
{
	uint64_t s = ns / SHMEMHI_SECOND + (ns % SHMEMHI_SECOND != 0);

	snprintf(p->timeout.key, sizeof(p->timeout.key), "%s", PMIX_TIMEOUT);
	p->timeout.value.type = PMIX_INT;
	p->timeout.value.data.integer = s > INT_MAX ? INT_MAX : (int)s;
}

static int get_n_pes(pmix_lib_t *p, int *n_pes, shmemhi_err_t *err)
{
	pmix_proc_t job = p->self;
	pmix_value_t *value = NULL;
	pmix_status_t status;

	job.rank = PMIX_RANK_WILDCARD;
	status = p->Get(&job, PMIX_JOB_SIZE, &p->timeout, 1, &value);
	if (status != PMIX_SUCCESS)
		return fail_call(p, "PMIx_Get(PMIX_JOB_SIZE)", status, err);
	*n_pes = value->type == PMIX_UINT32 ? (int)value->data.uint32 : -1;
	free(value);
	if (*n_pes < 1 || p->self.rank >= (pmix_rank_t)*n_pes)
		return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, "PMIx: rank %u of a job of size %d",
				    (unsigned)p->self.rank, *n_pes);
	return SHMEMH_OK;
}

static int put_id(pmix_lib_t *p, const shmemh_uniqueid_t *id, shmemhi_err_t *err)
{
	char text[SHMEMH_UNIQUEID_TEXT_NBYTES];
	pmix_value_t value;
	pmix_status_t pmix_status;

	shmemh_uniqueid_to_text(id, text);
	memset(&value, 0, sizeof(value));
	value.type = PMIX_STRING;
	value.data.string = text;
	pmix_status = p->Put(PMIX_GLOBAL, p->key, &value);
	if (pmix_status != PMIX_SUCCESS)
		return fail_call(p, "PMIx_Put", pmix_status, err);
	pmix_status = p->Commit();
	if (pmix_status != PMIX_SUCCESS)
		return fail_call(p, "PMIx_Commit", pmix_status, err);
	return SHMEMH_OK;
}

/* Get the id of PE 0. At the first init of a process PMIx waits for PE 0. At a later one it
 * returns at once that PE 0 has no such key: ask again. */
static pmix_status_t get_from_zero(pmix_lib_t *p, pmix_value_t **value)
{
	uint64_t deadline =
		shmemhi_deadline((uint64_t)p->timeout.value.data.integer * SHMEMHI_SECOND);
	pmix_proc_t zero = p->self;
	pmix_status_t status;

	zero.rank = 0;
	for (;;) {
		status = p->Get(&zero, p->key, &p->timeout, 1, value);
		if (status != PMIX_ERR_NOT_FOUND)
			return status;
		if (shmemhi_now() >= deadline)
			return PMIX_ERR_TIMEOUT;
		poll(NULL, 0, ASK_AGAIN_MS);
	}
}

/* Use no fence: getting the id of PE 0 waits for PE 0 alone. The hub then names any PE that is
 * missing, which a fence could not. */
static int get_id(pmix_lib_t *p, shmemh_uniqueid_t *id, shmemhi_err_t *err)
{
	pmix_value_t *value = NULL;
	pmix_status_t pmix_status = get_from_zero(p, &value);
	int status = SHMEMH_ERR_ARGUMENT;

	if (pmix_status == PMIX_ERR_TIMEOUT)
		return shmemhi_fail(err, SHMEMH_ERR_TIMEOUT,
				    "PE 0 did not give its unique id to PMIx within %d s",
				    p->timeout.value.data.integer);
	if (pmix_status != PMIX_SUCCESS)
		return fail_call(p, "PMIx_Get(unique id of PE 0)", pmix_status, err);
	if (value->type == PMIX_STRING && value->data.string) {
		status = shmemh_uniqueid_from_text(value->data.string, id);
		free(value->data.string);
	}
	free(value);
	if (status != SHMEMH_OK)
		return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP,
				    "PMIx: what PE 0 gave is not a unique id");
	return SHMEMH_OK;
}

static int join_job(pmix_lib_t *p, const shmemhi_options_t *opt, const shmemhi_log_t *log,
		    shmemh_boot_t *boot, shmemhi_err_t *err)
{
	shmemh_uniqueid_t id;
	int n_pes = 0;
	int status = get_n_pes(p, &n_pes, err);

	if (status != SHMEMH_OK)
		return status;
	if (p->self.rank != 0)
		status = get_id(p, &id, err);
	else {
		status = shmemhi_uniqueid_make(n_pes, opt, log, &id, err);
		if (status == SHMEMH_OK)
			status = put_id(p, &id, err);
	}
	if (status != SHMEMH_OK)
		return status;
	return shmemhi_boot_tcp(&id, (int)p->self.rank, n_pes, opt, log, boot, err);
}

int shmemhi_boot_pmix(const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemh_boot_t *boot,
		      shmemhi_err_t *err)
{
	pmix_status_t pmix_status;
	pmix_lib_t p;
	int status;

	memset(&p, 0, sizeof(p));
	next_key(p.key);
	set_timeout(&p, opt->boot_timeout_ns);
	status = load(&p, err);
	if (status != SHMEMH_OK)
		return status;
	pmix_status = p.Init(&p.self, NULL, 0);
	if (pmix_status != PMIX_SUCCESS)
		return fail_call(&p, "PMIx_Init", pmix_status, err);
	status = join_job(&p, opt, log, boot, err);
	/* PMIx is no longer needed once the PEs are connected, or have failed. */
	pmix_status = p.Finalize(NULL, 0);
	if (pmix_status != PMIX_SUCCESS)
		shmemhi_log(log, SHMEMHI_INFO, "PMIx_Finalize: %s", p.Error_string(pmix_status));
	return status;
}

#else

int shmemhi_boot_pmix(const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemh_boot_t *boot,
		      shmemhi_err_t *err)
{
	(void)opt;
	(void)log;
	(void)boot;
	return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP,
			    "started by a PMIx launcher, but this library was built without "
			    "libpmix-dev: rebuild it, or give SHMEMH_UNIQUEID, SHMEMH_PE and "
			    "SHMEMH_NPES");
}

#endif
