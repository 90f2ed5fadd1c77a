# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""python_job.py KERNEL: one of 2 PEs that a launcher started; needs neither torch nor NumPy.
KERNEL is examples/gather_multiply.cpp of the Python package as a shared object. Every rule of
the module that a program can see is tested; a PE that finds a mistake ends with a traceback."""
import ctypes
import struct
import sys

import shmem_host
from shmem_host import ShmemError

ROWS, INNER, OUTER, BLOCKS, THREADS = 4, 8, 8, 3, 32


def refused(call, words, status=64):
    """call fails with that status, and its line has these words."""
    try:
        call()
    except ShmemError as error:
        assert error.status == status and words in str(error), (error.status, str(error))
    else:
        raise AssertionError(f"not refused: {words}")


def floats(array):
    return array.memoryview().cast("f")


class Tensor(ctypes.Structure):
    """DLManagedTensor, written a second time."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int * 2), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


def test_dlpack(job):
    array = job.zeros((2, 3), "bfloat16")
    assert array.__dlpack_device__() == (1, 0) and array.nbytes == 12
    api = ctypes.pythonapi
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api))
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_SetName", api))
    for n_taken in range(1000):  # every second capsule is dropped unused
        capsule = array.__dlpack__(stream=None, max_version=(1, 0))
        at = pointer(capsule, b"dltensor")
        tensor = Tensor.from_address(at)
        assert tensor.data == array.pointer and tuple(tensor.device) == (1, 0)
        assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes) == (2, 4, 16, 1)
        assert tensor.shape[:2] == [2, 3] and tensor.strides is None and tensor.offset == 0
        if n_taken % 2:
            rename(capsule, b"used_dltensor")
            tensor.deleter(at)
    try:
        array.__dlpack__(copy=True)
    except BufferError:
        pass
    else:
        raise AssertionError("a copy was promised")
    array.free()


def test_memory(job):
    me, other = job.my_pe, 1 - job.my_pe
    mine = job.zeros(16, "int32")
    view = mine.memoryview().cast("i")
    assert not any(view) and mine.nbytes == 64
    job.barrier()
    theirs = (ctypes.c_int32 * 16).from_address(mine.peer_pointer(other))
    theirs[3] = 100 + me
    job.barrier()
    assert view[3] == 100 + other
    assert not job.empty(0).memoryview() and not job.zeros((2, 0)).memoryview()
    refused(lambda: job.empty(1024 * (1 + me), "uint8"), "malloc(1024 bytes)", 65)
    refused(lambda: job.zeros(4, "float80"), "must be one of")
    array = job.zeros(4, type("bool_", (), {}))  # numpy.bool_ of NumPy 1
    assert (array.dtype, array.nbytes) == ("bool", 4)
    array.free()
    assert not array.memoryview()
    refused(lambda: job.zeros((2, -1)), "negative")
    mine.free()


def test_teams(job):
    me = job.my_pe
    assert (job.world.my_pe, job.world.n_pes, job.node.n_pes) == (me, 2, 2)
    backwards = job.team([1, 0])
    assert backwards.my_pe == 1 - me
    backwards.barrier()
    assert struct.unpack_from("ii", backwards.ctx(), 8) == (1 - me, 2)
    assert struct.unpack_from("ii", job.ctx(), 8) == (me, 2)
    backwards.destroy()
    refused(backwards.ctx, "ctx_get")
    alone = job.world.split_strided(0, 1, 1)
    assert (alone is None) == (me == 1)
    row, column = job.world.split_2d(2)
    assert (row.my_pe, row.n_pes, column.n_pes) == (me, 2, 1)


def test_kernel(job, path):
    """The example's kernel: two rounds, compared with the same sums here."""
    me, n = job.my_pe, job.n_pes
    run = ctypes.CDLL(path).gather_multiply_run
    x, sig = job.zeros((n, ROWS, INNER)), job.zeros(n, "uint64")
    status = job.zeros(BLOCKS, "int32")
    w, y = (ctypes.c_float * (INNER * OUTER))(), (ctypes.c_float * (n * ROWS * OUTER))()
    w[:] = [(i * 7) % 5 - 2 for i in range(len(w))]
    for number in (1, 2):
        rows = [[(pe + 1) * number + i % 9 for i in range(ROWS * INNER)] for pe in range(n)]
        floats(x)[me * ROWS * INNER:(me + 1) * ROWS * INNER] = memoryview(
            (ctypes.c_float * (ROWS * INNER))(*rows[me])).cast("B").cast("f")
        params = job.ctx() + struct.pack(
            "PPPPPQIIII", x.pointer, ctypes.addressof(w), ctypes.addressof(y), sig.pointer,
            status.pointer, number, ROWS, INNER, OUTER, 0)
        assert run(params, BLOCKS, THREADS) == 0, job.error()
        assert not any(status.memoryview()), job.error()
        for at, value in enumerate(y):
            row, column = divmod(at, OUTER)
            pe, row = divmod(row, ROWS)
            assert value == sum(rows[pe][row * INNER + k] * w[k * OUTER + column]
                                for k in range(INNER))
        job.barrier()
    assert job.error() is None


def main():
    refused(lambda: shmem_host.init(heap="moon"), "must be auto, gpu or host")
    refused(lambda: shmem_host.init(b"short", 0, 1), "128")
    refused(lambda: shmem_host.uniqueid(0), "n_pes=0")
    with shmem_host.init() as job:
        assert job.n_pes == 2 and job.device is None
        test_memory(job)
        test_dlpack(job)
        test_teams(job)
        test_kernel(job, sys.argv[1])
        job.barrier()
        refused(lambda: shmem_host.init(shmem_host.uniqueid(2), 2, 2), "pe")
        me = job.my_pe
    job.finalize()
    refused(job.barrier, "barrier")
    with shmem_host.init(shmem_host.uniqueid(1), 0, 1) as single:
        assert single.n_pes == 1
    print(f"PE {me}: passed")


main()
