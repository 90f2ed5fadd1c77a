/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The kernels of this folder as text, for cuModuleLoadData. */
	.section .rodata
	.globl shmemhi_drive_ptx
	.hidden shmemhi_drive_ptx
shmemhi_drive_ptx:
	.incbin "drive.ptx"
	.byte 0
	.globl shmemhi_service_ptx
	.hidden shmemhi_service_ptx
shmemhi_service_ptx:
	.incbin "service.ptx"
	.byte 0
	.section .note.GNU-stack, "", %progbits
