/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* void shmemsimi_swap(void **save_sp, void *load_sp): leave the calling stack, continue another.
 *
 * Saves the registers that the ABI requires a callee to preserve. The floating point control words
 * are not saved: no fiber changes them. On x86-64 a new stack (fiber.c) holds zeros for the saved
 * registers, then the address of shmemsimi_entry, then the zero return address that ends back
 * traces; on aarch64 all saved registers are zero but x30, which is shmemsimi_entry. */
	.text
	.globl	shmemsimi_swap
	.hidden	shmemsimi_swap
	.type	shmemsimi_swap, %function
#if defined(__x86_64__)
shmemsimi_swap:
	.cfi_startproc
	endbr64
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.cfi_endproc
#elif defined(__aarch64__)
shmemsimi_swap:
	.cfi_startproc
	sub	sp, sp, #160
	stp	x19, x20, [sp, #0]
	stp	x21, x22, [sp, #16]
	stp	x23, x24, [sp, #32]
	stp	x25, x26, [sp, #48]
	stp	x27, x28, [sp, #64]
	stp	x29, x30, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	ldp	x19, x20, [sp, #0]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	add	sp, sp, #160
	ret
	.cfi_endproc
#else
#error "the emulator's fiber switch is written for x86-64 and aarch64"
#endif
	.size	shmemsimi_swap, .-shmemsimi_swap
	.section .note.GNU-stack, "", %progbits
