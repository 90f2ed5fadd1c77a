# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# Languages, warnings, sanitizers and the libraries that we use.
include(CheckLanguage)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# shmem_dev_left_out(label reason): what this configuration leaves out. It is printed at the end.
# Where tests are built without a sanitizer it is also a skipped test with that label, except what
# bench/ leaves out, which is added after tests/.
function(shmem_dev_left_out label reason)
    set_property(GLOBAL APPEND PROPERTY SHMEM_DEV_LEFT_OUT "${label}: ${reason}")
endfunction()

function(shmem_dev_say_what_is_left_out)
    get_property(reasons GLOBAL PROPERTY SHMEM_DEV_LEFT_OUT)
    foreach(reason IN LISTS reasons)
        message(STATUS "Left out: ${reason}")
    endforeach()
endfunction()

# CUDA only if a toolkit is there: everything else builds without.
set(SHMEM_DEV_HAS_CUDA OFF)
if(NOT SHMEM_DEV_CUDA STREQUAL "OFF")
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
    endif()
    if(NOT CMAKE_CUDA_COMPILER)
        unset(CMAKE_CUDA_COMPILER CACHE) # look again: a toolkit may have come since
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(SHMEM_DEV_HAS_CUDA ON)
        if(SHMEM_DEV_PTX_ONLY)
            shmem_dev_left_out(gpu "programs for GPUs: no GPU to run them, so only compiled to PTX")
        endif()
    elseif(SHMEM_DEV_CUDA STREQUAL "ON")
        message(FATAL_ERROR "SHMEM_DEV_CUDA=ON, but no CUDA compiler was found: put nvcc on PATH, "
                "or name it by CUDACXX")
    else()
        shmem_dev_left_out(gpu "programs for GPUs (no CUDA toolkit: nvcc is not on PATH)")
    endif()
endif()

set(c_warnings -Wall -Wextra -Wpedantic -Werror)
add_compile_options(
    "$<$<COMPILE_LANGUAGE:C>:${c_warnings}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall,-Wextra>")

# The emulator switches stacks itself: under tsan it is built without instrumentation (it finds the
# sanitizer at run time and tells it about its fibers), so these flags are not global.
set(SHMEM_DEV_SANITIZE_FLAGS "")
if(SHMEM_DEV_SANITIZE STREQUAL "address")
    set(SHMEM_DEV_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
elseif(SHMEM_DEV_SANITIZE STREQUAL "thread")
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "SHMEM_DEV_SANITIZE=thread needs clang: its runtime knows fibers")
    endif()
    set(SHMEM_DEV_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
elseif(SHMEM_DEV_SANITIZE STREQUAL "fuzzer")
    set(SHMEM_DEV_SANITIZE_FLAGS -fsanitize=address,undefined,fuzzer-no-link
        -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(SHMEM_DEV_SANITIZE)
    message(FATAL_ERROR "SHMEM_DEV_SANITIZE is \"${SHMEM_DEV_SANITIZE}\": "
            "use address, thread, fuzzer or nothing")
endif()

pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(PMIX pmix)
if(NOT PMIX_FOUND)
    shmem_dev_left_out(pmix "start by PMIx: mpirun, srun (libpmix-dev is missing)")
endif()
# Headers only: the software adapter stands in for the libraries. Those of rdma-core 43 are the
# first in which mlx5dv_devx_umem_reg_ex takes a dma-buf. The libraries that programs find at run
# time may be older (runtime/ib/lib.h).
pkg_check_modules(MLX5DV libmlx5>=1.24.43 libibverbs)
set(SHMEM_DEV_HAS_MLX5DV ${MLX5DV_FOUND})
if(NOT MLX5DV_FOUND)
    shmem_dev_left_out(ib
        "NICs and the software mlx5 adapter (libibverbs-dev 43 or newer is missing)")
endif()
pkg_check_modules(JSONC IMPORTED_TARGET json-c)
if(NOT JSONC_FOUND)
    shmem_dev_left_out(examples "examples/05_survive_a_nic (libjson-c-dev is missing)")
endif()
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
if(BUILD_TESTING AND NOT CMOCKA_FOUND)
    shmem_dev_left_out(unit "most tests, of the labels unit, sim, mp, pmix, ib, netns, adapter and \
gpu (libcmocka-dev is missing)")
endif()

# Directories are globbed: whoever adds a source adds nothing here. A pattern that matches nothing
# is a mistake.
function(shmem_dev_glob out)
    set(all)
    foreach(pattern IN LISTS ARGN)
        file(GLOB sources CONFIGURE_DEPENDS LIST_DIRECTORIES false ${pattern})
        if(NOT sources)
            message(FATAL_ERROR "nothing matches ${pattern} below ${CMAKE_CURRENT_SOURCE_DIR}")
        endif()
        list(APPEND all ${sources})
    endforeach()
    set(${out} ${all} PARENT_SCOPE)
endfunction()
