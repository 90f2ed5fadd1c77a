/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ib/caps.h"
#include "ib/gid.h"
#include "topo/sysfs.h"

#define MAX_GIDS 256 /* a queue pair's address has 8 bits for the index */

/* The parameters of a survey of all devices. */
typedef struct survey {
	const shmemhi_ib_lib_t *lib;
	const shmemhi_options_t *opt;
	shmemhi_hca_list_t list;
	shmemhi_ports_t *found;
	shmemhi_err_t *err;
} survey_t;

static int open_context(const survey_t *s, struct ibv_device *device, shmemhi_port_t *p)
{
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};

	errno = 0;
	p->open.context = s->lib->open_device(device, &attr);
	if (p->open.context)
		return SHMEMH_OK;
	return shmemhi_fail(&p->why, SHMEMH_ERR_NIC,
			    "cannot be opened for DevX (%s): check the permissions on "
			    "/dev/infiniband, and that kernel and firmware have DevX",
			    strerror(errno));
}

/* Does the port still have the address in use? A change of the address ends the paths that use it.
 * So a refresh keeps it, even if the rule would now prefer another. One query, not one for each
 * entry of the table: the fail-over thread refreshes the ports every 50 ms. */
static bool has_own_gid(const survey_t *s, const shmemhi_open_port_t *port)
{
	struct ibv_gid_entry entry = {0};

	return s->lib->query_gid_ex(port->context, (uint32_t)port->number, port->gid_index, &entry,
				    0, sizeof entry) == 0 &&
	       shmemhi_is_gid(&entry, &port->gid);
}

static int choose_gid(const survey_t *s, int n_gids, shmemhi_port_t *p)
{
	shmemhi_open_port_t *port = &p->open;
	struct ibv_gid_entry table[MAX_GIDS] = {0};
	int n = 0, wanted = s->opt->ib_gid_index, index;

	if (has_own_gid(s, port))
		return SHMEMH_OK;
	for (int i = 0; i < n_gids && i < MAX_GIDS; i++) /* empty entries fail */
		n += s->lib->query_gid_ex(port->context, (uint32_t)port->number, (uint32_t)i,
					  &table[n], 0, sizeof table[n]) == 0;
	index = shmemhi_choose_gid(table, n, wanted);
	for (int i = 0; i < n; i++)
		if ((int)table[i].gid_index == index)
			port->gid = table[i].gid;
	port->gid_index = (uint8_t)index;
	if (index >= 0)
		return SHMEMH_OK;
	if (wanted >= 0)
		return shmemhi_fail(&p->why, SHMEMH_ERR_NIC,
				    "SHMEMH_IB_GID_INDEX=%d is no RoCE v2 address of it", wanted);
	return shmemhi_fail(&p->why, SHMEMH_ERR_NIC,
			    "it has no RoCE v2 address: give its network interface an IP address");
}

/* Packets to an InfiniBand port carry its LID, and its first GID too if either port requires a GRH.
 * The GID also names the subnet (ib/address.c). */
static int read_lid(const survey_t *s, const struct ibv_port_attr *attr, shmemhi_port_t *p)
{
	struct ibv_gid_entry entry = {0};
	int got = s->lib->query_gid_ex(p->open.context, (uint32_t)p->open.number, 0, &entry, 0,
				       sizeof entry);

	p->open.gid = entry.gid;
	p->open.lid = attr->lid;
	p->open.requires_grh = (attr->flags & IBV_QPF_GRH_REQUIRED) != 0;
	if (p->open.requires_grh && got != 0)
		return shmemhi_fail(&p->why, SHMEMH_ERR_NIC,
				    "its port requires a GRH, but has no GID at index 0 (%s): is a "
				    "subnet manager running?",
				    strerror(got));
	if (attr->lid)
		return SHMEMH_OK;
	return shmemhi_fail(&p->why, SHMEMH_ERR_NIC, "it has no LID: is a subnet manager running?");
}

static int read_port(const survey_t *s, shmemhi_port_t *p)
{
	shmemhi_open_port_t *port = &p->open;
	struct ibv_port_attr attr;
	int got = shmemhi_ib_query_port(s->lib, port->context, (uint8_t)port->number, &attr);

	if (got != 0)
		return shmemhi_fail(&p->why, SHMEMH_ERR_NIC, "ibv_query_port failed: %s",
				    strerror(got));
	p->state = attr.state;
	port->is_ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	port->mtu = (uint8_t)attr.active_mtu;
	if (attr.state != IBV_PORT_ACTIVE)
		return shmemhi_fail(&p->why, SHMEMH_ERR_NIC,
				    "its port is not active (%s): look at the link",
				    s->lib->port_state_str(attr.state));
	return port->is_ethernet ? choose_gid(s, attr.gid_tbl_len, p) : read_lid(s, &attr, p);
}

int shmemhi_port_refresh(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			 shmemhi_open_port_t *port)
{
	const survey_t s = {.lib = lib, .opt = opt};
	shmemhi_port_t p = {.open = *port};
	int status = read_port(&s, &p);

	if (status != SHMEMH_OK)
		return status;
	/* Only these may change now: the thread for NIC events and threads that register memory
	 * read the other fields meanwhile. */
	port->mtu = p.open.mtu;
	port->gid_index = p.open.gid_index;
	port->requires_grh = p.open.requires_grh;
	port->lid = p.open.lid;
	port->gid = p.open.gid;
	return SHMEMH_OK;
}

static int check_caps(const survey_t *s, shmemhi_port_t *p)
{
	shmemhi_caps_t *caps = malloc(sizeof *caps);
	int status;

	if (!caps)
		return shmemhi_fail(&p->why, SHMEMH_ERR_NO_MEMORY, "out of memory");
	status = shmemhi_caps_query(s->lib, &p->open, caps, &p->why);
	if (status == SHMEMH_OK)
		status = shmemhi_caps_check(caps, s->opt, &p->open, &p->why);
	free(caps);
	return status;
}

/* Allocate the protection domain and find the numbers that commands refer to. */
static int make_pd(const survey_t *s, shmemhi_port_t *p)
{
	shmemhi_open_port_t *port = &p->open;
	struct mlx5dv_pd dv = {0};
	struct mlx5dv_obj obj = {.pd = {.out = &dv}};
	const char *call = "ibv_alloc_pd";
	int got = 0;

	errno = 0;
	port->pd = s->lib->alloc_pd(port->context);
	if (!port->pd)
		got = errno ? errno : ENOMEM;
	if (!got) {
		call = "mlx5dv_init_obj";
		obj.pd.in = port->pd;
		got = s->lib->init_obj(&obj, MLX5DV_OBJ_PD);
		port->pdn = dv.pdn;
	}
	if (!got) {
		call = "mlx5dv_devx_query_eqn";
		got = s->lib->query_eqn(port->context, 0, &port->eqn);
	}
	if (!got)
		return SHMEMH_OK;
	return shmemhi_fail(&p->why, SHMEMH_ERR_NIC, "%s failed: %s", call, strerror(got));
}

/* Append an entry for a port of that device. Returns NULL without memory. */
static shmemhi_port_t *append(const survey_t *s, struct ibv_device *device, int number)
{
	size_t n = s->found->n;
	shmemhi_port_t *ports = realloc(s->found->ports, (n + 1) * sizeof *ports);

	if (!ports) {
		shmemhi_fail(s->err, SHMEMH_ERR_NO_MEMORY, "NICs: out of memory");
		return NULL;
	}
	s->found->ports = ports;
	s->found->n++;
	memset(&ports[n], 0, sizeof ports[n]);
	snprintf(ports[n].open.name, sizeof ports[n].open.name, "%s",
		 s->lib->get_device_name(device));
	ports[n].open.number = number;
	snprintf(ports[n].folder, sizeof ports[n].folder, "%s", device->ibdev_path);
	return &ports[n];
}

static int is_usable(const survey_t *s, shmemhi_port_t *p)
{
	if (!shmemhi_hca_allows(&s->list, p->open.name, p->open.number))
		return shmemhi_fail(&p->why, SHMEMH_ERR_NIC, "SHMEMH_HCA_LIST leaves it out");
	if (read_port(s, p) != SHMEMH_OK || check_caps(s, p) != SHMEMH_OK)
		return SHMEMH_ERR_NIC;
	return make_pd(s, p);
}

/* How many ports an open device has. */
static int count_ports(const survey_t *s, const shmemhi_port_t *p)
{
	struct ibv_device_attr attr = {0};

	if (!p->open.context || s->lib->query_device(p->open.context, &attr) != 0)
		return 1;
	return attr.phys_port_cnt;
}

/* Survey one port, in a context of its own. *n_ports: receives how many the device has. */
static int survey_port(const survey_t *s, struct ibv_device *device, int number, int *n_ports)
{
	shmemhi_port_t *p = append(s, device, number);

	if (!p)
		return SHMEMH_ERR_NO_MEMORY;
	if (open_context(s, device, p) == SHMEMH_OK) {
		*n_ports = count_ports(s, p);
		p->is_usable = is_usable(s, p) == SHMEMH_OK;
	} else {
		p->open.number = 0;
	}
	if (!p->is_usable)
		shmemhi_port_close(s->lib, &p->open);
	return SHMEMH_OK;
}

static int survey_device(const survey_t *s, struct ibv_device *device)
{
	int is_allowed = shmemhi_hca_allows(&s->list, s->lib->get_device_name(device), 0);
	int is_mlx5 = s->lib->is_supported(device);
	int status = SHMEMH_OK, n_ports = 1;

	if (!is_allowed || !is_mlx5) {
		shmemhi_port_t *p = append(s, device, 0);

		if (!p)
			return SHMEMH_ERR_NO_MEMORY;
		return shmemhi_fail(&p->why, SHMEMH_OK, "%s",
				    is_allowed ? "it is not an mlx5 adapter"
					       : "SHMEMH_HCA_LIST leaves it out");
	}
	for (int port = 1; status == SHMEMH_OK && port <= n_ports; port++)
		status = survey_port(s, device, port, &n_ports);
	return status;
}

static int check_options(survey_t *s, const char *const *names, int n)
{
	shmemhi_hca_list_t mapping;
	int status = shmemhi_hca_parse(s->opt->hca_list, &s->list, s->err);

	if (status == SHMEMH_OK)
		status = shmemhi_hca_check(&s->list, "SHMEMH_HCA_LIST", names, n, s->err);
	if (status == SHMEMH_OK)
		status = shmemhi_mapping_parse(s->opt->hca_pe_mapping, &mapping, s->err);
	if (status == SHMEMH_OK)
		status = shmemhi_hca_check(&mapping, "SHMEMH_HCA_PE_MAPPING", names, n, s->err);
	return status;
}

static int check_names(survey_t *s, const shmemhi_hca_list_t *set, struct ibv_device **devices,
		       int n)
{
	const char **names = calloc((size_t)n, sizeof *names);
	int status;

	if (!names)
		return shmemhi_fail(s->err, SHMEMH_ERR_NO_MEMORY, "NICs: out of memory");
	for (int i = 0; i < n; i++)
		names[i] = s->lib->get_device_name(devices[i]);
	if (set) {
		s->list = *set;
		status = shmemhi_hca_check(set, "a set of ports", names, n, s->err);
	} else {
		status = check_options(s, names, n);
	}
	free(names);
	return status;
}

/* Survey all devices. set: what s->list becomes; NULL: what the options say. */
static int survey(survey_t *s, const shmemhi_hca_list_t *set)
{
	int n = 0, status;
	struct ibv_device **devices = s->lib->get_device_list(&n);

	memset(s->found, 0, sizeof *s->found);
	if (!devices || n == 0) {
		if (devices)
			s->lib->free_device_list(devices);
		return shmemhi_fail(s->err, SHMEMH_ERR_NIC,
				    "no NIC: there is no RDMA device here: is the driver (mlx5_ib) "
				    "loaded, and /dev/infiniband visible in this container?");
	}
	status = check_names(s, set, devices, n);
	for (int i = 0; status == SHMEMH_OK && i < n; i++)
		status = survey_device(s, devices[i]);
	s->lib->free_device_list(devices);
	if (status != SHMEMH_OK)
		shmemhi_ports_close(s->lib, s->found);
	return status;
}

int shmemhi_ports_open(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
		       shmemhi_ports_t *found, shmemhi_err_t *err)
{
	survey_t s = {.lib = lib, .opt = opt, .found = found, .err = err};

	return survey(&s, NULL);
}

/* Move the ports of list[entry] to the end of to. An entry without a port names all of its NIC. */
static int take(const shmemhi_hca_list_t *list, int entry, shmemhi_ports_t *from,
		shmemhi_ports_t *to, shmemhi_err_t *err)
{
	const shmemhi_hca_t *want = &list->entries[entry];
	size_t before = to->n;

	for (size_t i = 0; i < from->n; i++) {
		shmemhi_port_t *p = &from->ports[i];

		if (strcmp(p->open.name, want->name) != 0 ||
		    (want->port && p->open.number && p->open.number != want->port))
			continue;
		if (!p->is_usable)
			return shmemhi_fail(err, SHMEMH_ERR_NIC, "%s:%d cannot be used: %s",
					    p->open.name, p->open.number, p->why.text);
		to->ports[to->n++] = *p;
		memset(&p->open, 0, sizeof p->open);
	}
	if (to->n > before)
		return SHMEMH_OK;
	if (want->port == 0)
		return shmemhi_fail(err, SHMEMH_ERR_NIC, "the list names %s twice", want->name);
	return shmemhi_fail(err, SHMEMH_ERR_NIC, "%s has no port %d, or the list names it twice",
			    want->name, want->port);
}

int shmemhi_ports_open_set(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			   const shmemhi_hca_list_t *set, shmemhi_ports_t *found,
			   shmemhi_err_t *err)
{
	shmemhi_ports_t all;
	survey_t s = {.lib = lib, .opt = opt, .found = &all, .err = err};
	int status;

	memset(found, 0, sizeof *found);
	if (set->is_exclude || set->n == 0)
		return shmemhi_fail(err, SHMEMH_ERR_OPTION,
				    "a set of ports names each: mlx5_0,mlx5_1:2");
	status = survey(&s, set);
	if (status != SHMEMH_OK)
		return status;
	found->ports = calloc(all.n, sizeof *found->ports);
	if (!found->ports)
		status = shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "NICs: out of memory");
	for (int i = 0; status == SHMEMH_OK && i < set->n; i++)
		status = take(set, i, &all, found, err);
	shmemhi_ports_close(lib, &all);
	if (status != SHMEMH_OK)
		shmemhi_ports_close(lib, found);
	return status;
}

void shmemhi_port_close(const shmemhi_ib_lib_t *lib, shmemhi_open_port_t *port)
{
	if (port->pd)
		lib->dealloc_pd(port->pd);
	if (port->context)
		lib->close_device(port->context);
	port->pd = NULL;
	port->context = NULL;
}

void shmemhi_ports_close(const shmemhi_ib_lib_t *lib, shmemhi_ports_t *found)
{
	for (size_t i = 0; i < found->n; i++)
		shmemhi_port_close(lib, &found->ports[i].open);
	free(found->ports);
	memset(found, 0, sizeof *found);
}

static int add_port(const shmemhi_port_t *p, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	shmemhi_hca_port_t port = {.number = p->open.number};
	int nic = shmemhi_find_nic(m, p->open.name);

	if (nic < 0)
		nic = shmemhi_machine_add_nic(m, p->open.name, p->folder, err);
	if (nic < 0)
		return SHMEMH_ERR_SYSTEM;
	/* sysfs has the ports of NICs with a driver in the Linux kernel, and their bandwidth. */
	if (shmemhi_find_port(m, p->open.name, p->open.number) >= 0)
		return SHMEMH_OK;
	port.nic = nic;
	port.state = p->state == IBV_PORT_ACTIVE ? SHMEMHI_PORT_ACTIVE : SHMEMHI_PORT_DOWN;
	port.link = p->open.is_ethernet ? SHMEMHI_LINK_ETHERNET : SHMEMHI_LINK_IB;
	return shmemhi_add_port(m, &port, err) < 0 ? SHMEMH_ERR_SYSTEM : SHMEMH_OK;
}

int shmemhi_ports_add(const shmemhi_ports_t *found, shmemhi_machine_t *m, shmemhi_err_t *err)
{
	int status = SHMEMH_OK;

	for (size_t i = 0; status == SHMEMH_OK && i < found->n; i++)
		if (found->ports[i].open.number)
			status = add_port(&found->ports[i], m, err);
	return status;
}
