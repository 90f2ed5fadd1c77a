/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Packets between processes of one user on one machine: rings in a file that all processes map.
 *
 * The file has a directory and a ring for each ordered pair of hosts. It is sparse: a ring uses no
 * memory until its sender maps it. The sender then allocates all of its memory, so that an access
 * cannot raise SIGBUS when /dev/shm is full later. The process that holds the lock of byte h of the
 * file is host h; the Linux kernel releases the lock when the process and all children that it
 * forked without exec have ended. The last process to leave removes the file. A file whose
 * processes have all died is initialised again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/step.h"

#define N_HOSTS MLX5SWI_MAX_HOSTS
#define GATE N_HOSTS     /* the byte whose lock guards joining and leaving */
#define GATE_SECONDS 10u /* the text of refuse() contains the same number */
/* "mlx5sw", and the size of a packet */
#define MAGIC (0x6d6c783573770000u | sizeof(mlx5swi_packet_t))
#define DIRECTORY_NBYTES 16384u
#define RING_NBYTES (256u << 10)
#define BYTES_NBYTES (RING_NBYTES - 128)
#define SKIP UINT32_MAX /* instead of a length: continue at the start of the ring */
#define MAX_WAITING 4096u
#define PACKETS_PER_POLL 64u

/* From one host to another. Byte counts never wrap. */
typedef struct ring {
	_Alignas(64) uint64_t head; /* bytes taken; written by the receiver */
	_Alignas(64) uint64_t tail; /* bytes put; written by the sender */
	uint8_t bytes[BYTES_NBYTES];
} ring_t;

typedef struct record {
	uint32_t nbytes, zero;
} record_t;

typedef struct seat {
	_Alignas(64) uint64_t senders; /* bit h: host h has mapped its ring to this host */
	uint32_t is_taken;             /* cleared when the process leaves, not when it dies */
} seat_t;

typedef struct directory {
	uint64_t magic;
	uint32_t next; /* number to try first, so that a number is reused late */
	seat_t seats[N_HOSTS];
} directory_t;

typedef struct queue {
	mlx5swi_packet_t *first, **end;
	uint32_t n;
} queue_t;

typedef struct mlx5swi_shm {
	int fd;
	pid_t pid;
	uint32_t host;
	directory_t *directory;
	ring_t *in[N_HOSTS], *out[N_HOSTS];
	queue_t waiting[N_HOSTS]; /* packets that wait for room in the ring */
	uint32_t n_waiting;
	int has_no_room; /* the failure was reported */
	char path[128];
} shm_t;

_Static_assert(sizeof(directory_t) <= DIRECTORY_NBYTES, "the directory fits");
_Static_assert(offsetof(ring_t, bytes) + BYTES_NBYTES <= RING_NBYTES, "rings lie page by page");

/* Locks of open file descriptions end with the last descriptor: when the process and all children
 * that it forked without exec have ended, for any reason. */
static int lock_byte(int fd, int command, short type, off_t byte)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	int err;
	do
		err = fcntl(fd, command, &lock) ? errno : 0;
	while (err == EINTR);
	return err;
}

/* Does no other process use the file? Each process that uses it holds a lock. */
static bool is_only_user(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = N_HOSTS};
	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

static int make_path(const char *name, char *path, size_t nbytes)
{
	char boot[9] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, boot, 8) != 8)
		boot[0] = 0;
	if (fd >= 0)
		close(fd);
	int n = snprintf(path, nbytes, "/dev/shm/mlx5sw.%u.%s", (unsigned)geteuid(),
			 *name ? name : boot);
	return n < 0 || (size_t)n >= nbytes ? EINVAL : 0;
}

/* A process holds the gate for milliseconds. ETIMEDOUT: the process that holds it has stopped. */
static int lock_gate(int fd)
{
	const struct timespec pause = {0, 1000000};
	for (unsigned ms = 0; ms < 1000 * GATE_SECONDS; ms++) {
		int err = lock_byte(fd, F_OFD_SETLK, F_WRLCK, GATE);
		if (err != EAGAIN && err != EACCES)
			return err;
		nanosleep(&pause, NULL);
	}
	return ETIMEDOUT;
}

/* Refuse a file of another user: its owner could hold the gate forever. */
static int own_and_lock(int fd, struct stat *opened)
{
	if (fstat(fd, opened))
		return errno;
	return opened->st_uid == geteuid() ? lock_gate(fd) : EACCES;
}

/* Open the file and lock its gate. The last process to leave may have removed the file meanwhile.
 */
static int pass_gate(shm_t *s)
{
	struct stat opened, named;
	for (;;) {
		s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (s->fd < 0)
			return errno;
		int err = own_and_lock(s->fd, &opened);
		if (!err && !stat(s->path, &named) && named.st_ino == opened.st_ino)
			return 0;
		close(s->fd);
		s->fd = -1;
		if (err)
			return err;
	}
}

/* Map with memory allocated for every byte. NULL: errno has the reason. */
static void *map(const shm_t *s, off_t at, size_t nbytes)
{
	do
		errno = posix_fallocate(s->fd, at, (off_t)nbytes);
	while (errno == EINTR);
	if (errno)
		return NULL;
	void *p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, at);
	return p == MAP_FAILED ? NULL : p;
}

static ring_t *map_ring(const shm_t *s, uint32_t to, uint32_t from)
{
	return map(s, DIRECTORY_NBYTES + (off_t)(to * N_HOSTS + from) * RING_NBYTES, RING_NBYTES);
}

/* Beyond the limit (ulimit -f) ftruncate raises SIGXFSZ, which ends the process. */
static int resize(int fd, off_t nbytes)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)nbytes)
		return EFBIG;
	return ftruncate(fd, 0) || ftruncate(fd, nbytes) ? errno : 0;
}

static int open_directory(shm_t *s)
{
	off_t nbytes = DIRECTORY_NBYTES + (off_t)N_HOSTS * N_HOSTS * RING_NBYTES;
	int is_new = is_only_user(s->fd), err = is_new ? resize(s->fd, nbytes) : 0;
	if (err)
		return err;
	s->directory = map(s, 0, DIRECTORY_NBYTES);
	if (!s->directory)
		return errno;
	if (is_new)
		s->directory->magic = MAGIC;
	return s->directory->magic == MAGIC ? 0 : EPROTO; /* a process of another version uses it */
}

/* Discard packets that were sent to the previous owner of this host number. */
static int discard_old(shm_t *s)
{
	uint64_t senders = s->directory->seats[s->host].senders;
	for (; senders; senders &= senders - 1) {
		uint32_t from = (uint32_t)__builtin_ctzll(senders);
		ring_t *ring = s->in[from] = map_ring(s, s->host, from);
		if (!ring)
			return errno;
		__atomic_store_n(&ring->head, __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
	return 0;
}

static int take_seat(shm_t *s)
{
	for (uint32_t i = 0; i < N_HOSTS; i++) {
		s->host = (s->directory->next + i) % N_HOSTS;
		if (lock_byte(s->fd, F_OFD_SETLK, F_WRLCK, s->host))
			continue;
		s->directory->next = s->host + 1;
		__atomic_store_n(&s->directory->seats[s->host].is_taken, 1, __ATOMIC_RELEASE);
		return discard_old(s);
	}
	return EUSERS;
}

static void leave(shm_t *s)
{
	/* without the lock the file remains for the next process to leave */
	int err = lock_gate(s->fd);
	__atomic_store_n(&s->directory->seats[s->host].is_taken, 0, __ATOMIC_RELAXED);
	if (!err && is_only_user(s->fd))
		unlink(s->path);
	close(s->fd); /* releases all locks */
}

/* A program may end without mlx5sw_stop. The thread runs until the process is gone. */
static void leave_at_exit(void)
{
	shm_t *s = mlx5swi_w && mlx5swi_w->engine ? mlx5swi_w->engine->shm : NULL;
	if (s && s->pid == getpid())
		leave(s);
}

static void unmap(shm_t *s)
{
	for (uint32_t h = 0; h < N_HOSTS; h++) {
		if (s->in[h])
			munmap(s->in[h], RING_NBYTES);
		if (s->out[h])
			munmap(s->out[h], RING_NBYTES);
		mlx5swi_packets_free(s->waiting[h].first);
	}
	if (s->directory)
		munmap(s->directory, DIRECTORY_NBYTES);
}

static void refuse(const char *path, int err)
{
	static const struct {
		int err;
		const char *advice;
	} known[] = {
		{EUSERS, "all 64 places of processes are taken"},
		{EPROTO, "processes with another version of the adapter use it"},
		{EACCES, "it belongs to another user: remove it, or name another by shm:NAME"},
		{ETIMEDOUT,
		 "a process has had it locked for 10 s: if it was stopped, continue or end "
		 "it, or name another by shm:NAME"},
		{ENOSPC, "make /dev/shm larger, or remove files from it"},
		{EFBIG, "it is sparse, of 1 GiB: raise ulimit -f"},
	};
	const char *advice = "name another by shm:NAME";
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].err == err)
			advice = known[i].advice;
	mlx5swi_fabric_refuse(err, "%s: %s: %s", path, strerror(err), advice);
}

int mlx5swi_shm_open(const char *name)
{
	static int has_handler;
	shm_t *s = calloc(1, sizeof(*s));
	int err = s ? make_path(name, s->path, sizeof(s->path)) : ENOMEM;
	if (err || (err = pass_gate(s))) {
		refuse(s ? s->path : name, err);
		free(s);
		return err;
	}
	s->pid = getpid();
	err = open_directory(s);
	if (!err)
		err = take_seat(s);
	if (!err && !has_handler && !(has_handler = !atexit(leave_at_exit)))
		err = ENOMEM;
	if (err) {
		refuse(s->path, err);
		unmap(s);
		if (is_only_user(s->fd))
			unlink(s->path);
		close(s->fd);
		free(s);
		return err;
	}
	lock_byte(s->fd, F_OFD_SETLK, F_UNLCK, GATE);
	mlx5swi_w->places[0].host = s->host;
	mlx5swi_w->engine->shm = s;
	return 0;
}

void mlx5swi_shm_close(void)
{
	shm_t *s = mlx5swi_w->engine->shm;
	mlx5swi_w->engine->shm = NULL;
	if (s->pid == getpid())
		leave(s);
	unmap(s);
	free(s);
}

/* Returns false if there is no room. */
static bool put(ring_t *ring, const mlx5swi_packet_t *p)
{
	size_t nbytes = mlx5swi_packet_wire_nbytes(p);
	uint64_t tail = ring->tail, at = tail % BYTES_NBYTES;
	uint64_t need = sizeof(record_t) + (nbytes + 7) / 8 * 8;
	uint64_t skip = BYTES_NBYTES - at < need ? BYTES_NBYTES - at : 0;
	record_t record = {SKIP, 0};
	if (tail + skip + need - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) > BYTES_NBYTES)
		return false;
	if (skip) {
		memcpy(&ring->bytes[at], &record, sizeof(record));
		at = 0;
	}
	record.nbytes = (uint32_t)nbytes;
	memcpy(&ring->bytes[at], &record, sizeof(record));
	memcpy(&ring->bytes[at + sizeof(record)], &p->kind, nbytes);
	__atomic_store_n(&ring->tail, tail + skip + need, __ATOMIC_RELEASE);
	return true;
}

/* Returns false if the ring is empty, or if a length in it is impossible: then all of it is
 * dropped. A record that is no packet is skipped. */
static bool get(ring_t *ring)
{
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE), head = ring->head;
	uint64_t at = head % BYTES_NBYTES;
	record_t record;
	if (head == tail)
		return false;
	memcpy(&record, &ring->bytes[at], sizeof(record));
	if (record.nbytes == SKIP) {
		head += BYTES_NBYTES - at;
		at = 0;
		memcpy(&record, ring->bytes, sizeof(record));
	}
	uint64_t need = sizeof(record) + ((uint64_t)record.nbytes + 7) / 8 * 8;
	if (tail - head > BYTES_NBYTES || head + need > tail || at + need > BYTES_NBYTES) {
		__atomic_store_n(&ring->head, tail, __ATOMIC_RELEASE);
		return false;
	}
	mlx5swi_packet_t *p =
		mlx5swi_packet_from_wire(&ring->bytes[at + sizeof(record)], record.nbytes);
	__atomic_store_n(&ring->head, head + need, __ATOMIC_RELEASE);
	if (p)
		mlx5swi_deliver(p);
	return true;
}

static uint32_t host_of(const mlx5swi_packet_t *p)
{
	mlx5swi_place_t place;
	if (mlx5swi_w->cfg.link_layer == MLX5SW_INFINIBAND)
		return mlx5swi_lid_host(p->dlid);
	return mlx5swi_gid_place(p->dgid, &place) ? N_HOSTS : place.host;
}

/* Report the failure once. Each later packet tries again: memory may be available then. */
static void report_no_room(shm_t *s, uint32_t host)
{
	if (s->has_no_room)
		return;
	s->has_no_room = 1;
	fprintf(stderr,
		"mlx5sw: %s: no ring of %u KiB from host %u to host %u: %s: their packets are "
		"lost; make /dev/shm larger, or remove files from it\n",
		s->path, RING_NBYTES >> 10, s->host, host, strerror(errno));
}

static ring_t *ring_to(shm_t *s, uint32_t host)
{
	seat_t *seat = &s->directory->seats[host];
	if (s->out[host] || !__atomic_load_n(&seat->is_taken, __ATOMIC_ACQUIRE))
		return s->out[host];
	s->out[host] = map_ring(s, host, s->host);
	if (s->out[host])
		__atomic_fetch_or(&seat->senders, (uint64_t)1 << s->host, __ATOMIC_RELEASE);
	else
		report_no_room(s, host);
	return s->out[host];
}

static void wait_for_room(shm_t *s, uint32_t host, mlx5swi_packet_t *p)
{
	queue_t *q = &s->waiting[host];
	if (q->n == MAX_WAITING) { /* the receiver takes nothing: it is dead or stopped */
		mlx5swi_packet_free(p);
		return;
	}
	if (!q->first)
		q->end = &q->first;
	p->next = NULL;
	*q->end = p;
	q->end = &p->next;
	q->n++;
	s->n_waiting++;
}

void mlx5swi_shm_send(mlx5swi_packet_t *p)
{
	shm_t *s = mlx5swi_w->engine->shm;
	uint32_t host = host_of(p);
	ring_t *ring = host < N_HOSTS && host != s->host ? ring_to(s, host) : NULL;
	if (ring && (s->waiting[host].n || !put(ring, p)))
		wait_for_room(s, host, p);
	else
		mlx5swi_packet_free(p);
}

static unsigned send_waiting(shm_t *s, uint32_t host)
{
	queue_t *q = &s->waiting[host];
	unsigned n = 0;
	for (; q->first && put(s->out[host], q->first); n++) {
		mlx5swi_packet_t *p = q->first;
		q->first = p->next;
		q->n--;
		s->n_waiting--;
		mlx5swi_packet_free(p);
	}
	return n;
}

unsigned mlx5swi_shm_poll(void)
{
	shm_t *s = mlx5swi_w->engine->shm;
	uint64_t senders = __atomic_load_n(&s->directory->seats[s->host].senders, __ATOMIC_ACQUIRE);
	unsigned n = 0;
	for (uint32_t host = 0; s->n_waiting && host < N_HOSTS; host++)
		n += send_waiting(s, host);
	for (; senders; senders &= senders - 1) {
		uint32_t from = (uint32_t)__builtin_ctzll(senders);
		if (!s->in[from] && !(s->in[from] = map_ring(s, s->host, from)))
			continue;
		for (unsigned k = 0; k < PACKETS_PER_POLL && get(s->in[from]); k++)
			n++;
	}
	return n;
}
