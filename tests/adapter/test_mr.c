/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Registration of memory: regions, dma-bufs (files stand for them), umems. */
#include "verbs.h"

#include <sys/mman.h>
#include <unistd.h>
#include "mlx5sw/engine/engine.h"

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static uint8_t memory[3 * MLX5SWI_PAGE] __attribute__((aligned(MLX5SWI_PAGE)));

static int check(const struct ibv_mr *mr, uint64_t va, uint64_t nbytes, uint32_t rights,
		 uint8_t **p)
{
	mlx5swi_mr_t *found;

	return mlx5swi_key_check(mlx5swi_context_of(ctx)->dev, (mlx5swi_pd_t *)pd, mr->rkey, va,
				 nbytes, rights, &found, p);
}

static void regions_have_keys(void **state)
{
	struct ibv_mr *a = ibv_reg_mr(pd, memory, sizeof(memory), ALL);
	struct ibv_mr *b = ibv_reg_mr(pd, memory, sizeof(memory), 0);
	uint8_t *p;

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_equal(a->addr, memory);
	assert_int_equal(a->length, sizeof(memory));
	assert_ptr_equal(a->context, ctx);
	assert_ptr_equal(a->pd, pd);
	assert_int_equal(a->lkey, a->rkey);
	assert_int_not_equal(a->lkey >> 8, b->lkey >> 8);
	assert_int_equal(check(a, (uintptr_t)memory + 5, 7, IBV_ACCESS_REMOTE_WRITE, &p),
			 MLX5SWI_KEY_OK);
	assert_ptr_equal(p, memory + 5);
	assert_int_equal(ibv_dereg_mr(a), 0);
	assert_int_equal(ibv_dereg_mr(b), 0);
}

static void stale_key(void **state)
{
	struct ibv_mr *a = ibv_reg_mr(pd, memory, 64, ALL), old = *a;
	struct ibv_mr *b;
	uint8_t *p;

	(void)state;
	assert_int_equal(ibv_dereg_mr(a), 0);
	assert_int_equal(check(&old, (uintptr_t)memory, 1, 0, &p), MLX5SWI_KEY_UNKNOWN);
	b = ibv_reg_mr(pd, memory, 64, ALL); /* the next region has another key */
	assert_int_not_equal(b->rkey, old.rkey);
	assert_int_equal(check(&old, (uintptr_t)memory, 1, 0, &p), MLX5SWI_KEY_UNKNOWN);
}

/* The low byte of a key is significant: a key is not only an index shifted by 8. */
static void variant_of_a_key(void **state)
{
	struct ibv_mr mr = *ibv_reg_mr(pd, memory, 64, ALL);
	uint8_t *p;

	(void)state;
	assert_int_not_equal(mr.rkey & 0xff, 0);
	mr.rkey ^= 1;
	assert_int_equal(check(&mr, (uintptr_t)memory, 1, 0, &p), MLX5SWI_KEY_UNKNOWN);
}

static void access_flags(void **state)
{
	/* passed through reg_mr_iova2 */
	volatile unsigned relaxed = ALL | IBV_ACCESS_RELAXED_ORDERING;
	struct ibv_mr *mr;

	(void)state;
	REFUSED(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL, "local write");
	REFUSED(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_REMOTE_ATOMIC), EINVAL, "local write");
	REFUSED(ibv_reg_mr(pd, memory, 64, ALL | IBV_ACCESS_ON_DEMAND), EOPNOTSUPP, "demand");
	REFUSED(ibv_reg_mr_iova2(pd, memory, 64, (uintptr_t)memory, 1u << 9), EINVAL, "access");
	REFUSED(ibv_reg_mr_iova2(pd, memory, 64, (uintptr_t)memory, 1u << 31), EINVAL, "access");
	assert_non_null(ibv_reg_mr(pd, memory, 64, IBV_ACCESS_REMOTE_READ));
	assert_non_null(mr = ibv_reg_mr(pd, memory, 64, relaxed));
	assert_int_equal(((mlx5swi_mr_t *)mr)->is_relaxed, 1);
	assert_non_null(mr = ibv_reg_mr(pd, memory, 64, ALL));
	assert_int_equal(((mlx5swi_mr_t *)mr)->is_relaxed, 0);
	/* Unknown optional flags are ignored. */
	assert_non_null(ibv_reg_mr_iova2(pd, memory, 64, (uintptr_t)memory, ALL | 1u << 25));
}

static void empty_or_wrapping_region(void **state)
{
	(void)state;
	REFUSED(ibv_reg_mr(pd, memory, 0, ALL), EINVAL, "empty");
	REFUSED(ibv_reg_mr(pd, (void *)(uintptr_t)-4096, 8192, ALL), EINVAL, "address space");
	REFUSED(ibv_reg_mr_iova2(pd, memory, 8192, (uint64_t)-4096, ALL), EINVAL, "address space");
	REFUSED(ibv_reg_mr_iova2(pd, (void *)(uintptr_t)-4096, 8192, 0, ALL), EINVAL,
		"address space");
}

static void iova_differs_from_address(void **state)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, memory, MLX5SWI_PAGE, 0x7000, ALL);
	uint8_t *p;

	(void)state;
	assert_non_null(mr);
	assert_int_equal(check(mr, 0x7010, 16, 0, &p), MLX5SWI_KEY_OK);
	assert_ptr_equal(p, memory + 0x10);
	assert_int_equal(check(mr, (uintptr_t)memory, 16, 0, &p), MLX5SWI_KEY_RANGE);
	assert_int_equal(check(mr, 0x6fff, 2, 0, &p), MLX5SWI_KEY_RANGE);
	REFUSED(ibv_reg_mr_iova(pd, memory, 64, 0x7001, ALL), EINVAL, "same place in a page");
	assert_non_null(mr = ibv_reg_mr(pd, memory + 1, 64, ALL | IBV_ACCESS_ZERO_BASED));
	assert_int_equal(check(mr, 0, 64, 0, &p), MLX5SWI_KEY_OK);
	assert_ptr_equal(p, memory + 1);
}

static void dmabuf(void **state)
{
	int fd = memfd_create("dma-buf", 0), again = dup(fd), unknown = memfd_create("x", 0);
	struct ibv_mr *mr;
	uint8_t *p;

	(void)state;
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, 64, 0, fd, ALL), EBADF, "mlx5sw_bind_dmabuf");
	assert_int_equal(mlx5sw_bind_dmabuf(fd, memory, sizeof(memory)), 0);
	/* iova 0 and an offset; then the address as iova: programs use both */
	assert_non_null(mr = ibv_reg_dmabuf_mr(pd, MLX5SWI_PAGE, 64, 0, fd, ALL));
	assert_int_equal(check(mr, 0, 64, 0, &p), MLX5SWI_KEY_OK);
	assert_ptr_equal(p, memory + MLX5SWI_PAGE);
	assert_non_null(mr = ibv_reg_dmabuf_mr(pd, 0, 64, (uintptr_t)memory, again, ALL));
	assert_int_equal(check(mr, (uintptr_t)memory, 64, 0, &p), MLX5SWI_KEY_OK);
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, 64, 0, unknown, ALL), EBADF, "mlx5sw_bind_dmabuf");
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, 64, 0, -1, ALL), EBADF, "mlx5sw_bind_dmabuf");
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, sizeof(memory) + 1, 0, fd, ALL), EBADF, "announced");
	REFUSED(ibv_reg_dmabuf_mr(pd, sizeof(memory), 1, 0, fd, ALL), EBADF, "announced");
	REFUSED(ibv_reg_dmabuf_mr(pd, 8, 64, 0, fd, ALL), EINVAL, "same place in a page");
	close(fd);
	close(again);
	close(unknown);
}

/* A descriptor that refers to another file by now is not a bound dma-buf. */
static void reused_dmabuf_descriptor(void **state)
{
	int fd = memfd_create("dma-buf", 0), keep = dup(fd);

	(void)state;
	assert_int_equal(mlx5sw_bind_dmabuf(fd, memory, sizeof(memory)), 0);
	close(fd);
	assert_int_equal(memfd_create("other", 0), fd);
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, 64, 0, fd, ALL), EBADF, "mlx5sw_bind_dmabuf");
	assert_non_null(ibv_reg_dmabuf_mr(pd, 0, 64, 0, keep, ALL));
	assert_int_equal(mlx5sw_bind_dmabuf(-1, memory, 1), EBADF);
	assert_int_equal(mlx5sw_bind_dmabuf(keep, NULL, 1), EINVAL);
	assert_int_equal(mlx5sw_bind_dmabuf(keep, memory, 0), EINVAL);
	close(fd);
	close(keep);
}

static void no_data_direct(void **state)
{
	char path[64];
	int fd = memfd_create("dma-buf", 0);
	struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int,
					    int);
	int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *, char *, size_t);

	(void)state;
	assert_int_equal(mlx5sw_bind_dmabuf(fd, memory, sizeof(memory)), 0);
	FAILED(mlx5dv_get_data_direct_sysfs_path(ctx, path, sizeof(path)), ENODEV, "data direct");
	REFUSED(mlx5dv_reg_dmabuf_mr(pd, 0, 64, 0, fd, ALL, 1), EOPNOTSUPP, "mlx5 access");
	assert_non_null(mlx5dv_reg_dmabuf_mr(pd, 0, 64, 0, fd, ALL, 0));
	close(fd);
}

static void pd_before_its_regions(void **state)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 64, ALL);

	(void)state;
	FAILED(ibv_dealloc_pd(pd), EBUSY, "left in it");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* The mode of a process: a thread runs the devices. */
static void enter_process(void)
{
	struct ibv_device **list;

	mlx5sw_stop();
	assert_non_null(list = ibv_get_device_list(NULL));
	assert_non_null(ctx = ibv_open_device(list[0]));
	assert_non_null(pd = ibv_alloc_pd(ctx));
	ibv_free_device_list(list);
}

/* In a process with a thread the addresses are real, and the kernel pins the pages. */
static void unmapped_memory_is_refused(void **state)
{
	uint8_t *p = mmap(NULL, 4 * MLX5SWI_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	enter_process();
	munmap(p + MLX5SWI_PAGE, MLX5SWI_PAGE);
	assert_non_null(ibv_reg_mr(pd, p + 100, MLX5SWI_PAGE - 100, ALL));
	REFUSED(ibv_reg_mr(pd, p, MLX5SWI_PAGE + 1, ALL), EFAULT, "is mapped");
	assert_non_null(mlx5dv_devx_umem_reg(ctx, p, MLX5SWI_PAGE, 1));
	REFUSED(mlx5dv_devx_umem_reg(ctx, p, MLX5SWI_PAGE + 1, 1), EFAULT, "is mapped");
	munmap(p, 4 * MLX5SWI_PAGE);
}

static void memory_freed_under_its_region(void **state)
{
	uint8_t *p = mmap(NULL, MLX5SWI_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct ibv_mr *good, *bad;

	(void)state;
	enter_process();
	assert_non_null(good = ibv_reg_mr(pd, memory, 64, ALL));
	assert_non_null(bad = ibv_reg_mr(pd, p, MLX5SWI_PAGE, ALL));
	munmap(p, MLX5SWI_PAGE);
	assert_int_equal(ibv_dereg_mr(good), 0);
	assert_null(mlx5sw_report(0));
	assert_int_equal(ibv_dereg_mr(bad), 0); /* no error: a device does not detect it */
	assert_non_null(mlx5sw_report(0));
	assert_memory_equal(mlx5sw_report(0), "M4", 2);
}

static void umem_checks(void **state)
{
	struct mlx5dv_devx_umem_in in = {.addr = memory, .size = sizeof(memory), .access = 1};
	struct mlx5dv_devx_umem *a = mlx5dv_devx_umem_reg(ctx, memory + 8, 64, 1), *b;

	(void)state;
	assert_non_null(a);
	REFUSED(mlx5dv_devx_umem_reg(ctx, memory, 0, 1), EINVAL, "0 bytes");
	REFUSED(mlx5dv_devx_umem_reg(ctx, NULL, 64, 1), EBADF, "no memory");
	REFUSED(mlx5dv_devx_umem_reg(ctx, memory, 64, IBV_ACCESS_REMOTE_ATOMIC | 1), EINVAL,
		"access");
	REFUSED(mlx5dv_devx_umem_reg(ctx, memory, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL,
		"local write");
	REFUSED(mlx5dv_devx_umem_reg_ex(ctx, &in), EINVAL, "pgsz_bitmap");
	in.pgsz_bitmap = 2048;
	REFUSED(mlx5dv_devx_umem_reg_ex(ctx, &in), EINVAL, "pgsz_bitmap");
	in.pgsz_bitmap = 65536;
	assert_non_null(b = mlx5dv_devx_umem_reg_ex(ctx, &in));
	assert_int_not_equal(a->umem_id, b->umem_id);
	in.comp_mask = 2;
	REFUSED(mlx5dv_devx_umem_reg_ex(ctx, &in), EOPNOTSUPP, "comp_mask");
	assert_int_equal(mlx5dv_devx_umem_dereg(a), 0);
	assert_int_equal(mlx5dv_devx_umem_dereg(b), 0);
}

static void umem_of_dmabuf(void **state)
{
	int fd = memfd_create("dma-buf", 0);
	struct mlx5dv_devx_umem_in in = {.addr = (void *)(uintptr_t)MLX5SWI_PAGE, /* an offset */
					 .size = MLX5SWI_PAGE,
					 .access = 1,
					 .pgsz_bitmap = MLX5SWI_PAGE,
					 .comp_mask = MLX5DV_UMEM_MASK_DMABUF,
					 .dmabuf_fd = fd};
	mlx5swi_umem_t *umem;

	(void)state;
	REFUSED(mlx5dv_devx_umem_reg_ex(ctx, &in), EBADF, "mlx5sw_bind_dmabuf");
	assert_int_equal(mlx5sw_bind_dmabuf(fd, memory, sizeof(memory)), 0);
	assert_non_null(umem = (mlx5swi_umem_t *)mlx5dv_devx_umem_reg_ex(ctx, &in));
	assert_ptr_equal(umem->p, memory + MLX5SWI_PAGE);
	in.size = sizeof(memory);
	REFUSED(mlx5dv_devx_umem_reg_ex(ctx, &in), EBADF, "mlx5sw_bind_dmabuf");
	close(fd);
}

static void umem_with_remote_access(void **state)
{
	(void)state;
	assert_non_null(mlx5dv_devx_umem_reg(ctx, memory, 64, 1));
	assert_null(mlx5sw_report(0));
	assert_non_null(mlx5dv_devx_umem_reg(ctx, memory, 64, 7));
	assert_non_null(mlx5sw_report(0));
	assert_memory_equal(mlx5sw_report(0), "S13", 3);
}

static void umem_in_use(void **state)
{
	mlx5swi_umem_t *umem = (mlx5swi_umem_t *)mlx5dv_devx_umem_reg(ctx, memory, 64, 1);

	(void)state;
	umem->refs++; /* as an object in it does */
	FAILED(mlx5dv_devx_umem_dereg(&umem->dv), EBUSY, "objects are in it");
	umem->refs--;
	assert_int_equal(mlx5dv_devx_umem_dereg(&umem->dv), 0);
}

static void uar_flags(void **state)
{
	struct mlx5dv_devx_uar *uar[3];

	(void)state;
	assert_non_null(uar[0] = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_BF));
	assert_non_null(uar[1] = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC));
	assert_non_null(uar[2] = mlx5dv_devx_alloc_uar(ctx, 1u << 31));
	REFUSED(mlx5dv_devx_alloc_uar(ctx, 2), EOPNOTSUPP, "flags");
	for (int i = 0; i < 3; i++) {
		assert_int_equal((uintptr_t)uar[i]->base_addr % MLX5SWI_PAGE, 0);
		assert_ptr_equal(uar[i]->reg_addr, (uint8_t *)uar[i]->base_addr + 0x800);
		assert_int_equal(*(uint64_t *)uar[i]->reg_addr, UINT64_MAX);
	}
	assert_int_not_equal(uar[0]->page_id, uar[1]->page_id);
	((mlx5swi_uar_t *)uar[0])->refs++;
	errno = 0;
	mlx5dv_devx_free_uar(uar[0]);
	expect_refusal(EBUSY, "queues use it");
	((mlx5swi_uar_t *)uar[0])->refs--;
	for (int i = 0; i < 3; i++)
		mlx5dv_devx_free_uar(uar[i]);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fabric_setup, fabric_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(regions_have_keys),
		TEST(stale_key),
		TEST(variant_of_a_key),
		TEST(access_flags),
		TEST(empty_or_wrapping_region),
		TEST(iova_differs_from_address),
		TEST(dmabuf),
		TEST(reused_dmabuf_descriptor),
		TEST(no_data_direct),
		TEST(pd_before_its_regions),
		TEST(unmapped_memory_is_refused),
		TEST(memory_freed_under_its_region),
		TEST(umem_checks),
		TEST(umem_of_dmabuf),
		TEST(umem_with_remote_access),
		TEST(umem_in_use),
		TEST(uar_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
