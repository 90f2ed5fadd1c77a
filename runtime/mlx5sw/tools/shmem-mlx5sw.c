/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem-mlx5sw: sends a control line to the software adapters of this user's running processes. */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "mlx5sw/inject/socket.h"

/* Limit of a connection, a request and its answer each: a process that has been stopped accepts
 * none, or does not answer. */
#define ANSWER_SECONDS 5

static int usage(FILE *f)
{
	fputs("shmem-mlx5sw [--pid PID] COMMAND...\n"
	      "Sends a line to the software mlx5 adapters of this user's processes, or of one "
	      "process:\n"
	      "  status                        ports and queue pairs, with counters\n"
	      "  port down|up mlx5_0           also: device fatal, gid|lid change, qp err,\n"
	      "                                mr lose, host kill first=qp|mr\n"
	      "  drop|hold|duplicate|delay packet [qp=N] [kind=write|ack|...] [after=N] [n=N]\n"
	      "  lose doorbell, lose|delay|hold cqe, cut write, fail|stop wqe,\n"
	      "  fail|delay command\n"
	      "  release packets|cqes, clear rules, list rules|reports\n"
	      "The README of the adapter has all of them with their keys. Returns 0 if a process "
	      "has\n"
	      "done it, 1 if none has, 2: wrong usage or no directory.\n",
	      f);
	return f == stderr ? 2 : 0;
}

/* Connect *fd to a process. Returns 0 or an errno value; EAGAIN: no connection within the limit. */
static int reach(const char *dir, const char *name, int *fd)
{
	const struct timeval limit = {ANSWER_SECONDS, 0};
	struct sockaddr_un address;
	int err = mlx5swi_socket_address(&address, dir, name);
	if (err)
		return err;
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* connect's, too */
	if (connect(*fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	err = errno;
	close(*fd);
	if (err == ECONNREFUSED) /* the process does not exist any more */
		mlx5swi_socket_remove(address.sun_path);
	return err;
}

/* Returns 0, 1: the process refused the line or did not answer in time, or -1: there is no process,
 * or it has ended the connection. */
static int ask(const char *dir, const char *name, const char *line)
{
	static char answer[MLX5SWI_MAX_ANSWER + 1];
	ssize_t n = 0;
	int fd, err = reach(dir, name, &fd);
	if (!err) {
		if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 ||
		    (n = recv(fd, answer, MLX5SWI_MAX_ANSWER, 0)) < 0)
			err = errno;
		close(fd);
	}
	if (n > 0) {
		answer[n] = 0;
		printf("process %s: %s\n%s", name, answer[0] == '0' ? "done" : "refused",
		       answer + 1);
		return answer[0] != '0';
	}
	if (err != EAGAIN)
		return -1;
	fprintf(stderr,
		"shmem-mlx5sw: process %s: no answer within %d s: if it was stopped, continue it "
		"(kill -CONT)\n",
		name, ANSWER_SECONDS);
	return 1;
}

static int send_to_all(const char *dir, const char *only, const char *line)
{
	DIR *d = opendir(dir);
	int n_asked = 0, n_done = 0;
	for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
		if (e->d_name[0] == '.' || (only && strcmp(only, e->d_name) != 0))
			continue;
		int result = ask(dir, e->d_name, line);
		n_asked += result >= 0;
		n_done += result == 0;
	}
	if (d)
		closedir(d);
	if (!n_asked)
		fprintf(stderr, "shmem-mlx5sw: %s%s has no running process with an adapter\n", dir,
			only ? " (with that number)" : "");
	return n_done == 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {0}};
	char line[MLX5SWI_MAX_LINE] = "", dir[80];
	const char *only = NULL;
	for (int c; (c = getopt_long(argc, argv, "+p:h", options, NULL)) != -1;) {
		if (c != 'p')
			return usage(c == 'h' ? stdout : stderr);
		only = optarg;
	}
	if (optind == argc)
		return usage(stderr);
	for (int i = optind; i < argc; i++) {
		size_t n = strlen(line);
		int more = snprintf(line + n, sizeof(line) - n, "%s%s", n ? " " : "", argv[i]);
		if (more < 0 || (size_t)more >= sizeof(line) - n) {
			fprintf(stderr, "shmem-mlx5sw: a line has at most %d characters\n",
				MLX5SWI_MAX_LINE - 1);
			return 2;
		}
	}
	int bad = mlx5swi_socket_dir(dir, sizeof(dir));
	if (bad) {
		fprintf(stderr, "shmem-mlx5sw: %s: %s\n", dir, strerror(bad));
		return 2;
	}
	return send_to_all(dir, only, line);
}
