/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/uniqueid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdbool.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/sockets.h"

#define MAX_FOUND 32
#define BACKLOG 1024 /* Linux bounds it by net.core.somaxconn */

typedef struct found {
	shmemhi_addr_t addr;
	int order; /* lower is tried first */
} found_t;

static bool same_ip(const shmemhi_addr_t *a, const shmemhi_addr_t *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, 16) == 0;
}

/* The local address from which this host reaches remote ones, which is most often the right one.
 * Connecting a datagram socket queries the routing table and sends nothing; the targets are
 * documentation addresses (RFC 5737, RFC 3849). Family 0 if there is no route. */
static shmemhi_addr_t default_source(int family)
{
	shmemhi_addr_t to;
	shmemhi_addr_t from;
	socklen_t nbytes = sizeof(from);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memset(&to, 0, sizeof(to));
	memset(&from, 0, sizeof(from));
	to.any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		to.v4.sin_port = htons(9);
		inet_pton(AF_INET, "192.0.2.1", &to.v4.sin_addr);
	} else {
		to.v6.sin6_port = htons(9);
		inet_pton(AF_INET6, "2001:db8::1", &to.v6.sin6_addr);
	}
	if (fd < 0 || connect(fd, &to.any, shmemhi_addr_nbytes(&to)) != 0 ||
	    getsockname(fd, &from.any, &nbytes) != 0)
		from.any.sa_family = 0;
	if (fd >= 0)
		close(fd);
	return from;
}

/* Copy the address of an interface. Returns whether another host can use it. */
static bool take(const struct sockaddr *sa, shmemhi_addr_t *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (sa && sa->sa_family == AF_INET) {
		memcpy(&addr->v4, sa, sizeof(addr->v4));
		return true;
	}
	if (sa && sa->sa_family == AF_INET6) {
		memcpy(&addr->v6, sa, sizeof(addr->v6));
		addr->v6.sin6_scope_id = 0;
		return !IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr);
	}
	return false;
}

static void insert(found_t *found, int *n_found, const shmemhi_addr_t *addr, int order)
{
	int at = *n_found;

	if (at == MAX_FOUND) {
		if (found[at - 1].order <= order)
			return;
		at = --*n_found;
	}
	for (; at > 0 && found[at - 1].order > order; at--)
		found[at] = found[at - 1];
	found[at].addr = *addr;
	found[at].order = order;
	(*n_found)++;
}

/* List the addresses to try, the likeliest first. */
static int find(const struct ifaddrs *list, const char *ifname, found_t *found)
{
	shmemhi_addr_t far4 = default_source(AF_INET);
	shmemhi_addr_t far6 = default_source(AF_INET6);
	const struct ifaddrs *i;
	int has_other = 0;
	int n_found = 0;

	for (i = list; i; i = i->ifa_next) {
		int is_loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
		shmemhi_addr_t addr;
		int order;

		if (!(i->ifa_flags & IFF_UP) || !take(i->ifa_addr, &addr) ||
		    (ifname[0] != '\0' && strcmp(ifname, i->ifa_name) != 0))
			continue;
		order = is_loopback ? 4 : same_ip(&addr, &far4) ? 0 : same_ip(&addr, &far6) ? 1 : 2;
		if (order == 2 && addr.any.sa_family == AF_INET6)
			order = 3;
		has_other |= !is_loopback;
		insert(found, &n_found, &addr, order);
	}
	while (has_other && found[n_found - 1].order == 4)
		n_found--;
	return n_found;
}

/* Is it ::, which stands for all addresses? The caller includes those of IPv4, whatever
 * net.ipv6.bindv6only says. */
static bool is_any6(const shmemhi_addr_t *addr)
{
	return addr->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr);
}

int shmemhi_listen_on(shmemhi_addr_t *addr)
{
	int fd = shmemhi_socket(addr->any.sa_family, SOCK_STREAM);
	socklen_t nbytes = shmemhi_addr_nbytes(addr);
	const int off = 0, on = 1;

	if (fd < 0)
		return -1;
	/* A port that the caller names may have had the connections of an earlier job. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (!is_any6(addr) || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
	    bind(fd, &addr->any, nbytes) == 0 && listen(fd, BACKLOG) == 0 &&
	    getsockname(fd, &addr->any, &nbytes) == 0)
		return fd;
	shmemhi_socket_close(fd);
	return -1;
}

/* Is word one of names, each of which has a blank before it? */
static bool has_word(const char *names, const char *word)
{
	const size_t nbytes = strlen(word);

	for (const char *at = names; *at; at++)
		if (*at == ' ' && strncmp(at + 1, word, nbytes) == 0 &&
		    (at[1 + nbytes] == ' ' || at[1 + nbytes] == '\0'))
			return true;
	return false;
}

static int fail_ifname(const struct ifaddrs *list, const char *ifname, shmemhi_err_t *err)
{
	const struct ifaddrs *i;
	char names[160] = "";

	for (i = list; i; i = i->ifa_next) {
		size_t used = strlen(names);
		shmemhi_addr_t addr;

		if ((i->ifa_flags & IFF_UP) && take(i->ifa_addr, &addr) &&
		    !has_word(names, i->ifa_name))
			snprintf(names + used, sizeof(names) - used, " %s", i->ifa_name);
	}
	return -shmemhi_fail(err, SHMEMH_ERR_OPTION,
			     "%s%.40s: no interface that is up and has an address; there are:%s",
			     ifname[0] != '\0' ? "SHMEMH_IFNAME=" : "hub of the unique id", ifname,
			     names[0] != '\0' ? names : " none");
}

int shmemhi_listen(const char *ifname, int *fds, shmemhi_addr_t *addrs, shmemhi_err_t *err)
{
	found_t found[MAX_FOUND];
	struct ifaddrs *list = NULL;
	int failed = 0; /* the last address that failed */
	int failed_errno = 0;
	int n_found;
	int n = 0;
	int i;

	if (getifaddrs(&list) != 0)
		return -shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "getifaddrs: %s%s", strerror(errno),
				     shmemhi_descriptor_advice(errno));
	n_found = find(list, ifname, found);
	if (n_found == 0)
		n = fail_ifname(list, ifname, err);
	freeifaddrs(list);
	for (i = 0; i < n_found && n < SHMEMHI_ID_MAX_ADDRS; i++) {
		fds[n] = shmemhi_listen_on(&found[i].addr);
		if (fds[n] < 0) {
			failed = i;
			failed_errno = errno;
			continue;
		}
		addrs[n++] = found[i].addr;
	}
	if (n == 0) {
		char text[SHMEMHI_ADDR_TEXT_NBYTES];

		return -shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "cannot listen on %s: %s%s",
				     shmemhi_addr_text(&found[failed].addr, text),
				     strerror(failed_errno),
				     shmemhi_descriptor_advice(failed_errno));
	}
	return n;
}
