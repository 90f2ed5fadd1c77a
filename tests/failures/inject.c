/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "job/job.h"
#ifdef FAILURES_NIC
#include "ib/lib.h"
#endif

/* X(result, name, parameters, arguments, errno, value that means failure) */
#define SYSTEM_CALLS(X)                                                                            \
	X(int, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE, -1)        \
	X(int, ftruncate, (int fd, off_t nbytes), (fd, nbytes), ENOSPC, -1)                        \
	X(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),           \
	  (at, n, prot, flags, fd, offset), ENOMEM, MAP_FAILED)                                    \
	X(int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, -1) \
	X(int, bind, (int fd, const struct sockaddr *at, socklen_t n), (fd, at, n), EACCES, -1)    \
	X(int, listen, (int fd, int n), (fd, n), EADDRINUSE, -1)                                   \
	X(int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n),             \
	  ECONNREFUSED, -1)                                                                        \
	X(int, accept4, (int fd, struct sockaddr *from, socklen_t *n, int flags),                  \
	  (fd, from, n, flags), EMFILE, -1)                                                        \
	X(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags),          \
	  ECONNRESET, -1)                                                                          \
	X(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), EPIPE,    \
	  -1)                                                                                      \
	X(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), ECONNRESET, -1) \
	X(int, eventfd, (unsigned count, int flags), (count, flags), EMFILE, -1)                   \
	X(char *, mkdtemp, (char *dir), (dir), ENOSPC, NULL)                                       \
	X(int, pthread_create,                                                                     \
	  (pthread_t * thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg),      \
	  (thread, attr, body, arg), EAGAIN, EAGAIN)

#define MEMORY_CALLS(X)                                                                            \
	X(malloc, (size_t n), (n))                                                                 \
	X(calloc, (size_t n, size_t nbytes), (n, nbytes))                                          \
	X(realloc, (void *p, size_t n), (p, n))                                                    \
	X(aligned_alloc, (size_t alignment, size_t n), (alignment, n))

#ifdef FAILURES_NIC
/* X(member of shmemhi_ib_lib_t, symbol, result, parameters, arguments, errno, failure) */
#define NIC_CALLS(X)                                                                               \
	X(alloc_pd, "ibv_alloc_pd", struct ibv_pd *, (struct ibv_context * context), (context),    \
	  ENOMEM, NULL)                                                                            \
	X(reg_mr, "ibv_reg_mr", struct ibv_mr *,                                                   \
	  (struct ibv_pd * pd, void *p, size_t n, int access), (pd, p, n, access), ENOMEM, NULL)   \
	X(reg_mr_iova2, "ibv_reg_mr_iova2", struct ibv_mr *,                                       \
	  (struct ibv_pd * pd, void *p, size_t n, uint64_t iova, unsigned access),                 \
	  (pd, p, n, iova, access), ENOMEM, NULL)                                                  \
	X(open_device, "mlx5dv_open_device", struct ibv_context *,                                 \
	  (struct ibv_device * device, struct mlx5dv_context_attr * attr), (device, attr), EPERM,  \
	  NULL)                                                                                    \
	X(alloc_uar, "mlx5dv_devx_alloc_uar", struct mlx5dv_devx_uar *,                            \
	  (struct ibv_context * context, uint32_t flags), (context, flags), ENOMEM, NULL)          \
	X(umem_reg, "mlx5dv_devx_umem_reg", struct mlx5dv_devx_umem *,                             \
	  (struct ibv_context * context, void *p, size_t n, uint32_t access),                      \
	  (context, p, n, access), ENOMEM, NULL)                                                   \
	X(obj_create, "mlx5dv_devx_obj_create", struct mlx5dv_devx_obj *,                          \
	  (struct ibv_context * context, const void *in, size_t n_in, void *out, size_t n_out),    \
	  (context, in, n_in, out, n_out), EREMOTEIO, NULL)                                        \
	X(obj_modify, "mlx5dv_devx_obj_modify", int,                                               \
	  (struct mlx5dv_devx_obj * obj, const void *in, size_t n_in, void *out, size_t n_out),    \
	  (obj, in, n_in, out, n_out), EREMOTEIO, EREMOTEIO)                                       \
	X(create_event_channel, "mlx5dv_devx_create_event_channel",                                \
	  struct mlx5dv_devx_event_channel *,                                                      \
	  (struct ibv_context * context, enum mlx5dv_devx_create_event_channel_flags flags),       \
	  (context, flags), ENOMEM, NULL)
#else
#define NIC_CALLS(X)
#endif

enum call {
#define X_(name, ...) CALL_##name,
	MEMORY_CALLS(X_)
#undef X_
#define X_(result, name, ...) CALL_##name,
		SYSTEM_CALLS(X_)
#undef X_
#define X_(name, ...) CALL_nic_##name,
			NIC_CALLS(X_)
#undef X_
};

static const char *const names[] = {
#define X_(name, ...) #name,
	MEMORY_CALLS(X_)
#undef X_
#define X_(result, name, ...) #name,
		SYSTEM_CALLS(X_)
#undef X_
#define X_(name, symbol, ...) symbol,
			NIC_CALLS(X_)
#undef X_
};

static _Thread_local struct {
	enum inject_action action;
	int at;
	int is_other_version;
	int is_kept; /* what is allocated now is kept for later jobs, and is not counted */
	inject_trace_t *trace; /* NULL: between end and begin */
	const shmemh_t *job;   /* that shmemh_init is making */
} own;

static atomic_long n_blocks;

const char *inject_name(int call)
{
	return names[call];
}

long inject_n_blocks(void)
{
	return atomic_load(&n_blocks);
}

void inject_begin(enum inject_action action, int at, inject_trace_t *trace)
{
	trace->n = 0;
	own.action = action;
	own.at = at;
	own.trace = trace;
	own.job = NULL;
}

void inject_end(void)
{
	own.trace = NULL;
}

void inject_version(int is_other)
{
	own.is_other_version = is_other;
}

/* Does this call fail? */
static bool falls(enum call call)
{
	inject_trace_t *t = own.trace;

	if (!t || t->n == INJECT_CALLS_MAX)
		return false;
	t->call[t->n] = (unsigned char)call;
	t->phase[t->n] = (signed char)(own.job ? own.job->phases_up : -1);
	t->n++;
	if (t->n != own.at)
		return false;
	if (own.action == INJECT_DEATH)
		raise(SIGKILL);
	return own.action == INJECT_ERROR;
}

#define X_(result, name, parameters, arguments, error, value)                                      \
	result __real_##name parameters;                                                           \
	result __wrap_##name parameters;                                                           \
	result __wrap_##name parameters                                                            \
	{                                                                                          \
		if (falls(CALL_##name)) {                                                          \
			errno = error;                                                             \
			return value;                                                              \
		}                                                                                  \
		return __real_##name arguments;                                                    \
	}
SYSTEM_CALLS(X_)
#undef X_

#define X_(name, parameters, arguments)                                                            \
	void *__real_##name parameters;                                                            \
	void *__wrap_##name parameters;
MEMORY_CALLS(X_)
#undef X_
void __real_free(void *p);
void __wrap_free(void *p);

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

static void *counted(void *p)
{
	atomic_fetch_add(&n_blocks, p != NULL && !own.is_kept);
	return p;
}

void *__wrap_malloc(size_t n)
{
	return falls(CALL_malloc) ? no_memory() : counted(__real_malloc(n));
}

/* The first block of shmemh_init is the job. */
void *__wrap_calloc(size_t n, size_t nbytes)
{
	void *p = falls(CALL_calloc) ? no_memory() : counted(__real_calloc(n, nbytes));

	if (own.trace && !own.job && n == 1 && nbytes == sizeof *own.job)
		own.job = p;
	return p;
}

void *__wrap_realloc(void *p, size_t n)
{
	void *moved;

	if (falls(CALL_realloc))
		return no_memory();
	moved = __real_realloc(p, n);
	return p ? moved : counted(moved);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
	return falls(CALL_aligned_alloc) ? no_memory()
					 : counted(__real_aligned_alloc(alignment, n));
}

void __wrap_free(void *p)
{
	atomic_fetch_sub(&n_blocks, p != NULL);
	__real_free(p);
}

/* The phase of the version is the fourth; what PEs exchange in it is two words of this PE's own. */
int __real_shmemhi_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes);
int __wrap_shmemhi_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes);

int __wrap_shmemhi_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes)
{
	if (own.is_other_version && job->phases_up == 3 && nbytes == 2 * sizeof(uint32_t))
		((uint32_t *)(uintptr_t)src)[1]++;
	return __real_shmemhi_allgather(job, src, dst, nbytes);
}

/* The list of jobs of the process has a place for each address that a job has had. */
int __real_shmemhi_enlist(const shmemh_t *job);
int __wrap_shmemhi_enlist(const shmemh_t *job);

int __wrap_shmemhi_enlist(const shmemh_t *job)
{
	int status;

	own.is_kept = 1;
	status = __real_shmemhi_enlist(job);
	own.is_kept = 0;
	return status;
}

#ifdef FAILURES_NIC
static shmemhi_ib_lib_t real_nic;

#define X_(member, symbol, result, parameters, arguments, error, value)                            \
	static result nic_##member parameters                                                      \
	{                                                                                          \
		if (falls(CALL_nic_##member)) {                                                    \
			errno = error;                                                             \
			return value;                                                              \
		}                                                                                  \
		return real_nic.member arguments;                                                  \
	}
NIC_CALLS(X_)
#undef X_
#endif

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

/* The runtime gets the functions above in place of those of the NIC's library. */
void *__wrap_dlsym(void *handle, const char *name)
{
	void *found = __real_dlsym(handle, name);

#ifdef FAILURES_NIC
#define X_(member, symbol, result, parameters, arguments, error, value)                            \
	if (found && strcmp(name, symbol) == 0) {                                                  \
		result(*mine) parameters = nic_##member;                                           \
                                                                                                   \
		memcpy(&real_nic.member, &found, sizeof found);                                    \
		memcpy(&found, &mine, sizeof found);                                               \
		return found;                                                                      \
	}
	NIC_CALLS(X_)
#undef X_
#endif
	return found;
}
