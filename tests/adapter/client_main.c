/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* client_devx, client_verbs [--two-processes] [--port COMMAND] IBVERBS [MLX5]: names of the two
 * libraries, or of one with the functions of both. `COMMAND down DEVICE` takes a port down,
 * `COMMAND up DEVICE` up again. Status: 0, 1 (failures, one line each), 77 (no library, no device).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "client.h"

static uint8_t *memory;          /* DATA_NBYTES for each of two ends; both processes map it */
static const char *port_command; /* or NULL */

static struct ibv_context *open_device(unsigned index)
{
	int n;
	struct ibv_device **devices = lib.ibv_get_device_list(&n);
	struct ibv_context *context;

	if (!devices || n == 0) {
		printf("skipped: no device\n");
		exit(77);
	}
	must(lib.mlx5dv_is_supported(devices[index % (unsigned)n]), "an mlx5 device");
	context = route.open(devices[index % (unsigned)n]);
	must(context, "open a device");
	lib.ibv_free_device_list(devices);
	return context;
}

/* The long form of ibv_query_port, unless the context is of an older library. */
static void query_port(struct ibv_context *context, struct ibv_port_attr *port)
{
	struct verbs_context *extended = __extension__ verbs_get_ctx_op(context, query_port);

	memset(port, 0, sizeof(*port));
	if (extended)
		must(!extended->query_port(context, PORT, port, sizeof(*port)), "query_port");
	else
		must(!lib.ibv_query_port(context, PORT, (struct _compat_ibv_port_attr *)port),
		     "ibv_query_port");
}

/* InfiniBand: the first one. Ethernet: the first one of RoCE v2. */
static void find_gid(end_t *e)
{
	bool ethernet = e->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	struct ibv_gid_entry entry;
	int i;

	for (i = 0; i < e->port.gid_tbl_len; i++) {
		if (lib._ibv_query_gid_ex(e->context, PORT, (uint32_t)i, &entry, 0, sizeof(entry)))
			continue;
		if (entry.gid_type == (ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB))
			break;
	}
	must(i < e->port.gid_tbl_len, "a GID");
	e->gid_index = (uint8_t)i;
	e->self.gid = entry.gid;
}

static void end_open(end_t *e, unsigned device, unsigned place, int kind)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	*e = (end_t){.kind = kind, .context = open_device(device)};
	query_port(e->context, &e->port);
	find_gid(e);
	e->pd = lib.ibv_alloc_pd(e->context);
	must(e->pd, "ibv_alloc_pd");
	e->self.data = memory + place * DATA_NBYTES;
	e->mr = lib.ibv_reg_mr(e->pd, e->self.data, DATA_NBYTES, access);
	must(e->mr, "ibv_reg_mr");
	route.create(e);
	e->self.rkey = e->mr->rkey;
	e->self.lid = e->port.lid;
	e->self.qpn = e->sq.qpn;
}

static void end_close(end_t *e)
{
	route.destroy(e);
	same("ibv_dereg_mr", 0, (uint64_t)lib.ibv_dereg_mr(e->mr));
	same("ibv_dealloc_pd", 0, (uint64_t)lib.ibv_dealloc_pd(e->pd));
	same("ibv_close_device", 0, (uint64_t)lib.ibv_close_device(e->context));
}

struct ibv_ah_attr end_ah_attr(const end_t *e)
{
	struct ibv_ah_attr ah = {.port_num = PORT, .dlid = e->peer.lid};

	if (e->port.link_layer != IBV_LINK_LAYER_ETHERNET &&
	    !(e->port.flags & IBV_QPF_GRH_REQUIRED))
		return ah;
	ah.is_global = 1;
	ah.grh.dgid = e->peer.gid;
	ah.grh.sgid_index = e->gid_index;
	ah.grh.hop_limit = 64;
	return ah;
}

static void send_all(int socket, const void *bytes, size_t nbytes)
{
	must(send(socket, bytes, nbytes, MSG_NOSIGNAL) == (ssize_t)nbytes,
	     "write to the other process");
}

static void receive_all(int socket, void *bytes, size_t nbytes)
{
	must(recv(socket, bytes, nbytes, MSG_WAITALL) == (ssize_t)nbytes,
	     "read from the other process");
}

void pair_meet(const pair_t *p)
{
	char c = 0;

	if (p->socket < 0)
		return;
	send_all(p->socket, &c, 1);
	receive_all(p->socket, &c, 1);
}

/* From one side's addresses to the other's. */
static void pair_exchange(pair_t *p)
{
	if (p->socket < 0) {
		p->active->peer = p->passive->self;
		p->passive->peer = p->active->self;
	} else {
		end_t *mine = p->active ? p->active : p->passive;

		send_all(p->socket, &mine->self, sizeof(mine->self));
		receive_all(p->socket, &mine->peer, sizeof(mine->peer));
	}
}

static void for_each_end(const pair_t *p, void (*act)(end_t *))
{
	if (p->active)
		act(p->active);
	if (p->passive && p->passive != p->active)
		act(p->passive);
}

/* The first PSNs are just below the maximum, so that their 24 bits wrap. */
static void new_psn(end_t *e)
{
	e->self.psn = e->self.psn ? (e->self.psn * 69069 + 1) & 0xffffff : 0xfffffd;
}

void pair_connect(pair_t *p)
{
	for_each_end(p, new_psn);
	pair_exchange(p);
	for_each_end(p, route.to_rtr);
	pair_meet(p);
	for_each_end(p, route.to_rts);
	pair_meet(p);
}

static void pair_swap(pair_t *p)
{
	end_t *active = p->active;

	p->active = p->passive;
	p->passive = active;
}

static void await_port_event(end_t *e, const char *what, enum ibv_event_type type)
{
	struct ibv_async_event event;

	if (!readable(what, e->context->async_fd))
		return;
	must(!lib.ibv_get_async_event(e->context, &event), "ibv_get_async_event");
	same(what, type, event.event_type);
	same("port of the event", PORT, (uint64_t)event.element.port_num);
	lib.ibv_ack_async_event(&event);
}

static void change_port(end_t *e, const char *to, enum ibv_event_type type,
			enum ibv_port_state state)
{
	const char *device = lib.ibv_get_device_name(e->context->device);
	char command[512];

	snprintf(command, sizeof(command), "%s %s %s", port_command, to, device);
	same(command, 0, (uint64_t)system(command));
	await_port_event(e, command, type);
	query_port(e->context, &e->port);
	same("port state", state, e->port.state);
}

/* A port that is down does not affect a QP that sends nothing. */
static void port_goes_and_comes(end_t *e)
{
	change_port(e, "down", IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
	change_port(e, "up", IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	same("state after a port's absence", IBV_QPS_RTS, route.state(e));
	traffic_write(e);
}

/* A QP that is its own peer has no traffic_refused: its receiver fails at once with the sender. */
static void run(pair_t *p)
{
	pair_connect(p);
	traffic(p);
	pair_swap(p);
	traffic(p);
	if (p->active != p->passive) {
		traffic_refused(p);
		for_each_end(p, route.reset);
		pair_meet(p);
		pair_connect(p);
		traffic(p);
	}
	if (p->socket < 0 && port_command)
		port_goes_and_comes(p->active);
	for_each_end(p, end_close);
}

static void announce(const char *what, int kind)
{
	if (failures)
		fprintf(stderr, "%s, %s: %d failures so far\n", what, route.kinds[kind], failures);
}

static void two_ends(unsigned second_device, const char *what, int kind)
{
	end_t a, b;
	pair_t p = {&a, &b, -1};

	end_open(&a, 0, 0, kind);
	end_open(&b, second_device, 1, kind);
	run(&p);
	announce(what, kind);
}

static void one_end(int kind)
{
	end_t a;
	pair_t p = {&a, &a, -1};

	end_open(&a, 0, 0, kind);
	run(&p);
	announce("a QP with itself", kind);
}

/* Each process is the active one, first or second. */
static void two_processes(bool child, int socket)
{
	int kind;

	for (kind = 0; route.kinds[kind]; kind++) {
		end_t e;
		pair_t p = {child ? NULL : &e, child ? &e : NULL, socket};

		end_open(&e, child, child, kind);
		run(&p);
		announce(child ? "the second process" : "the first process", kind);
	}
}

/* Fork before the library is loaded: a device cannot be used after a fork. */
static void run_two_processes(const char *ibverbs, const char *mlx5)
{
	int sockets[2], status;
	pid_t pid;

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	pid = fork();
	must(pid >= 0, "fork");
	close(sockets[pid ? 1 : 0]);
	library_load(ibverbs, mlx5);
	two_processes(pid == 0, sockets[pid ? 0 : 1]);
	if (pid == 0)
		exit(failures ? 1 : 0);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	same("status of the second process", 0, (uint64_t)status);
}

static void run_one_process(const char *ibverbs, const char *mlx5)
{
	int kind;

	library_load(ibverbs, mlx5);
	for (kind = 0; route.kinds[kind]; kind++) {
		two_ends(1, "two devices", kind);
		two_ends(0, "one device", kind);
		one_end(kind);
	}
}

int main(int argc, char **argv)
{
	bool two = false;
	int i;

	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++)
		if (!strcmp(argv[i], "--two-processes"))
			two = true;
		else if (!strcmp(argv[i], "--port") && i + 1 < argc)
			port_command = argv[++i];
	if (i >= argc) {
		fprintf(stderr, "use: %s [--two-processes] [--port COMMAND] IBVERBS [MLX5]\n",
			argv[0]);
		return 1;
	}
	memory = mmap(NULL, 2 * DATA_NBYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	must(memory != MAP_FAILED, "mmap");
	(two ? run_two_processes : run_one_process)(argv[i], argv[i + 1 < argc ? i + 1 : i]);
	return failures ? 1 : 0;
}
