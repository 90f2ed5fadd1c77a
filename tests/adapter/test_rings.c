/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Links between processes, by their internals. Rings in shared memory have both ends in one process
 * here: locks belong to open files. */
#include "fixture.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mlx5sw/engine/step.h"

#define DIRECTORY_NBYTES 16384
#define RING_NBYTES (256 << 10)
#define GATE 64

static adapter_end_t a, b;
static mlx5swi_place_t place, peer; /* of sender and receiver */
static struct mlx5swi_shm *sender, *receiver;
static char name[64], path[128];

static struct mlx5swi_shm *open_shm(mlx5swi_place_t *p)
{
	assert_int_equal(mlx5swi_shm_open(name), 0);
	*p = mlx5swi_w->places[0];
	return mlx5swi_w->engine->shm;
}

static void close_shm(struct mlx5swi_shm *s)
{
	mlx5swi_w->engine->shm = s;
	mlx5swi_shm_close();
}

static void begin(void)
{
	adapter_start(NULL);
	adapter_pair(&a, &b);
	sender = open_shm(&place);
	receiver = open_shm(&peer);
}

static void end(void)
{
	close_shm(sender);
	close_shm(receiver);
	adapter_stop();
	assert_int_equal(access(path, F_OK), -1);
}

static void send_one(uint32_t nbytes)
{
	mlx5swi_packet_t *p = mlx5swi_packet_new(a.qp, MLX5SWI_WRITE, nbytes);
	assert_non_null(p);
	p->dgid[14] = (uint8_t)((peer.host + 1) >> 8);
	p->dgid[15] = (uint8_t)(peer.host + 1);
	mlx5swi_w->engine->shm = sender;
	mlx5swi_shm_send(p);
}

static unsigned poll_as(struct mlx5swi_shm *s)
{
	mlx5swi_w->engine->shm = s;
	return mlx5swi_shm_poll();
}

/* Receive everything that has arrived or waits for room. */
static unsigned receive_all(void)
{
	unsigned n, sum = 0;
	do {
		poll_as(sender);
		n = poll_as(receiver);
		sum += n;
	} while (n);
	return sum;
}

static void each_size_arrives(void **state)
{
	(void)state;
	begin();
	for (uint32_t nbytes = 0; nbytes <= 4096; nbytes += 37)
		send_one(nbytes); /* once around the ring, and more */
	assert_int_equal(receive_all(), 4096 / 37 + 1);
	for (uint32_t i = 0; i < 1000; i++) {
		send_one(i * 7 % 4097);
		assert_int_equal(receive_all(), 1);
	}
	end();
}

static void packets_waiting_for_room_are_bounded(void **state)
{
	(void)state;
	begin();
	for (uint32_t i = 0; i < 2000; i++)
		send_one(8); /* more packets than a ring has room for */
	assert_int_equal(receive_all(), 2000);
	for (uint32_t i = 0; i < 10000; i++)
		send_one(8);
	assert_in_range(receive_all(), 4096, 6000);
	end();
}

static void broken_record_is_skipped(void **state)
{
	const uint32_t record[2] = {1000, 0}; /* longer than what was put */
	const uint64_t tail = 16;
	(void)state;
	begin();
	int fd = open(path, O_RDWR);
	off_t ring = DIRECTORY_NBYTES + (off_t)(peer.host * 64 + place.host) * RING_NBYTES;
	send_one(8); /* makes the sender map the ring */
	assert_int_equal(receive_all(), 1);
	uint8_t *p = mmap(NULL, RING_NBYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ring);
	assert_ptr_not_equal(p, MAP_FAILED);
	uint64_t *head = (uint64_t *)p, *end_of_ring = (uint64_t *)(p + 64);
	memcpy(p + 64 + 8 + *head, record, sizeof(record));
	*end_of_ring += tail;
	assert_int_equal(receive_all(), 0);
	send_one(8);
	assert_int_equal(receive_all(), 1);
	munmap(p, RING_NBYTES);
	close(fd);
	end();
}

/* A host number is reused after 64 others; packets to its last owner are not delivered to the next.
 */
static void packets_to_the_last_owner_are_discarded(void **state)
{
	mlx5swi_place_t next;
	(void)state;
	begin();
	send_one(8);
	assert_int_equal(poll_as(receiver), 1);
	send_one(8);
	close_shm(receiver);
	for (receiver = open_shm(&next); next.host != peer.host; receiver = open_shm(&next))
		close_shm(receiver);
	assert_int_equal(poll_as(receiver), 0);
	end();
}

static void file_of_another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can give files away\n");
		skip();
	}
	adapter_start(NULL);
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	assert_int_equal(fchown(fd, 65534, 65534), 0);
	assert_int_equal(mlx5swi_shm_open(name), EACCES);
	close(fd);
	unlink(path);
	adapter_stop();
}

/* Returns whether a process is a host in the file that has this name now. */
static int has_hosts(void)
{
	struct flock hosts = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = GATE};
	int fd = open(path, O_RDWR);
	int is_locked = !fcntl(fd, F_OFD_GETLK, &hosts) && hosts.l_type != F_UNLCK;
	close(fd);
	return is_locked;
}

/* A process that waits for the gate of a file that is then removed uses the new file. */
static void file_removed_while_a_process_waits(void **state)
{
	struct flock gate = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = GATE, .l_len = 1};
	(void)state;
	adapter_start(NULL);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &gate), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fd);
		_exit(mlx5swi_shm_open(name) || !has_hosts());
	}
	usleep(50000); /* if the process comes later, it does not have to wait */
	unlink(path);
	close(open(path, O_RDWR | O_CREAT, 0600)); /* by another process that came meanwhile */
	close(fd);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unlink(path);
	adapter_stop();
}

/* A peer that does not accept connections. */
static void packets_waiting_for_tcp_are_bounded(void **state)
{
	(void)state;
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t nbytes = sizeof(address);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, nbytes), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &nbytes), 0);
	assert_int_equal(listen(fd, 1), 0);
	adapter_start(NULL);
	adapter_pair(&a, &b);
	assert_int_equal(mlx5swi_tcp_open("127.0.0.2"), 0);
	for (uint32_t i = 0; i < 4000; i++) {
		mlx5swi_packet_t *p = mlx5swi_packet_new(a.qp, MLX5SWI_WRITE, 4096);
		memset(p->dgid, 0, sizeof(p->dgid));
		p->dgid[0] = 0xfd;
		memcpy(p->dgid + 10, &address.sin_port, 2);
		memcpy(p->dgid + 12, &address.sin_addr, 4);
		mlx5swi_tcp_send(&mlx5swi_w->devices[0].port, p);
	}
	assert_int_equal(mlx5swi_tcp_poll(), 1);
	mlx5swi_tcp_close();
	close(fd);
	adapter_stop();
}

static void wire_is_checked(void **state)
{
	(void)state;
	adapter_start(NULL);
	adapter_pair(&a, &b);
	mlx5swi_packet_t *p = mlx5swi_packet_new(a.qp, MLX5SWI_WRITE, 8);
	size_t nbytes = mlx5swi_packet_wire_nbytes(p);
	mlx5swi_packet_t *copy = mlx5swi_packet_from_wire(&p->kind, nbytes);
	assert_non_null(copy);
	mlx5swi_packet_free(copy);
	assert_null(mlx5swi_packet_from_wire(&p->kind, nbytes - 1));
	assert_null(mlx5swi_packet_from_wire(&p->kind, 3));
	p->nbytes = 4096; /* more than the packet has */
	assert_null(mlx5swi_packet_from_wire(&p->kind, nbytes));
	p->nbytes = 8;
	p->kind = MLX5SWI_ACK + 1;
	assert_null(mlx5swi_packet_from_wire(&p->kind, nbytes));
	mlx5swi_packet_free(p);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_size_arrives),
		cmocka_unit_test(packets_waiting_for_room_are_bounded),
		cmocka_unit_test(broken_record_is_skipped),
		cmocka_unit_test(packets_to_the_last_owner_are_discarded),
		cmocka_unit_test(file_of_another_user_is_refused),
		cmocka_unit_test(file_removed_while_a_process_waits),
		cmocka_unit_test(packets_waiting_for_tcp_are_bounded),
		cmocka_unit_test(wire_is_checked),
	};
	snprintf(name, sizeof(name), "rings-%u", (unsigned)getpid());
	snprintf(path, sizeof(path), "/dev/shm/mlx5sw.%u.%s", (unsigned)geteuid(), name);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
