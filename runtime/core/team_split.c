/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Teams that a program makes, and the host collectives of a team.
 *
 * All of it runs on gathers among some PEs (shmemh_boot_t.gather_some), not on collectives of the
 * job: PEs outside have no part in it, and a PE that is gone is not waited for. Every gather ends
 * with one result on all its members, so what they conclude from it is the same everywhere.
 *
 * A team is made in three gathers among its members. In the first they choose a slot that is free
 * on all of them, so that its sync memory lies at the same offset everywhere; PEs outside may have
 * another team in that slot. The search begins after the slot that the member with the lowest world
 * number took last, so that a slot stays free for as long as possible: the NIC of a member that
 * died may still deliver a sync flag of a destroyed team. After the second gather all have zeroed
 * that memory, after the third all have a complete context. */
#include <stdio.h>
#include <string.h>
#include "core/team.h"
#include "mem/mem.h"

enum op { OP_STRIDED, OP_2D, OP_2D_END, OP_MAKE, OP_BARRIER, OP_DESTROY };

static const char *const op_names[] = {"team_split_strided", "team_split_2d", "team_split_2d",
				       "team_create",        "team_barrier",  "team_destroy"};

/* Tags. A team's own gathers have its slot, by which two teams of the same members differ. */
#define TAG_OF_TEAM(slot) ((uint64_t)(slot))
#define TAG_MAKE(round, slot) ((uint64_t)1 << 63 | (uint64_t)(round) << 32 | (uint64_t)(slot))
#define TAG_TEXTS ((uint64_t)1 << 62)

enum round { ROUND_SLOT, ROUND_MEMORY, ROUND_CTX };

/* Gather mine among a roster, into records and took_part of the scratch. */
static int gather(shmemh_t *job, const int32_t *roster, int n, uint64_t tag,
		  const shmemhi_team_record_t *mine)
{
	shmemhi_team_scratch_t *s = job->team_scratch;
	shmemh_gather_t g = {.pes = roster,
			     .n_pes = n,
			     .tag = tag,
			     .src = mine,
			     .dst = s->records,
			     .nbytes = sizeof *mine,
			     .took_part = s->took_part};

	return shmemhi_gather_some(job, &g);
}

/* At least one PE of the roster failed: gather the lines, so that every PE can name the cause. */
static int share_failure(shmemh_t *job, const int32_t *roster, int n, uint64_t tag,
			 int first_failed, const shmemhi_team_record_t *mine)
{
	int status = job->team_scratch->records[first_failed].status;
	shmemh_gather_t g = {.pes = roster,
			     .n_pes = n,
			     .tag = tag | TAG_TEXTS,
			     .src = &job->err,
			     .dst = job->texts,
			     .nbytes = sizeof *job->texts,
			     .took_part = job->team_scratch->took_part};

	if (shmemhi_gather_some(job, &g) != SHMEMH_OK || mine->status != SHMEMH_OK)
		return status;
	if (!job->team_scratch->took_part[first_failed])
		return shmemhi_fail(&job->err, status,
				    "PE %d: %s; it died, left or was cut off before it sent its "
				    "line",
				    roster[first_failed], shmemh_strerror(status));
	return shmemhi_fail(&job->err, status, "PE %d: %.*s", roster[first_failed],
			    SHMEMHI_ERR_NBYTES - 32, job->texts[first_failed].text);
}

/* Gather mine, and agree on a status: SHMEMH_OK if no PE of the roster failed, else, on all PEs,
 * that of the lowest that did. */
static int agree(shmemh_t *job, const int32_t *roster, int n, uint64_t tag,
		 const shmemhi_team_record_t *mine)
{
	const shmemhi_team_scratch_t *s = job->team_scratch;
	int status = gather(job, roster, n, tag, mine);

	for (int i = 0; i < n && status == SHMEMH_OK; i++)
		if (s->took_part[i] && s->records[i].status != SHMEMH_OK)
			return share_failure(job, roster, n, tag, i, mine);
	return status;
}

/* ---- host collectives of a team ---- */

static void describe(const shmemhi_team_record_t *r, char *text, size_t nbytes)
{
	const char *name = op_names[r->op];

	if (r->op == OP_STRIDED)
		snprintf(text, nbytes, "%s(start %d, stride %d, size %d)", name, r->args[0],
			 r->args[1], r->args[2]);
	else if (r->op == OP_2D)
		snprintf(text, nbytes, "%s(xrange %d)", name, r->args[0]);
	else
		snprintf(text, nbytes, "%s", name);
}

/* Did all members make the same call with the same arguments? */
static int compare(shmemh_t *job, const shmemhi_team_t *team)
{
	const shmemhi_team_record_t *all = job->team_scratch->records;
	char a[96], b[96];
	int first = 0;

	while (!job->team_scratch->took_part[first])
		first++; /* ends at this PE at the latest: it took part */
	for (int i = first + 1; i < team->n_pes; i++) {
		if (!job->team_scratch->took_part[i] ||
		    (all[i].op == all[first].op &&
		     memcmp(all[i].args, all[first].args, sizeof all[i].args) == 0))
			continue;
		describe(&all[first], a, sizeof a);
		describe(&all[i], b, sizeof b);
		return shmemhi_fail(&job->err, SHMEMH_ERR_MISMATCH,
				    "PE %d called %s, PE %d called %s: all members of a team make "
				    "the same calls on it, with the same arguments",
				    team->roster[first], a, team->roster[i], b);
	}
	return SHMEMH_OK;
}

/* A host collective of a team's members, those that are gone left out. */
static int call_team(shmemh_t *job, shmemhi_team_t *team, const shmemhi_team_record_t *mine)
{
	uint64_t tag = TAG_OF_TEAM(team - job->teams);
	int status = agree(job, team->roster, team->n_pes, tag, mine);

	return status == SHMEMH_OK ? compare(job, team) : status;
}

/* Begin a public call. The name is for the lines of gathers that fail. */
static void begin(shmemh_t *job, const char *call)
{
	shmemhi_begin(job);
	shmemhi_name_collective(job, call);
}

static int refuse_null(shmemh_t *job, const char *call)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
			    "%s: team, which receives the handle, is NULL", call);
}

/* ---- making a team ---- */

/* A team cannot be made with a PE that is gone. */
static int check_there(shmemh_t *job, const int32_t *roster, int n)
{
	for (int i = 0; i < n; i++)
		if (!job->team_scratch->took_part[i])
			return shmemhi_fail(&job->err, SHMEMH_ERR_PEER,
					    "PE %d died, left the job or is cut off: no team can "
					    "be made with it, make one of the others",
					    roster[i]);
	return SHMEMH_OK;
}

/* Does each member say that it has the number that it has in this PE's list? If so on all members,
 * their lists are equal. Members of different lists would write to each other's flags. */
static int check_order(shmemh_t *job, int n)
{
	const shmemhi_team_scratch_t *s = job->team_scratch;

	for (int i = 0; i < n; i++) {
		const shmemhi_team_record_t *r = &s->records[i];

		if (s->members[r->my_pe] != s->roster[i])
			return shmemhi_fail(&job->err, SHMEMH_ERR_MISMATCH,
					    "team_create: PE %d has number %d in the list of PE "
					    "%d, where PE %d has PE %d: all members pass the same "
					    "list",
					    s->roster[i], r->my_pe, s->roster[i], job->pe,
					    s->members[r->my_pe]);
	}
	return SHMEMH_OK;
}

/* Choose a slot that is free on all members; -1 with a line: there is none. */
static int choose_slot(shmemh_t *job, int n)
{
	const shmemhi_team_scratch_t *s = job->team_scratch;
	uint64_t taken = 0, behind;
	int most = 0;

	for (int i = 0; i < n; i++) {
		taken |= s->records[i].slots;
		if (__builtin_popcountll(s->records[i].slots) >
		    __builtin_popcountll(s->records[most].slots))
			most = i;
	}
	behind = ~taken >> s->records[0].next << s->records[0].next;
	if (~taken)
		return __builtin_ctzll(behind ? behind : ~taken);
	shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
		     "team: no slot is free on all members; a PE can be in %d teams at a time, and "
		     "PE %d is in %d: destroy teams that are no longer used",
		     SHMEMHI_MAX_TEAMS, s->roster[most],
		     __builtin_popcountll(s->records[most].slots));
	return -1;
}

/* The first gather. Returns SHMEMH_OK with a slot that this PE has reserved. */
static int agree_slot(shmemh_t *job, int n, int my_pe, int status, int *slot)
{
	const shmemhi_team_scratch_t *s = job->team_scratch;
	shmemhi_team_record_t mine = {.op = OP_MAKE,
				      .status = status,
				      .my_pe = my_pe,
				      .next = job->next_team_slot,
				      .slots = job->team_slots};

	status = agree(job, s->roster, n, TAG_MAKE(ROUND_SLOT, 0), &mine);
	if (status == SHMEMH_OK)
		status = check_there(job, s->roster, n);
	if (status != SHMEMH_OK)
		return status;
	*slot = choose_slot(job, n);
	if (*slot < 0)
		return SHMEMH_ERR_NO_MEMORY;
	job->team_slots |= (uint64_t)1 << *slot;
	job->next_team_slot = ((uint32_t)*slot + 1) % SHMEMHI_MAX_TEAMS;
	return SHMEMH_OK;
}

/* The second and third gather. */
static int agree_memory(shmemh_t *job, int n, int slot, shmemhi_team_t *team)
{
	const shmemhi_team_scratch_t *s = job->team_scratch;
	shmemhi_team_record_t mine = {.op = OP_MAKE};
	int status;

	mine.status = check_order(job, n);
	if (mine.status == SHMEMH_OK)
		mine.status = shmemhi_team_fill(job, team, s->members, n);
	mine.flags = team->ctx_flags;
	status = agree(job, s->roster, n, TAG_MAKE(ROUND_MEMORY, slot), &mine);
	if (status == SHMEMH_OK)
		status = check_there(job, s->roster, n);
	if (status != SHMEMH_OK)
		return status;
	for (int i = 0; i < n; i++)
		team->ctx_flags &= s->records[i].flags;
	mine.status = shmemhi_team_finish(job, team);
	status = agree(job, s->roster, n, TAG_MAKE(ROUND_CTX, slot), &mine);
	return status == SHMEMH_OK ? check_there(job, s->roster, n) : status;
}

static void unmake(shmemh_t *job, shmemhi_team_t *team, int slot)
{
	shmemhi_team_drop(job, team);
	if (slot >= 0)
		job->team_slots &= ~((uint64_t)1 << slot);
}

/* Make a team of the scratch's members [n], with this PE among them. Collective over them. status:
 * of this PE so far; if it is a failure on any member, the call fails on all. After a failure
 * nothing is left. */
static int make(shmemh_t *job, int n, int status, shmemhi_team_t *team, int *slot)
{
	const shmemhi_team_scratch_t *s = job->team_scratch;
	int my_pe = 0;

	*team = (shmemhi_team_t){0};
	*slot = -1;
	while (s->members[my_pe] != job->pe)
		my_pe++;
	shmemhi_team_sort(s->roster, s->members, n);
	status = agree_slot(job, n, my_pe, status, slot);
	if (status == SHMEMH_OK) {
		team->sync = job->teams[*slot].sync;
		team->device_copy = job->teams[*slot].device_copy;
		team->generation = job->teams[*slot].generation;
		status = agree_memory(job, n, *slot, team);
	}
	if (status != SHMEMH_OK) {
		unmake(job, team, *slot);
		*slot = -1;
	}
	return status;
}

/* ---- splits ---- */

static int check_strided(shmemh_t *job, int n, int start, int stride, int size)
{
	int64_t last = start + ((int64_t)size - 1) * stride;

	if (start < 0 || start >= n)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "team_split_strided: start is %d: the parent has PEs 0 .. %d",
				    start, n - 1);
	if (size < 1 || size > n)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "team_split_strided: size is %d: the parent has %d PEs", size,
				    n);
	if (stride == 0 && size > 1)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "team_split_strided: stride is 0: only a team of one PE can "
				    "have that, not one of %d",
				    size);
	if (last < 0 || last >= n)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "team_split_strided: start %d, stride %d, size %d: the last "
				    "member is PE %lld, the parent has PEs 0 .. %d",
				    start, stride, size, (long long)last, n - 1);
	return SHMEMH_OK;
}

/* Set the scratch's members. Returns whether this PE is one. */
static int set_strided(shmemh_t *job, const shmemhi_team_t *parent, int start, int stride, int size)
{
	int *members = job->team_scratch->members, is_member = 0;

	for (int i = 0; i < size; i++) {
		members[i] = parent->world_pe[start + i * stride];
		is_member |= members[i] == job->pe;
	}
	return is_member;
}

static int split_strided(shmemh_t *job, shmemhi_team_t *parent, const int args[3],
			 shmemh_team_t *handle)
{
	shmemhi_team_record_t mine = {.op = OP_STRIDED, .args = {args[0], args[1], args[2]}};
	shmemhi_team_t team;
	int status, slot;

	if (!handle)
		mine.status = refuse_null(job, "team_split_strided");
	status = call_team(job, parent, &mine);
	if (status == SHMEMH_OK)
		status = check_strided(job, parent->n_pes, args[0], args[1], args[2]);
	if (status != SHMEMH_OK || !set_strided(job, parent, args[0], args[1], args[2]))
		return status;
	status = make(job, args[2], SHMEMH_OK, &team, &slot);
	if (status == SHMEMH_OK)
		*handle = shmemhi_team_publish(job, &team, slot);
	return status;
}

int shmemh_team_split_strided(shmemh_t *job, shmemh_team_t parent, int start, int stride, int size,
			      shmemh_team_t *team)
{
	int args[] = {start, stride, size};
	shmemhi_team_t *p;

	if (team)
		*team = SHMEMH_TEAM_INVALID;
	if (shmemhi_refused(job, "team_split_strided"))
		return SHMEMH_ERR_ARGUMENT;
	begin(job, "team_split_strided");
	p = shmemhi_team_find(job, parent);
	if (!p)
		return shmemhi_done(job, shmemhi_fail_no_team(job, "team_split_strided", parent));
	return shmemhi_done(job, split_strided(job, p, args, team));
}

/* Make both teams, and publish them once every member of the parent has both. */
static int split_2d(shmemh_t *job, shmemhi_team_t *parent, int xrange, shmemh_team_t *x,
		    shmemh_team_t *y)
{
	shmemhi_team_record_t end = {.op = OP_2D_END};
	int n = parent->n_pes, row = parent->my_pe / xrange, column = parent->my_pe % xrange;
	int left = n - row * xrange, n_x = left < xrange ? left : xrange;
	int n_y = (n - column + xrange - 1) / xrange;
	shmemhi_team_t of_x, of_y;
	int status, slot_x, slot_y;

	set_strided(job, parent, row * xrange, 1, n_x);
	status = make(job, n_x, SHMEMH_OK, &of_x, &slot_x);
	set_strided(job, parent, column, xrange, n_y);
	end.status = make(job, n_y, status, &of_y, &slot_y);
	status = call_team(job, parent, &end);
	if (status == SHMEMH_OK)
		status = check_there(job, parent->roster, n);
	if (status == SHMEMH_OK) {
		*x = shmemhi_team_publish(job, &of_x, slot_x);
		*y = shmemhi_team_publish(job, &of_y, slot_y);
		return SHMEMH_OK;
	}
	unmake(job, &of_x, slot_x);
	unmake(job, &of_y, slot_y);
	return status;
}

int shmemh_team_split_2d(shmemh_t *job, shmemh_team_t parent, int xrange, shmemh_team_t *x,
			 shmemh_team_t *y)
{
	shmemhi_team_record_t mine = {.op = OP_2D, .args = {xrange}};
	shmemhi_team_t *p;
	int status;

	if (x)
		*x = SHMEMH_TEAM_INVALID;
	if (y)
		*y = SHMEMH_TEAM_INVALID;
	if (shmemhi_refused(job, "team_split_2d"))
		return SHMEMH_ERR_ARGUMENT;
	begin(job, "team_split_2d");
	p = shmemhi_team_find(job, parent);
	if (!p)
		return shmemhi_done(job, shmemhi_fail_no_team(job, "team_split_2d", parent));
	if (!x || !y)
		mine.status = refuse_null(job, "team_split_2d");
	status = call_team(job, p, &mine);
	if (status == SHMEMH_OK && xrange < 1)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				      "team_split_2d: xrange is %d: it is 1 or more", xrange);
	if (status == SHMEMH_OK)
		status = split_2d(job, p, xrange < p->n_pes ? xrange : p->n_pes, x, y);
	return shmemhi_done(job, status);
}

/* ---- a team of listed PEs ---- */

static int check_list(shmemh_t *job, const int *pes, int n)
{
	int is_member = 0;

	if (!pes || n < 1 || n > job->n_pes)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "team_create: pes=%p, n_pes=%d: it lists 1 .. %d PEs",
				    (const void *)pes, n, job->n_pes);
	for (int i = 0; i < n; i++) {
		if (pes[i] < 0 || pes[i] >= job->n_pes)
			return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
					    "team_create: pes[%d] is %d: the job has PEs 0 .. %d",
					    i, pes[i], job->n_pes - 1);
		for (int k = 0; k < i; k++)
			if (pes[k] == pes[i])
				return shmemhi_fail(
					&job->err, SHMEMH_ERR_ARGUMENT,
					"team_create: pes[%d] and pes[%d] are both %d: a "
					"PE is in a team once",
					k, i, pes[i]);
		is_member |= pes[i] == job->pe;
	}
	if (!is_member)
		return shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
				    "team_create: this PE, %d, is not in the list: only its "
				    "members call it",
				    job->pe);
	return SHMEMH_OK;
}

int shmemh_team_create(shmemh_t *job, const int *pes, int n_pes, shmemh_team_t *team)
{
	shmemhi_team_t made;
	int status, slot;

	if (team)
		*team = SHMEMH_TEAM_INVALID;
	if (shmemhi_refused(job, "team_create"))
		return SHMEMH_ERR_ARGUMENT;
	begin(job, "team_create");
	status = check_list(job, pes, n_pes);
	if (status != SHMEMH_OK)
		return shmemhi_done(job, status);
	memcpy(job->team_scratch->members, pes, (size_t)n_pes * sizeof *pes);
	status = make(job, n_pes, team ? SHMEMH_OK : refuse_null(job, "team_create"), &made, &slot);
	if (status == SHMEMH_OK)
		*team = shmemhi_team_publish(job, &made, slot);
	return shmemhi_done(job, status);
}

/* ---- barrier and end ---- */

int shmemh_team_barrier(shmemh_t *job, shmemh_team_t team)
{
	shmemhi_team_record_t mine = {.op = OP_BARRIER};
	shmemhi_team_t *t;
	int status;

	if (shmemhi_refused(job, "team_barrier"))
		return SHMEMH_ERR_ARGUMENT;
	begin(job, "team_barrier");
	t = shmemhi_team_find(job, team);
	if (!t)
		return shmemhi_done(job, shmemhi_fail_no_team(job, "team_barrier", team));
	status = call_team(job, t, &mine);
	for (int i = 0; i < t->n_pes && status == SHMEMH_OK; i++)
		if (!job->team_scratch->took_part[i])
			status = shmemhi_fail(&job->err, SHMEMH_ERR_PEER,
					      "team_barrier: PE %d, a member of team %d, died, "
					      "left the job or is cut off",
					      t->roster[i], team);
	return shmemhi_done(job, status);
}

int shmemh_team_destroy(shmemh_t *job, shmemh_team_t team)
{
	shmemhi_team_record_t mine = {.op = OP_DESTROY};
	shmemhi_team_t *t;
	int status;

	if (shmemhi_refused(job, "team_destroy"))
		return SHMEMH_ERR_ARGUMENT;
	if (team == SHMEMH_TEAM_INVALID)
		return SHMEMH_OK;
	begin(job, "team_destroy");
	t = shmemhi_team_find(job, team);
	if (!t)
		return shmemhi_done(job, shmemhi_fail_no_team(job, "team_destroy", team));
	if (team < SHMEMHI_N_BUILTIN_TEAMS)
		return shmemhi_done(job,
				    shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
						 "team_destroy: team %d is %s, which exists "
						 "as long as the job",
						 team,
						 team == SHMEMH_TEAM_WORLD ? "SHMEMH_TEAM_WORLD"
									   : "SHMEMH_TEAM_NODE"));
	/* The others must not use the slot again before this PE's kernels have ended, nor this PE
	 * before theirs have: their flags would count for the next team. */
	status = call_team(job, t, &mine);
	if (status == SHMEMH_OK || status == SHMEMH_ERR_PEER) /* cut off: there is no next team */
		shmemhi_team_remove(job, t);
	return shmemhi_done(job, status);
}
