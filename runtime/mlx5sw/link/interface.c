/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "mlx5sw/link/interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

bool mlx5swi_interface_of(const uint8_t ipv4[4], char name[IF_NAMESIZE])
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		const struct sockaddr_in *a = (const struct sockaddr_in *)(void *)i->ifa_addr;
		size_t n = strcspn(i->ifa_name, ":"); /* an address with a label: "eth0:1" */

		found = a && a->sin_family == AF_INET && memcmp(&a->sin_addr, ipv4, 4) == 0 &&
			n < IF_NAMESIZE;
		if (!found)
			continue;
		memcpy(name, i->ifa_name, n);
		name[n] = 0;
	}
	freeifaddrs(all);
	return found;
}

bool mlx5swi_interface_is_up(const char *name)
{
	const short wanted = IFF_UP | IFF_RUNNING;
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_up;

	if (fd < 0)
		return true; /* not known */
	strncpy(request.ifr_name, name, IF_NAMESIZE - 1);
	is_up = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & wanted) == wanted;
	close(fd);
	return is_up;
}

int mlx5swi_interface_watch(void)
{
	const struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&links, sizeof(links))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* What a message says is not read: after an overflow of the socket (ENOBUFS) some are missing. */
bool mlx5swi_interface_changed(int watch)
{
	char bytes[4096];
	bool has = false;
	ssize_t n;

	while ((n = recv(watch, bytes, sizeof(bytes), 0)) > 0 || (n < 0 && errno == ENOBUFS))
		has = true;
	return has;
}
