/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What other PEs send to the agent of a PE (fault/links_in.c): proofs, messages, bytes that are
 * neither, in pieces of any size, on connections that end at any byte. The messages that are let
 * through go to the agent's core, whose actions are done or not. */
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "fault/machines.h"
#include "fault/links.h"
#include "fuzz.h"

#define N_PES 3
#define N_CHANNELS 2
#define N_CONNECTIONS 4
#define MAX_RAW 128

typedef struct peer {
	int fd; /* the other PE's end; -1: none */
	int pe;
	shmemhi_fault_in_t *in;
} peer_t;

typedef struct scene {
	fuzz_input_t in;
	shmemhi_fault_links_t links;
	shmemhi_fault_core_t core;
	shmemhi_fault_in_t ins[N_CONNECTIONS];
	uint64_t received[N_PES];
	shmemhi_fault_out_t *outs[N_PES];
	peer_t peers[N_CONNECTIONS];
	uint64_t now;
} scene_t;

/* The transport: actions are done now, later or never. */

static bool reaches(void *self, int pe)
{
	(void)self;
	return pe != 0;
}

static bool execute(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
		    shmemhi_switch_event_t *result)
{
	static const int results[] = {[SHMEMHI_ACT_STOP] = SHMEMHI_EV_STOPPED,
				      [SHMEMHI_ACT_DRAIN] = SHMEMHI_EV_DRAINED,
				      [SHMEMHI_ACT_FLUSH] = SHMEMHI_EV_FLUSHED,
				      [SHMEMHI_ACT_QUERY] = SHMEMHI_EV_QUERIED,
				      [SHMEMHI_ACT_PREPARE] = SHMEMHI_EV_PREPARED,
				      [SHMEMHI_ACT_CONNECT] = SHMEMHI_EV_CONNECTED,
				      [SHMEMHI_ACT_ORDER] = SHMEMHI_EV_CARRIED_OUT,
				      [SHMEMHI_ACT_END] = SHMEMHI_EV_CARRIED_OUT};
	scene_t *s = self;

	(void)pe, (void)k;
	if (fuzz_below(&s->in, 4) == 1)
		return false;
	result->kind = results[a->kind];
	return true;
}

static bool next_event(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
		       shmemhi_fault_cause_t *cause)
{
	scene_t *s = self;
	const shmemhi_fault_channel_t *c;

	if (fuzz_below(&s->in, 16) != 1)
		return false;
	*pe = 1 + (int)fuzz_below(&s->in, N_PES - 1);
	*k = fuzz_below(&s->in, N_CHANNELS);
	c = &s->core.channels[*pe * N_CHANNELS + (int)*k];
	*event = (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, c->is_open ? c->machine.path : 0, 0};
	cause->kind = SHMEMH_FAULT_BY_PORT;
	return true;
}

static bool is_never(void *self)
{
	(void)self;
	return false;
}

static bool is_in_error(void *self, int pe, uint32_t k, uint32_t path)
{
	(void)self, (void)pe, (void)k, (void)path;
	return true;
}

static void pack(void *self, int pe, uint32_t k, uint32_t path, uint64_t endpoint,
		 unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	(void)self, (void)pe, (void)k, (void)path, (void)endpoint;
	memset(bytes, 0, SHMEMHI_FAULT_OFFER_NBYTES);
}

static uint64_t unpack(void *self, int pe, uint32_t k, uint32_t path,
		       const unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	(void)self, (void)pe, (void)k;
	return path + bytes[0];
}

static void describe(void *self, int pe, uint32_t k, uint32_t path, shmemhi_fault_path_t *out)
{
	(void)self, (void)pe, (void)k, (void)path;
	memset(out, 0, sizeof *out);
}

static const shmemhi_fault_ops_t ops = {.reaches = reaches,
					.is_needed = reaches,
					.execute = execute,
					.next_event = next_event,
					.is_order_stuck = is_never,
					.is_in_error = is_in_error,
					.pack = pack,
					.unpack = unpack,
					.describe = describe};

/* What goes out is dropped; what comes in is checked once more. */

static bool drop(void *state, int pe, const shmemhi_fault_message_t *m)
{
	(void)state, (void)pe, (void)m;
	return true;
}

static void forget(void *state, int pe)
{
	(void)state, (void)pe;
}

static bool receive(void *state, int *pe, shmemhi_fault_message_t *m)
{
	scene_t *s = state;
	uint64_t before[N_PES];

	memcpy(before, s->received, sizeof before);
	if (!shmemhi_fault_in_receive(&s->links, pe, m))
		return false;
	if (*pe < 1 || *pe >= N_PES || s->received[*pe] != before[*pe] + 1)
		fuzz_found("a message of PE %d that it cannot have sent", *pe);
	if (m->k >= N_CHANNELS || m->kind < SHMEMHI_EV_FENCE || m->kind > SHMEMHI_EV_ENDED)
		fuzz_found("what is no message is let through: kind %u, channel %u", m->kind, m->k);
	return true;
}

static void open_scene(scene_t *s)
{
	shmemhi_fault_config_t config = {.pe = 0,
					 .n_pes = N_PES,
					 .n_channels = N_CHANNELS,
					 .giveup_ns = SHMEMHI_SECOND,
					 .ops = &ops,
					 .self = s,
					 .net = {s, drop, receive, forget}};
	static const _Atomic uint32_t causes[N_PES];
	static const _Atomic int n_gone;

	config.causes = causes;
	config.n_gone = &n_gone;
	s->links = (shmemhi_fault_links_t){.n_pes = N_PES,
					   .n_channels = N_CHANNELS,
					   .ins = s->ins,
					   .n_ins = N_CONNECTIONS,
					   .outs = s->outs,
					   .received = s->received};
	shmemhi_fault_key(&s->links, 0, &s->links.key);
	for (int i = 0; i < N_CONNECTIONS; i++)
		s->peers[i].fd = -1;
	if (shmemhi_fault_core_open(&s->core, &config) != SHMEMH_OK)
		abort();
}

/* Time passes; all that has come is read. */
static void step(scene_t *s)
{
	for (int i = 0; i < N_CONNECTIONS; i++)
		s->ins[i].is_readable = s->ins[i].state != IN_FREE;
	shmemhi_fault_in_serve(&s->links);
	s->now += 1 + fuzz_below(&s->in, 256) * SHMEMHI_MS;
	shmemhi_fault_core_step(&s->core, s->now);
	for (int i = 0; i < N_PES * N_CHANNELS; i++)
		if (s->core.channels[i].n_todo > SHMEMHI_FAULT_TODO)
			fuzz_found("%u actions of a channel", s->core.channels[i].n_todo);
}

/* Steps of a peer */

static void put(const peer_t *p, const void *bytes, size_t nbytes)
{
	if (p->fd >= 0 && nbytes)
		(void)!send(p->fd, bytes, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void put_in_pieces(scene_t *s, const peer_t *p, const void *bytes, size_t nbytes)
{
	const size_t first = fuzz_below(&s->in, 4) == 1 ? fuzz_below(&s->in, (uint32_t)nbytes) : 0;

	put(p, bytes, first);
	if (first)
		step(s);
	put(p, (const char *)bytes + first, nbytes - first);
}

static void hang_up(peer_t *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* A connection with its proof, right or spoiled. */
static void connect_one(scene_t *s, peer_t *p)
{
	shmemhi_client_hello_t hello = {.pe = 1 + (int)fuzz_below(&s->in, N_PES - 1),
					.n_pes = N_PES};
	shmemhi_fault_in_t *in = NULL;
	int fds[2];

	hang_up(p);
	step(s); /* the end is seen */
	for (int i = 0; i < N_CONNECTIONS && !in; i++)
		in = s->ins[i].state == IN_FREE ? &s->ins[i] : NULL;
	if (!in || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0)
		return;
	memset(in, 0, sizeof *in);
	in->fd = fds[0];
	in->state = IN_HELLO;
	in->deadline = SHMEMHI_NEVER;
	s->links.n_unproved++;
	*p = (peer_t){fds[1], hello.pe, in};
	if (fuzz_below(&s->in, 4) == 1)
		fuzz_spoil(&s->in, (uint8_t *)&hello, sizeof hello);
	shmemhi_mac_hello(&s->links.key, &in->challenge, &hello, hello.mac);
	fuzz_spoil(&s->in, (uint8_t *)&hello, sizeof hello);
	put_in_pieces(s, p, &hello, sizeof hello);
	step(s);
}

static void send_message(scene_t *s, peer_t *p)
{
	shmemhi_fault_frame_message_t f = {
		.head = {.type = SHMEMHI_FAULT_MESSAGE, .nbytes = sizeof f.body},
		.body = {.kind = SHMEMHI_EV_FENCE +
				 fuzz_below(&s->in, SHMEMHI_N_EVENTS - SHMEMHI_EV_FENCE),
			 .k = fuzz_below(&s->in, N_CHANNELS),
			 .value = fuzz_number(&s->in, 1)}};
	const shmemhi_fault_channel_t *c = &s->core.channels[p->pe * N_CHANNELS + (int)f.body.k];

	f.head.seq = s->received[p->pe] + 1 - fuzz_below(&s->in, 2);
	f.body.path = (c->is_open ? c->machine.path : 0) + fuzz_below(&s->in, 4) / 3;
	fuzz_spoil(&s->in, (uint8_t *)&f, sizeof f);
	put_in_pieces(s, p, &f, sizeof f);
}

static void send_raw(scene_t *s, const peer_t *p)
{
	uint8_t bytes[MAX_RAW];
	const uint32_t n = 1 + fuzz_below(&s->in, MAX_RAW);

	fuzz_bytes(&s->in, bytes, n);
	put(p, bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	scene_t s = {.in = {data, data + nbytes}};

	open_scene(&s);
	connect_one(&s, &s.peers[0]);
	while (fuzz_has_more(&s.in)) {
		const uint32_t what = fuzz_below(&s.in, 16);
		peer_t *p = &s.peers[fuzz_below(&s.in, N_CONNECTIONS)];

		if (what == 15)
			hang_up(p);
		else if (what == 14)
			send_raw(&s, p);
		else if (p->fd < 0 || what == 13)
			connect_one(&s, p);
		else if (what > 8)
			step(&s);
		else
			send_message(&s, p);
	}
	step(&s);
	for (int i = 0; i < N_CONNECTIONS; i++) {
		hang_up(&s.peers[i]);
		shmemhi_fault_in_end(&s.links, &s.ins[i]);
	}
	if (s.links.n_unproved)
		fuzz_found("%u connections without a proof are counted", s.links.n_unproved);
	shmemhi_fault_core_close(&s.core);
	return 0;
}
