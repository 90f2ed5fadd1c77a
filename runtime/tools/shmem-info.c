/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem-info: the version, the options in force, and what this machine has, one line each: "ok" or
 * what is there, or what is missing and what that means; or one of the commands in `usage`. Needs
 * no GPU. */
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <shmem_host/shmem_host.h>
#include "base/options.h"
#include "base/sockets.h"
#include "boot/boot.h"
#include "boot/uniqueid.h"
#include "cuda/dl.h"
#include "info.h"
#include "info_selftest.h"
#include "info_topo.h"
#include "info_watch.h"

void info_line(const char *what, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%-18s ", what);
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

static void line(const char *what, const char *text)
{
	info_line(what, "%s", text);
}

/* What a missing identity of this machine means. */
#define NO_IDENTITY "without SHMEMH_NODE_ID no other PE counts as being on this node"

/* The first line of a file, without its end. */
static void print_file(const char *what, const char *path)
{
	char text[256];
	FILE *f = fopen(path, "r");

	if (!f || !fgets(text, sizeof(text), f))
		snprintf(text, sizeof(text), "none (%s: %s): " NO_IDENTITY, path, strerror(errno));
	text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	line(what, text);
}

static void print_link(const char *what, const char *path)
{
	char text[256];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		snprintf(text, sizeof(text), "none (%s: %s): " NO_IDENTITY, path, strerror(errno));
	else
		text[n] = '\0';
	line(what, text);
}

/* Returns towards how many of the other GPUs this one has `attribute` (SHMEMHI_CU_P2P_*). */
static int count_peers(const shmemhi_cuda_t *cuda, int n_gpus, int gpu, int attribute)
{
	int n_peers = 0;
	int i;

	for (i = 0; i < n_gpus; i++) {
		int value = 0;

		if (i != gpu && cuda->device_get_p2p_attribute(&value, attribute, gpu, i) == 0)
			n_peers += value != 0;
	}
	return n_peers;
}

static void print_gpu(const shmemhi_cuda_t *cuda, int n_gpus, int gpu)
{
	size_t nbytes = 0;
	int has_vmm = 0;
	int has_fd = 0;
	char label[24];
	char text[200];

	cuda->device_total_mem(&nbytes, gpu);
	cuda->device_get_attribute(&has_vmm, SHMEMHI_CU_ATTR_VMM, gpu);
	cuda->device_get_attribute(&has_fd, SHMEMHI_CU_ATTR_POSIX_FD, gpu);
	snprintf(label, sizeof(label), "  GPU %d", gpu);
	snprintf(text, sizeof(text), "%zu MiB, %s, maps %d of %d others, %d with native atomics",
		 nbytes >> 20,
		 has_vmm && has_fd ? "memory can be shared" : "memory CANNOT be shared by fd",
		 count_peers(cuda, n_gpus, gpu, SHMEMHI_CU_P2P_ACCESS), n_gpus - 1,
		 count_peers(cuda, n_gpus, gpu, SHMEMHI_CU_P2P_NATIVE_ATOMIC));
	line(label, text);
}

/* Returns the number of GPUs. */
static int print_gpus(const shmemhi_cuda_t *cuda)
{
	shmemhi_err_t err = {""};
	int n_gpus = 0;
	int i;

	if (shmemhi_cuda_check(cuda, &err, "cuInit", cuda->init(0)) != SHMEMH_OK ||
	    shmemhi_cuda_check(cuda, &err, "cuDeviceGetCount", cuda->device_get_count(&n_gpus)) !=
		    SHMEMH_OK) {
		line("CUDA driver", err.text);
		return 0;
	}
	info_line("CUDA driver", "ok, GPUs: %d", n_gpus);
	for (i = 0; i < n_gpus; i++) {
		print_gpu(cuda, n_gpus, i);
		info_gpu_rdma(cuda, i);
	}
	return n_gpus;
}

/* Fills cuda. Returns the number of GPUs, or -1: no driver. */
static int print_cuda(shmemhi_cuda_t *cuda)
{
	shmemhi_err_t err = {""};
	int got = shmemhi_cuda_open(cuda, 1, &err);

	if (got == 1)
		return print_gpus(cuda);
	line("CUDA driver",
	     got == 0 ? "none (libcuda.so.1 not found): heap in host memory only" : err.text);
	return -1;
}

static void print_pmix(void)
{
	void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
	const char *started =
		shmemhi_boot_pmix_present() ? ", and this process was started by it" : "";
	char text[160];

	if (!shmemhi_boot_pmix_built())
		snprintf(text, sizeof(text),
			 "none (library built without it)%s: no start by PMIx (mpirun, srun)",
			 started);
	else if (!library)
		snprintf(text, sizeof(text),
			 "none (libpmix.so.2 not found)%s: no start by PMIx (mpirun, srun)",
			 started);
	else
		snprintf(text, sizeof(text), "ok%s", started);
	line("PMIx", text);
}

static void print_memfd(void)
{
	int fd = memfd_create("shmem-info", MFD_CLOEXEC);

	if (fd < 0) {
		info_line("memfd",
			  "none (%s): no heap in host memory, and no job with fail-over "
			  "(SHMEMH_FT)",
			  strerror(errno));
		return;
	}
	line("memfd", "ok");
	close(fd);
}

/* Print the addresses at which a hub of this machine would listen. */
static void print_hub(const shmemhi_options_t *opt)
{
	shmemhi_addr_t addrs[SHMEMHI_ID_MAX_ADDRS];
	int fds[SHMEMHI_ID_MAX_ADDRS];
	shmemhi_err_t err = {""};
	char text[512] = "ok:";
	int n = shmemhi_listen(opt->ifname, fds, addrs, &err);
	int i;

	for (i = 0; i < n; i++) {
		char addr[SHMEMHI_ADDR_TEXT_NBYTES];
		size_t used = strlen(text);

		shmemhi_addr_text(&addrs[i], addr);
		snprintf(text + used, sizeof(text) - used, " %.*s",
			 (int)(strrchr(addr, ':') - addr), addr);
		shmemhi_socket_close(fds[i]);
	}
	line("hub addresses", n > 0 ? text : err.text);
}

/* What shmem-info prints without arguments. */
static int print_all(void)
{
	shmemhi_log_t log = {SHMEMHI_WARN, -1, -1};
	shmemhi_err_t err = {""};
	shmemhi_options_t opt;
	shmemhi_cuda_t cuda;
	int n_gpus;
	int status;

	printf("shmem_host %d.%d.%d, device ABI %d.%d\n\n", SHMEMH_VERSION_MAJOR,
	       SHMEMH_VERSION_MINOR, SHMEMH_VERSION_PATCH, SHMEMD_ABI_MAJOR, SHMEMD_ABI_MINOR);
	n_gpus = print_cuda(&cuda);
	print_pmix();
	print_memfd();
	print_file("boot id", "/proc/sys/kernel/random/boot_id");
	print_link("network namespace", "/proc/self/ns/net");
	status = shmemhi_options_read(&opt, &log, &err);
	if (status != SHMEMH_OK) {
		fprintf(stderr, "shmem-info: %s\n", err.text);
		return 1;
	}
	print_hub(&opt);
	info_rdma(&opt, n_gpus < 0 ? NULL : &cuda);
	shmemhi_cuda_close(&cuda);
	printf("\n");
	shmemhi_options_print(&opt, stdout);
	return 0;
}

static const char usage[] =
	"usage: shmem-info\n"
	"  version, options in force, and what this machine has\n"
	"shmem-info --topo [MACHINE]\n"
	"  the port and the stand-by of each GPU, with distances and shared links\n"
	"shmem-info --svg FILE [MACHINE]\n"
	"  the same as a drawing\n"
	"shmem-info --text [MACHINE]\n"
	"  the machine as text\n"
	"shmem-info --capture FOLDER\n"
	"  copy what --topo reads of this system\n"
	"shmem-info --peers\n"
	"  started by a launcher: how the PEs of a job reach each other\n"
	"shmem-info --selftest [--nics LIST] [--minutes N] [--save FILE]\n"
	"  test what the library relies on, on NICs of this machine: all, or those of LIST;\n"
	"  started by a launcher as two PEs: on those of two machines\n"
	"shmem-info --watch PID [--once]\n"
	"  states and rates of the paths of a running process, every second; or once,\n"
	"  without rates\n"
	"MACHINE is a text or a captured folder; without it, this system.\n";

static int fail_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

/* The commands on a machine. command: the character of its option. */
static int show_machine(int command, const char *argument, const char *path)
{
	shmemhi_log_t log = {SHMEMHI_WARN, -1, -1};
	shmemhi_err_t err = {""};
	shmemhi_options_t opt;

	if (shmemhi_options_read(&opt, &log, &err) != SHMEMH_OK) {
		fprintf(stderr, "shmem-info: %s\n", err.text);
		return 1;
	}
	if (command == 'v')
		return info_svg(&opt, path, argument);
	return command == 't' ? info_topo(&opt, path) : info_text(&opt, path);
}

static int run_command(int argc, char **argv)
{
	static const struct option commands[] = {
		{"help", no_argument, NULL, 'h'},     {"topo", no_argument, NULL, 't'},
		{"text", no_argument, NULL, 'x'},     {"svg", required_argument, NULL, 'v'},
		{"peers", no_argument, NULL, 'p'},    {"capture", required_argument, NULL, 'c'},
		{"selftest", no_argument, NULL, 's'}, {"watch", required_argument, NULL, 'w'},
		{"once", no_argument, NULL, 'o'},     {NULL, 0, NULL, 0},
	};
	int command = getopt_long(argc, argv, "", commands, NULL);
	const char *argument = optarg;
	int n_rest;

	if (command == 'h') {
		fputs(usage, stdout);
		return 0;
	}
	if (command == 's') {
		int status = info_selftest(argc, argv);

		return status < 0 ? fail_usage() : status;
	}
	if (command == 'w') {
		int next = getopt_long(argc, argv, "", commands, NULL);
		const int is_once = next == 'o';
		int status;

		if (is_once)
			next = getopt_long(argc, argv, "", commands, NULL);
		status = next == -1 && optind == argc ? info_watch(argument, is_once) : -1;
		return status < 0 ? fail_usage() : status;
	}
	if (command == '?' || command == 'o' ||
	    (command != -1 && getopt_long(argc, argv, "", commands, NULL) != -1))
		return fail_usage();
	n_rest = argc - optind;
	if (n_rest > (command == 't' || command == 'x' || command == 'v'))
		return fail_usage();
	switch (command) {
	case 'p':
		return info_peers();
	case 'c':
		return info_capture(argument);
	case -1:
		return print_all();
	default:
		return show_machine(command, argument, n_rest ? argv[optind] : NULL);
	}
}

int main(int argc, char **argv)
{
	int status = run_command(argc, argv);

	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "shmem-info: standard output cannot be written: %s\n", strerror(errno));
	return status ? status : 1;
}
