/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands of DevX with valid or modified mailboxes, in any order; entry points of verbs on
 * existing objects; rings and doorbells in between. At the end everything can be destroyed.
 *
 * Memory is freed as soon as nothing may use it: the sanitizer detects a device that does. */
#include "scene.h"

static void open_contexts(scene_t *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	assert_non_null(list);
	for (uint32_t i = 0; i < N_CONTEXTS; i++) {
		s->ctx[i] = ibv_open_device(list[0]);
		assert_non_null(s->ctx[i]);
	}
	ibv_free_device_list(list);
}

/* Objects that most inputs need first: steps of scene.h, with their bytes. */
typedef struct first {
	uint8_t is_verbs, step, bytes[4];
} first_t;

static const first_t firsts[] = {
	{0, 1, {0}}, {0, 2, {0}}, {0, 3, {0}},    {0, 4, {0}}, {0, 5, {0}},
	{0, 5, {1}}, {0, 6, {0}}, {1, 0, {0}},    {1, 1, {0}}, {1, 2, {0}},
	{1, 3, {0}}, {1, 3, {1}}, {1, 5, {0, 1}},
};

static void make_first(scene_t *s)
{
	const uint32_t kinds = fuzz_below(&s->in, 4); /* 1: of DevX, 2: of verbs */
	const fuzz_input_t rest = s->in;

	for (uint32_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		const first_t *f = &firsts[i];

		s->in = (fuzz_input_t){f->bytes, f->bytes + sizeof(f->bytes)};
		if (kinds & 1u << f->is_verbs)
			(f->is_verbs ? scene_verbs_steps : scene_devx_steps)[f->step](s);
	}
	s->in = rest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	scene_t s = {.in = {data, data + nbytes}};

	fuzz_start(&s.in);
	open_contexts(&s);
	make_first(&s);
	while (fuzz_has_more(&s.in)) {
		const uint32_t what = fuzz_below(&s.in, scene_n_devx_steps + scene_n_verbs_steps);

		if (what < scene_n_devx_steps)
			scene_devx_steps[what](&s);
		else
			scene_verbs_steps[what - scene_n_devx_steps](&s);
	}
	fuzz_control("clear rules");
	scene_end_verbs(&s);
	scene_end_devx(&s);
	for (uint32_t i = 0; i < N_CONTEXTS; i++)
		if (ibv_close_device(s.ctx[i]))
			fuzz_found("a device cannot be closed: %s", mlx5swi_refusal());
	adapter_stop();
	return 0;
}
