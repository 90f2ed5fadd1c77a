/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The control socket and its tool, used from another process. ADAPTER_TOOL is the path of the tool.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "fixture_fault.h"
#include "mlx5sw/inject/socket.h"

#define NOBODY 65534
#define MAX_PROGRAMS 4
#define SECONDS 30

static char dir[] = "/tmp/adapter_controlXXXXXX", fabric[40], output[MLX5SWI_MAX_ANSWER];

/* A program with an adapter: prints a word when it is ready, then executes the lines that it
 * receives and prints their answers. */
typedef struct program {
	pid_t pid;
	FILE *in, *out;
} program_t;

static program_t programs[MAX_PROGRAMS];
static unsigned n_programs;

/* Counts the adapter's threads that do not block the program's signals. */
static int n_threads_with_signals(void)
{
	char path[300], line[200];
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");
	int n = 0;
	while (d && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		FILE *f = fopen(path, "r");
		unsigned long long mask;
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "SigBlk: %llx", &mask) == 1)
				n += !(mask >> (SIGALRM - 1) & 1);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

/* A child process that exits normally, and before may stop the adapter that it has inherited. If
 * that hangs, a signal ends the child. Returns its status. */
static int fork_and_wait(int stops)
{
	int status;
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		if (stops)
			mlx5sw_stop();
		exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void obey(struct ibv_context *ctx, const char *line)
{
	char answer[MLX5SWI_MAX_ANSWER];
	struct ibv_async_event e;
	if (strcmp(line, "event\n") == 0) { /* wait for an event */
		printf("%d\n", ibv_get_async_event(ctx, &e) ? -1 : (int)e.event_type);
	} else if (strcmp(line, "signals\n") == 0) {
		printf("%d\n", n_threads_with_signals());
	} else if (strcmp(line, "fork\n") == 0) {
		puts(fork_and_wait(0) ? "failed" : "forked");
	} else if (strcmp(line, "fork and stop\n") == 0) {
		puts(fork_and_wait(1) ? "failed" : "forked");
	} else if (strcmp(line, "stop\n") == 0) {
		mlx5sw_stop();
		puts("stopped");
	} else {
		int bad = mlx5sw_control(line, answer, sizeof(answer));
		printf("%d %s\n", bad, answer);
	}
}

static int be_program(void)
{
	char line[100];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	puts(ctx ? "ready" : "failed");
	fflush(stdout);
	while (ctx && fgets(line, sizeof(line), stdin)) {
		obey(ctx, line);
		fflush(stdout);
	}
	return !ctx;
}

static void be_child(const int to[2], const int from[2])
{
	dup2(to[0], 0);
	dup2(from[1], 1);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	/* LeakSanitizer, which runs at exit, stops all threads of the process first. In a child
	 * that a process with threads has forked it hung in about one of 30 exits. */
	setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
	execl("/proc/self/exe", "program", (char *)NULL);
	_exit(127);
}

static program_t *start(void)
{
	int to[2], from[2];
	program_t *p = &programs[n_programs];
	assert_true(n_programs < MAX_PROGRAMS);
	assert_int_equal(pipe(to) | pipe(from), 0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0)
		be_child(to, from);
	n_programs++;
	close(to[0]);
	close(from[1]);
	p->in = fdopen(to[1], "w");
	p->out = fdopen(from[0], "r");
	return p;
}

static void send_line(const program_t *p, const char *line)
{
	fprintf(p->in, "%s\n", line);
	fflush(p->in);
}

static void expect_answer(const program_t *p, const char *want)
{
	char line[200];
	assert_non_null(fgets(line, sizeof(line), p->out));
	line[strcspn(line, "\n")] = 0;
	assert_string_equal(line, want);
}

static program_t *ready(void)
{
	program_t *p = start();
	expect_answer(p, "ready");
	return p;
}

static void end(program_t *p, int sig)
{
	if (sig)
		kill(p->pid, sig);
	fclose(p->in);
	fclose(p->out);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
}

/* Returns the tool's status; its text is in output. NULL ends the arguments. */
static int tool(const char *first, ...)
{
	char *words[10] = {getenv("ADAPTER_TOOL"), (char *)(uintptr_t)first};
	va_list args;
	int from[2], status;
	va_start(args, first);
	for (int i = 2; i < 9 && words[i - 1]; i++)
		words[i] = va_arg(args, char *);
	va_end(args);
	assert_int_equal(pipe(from), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(from[1], 1);
		dup2(from[1], 2);
		execv(words[0], words);
		_exit(127);
	}
	close(from[1]);
	FILE *f = fdopen(from[0], "r");
	output[fread(output, 1, sizeof(output) - 1, f)] = 0;
	fclose(f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *number(const program_t *p)
{
	static char text[24];
	snprintf(text, sizeof(text), "%ld", (long)p->pid);
	return text;
}

static const char *path_of(const char *name)
{
	static char path[100];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(fabric, sizeof(fabric), "shm:%s", strrchr(dir, '/') + 1);
	return setenv("MLX5SW_DIR", dir, 1) | setenv("MLX5SW_FABRIC", fabric, 1);
}

static int teardown(void **state)
{
	char line[150];
	(void)state;
	while (n_programs)
		if (programs[--n_programs].pid)
			end(&programs[n_programs], SIGKILL);
	unsetenv("MLX5SW_SCRIPT");
	snprintf(line, sizeof(line), "rm -rf %s /dev/shm/mlx5sw.%u.%s*", dir, (unsigned)geteuid(),
		 fabric + strlen("shm:"));
	return system(line);
}

static void tool_sends_lines_and_prints_answers(void **state)
{
	char want[200];
	(void)state;
	const program_t *p = ready();
	send_line(p, "event");
	assert_int_equal(tool("port", "down", "mlx5_0", NULL), 0);
	snprintf(want, sizeof(want), "process %ld: done\n1 hit\n", (long)p->pid);
	assert_string_equal(output, want);
	expect_answer(p, "10"); /* IBV_EVENT_PORT_ERR */
	assert_int_equal(tool("status mlx5_0", NULL), 0);
	assert_non_null(strstr(output, " mlx5_0: port down\n"));
	assert_null(strstr(output, "mlx5_1"));
	assert_int_equal(tool("port", "sideways", NULL), 1);
	snprintf(want, sizeof(want), "process %ld: refused\n'port sideways' is not a command\n",
		 (long)p->pid);
	assert_string_equal(output, want);
}

/* The tool succeeds if one process has executed the line. */
static void tool_reaches_each_process(void **state)
{
	(void)state;
	const program_t *p = ready(), *q = ready();
	assert_int_equal(tool("drop packet", NULL), 0);
	send_line(p, "list rules");
	expect_answer(p, "0 drop packet: hit 0, goes on");
	expect_answer(p, "");
	assert_int_equal(tool("--pid", number(q), "clear", "rules", NULL), 0);
	send_line(q, "list rules");
	expect_answer(q, "0 ");
	send_line(p, "list rules");
	expect_answer(p, "0 drop packet: hit 0, goes on");
	expect_answer(p, "");
	assert_int_equal(tool("port", "down", "host=0", NULL), 0); /* executed by p; refused by q */
	assert_non_null(strstr(output, ": done\n2 hit\n"));
	assert_non_null(strstr(output, "'port down': no object matches\n"));
}

static void tool_reports_wrong_usage(void **state)
{
	char line[600];
	(void)state;
	assert_int_equal(tool(NULL, NULL), 2);
	assert_int_equal(tool("--nonsense", NULL), 2);
	assert_int_equal(tool("--help", NULL), 0);
	assert_int_equal(strncmp(output, "shmem-mlx5sw [--pid PID] COMMAND...\n", 36), 0);
	memset(line, 'x', sizeof(line));
	line[512] = 0;
	assert_int_equal(tool(line, NULL), 2);
	assert_string_equal(output, "shmem-mlx5sw: a line has at most 511 characters\n");
	assert_int_equal(tool("status", NULL), 1);
	snprintf(line, sizeof(line), "shmem-mlx5sw: %s has no running process with an adapter\n",
		 dir);
	assert_string_equal(output, line);
}

/* A killed process leaves its socket, which is removed. Other files stay. */
static void sockets_of_dead_processes_are_removed(void **state)
{
	(void)state;
	program_t *p = ready();
	char name[24];
	strcpy(name, number(p));
	end(p, SIGKILL);
	assert_int_equal(access(path_of(name), F_OK), 0);
	close(open(path_of("12345"), O_CREAT | O_WRONLY, 0600));
	assert_int_equal(tool("status", NULL), 1);
	assert_int_equal(access(path_of(name), F_OK), -1);
	assert_int_equal(access(path_of("12345"), F_OK), 0);
}

static void socket_goes_with_the_adapter(void **state)
{
	(void)state;
	const program_t *p = ready();
	assert_int_equal(access(path_of(number(p)), F_OK), 0);
	send_line(p, "stop");
	expect_answer(p, "stopped");
	assert_int_equal(access(path_of(number(p)), F_OK), -1);
}

/* A program need not stop the adapter before it ends. Its children do not remove the socket. */
static void socket_goes_with_the_process(void **state)
{
	(void)state;
	program_t *p = ready();
	char name[24];
	strcpy(name, number(p));
	send_line(p, "fork");
	expect_answer(p, "forked");
	assert_int_equal(access(path_of(name), F_OK), 0);
	end(p, 0);
	assert_int_equal(access(path_of(name), F_OK), -1);
}

/* The tool goes on to the other processes, and says so. Then clients fill the queue of the socket,
 * so that the tool cannot even connect. */
static void stopped_process_does_not_answer(void **state)
{
	enum { N_CLIENTS = 12 };
	struct sockaddr_un address;
	char want[200];
	int fds[N_CLIENTS];
	(void)state;
	const program_t *p = ready(), *q = ready();
	kill(p->pid, SIGSTOP);
	assert_int_equal(tool("clear", "rules", NULL), 0);
	snprintf(want, sizeof(want), "process %ld: done\n", (long)q->pid);
	assert_non_null(strstr(output, want));
	snprintf(want, sizeof(want), "process %ld: no answer within ", (long)p->pid);
	assert_non_null(strstr(output, want));
	mlx5swi_socket_address(&address, dir, number(p));
	for (int i = 0; i < N_CLIENTS; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
		(void)connect(fds[i], (struct sockaddr *)&address, sizeof(address));
	}
	assert_int_equal(tool("--pid", number(p), "status", NULL), 1);
	assert_non_null(strstr(output, want));
	assert_null(strstr(output, "no running process"));
	for (int i = 0; i < N_CLIENTS; i++)
		close(fds[i]);
	kill(p->pid, SIGCONT);
	assert_int_equal(tool("--pid", number(p), "status", NULL), 0);
}

static int listen_as(const char *name)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	mlx5swi_socket_address(&address, dir, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* A child that stops the adapter stops nothing of its parent. */
static void child_stops_its_own(void **state)
{
	(void)state;
	const program_t *p = ready();
	send_line(p, "fork and stop");
	expect_answer(p, "forked");
	assert_int_equal(access(path_of(number(p)), F_OK), 0);
	assert_int_equal(tool("status", NULL), 0);
	send_line(p, "stop");
	expect_answer(p, "stopped");
	assert_int_equal(access(path_of(number(p)), F_OK), -1);
}

/* A process that ends the connection without an answer keeps its socket, whether the tool has tried
 * sockets of dead processes before it or not. */
static void socket_of_a_silent_process_stays(void **state)
{
	char name[24];
	int fd = -1;
	(void)state;
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "%d", 100 + i);
		const int one = listen_as(name);
		if (i == 4)
			fd = one;
		else
			close(one);
	}
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		const int client = accept(fd, NULL, NULL);
		_exit(recv(client, name, sizeof(name), 0) < 0);
	}
	assert_int_equal(tool("status", NULL), 1);
	assert_int_equal(access(path_of("104"), F_OK), 0);
	assert_int_equal(access(path_of("103"), F_OK), -1);
	assert_int_equal(access(path_of("105"), F_OK), -1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
}

/* Run in a child process, whose number is known before it starts. */
static int with_a_file_in_the_way(int is_socket)
{
	struct sockaddr_un address;
	char name[24];
	snprintf(name, sizeof(name), "%ld", (long)getpid());
	mlx5swi_socket_address(&address, dir, name);
	int fd = is_socket ? socket(AF_UNIX, SOCK_SEQPACKET, 0)
			   : open(address.sun_path, O_CREAT | O_WRONLY, 0600);
	if (is_socket && bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return 1;
	close(fd);
	struct stat s;
	if (!ibv_get_device_list(NULL) || stat(address.sun_path, &s))
		return 2;
	return tool("--pid", name, "status", NULL) != !is_socket ? 3
	       : S_ISSOCK(s.st_mode) != is_socket                ? 4
								 : 0;
}

static void file_at_the_socket_path(void **state)
{
	(void)state;
	for (int is_socket = 0; is_socket < 2; is_socket++) {
		int status;
		fflush(stdout);
		const pid_t pid = fork();
		if (pid == 0)
			_exit(with_a_file_in_the_way(is_socket));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* Connect as another user: 0: connection refused; 1: connected, no answer; 2: an answer. */
static int be_stranger(const struct sockaddr_un *address)
{
	char answer[100];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (setgid(NOBODY) || setuid(NOBODY))
		return 3;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		return errno == EACCES ? 0 : 4;
	(void)send(fd, "port down", 9, MSG_NOSIGNAL);
	return recv(fd, answer, sizeof(answer), 0) > 0 ? 2 : 1;
}

static int stranger(const program_t *p)
{
	struct sockaddr_un address;
	int status;
	mlx5swi_socket_address(&address, dir, number(p));
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(be_stranger(&address));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The directory refuses other users; if it is accessible, the process refuses them. */
static void other_users_are_refused(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can become another user\n");
		skip();
	}
	const program_t *p = ready();
	assert_int_equal(stranger(p), 0);
	assert_int_equal(chmod(dir, 0755) | chmod(path_of(number(p)), 0777), 0);
	assert_int_equal(stranger(p), 1);
	send_line(p, "status mlx5_0");
	expect_answer(p, "0 host 0 mlx5_0: port up");
}

/* Other users could put sockets there, so neither side uses it. */
static void directory_open_to_others_is_refused(void **state)
{
	(void)state;
	assert_int_equal(chmod(dir, 0777), 0);
	const program_t *p = ready();
	assert_int_equal(access(path_of(number(p)), F_OK), -1);
	assert_int_equal(tool("status", NULL), 2);
	assert_non_null(strstr(output, "Operation not permitted\n"));
}

static void directory_is_created(void **state)
{
	struct stat s;
	(void)state;
	assert_int_equal(rmdir(dir), 0);
	const program_t *p = ready();
	assert_int_equal(stat(dir, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
	assert_int_equal(tool("--pid", number(p), "status", NULL), 0);
}

/* Clients that send nothing, that disconnect, that send too much. */
static void broken_clients_do_not_disturb(void **state)
{
	struct sockaddr_un address;
	char line[2000];
	(void)state;
	const program_t *p = ready();
	mlx5swi_socket_address(&address, dir, number(p));
	memset(line, 'x', sizeof(line));
	for (size_t i = 0; i < 3; i++) {
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		if (i)
			assert_int_equal(send(fd, line, sizeof(line), MSG_NOSIGNAL), sizeof(line));
		if (i != 1)
			assert_int_equal(tool("status", NULL), 0);
		close(fd);
	}
	assert_int_equal(tool("status", NULL), 0);
}

static void signals_go_to_program_threads(void **state)
{
	(void)state;
	const program_t *p = ready();
	send_line(p, "signals");
	expect_answer(p, "1");
}

static void write_script(const char *text)
{
	FILE *f = fopen(path_of("script"), "w");
	fputs(text, f);
	fclose(f);
	setenv("MLX5SW_SCRIPT", path_of("script"), 1);
}

static void script_of_a_process(void **state)
{
	(void)state;
	write_script("port down mlx5_1\n@1 port down mlx5_0\n");
	const program_t *p = ready();
	int n_tries = 0;
	do {
		assert_int_equal(tool("status", NULL), 0);
		assert_true(n_tries++ < 1000);
	} while (!strstr(output, "mlx5_0: port down") || !strstr(output, "mlx5_1: port down"));
	send_line(p, "stop");
	expect_answer(p, "stopped");
}

/* An adapter whose script is wrong does not start. */
static void wrong_script_of_a_process(void **state)
{
	(void)state;
	write_script("port up\n@1 port sideways\n");
	expect_answer(start(), "failed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(tool_sends_lines_and_prints_answers),
		TEST(tool_reaches_each_process),
		TEST(tool_reports_wrong_usage),
		TEST(sockets_of_dead_processes_are_removed),
		TEST(socket_of_a_silent_process_stays),
		TEST(stopped_process_does_not_answer),
		TEST(socket_goes_with_the_adapter),
		TEST(socket_goes_with_the_process),
		TEST(child_stops_its_own),
		TEST(file_at_the_socket_path),
		TEST(other_users_are_refused),
		TEST(directory_open_to_others_is_refused),
		TEST(directory_is_created),
		TEST(broken_clients_do_not_disturb),
		TEST(signals_go_to_program_threads),
		TEST(script_of_a_process),
		TEST(wrong_script_of_a_process),
	};
	if (argc == 1 && strcmp(argv[0], "program") == 0)
		return be_program();
	if (!getenv("ADAPTER_TOOL")) {
		puts("skipped: no ADAPTER_TOOL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
