# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""GPU-initiated one-sided communication: the host side of jobs, for kernels of one's own.

    with shmem_host.init() as job:
        x = torch.from_dlpack(job.zeros((job.n_pes, 1024), "float32"))
        params = job.ctx() + struct.pack("P", x.data_ptr())
        ... launch a kernel that takes params by value, through NVRTC or an extension ...
        job.barrier()

All methods are collective but ctx, error, error_clear, peer_pointer, memoryview and DLPack's
(__dlpack__, __dlpack_device__). The properties my_pe, n_pes and nbytes are not collective.
Failures are ShmemError with the library's line. Nothing is released by the garbage collector, since
releasing memory and leaving a job are collective, too: finalize() releases everything."""
from ._library import ShmemError, include_dir, library_dir
from .arrays import SymmetricArray
from .jobs import Job, Team, init, uniqueid

__all__ = ["Job", "ShmemError", "SymmetricArray", "Team", "include_dir", "init", "library_dir",
           "uniqueid"]
