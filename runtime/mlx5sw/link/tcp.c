/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Packets between hosts and network namespaces: a TCP connection from each sending place to each
 * receiving one, opened for the first packet. A frame is a length of 4 bytes, big-endian, and a
 * packet. If a connection breaks, its packets are lost, as on a link that goes down.
 *
 * A process has one place for all its ports, or one for each of them, with an address of its own:
 * then its sockets are bound to the interface that has the address, and the port is down while
 * the interface is. TCP would keep packets for a link that is down and deliver them minutes later.
 * A link of a NIC loses them, so connections of an interface that goes down are closed, and those
 * to a peer that does not answer too.
 *
 * For trusted networks: nothing is authenticated, and any process that connects may send. A
 * receiver limits only the cost of connections. It closes those without a packet for a minute and,
 * if there are too many, the one that has been idle the longest. Senders connect again when they
 * have a packet. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/step.h"
#include "mlx5sw/events/events.h"
#include "mlx5sw/link/interface.h"

#define MAX_FRAME_NBYTES (sizeof(mlx5swi_packet_t) + 4096u + 4u)
#define OUT_NBYTES (1u << 20)
#define RECONNECT_NS 10000000u /* minimum between two attempts */
#define CONNECT_NS 200000000u  /* limit of an attempt */
#define ANSWER_MS 1000u        /* a peer that acknowledges nothing for so long is unreachable */
#define MAX_INS 256u
/* accepting a full queue of connections at once would delay peers by a second */
#define ACCEPTS_PER_POLL 16u
#define IDLE_NS 60000000000u

/* Connection to a peer. Packets that do not fit are lost: the requester retransmits. */
typedef struct out {
	struct out *next;
	struct end *from;
	struct sockaddr_in to;
	int fd; /* -1: not connected */
	uint8_t is_connecting;
	uint64_t retry; /* time before which no attempt is made */
	uint64_t since; /* time of the last attempt */
	size_t first, end;
	uint8_t bytes[OUT_NBYTES];
} out_t;

/* Connection from a peer; any process that connects may send. */
typedef struct in {
	struct in *next;
	struct end *at;
	int fd;
	uint64_t last; /* time of its creation or of its last packet */
	size_t n;
	uint8_t bytes[1 << 16];
} in_t;

/* A place of this process. */
typedef struct end {
	int listener;
	/* "": sockets are not bound to an interface, and the port does not follow one */
	char interface[IF_NAMESIZE];
	uint8_t is_up;
} end_t;

typedef struct mlx5swi_tcp {
	end_t ends[MLX5SWI_MAX_PLACES]; /* of mlx5swi_w->places */
	int watch;                      /* of the interfaces; -1: none */
	uint8_t has_looked;             /* at them */
	out_t *outs;
	in_t *ins;
	uint32_t n_ins;
} tcp_t;

/* A socket of this end; -1: none, see errno. */
static int new_socket(const end_t *end)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
	unsigned answer = ANSWER_MS;
	if (fd < 0)
		return fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &answer, sizeof(answer));
	if (*end->interface && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, end->interface,
					  (socklen_t)strlen(end->interface))) {
		int err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* Parse "a.b.c.d:port", or "a.b.c.d" for a free port: RDMA addresses contain the port. Returns what
 * follows, or NULL: wrong. */
static const char *parse(const char *name, mlx5swi_place_t *place)
{
	char address[INET_ADDRSTRLEN];
	size_t n = strcspn(name, ":,");
	char *end = (char *)(uintptr_t)name + n;
	unsigned long port = 0;
	if (n >= sizeof(address))
		return NULL;
	memcpy(address, name, n);
	address[n] = 0;
	if (name[n] == ':' && !(port = strtoul(name + n + 1, &end, 10)))
		return NULL;
	if ((*end && *end != ',') || port > 65535 || inet_pton(AF_INET, address, place->ipv4) != 1)
		return NULL;
	place->is_tcp = 1;
	place->tcp_port = (uint16_t)port;
	return end;
}

/* Parse a list of places. Returns how many; 0: wrong. */
static uint32_t parse_all(const char *name, mlx5swi_place_t places[MLX5SWI_MAX_PLACES])
{
	uint32_t n = 0;
	while (n < MLX5SWI_MAX_PLACES && (name = parse(name, &places[n]))) {
		n++;
		if (!*name)
			return n;
		name++;
	}
	return 0;
}

static struct sockaddr_in socket_address(const mlx5swi_place_t *place)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(place->tcp_port)};
	memcpy(&a.sin_addr, place->ipv4, sizeof(place->ipv4));
	return a;
}

static int listen_at(end_t *end, mlx5swi_place_t *place)
{
	struct sockaddr_in a = socket_address(place);
	socklen_t nbytes = sizeof(a);
	int one = 1;
	end->listener = new_socket(end);
	if (end->listener < 0)
		return errno;
	setsockopt(end->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(end->listener, (const struct sockaddr *)&a, sizeof(a)) &&
	    !listen(end->listener, SOMAXCONN) &&
	    !getsockname(end->listener, (struct sockaddr *)&a, &nbytes)) {
		place->tcp_port = ntohs(a.sin_port);
		return 0;
	}
	return errno;
}

static void free_ends(tcp_t *t)
{
	for (uint32_t i = 0; i < MLX5SWI_MAX_PLACES; i++)
		if (t->ends[i].listener >= 0)
			close(t->ends[i].listener);
	if (t->watch >= 0)
		close(t->watch);
	free(t);
}

/* 0 or an errno value. */
static int open_ends(tcp_t *t)
{
	int err = 0;
	t->watch = -1;
	for (uint32_t i = 0; i < MLX5SWI_MAX_PLACES; i++)
		t->ends[i] = (end_t){.listener = -1, .is_up = 1};
	if (mlx5swi_w->n_places > 1 && (t->watch = mlx5swi_interface_watch()) < 0)
		return errno;
	for (uint32_t i = 0; i < mlx5swi_w->n_places && !err; i++) {
		mlx5swi_place_t *place = &mlx5swi_w->places[i];
		if (mlx5swi_w->n_places > 1)
			mlx5swi_interface_of(place->ipv4, t->ends[i].interface);
		err = listen_at(&t->ends[i], place);
	}
	return err;
}

int mlx5swi_tcp_open(const char *name)
{
	if (mlx5swi_w->cfg.link_layer != MLX5SW_ETHERNET)
		return mlx5swi_fabric_refuse(EINVAL, "InfiniBand needs shm: a LID has no room "
						     "for an address");
	mlx5swi_w->n_places = parse_all(name, mlx5swi_w->places);
	if (mlx5swi_w->n_places == 0)
		return mlx5swi_fabric_refuse(EINVAL, "must be tcp:ADDRESS[:PORT],...: at "
						     "most 16; IPv4 addresses of this host, "
						     "ports 1 to 65535");
	if (mlx5swi_w->n_places != 1 && mlx5swi_w->n_places != mlx5swi_w->n_devices)
		return mlx5swi_fabric_refuse(EINVAL,
					     "%u addresses for %u adapters: must be one for all, "
					     "or one for each (MLX5SW_DEVICES)",
					     mlx5swi_w->n_places, mlx5swi_w->n_devices);
	tcp_t *t = calloc(1, sizeof(*t));
	int err = t ? open_ends(t) : ENOMEM;
	if (!err) {
		mlx5swi_w->engine->tcp = t;
		return 0;
	}
	if (t)
		free_ends(t);
	return mlx5swi_fabric_refuse(err, "cannot be opened: %s", strerror(err));
}

void mlx5swi_tcp_close(void)
{
	tcp_t *t = mlx5swi_w->engine->tcp;
	mlx5swi_w->engine->tcp = NULL;
	for (out_t *o = t->outs, *next; o; o = next) {
		next = o->next;
		if (o->fd >= 0)
			close(o->fd);
		free(o);
	}
	for (in_t *i = t->ins, *next; i; i = next) {
		next = i->next;
		close(i->fd);
		free(i);
	}
	free_ends(t);
}

/* Sending */

static void break_off(out_t *o)
{
	close(o->fd);
	o->fd = -1;
	o->first = o->end = 0;
	o->retry = mlx5swi_now() + RECONNECT_NS;
}

static void connect_to(out_t *o)
{
	if (mlx5swi_now() < o->retry)
		return;
	o->fd = new_socket(o->from);
	if (o->fd < 0)
		return;
	o->is_connecting = 1;
	o->since = mlx5swi_now();
	if (connect(o->fd, (const struct sockaddr *)&o->to, sizeof(o->to)) && errno != EINPROGRESS)
		break_off(o);
}

static unsigned flush(out_t *o)
{
	if (o->fd < 0 || o->first == o->end)
		return 0;
	ssize_t n = send(o->fd, o->bytes + o->first, o->end - o->first, MSG_NOSIGNAL);
	if (n < 0 && o->is_connecting && mlx5swi_now() - o->since > CONNECT_NS)
		break_off(o);
	else if (n < 0 && errno != EAGAIN && errno != EINTR &&
		 !(errno == ENOTCONN && o->is_connecting))
		break_off(o);
	if (n <= 0)
		return 0;
	o->is_connecting = 0;
	o->first += (size_t)n;
	if (o->first == o->end)
		o->first = o->end = 0;
	return 1;
}

/* The receiver closes idle connections: a packet sent into a closed one would be lost. */
static void leave_if_closed(out_t *o)
{
	char byte;
	if (o->fd < 0 || o->first != o->end || recv(o->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return;
	close(o->fd);
	o->fd = -1;
}

static out_t *out_to(tcp_t *t, end_t *from, const mlx5swi_place_t *place)
{
	struct sockaddr_in to = socket_address(place);
	out_t *o = t->outs;
	while (o && (o->from != from || o->to.sin_addr.s_addr != to.sin_addr.s_addr ||
		     o->to.sin_port != to.sin_port))
		o = o->next;
	if (o || !(o = malloc(sizeof(*o))))
		return o;
	memset(o, 0, offsetof(out_t, bytes));
	o->from = from;
	o->to = to;
	o->fd = -1;
	o->next = t->outs;
	t->outs = o;
	return o;
}

static void append(out_t *o, const mlx5swi_packet_t *p)
{
	size_t nbytes = mlx5swi_packet_wire_nbytes(p);
	uint32_t length = htonl((uint32_t)nbytes);
	if (o->end + sizeof(length) + nbytes > OUT_NBYTES) {
		memmove(o->bytes, o->bytes + o->first, o->end - o->first);
		o->end -= o->first;
		o->first = 0;
	}
	if (o->end + sizeof(length) + nbytes > OUT_NBYTES)
		return;
	memcpy(o->bytes + o->end, &length, sizeof(length));
	memcpy(o->bytes + o->end + sizeof(length), &p->kind, nbytes);
	o->end += sizeof(length) + nbytes;
}

void mlx5swi_tcp_send(const mlx5swi_port_t *port, mlx5swi_packet_t *p)
{
	tcp_t *t = mlx5swi_w->engine->tcp;
	mlx5swi_place_t place;
	int is_known = !mlx5swi_gid_place(p->dgid, &place) && place.is_tcp;
	end_t *from = &t->ends[port->dev->index % mlx5swi_w->n_places];
	out_t *o = is_known ? out_to(t, from, &place) : NULL;
	if (o)
		leave_if_closed(o);
	if (o && o->fd < 0)
		connect_to(o);
	if (o && o->fd >= 0)
		append(o, p);
	mlx5swi_packet_free(p);
}

/* Receiving */

static void drop_in(tcp_t *t, in_t **at)
{
	in_t *i = *at;
	*at = i->next;
	t->n_ins--;
	close(i->fd);
	free(i);
}

static void drop_longest_idle(tcp_t *t)
{
	in_t **idle = &t->ins;
	for (in_t **at = &t->ins; *at; at = &(*at)->next)
		if ((*at)->last < (*idle)->last)
			idle = at;
	drop_in(t, idle);
}

/* Returns false if there is no new connection. */
static bool accept_peer(tcp_t *t, end_t *at)
{
	int fd = accept4(at->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return false;
	in_t *i = malloc(sizeof(*i));
	if (!i) {
		close(fd);
		return false;
	}
	if (t->n_ins == MAX_INS)
		drop_longest_idle(t);
	i->at = at;
	i->fd = fd;
	i->n = 0;
	i->last = mlx5swi_now();
	i->next = t->ins;
	t->ins = i;
	t->n_ins++;
	return true;
}

/* Pass whole frames to their ports. Returns how many, or -1: the bytes are not a frame of this
 * protocol, or there is no memory for a packet. */
static int take_frames(in_t *i)
{
	size_t at = 0;
	int n = 0;
	for (uint32_t length; i->n - at >= sizeof(length); n++) {
		memcpy(&length, i->bytes + at, sizeof(length));
		length = ntohl(length);
		if (length > MAX_FRAME_NBYTES)
			return -1;
		if (i->n - at < sizeof(length) + length)
			break;
		mlx5swi_packet_t *p =
			mlx5swi_packet_from_wire(i->bytes + at + sizeof(length), length);
		if (!p)
			return -1;
		mlx5swi_deliver(p);
		at += sizeof(length) + length;
	}
	memmove(i->bytes, i->bytes + at, i->n - at);
	i->n -= at;
	return n;
}

/* Returns how many packets came, or -1: the connection is closed. */
static int receive(in_t *i)
{
	ssize_t n = recv(i->fd, i->bytes + i->n, sizeof(i->bytes) - i->n, 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	i->n += (size_t)n;
	return n ? take_frames(i) : -1;
}

/* Returns how many packets came. */
static unsigned receive_all(tcp_t *t)
{
	uint64_t now = mlx5swi_now();
	unsigned sum = 0;
	for (in_t **at = &t->ins; *at;) {
		in_t *i = *at;
		int n = receive(i);
		if (n > 0)
			i->last = now;
		if (n < 0 || now - i->last > IDLE_NS) {
			drop_in(t, at);
			continue;
		}
		sum += (unsigned)n;
		at = &i->next;
	}
	return sum;
}

/* Interfaces */

static void drop_connections(tcp_t *t, const end_t *end)
{
	for (out_t *o = t->outs; o; o = o->next)
		if (o->from == end && o->fd >= 0)
			break_off(o);
	for (in_t **at = &t->ins; *at;)
		if ((*at)->at == end)
			drop_in(t, at);
		else
			at = &(*at)->next;
}

static void look_at_interfaces(tcp_t *t)
{
	t->has_looked = 1;
	for (uint32_t i = 0; i < mlx5swi_w->n_places; i++) {
		end_t *end = &t->ends[i];
		uint8_t is_up = !*end->interface || mlx5swi_interface_is_up(end->interface);
		if (is_up == end->is_up)
			continue;
		end->is_up = is_up;
		if (!is_up)
			drop_connections(t, end);
		mlx5swi_port_set_link(&mlx5swi_w->devices[i].port, is_up);
	}
}

unsigned mlx5swi_tcp_poll(void)
{
	tcp_t *t = mlx5swi_w->engine->tcp;
	unsigned sum = 0;
	if (t->watch >= 0 && (mlx5swi_interface_changed(t->watch) || !t->has_looked))
		look_at_interfaces(t);
	for (uint32_t i = 0; i < mlx5swi_w->n_places; i++)
		for (unsigned k = 0; k < ACCEPTS_PER_POLL && accept_peer(t, &t->ends[i]); k++)
			;
	for (out_t *o = t->outs; o; o = o->next)
		sum += flush(o);
	return sum + receive_all(t);
}
