# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""A file to copy into a program. The PEs of a job are the ranks of torch.distributed, or of one of
its groups.

    import torch.distributed as dist, shmem_torch
    torch.cuda.set_device(shmem_torch.local_pe() % torch.cuda.device_count())
    torch.cuda.synchronize()          # creates the context: the heap will be on this GPU
    dist.init_process_group("nccl")
    job = shmem_torch.init(dist)      # a shmemh_t *, for an extension in C or C++
    ...
    shmem_torch.finalize(job)         # before dist.destroy_process_group, not in a destructor

torch.distributed carries the unique id only. Nothing here imports torch."""
import ctypes

ID_NBYTES = 128


class UniqueId(ctypes.Structure):
    """shmemh_uniqueid_t"""
    _fields_ = [("bytes", ctypes.c_ubyte * ID_NBYTES)]


class Attr(ctypes.Structure):
    """shmemh_attr_t; shmemh_init compares its size."""
    _fields_ = [("size", ctypes.c_uint32), ("heap_kind", ctypes.c_int32), ("pe", ctypes.c_int32),
                ("n_pes", ctypes.c_int32), ("uniqueid", ctypes.POINTER(UniqueId)),
                ("boot", ctypes.c_void_p)]


def library(path="libshmem_host.so.0", loaded={}):
    """The host library, loaded once."""
    if path not in loaded:
        host = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        host.shmemh_error_text.restype = ctypes.c_char_p
        host.shmemh_error_text.argtypes = [ctypes.c_void_p]
        host.shmemh_finalize.argtypes = [ctypes.c_void_p]
        host.shmemh_my_pe.argtypes = [ctypes.c_void_p]
        host.shmemh_n_pes.argtypes = [ctypes.c_void_p]
        loaded[path] = host
    return loaded[path]


def check(status):
    """Raise the library's line."""
    if status != 0:
        raise RuntimeError(library().shmemh_error_text(None).decode() or f"status {status}")


def local_pe():
    """The number of this process on its machine (LOCAL_RANK), for the choice of the GPU."""
    return library().shmemh_local_pe()


def init(dist, group=None):
    """Collective over the group. dist: the module torch.distributed, initialised."""
    host, unique_id, n_pes = library(), UniqueId(), dist.get_world_size(group)
    pe = dist.get_rank(group)
    message = [None]
    if pe == 0:
        status = host.shmemh_get_uniqueid(n_pes, ctypes.byref(unique_id))
        message = [bytes(unique_id.bytes) if status == 0
                   else host.shmemh_error_text(None).decode()]
    first = 0 if group is None else dist.get_global_rank(group, 0)
    dist.broadcast_object_list(message, src=first, group=group)
    if isinstance(message[0], str):
        raise RuntimeError(f"PE 0: {message[0]}")
    unique_id.bytes[:] = message[0]
    attr = Attr(ctypes.sizeof(Attr), 0, pe, n_pes, ctypes.pointer(unique_id), None)
    job = ctypes.c_void_p()
    check(host.shmemh_init(ctypes.byref(attr), ctypes.byref(job)))
    return job


def finalize(job):
    """Collective over the job's PEs."""
    check(library().shmemh_finalize(job))
