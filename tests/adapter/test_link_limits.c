/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Links between processes with a shortage or an obstacle: memory, names, connections. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "link_roles.h"

#define NOBODY 65534
#define GATE 64 /* the byte of the file that a process locks while it joins or leaves */

static char said[4096]; /* stderr of the last body */

static int has_said(const char *text)
{
	int n = 0;
	for (const char *at = said; (at = strstr(at, text)) != NULL; at++)
		n++;
	return n;
}

static void mount_and_run(const char *options, int stderr_fd, int (*body)(void))
{
	if (options &&
	    (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("tmpfs", "/dev/shm", "tmpfs", 0, options)))
		_exit(77);
	signal(SIGBUS, SIG_DFL); /* not cmocka's handler, which would continue with the next test */
	dup2(stderr_fd, 2);
	_exit(body());
}

/* The status of body in a process whose /dev/shm is empty and has so many KiB; 0: as it is. */
static int with_shm_of(unsigned kib, int (*body)(void))
{
	FILE *f = tmpfile();
	char options[40];
	snprintf(options, sizeof(options), "size=%uk,mode=0700", kib);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		mount_and_run(kib ? options : NULL, fileno(f), body);
	int status = status_of(pid);
	rewind(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = 0;
	fclose(f);
	if (status == 77) {
		print_message("skipped: no right to mount\n");
		skip();
	}
	if (status)
		print_message("%s", said);
	return status;
}

/* If the start hangs, a signal ends the process. */
static int refuses(int fd)
{
	verbs_end_t e;
	(void)fd;
	alarm(SECONDS);
	return verbs_open(&e, memory, sizeof(memory), N_WQEBBS) ? 0 : 1;
}

static int fill_and_start(void)
{
	static char bytes[64 << 10];
	int fd = open("/dev/shm/filler", O_CREAT | O_WRONLY, 0600);
	if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		return 1;
	int status = status_of(start(refuses, shm_name, -1, -1));
	return access(shm_path, F_OK) == 0 ? 2 : status; /* the unfinished file is removed */
}

static void full_at_the_start(void **state)
{
	(void)state;
	assert_int_equal(with_shm_of(64, fill_and_start), 0);
	assert_int_equal(has_said("No space left on device"), 1);
}

/* Packets of this process find no ring and are lost. */
static int is_cut_off(int fd)
{
	verbs_end_t e;
	uint8_t syndrome = 0;
	if (open_end(&e, fd))
		return 1;
	speed_up(20);
	for (uint64_t i = 1; i <= 6400; i++) {
		verbs_write(&e, 8 * (uint32_t)(i % 64), i, i % 64 == 0);
		if (i % 64 == 0 && verbs_wait(&e, SECONDS, &syndrome))
			return meet(fd) || syndrome != RETRY;
	}
	return 2;
}

static int hears_nothing(int fd)
{
	verbs_end_t e;
	return open_end(&e, fd) || meet(fd);
}

static int send_without_room(void)
{
	pid_t pids[2];
	start_two(is_cut_off, hears_nothing, shm_name, shm_name, pids);
	return status_of(pids[0]) | status_of(pids[1]);
}

/* There is room for the directory, and for no ring. */
static void full_when_a_ring_is_needed(void **state)
{
	(void)state;
	assert_int_equal(with_shm_of(128, send_without_room), 0);
	assert_int_equal(has_said("No space left on device"), 1);
	assert_int_equal(has_said("\n"), 1);
}

/* The file exists, and this process holds its gate. */
static int hold_gate(uid_t owner)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = GATE, .l_len = 1};
	int fd = open(shm_path, O_CREAT | O_RDWR, 0666);
	return fchmod(fd, 0666) || fchown(fd, owner, (gid_t)-1) || fcntl(fd, F_OFD_SETLK, &lock);
}

static int start_at_a_file_of_nobody(void)
{
	return hold_gate(NOBODY) ? 1 : status_of(start(refuses, shm_name, -1, -1));
}

static void file_of_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can make another user's file\n");
		skip();
	}
	assert_int_equal(with_shm_of(1024, start_at_a_file_of_nobody), 0);
	assert_int_equal(has_said("belongs to another user"), 1);
	assert_int_equal(has_said(shm_path), 1);
}

static int start_at_a_locked_file(void)
{
	return hold_gate(geteuid()) ? 1 : status_of(start(refuses, shm_name, -1, -1));
}

static void file_that_stays_locked(void **state)
{
	(void)state;
	assert_int_equal(with_shm_of(1024, start_at_a_locked_file), 0);
	assert_int_equal(has_said("locked for 10 s"), 1);
	assert_int_equal(has_said(shm_path), 1);
}

/* A file beyond ulimit -f is refused; SIGXFSZ would end the process. */
static int start_with_small_files(void)
{
	const struct rlimit low = {1u << 20, 1u << 20};
	return setrlimit(RLIMIT_FSIZE, &low) ? 1 : status_of(start(refuses, shm_name, -1, -1));
}

/* The file has its size already when a process with the limit joins. */
static int joins_with_small_files(int fd)
{
	const struct rlimit low = {1u << 20, 1u << 20};
	return meet(fd) || setrlimit(RLIMIT_FSIZE, &low) ? 10 : both_directions(fd);
}

static int makes_the_file(int fd)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	if (!devices)
		return 10;
	ibv_free_device_list(devices);
	return meet(fd) ? 10 : both_directions(fd);
}

static void limit_of_files(void **state)
{
	(void)state;
	assert_int_equal(with_shm_of(0, start_with_small_files), 0);
	assert_int_equal(has_said("raise ulimit -f"), 1);
	assert_int_equal(access(shm_path, F_OK), -1);
	two(makes_the_file, joins_with_small_files, shm_name, shm_name);
}

/* Connections by TCP */

enum { N_STRANGERS = 300, MAX_CONNECTIONS = 256 };

static uint16_t attacked_port;

static int connect_silently(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(attacked_port)};
	struct timeval limit = {SECONDS, 0};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return fd;
	close(fd);
	return -1;
}

static int serves_in_a_crowd(int fd)
{
	verbs_end_t e;
	if (open_end(&e, fd) || meet(fd)) /* the other connections are open */
		return 1;
	return post_many(&e) || await(0, 6400) || meet(fd);
}

static int connects_in_a_crowd(int fd)
{
	int fds[N_STRANGERS], n_open = 0;
	verbs_end_t e;
	char byte;
	if (open_end(&e, fd))
		return 1;
	for (int i = 0; i < N_STRANGERS; i++)
		if ((fds[i] = connect_silently()) < 0)
			return 2;
	if (meet(fd) || post_many(&e) || await(0, 6400))
		return 3;
	for (int i = 0; i < N_STRANGERS; i++)
		n_open += recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
	return meet(fd) ? 4 : n_open >= MAX_CONNECTIONS ? 5 : n_open == 0 ? 6 : 0;
}

static void tcp_connections_have_a_limit(void **state)
{
	char name[32];
	(void)state;
	attacked_port = free_port();
	tcp_name(name, sizeof(name), attacked_port);
	two(serves_in_a_crowd, connects_in_a_crowd, name, "tcp:127.0.0.1");
}

/* Minutes pass between two packets of a connection. With MLX5SW_SLOW, retries take their usual
 * time. */
static int write_and_pause(int fd)
{
	verbs_end_t e;
	uint8_t syndrome;
	if (open_end(&e, fd))
		return 1;
	speed_up(1000);
	for (uint64_t i = 1; i <= 3; i++) {
		verbs_write(&e, 0, i, 1);
		if (verbs_wait(&e, SECONDS, &syndrome) || await(0, i) || meet(fd))
			return 2;
		usleep(200000);
	}
	return 0;
}

static int is_often_silent(int fd)
{
	return write_and_pause(fd) || meet(fd);
}

/* The same beside a connection on which no data arrives. */
static int is_often_silent_too(int fd)
{
	int stranger = -1;
	char byte;
	for (time_t end = time(NULL) + SECONDS; stranger < 0 && time(NULL) < end; usleep(1000))
		stranger = connect_silently();
	return write_and_pause(fd) || recv(stranger, &byte, 1, 0) != 0 || meet(fd);
}

/* Idle connections are closed; the next packet opens a new one. */
static void idle_tcp_connections_are_closed(void **state)
{
	char name[32];
	(void)state;
	attacked_port = free_port();
	tcp_name(name, sizeof(name), attacked_port);
	setenv("MLX5SW_SLOW", "1000000", 1);
	two(is_often_silent, is_often_silent_too, name, "tcp:127.0.0.1");
	unsetenv("MLX5SW_SLOW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_at_the_start),
		cmocka_unit_test(full_when_a_ring_is_needed),
		cmocka_unit_test(file_of_another_user),
		cmocka_unit_test(file_that_stays_locked),
		cmocka_unit_test(limit_of_files),
		cmocka_unit_test(tcp_connections_have_a_limit),
		cmocka_unit_test(idle_tcp_connections_are_closed),
	};
	name_shm();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
