# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# Toolchain: cross-build for aarch64 on Debian, and run the tests by qemu-user. Packages for arm64
# are those of this system (dpkg --add-architecture arm64), or are unpacked in the folder
# AARCH64_ROOT of the environment (docs/guide/aarch64.md).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(root "$ENV{AARCH64_ROOT}")
set(libraries ${root}/usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${root}")
set(emulator qemu-aarch64-static -L /usr/aarch64-linux-gnu)
if(root)
    set(CMAKE_FIND_ROOT_PATH ${root})
    set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
    set(CMAKE_C_FLAGS_INIT "-isystem ${root}/usr/include")
    foreach(kind EXE SHARED)
        set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${libraries} -Wl,-rpath-link,${libraries}")
    endforeach()
    list(APPEND emulator -E LD_LIBRARY_PATH=${libraries})
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator})
