/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* SANITIZED: 1 in a build with the address or the thread sanitizer, else 0. These builds are slow,
 * and check memory and races rather than results, so tests take fewer schedules and less data. */
#ifndef TESTS_COMMON_SANITIZED_H
#define TESTS_COMMON_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
