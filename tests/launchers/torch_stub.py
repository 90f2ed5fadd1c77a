# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""torch_stub.py folder: 3 processes join a job by examples/bootstraps/shmem_torch.py, twice, with a
stand-in for torch.distributed whose broadcast is a file in a new folder."""
import os
import subprocess
import sys
import tempfile
import time

N_PES = 3


class Dist:
    """What shmem_torch asks of torch.distributed."""

    def __init__(self, folder, rank):
        self.folder, self.rank, self.calls = folder, rank, 0

    def get_rank(self, group):
        return self.rank

    def get_world_size(self, group):
        return N_PES

    def broadcast_object_list(self, objects, src, group):
        path = os.path.join(self.folder, str(self.calls))
        self.calls += 1
        if self.rank == src:
            with open(path + ".new", "wb") as file:
                file.write(objects[0])
            os.rename(path + ".new", path)
        while not os.path.exists(path):
            time.sleep(0.01)
        with open(path, "rb") as file:
            objects[0] = file.read()


def one_pe(modules, folder, rank):
    sys.path.insert(0, modules)
    import shmem_torch
    dist = Dist(folder, rank)
    assert shmem_torch.local_pe() == rank
    for _ in range(2):
        job = shmem_torch.init(dist)
        host = shmem_torch.library()
        assert (host.shmemh_my_pe(job), host.shmemh_n_pes(job)) == (rank, N_PES)
        shmem_torch.finalize(job)


def main():
    modules = sys.argv[1]
    if len(sys.argv) > 2:
        one_pe(modules, sys.argv[2], int(sys.argv[3]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        pes = [subprocess.Popen([sys.executable, __file__, modules, folder, str(rank)],
                                env={**os.environ, "LOCAL_RANK": str(rank)})
               for rank in range(N_PES)]
        return 1 if any([pe.wait() for pe in pes]) else 0


sys.exit(main())
