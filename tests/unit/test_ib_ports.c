/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Ports of NICs on other machines: some entry points return what other devices would return. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cuda/ctx.h"
#include "ib/ports.h"
#include "nic_job.h"

/* `lib` is the adapter's table with some of these entry points replaced. */
static shmemhi_ib_lib_t lib;
static shmemhi_ib_lib_t truth;
static int n_contexts, n_pds;

static struct ibv_context *count_open(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	n_contexts++;
	return truth.open_device(device, attr);
}

static int count_close(struct ibv_context *context)
{
	n_contexts--;
	return truth.close_device(context);
}

static struct ibv_pd *count_alloc(struct ibv_context *context)
{
	n_pds++;
	return truth.alloc_pd(context);
}

static int count_dealloc(struct ibv_pd *pd)
{
	n_pds--;
	return truth.dealloc_pd(pd);
}

static struct ibv_device **no_devices(int *n)
{
	*n = 0;
	return NULL;
}

static bool nothing_is_supported(struct ibv_device *device)
{
	(void)device;
	return false;
}

static struct ibv_context *refuse_open(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	(void)device;
	assert_int_equal(attr->flags, MLX5DV_CONTEXT_FLAGS_DEVX);
	errno = EACCES;
	return NULL;
}

static int two_ports(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int got = truth.query_device(context, attr);

	attr->phys_port_cnt = 2;
	return got;
}

static struct ibv_pd *no_pd(struct ibv_context *context)
{
	(void)context;
	errno = ENOSPC;
	return NULL;
}

static int no_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
	(void)context;
	(void)vector;
	(void)eqn;
	return EPERM;
}

static int zero_lid(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)attr;

	(void)context;
	a->state = IBV_PORT_ACTIVE;
	a->link_layer = port == 1 ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static int needs_grh(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)attr;
	int got = truth.query_port_compat(context, port, attr);

	a->link_layer = IBV_LINK_LAYER_INFINIBAND;
	a->lid = 7;
	a->flags = 1; /* IBV_QPF_GRH_REQUIRED */
	return got;
}

static int no_gid(struct ibv_context *context, uint32_t port, uint32_t index,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t nbytes)
{
	(void)context;
	(void)port;
	(void)index;
	(void)entry;
	(void)flags;
	(void)nbytes;
	return ENODATA;
}

static void open_table(void)
{
	shmemhi_err_t err = {""};

	prepare(MLX5SW_ETHERNET, 1);
	assert_int_equal(shmemhi_ib_lib_open(&lib, adapter_path(), &err), SHMEMH_OK);
	truth = lib;
	lib.open_device = count_open;
	lib.close_device = count_close;
	lib.alloc_pd = count_alloc;
	lib.dealloc_pd = count_dealloc;
}

/* Examine the ports through the modified table. */
static int look(shmemhi_ports_t *found)
{
	return shmemhi_ports_open(&lib, &job->opt, found, &job->err);
}

/* Check that everything is closed, and that usable ports were not closed before. */
static void close_table(shmemhi_ports_t *found)
{
	int n_usable = 0;

	for (size_t i = 0; i < found->n; i++)
		n_usable += found->ports[i].is_usable;
	assert_int_equal(n_contexts, n_usable);
	assert_int_equal(n_pds, n_usable);
	shmemhi_ports_close(&lib, found);
	assert_int_equal(n_contexts, 0);
	assert_int_equal(n_pds, 0);
	shmemhi_ib_lib_close(&lib);
}

static void no_device(void **state)
{
	shmemhi_ports_t found;

	(void)state;
	open_table();
	lib.get_device_list = no_devices;
	assert_int_equal(look(&found), SHMEMH_ERR_NIC);
	assert_non_null(strstr(job->err.text, "there is no RDMA device here"));
	close_table(&found);
}

static void expect_reason(const char *text, int port)
{
	shmemhi_ports_t found;

	assert_int_equal(look(&found), SHMEMH_OK);
	assert_int_equal(found.n, 1);
	assert_false(found.ports[0].is_usable);
	assert_int_equal(found.ports[0].open.number, port);
	assert_null(found.ports[0].open.context);
	if (!strstr(found.ports[0].why.text, text))
		fail_msg("expected '%s', got '%s'", text, found.ports[0].why.text);
	close_table(&found);
}

static void device_of_another_kind(void **state)
{
	(void)state;
	open_table();
	lib.is_supported = nothing_is_supported;
	expect_reason("it is not an mlx5 adapter", 0);
}

static void device_that_does_not_open(void **state)
{
	(void)state;
	open_table();
	lib.open_device = refuse_open;
	expect_reason("cannot be opened for DevX (Permission denied)", 0);
}

static void device_without_room(void **state)
{
	(void)state;
	open_table();
	lib.alloc_pd = no_pd;
	expect_reason("ibv_alloc_pd failed: No space left on device", 1);
	open_table();
	lib.query_eqn = no_eqn;
	expect_reason("mlx5dv_devx_query_eqn failed: Operation not permitted", 1);
}

static void port_without_an_address(void **state)
{
	(void)state;
	open_table();
	lib.query_port_compat = zero_lid;
	expect_reason("it has no LID", 1);
}

/* A GRH contains the port's GID. */
static void port_that_requires_a_grh(void **state)
{
	shmemhi_ports_t found;

	(void)state;
	open_table();
	lib.query_port_compat = needs_grh;
	assert_int_equal(look(&found), SHMEMH_OK);
	assert_true(found.ports[0].is_usable);
	assert_int_equal(found.ports[0].open.requires_grh, 1);
	close_table(&found);
	open_table();
	lib.query_port_compat = needs_grh;
	lib.query_gid_ex = no_gid;
	expect_reason("its port requires a GRH, but has no GID at index 0", 1);
	open_table();
	assert_int_equal(look(&found), SHMEMH_OK); /* Ethernet: not required */
	assert_int_equal(found.ports[0].open.requires_grh, 0);
	close_table(&found);
}

static void port_without_gids(void **state)
{
	shmemhi_ports_t found;

	(void)state;
	open_table();
	lib.query_port_compat = zero_lid;
	lib.query_device = two_ports;
	assert_int_equal(look(&found), SHMEMH_OK);
	assert_int_equal(found.n, 2);
	assert_int_equal(found.ports[1].open.number, 2);
	assert_string_equal(found.ports[1].open.name, "mlx5_0");
	assert_non_null(strstr(found.ports[1].why.text, "it has no RoCE v2 address"));
	close_table(&found);
}

/* The second port of this device does not exist; the first one is still usable. */
static void two_ports_of_a_device(void **state)
{
	shmemhi_ports_t found;

	(void)state;
	open_table();
	lib.query_device = two_ports;
	assert_int_equal(look(&found), SHMEMH_OK);
	assert_int_equal(found.n, 2);
	assert_true(found.ports[0].is_usable);
	assert_int_equal(found.ports[0].state, IBV_PORT_ACTIVE);
	assert_false(found.ports[1].is_usable);
	assert_non_null(strstr(found.ports[1].why.text, "ibv_query_port failed: Invalid argument"));
	close_table(&found);
}

static int look_at(const char *text, shmemhi_ports_t *found)
{
	shmemhi_hca_list_t set;

	job->err.text[0] = '\0';
	assert_int_equal(shmemhi_hca_parse(text, &set, &job->err), SHMEMH_OK);
	return shmemhi_ports_open_set(&lib, &job->opt, &set, found, &job->err);
}

/* Start a fabric of so many devices and open the table. */
static void open_table_of(uint32_t n_devices)
{
	open_table();
	mlx5sw_stop();
	prepare(MLX5SW_ETHERNET, n_devices);
}

/* The ports that were asked for, in that order, and no others are open. */
static void set_of_ports(void **state)
{
	shmemhi_ports_t found;

	(void)state;
	open_table_of(3);
	snprintf(job->opt.hca_list, sizeof job->opt.hca_list, "mlx5_1");
	assert_int_equal(look_at("mlx5_2,mlx5_0:1", &found), SHMEMH_OK);
	assert_int_equal(found.n, 2);
	assert_string_equal(found.ports[0].open.name, "mlx5_2");
	assert_string_equal(found.ports[1].open.name, "mlx5_0");
	assert_int_equal(found.ports[1].open.number, 1);
	assert_non_null(found.ports[0].open.pd);
	close_table(&found);
}

static void sets_that_cannot_be_opened(void **state)
{
	static const struct {
		const char *set, *says;
		int status;
	} cases[] = {
		{"", "names each", SHMEMH_ERR_OPTION},
		{"^mlx5_0", "names each", SHMEMH_ERR_OPTION},
		{"mlx5_0,mlx5_7", "mlx5_7", SHMEMH_ERR_OPTION},
		{"mlx5_1,mlx5_0:2", "mlx5_0 has no port 2", SHMEMH_ERR_NIC},
		{"mlx5_0,mlx5_0:1", "or the list names it twice", SHMEMH_ERR_NIC},
		{"mlx5_0:1,mlx5_0", "the list names mlx5_0 twice", SHMEMH_ERR_NIC},
	};
	shmemhi_ports_t found;

	(void)state;
	open_table_of(2);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(look_at(cases[i].set, &found), cases[i].status);
		if (!strstr(job->err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].set, job->err.text);
		assert_int_equal(found.n, 0);
		assert_int_equal(n_contexts + n_pds, 0);
	}
	lib.query_device = two_ports;
	assert_int_equal(look_at("mlx5_0", &found), SHMEMH_ERR_NIC);
	assert_non_null(strstr(job->err.text, "mlx5_0:2 cannot be used: ibv_query_port failed"));
	close_table(&found);
}

/* Folders in sysfs, as the first two devices say that they have them. */
static char root[32];

#define BUS "pci0000:00"
#define PORT BUS "/0000:00:01.0"

static void in_root(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", root, name);
}

static struct ibv_device **devices_in_root(int *n)
{
	static const char *const folders[] = {"a", "b"};
	struct ibv_device **list = truth.get_device_list(n);

	for (int i = 0; i < *n; i++)
		in_root(folders[i], list[i]->ibdev_path);
	return list;
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	in_root(name, path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const char *const dirs[] = {BUS, PORT,      PORT "/0000:01:00.0", "a",
				   "b", "a/ports", "a/ports/1"};

static void make_root(void)
{
	char path[128], target[128];

	strcpy(root, "/tmp/shmem_ports_XXXXXX");
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		in_root(dirs[i], path);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	in_root(PORT "/0000:01:00.0", target);
	in_root("a/device", path);
	assert_int_equal(symlink(target, path), 0);
	write_file("a/ports/1/state", "4: ACTIVE\n");
	write_file("a/ports/1/rate", "400 Gb/sec (4X NDR)\n");
}

static void remove_root(void)
{
	static const char *const files[] = {"a/device", "a/ports/1/state", "a/ports/1/rate"};
	char path[128];

	for (size_t i = 0; i < 3; i++) {
		in_root(files[i], path);
		assert_int_equal(unlink(path), 0);
	}
	for (size_t i = sizeof dirs / sizeof dirs[0]; i > 0; i--) {
		in_root(dirs[i - 1], path);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(rmdir(root), 0);
}

/* A device with a folder in sysfs has a place, and the bandwidth of its port; one without is
 * there all the same. */
static void ports_of_a_machine(void **state)
{
	static shmemhi_machine_t m;
	shmemhi_ports_t found;

	(void)state;
	make_root();
	open_table();
	prepare(MLX5SW_ETHERNET, 2);
	lib.get_device_list = devices_in_root;
	assert_int_equal(look(&found), SHMEMH_OK);
	memset(&m, 0, sizeof m);
	assert_int_equal(shmemhi_ports_add(&found, &m, &job->err), SHMEMH_OK);
	assert_int_equal(m.n_nics, 2);
	assert_int_equal(m.n_ports, 2);
	assert_string_equal(shmemhi_nic_addr(&m, 0), "0000:01:00.0");
	assert_string_equal(shmemhi_nic_addr(&m, 1), "");
	assert_int_equal(m.ports[0].gbps, 400);
	assert_int_equal(m.ports[0].state, SHMEMHI_PORT_ACTIVE);
	assert_int_equal(m.ports[1].gbps, 0);
	assert_int_equal(m.ports[1].state, SHMEMHI_PORT_ACTIVE);
	assert_int_equal(m.ports[1].link, SHMEMHI_LINK_ETHERNET);
	close_table(&found);
	remove_root();
}

static int pci_status;

static int fake_pci(char *text, int nbytes, int device)
{
	snprintf(text, (size_t)nbytes, "0000:AB:%02X.0", (unsigned)device);
	return pci_status;
}

static void address_of_the_gpu(void **state)
{
	shmemhi_cuctx_t c = {.device = 0x1c, .cuda.device_get_pci_bus_id = fake_pci};
	char pci[SHMEMHI_PCI_NBYTES];

	(void)state;
	pci_status = 0;
	shmemhi_cuctx_pci(&c, pci);
	assert_string_equal(pci, "0000:ab:1c.0");
	pci_status = 1;
	shmemhi_cuctx_pci(&c, pci);
	assert_string_equal(pci, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_device),
		cmocka_unit_test(device_of_another_kind),
		cmocka_unit_test(device_that_does_not_open),
		cmocka_unit_test(device_without_room),
		cmocka_unit_test(port_without_an_address),
		cmocka_unit_test(port_that_requires_a_grh),
		cmocka_unit_test(port_without_gids),
		cmocka_unit_test(two_ports_of_a_device),
		cmocka_unit_test(set_of_ports),
		cmocka_unit_test(sets_that_cannot_be_opened),
		cmocka_unit_test(ports_of_a_machine),
		cmocka_unit_test(address_of_the_gpu),
	};

	return cmocka_run_group_tests(tests, make_job, free_job);
}
