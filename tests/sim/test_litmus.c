/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The outcomes that weak-memory mode allows and forbids, against the PTX memory model (terms:
 * litmus.h). */
#include "litmus.h"

#define N_SCHEDULES 4000

#define MP(W, R) "st.relaxed.sys x 1; " W " | " R "; ld.relaxed.sys b x", "a=1 b=0"
#define SB_OF(FENCE, OTHER)                                                                        \
	"st.relaxed.sys x 1; " FENCE "ld.relaxed.sys a y |"                                        \
	"st.relaxed.sys y 1; " OTHER "ld.relaxed.sys b x",                                         \
		"a=0 b=0"
#define SB(FENCE) SB_OF(FENCE, FENCE)
#define LB(FENCE)                                                                                  \
	"ld.relaxed.sys a x; " FENCE "st.relaxed.sys y 1 |"                                        \
	"ld.relaxed.sys b y; " FENCE "st.relaxed.sys x 1",                                         \
		"a=1 b=1"
#define IRIW(LD, FENCE)                                                                            \
	"st.relaxed.sys x 1 | st.relaxed.sys y 1 |" LD " a x; " FENCE LD " b y |" LD               \
	" c y; " FENCE LD " d x",                                                                  \
		"a=1 b=0 c=1 d=0"
#define WRC(FENCE)                                                                                 \
	"st.relaxed.sys x 1 | ld.relaxed.sys a x; " FENCE "st.relaxed.sys y 1 |"                   \
	"ld.acquire.sys b y; ld.relaxed.sys c x",                                                  \
		"a=1 b=1 c=0"
/* From the first to the second thread in any way, from there to the third by release and acquire.
 */
#define ISA2(W, R)                                                                                 \
	"st.weak x 1; " W "|" R "st.release.sys z 1 | ld.acquire.sys b z; ld.weak c x",            \
		"a=1 b=1 c=0"
#define SEQUENCE(MIDDLE)                                                                           \
	"st.weak x 1; st.release.sys y 1 | " MIDDLE " | ld.acquire.sys a y; ld.weak b x", "a=2 "   \
											  "b=0"
/* Thread 0's data, thread 1's signal, as in a put of a group. */
#define GROUP(SYNC)                                                                                \
	"st.weak x 1; bar | bar; " SYNC "st.relaxed.sys y 1 | ld.acquire.sys a y; ld.weak b x",    \
		"a=1 b=0"
/* Thread 0 writes and arrives, thread 1 arrives, thread 2 arrives last and signals, as blocks that
 * call for a grid. */
#define ARRIVALS(RELEASE, ACQUIRE, SIGNAL)                                                         \
	"st.weak x 1; " RELEASE "add.relaxed.sys g y 1 | " RELEASE "add.relaxed.sys h y 1 |"       \
	"add.relaxed.sys a y 1; " ACQUIRE SIGNAL "st.relaxed.sys z 1 |"                            \
	"ld.acquire.sys b z; ld.weak c x",                                                         \
		"a=2 b=1 c=0"

static const litmus_t table[] = {
	/* message passing: order */
	{"MP relaxed", ONE_BLOCK, MP("st.relaxed.sys y 1", "ld.relaxed.sys a y"), ALLOWED},
	{"MP relaxed", GPUS, MP("st.relaxed.sys y 1", "ld.relaxed.sys a y"), ALLOWED},
	{"MP release, acquire", ONE_BLOCK, MP("st.release.sys y 1", "ld.acquire.sys a y"),
	 FORBIDDEN},
	{"MP release, acquire", GPUS, MP("st.release.sys y 1", "ld.acquire.sys a y"), FORBIDDEN},
	{"MP release, relaxed", GPUS, MP("st.release.sys y 1", "ld.relaxed.sys a y"), ALLOWED},
	{"MP relaxed, acquire", GPUS, MP("st.relaxed.sys y 1", "ld.acquire.sys a y"), ALLOWED},
	{"MP fences", GPUS,
	 MP("fence.acq_rel.sys; st.relaxed.sys y 1", "ld.relaxed.sys a y; fence.acq_rel.sys"),
	 FORBIDDEN},
	{"MP fence, acquire", GPUS,
	 MP("fence.acq_rel.sys; st.relaxed.sys y 1", "ld.acquire.sys a y"), FORBIDDEN},
	{"MP release, fence", GPUS,
	 MP("st.release.sys y 1", "ld.relaxed.sys a y; fence.acq_rel.sys"), FORBIDDEN},
	{"MP release, fence.acquire", GPUS,
	 MP("st.release.sys y 1", "ld.relaxed.sys a y; fence.acquire.sys"), FORBIDDEN},
	{"MP writer's fence.acquire", GPUS,
	 MP("fence.acquire.sys; st.relaxed.sys y 1", "ld.acquire.sys a y"), ALLOWED},
	{"MP fence.release, acquire", GPUS,
	 MP("fence.release.sys; st.relaxed.sys y 1", "ld.acquire.sys a y"), FORBIDDEN},
	{"MP reader's fence.release", GPUS,
	 MP("st.release.sys y 1", "ld.relaxed.sys a y; fence.release.sys"), ALLOWED},
	{"MP writer's fence only", GPUS,
	 MP("fence.acq_rel.sys; st.relaxed.sys y 1", "ld.relaxed.sys a y"), ALLOWED},
	{"MP reader's fence only", GPUS,
	 MP("st.relaxed.sys y 1", "ld.relaxed.sys a y; fence.acq_rel.sys"), ALLOWED},
	{"MP fence after signal", GPUS,
	 MP("st.relaxed.sys y 1; fence.acq_rel.sys", "ld.acquire.sys a y"), ALLOWED},
	{"MP atomic signal", GPUS,
	 MP("fence.acq_rel.sys; add.relaxed.sys h y 1", "ld.acquire.sys a y"), FORBIDDEN},
	{"MP atomic signal, no fence", GPUS, MP("add.relaxed.sys h y 1", "ld.acquire.sys a y"),
	 ALLOWED},
	{"MP atomic poll", GPUS,
	 MP("st.release.sys y 1", "add.relaxed.sys a y 0; fence.acq_rel.sys"), FORBIDDEN},
	{"MP weak signal", GPUS, MP("fence.acq_rel.sys; st.weak y 1", "ld.acquire.sys a y"),
	 ALLOWED},
	{"MP weak data", GPUS,
	 "st.weak x 1; fence.acq_rel.sys; st.relaxed.sys y 1 | ld.acquire.sys a y; ld.weak b x",
	 "a=1 b=0", FORBIDDEN},

	/* message passing: scope */
	{"MP cta", ONE_BLOCK, MP("st.release.cta y 1", "ld.acquire.cta a y"), FORBIDDEN},
	{"MP cta", BLOCKS, MP("st.release.cta y 1", "ld.acquire.cta a y"), ALLOWED},
	{"MP gpu", BLOCKS, MP("st.release.gpu y 1", "ld.acquire.gpu a y"), FORBIDDEN},
	{"MP gpu", GPUS, MP("st.release.gpu y 1", "ld.acquire.gpu a y"), ALLOWED},
	{"MP cta, sys", ONE_BLOCK, MP("st.release.cta y 1", "ld.acquire.sys a y"), FORBIDDEN},
	{"MP cta, sys", BLOCKS, MP("st.release.cta y 1", "ld.acquire.sys a y"), ALLOWED},
	{"MP sys, gpu", GPUS, MP("st.release.sys y 1", "ld.acquire.gpu a y"), ALLOWED},
	{"MP fence cta, sys", BLOCKS,
	 MP("fence.acq_rel.cta; st.relaxed.sys y 1", "ld.acquire.sys a y"), ALLOWED},
	{"MP fence gpu, sys", GPUS,
	 MP("fence.acq_rel.gpu; st.relaxed.sys y 1", "ld.acquire.sys a y"), ALLOWED},
	{"MP fence gpu, sys", BLOCKS,
	 MP("fence.acq_rel.gpu; st.relaxed.sys y 1", "ld.acquire.sys a y"), FORBIDDEN},
	{"MP fence sys, signal cta", BLOCKS,
	 MP("fence.acq_rel.sys; st.relaxed.cta y 1", "ld.acquire.sys a y"), ALLOWED},
	{"MP reader's fence cta", BLOCKS,
	 MP("st.release.sys y 1", "ld.relaxed.sys a y; fence.acq_rel.cta"), ALLOWED},
	{"MP reader's fence cta", ONE_BLOCK,
	 MP("st.release.sys y 1", "ld.relaxed.sys a y; fence.acq_rel.cta"), FORBIDDEN},

	/* store buffering: only sequentially consistent fences forbid it */
	{"SB relaxed", GPUS, SB(""), ALLOWED},
	{"SB fence.acq_rel", GPUS, SB("fence.acq_rel.sys; "), ALLOWED},
	{"SB fence.sc", GPUS, SB("fence.sc.sys; "), FORBIDDEN},
	{"SB fence.sc", ONE_BLOCK, SB("fence.sc.sys; "), FORBIDDEN},
	{"SB fence.sc gpu", GPUS, SB("fence.sc.gpu; "), ALLOWED},
	{"SB fence.sc gpu", BLOCKS, SB("fence.sc.gpu; "), FORBIDDEN},
	{"SB fence.sc cta", BLOCKS, SB("fence.sc.cta; "), ALLOWED},
	{"SB fence.sc cta", ONE_BLOCK, SB("fence.sc.cta; "), FORBIDDEN},
	{"SB release, acquire", GPUS,
	 "st.release.sys x 1; ld.acquire.sys a y | st.release.sys y 1; ld.acquire.sys b x",
	 "a=0 b=0", ALLOWED},
	{"SB fence.sc on one side", GPUS,
	 "st.relaxed.sys x 1; fence.sc.sys; ld.relaxed.sys a y |"
	 "st.relaxed.sys y 1; ld.relaxed.sys b x",
	 "a=0 b=0", ALLOWED},

	{"SB fence.sc sys, gpu", BLOCKS, SB_OF("fence.sc.sys; ", "fence.sc.gpu; "), FORBIDDEN},
	{"SB fence.sc sys, gpu", GPUS, SB_OF("fence.sc.sys; ", "fence.sc.gpu; "), ALLOWED},
	{"SB fence.sc sys, cta", ONE_BLOCK, SB_OF("fence.sc.sys; ", "fence.sc.cta; "), FORBIDDEN},
	{"SB fence.sc sys, cta", BLOCKS, SB_OF("fence.sc.sys; ", "fence.sc.cta; "), ALLOWED},
	{"SB fence.sc through the block", TWO_AND_ONE,
	 "st.relaxed.sys x 1; fence.sc.cta |"
	 "ld.relaxed.sys c x; fence.sc.sys; ld.relaxed.sys a y |"
	 "st.relaxed.sys y 1; fence.sc.sys; ld.relaxed.sys b x",
	 "a=0 b=0 c=1", FORBIDDEN},
	{"SB fence.sc of another thread, between barriers", TWO_AND_ONE,
	 "st.relaxed.sys x 1; bar; bar; ld.relaxed.sys a y | bar; fence.sc.sys; bar |"
	 "st.relaxed.sys y 1; fence.sc.sys; ld.relaxed.sys b x",
	 "a=0 b=0", FORBIDDEN},
	{"SB fence.acq_rel of another thread, between barriers", TWO_AND_ONE,
	 "st.relaxed.sys x 1; bar; bar; ld.relaxed.sys a y | bar; fence.acq_rel.sys; bar |"
	 "st.relaxed.sys y 1; fence.sc.sys; ld.relaxed.sys b x",
	 "a=0 b=0", ALLOWED},

	/* load buffering */
	{"LB relaxed", GPUS, LB(""), UNSEEN},
	{"LB fences", GPUS, LB("fence.acq_rel.sys; "), FORBIDDEN},

	/* two readers of two writers */
	{"IRIW relaxed", GPUS, IRIW("ld.relaxed.sys", ""), ALLOWED},
	{"IRIW acquire", GPUS, IRIW("ld.acquire.sys", ""), ALLOWED},
	{"IRIW fence.acq_rel", GPUS, IRIW("ld.relaxed.sys", "fence.acq_rel.sys; "), ALLOWED},
	{"IRIW fence.sc", GPUS, IRIW("ld.relaxed.sys", "fence.sc.sys; "), FORBIDDEN},

	/* one word */
	{"CoRR", GPUS, "st.relaxed.sys x 1 | ld.relaxed.sys a x; ld.relaxed.sys b x", "a=1 b=0",
	 FORBIDDEN},
	{"CoRR of two", GPUS,
	 "st.relaxed.sys x 1 | st.relaxed.sys x 2 | ld.relaxed.sys a x; ld.relaxed.sys b x |"
	 "ld.relaxed.sys c x; ld.relaxed.sys d x",
	 "a=1 b=2 c=2 d=1", FORBIDDEN},
	{"CoWR", GPUS, "st.relaxed.sys x 1; ld.relaxed.sys a x | st.relaxed.sys x 2", "a=0",
	 FORBIDDEN},
	{"CoRW", GPUS, "ld.relaxed.sys a x; st.relaxed.sys x 1 | ld.relaxed.sys b x", "a=1",
	 FORBIDDEN},
	{"old value", GPUS, "st.relaxed.sys x 1; st.relaxed.sys x 2 | ld.relaxed.sys a x", "a=1",
	 ALLOWED},
	{"atomics", GPUS, "add.relaxed.sys a x 1 | add.relaxed.sys b x 1", "a=0 b=0", FORBIDDEN},

	{"CoRR ordinary", GPUS, "st.relaxed.sys x 1 | ld.weak a x; ld.weak b x", "a=1 b=0",
	 ALLOWED},
	{"CoRR of the block", BLOCKS, "st.relaxed.sys x 1 | ld.relaxed.cta a x; ld.relaxed.cta b x",
	 "a=1 b=0", ALLOWED},
	{"CoRR ordinary, after a strong one", GPUS,
	 "st.relaxed.sys x 1 | ld.relaxed.sys a x; ld.weak b x", "a=1 b=0", FORBIDDEN},
	{"atomics of the block", BLOCKS, "add.relaxed.cta a x 1 | add.relaxed.cta b x 1", "a=0 b=0",
	 UNSEEN},
	{"2 + 2W", GPUS,
	 "st.relaxed.sys x 1; st.relaxed.sys y 2; ld.relaxed.sys a y |"
	 "st.relaxed.sys y 1; st.relaxed.sys x 2; ld.relaxed.sys b x",
	 "a=1 b=1", UNSEEN},

	/* through a third thread */
	{"WRC relaxed", GPUS, WRC(""), ALLOWED},
	{"WRC fence", GPUS, WRC("fence.acq_rel.sys; "), FORBIDDEN},
	{"WRC fence.release", GPUS, WRC("fence.release.sys; "), FORBIDDEN},
	{"WRC fence.acquire", GPUS, WRC("fence.acquire.sys; "), ALLOWED},
	{"WRC fence cta", GPUS, WRC("fence.acq_rel.cta; "), ALLOWED},
	{"WRC ordinary read", GPUS,
	 "st.relaxed.sys x 1 | ld.weak a x; st.release.sys y 1 |"
	 "ld.acquire.sys b y; ld.relaxed.sys c x",
	 "a=1 b=1 c=0", ALLOWED},
	{"WRC ordinary write", GPUS,
	 "st.weak x 1 | ld.relaxed.sys a x; st.release.sys y 1 |"
	 "ld.acquire.sys b y; ld.relaxed.sys c x",
	 "a=1 b=1 c=0", ALLOWED},
	{"WRC atomic of the block", BLOCKS,
	 "st.relaxed.sys x 1 | add.relaxed.cta a x 0; st.release.sys y 1 |"
	 "ld.acquire.sys b y; ld.relaxed.sys c x",
	 "a=1 b=1 c=0", FORBIDDEN},
	{"ISA2 cta, sys", TWO_AND_ONE, ISA2("st.release.cta y 1", "ld.acquire.cta a y; "),
	 FORBIDDEN},
	{"ISA2 fences cta, sys", TWO_AND_ONE,
	 ISA2("fence.acq_rel.cta; st.relaxed.sys y 1", "ld.relaxed.sys a y; fence.acq_rel.cta; "),
	 FORBIDDEN},
	{"ISA2 cta, sys", BLOCKS, ISA2("st.release.cta y 1", "ld.acquire.cta a y; "), ALLOWED},
	{"release sequence", GPUS, SEQUENCE("add.relaxed.sys h y 1"), FORBIDDEN},
	{"release sequence, atomic of the block", GPUS, SEQUENCE("add.relaxed.cta h y 1"), ALLOWED},
	{"release sequence, release of the block", TWO_AND_ONE,
	 "st.weak x 1; st.release.cta y 1 | add.relaxed.sys h y 1 | ld.acquire.sys a y; ld.weak b "
	 "x",
	 "a=2 b=0", ALLOWED},
	{"atomic after ordinary store", GPUS,
	 "st.weak x 1; st.release.sys y 1; st.weak y 2 | add.relaxed.sys h y 1 |"
	 "ld.acquire.sys a y; ld.weak b x",
	 "a=3 b=0 h=2", ALLOWED},
	{"ordinary store after own release", GPUS,
	 "st.weak x 1; st.release.sys y 1; st.weak y 2 | ld.acquire.sys a y; ld.weak b x",
	 "a=2 b=0", ALLOWED},
	{"strong store after that", GPUS,
	 "st.weak x 1; st.release.sys y 1; st.weak y 2; st.relaxed.sys y 3 |"
	 "ld.acquire.sys a y; ld.weak b x",
	 "a=3 b=0", FORBIDDEN},
	{"store after another's release", GPUS,
	 "st.weak x 1; st.release.sys y 1 | ld.relaxed.sys h y; st.relaxed.sys y 2 |"
	 "ld.acquire.sys a y; ld.weak b x",
	 "a=2 b=0 h=1", ALLOWED},
	{"store after own release", GPUS,
	 "st.weak x 1; st.release.sys y 1; st.relaxed.sys y 2 | ld.acquire.sys a y; ld.weak b x",
	 "a=2 b=0", FORBIDDEN},
	{"acquire after own relaxed load", GPUS,
	 "st.weak x 1; st.release.sys y 1 | st.relaxed.sys y 2 |"
	 "ld.relaxed.sys a y; ld.acquire.sys c y; ld.weak b x",
	 "a=1 b=0 c=2", FORBIDDEN},
	{"acquire after polling another word", GPUS,
	 "st.weak x 1; st.release.sys y 1; st.release.sys z 1 | st.relaxed.sys y 2 |"
	 "ld.relaxed.sys a y; ld.relaxed.sys h z; ld.relaxed.sys h z; ld.relaxed.sys h z;"
	 "ld.relaxed.sys h z; ld.acquire.sys c y; ld.weak b x",
	 "a=1 b=0 c=2", FORBIDDEN},
	{"acquire of another word", GPUS,
	 "st.weak x 1; st.release.sys y 1 | ld.relaxed.sys a y; ld.acquire.sys c z; ld.weak b x",
	 "a=1 b=0", ALLOWED},
	{"arrivals, signal", BLOCKS,
	 ARRIVALS("fence.release.gpu; ", "fence.acquire.gpu; ", "fence.release.sys; "), FORBIDDEN},
	{"arrivals of the block, signal", BLOCKS,
	 ARRIVALS("fence.release.cta; ", "fence.acquire.gpu; ", "fence.release.sys; "), ALLOWED},
	{"arrivals, not acquired, signal", BLOCKS,
	 ARRIVALS("fence.release.gpu; ", "", "fence.release.sys; "), ALLOWED},
	{"barrier", ONE_BLOCK, "st.weak x 1; bar | bar; ld.weak a x", "a=0", FORBIDDEN},
	{"barrier, fence, signal", TWO_AND_ONE, GROUP("fence.acq_rel.sys; "), FORBIDDEN},
	{"barrier, fence.release, signal", TWO_AND_ONE, GROUP("fence.release.sys; "), FORBIDDEN},
	{"barrier, fence.release cta, signal", TWO_AND_ONE, GROUP("fence.release.cta; "), ALLOWED},
	{"barrier, fence.acquire, signal", TWO_AND_ONE, GROUP("fence.acquire.sys; "), ALLOWED},
	{"barrier, fence gpu, signal", TWO_AND_ONE, GROUP("fence.acq_rel.gpu; "), FORBIDDEN},
	{"barrier, fence cta, signal", TWO_AND_ONE, GROUP("fence.acq_rel.cta; "), ALLOWED},
	{"load, barrier, fence", TWO_AND_ONE,
	 "ld.relaxed.sys a y; bar | bar; fence.acq_rel.sys; ld.weak b x |"
	 "st.weak x 1; st.release.sys y 1",
	 "a=1 b=0", ALLOWED},
	{"load, fence.acquire, barrier", TWO_AND_ONE,
	 "ld.relaxed.sys a y; fence.acquire.sys; bar | bar; ld.weak b x |"
	 "st.weak x 1; st.release.sys y 1",
	 "a=1 b=0", FORBIDDEN},
	{"load, fence.release, barrier", TWO_AND_ONE,
	 "ld.relaxed.sys a y; fence.release.sys; bar | bar; ld.weak b x |"
	 "st.weak x 1; st.release.sys y 1",
	 "a=1 b=0", ALLOWED},
	{"load, fence, barrier", TWO_AND_ONE,
	 "ld.relaxed.sys a y; fence.acq_rel.sys; bar | bar; ld.weak b x |"
	 "st.weak x 1; st.release.sys y 1",
	 "a=1 b=0", FORBIDDEN},
	{"barrier, no fence, signal", TWO_AND_ONE, GROUP(""), ALLOWED},
	{"barrier, fence, barrier, another's signal", TWO_AND_ONE,
	 "st.weak x 1; bar; bar; fence.release.sys; bar; st.relaxed.sys y 1 |"
	 "bar; fence.sc.sys; bar; bar |"
	 "ld.acquire.sys a y; ld.weak b x",
	 "a=1 b=0", FORBIDDEN},
	{"barrier, fence of one, barrier, another's signal", TWO_AND_ONE,
	 "st.weak x 1; bar; bar; st.relaxed.sys y 1 | bar; fence.sc.sys; bar |"
	 "ld.acquire.sys a y; ld.weak b x",
	 "a=1 b=0", ALLOWED},
	{"fence, barrier, signal", TWO_AND_ONE,
	 "st.weak x 1; fence.acq_rel.sys; bar | bar; st.relaxed.sys y 1 |"
	 "ld.acquire.sys a y; ld.weak b x",
	 "a=1 b=0", ALLOWED},
};

#define N_ROWS (sizeof(table) / sizeof(table[0]))

static void test_table(void **state)
{
	static const char *const verdicts[] = {"allowed", "forbidden", "unseen"};
	static const char *const places[] = {"block", "blocks", "GPUs", "2 + 1"};
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	int wrong = 0;
	(void)state;
	cfg.policy = SHMEMSIM_RANDOM;
	cfg.weak = 1;
	for (size_t i = 0; i < N_ROWS; i++) {
		const litmus_t *l = &table[i];
		int seen = litmus_count(l, cfg, N_SCHEDULES);
		int is_right = (seen > 0) == (l->verdict == ALLOWED);
		print_message("%-40s %-7s %-9s seen %4d times%s\n", l->name, places[l->where],
			      verdicts[l->verdict], seen, is_right ? "" : "   WRONG");
		wrong += !is_right;
	}
	assert_int_equal(wrong, 0);
}

/* Without weak-memory mode memory is sequentially consistent: no weak outcome occurs. */
static void test_mode_off(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	cfg.policy = SHMEMSIM_RANDOM;
	for (size_t i = 0; i < N_ROWS; i++)
		if (strcmp(table[i].name, "old value") != 0)
			if (litmus_count(&table[i], cfg, 200))
				fail_msg("%s was seen", table[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_mode_off),
	};
#if SHMEMDI_CPU_TSAN
	print_message("skipped: weak memory cannot be combined with thread sanitizer\n");
	return 77;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
