# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Recipe for Spack 1.0 and later. It builds the checkout that this file is in, also by a link."""
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class ShmemDev(CMakePackage):
    """GPU-initiated one-sided communication for people who write their own kernels: a header-only
    CUDA device library with OpenSHMEM semantics, a small C runtime, and an emulator that runs the
    same kernels on a CPU."""

    git = f"file://{pathlib.Path(__file__).resolve().parents[2]}"

    license("BSD-3-Clause", checked_by="shmem_dev authors")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libsodium")
    # Their headers when it is built; the libraries are loaded when it runs.
    depends_on("rdma-core@43:", type=("build", "run"))
    depends_on("pmix@4:", type=("build", "run"))

    conflicts("platform=darwin", msg="shmem_host needs Linux")
    conflicts("platform=windows", msg="shmem_host needs Linux")

    generator("ninja")

    def cmake_args(self):
        return [self.define("SHMEM_DEV_CUDA", "OFF"),
                self.define("BUILD_TESTING", self.run_tests)]

    def setup_run_environment(self, env):
        for name in ("rdma-core", "pmix"):
            for folder in self.spec[name].libs.directories:
                env.append_path("LD_LIBRARY_PATH", folder)
