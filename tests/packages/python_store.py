# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Under torchrun, without init_process_group: two jobs, one after the other; then a third one by a
group of one rank, and what every consumer of DLPack must see."""
import torch
import torch.distributed as dist

import shmem_host

for number in range(2):
    with shmem_host.init() as job:
        me, n = job.my_pe, job.n_pes
        for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool):
            array = job.zeros((3, 5), dtype)
            tensor = torch.from_dlpack(array)
            assert tensor.dtype == dtype and tensor.shape == (3, 5), (tensor.dtype, tensor.shape)
            assert tensor.data_ptr() == array.pointer and not tensor.any()
            tensor[1, 2] = 1
            peer = array.peer_pointer(1 - me)
            assert peer not in (None, array.pointer)
            del tensor
            array.free()
dist.init_process_group("gloo")
own = [dist.new_group([rank]) for rank in range(n)][me]
with shmem_host.init(group=own) as single:
    assert (single.my_pe, single.n_pes) == (0, 1)
with shmem_host.init() as job:
    assert (job.my_pe, job.n_pes) == (me, n)
dist.destroy_process_group()
print(f"PE {me} of {n}: 2 jobs by the store", flush=True)
