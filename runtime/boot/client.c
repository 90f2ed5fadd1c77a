/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <shmem_dev/abi/ctx.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"
#include "base/thread.h"
#include "boot/boot.h"

#define MARGIN_NS (5 * SHMEMHI_SECOND) /* the hub's text comes first: it names PEs */
#define GOODBYE_NS (2 * SHMEMHI_SECOND)

/* Two threads use this struct: the caller's, which sends, and the monitor. Only the monitor
 * reads the socket and calls gone, without the lock. The lock guards the fields that both use. */
typedef struct client {
	shmemhi_log_t log;
	int fd;
	int wake_fd; /* eventfd: wakes the monitor, which then reads gone and is_leaving */
	int pe;
	int n_pes;
	uint64_t timeout_ns;
	pthread_t monitor;
	char where[SHMEMHI_ADDR_TEXT_NBYTES]; /* of the hub */

	/* Used by the monitor only. */
	shmemhi_inbox_t in;
	char *was_reported; /* [n_pes + 1] given to gone; the last one is CUT_OFF */

	pthread_mutex_t lock;
	pthread_cond_t answered; /* signalled when is_waiting becomes 0 */
	uint64_t seq;            /* of the last collective; 0: the start */
	/* While is_waiting: the gather among some PEs that the caller waits for; NULL: it waits for
	 * collective seq. */
	const shmemh_gather_t *gather;
	int is_waiting;
	void *dst; /* of the result */
	uint64_t result_nbytes;
	int status; /* the verdict once is_waiting is 0 */
	char text[SHMEMHI_ERR_NBYTES];
	uint32_t *causes; /* [n_pes] */
	int is_cut_off;   /* the hub is lost or silent: collectives fail */
	char cut_off_text[SHMEMHI_ERR_NBYTES];
	int is_leaving;
	uint64_t leave_deadline;
	int failed_status; /* why this PE leaves init; 0: it leaves in good order */
	char failed_text[SHMEMHI_ERR_NBYTES];
	void (*gone)(void *arg, int pe, uint32_t cause);
	void *gone_arg;
} client_t;

static void wake_monitor(client_t *c)
{
	uint64_t one = 1;

	while (write(c->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
}

/* ---- monitor ---- */

/* With the lock held. */
static void answer(client_t *c, int status, const char *text)
{
	if (!c->is_waiting)
		return;
	c->status = status;
	snprintf(c->text, sizeof(c->text), "%s", text);
	c->is_waiting = 0;
	pthread_cond_signal(&c->answered);
}

/* With the lock held. The first reason stays. */
static void cut_off(client_t *c, const char *why)
{
	if (c->is_cut_off)
		return;
	c->is_cut_off = 1;
	/* A hub that was only slow would go on counting this PE as a member of gathers. */
	shutdown(c->fd, SHUT_RDWR);
	snprintf(c->cut_off_text, sizeof(c->cut_off_text),
		 "PE %d is cut off from the other PEs: the hub at %s is lost (%s)", c->pe, c->where,
		 why);
	answer(c, SHMEMH_ERR_PEER, c->cut_off_text);
}

static void on_result(client_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;

	/* No caller waits for this result: its wait timed out, and this PE is cut off. */
	if (f->seq != c->seq || !c->is_waiting || c->gather || c->seq == 0)
		return;
	if (f->nbytes != c->result_nbytes) {
		cut_off(c, "a result of the wrong size");
		return;
	}
	memcpy(c->dst, c->in.body, f->nbytes);
	answer(c, SHMEMH_OK, "");
}

static void on_subset_result(client_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;
	const shmemh_gather_t *gather = c->gather;
	size_t n = gather ? (size_t)gather->n_pes : 0;

	/* No caller waits for this result: its wait timed out, and this PE is cut off. */
	if (!c->is_waiting || !gather || f->seq != gather->tag)
		return;
	if (f->nbytes != n * (1 + gather->nbytes)) {
		cut_off(c, "a result of the wrong size");
		return;
	}
	memcpy(gather->took_part, c->in.body, n);
	memcpy(gather->dst, c->in.body + n, n * gather->nbytes);
	answer(c, SHMEMH_OK, "");
}

static void on_fail(client_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;
	int is_ours = SHMEMHI_IS_STATUS(f->arg);

	if ((f->type == SHMEMHI_SUBSET_FAIL) != (c->gather != NULL) ||
	    f->seq != (c->gather ? c->gather->tag : c->seq))
		return;
	if (f->nbytes == 0 || f->nbytes > SHMEMHI_MAX_TEXT || c->in.body[f->nbytes - 1] != '\0')
		answer(c, SHMEMH_ERR_BOOTSTRAP, "the hub sent a failure without a text");
	else
		answer(c, is_ours ? (int)f->arg : SHMEMH_ERR_BOOTSTRAP, (char *)c->in.body);
}

static void on_gone(client_t *c)
{
	uint32_t pe = (uint32_t)c->in.head.arg;

	if (pe < (uint32_t)c->n_pes)
		c->causes[pe] = (uint32_t)(c->in.head.arg >> 32);
}

static void on_frame(client_t *c)
{
	pthread_mutex_lock(&c->lock);
	switch (c->in.head.type) {
	case SHMEMHI_GO:
		if (c->seq == 0)
			answer(c, SHMEMH_OK, "");
		break;
	case SHMEMHI_RESULT:
		on_result(c);
		break;
	case SHMEMHI_SUBSET_RESULT:
		on_subset_result(c);
		break;
	case SHMEMHI_FAIL:
	case SHMEMHI_SUBSET_FAIL:
		on_fail(c);
		break;
	case SHMEMHI_GONE:
		on_gone(c);
		break;
	default:
		cut_off(c, "it broke the protocol");
		break;
	}
	pthread_mutex_unlock(&c->lock);
}

/* Call gone for each cause that was not reported yet. Copy the causes one by one, so that gone
 * runs without the lock: it may take locks that a caller of allgather holds. */
static void report_gone(client_t *c)
{
	int i;

	for (i = 0; i <= c->n_pes; i++) {
		void (*gone)(void *arg, int pe, uint32_t cause);
		uint32_t cause;
		void *arg;

		pthread_mutex_lock(&c->lock);
		cause = i < c->n_pes    ? c->causes[i]
			: c->is_cut_off ? SHMEMD_CAUSE_CUT_OFF
					: SHMEMD_CAUSE_NONE;
		gone = c->is_leaving ? NULL : c->gone;
		arg = c->gone_arg;
		pthread_mutex_unlock(&c->lock);
		if (cause == SHMEMD_CAUSE_NONE || !gone || c->was_reported[i])
			continue;
		c->was_reported[i] = 1;
		gone(arg, i < c->n_pes ? i : -1, cause);
	}
}

/* Handle the frames that have come. Returns false when the connection has ended. */
static bool receive(client_t *c)
{
	uint64_t max = (uint64_t)c->n_pes * (1 + SHMEMHI_MAX_PART);
	int got;

	while ((got = shmemhi_inbox_read(&c->in, c->fd, max)) == 1)
		on_frame(c);
	if (got == 0)
		return true;
	pthread_mutex_lock(&c->lock);
	cut_off(c, strerror(-got));
	pthread_mutex_unlock(&c->lock);
	return false;
}

static void *monitor_main(void *arg)
{
	client_t *c = arg;
	struct pollfd p[2] = {{.fd = c->wake_fd, .events = POLLIN},
			      {.fd = c->fd, .events = POLLIN}};

	for (;;) {
		uint64_t deadline;
		uint64_t count;
		int is_leaving;

		pthread_mutex_lock(&c->lock);
		is_leaving = c->is_leaving;
		deadline = is_leaving ? c->leave_deadline : SHMEMHI_NEVER;
		pthread_mutex_unlock(&c->lock);
		if (is_leaving && (p[1].fd < 0 || shmemhi_now() >= deadline))
			return NULL;
		poll(p, 2, shmemhi_poll_ms(deadline));
		/* After the loss of the hub the thread still waits for watch and close: poll
		 * ignores a negative descriptor. */
		if (p[1].fd >= 0 && (p[1].revents & (POLLIN | POLLHUP | POLLERR)) && !receive(c))
			p[1].fd = -1;
		if ((p[0].revents & POLLIN) && read(c->wake_fd, &count, sizeof(count)) < 0)
			continue;
		report_gone(c);
	}
}

/* ---- the caller's side ---- */

static int fail_text(char *errbuf, size_t errbuf_nbytes, int status, const char *text)
{
	if (errbuf_nbytes > 0)
		snprintf(errbuf, errbuf_nbytes, "%s", text);
	return status;
}

static struct timespec to_timespec(uint64_t at)
{
	uint64_t max = (uint64_t)INT32_MAX * SHMEMHI_SECOND;

	if (at > max)
		at = max;
	return (struct timespec){.tv_sec = (time_t)(at / SHMEMHI_SECOND),
				 .tv_nsec = (long)(at % SHMEMHI_SECOND)};
}

/* Wait until the monitor has stored the status of what the caller asked for: of gather c->gather,
 * or, if that is NULL, of collective c->seq, 0 for the start. After the deadline this PE is cut
 * off, and the status is ERR_TIMEOUT. */
static int wait_verdict(client_t *c, uint64_t deadline, char *errbuf, size_t errbuf_nbytes)
{
	struct timespec until = to_timespec(deadline);
	int status;

	pthread_mutex_lock(&c->lock);
	while (c->is_waiting)
		if (pthread_cond_timedwait(&c->answered, &c->lock, &until) == ETIMEDOUT &&
		    c->is_waiting) {
			cut_off(c, "no answer in time");
			c->status = SHMEMH_ERR_TIMEOUT;
			wake_monitor(c); /* it alone reports that this PE is cut off */
		}
	status = c->status;
	c->gather = NULL;
	if (status != SHMEMH_OK)
		fail_text(errbuf, errbuf_nbytes, status, c->text);
	pthread_mutex_unlock(&c->lock);
	return status;
}

static uint64_t with_margin(uint64_t timeout_ns)
{
	uint64_t ns;

	return shmemhi_deadline(__builtin_add_overflow(timeout_ns, MARGIN_NS, &ns) ? SHMEMHI_NEVER
										   : ns);
}

typedef struct piece {
	const void *bytes;
	size_t nbytes;
} piece_t;

/* Send a frame made of n pieces, the first of which is its header, and wait for the answer. */
static int ask(client_t *c, const piece_t *pieces, int n, char *errbuf, size_t errbuf_nbytes)
{
	uint64_t deadline = with_margin(c->timeout_ns);
	int error = 0;

	for (int i = 0; i < n && error == 0; i++)
		error = (i + 1 < n ? shmemhi_send_first : shmemhi_send_all)(
			c->fd, pieces[i].bytes, pieces[i].nbytes, deadline);
	if (error != 0) {
		pthread_mutex_lock(&c->lock);
		cut_off(c, strerror(error));
		pthread_mutex_unlock(&c->lock);
		wake_monitor(c);
	}
	return wait_verdict(c, deadline, errbuf, errbuf_nbytes);
}

/* From here on the monitor takes answers. Returns SHMEMH_OK; ERR_ARGUMENT; ERR_PEER. */
static int begin_waiting(client_t *c, const shmemh_gather_t *gather, void *dst, size_t nbytes,
			 char *errbuf, size_t errbuf_nbytes)
{
	uint32_t max = gather ? SHMEMHI_MAX_SUBSET_PART : SHMEMHI_MAX_PART;
	int status = SHMEMH_OK;

	if (nbytes < 1 || nbytes > max) {
		if (errbuf_nbytes > 0)
			snprintf(errbuf, errbuf_nbytes,
				 "a host collective carries 1 .. %u bytes of each PE, not %zu", max,
				 nbytes);
		return SHMEMH_ERR_ARGUMENT;
	}
	pthread_mutex_lock(&c->lock);
	if (c->is_cut_off) {
		status = fail_text(errbuf, errbuf_nbytes, SHMEMH_ERR_PEER, c->cut_off_text);
	} else {
		c->gather = gather;
		c->seq += !gather;
		c->dst = dst;
		c->result_nbytes = nbytes * (uint64_t)c->n_pes;
		c->is_waiting = 1;
	}
	pthread_mutex_unlock(&c->lock);
	return status;
}

static int client_allgather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
			    size_t errbuf_nbytes)
{
	client_t *c = state;
	shmemhi_frame_t head = {.type = SHMEMHI_PART, .nbytes = nbytes, .arg = c->timeout_ns};
	piece_t pieces[] = {{&head, sizeof(head)}, {src, nbytes}};
	int status = begin_waiting(c, NULL, dst, nbytes, errbuf, errbuf_nbytes);

	if (status != SHMEMH_OK)
		return status;
	head.seq = c->seq; /* only this thread changes it */
	return ask(c, pieces, 2, errbuf, errbuf_nbytes);
}

/* In pieces, not in a buffer: a PE without memory for the buffer would miss the gather. */
static int client_gather_some(void *state, const shmemh_gather_t *g, char *errbuf,
			      size_t errbuf_nbytes)
{
	client_t *c = state;
	shmemhi_subset_t subset = {.n_pes = (uint32_t)g->n_pes};
	size_t pes_nbytes = (size_t)g->n_pes * sizeof(*g->pes);
	shmemhi_frame_t head = {.type = SHMEMHI_SUBSET,
				.nbytes = sizeof(subset) + pes_nbytes + g->nbytes,
				.seq = g->tag,
				.arg = c->timeout_ns};
	piece_t pieces[] = {{&head, sizeof(head)},
			    {&subset, sizeof(subset)},
			    {g->pes, pes_nbytes},
			    {g->src, g->nbytes}};
	int status = begin_waiting(c, g, NULL, g->nbytes, errbuf, errbuf_nbytes);

	return status != SHMEMH_OK ? status : ask(c, pieces, 4, errbuf, errbuf_nbytes);
}

static void client_watch(void *state, void (*gone)(void *arg, int pe, uint32_t cause), void *arg)
{
	client_t *c = state;

	pthread_mutex_lock(&c->lock);
	c->gone = gone;
	c->gone_arg = arg;
	pthread_mutex_unlock(&c->lock);
	wake_monitor(c);
}

static void free_client(client_t *c)
{
	if (c->fd >= 0)
		shmemhi_socket_close(c->fd);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	pthread_cond_destroy(&c->answered);
	pthread_mutex_destroy(&c->lock);
	free(c->in.body);
	free(c->was_reported);
	free(c->causes);
	free(c);
}

/* From here on report nothing: the hub closes the connection once it has the BYE, which is no
 * loss of the hub. */
static void begin_leaving(client_t *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_leaving = 1;
	c->leave_deadline = shmemhi_deadline(GOODBYE_NS);
	pthread_mutex_unlock(&c->lock);
}

/* Read the socket until the hub has closed its end, or until leave_deadline. Closing it with unread
 * frames would reset the connection and could discard the BYE, and the hub would count this PE as
 * dead. */
static void stop_monitor(client_t *c)
{
	shutdown(c->fd, SHUT_WR);
	wake_monitor(c);
	pthread_join(c->monitor, NULL);
}

static void client_close(void *state)
{
	client_t *c = state;
	shmemhi_frame_t bye = {.type = SHMEMHI_BYE};

	begin_leaving(c);
	/* If this fails the hub is lost, and there is no one to notify. */
	if (c->failed_status != SHMEMH_OK)
		(void)shmemhi_send_failure(c->fd, c->failed_status, c->failed_text,
					   c->leave_deadline);
	else
		(void)shmemhi_send_all(c->fd, &bye, sizeof(bye), c->leave_deadline);
	stop_monitor(c);
	free_client(c);
}

void shmemhi_boot_set_failure(const shmemh_boot_t *boot, int status, const char *text)
{
	client_t *c = boot->state;

	if (boot->close != client_close)
		return;
	c->failed_status = status;
	snprintf(c->failed_text, sizeof(c->failed_text), "%s", text);
}

/* ---- start ---- */

static client_t *new_client(int pe, int n_pes, const shmemhi_options_t *opt,
			    const shmemhi_log_t *log)
{
	client_t *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return NULL;
	c->log = *log;
	c->log.pe = pe;
	c->log.n_pes = n_pes;
	c->fd = -1;
	c->pe = pe;
	c->n_pes = n_pes;
	c->timeout_ns = opt->boot_timeout_ns;
	c->is_waiting = 1; /* for GO, as collective 0 */
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->answered, &attr);
	pthread_condattr_destroy(&attr);
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->causes = calloc((size_t)n_pes, sizeof(*c->causes));
	c->was_reported = calloc((size_t)n_pes + 1, 1);
	if (c->wake_fd >= 0 && c->causes && c->was_reported)
		return c;
	free_client(c);
	return NULL;
}

/* No descriptor is left for the socket to the hub. Close the eventfd of the monitor, which will not
 * be started now, so that a socket can be opened, and report this failure over that socket. */
static void report_without_monitor(client_t *c, const shmemhi_id_t *id,
				   const shmemhi_options_t *opt, const shmemhi_err_t *err)
{
	close(c->wake_fd);
	c->wake_fd = -1;
	shmemhi_connect_and_report(id, c->pe, c->n_pes, opt, &c->log, SHMEMH_ERR_SYSTEM, err->text);
}

/* Connect, and wait until the PE is part of the job. */
static int join_job(client_t *c, const shmemhi_id_t *id, const shmemhi_options_t *opt,
		    shmemhi_err_t *err)
{
	uint64_t deadline = with_margin(c->timeout_ns);
	char text[SHMEMHI_ERR_NBYTES];
	shmemhi_secret_t key;
	int status;

	shmemhi_wire_key(id->secret, sizeof(id->secret), &key);
	c->fd = shmemhi_hub_connect(id, &key, c->pe, c->n_pes, deadline, &c->log, c->where, err);
	sodium_memzero(&key, sizeof(key));
	if (c->fd < 0) {
		status = -c->fd;
		if (status == SHMEMH_ERR_SYSTEM)
			report_without_monitor(c, id, opt, err);
		return status;
	}
	status = shmemhi_thread_start(&c->monitor, "shmem_monitor", monitor_main, c);
	if (status != 0) {
		shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "pthread_create: %s", strerror(status));
		shmemhi_report_failure(c->fd, SHMEMH_ERR_SYSTEM, err->text);
		c->fd = -1;
		return SHMEMH_ERR_SYSTEM;
	}
	status = wait_verdict(c, deadline, text, sizeof(text));
	if (status == SHMEMH_OK)
		return SHMEMH_OK;
	begin_leaving(c);
	stop_monitor(c);
	return shmemhi_fail(err, status, "%s", text);
}

int shmemhi_boot_tcp(const shmemh_uniqueid_t *id, int pe, int n_pes, const shmemhi_options_t *opt,
		     const shmemhi_log_t *log, shmemh_boot_t *boot, shmemhi_err_t *err)
{
	shmemhi_id_t unpacked;

	if (n_pes < 1 || pe < 0 || pe >= n_pes)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "pe=%d, n_pes=%d: PE numbers are 0 .. n_pes - 1", pe, n_pes);
	if (sodium_init() < 0 || shmemhi_id_unpack(id, &unpacked) != 0)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "the unique id is damaged: it is not what shmemh_get_uniqueid "
				    "made");
	return shmemhi_boot_join(&unpacked, pe, n_pes, opt, log, boot, err);
}

int shmemhi_boot_join(const shmemhi_id_t *id, int pe, int n_pes, const shmemhi_options_t *opt,
		      const shmemhi_log_t *log, shmemh_boot_t *boot, shmemhi_err_t *err)
{
	client_t *c;
	int status;

	c = new_client(pe, n_pes, opt, log);
	if (!c) {
		shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "bootstrap client: %s%s", strerror(errno),
			     shmemhi_descriptor_advice(errno));
		shmemhi_connect_and_report(id, pe, n_pes, opt, log, SHMEMH_ERR_SYSTEM, err->text);
		return SHMEMH_ERR_SYSTEM;
	}
	status = join_job(c, id, opt, err);
	if (status != SHMEMH_OK) {
		free_client(c);
		return status;
	}
	*boot = (shmemh_boot_t){.size = sizeof(*boot),
				.pe = pe,
				.n_pes = n_pes,
				.state = c,
				.allgather = client_allgather,
				.watch = client_watch,
				.close = client_close,
				.gather_some = client_gather_some};
	return SHMEMH_OK;
}
