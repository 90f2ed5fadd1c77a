/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The node: PEs whose memory can be mapped. Equal identities are a guess only: containers may
 * share a boot id but no directory, and GPUs may lack peer access. So the PEs prove it by passing
 * descriptors and mapping the memory. The connections stay open for growths.
 *
 * GPU memory: every pair of PEs in different processes connects, because the memory of each GPU has
 * a descriptor of its own, and some pairs may lack peer access.
 *
 * Host memory: the PEs of a node connect to its lowest PE only, the leader. It creates one file for
 * each growth, with a slice for each PE. With a file and a connection for each pair, n PEs would
 * open n * n sockets and pass n * n descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <sodium.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"
#include "mem/state.h"

/* The connection of a PE to a lower one. */
enum { NOT_CONNECTED, CONNECTED, TO_CONNECT };

/* The address at which a PE listens. Gathered over the bootstrap, so only members of the job
 * have the secret. */
typedef struct meeting {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	unsigned char secret[SHMEMHI_FD_SECRET_NBYTES];
} meeting_t;

/* Scratch of node_open. */
typedef struct opening {
	meeting_t mine;
	meeting_t *meetings; /* [n_pes] */
	unsigned char *row;  /* [n_pes]: TO_CONNECT and so on; then 1: this PE can map its memory */
	unsigned char *matrix; /* [n_pes][n_pes]: all rows */
	int *fds;              /* [n_pes] */
	int *group;            /* [n_pes]: the lowest PE of its node; -1: not found yet */
	/* leader [n_pes]: the lowest PE among those without a group that seem to be on the same
	 * node; -1: it has a group. spans_processes [n_pes], by leader: 1 if not all PEs with this
	 * leader run in one process. Both are used for host memory only. */
	int *leader;
	unsigned char *spans_processes;
	uint64_t deadline_ns;
} opening_t;

static bool may_share_node(const shmemhi_mem_t *mem, int pe)
{
	return memcmp(mem->id.node_key, mem->ids[pe].node_key, SHMEMHI_KEY_NBYTES) == 0;
}

static bool same_process(const shmemhi_mem_t *mem, int pe)
{
	return memcmp(mem->id.process, mem->ids[pe].process, SHMEMHI_KEY_NBYTES) == 0;
}

/* May pe be on this node, but in another process? Descriptors then pass through a socket. */
static bool needs_socket(const shmemh_t *job, int pe)
{
	return may_share_node(job->mem, pe) && !same_process(job->mem, pe);
}

static bool is_on_gpu(const shmemh_t *job)
{
	return job->mem->backend->kind == SHMEMH_HEAP_GPU;
}

/* Does this PE connect to pe? In host memory a leader connects to each of its PEs if they run in
 * several processes, also to those of its own process, since all of them map the same file. */
static bool meets(const shmemh_t *job, const opening_t *o, int pe)
{
	int leader = o->leader[job->pe];

	if (is_on_gpu(job))
		return needs_socket(job, pe);
	return pe != job->pe && leader >= 0 && o->leader[pe] == leader &&
	       o->spans_processes[leader] && (pe == leader || job->pe == leader);
}

static bool meets_any(const shmemh_t *job, const opening_t *o)
{
	int n = 0;

	for (int pe = 0; pe < job->n_pes; pe++)
		n += meets(job, o, pe);
	return n != 0;
}

/* Does this PE create the small extent that other PEs map to prove that they can map its memory? */
static bool gives(const shmemh_t *job, const opening_t *o)
{
	return meets_any(job, o) && (is_on_gpu(job) || o->leader[job->pe] == job->pe);
}

/* Can this PE's GPU have peer access to that of pe? If that GPU is not visible, the answer is
 * yes: the mapping is tried. */
static bool gpu_may_reach(const shmemh_t *job, int pe)
{
	const shmemhi_mem_t *mem = job->mem;

	return !is_on_gpu(job) ||
	       shmemhi_cuctx_p2p(mem->cuctx, &mem->ids[pe].gpu, SHMEMHI_CU_P2P_ACCESS) != 0;
}

/* Gather the identities of all PEs. */
static int gather_ids(shmemh_t *job)
{
	shmemhi_mem_t *mem = job->mem;
	int status = shmemhi_allgather(job, &mem->id, mem->ids, sizeof mem->id);

	for (int pe = 1; status == SHMEMH_OK && pe < job->n_pes; pe++)
		if ((mem->ids[pe].flags ^ mem->ids[0].flags) & SHMEMHI_ID_NO_P2P)
			status = shmemhi_fail(
				&job->err, SHMEMH_ERR_MISMATCH,
				"SHMEMH_DISABLE_P2P is %d on PE 0 and %d on PE %d: set it equally",
				(mem->ids[0].flags & SHMEMHI_ID_NO_P2P) != 0,
				(mem->ids[pe].flags & SHMEMHI_ID_NO_P2P) != 0, pe);
	return status;
}

static int out_of_memory(shmemh_t *job)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "node: out of memory");
}

static int alloc_opening(shmemh_t *job, opening_t *o)
{
	shmemhi_mem_t *mem = job->mem;
	size_t n = (size_t)job->n_pes;

	mem->ids = calloc(n, sizeof *mem->ids);
	mem->peers = calloc(n, sizeof *mem->peers);
	o->meetings = calloc(n, sizeof *o->meetings);
	o->row = calloc(n, 1);
	o->matrix = calloc(n, n);
	o->fds = calloc(n, sizeof *o->fds);
	o->group = calloc(n, sizeof *o->group);
	o->leader = calloc(n, sizeof *o->leader);
	o->spans_processes = calloc(n, 1);
	for (size_t pe = 0; mem->peers && pe < n; pe++)
		mem->peers[pe].conn = -1;
	if (!mem->ids || !mem->peers || !o->meetings || !o->row || !o->matrix || !o->fds ||
	    !o->group || !o->leader || !o->spans_processes)
		return out_of_memory(job);
	for (size_t pe = 0; pe < n; pe++)
		o->group[pe] = -1;
	return SHMEMH_OK;
}

static void free_opening(opening_t *o)
{
	free(o->meetings);
	free(o->row);
	free(o->matrix);
	free(o->fds);
	free(o->group);
	free(o->leader);
	free(o->spans_processes);
}

/* Choose the leaders of the PEs that have no group yet. Equal on all PEs. */
static void choose_leaders(const shmemh_t *job, opening_t *o)
{
	const shmemhi_identity_t *ids = job->mem->ids;

	memset(o->spans_processes, 0, (size_t)job->n_pes);
	for (int pe = 0; pe < job->n_pes; pe++) {
		int first = 0;

		o->leader[pe] = -1;
		if (o->group[pe] >= 0)
			continue;
		while (o->group[first] >= 0 ||
		       memcmp(ids[first].node_key, ids[pe].node_key, SHMEMHI_KEY_NBYTES) != 0)
			first++; /* at most to pe */
		o->leader[pe] = first;
		o->spans_processes[first] |=
			memcmp(ids[first].process, ids[pe].process, SHMEMHI_KEY_NBYTES) != 0;
	}
}

static int listen_for_peers(shmemh_t *job, opening_t *o)
{
	shmemhi_mem_t *mem = job->mem;
	int status = SHMEMH_OK;

	if (gives(job, o)) {
		status = shmemhi_listener_open(&mem->listener, &job->err);
		memcpy(o->mine.path, mem->listener.path, sizeof o->mine.path);
		randombytes_buf(o->mine.secret, sizeof o->mine.secret);
	}
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, &o->mine, o->meetings, sizeof o->mine);
	return status;
}

/* Connect to pe. A PE that cannot be reached is not an error: it does not belong to this node.
 * Having no descriptor left is an error: the job would start, but operations to PEs of this node
 * would fail or be sent by RDMA. So is a queue of connections that is still full in the last
 * round. */
static int connect_one(shmemh_t *job, opening_t *o, int pe, bool is_last_round)
{
	shmemhi_peer_hello_t hello = {.pe = job->pe};
	shmemhi_err_t why = {""};
	int conn;

	memcpy(hello.secret, o->meetings[pe].secret, sizeof hello.secret);
	conn = shmemhi_fd_connect(o->meetings[pe].path, &hello, o->deadline_ns, &why);
	if (conn == SHMEMHI_FD_QUEUE_FULL && !is_last_round)
		return SHMEMH_OK;
	if (conn == SHMEMHI_FD_NO_ROOM || conn == SHMEMHI_FD_QUEUE_FULL)
		return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM, "node: no socket to PE %d: %s",
				    pe, why.text);
	if (conn < 0)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "PE %d seems to be on this node, but connecting to its socket failed: "
			    "%s",
			    pe, why.text);
	job->mem->peers[pe].conn = conn;
	o->row[pe] = conn >= 0 ? CONNECTED : NOT_CONNECTED;
	return SHMEMH_OK;
}

/* Connect to every lower PE that o->row still says to connect to. */
static int connect_lower(shmemh_t *job, opening_t *o, bool is_last_round)
{
	int status = SHMEMH_OK;

	for (int pe = 0; status == SHMEMH_OK && pe < job->pe; pe++)
		if (o->row[pe] == TO_CONNECT)
			status = connect_one(job, o, pe, is_last_round);
	return status;
}

/* How many PEs are in this state of their connection to this PE, and have none here? */
static int n_higher(const shmemh_t *job, const opening_t *o, int connection)
{
	int n = 0;

	for (int pe = job->pe + 1; pe < job->n_pes; pe++)
		n += o->matrix[(size_t)pe * (size_t)job->n_pes + (size_t)job->pe] == connection &&
		     job->mem->peers[pe].conn < 0;
	return n;
}

/* Accept the connections of the higher PEs. Those that connected have sent their hello already,
 * so this does not wait, even if processes outside the job connect too. If the queue was full for
 * some PE, empty it: connections from outside the job may have filled it. */
static int accept_higher(shmemh_t *job, opening_t *o)
{
	shmemhi_mem_t *mem = job->mem;
	const bool was_full = n_higher(job, o, TO_CONNECT) != 0;
	int pe;

	while (mem->listener.fd >= 0 && (was_full || n_higher(job, o, CONNECTED))) {
		int conn = shmemhi_fd_accept(&mem->listener, o->mine.secret, &pe);

		if (conn == SHMEMHI_FD_NO_ROOM)
			return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM,
					    "node: no socket for the connection of a PE: %s%s",
					    strerror(errno), shmemhi_descriptor_advice(errno));
		if (conn < 0)
			break;
		if (pe > job->pe && pe < job->n_pes && meets(job, o, pe) && mem->peers[pe].conn < 0)
			mem->peers[pe].conn = conn;
		else
			shmemhi_socket_close(conn);
	}
	return SHMEMH_OK;
}

static bool is_any_left(const shmemh_t *job, const opening_t *o)
{
	return memchr(o->matrix, TO_CONNECT, (size_t)job->n_pes * (size_t)job->n_pes) != NULL;
}

/* Connect the PEs that meet, in rounds: the Linux kernel limits the connections that wait for a PE
 * to accept them (net.core.somaxconn), and a PE accepts only after all have connected or found the
 * queue full. In each round at least one PE connects to a PE whose queue was full, so there are at
 * most n_pes rounds, unless processes outside the job fill it. */
static int connect_all(shmemh_t *job, opening_t *o)
{
	int status = SHMEMH_OK;

	for (int pe = 0; pe < job->n_pes; pe++)
		o->row[pe] = pe < job->pe && meets(job, o, pe) ? TO_CONNECT : NOT_CONNECTED;
	for (int round = 1; status == SHMEMH_OK; round++) {
		status = shmemhi_agree(job, connect_lower(job, o, round >= job->n_pes));
		if (status == SHMEMH_OK)
			status = shmemhi_allgather(job, o->row, o->matrix, (size_t)job->n_pes);
		if (status == SHMEMH_OK)
			status = shmemhi_agree(job, accept_higher(job, o));
		if (status == SHMEMH_OK && !is_any_left(job, o))
			break;
	}
	shmemhi_listener_close(&job->mem->listener);
	return status;
}

/* Can the memory of this descriptor be mapped here? */
static int try_map(shmemhi_mem_t *mem, int fd, shmemhi_err_t *err)
{
	uint64_t nbytes = mem->heap.granularity;
	shmemhi_range_t range = {0};
	shmemhi_extent_t extent = SHMEMHI_EXTENT_NONE;
	int status = mem->backend->reserve(mem, nbytes, &range, err);

	if (status == SHMEMH_OK)
		status = mem->backend->import(mem, fd, nbytes, &extent, err);
	if (status == SHMEMH_OK)
		status = mem->backend->map(mem, range.base, &extent, err);
	mem->backend->drop(mem, &extent, false);
	mem->backend->unreserve(mem, &range);
	return status;
}

/* Can this PE map the memory of pe? fd: the descriptor that pe sent; -1: none arrived. `exchange`:
 * the first failure of the exchange of descriptors, which may have been with another PE; its line
 * names that PE. */
static bool prove_one(shmemh_t *job, const opening_t *o, int pe, int fd,
		      const shmemhi_err_t *exchange)
{
	shmemhi_err_t why = {""};
	int ok = 0;

	if (!gpu_may_reach(job, pe)) {
		why = (shmemhi_err_t){"no peer access between the GPUs"};
	} else if (!meets(job, o, pe)) { /* it is in this process */
		ok = 1;
	} else if (job->mem->peers[pe].conn < 0) {
		why = (shmemhi_err_t){"there is no socket between the two: see the warning of the "
				      "PE with the higher number"};
	} else if (fd >= 0) {
		ok = try_map(job->mem, fd, &why) == SHMEMH_OK;
	} else {
		shmemhi_fail(&why, SHMEMH_ERR_SYSTEM,
			     "its descriptor did not arrive; the first failure among all PEs: %s",
			     exchange->text);
	}
	if (!ok)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "memory of PE %d, on this node, cannot be mapped: %s", pe, why.text);
	return ok;
}

/* Was there a free descriptor for each one that peers sent, and is there one more, which the
 * mapping needs? */
static int check_room(shmemh_t *job, const int *fds)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		int copy = fds[pe] >= 0 ? fcntl(fds[pe], F_DUPFD_CLOEXEC, 0) : -1;

		if (copy >= 0)
			close(copy);
		else if (fds[pe] == SHMEMHI_FD_NO_ROOM ||
			 (fds[pe] >= 0 && shmemhi_no_descriptor(errno)))
			return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM,
					    "node: no descriptor is left for the memory of PE %d: "
					    "raise ulimit -n",
					    pe);
	}
	return SHMEMH_OK;
}

static void close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Can this PE map the memory of pe? False also if it need not: with GPU memory it maps that of all
 * PEs of its node, with host memory that of its leader alone. */
static bool is_proved(shmemh_t *job, const opening_t *o, int pe, const shmemhi_err_t *exchange)
{
	if (is_on_gpu(job) ? !may_share_node(job->mem, pe) : o->leader[job->pe] != pe)
		return false;
	return prove_one(job, o, pe, o->fds[pe], exchange);
}

/* Exchange descriptors of one small extent; o->row then says whose memory this PE can map: of host
 * memory, whether it can map the leader's. */
static int prove_mappings(shmemh_t *job, opening_t *o)
{
	shmemhi_mem_t *mem = job->mem;
	shmemhi_extent_t extent = SHMEMHI_EXTENT_NONE;
	shmemhi_err_t exchange = {""};
	int status = SHMEMH_OK;

	if (gives(job, o))
		status = mem->backend->create(mem, mem->heap.granularity, &extent, &job->err);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK) {
		shmemhi_exchange(job, extent.fd, o->fds, &exchange);
		status = shmemhi_agree(job, check_room(job, o->fds));
		for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
			o->row[pe] = is_proved(job, o, pe, &exchange);
		/* Some descriptors may have come from PEs that found no group in an earlier round,
		 * over the connections of that round: this PE maps nothing of theirs. */
		close_all(o->fds, job->n_pes);
	}
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, o->row, o->matrix, (size_t)job->n_pes);
	mem->backend->drop(mem, &extent, false);
	return status;
}

/* Form groups in which all pairs can map each other; the groups are equal on all PEs. "Is
 * mapped" is then an equivalence relation, as a node team requires. In PE order, each PE joins
 * the first group that admits it. */
static void form_groups(const unsigned char *matrix, int n, int *group)
{
	for (int pe = 0; pe < n; pe++) {
		group[pe] = pe;
		for (int first = 0; first < pe && group[pe] == pe; first++) {
			int fits = group[first] == first;

			for (int m = first; fits && m < pe; m++)
				if (group[m] == first)
					fits = matrix[pe * n + m] && matrix[m * n + pe];
			if (fits)
				group[pe] = first;
		}
	}
}

static void disconnect(shmemhi_peer_t *peer)
{
	if (peer->conn >= 0)
		shmemhi_socket_close(peer->conn);
	peer->conn = -1;
}

/* Host memory: the PEs that can map their leader's memory join its group. Returns whether there
 * are PEs that could not. They form a group of their own, say in another container. */
static bool join_leaders(const shmemh_t *job, opening_t *o)
{
	bool others = false;

	for (int pe = 0; pe < job->n_pes; pe++) {
		int leader = o->leader[pe];

		if (leader < 0)
			continue;
		if (pe == leader || o->matrix[(size_t)pe * (size_t)job->n_pes + (size_t)leader])
			o->group[pe] = leader;
		else
			others = true;
	}
	return others;
}

/* One round for GPU memory; for host memory, until every PE has a group. Each round gives one to
 * the leaders at least. */
static int find_groups(shmemh_t *job, opening_t *o)
{
	bool others;

	do {
		int status;

		choose_leaders(job, o);
		status = listen_for_peers(job, o);
		if (status == SHMEMH_OK)
			status = connect_all(job, o);
		if (status == SHMEMH_OK)
			status = prove_mappings(job, o);
		if (status != SHMEMH_OK)
			return status;
		if (is_on_gpu(job)) {
			form_groups(o->matrix, job->n_pes, o->group);
			others = false;
		} else {
			others = join_leaders(job, o);
		}
	} while (others);
	return SHMEMH_OK;
}

static void set_peers(shmemh_t *job, const opening_t *o)
{
	shmemhi_mem_t *mem = job->mem;
	bool spans_processes = false;

	mem->n_slices = 0;
	for (int pe = 0; pe < job->n_pes; pe++) {
		shmemhi_peer_t *peer = &mem->peers[pe];

		peer->mapped = o->group[pe] == o->group[job->pe];
		peer->in_process = peer->mapped && same_process(mem, pe);
		if (peer->mapped) {
			peer->slice = mem->n_slices++;
			spans_processes |= !peer->in_process;
		}
	}
	mem->leader = spans_processes && !is_on_gpu(job) ? o->group[job->pe] : -1;
	for (int pe = 0; pe < job->n_pes; pe++)
		if (!mem->peers[pe].mapped || !spans_processes)
			disconnect(&mem->peers[pe]);
}

int shmemhi_node_open(shmemh_t *job)
{
	opening_t o = {.deadline_ns = shmemhi_deadline(job->opt.boot_timeout_ns)};
	int status = shmemhi_agree(job, alloc_opening(job, &o));

	if (status == SHMEMH_OK)
		status = gather_ids(job);
	if (status == SHMEMH_OK)
		status = find_groups(job, &o);
	if (status == SHMEMH_OK)
		set_peers(job, &o);
	else
		shmemhi_node_close(job);
	free_opening(&o);
	return status;
}

void shmemhi_node_close(shmemh_t *job)
{
	shmemhi_mem_t *mem = job->mem;

	shmemhi_listener_close(&mem->listener);
	for (int pe = 0; mem->peers && pe < job->n_pes; pe++)
		disconnect(&mem->peers[pe]);
	free(mem->peers);
	free(mem->ids);
	mem->peers = NULL;
	mem->ids = NULL;
}

bool shmemhi_mem_same_host(const shmemh_t *job, int pe)
{
	const shmemhi_mem_t *mem = job->mem;

	if (pe == job->pe || !mem || !mem->ids)
		return pe == job->pe;
	return memcmp(mem->id.host, mem->ids[pe].host, sizeof mem->id.host) == 0;
}
