# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Jobs and teams."""
import ctypes
import os
from ctypes import byref, c_int, c_int32, c_void_p

from . import _library as lib
from . import _torch
from .arrays import allocate


def uniqueid(n_pes):
    """The unique id of a job to be, as bytes, for init on each PE; its hub is a thread of this
    process, which must live as long as the job. Whoever has the bytes can join."""
    made = ctypes.create_string_buffer(lib.UNIQUEID_NBYTES)
    lib.check(None, "get_uniqueid", n_pes, made)
    return made.raw


def init(unique=None, pe=0, n_pes=0, *, group=None, heap="auto"):
    """Join a job. Collective. PEs find each other in the first of these ways that is present:

    unique      bytes of uniqueid(n_pes), with pe and n_pes;
    group       a group of torch.distributed: its ranks are the PEs;
    SHMEMH_UNIQUEID   the environment of the library's launcher;
    torch.distributed, if it is initialised: its world;
    RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as torchrun sets them: torch's store carries the
                unique id, before or without init_process_group;
    PMIx (mpirun, srun); none of them: a job of one PE.

    heap        "gpu": of the current CUDA context (torch.cuda.set_device and
                torch.cuda.synchronize first), "host", or "auto": GPU if a context is current.
    Returns a Job, also a context manager that finalizes it."""
    if heap not in lib.HEAP_KINDS:
        raise lib.ShmemError(lib.ERR_ARGUMENT, f"heap={heap!r}: must be auto, gpu or host")
    if unique is None and (group is not None or not os.environ.get("SHMEMH_UNIQUEID")):
        unique, pe, n_pes = _torch.rendezvous(group, uniqueid) or (None, pe, n_pes)
    if unique is not None and len(unique) != lib.UNIQUEID_NBYTES:
        raise lib.ShmemError(lib.ERR_ARGUMENT, f"unique has {len(unique)} bytes: must be the "
                             f"{lib.UNIQUEID_NBYTES} bytes of uniqueid()")
    buffer = None if unique is None else ctypes.create_string_buffer(unique, len(unique))
    at = None if buffer is None else ctypes.addressof(buffer)
    attr = lib.Attr(ctypes.sizeof(lib.Attr), lib.HEAP_KINDS[heap], pe, n_pes, at, None)
    handle = c_void_p()
    lib.check(None, "init", byref(attr), byref(handle))
    return Job(handle)


class Team:
    """An ordered set of PEs; its context counts them from 0."""

    def __init__(self, job, handle):
        self.job, self.handle = job, handle

    @property
    def my_pe(self):
        """This PE's number in the team."""
        return lib.call("team_my_pe", self.job.handle, self.handle)

    @property
    def n_pes(self):
        """Members."""
        return lib.call("team_n_pes", self.job.handle, self.handle)

    def barrier(self):
        """Host barrier of the members. Says nothing about kernels: synchronise streams first."""
        lib.check(self.job.handle, "team_barrier", self.job.handle, self.handle)

    def ctx(self):
        """The shmemd_ctx_t of this team as bytes, the first member of a kernel's parameters."""
        ctx = ctypes.create_string_buffer(lib.CTX_NBYTES)
        lib.check(self.job.handle, "ctx_get_abi", self.job.handle, self.handle, ctx,
                  lib.ABI_VERSION, lib.CTX_NBYTES)
        return ctx.raw

    def destroy(self):
        """Destroy the team. Collective over its members."""
        lib.check(self.job.handle, "team_destroy", self.job.handle, self.handle)
        self.handle = lib.TEAM_INVALID

    def split_strided(self, start, stride, size):
        """The team of size PEs of this one: start, start + stride, ...; None on other PEs."""
        made = c_int32(lib.TEAM_INVALID)
        lib.check(self.job.handle, "team_split_strided", self.job.handle, self.handle, start,
                  stride, size, byref(made))
        return None if made.value == lib.TEAM_INVALID else Team(self.job, made.value)

    def split_2d(self, xrange):
        """Teams of this PE's row and column, if the members lie in rows of xrange."""
        row, column = c_int32(), c_int32()
        lib.check(self.job.handle, "team_split_2d", self.job.handle, self.handle, xrange,
                  byref(row), byref(column))
        return Team(self.job, row.value), Team(self.job, column.value)


class Job:
    """This PE's handle of a job."""

    def __init__(self, handle):
        self.handle = handle
        self.world, self.node = Team(self, lib.TEAM_WORLD), Team(self, lib.TEAM_NODE)
        info = lib.HeapInfo(size=ctypes.sizeof(lib.HeapInfo))
        lib.check(handle, "heap_info", handle, byref(info))
        # Number of the GPU with the heap, None: host memory.
        self.device = _current_gpu() if info.kind == lib.HEAP_KINDS["gpu"] else None

    @property
    def my_pe(self):
        """This PE's number in the world team."""
        return lib.call("my_pe", self.handle)

    @property
    def n_pes(self):
        """PEs in the job."""
        return lib.call("n_pes", self.handle)

    def zeros(self, shape, dtype="float32"):
        """A SymmetricArray, zeroed on every PE before this returns on any."""
        return allocate(self, "calloc", shape, dtype)

    def empty(self, shape, dtype="float32"):
        """A SymmetricArray with undefined contents."""
        return allocate(self, "malloc", shape, dtype)

    def barrier(self):
        """Host barrier of all PEs. Says nothing about kernels: synchronise streams first."""
        lib.check(self.handle, "barrier", self.handle)

    def ctx(self):
        """The shmemd_ctx_t of the world team as bytes."""
        return self.world.ctx()

    def team(self, pes):
        """The team of these world PEs, in this order. Collective over them."""
        made, pes = c_int32(), list(pes)
        lib.check(self.handle, "team_create", self.handle, (c_int * len(pes))(*pes), len(pes),
                  byref(made))
        return Team(self, made.value)

    def error(self):
        """The line of the first error that kernels of this PE met; None: there was none."""
        record = ctypes.create_string_buffer(lib.ERROR_NBYTES)
        text = ctypes.create_string_buffer(512)
        if lib.call("error_get", self.handle, record) == 0:
            return None
        return lib.call("error_format", record, text, len(text)).decode()

    def error_clear(self):
        """Forget that error. No kernel of this PE is running."""
        lib.check(self.handle, "error_clear", self.handle)

    def finalize(self):
        """Leave the job and release everything. Collective. No kernel with a context of this job is
        running, and tensors in its heap are not used any more. A second call does nothing."""
        handle, self.handle = self.handle, None
        if handle is not None:
            lib.check(None, "finalize", handle)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.finalize()
        return False  # after a failure the other PEs may be anywhere: leave by ending


def _current_gpu():
    device = c_int()
    status = ctypes.CDLL("libcuda.so.1").cuCtxGetDevice(byref(device))
    if status != 0:
        raise lib.ShmemError(lib.ERR_ARGUMENT, f"cuCtxGetDevice: {status}: the heap is on a GPU, "
                             "but no context is current")
    return device.value
