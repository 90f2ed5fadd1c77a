/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Addresses of peers for new paths (ib/resolve.c). No NIC: the functions of libibverbs that resolve
 * an address are replaced. */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "ib/failover.h"

#define N_PES 20 /* more than SHMEMHI_RESOLVER_THREADS + 2 */
#define N_PEERS (N_PES - 1)
#define LONG_AGO 1

static shmemh_t job;
static shmemhi_ib_t ib;
static shmemhi_failover_t failover;
static shmemhi_open_port_t ports[SHMEMHI_COLUMNS];
static shmemhi_route_t routes[N_PES];
static shmemhi_resolved_t resolved[SHMEMHI_COLUMNS * SHMEMHI_COLUMNS * N_PES];
static shmemhi_endpoint_t ends[N_PES];
static _Atomic int n_lookups;

static struct ibv_ah *no_neighbour(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	(void)pd, (void)attr;
	n_lookups++;
	errno = ETIMEDOUT;
	return NULL;
}

static struct ibv_ah *neighbour(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static struct ibv_ah ah;

	(void)pd, (void)attr;
	n_lookups++;
	return &ah;
}

static sem_t answers[N_PES]; /* of slow_neighbour */
static _Atomic int n_asked, asked[8 * N_PES];

/* The answer comes when the test says so. Byte 8 of the address is the number of the PE; if the
 * last byte is not 0, the PE is not found. */
static struct ibv_ah *slow_neighbour(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	const int pe = attr->grh.dgid.raw[8];

	asked[n_asked++] = pe;
	while (sem_wait(&answers[pe]) != 0)
		;
	return attr->grh.dgid.raw[15] ? no_neighbour(pd, attr) : neighbour(pd, attr);
}

static int read_ah(struct mlx5dv_obj *obj, uint64_t type)
{
	static struct mlx5_wqe_av av = {.rmac = {2, 0, 0, 0, 0, 9}};

	(void)type;
	obj->ah.out->av = &av;
	return 0;
}

static int forget_ah(struct ibv_ah *ah)
{
	(void)ah;
	return 0;
}

static int accept_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t in_nbytes, void *out,
			 size_t out_nbytes)
{
	(void)obj, (void)in, (void)in_nbytes, (void)out, (void)out_nbytes;
	return 0;
}

/* Two RoCE ports that are up; an endpoint to each PE on the first of them. */
static int setup(void **state)
{
	(void)state;
	memset(&job, 0, sizeof job);
	memset(&ib, 0, sizeof ib);
	memset(&failover, 0, sizeof failover);
	memset(routes, 0, sizeof routes);
	memset(resolved, 0, sizeof resolved);
	memset(ends, 0, sizeof ends);
	n_lookups = 0;
	n_asked = 0;
	job.n_pes = N_PES;
	ib.n_channels = 1;
	ib.lib.create_ah = neighbour;
	ib.lib.init_obj = read_ah;
	ib.lib.destroy_ah = forget_ah;
	ib.lib.obj_modify = accept_modify;
	failover.job = &job;
	failover.ib = &ib;
	failover.routes = routes;
	failover.resolved = resolved;
	for (int i = 0; i < SHMEMHI_COLUMNS; i++) {
		ports[i] = (shmemhi_open_port_t){.name = "mlx5_0", .number = 1, .is_ethernet = 1};
		failover.ports[i].open = &ports[i];
		failover.ports[i].is_up = 1;
	}
	for (int pe = 0; pe < N_PES; pe++) {
		ends[pe].link = &ends[pe].own;
		ends[pe].own.port = &ports[0];
		ends[pe].own.pe = pe;
		ends[pe].peer.port.gid.raw[8] = (uint8_t)pe;
		sem_init(&answers[pe], 0, 0);
	}
	return 0;
}

/* One look-up for all channels of a PE, also if it fails; another one after an event of the port,
 * for another address of the peer, and after a path that failed silently. */
static void addresses_are_kept(void **state)
{
	shmemhi_endpoint_t *e = &ends[1];
	const shmemhi_switch_action_t stop = {SHMEMHI_ACT_STOP, 0, 0, SHMEMH_FAULT_BY_RETRIES};
	shmemhi_switch_event_t result;
	shmemhi_address_t address;

	(void)state;
	e->has_path = 1;
	routes[1].endpoints = e;
	for (int i = 0; i < 3; i++)
		assert_int_equal(shmemhi_resolve(&failover, e, &address), 1);
	assert_int_equal(address.mac[5], 9);
	assert_int_equal(n_lookups, 1);
	failover.ports[0].n_seen++;
	shmemhi_resolve(&failover, e, &address);
	assert_int_equal(n_lookups, 2);
	e->peer.port.gid.raw[15] = 1;
	shmemhi_resolve(&failover, e, &address);
	assert_int_equal(n_lookups, 3);
	assert_true(shmemhi_failover_ops.execute(&failover, 1, 0, &stop, &result));
	shmemhi_resolve(&failover, e, &address);
	assert_int_equal(n_lookups, 4);
	failover.ports[0].generation++;
	ib.lib.create_ah = no_neighbour;
	for (int i = 0; i < 3; i++) {
		failover.err.text[0] = '\0';
		assert_int_equal(shmemhi_resolve(&failover, e, &address), -1);
		assert_string_not_equal(failover.err.text, "");
		shmemhi_resolve_again(&failover, e);
	}
	assert_int_equal(n_lookups, 5);
	resolved[1].at = LONG_AGO;
	ib.lib.create_ah = neighbour;
	assert_int_equal(shmemhi_resolve(&failover, e, &address), 1);
}

/* On InfiniBand a peer may begin to require global headers, with the same LID and GID. */
static void global_headers(void **state)
{
	shmemhi_address_t address;

	(void)state;
	ports[0].is_ethernet = 0;
	assert_int_equal(shmemhi_resolve(&failover, &ends[1], &address), 1);
	assert_false(address.is_global);
	ends[1].peer.port.requires_grh = 1;
	assert_int_equal(shmemhi_resolve(&failover, &ends[1], &address), 1);
	assert_true(address.is_global);
	ends[1].peer.port.requires_grh = 0;
	ports[0].requires_grh = 1;
	assert_int_equal(shmemhi_resolve(&failover, &ends[1], &address), 1);
	assert_true(address.is_global);
	assert_int_equal(n_lookups, 0);
}

/* The next path to PE 1: prepared, offered, connected in vain, stopped. false: PREPARE waits. */
static bool path_fails(uint32_t path)
{
	const shmemhi_fault_ops_t *ops = &shmemhi_failover_ops;
	const shmemhi_switch_action_t prepare = {.kind = SHMEMHI_ACT_PREPARE, .path = path};
	const shmemhi_switch_action_t connect = {.kind = SHMEMHI_ACT_CONNECT, .path = path};
	const shmemhi_switch_action_t stop = {SHMEMHI_ACT_STOP, 0, path, SHMEMH_FAULT_BY_QP};
	unsigned char offer[SHMEMHI_FAULT_OFFER_NBYTES];
	shmemhi_switch_event_t result;
	shmemhi_endpoint_t *e = &ends[1];

	*e = (shmemhi_endpoint_t){.link = &e->own,
				  .own = {.pe = 1, .port = &ports[failover.column]},
				  .column = (uint8_t)failover.column,
				  .stage = SHMEMHI_IN_INIT};
	routes[1].endpoints = routes[1].making = e;
	routes[1].retry_at = 0;
	if (!ops->execute(&failover, 1, 0, &prepare, &result))
		return false;
	ops->pack(&failover, 1, 0, path, result.value, offer);
	assert_true(ops->execute(&failover, 1, 0, &connect, &result));
	assert_int_equal(result.kind, SHMEMHI_EV_FAULT);
	assert_true(ops->execute(&failover, 1, 0, &stop, &result));
	return true;
}

/* The peer is found on neither port: each of them is tried, with each end's turn, and then nothing
 * more until it is time to look again. */
static void ports_rest(void **state)
{
	uint32_t path = 1, n_moves = 0;

	(void)state;
	ib.lib.create_ah = no_neighbour;
	for (int column = 0; path < 100 && path_fails(path); path++) {
		n_moves += failover.column != column;
		column = failover.column;
	}
	assert_int_equal(n_lookups, 2);
	assert_in_range(path, 4, 8);
	assert_in_range(n_moves, 1, 3);
	assert_false(path_fails(path));
	/* An event of the port, another port of the peer, or time. */
	failover.ports[failover.column].n_seen++;
	assert_true(path_fails(path++));
	assert_int_equal(n_lookups, 3);
	while (path < 100 && path_fails(path))
		path++;
	routes[1].offer.port.gid.raw[0]++;
	assert_true(path_fails(path++));
	while (path < 100 && path_fails(path))
		path++;
	for (size_t i = 0; i < sizeof resolved / sizeof resolved[0]; i++)
		resolved[i].at = LONG_AGO;
	assert_true(path_fails(path++));
	assert_true(path < 100);
}

/* As before, but the peer changes its port as well, on the paths on which that is its turn: each
 * pair of ports is looked up once, although the peer's port is another one each time. */
static void ports_rest_when_both_change(void **state)
{
	shmemhi_offer_bytes_t *offer = &routes[1].offer;
	uint32_t path = 1;

	(void)state;
	ib.lib.create_ah = no_neighbour;
	for (; path < 100 && path_fails(path); path++)
		if (path & 1 && path > 1)
			offer->port.gid.raw[15] = offer->column ^= 1;
	assert_int_equal(n_lookups, 4);
	assert_in_range(path, 6, 12);
	assert_false(path_fails(path));
}

/* Two look-ups of the same ports fail, and another channel has got two answers from the second. The
 * count of a channel of the first does not hold for the second. */
static void counts_of_another_look_up(void **state)
{
	uint32_t path = 1;

	(void)state;
	ib.lib.create_ah = no_neighbour;
	failover.ports[1].is_up = 0;
	while (path < 100 && path_fails(path))
		path++;
	assert_in_range(path, 2, 99);
	assert_false(path_fails(path));
	resolved[1].at++; /* for a channel of the same PE */
	assert_true(path_fails(path));
}

static int wait_for(int pe)
{
	const uint64_t until = shmemhi_now() + 20 * SHMEMHI_SECOND;
	shmemhi_address_t address;
	int found;

	while ((found = shmemhi_resolve(&failover, &ends[pe], &address)) == 0 &&
	       shmemhi_now() < until)
		usleep(1000);
	return found;
}

static void ask_for(int first, int last)
{
	shmemhi_address_t address;

	for (int pe = first; pe <= last; pe++)
		assert_int_equal(shmemhi_resolve(&failover, &ends[pe], &address), 0);
}

static void wait_until_asked(int n)
{
	while (n_asked < n)
		usleep(1000);
}

/* All answers, once the resolver is told to end. Its threads are in look-ups, so its lock exists
 * until the last answer. */
static void *answer_at_the_end(void *arg)
{
	int is_ending = 0;

	while (!is_ending) {
		pthread_mutex_lock(&failover.resolver.lock);
		is_ending = failover.resolver.is_ending;
		pthread_mutex_unlock(&failover.resolver.lock);
	}
	for (int pe = 1; pe < N_PES; pe++)
		sem_post(&answers[pe]);
	return arg;
}

static void stop_and_answer(void)
{
	pthread_t helper;

	assert_int_equal(pthread_create(&helper, NULL, answer_at_the_end, NULL), 0);
	shmemhi_resolver_stop(&failover);
	pthread_join(helper, NULL);
}

/* Look-ups that block, of several PEs: the agent's thread waits for none. */
static void look_ups_that_block(void **state)
{
	shmemhi_address_t address;

	(void)state;
	ib.lib.create_ah = slow_neighbour;
	assert_int_equal(shmemhi_resolver_start(&failover), SHMEMH_OK);
	for (int i = 0; i < 3; i++)
		ask_for(1, 8);
	sem_post(&answers[1]);
	assert_int_equal(wait_for(1), 1);
	assert_int_equal(shmemhi_resolve(&failover, &ends[2], &address), 0);
	/* The peer has another port by the time that the answer for the first one comes. */
	ends[2].peer.port.gid.raw[9] = 1;
	sem_post(&answers[2]);
	sem_post(&answers[2]);
	sem_post(&answers[3]);
	assert_int_equal(wait_for(2), 1);
	assert_int_equal(wait_for(3), 1);
	assert_int_equal(n_lookups, 4);
	stop_and_answer();
}

/* The end waits for the look-ups under way, not for what is in the queue. */
static void end_while_look_ups_block(void **state)
{
	(void)state;
	ib.lib.create_ah = slow_neighbour;
	assert_int_equal(shmemhi_resolver_start(&failover), SHMEMH_OK);
	ask_for(1, N_PEERS);
	wait_until_asked(SHMEMHI_RESOLVER_THREADS);
	stop_and_answer();
	assert_int_equal(n_lookups, SHMEMHI_RESOLVER_THREADS);
	assert_int_equal(n_asked, SHMEMHI_RESOLVER_THREADS);
}

/* PEs that do not answer are asked for before one that does. It does not wait for them. */
static void one_behind_many(void **state)
{
	const int last = SHMEMHI_RESOLVER_THREADS;

	(void)state;
	ib.lib.create_ah = slow_neighbour;
	assert_int_equal(shmemhi_resolver_start(&failover), SHMEMH_OK);
	ask_for(1, last - 1);
	sem_post(&answers[last]);
	assert_int_equal(wait_for(last), 1);
	assert_int_equal(n_lookups, 1);
	stop_and_answer();
}

/* All threads are busy. PEs that were not found before wait behind one that is asked for the first
 * time, in the order in which they were asked for. */
static void failures_wait_behind_others(void **state)
{
	const int last = N_PEERS, busy = SHMEMHI_RESOLVER_THREADS, behind = N_PEERS - 2;

	(void)state;
	ib.lib.create_ah = slow_neighbour;
	assert_int_equal(shmemhi_resolver_start(&failover), SHMEMH_OK);
	for (int pe = behind; pe < last; pe++) {
		ends[pe].peer.port.gid.raw[15] = 1;
		sem_post(&answers[pe]);
		assert_int_equal(wait_for(pe), -1);
		resolved[pe].at = LONG_AGO;
	}
	n_asked = 0;
	ask_for(1, busy);
	wait_until_asked(busy);
	ask_for(behind, last);
	for (int i = 0; i < N_PES - 1 - busy; i++) {
		sem_post(&answers[1 + i]);
		wait_until_asked(busy + i + 1);
	}
	assert_int_equal(asked[busy], last);
	assert_int_equal(asked[busy + 1], behind);
	assert_int_equal(asked[busy + 2], behind + 1);
	stop_and_answer();
}

/* Channel 1 of a PE waits for a look-up; channel 0 asks whether PREPARE must wait, which must not
 * read what the thread of the resolver writes. (Thread sanitizer shows it.) */
static void question_during_a_look_up(void **state)
{
	(void)state;
	ib.lib.create_ah = slow_neighbour;
	routes[1].n_unresolved = 2;
	routes[1].unresolved_at = UINT64_MAX;
	ends[1].peer.port.gid.raw[15] = 1;
	assert_int_equal(shmemhi_resolver_start(&failover), SHMEMH_OK);
	ask_for(1, 1);
	wait_until_asked(1);
	sem_post(&answers[1]);
	while (n_lookups == 0)
		usleep(1000);
	usleep(1000); /* for the thread to write the answer, without a lock */
	assert_false(shmemhi_resolve_must_wait(&failover, &routes[1]));
	shmemhi_resolver_stop(&failover);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(addresses_are_kept, setup),
		cmocka_unit_test_setup(global_headers, setup),
		cmocka_unit_test_setup(ports_rest, setup),
		cmocka_unit_test_setup(ports_rest_when_both_change, setup),
		cmocka_unit_test_setup(counts_of_another_look_up, setup),
		cmocka_unit_test_setup(look_ups_that_block, setup),
		cmocka_unit_test_setup(end_while_look_ups_block, setup),
		cmocka_unit_test_setup(one_behind_many, setup),
		cmocka_unit_test_setup(failures_wait_behind_others, setup),
		cmocka_unit_test_setup(question_during_a_look_up, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
