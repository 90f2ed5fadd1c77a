/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Machines from text and from directories: what is read, and what is refused. */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include "topo/nvml.h"
#include "topo/sysfs.h"
#include "topo_test.h"

static shmemhi_machine_t m, other;

static int parse(const char *text, shmemhi_err_t *err)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int status = shmemhi_machine_parse(in, "here", &m, err);

	fclose(in);
	return status;
}

#define HEAD "machine 1\nnuma 0\nroot 0000:10 numa=0\nbridge 0000:10:01.0 in=0000:10\n"
#define DEVICES                                                                                    \
	HEAD "gpu 0000:11:00.0 in=0000:10:01.0\nnic 0000:11:00.1 in=0000:10:01.0 name=mlx5_0\n"

static const struct {
	const char *text, *line;
} bad[] = {
	{" \n", "here:1: the first line is not 'machine 1'"},
	{"machine 2\n", "here:1: the first line"},
	{"machine 1\nnode 0\n", "here:2: 'node' is no kind of line"},
	{"machine 1\n\n# fine\nnuma\n", "here:4: 'numa' alone"},
	{"machine 1\nnuma -1\n", "here:2: numa -1: use a number"},
	{"machine 1\nnuma 1\nnuma 1\n", "here:3: 1 is there already"},
	{"machine 1\nroot 15\n", "here:2: root 15: use PCI domain and bus"},
	{"machine 1\nroot 0000:15 numa=3\n", "here:2: numa=3: there is no such NUMA node"},
	{"machine 1\nroot 0000:15 in=x\n", "here:2: 'in=x' means nothing on a line of root"},
	{HEAD "bridge 0000:10:02.0\n", "here:5: bridge 0000:10:02.0 has no in="},
	{HEAD "bridge 0000:10:02.0 in=0000:11\n", "here:5: in=0000:11: there is no such"},
	{HEAD "bridge 0000:10:02.0 in=0\n", "here:5: in=0: it is neither a bridge nor a root"},
	{HEAD "bridge 0000:10:01.0 in=0000:10\n", "here:5: 0000:10:01.0 is there already"},
	{HEAD "bridge 0000:1B:00.0 in=0000:10\n", "here:5: bridge 0000:1B:00.0: use a PCI address"},
	{HEAD "bridge 0000:1b:00.8 in=0000:10\n", "here:5: bridge 0000:1b:00.8: use a PCI"},
	{HEAD "gpu 0000:11:00.0 in=0000:10 gbps=fast\n", "here:5: gbps=fast: use a whole number"},
	{HEAD "gpu 0000:11:00.0 in=0000:10 gbps=0\n", "here:5: gbps=0: use"},
	{HEAD "gpu 0000:11:00.0 in=0000:10 in=0000:10\n", "or is there twice"},
	{HEAD "nic 0000:11:00.0 in=0000:10\n", "here:5: nic 0000:11:00.0 has no name="},
	{HEAD "nic 0000:11:00.0 in=0000:10 name=\n", "here:5: name=: use 1 to 63 characters"},
	{DEVICES "nic - name=mlx5_0\n", "here:7: name=mlx5_0: a NIC on a line before has it"},
	{DEVICES "nic 0000:12:00.0 in=0000:11:00.0 name=a\n", "it is neither a bridge nor a root"},
	{DEVICES "port mlx5_0\n", "here:7: port mlx5_0: use the name of a NIC and a number"},
	{DEVICES "port mlx5_0:0\n", "here:7: port mlx5_0:0: use"},
	{DEVICES "port mlx5_1:1\n", "here:7: port mlx5_1:1: there is no such NIC"},
	{DEVICES "port mlx5_0:1\nport mlx5_0:1\n", "here:8: port mlx5_0:1 is there already"},
	{DEVICES "port mlx5_0:1 state=up\n",
	 "here:7: state=up: use one of unknown down init armed active"},
	{DEVICES "port mlx5_0:1 link=roce\n", "here:7: link=roce: use one of unknown ib ethernet"},
	{DEVICES "nvlink 0000:11:00.0 to=0000:11:00.0 lanes=2\n", "addresses of two GPUs"},
	{DEVICES "nvlink 0000:11:00.1 to=switch lanes=2\n", "addresses of two GPUs"},
	{DEVICES "nvlink 0000:11:00.0 to=switch\n", "here:7: lanes=: use a number from 1 to 99"},
	{DEVICES "a b c d e f g h i\n", "here:7: more than 8 words"},
};

static void text_that_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		shmemhi_err_t err = {""};
		int status = parse(bad[i].text, &err);

		if (status != SHMEMH_ERR_ARGUMENT || !strstr(err.text, bad[i].line))
			fail_msg("expected '%s', got %d '%s'", bad[i].line, status, err.text);
	}
}

static void text_that_is_too_much(void **state)
{
	static char text[SHMEMHI_MAX_NODES * 64];
	shmemhi_err_t err = {""};
	size_t used = (size_t)snprintf(text, sizeof text, "machine 1\nroot 0000:10\n");

	(void)state;
	for (int i = 0; i < SHMEMHI_MAX_NODES; i++)
		used += (size_t)snprintf(text + used, sizeof text - used,
					 "bridge %04x:10:01.0 in=0000:10\n", i);
	assert_int_equal(parse(text, &err), SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(err.text, "more than 4096 nodes (NUMA nodes"));
	memset(text, 'x', 400);
	memcpy(text, "machine 1\n", 10);
	err.text[0] = '\0';
	assert_int_equal(parse(text, &err), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(err.text, "here:2: longer than 254 characters"));
}

/* A machine with many virtual functions. */
static void text_of_many_nics(void **state)
{
	enum { N_NICS = 1000 };
	static char text[N_NICS * 80];
	shmemhi_err_t err = {""};
	size_t used = (size_t)snprintf(text, sizeof text, "machine 1\nroot 0000:10\n");

	(void)state;
	for (int i = 0; i < N_NICS; i++)
		used += (size_t)snprintf(
			text + used, sizeof text - used,
			"nic %04x:11:00.0 in=0000:10 name=mlx5_%d\nport mlx5_%d:1\n", i, i, i);
	assert_int_equal(parse(text, &err), SHMEMH_OK);
	assert_int_equal(m.n_nics, N_NICS);
	assert_int_equal(m.n_ports, N_NICS);
}

static void text_that_is_read(void **state)
{
	shmemhi_err_t err = {""};
	int top;

	(void)state;
	assert_int_equal(parse(DEVICES "port mlx5_0:2 gbps=25 state=down link=ib # comment\n"
				       "nvlink 0000:11:00.0 to=switch lanes=18\n",
			       &err),
			 SHMEMH_OK);
	assert_int_equal(m.n_gpus, 1);
	assert_int_equal(m.n_ports, 1);
	assert_int_equal(m.ports[0].number, 2);
	assert_int_equal(m.ports[0].gbps, 25);
	assert_int_equal(m.ports[0].state, SHMEMHI_PORT_DOWN);
	assert_int_equal(m.nvlinks[0].b, SHMEMHI_NVSWITCH);
	top = m.gpus[0].node;
	while (m.nodes[top].parent >= 0)
		top = m.nodes[top].parent;
	assert_int_equal(m.nodes[top].kind, SHMEMHI_NODE_NUMA);
	assert_string_equal(m.nodes[top].name, "0");
}

/* --- directories ---------------------------------------------------------------------------- */

static char root[72];

static void make_file(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", root, path);
	for (char *at = strchr(full + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(full, 0700);
		*at = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_link(const char *target, const char *path)
{
	char full[512];

	make_file(path, "");
	snprintf(full, sizeof full, "%s/%s", root, path);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(target, full), 0);
}

#define BRIDGE "sys/devices/pci0000:10/0000:10:01.0/"

/* One function of a card: its port has those values. */
static void make_nic(const char *name, const char *addr, const char *state, const char *rate)
{
	char path[256], target[256];

	snprintf(path, sizeof path, BRIDGE "%s/current_link_speed", addr);
	make_file(path, "32.0 GT/s PCIe\n");
	snprintf(path, sizeof path, BRIDGE "%s/current_link_width", addr);
	make_file(path, "8\n");
	snprintf(path, sizeof path, "sys/class/infiniband/%s/sys_image_guid", name);
	make_file(path, "b83f:d203:00b4:cf58\n");
	snprintf(path, sizeof path, "sys/class/infiniband/%s/ports/1/state", name);
	make_file(path, state);
	snprintf(path, sizeof path, "sys/class/infiniband/%s/ports/1/rate", name);
	make_file(path, rate);
	snprintf(path, sizeof path, "sys/class/infiniband/%s/ports/1/link_layer", name);
	make_file(path, "InfiniBand\n");
	snprintf(path, sizeof path, "sys/class/infiniband/%s/device", name);
	snprintf(target, sizeof target, "../../../devices/pci0000:10/0000:10:01.0/%s", addr);
	make_link(target, path);
}

static void make_gpu(const char *addr)
{
	char path[256], target[256];

	snprintf(path, sizeof path, BRIDGE "%s/numa_node", addr);
	make_file(path, "1\n");
	snprintf(path, sizeof path, BRIDGE "%s/max_link_speed", addr);
	make_file(path, "32.0 GT/s PCIe\n");
	snprintf(path, sizeof path, BRIDGE "%s/max_link_width", addr);
	make_file(path, "16\n");
	snprintf(target, sizeof target, "../../../devices/pci0000:10/0000:10:01.0/%s", addr);
	snprintf(path, sizeof path, "sys/bus/pci/devices/%s", addr);
	make_link(target, path);
	snprintf(target, sizeof target, "../../../../devices/pci0000:10/0000:10:01.0/%s", addr);
	snprintf(path, sizeof path, "sys/bus/pci/drivers/nvidia/%s", addr);
	make_link(target, path);
}

static void make_root(void)
{
	strcpy(root, "/tmp/shmem_topo_XXXXXX");
	assert_non_null(mkdtemp(root));
	make_file("sys/devices/system/node/online", "0-1\n");
	make_gpu("0000:11:00.0");
	make_gpu("0000:11:01.0");
	make_nic("mlx5_0", "0000:11:02.0", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
	make_nic("mlx5_1", "0000:11:02.1", "1: DOWN\n", "25 Gb/sec (1X EDR)\n");
	make_file("sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
	make_file("sys/bus/pci/drivers/nvidia/bind", "");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void remove_all(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static const char expected[] =
	"machine 1\n"
	"numa 0\n"
	"numa 1\n"
	"root 0000:10 numa=1\n"
	"bridge 0000:10:01.0 in=0000:10\n"
	"gpu 0000:11:00.0 in=0000:10:01.0 gbps=504\n"
	"gpu 0000:11:01.0 in=0000:10:01.0 gbps=504\n"
	"nic 0000:11:02.0 in=0000:10:01.0 name=mlx5_0 card=b83f:d203:00b4:cf58 gbps=252\n"
	"nic 0000:11:02.1 in=0000:10:01.0 name=mlx5_1 card=b83f:d203:00b4:cf58 gbps=252\n"
	"nic - name=rxe0\n"
	"port mlx5_0:1 state=active link=ib gbps=400\n"
	"port mlx5_1:1 state=down link=ib gbps=25\n"
	"port rxe0:1 link=ethernet\n";

static void expect_text(const shmemhi_machine_t *machine, const char *text)
{
	char *printed = NULL;
	size_t nbytes = 0;
	FILE *out = open_memstream(&printed, &nbytes);

	shmemhi_machine_print(machine, out);
	fclose(out);
	assert_string_equal(printed, text);
	free(printed);
}

#define ALL (SHMEMHI_READ_NVML | SHMEMHI_READ_NICS)

static void directory_that_is_read(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	make_root();
	assert_int_equal(shmemhi_machine_read(root, ALL, &m, &err), SHMEMH_OK);
	expect_text(&m, expected);
	assert_int_equal(shmemhi_machine_read(root, 0, &m, &err), SHMEMH_OK);
	assert_int_equal(m.n_nics, 0);
	assert_int_equal(m.n_gpus, 2);
	remove_all(root);
}

/* Let the tree have a GPU whose links lead to that directory, which is removed afterwards. */
static void expect_outside(const char *outside)
{
	char inside[sizeof root], device[160];
	shmemhi_err_t err = {""};

	make_root();
	strcpy(inside, root);
	snprintf(root, sizeof root, "%s%s", outside[0] == '.' ? inside : "", outside);
	mkdir(root, 0700);
	make_file("pci0000:99/0000:99:00.0/numa_node", "0\n");
	snprintf(device, sizeof device, "%s/pci0000:99/0000:99:00.0", root);
	strcpy(root, inside);
	make_link(device, "sys/bus/pci/devices/0000:99:00.0");
	make_link(device, "sys/bus/pci/drivers/nvidia/0000:99:00.0");
	assert_int_equal(shmemhi_machine_read(root, ALL, &m, &err), SHMEMH_OK);
	expect_text(&m, expected);
	remove_all(root);
	*strstr(device, "/pci0000:99") = '\0';
	remove_all(device);
}

/* What a link outside of the directory leads to is not part of the machine, be it beside it or in a
 * path of the same length. */
static void links_that_leave_the_directory(void **state)
{
	char other_root[] = "/tmp/shmem_topo_XXXXXX";

	(void)state;
	expect_outside(".outside");
	assert_non_null(mkdtemp(other_root));
	expect_outside(other_root);
}

/* The GPUs are those that NVML lists: a container may show sysfs of more. */
static void gpus_that_nvml_shows(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	make_root();
	make_file("nvml", "gpu 0000:11:01.0 f00d.1\nnvlink 0000:11:01.0 switch 18\n"
			  "nvlink 0000:11:00.0 0000:11:01.0 4\n");
	assert_int_equal(shmemhi_machine_read(root, ALL, &m, &err), SHMEMH_OK);
	assert_int_equal(m.n_gpus, 1);
	assert_string_equal(m.gpus[0].fabric, "f00d.1");
	assert_int_equal(m.n_nvlinks, 1); /* the other end of the second is not seen */
	make_file("nvml", "gpu\n");
	assert_int_not_equal(shmemhi_machine_read(root, ALL, &m, &err), SHMEMH_OK);
	assert_non_null(strstr(err.text, "lines are 'gpu ADDRESS FABRIC'"));
	remove_all(root);
}

static void capture_reads_back(void **state)
{
	char copy[96];
	shmemhi_err_t err = {""};

	(void)state;
	make_root();
	make_file("nvml", "gpu 0000:11:00.0 -\ngpu 0000:11:01.0 -\n"
			  "nvlink 0000:11:00.0 0000:11:01.0 4\n");
	snprintf(copy, sizeof copy, "%s.copy", root);
	assert_int_equal(shmemhi_machine_capture(root, copy, &m, &err), SHMEMH_OK);
	remove_all(root);
	if (shmemhi_machine_read(copy, ALL, &other, &err) != SHMEMH_OK)
		fail_msg("%s", err.text);
	assert_memory_equal(&m, &other, sizeof m);
	assert_int_equal(m.n_nvlinks, 1);
	remove_all(copy);
}

/* On a full disk, here for one file, the copy is not complete. */
static void capture_on_a_full_disk(void **state)
{
	static const char *const files[] = {"nvml", "sys/devices/system/node/online"};
	char machine[sizeof root], copy[sizeof root];

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		skip();
	for (int i = 0; i < 2; i++) {
		shmemhi_err_t err = {""};

		make_root();
		make_file("nvml", "gpu 0000:11:00.0 -\n");
		strcpy(machine, root);
		strcat(root, ".copy");
		strcpy(copy, root);
		assert_int_equal(mkdir(copy, 0700), 0);
		make_link("/dev/full", files[i]);
		assert_int_equal(shmemhi_machine_capture(machine, copy, &m, &err),
				 SHMEMH_ERR_SYSTEM);
		assert_non_null(strstr(err.text, "capture: cannot write"));
		assert_non_null(strstr(err.text, files[i]));
		remove_all(copy);
		remove_all(machine);
	}
}

/* A scalable function: its parent is no PCI function, but a device below one. */
static void make_subfunction(const char *name, const char *function)
{
	char path[256], target[256];

	snprintf(path, sizeof path, BRIDGE "%s/mlx5_core.sf.4/sfnum", function);
	make_file(path, "88\n");
	snprintf(path, sizeof path, "sys/class/infiniband/%s/ports/1/state", name);
	make_file(path, "4: ACTIVE\n");
	snprintf(path, sizeof path, "sys/class/infiniband/%s/device", name);
	snprintf(target, sizeof target,
		 "../../../devices/pci0000:10/0000:10:01.0/%s/mlx5_core.sf.4", function);
	make_link(target, path);
}

/* Several RDMA devices of one PCI function are NICs at one place, whichever is read first. */
static void subfunctions_share_a_place(void **state)
{
	shmemhi_err_t err = {""};
	char *text = NULL, *line;
	size_t nbytes = 0;
	FILE *out = open_memstream(&text, &nbytes);
	int nics[4];

	(void)state;
	make_root();
	make_subfunction("a_sf", "0000:11:02.1");
	make_subfunction("mlx5_2", "0000:11:02.0");
	assert_int_equal(shmemhi_machine_read(root, ALL, &m, &err), SHMEMH_OK);
	remove_all(root);
	for (int i = 0; i < 4; i++)
		nics[i] = shmemhi_find_nic(
			&m, (const char *const[]){"mlx5_0", "mlx5_1", "mlx5_2", "a_sf"}[i]);
	assert_string_equal(shmemhi_nic_addr(&m, nics[0]), "0000:11:02.0");
	assert_string_equal(shmemhi_nic_addr(&m, nics[1]), "0000:11:02.1");
	assert_int_equal(m.nics[nics[2]].node, m.nics[nics[0]].node);
	assert_int_equal(m.nics[nics[3]].node, m.nics[nics[1]].node);
	shmemhi_machine_print(&m, out);
	fclose(out);
	memcpy(&other, &m, sizeof m);
	if (parse(text, &err) != SHMEMH_OK)
		fail_msg("%s\n%s", err.text, text);
	assert_memory_equal(&m, &other, sizeof m);
	line = strstr(text, "name=mlx5_2 gbps=252");
	assert_non_null(line);
	line[strlen("name=mlx5_2 gbps=")] = '9';
	assert_int_equal(parse(text, &err), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(err.text, "has other in= or gbps= on a line before"));
	free(text);
}

static void directory_that_is_refused(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	assert_int_equal(shmemhi_machine_read("/nowhere", ALL, &m, &err), SHMEMH_ERR_ARGUMENT);
	assert_non_null(strstr(err.text, "it has no folder sys"));
	err.text[0] = '\0';
	assert_int_equal(shmemhi_machine_capture("", "/dev/null/x", &m, &err), SHMEMH_ERR_SYSTEM);
	assert_non_null(strstr(err.text, "capture: cannot write /dev/null"));
}

static void gpu_that_is_not_there(void **state)
{
	shmemhi_err_t err = {""};

	(void)state;
	memset(&m, 0, sizeof m);
	assert_int_equal(shmemhi_machine_add_gpu(&m, "", &err), -1);
	assert_int_equal(shmemhi_machine_add_gpu(&m, "ffff:ff:1f.7", &err), -1);
	assert_int_equal(m.n_gpus, 0);
	assert_int_equal(m.n_nodes, 0);
}

static void addresses_of_nvml(void **state)
{
	char addr[SHMEMHI_ADDR_NBYTES];

	(void)state;
	shmemhi_nvml_addr("00000000:1B:00.0", addr);
	assert_string_equal(addr, "0000:1b:00.0");
	shmemhi_nvml_addr("00010009:01:00.0", addr);
	assert_string_equal(addr, "10009:01:00.0");
	assert_true(shmemhi_is_pci_addr(addr));
	assert_false(shmemhi_is_pci_addr("000:1b:00.0"));
	assert_false(shmemhi_is_pci_addr("0000:1b:00.0x"));
	assert_false(shmemhi_is_pci_bus("0000:1b:00"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_is_refused),
		cmocka_unit_test(text_that_is_too_much),
		cmocka_unit_test(text_of_many_nics),
		cmocka_unit_test(text_that_is_read),
		cmocka_unit_test(directory_that_is_read),
		cmocka_unit_test(links_that_leave_the_directory),
		cmocka_unit_test(gpus_that_nvml_shows),
		cmocka_unit_test(capture_reads_back),
		cmocka_unit_test(capture_on_a_full_disk),
		cmocka_unit_test(subfunctions_share_a_place),
		cmocka_unit_test(directory_that_is_refused),
		cmocka_unit_test(gpu_that_is_not_there),
		cmocka_unit_test(addresses_of_nvml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
