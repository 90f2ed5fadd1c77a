/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The network interfaces that carry packets of a TCP fabric: a port of the adapter is up as long as
 * its interface is. */
#ifndef MLX5SW_LINK_INTERFACE_H
#define MLX5SW_LINK_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* Find the interface that has this IPv4 address. Returns false if none has it, as for addresses of
 * 127.0.0.0/8 other than 127.0.0.1. */
bool mlx5swi_interface_of(const uint8_t ipv4[4], char name[IF_NAMESIZE]);
/* Is the interface up, with a carrier? False also if it does not exist any more. True if no
 * socket can be opened to ask. */
bool mlx5swi_interface_is_up(const char *name);
/* A socket that becomes readable when the state of an interface changes; -1: none, see errno. */
int mlx5swi_interface_watch(void);
/* Has a state changed since the last call? */
bool mlx5swi_interface_changed(int watch);

#endif
