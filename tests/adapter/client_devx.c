/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A client by DevX: the device's commands create the objects, and the program places the rings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "client.h"

/* Commands and fields as in the PRM: first bit and width. Commands of 0x110 bytes. */
#define COMMAND_NBYTES 0x110
#define OPCODE 0x00, 16
#define OP_MOD 0x30, 16
#define OBJECT 0x48, 24 /* in replies to CREATE_*, in all later commands */
#define STATUS 0x00, 8
#define SYNDROME 0x20, 32

enum {
	QUERY_HCA_CAP = 0x100,
	CREATE_CQ = 0x400,
	CREATE_QP = 0x500,
	RST2INIT_QP = 0x502,
	INIT2RTR_QP = 0x503,
	RTR2RTS_QP = 0x504,
	RST_QP = 0x50a,
	QUERY_QP = 0x50b
};

#define CQC 0x80 /* CQ context */
#define CQC_CC CQC + 0x0b, 1
#define CQC_OI CQC + 0x0e, 1
#define CQC_DBR_UMEM_ID CQC + 0x20, 32
#define CQC_LOG_CQ_SIZE CQC + 0x63, 5
#define CQC_UAR_PAGE CQC + 0x68, 24
#define CQC_C_EQN CQC + 0xb8, 8
#define CQC_DBR_ADDR CQC + 0x1c0, 64
#define CQ_UMEM_OFFSET 0x280, 64
#define CQ_UMEM_ID 0x2c0, 32
#define CQ_UMEM_VALID 0x2e0, 1

#define QPC 0xc0 /* QP context */
#define QPC_STATE QPC + 0x00, 4
#define QPC_PM_STATE QPC + 0x13, 2
#define QPC_PD QPC + 0x28, 24
#define QPC_MTU QPC + 0x40, 3
#define QPC_LOG_MSG_MAX QPC + 0x43, 5
#define QPC_LOG_RQ_SIZE QPC + 0x49, 4
#define QPC_LOG_RQ_STRIDE QPC + 0x4d, 3
#define QPC_LOG_SQ_SIZE QPC + 0x51, 4
#define QPC_TS_FORMAT QPC + 0x58, 2
#define QPC_UAR_PAGE QPC + 0x68, 24
#define QPC_REMOTE_QPN QPC + 0xa8, 24
#define QPC_LOG_SRA_MAX QPC + 0x388, 3
#define QPC_RETRY_COUNT QPC + 0x38d, 3
#define QPC_RNR_RETRY QPC + 0x390, 3
#define QPC_NEXT_SEND_PSN QPC + 0x3c8, 24
#define QPC_CQN_SND QPC + 0x3e8, 24
#define QPC_LOG_RRA_MAX QPC + 0x488, 3
#define QPC_ATOMIC_MODE QPC + 0x48c, 4
#define QPC_RRE QPC + 0x490, 1
#define QPC_RWE QPC + 0x491, 1
#define QPC_RAE QPC + 0x492, 1
#define QPC_MIN_RNR_NAK QPC + 0x4a3, 5
#define QPC_NEXT_RCV_PSN QPC + 0x4a8, 24
#define QPC_CQN_RCV QPC + 0x4e8, 24
#define QPC_DBR_ADDR QPC + 0x500, 64
#define QPC_HW_SQ_WQEBB_COUNTER QPC + 0x5a0, 16
#define QPC_SW_SQ_WQEBB_COUNTER QPC + 0x5b0, 16
#define QPC_DBR_UMEM_ID QPC + 0x720, 32
#define WQ_UMEM_OFFSET 0x800, 64
#define WQ_UMEM_ID 0x840, 32
#define WQ_UMEM_VALID 0x860, 1

#define ADS (QPC + 0xc0) /* address path */
#define ADS_GRH ADS + 0x28, 1
#define ADS_RLID ADS + 0x30, 16
#define ADS_ACK_TIMEOUT ADS + 0x40, 5
#define ADS_SRC_ADDR_INDEX ADS + 0x48, 8
#define ADS_HOP_LIMIT ADS + 0x58, 8
#define ADS_RGID_RIP (ADS + 0x80)
#define ADS_UDP_SPORT ADS + 0x110, 16
#define ADS_VHCA_PORT_NUM ADS + 0x128, 8
#define ADS_RMAC_HIGH ADS + 0x130, 16
#define ADS_RMAC_LOW ADS + 0x140, 32

#define CAP 0x80 /* capability area of the reply to QUERY_HCA_CAP */
#define CAP_GENERAL 0
#define CAP_BF CAP + 0x260, 1
#define CAP_LOG_BF_REG_SIZE CAP + 0x26b, 5
#define CAP_SQ_TS_FORMAT CAP + 0x440, 2
#define CAP_ATOMIC 3
#define CAP_ENDIANNESS_MODE CAP + 0x40, 2
#define CAP_OPERATIONS CAP + 0x90, 16
#define CAP_SIZE_QP CAP + 0xb0, 16
#define CAP_ROCE 4
#define CAP_QP_TS_FORMAT CAP + 0x1e, 2

#define PM_STATE_MIGRATED 3
#define ATOMIC_MODE_8_BYTES 3
#define EVENT_WQ_INVAL_REQ 0x10
#define EVENT_WQ_ACCESS 0x11
#define ROCE_UDP_SPORT 0xc000

/* The queues in one memory area: receive queue, then send queue; two CQs; records. */
#define PAGE 4096u
#define LOG_DEPTH 4 /* of each queue */
#define DEPTH (1u << LOG_DEPTH)
#define RQ_STRIDE 16u
#define WQ_AT 0u
#define SEND_CQ_AT PAGE
#define RECV_CQ_AT (2 * PAGE)
#define QP_RECORD_AT (3 * PAGE)
#define SEND_CQ_RECORD_AT (3 * PAGE + 64)
#define RECV_CQ_RECORD_AT (3 * PAGE + 128)
#define QUEUES_NBYTES (4 * PAGE)

enum { KIND_BLUEFLAME, KIND_COLLAPSED };

static const char *const kinds[] = {"BlueFlame, CQ as a ring", "collapsed CQ", NULL};

struct route_qp {
	uint8_t *queues;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_obj *send_cq, *recv_cq, *qp;
	uint32_t send_cqn, recv_cqn, eqn;
	struct mlx5dv_devx_event_channel *events;
};

/* Bit 0 is the first byte's highest. No field of up to 32 bits crosses a word. */
static void put(void *mailbox, unsigned bit, unsigned width, uint64_t value)
{
	__be32 *word = (__be32 *)mailbox + bit / 32;
	unsigned shift = width < 32 ? 32 - bit % 32 - width : 0;
	uint32_t mask = width < 32 ? (1u << width) - 1 : UINT32_MAX;

	if (width == 64)
		put(mailbox, bit + 32, 32, value & UINT32_MAX);
	if (width == 64)
		value >>= 32;
	*word = htobe32((be32toh(*word) & ~(mask << shift)) | (((uint32_t)value & mask) << shift));
}

static uint32_t get(const void *mailbox, unsigned bit, unsigned width)
{
	uint32_t word = be32toh(((const __be32 *)mailbox)[bit / 32]);

	return width == 32 ? word : word >> (32 - bit % 32 - width) & ((1u << width) - 1);
}

/* Exits with the device's reason. */
static void command_must(bool holds, const char *what, const void *out)
{
	if (holds)
		return;
	fprintf(stderr, "%s: errno %d, status 0x%x, syndrome 0x%x\n", what, errno, get(out, STATUS),
		get(out, SYNDROME));
	exit(1);
}

static struct ibv_context *devx_open(struct ibv_device *device)
{
	struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};

	return lib.mlx5dv_open_device(device, &attr);
}

#define CAP_REPLY_NBYTES (0x10 + 0x1000)

static void query_capabilities(end_t *e, uint32_t type, uint32_t out[CAP_REPLY_NBYTES / 4])
{
	uint32_t in[4] = {0};

	put(in, OPCODE, QUERY_HCA_CAP);
	put(in, OP_MOD, type << 1 | 1); /* current capabilities, not maximum ones */
	errno = lib.mlx5dv_devx_general_cmd(e->context, in, sizeof(in), out, CAP_REPLY_NBYTES);
	command_must(!errno, "QUERY_HCA_CAP", out);
}

/* Size of half a BlueFlame register; 0: the device has none. */
static uint32_t bf_nbytes(end_t *e)
{
	uint32_t out[CAP_REPLY_NBYTES / 4] = {0};

	query_capabilities(e, CAP_GENERAL, out);
	return get(out, CAP_BF) ? 1u << (get(out, CAP_LOG_BF_REG_SIZE) - 1) : 0;
}

/* Check that the device has atomics of 4 and 8 bytes, also masked, and returns 8-byte results in
 * the host's byte order. */
static void check_atomics(end_t *e)
{
	uint32_t out[CAP_REPLY_NBYTES / 4] = {0};

	query_capabilities(e, CAP_ATOMIC, out);
	same("byte order of atomics", 1, get(out, CAP_ENDIANNESS_MODE));
	same("atomic operations", 0xf, get(out, CAP_OPERATIONS) & 0xf);
	same("sizes of atomics", 4 | 8, get(out, CAP_SIZE_QP) & (4 | 8));
}

/* ts_format: 1 (the device's default) if it has more than free-running stamps, which are 0. */
static uint32_t ts_format(end_t *e)
{
	uint32_t out[CAP_REPLY_NBYTES / 4] = {0};
	bool is_roce = e->port.link_layer == IBV_LINK_LAYER_ETHERNET;

	query_capabilities(e, is_roce ? CAP_ROCE : CAP_GENERAL, out);
	return (is_roce ? get(out, CAP_QP_TS_FORMAT) : get(out, CAP_SQ_TS_FORMAT)) != 0;
}

static struct mlx5dv_devx_obj *create(end_t *e, const char *what, const void *in, uint32_t *number)
{
	uint32_t out[4] = {0};
	struct mlx5dv_devx_obj *obj =
		lib.mlx5dv_devx_obj_create(e->context, in, COMMAND_NBYTES, out, sizeof(out));

	command_must(obj, what, out);
	*number = get(out, OBJECT);
	return obj;
}

/* Each byte 0xff: an invalid opcode, the other owner, and -1 as the counter. */
static void clear_cq(comp_queue_t *cq)
{
	memset(cq->cqes, 0xff, DEPTH * sizeof(*cq->cqes));
}

/* Overruns of a ring are errors: it has room for one CQE of each WQE. A collapsed CQ is meant to be
 * overrun. */
static struct mlx5dv_devx_obj *create_cq(end_t *e, comp_queue_t *cq, uint32_t at,
					 uint32_t record_at, uint32_t *cqn)
{
	uint32_t in[COMMAND_NBYTES / 4] = {0};

	cq->cqes = (void *)(e->qp->queues + at);
	cq->record = (void *)(e->qp->queues + record_at);
	cq->ncqes = DEPTH;
	clear_cq(cq);
	put(in, OPCODE, CREATE_CQ);
	put(in, CQC_CC, cq->collapsed);
	put(in, CQC_OI, cq->collapsed);
	put(in, CQC_LOG_CQ_SIZE, LOG_DEPTH);
	put(in, CQC_UAR_PAGE, e->qp->uar->page_id);
	put(in, CQC_C_EQN, e->qp->eqn);
	put(in, CQC_DBR_UMEM_ID, e->qp->umem->umem_id);
	put(in, CQC_DBR_ADDR, record_at);
	put(in, CQ_UMEM_ID, e->qp->umem->umem_id);
	put(in, CQ_UMEM_OFFSET, at);
	put(in, CQ_UMEM_VALID, 1);
	return create(e, "CREATE_CQ", in, cqn);
}

static uint32_t pdn(end_t *e)
{
	struct mlx5dv_pd dv = {0};
	struct mlx5dv_obj obj = {.pd = {e->pd, &dv}};

	must(!lib.mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), "mlx5dv_init_obj of a PD");
	return dv.pdn;
}

/* Fields that are zero mean: RC, its own receive queue with segments of 16 bytes, no data in CQEs.
 */
static void create_qp(end_t *e)
{
	struct route_qp *q = e->qp;
	uint32_t in[COMMAND_NBYTES / 4] = {0};

	put(in, OPCODE, CREATE_QP);
	put(in, QPC_PD, pdn(e));
	put(in, QPC_LOG_RQ_SIZE, LOG_DEPTH);
	put(in, QPC_LOG_SQ_SIZE, LOG_DEPTH);
	put(in, QPC_TS_FORMAT, ts_format(e));
	put(in, QPC_UAR_PAGE, q->uar->page_id);
	put(in, QPC_CQN_SND, q->send_cqn);
	put(in, QPC_CQN_RCV, q->recv_cqn);
	put(in, QPC_DBR_UMEM_ID, q->umem->umem_id);
	put(in, QPC_DBR_ADDR, QP_RECORD_AT);
	put(in, WQ_UMEM_ID, q->umem->umem_id);
	put(in, WQ_UMEM_OFFSET, WQ_AT);
	put(in, WQ_UMEM_VALID, 1);
	q->qp = create(e, "CREATE_QP", in, &e->sq.qpn);
}

static void find_rings(end_t *e)
{
	uint8_t *wq = e->qp->queues + WQ_AT;
	__be32 *record = (void *)(e->qp->queues + QP_RECORD_AT);

	e->rq = (recv_queue_t){.wqes = wq, .nwqes = DEPTH, .stride = RQ_STRIDE, .record = record};
	e->sq.wqebbs = wq + DEPTH * RQ_STRIDE;
	e->sq.n_wqebbs = DEPTH;
	e->sq.record = record;
	e->sq.doorbell = e->qp->uar->reg_addr;
	e->sq.bf_nbytes = e->kind == KIND_BLUEFLAME ? bf_nbytes(e) : 0;
}

/* Events of a QP that DevX created are not reported by ibv_get_async_event. */
static void subscribe(end_t *e)
{
	uint16_t numbers[] = {EVENT_WQ_INVAL_REQ, EVENT_WQ_ACCESS};

	e->qp->events = lib.mlx5dv_devx_create_event_channel(e->context, 0);
	must(e->qp->events, "mlx5dv_devx_create_event_channel");
	must(!lib.mlx5dv_devx_subscribe_devx_event(e->qp->events, e->qp->qp, sizeof(numbers),
						   numbers, (uintptr_t)e),
	     "mlx5dv_devx_subscribe_devx_event");
}

static void devx_create(end_t *e)
{
	struct route_qp *q = calloc(1, sizeof(*q));

	must(q, "calloc");
	e->qp = q;
	check_atomics(e);
	q->queues = aligned_alloc(PAGE, QUEUES_NBYTES);
	must(q->queues, "aligned_alloc");
	memset(q->queues, 0, QUEUES_NBYTES);
	q->uar = lib.mlx5dv_devx_alloc_uar(e->context, e->kind == KIND_BLUEFLAME
							       ? MLX5DV_UAR_ALLOC_TYPE_BF
							       : MLX5DV_UAR_ALLOC_TYPE_NC);
	must(q->uar, "mlx5dv_devx_alloc_uar");
	q->umem = lib.mlx5dv_devx_umem_reg(e->context, q->queues, QUEUES_NBYTES,
					   IBV_ACCESS_LOCAL_WRITE);
	must(q->umem, "mlx5dv_devx_umem_reg");
	must(!lib.mlx5dv_devx_query_eqn(e->context, 0, &q->eqn), "mlx5dv_devx_query_eqn");
	e->send_cq.collapsed = e->kind == KIND_COLLAPSED;
	q->send_cq = create_cq(e, &e->send_cq, SEND_CQ_AT, SEND_CQ_RECORD_AT, &q->send_cqn);
	q->recv_cq = create_cq(e, &e->recv_cq, RECV_CQ_AT, RECV_CQ_RECORD_AT, &q->recv_cqn);
	create_qp(e);
	find_rings(e);
	subscribe(e);
}

/* A state command; its fields are in `in`. */
static void change_state(end_t *e, const char *what, uint32_t opcode, uint32_t *in, size_t nbytes)
{
	uint32_t out[4] = {0};

	put(in, OPCODE, opcode);
	put(in, OBJECT, e->sq.qpn);
	errno = lib.mlx5dv_devx_obj_modify(e->qp->qp, in, nbytes, out, sizeof(out));
	command_must(!errno, what, out);
}

static void to_init(end_t *e)
{
	uint32_t in[COMMAND_NBYTES / 4] = {0};

	put(in, QPC_PM_STATE, PM_STATE_MIGRATED);
	put(in, QPC_ATOMIC_MODE, ATOMIC_MODE_8_BYTES);
	put(in, QPC_RRE, 1);
	put(in, QPC_RWE, 1);
	put(in, QPC_RAE, 1);
	put(in, ADS_VHCA_PORT_NUM, PORT);
	change_state(e, "RST2INIT", RST2INIT_QP, in, sizeof(in));
}

/* Read the peer's MAC, which the kernel resolves, from an address handle. */
static void put_rmac(end_t *e, uint32_t *in)
{
	struct ibv_ah_attr attr = end_ah_attr(e);
	struct ibv_ah *ah = lib.ibv_create_ah(e->pd, &attr);
	struct mlx5dv_ah dv = {0};
	struct mlx5dv_obj obj = {.ah = {ah, &dv}};
	const uint8_t *mac;

	must(ah, "ibv_create_ah");
	must(!lib.mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), "mlx5dv_init_obj of an AH");
	mac = dv.av->rmac;
	put(in, ADS_RMAC_HIGH, (uint32_t)mac[0] << 8 | mac[1]);
	put(in, ADS_RMAC_LOW,
	    (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5]);
	same("ibv_destroy_ah", 0, (uint64_t)lib.ibv_destroy_ah(ah));
}

static void put_path(end_t *e, uint32_t *in)
{
	struct ibv_ah_attr attr = end_ah_attr(e);

	put(in, ADS_VHCA_PORT_NUM, PORT);
	put(in, ADS_RLID, attr.dlid);
	if (!attr.is_global)
		return;
	if (e->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		put_rmac(e, in);
		put(in, ADS_UDP_SPORT, ROCE_UDP_SPORT);
	}
	put(in, ADS_GRH, 1);
	memcpy((uint8_t *)in + ADS_RGID_RIP / 8, &attr.grh.dgid, sizeof(attr.grh.dgid));
	put(in, ADS_SRC_ADDR_INDEX, attr.grh.sgid_index);
	put(in, ADS_HOP_LIMIT, attr.grh.hop_limit);
}

static void devx_to_rtr(end_t *e)
{
	uint32_t in[COMMAND_NBYTES / 4] = {0};

	to_init(e);
	put(in, QPC_MTU, PATH_MTU); /* the same numbers as in verbs */
	put(in, QPC_LOG_MSG_MAX, 30);
	put(in, QPC_REMOTE_QPN, e->peer.qpn);
	put(in, QPC_NEXT_RCV_PSN, e->peer.psn);
	put(in, QPC_LOG_RRA_MAX, LOG_RD_ATOMIC);
	put(in, QPC_MIN_RNR_NAK, RNR_TIMER);
	put_path(e, in);
	change_state(e, "INIT2RTR", INIT2RTR_QP, in, sizeof(in));
	same("state after INIT, RTR", IBV_QPS_RTR, route.state(e));
}

static void devx_to_rts(end_t *e)
{
	uint32_t in[COMMAND_NBYTES / 4] = {0};

	put(in, QPC_NEXT_SEND_PSN, e->self.psn);
	put(in, QPC_LOG_SRA_MAX, LOG_RD_ATOMIC);
	put(in, QPC_RETRY_COUNT, RETRIES);
	put(in, QPC_RNR_RETRY, RNR_RETRIES);
	put(in, ADS_ACK_TIMEOUT, ACK_TIMEOUT);
	change_state(e, "RTR2RTS", RTR2RTS_QP, in, sizeof(in));
	same("state after RTS", IBV_QPS_RTS, route.state(e));
}

static void query(end_t *e, uint32_t out[COMMAND_NBYTES / 4])
{
	uint32_t in[4] = {0};

	put(in, OPCODE, QUERY_QP);
	put(in, OBJECT, e->sq.qpn);
	errno = lib.mlx5dv_devx_obj_query(e->qp->qp, in, sizeof(in), out, COMMAND_NBYTES);
	command_must(!errno, "QUERY_QP", out);
}

static unsigned devx_state(end_t *e)
{
	uint32_t out[COMMAND_NBYTES / 4] = {0};

	query(e, out);
	return get(out, QPC_STATE);
}

/* The device's counters restart at 0. So must the records, which only the program clears. Old
 * counters in the CQ must not look like new ones. */
static void devx_reset(end_t *e)
{
	uint32_t in[4] = {0}, out[COMMAND_NBYTES / 4] = {0};

	query(e, out);
	same("WQEs not flushed yet", get(out, QPC_SW_SQ_WQEBB_COUNTER),
	     get(out, QPC_HW_SQ_WQEBB_COUNTER));
	change_state(e, "2RST", RST_QP, in, sizeof(in));
	memset(e->sq.record, 0, 2 * sizeof(*e->sq.record));
	e->sq.posted = e->rq.posted = 0;
	if (e->send_cq.collapsed)
		clear_cq(&e->send_cq);
}

static void devx_await_access_event(end_t *e)
{
	union {
		struct mlx5dv_devx_async_event_hdr header;
		uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + 64];
	} event = {{0}};
	const uint8_t *eqe = event.bytes + sizeof(event.header);
	__be32 qpn;

	if (!readable("event of the refused WRITE", e->qp->events->fd))
		return;
	same("size of the event", sizeof(event),
	     (uint64_t)lib.mlx5dv_devx_get_event(e->qp->events, &event.header, sizeof(event)));
	memcpy(&qpn, eqe + 0x38, sizeof(qpn));
	same("cookie of the event", (uintptr_t)e, event.header.cookie);
	same("event of the refused WRITE", EVENT_WQ_ACCESS, eqe[1]);
	same("QP of the event", e->sq.qpn, be32toh(qpn) & 0xffffff);
}

static void destroy(const char *what, struct mlx5dv_devx_obj *obj)
{
	same(what, 0, (uint64_t)lib.mlx5dv_devx_obj_destroy(obj));
}

static void devx_destroy(end_t *e)
{
	struct route_qp *q = e->qp;

	destroy("DESTROY_QP", q->qp);
	destroy("DESTROY_CQ", q->send_cq);
	destroy("DESTROY_CQ", q->recv_cq);
	lib.mlx5dv_devx_destroy_event_channel(q->events);
	same("mlx5dv_devx_umem_dereg", 0, (uint64_t)lib.mlx5dv_devx_umem_dereg(q->umem));
	lib.mlx5dv_devx_free_uar(q->uar);
	free(q->queues);
	free(q);
}

const route_t route = {.kinds = kinds,
		       .open = devx_open,
		       .create = devx_create,
		       .to_rtr = devx_to_rtr,
		       .to_rts = devx_to_rts,
		       .reset = devx_reset,
		       .state = devx_state,
		       .await_access_event = devx_await_access_event,
		       .destroy = devx_destroy};
