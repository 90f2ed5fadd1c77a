/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Links between processes. Each test starts its own processes, which have an adapter each. */
#include <poll.h>
#include <sched.h>
#include "link_roles.h"
#include "mlx5sw/link/interface.h"

static void shared_memory(void **state)
{
	(void)state;
	two(both_directions, both_directions, shm_name, shm_name);
	assert_int_equal(access(shm_path, F_OK), -1);
}

static int dies_on_request(int fd)
{
	verbs_end_t e;
	if (open_end(&e, fd) || meet(fd))
		return 1;
	raise(SIGKILL);
	return 2;
}

static int sees_death(int fd)
{
	verbs_end_t e;
	uint8_t syndrome = 0;
	char byte;
	if (open_end(&e, fd))
		return 1;
	verbs_write(&e, 0, 5, 1);
	if (verbs_wait(&e, SECONDS, &syndrome) || meet(fd))
		return 2;
	if (read(fd, &byte, 1) != 0) /* the peer has died */
		return 3;
	speed_up(20);
	verbs_write(&e, 0, 6, 1);
	return verbs_wait(&e, SECONDS, &syndrome) != MLX5_CQE_REQ_ERR || syndrome != RETRY;
}

static void process_gone(void **state)
{
	(void)state;
	pid_t pids[2];
	start_two(sees_death, dies_on_request, shm_name, shm_name, pids);
	assert_int_equal(status_of(pids[0]), 0);
	assert_int_equal(status_of(pids[1]), 128 + SIGKILL);
	assert_int_equal(access(shm_path, F_OK), -1);
}

static void file_of_dead_processes_is_reinitialised(void **state)
{
	(void)state;
	pid_t pids[2];
	start_two(dies_on_request, dies_on_request, shm_name, shm_name, pids);
	assert_int_equal(status_of(pids[0]), 128 + SIGKILL);
	assert_int_equal(status_of(pids[1]), 128 + SIGKILL);
	assert_int_equal(access(shm_path, F_OK), 0);
	two(both_directions, both_directions, shm_name, shm_name);
	assert_int_equal(access(shm_path, F_OK), -1);
}

/* Addresses that change */

static const char *link_layer, *const *changes; /* changes: control lines */

/* Both ends connect and write: at first, and after each change of the addresses of one end. */
static int write_by_each_address(int fd, int is_changing)
{
	verbs_name_t before = {0};
	verbs_end_t e;
	char answer[100];
	setenv("MLX5SW_LINK", link_layer, 1);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; round && is_changing && changes[i]; i++)
			if (mlx5sw_control(changes[i], answer, sizeof(answer)))
				return 1;
		if (open_end(&e, fd) || (is_changing && e.name.lid == before.lid &&
					 memcmp(&e.name.gid, &before.gid, 16) == 0))
			return 2;
		before = e.name;
		if (post_many(&e) || await(0, 6400) || meet(fd))
			return 3;
		memset(memory, 0, sizeof(memory));
		verbs_close(&e);
	}
	return 0;
}

static int changes_its_addresses(int fd)
{
	return write_by_each_address(fd, 1);
}

static int keeps_its_addresses(int fd)
{
	return write_by_each_address(fd, 0);
}

static void changed_addresses_of_roce(void **state)
{
	static const char *const lines[] = {"gid change", NULL};
	(void)state;
	link_layer = "ethernet";
	changes = lines;
	two(changes_its_addresses, keeps_its_addresses, shm_name, shm_name);
	two(changes_its_addresses, keeps_its_addresses, "tcp:127.0.0.1", "tcp:127.0.0.1");
}

static void changed_addresses_of_infiniband(void **state)
{
	static const char *const lines[] = {"lid change", "gid change", NULL};
	(void)state;
	link_layer = "infiniband";
	changes = lines;
	two(changes_its_addresses, keeps_its_addresses, shm_name, shm_name);
	changes = lines + 1;
	two(changes_its_addresses, keeps_its_addresses, shm_name, shm_name);
}

/* TCP */

static void tcp(void **state)
{
	(void)state;
	char names[2][32];
	tcp_name(names[0], sizeof(names[0]), free_port());
	tcp_name(names[1], sizeof(names[1]), free_port());
	two(both_directions, both_directions, names[0], names[1]);
}

/* An address for each of the two ports; an interface has the first one only. */
static void tcp_with_two_places(void **state)
{
	char names[2][64];
	(void)state;
	for (int i = 0; i < 2; i++)
		snprintf(names[i], sizeof(names[i]), "tcp:127.0.0.1:%u,127.0.0.2", free_port());
	two(both_directions, both_directions, names[0], names[1]);
}

static void tcp_process_gone(void **state)
{
	(void)state;
	pid_t pids[2];
	/* Without a port number each process takes a free one. */
	start_two(sees_death, dies_on_request, "tcp:127.0.0.1", "tcp:127.0.0.1", pids);
	assert_int_equal(status_of(pids[0]), 0);
	assert_int_equal(status_of(pids[1]), 128 + SIGKILL);
}

static uint16_t attacked_port;

/* The adapter closes the connection; if the length is too large, at once. */
static int send_garbage(const void *bytes, size_t nbytes)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(attacked_port)};
	char byte;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) ||
	    write(fd, bytes, nbytes) != (ssize_t)nbytes)
		return 1;
	ssize_t n = recv(fd, &byte, 1, 0);
	close(fd);
	return n > 0;
}

static int attacks(int fd)
{
	uint8_t bytes[512];
	if (meet(fd))
		return 1;
	for (unsigned seed = 0; seed < 50; seed++) {
		srand(seed);
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)rand();
		uint32_t length = htonl(seed % 2 ? (uint32_t)rand() | 1u << 16 : 300);
		memcpy(bytes, &length, sizeof(length));
		if (send_garbage(bytes, sizeof(bytes)))
			return 2;
	}
	return meet(fd);
}

static int is_attacked(int fd)
{
	verbs_end_t e;
	if (verbs_open(&e, memory, sizeof(memory), N_WQEBBS) || verbs_connect(&e, &e.name))
		return 1;
	if (meet(fd) || meet(fd)) /* start and end of the attack */
		return 2;
	return post_many(&e);
}

static void tcp_garbage(void **state)
{
	(void)state;
	char name[32];
	attacked_port = free_port();
	tcp_name(name, sizeof(name), attacked_port);
	two(is_attacked, attacks, name, name);
}

/* Two network namespaces with a virtual cable between them. */

static int enter_namespace(const char *address, const char *cable)
{
	char command[128];
	snprintf(command, sizeof(command), "ip addr add %s/24 dev %s && ip link set %s up", address,
		 cable, cable);
	return system(command);
}

static int has_far_end(int fd)
{
	verbs_end_t e;
	if (unshare(CLONE_NEWNET) || meet(fd) || meet(fd) || enter_namespace("10.9.9.2", "far"))
		return 1;
	return open_end(&e, fd) || post_many(&e) || await(0, 6400) || meet(fd) || meet(fd);
}

static int pulls_the_cable(int fd)
{
	verbs_end_t e;
	uint8_t syndrome;
	if (open_end(&e, fd) || post_many(&e) || await(0, 6400) || meet(fd))
		return 1;
	if (system("ip link set near down"))
		return 2;
	verbs_write(&e, 0, 1, 1);
	usleep(100000);
	if (system("ip link set near up") || verbs_wait(&e, SECONDS, &syndrome))
		return 3; /* the queue pair continues, without an error */
	if (system("ip link set near down"))
		return 4;
	speed_up(20);
	verbs_write(&e, 0, 2, 1);
	if (verbs_wait(&e, SECONDS, &syndrome) != MLX5_CQE_REQ_ERR || syndrome != RETRY)
		return 5;
	return meet(fd);
}

static pid_t far_pid;

static int has_near_end(int fd)
{
	char command[64];
	snprintf(command, sizeof(command), "ip link set far netns %d", (int)far_pid);
	if (unshare(CLONE_NEWNET) || meet(fd) ||
	    system("ip link add near type veth peer name far") || system(command) || meet(fd) ||
	    enter_namespace("10.9.9.1", "near"))
		return 1;
	return 10 * pulls_the_cable(fd);
}

static void need_namespaces(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) || system("ip link >/dev/null 2>&1"));
	if (status_of(pid)) {
		print_message("skipped: no right to make network namespaces, or no ip\n");
		skip();
	}
}

static void cable_between_namespaces(void **state)
{
	(void)state;
	int fds[2];
	pid_t pid;
	need_namespaces();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	far_pid = start(has_far_end, "tcp:10.9.9.2", fds[0], fds[1]);
	pid = start(has_near_end, "tcp:10.9.9.1", fds[1], fds[0]);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(status_of(far_pid), 0);
}

/* Two ports with an interface each, in a namespace of this process's own. */

static int state_of(struct ibv_context *ctx)
{
	struct ibv_port_attr attr;
	return ibv_query_port(ctx, 1, &attr) ? -1 : (int)attr.state;
}

/* The next event; -1: none within so many milliseconds. */
static int next_event(struct ibv_context *ctx, int ms)
{
	struct pollfd fd = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	if (poll(&fd, 1, ms) != 1 || ibv_get_async_event(ctx, &event))
		return -1;
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

/* Take events until the latest one and the port both have this state: the Linux kernel may report a
 * cable that is made or cut in steps, with pauses in between. */
static int becomes(struct ibv_context *ctx, int state)
{
	const int wanted = state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
	const time_t end = time(NULL) + SECONDS;
	int latest = -1;
	while ((latest != wanted || state_of(ctx) != state) && time(NULL) <= end) {
		int event = next_event(ctx, 100);
		latest = event < 0 ? latest : event;
	}
	return latest == wanted && state_of(ctx) == state;
}

/* Wait for the states after the start, and drop their events. */
static int settle(struct ibv_context *ctx[2])
{
	const time_t end = time(NULL) + SECONDS;
	while (state_of(ctx[0]) != IBV_PORT_ACTIVE || state_of(ctx[1]) != IBV_PORT_DOWN)
		if (time(NULL) > end)
			return 1;
	for (int i = 0; i < 2; i++)
		while (next_event(ctx[i], 0) >= 0)
			;
	return 0;
}

/* Make two cables. The address of the second one's interface has a label. */
static int make_interfaces(void)
{
	return unshare(CLONE_NEWNET) ||
	       system("ip link set lo up"
		      " && ip link add one type veth peer name end_of_one"
		      " && ip link add two type veth peer name end_of_two"
		      " && ip link set end_of_one up"
		      " && ip link set end_of_two up"
		      " && ip addr add 10.9.9.1/24 dev two label two:1") ||
	       enter_namespace("10.9.8.1", "one");
}

/* The first port is up, the second one down. */
static int open_two(struct ibv_context *ctx[2])
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	for (int i = 0; i < 2; i++)
		if (!devices || !devices[i] || !(ctx[i] = ibv_open_device(devices[i])))
			return 1;
	ibv_free_device_list(devices);
	return settle(ctx);
}

static int follows_interfaces(int fd)
{
	struct ibv_context *ctx[2];
	(void)fd;
	if (make_interfaces())
		return 1;
	if (open_two(ctx))
		return 2;
	if (system("ip link set two up") || !becomes(ctx[1], IBV_PORT_ACTIVE))
		return 4;
	/* the other end of the cable */
	if (system("ip link set end_of_one down") || !becomes(ctx[0], IBV_PORT_DOWN))
		return 5;
	if (state_of(ctx[1]) != IBV_PORT_ACTIVE)
		return 6;
	if (system("ip link delete two") || !becomes(ctx[1], IBV_PORT_DOWN) ||
	    system("ip link set end_of_one up") || !becomes(ctx[0], IBV_PORT_ACTIVE))
		return 7;
	return 0;
}

static void ports_follow_their_interfaces(void **state)
{
	(void)state;
	need_namespaces();
	assert_int_equal(status_of(start(follows_interfaces, "tcp:10.9.8.1,10.9.9.1", -1, -1)), 0);
}

/* The adapter looks at all interfaces at once: when one port has followed its interface, the other
 * port would have followed its own. */
static int flap_two(struct ibv_context *ctx)
{
	const time_t end = time(NULL) + SECONDS;
	if (system("ip link set two down && ip link set two up"))
		return 1;
	while (!mlx5swi_interface_is_up("two"))
		if (time(NULL) > end)
			return 1;
	return system("ip link set one down") || !becomes(ctx, IBV_PORT_DOWN) ||
	       system("ip link set one up") || !becomes(ctx, IBV_PORT_ACTIVE);
}

static int control(const char *line)
{
	char answer[100];
	return mlx5sw_control(line, answer, sizeof(answer));
}

static int is_down_for_other_reasons(int fd)
{
	struct ibv_context *ctx[2];
	(void)fd;
	if (make_interfaces() || open_two(ctx))
		return 1;
	/* `port down` holds whatever the interface does, and `port up` makes no link */
	if (control("port down mlx5_1") || flap_two(ctx[0]) || state_of(ctx[1]) != IBV_PORT_DOWN)
		return 2;
	if (control("port up mlx5_1") || !becomes(ctx[1], IBV_PORT_ACTIVE))
		return 3;
	if (system("ip link set two down") || !becomes(ctx[1], IBV_PORT_DOWN) ||
	    control("port up mlx5_1") || state_of(ctx[1]) != IBV_PORT_DOWN)
		return 4;
	if (control("device fatal mlx5_1") || flap_two(ctx[0]) || mlx5swi_device(0, 1)->port.is_up)
		return 5;
	return 0;
}

static void interface_does_not_undo_other_faults(void **state)
{
	(void)state;
	need_namespaces();
	assert_int_equal(
		status_of(start(is_down_for_other_reasons, "tcp:10.9.8.1,10.9.9.1", -1, -1)), 0);
}

static int takes_no_signals(int fd)
{
	verbs_end_t e;
	sigset_t set, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (verbs_open(&e, memory, sizeof(memory), N_WQEBBS) || sigprocmask(SIG_BLOCK, &set, NULL))
		return 1;
	kill(getpid(), SIGUSR1); /* ends the process if a thread takes it */
	usleep(10000);
	(void)fd;
	return sigpending(&pending) || !sigismember(&pending, SIGUSR1);
}

static void signals_go_to_program_threads(void **state)
{
	(void)state;
	assert_int_equal(status_of(start(takes_no_signals, shm_name, -1, -1)), 0);
}

static int refuses(int fd)
{
	verbs_end_t e;
	(void)fd;
	return verbs_open(&e, memory, sizeof(memory), N_WQEBBS) ? 0 : 1;
}

static void names_are_checked(void **state)
{
	(void)state;
	const char *bad[] = {"",
			     "smoke:x",
			     "shm:a/b",
			     "tcp:",
			     "tcp:nobody",
			     "tcp:127.0.0.1:",
			     "tcp:127.0.0.1:0x",
			     "tcp:1.2.3.4:70000",
			     "tcp:127.0.0.1,",
			     "tcp:,127.0.0.1",
			     "tcp:127.0.0.1,127.0.0.2,127.0.0.3"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(status_of(start(refuses, bad[i], -1, -1)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(process_gone),
		cmocka_unit_test(file_of_dead_processes_is_reinitialised),
		cmocka_unit_test(changed_addresses_of_roce),
		cmocka_unit_test(changed_addresses_of_infiniband),
		cmocka_unit_test(tcp),
		cmocka_unit_test(tcp_with_two_places),
		cmocka_unit_test(tcp_process_gone),
		cmocka_unit_test(tcp_garbage),
		cmocka_unit_test(cable_between_namespaces),
		cmocka_unit_test(ports_follow_their_interfaces),
		cmocka_unit_test(interface_does_not_undo_other_faults),
		cmocka_unit_test(signals_go_to_program_threads),
		cmocka_unit_test(names_are_checked),
	};
	name_shm();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
