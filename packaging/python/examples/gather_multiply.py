# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""A kernel of one's own under torchrun: a ring all-gather that overlaps with a matrix product.

    torchrun --nproc-per-node 2 gather_multiply.py

On GPUs NVRTC compiles gather_multiply.h, else torch.utils.cpp_extension makes gather_multiply.cpp
a library, and the emulator runs the kernel on the CPU. The result is compared with that of
torch.distributed.all_gather and torch's product."""
import ctypes
import os
import pathlib
import struct

import torch
import torch.distributed as dist
from torch.utils import cpp_extension

import shmem_host

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3


class CpuKernel:
    """By the emulator; a block costs time, so there are few of them."""
    rows, inner, outer, blocks, threads = 8, 16, 16, 4, 32

    def __init__(self):
        library_dir = shmem_host.library_dir()
        flags = [f"-L{library_dir}", "-l:libshmem_sim.so.0", f"-Wl,-rpath,{library_dir}"]
        path = cpp_extension.load(
            "gather_multiply", [str(HERE / "gather_multiply.cpp")], is_python_module=False,
            extra_cflags=["-std=c++17", "-O2"], extra_ldflags=flags,
            extra_include_paths=[shmem_host.include_dir()])
        self.run = ctypes.CDLL(path).gather_multiply_run

    def __call__(self, params):
        if self.run(params, self.blocks, self.threads) != 0:
            raise RuntimeError("the emulator did not run the kernel")


class GpuKernel:
    """By NVRTC and the driver, of NVIDIA's Python package cuda-bindings."""
    rows, inner, outer, blocks, threads = 256, 1024, 1024, 65, 256

    def __init__(self):
        from cuda.bindings import driver
        self.driver = driver
        major, minor = torch.cuda.get_device_capability()
        cubin = compile_cubin(f"sm_{major}{minor}")
        self.module = self.call(driver.cuModuleLoadData(cubin))
        self.kernel = self.call(driver.cuModuleGetFunction(self.module, b"gather_multiply"))

    @staticmethod
    def call(result):
        """The value of a call's tuple (status, value)."""
        if int(result[0]) != 0:
            raise RuntimeError(str(result[0]))
        return result[1] if len(result) > 1 else None

    def __call__(self, params):
        value = ctypes.create_string_buffer(params, len(params))
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(value))
        stream = torch.cuda.current_stream()
        self.call(self.driver.cuLaunchKernel(
            self.kernel, self.blocks, 1, 1, self.threads, 1, 1, 0, stream.cuda_stream,
            ctypes.addressof(pointers), 0))
        stream.synchronize()


def compile_cubin(architecture):
    """gather_multiply.h by NVRTC; needs no GPU."""
    from cuda.bindings import nvrtc
    from cuda.pathfinder import find_nvidia_header_directory
    source = ('#include <shmem_dev/shmem_dev.h>\n'
              'extern "C" {\n#include "gather_multiply.h"\n}\n')
    # NVRTC has no <stdint.h>: the headers take the fixed-width types from cuda/std/cstdint.
    folders = [str(HERE), shmem_host.include_dir(), find_nvidia_header_directory("cccl")]
    options = [f"--gpu-architecture={architecture}", "--std=c++17"] + [f"-I{f}" for f in folders]
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"gather_multiply.cu", 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    if int(status) != 0:
        _, nbytes = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * nbytes
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode())
    _, nbytes = nvrtc.nvrtcGetCUBINSize(program)
    cubin = b" " * nbytes
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin


def expected(x, w, n_pes):
    """The same by torch.distributed."""
    chunks = [torch.empty_like(x) for _ in range(n_pes)]
    dist.all_gather(chunks, x)
    return torch.stack(chunks) @ w


def run(job, kernel, device):
    """ROUNDS rounds; returns the largest difference to what torch has."""
    me, n = job.my_pe, job.n_pes
    # snippet: arrays
    arrays = [job.zeros((n, kernel.rows, kernel.inner)), job.zeros(n, "uint64"),
              job.zeros(kernel.blocks, "int32")]
    x, sig, status = (torch.from_dlpack(array) for array in arrays)
    # end
    w = torch.randn(kernel.inner, kernel.outer, generator=torch.Generator().manual_seed(1))
    w, y = w.to(device), torch.empty(n, kernel.rows, kernel.outer, device=device)
    worst = 0.0
    for number in range(1, ROUNDS + 1):
        x[me] = torch.randn(kernel.rows, kernel.inner, device=device)
        # snippet: launch
        params = job.ctx() + struct.pack(
            "PPPPPQIIII", x.data_ptr(), w.data_ptr(), y.data_ptr(), sig.data_ptr(),
            status.data_ptr(), number, kernel.rows, kernel.inner, kernel.outer, 0)
        kernel(params)
        if status.any():
            raise RuntimeError(job.error() or f"status {status.tolist()}")
        # end
        want = expected(x[me].contiguous(), w, n)
        worst = max(worst, ((y - want).abs() / (1 + want.abs())).max().item())
        job.barrier()  # x is written again
    return worst


def main():
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.cuda.synchronize()  # there is a current context: the heap will be on this GPU
    dist.init_process_group("nccl" if has_gpu else "gloo")
    with shmem_host.init() as job:
        kernel = GpuKernel() if has_gpu else CpuKernel()
        worst = run(job, kernel, "cuda" if has_gpu else "cpu")
        print(f"PE {job.my_pe} of {job.n_pes}: {ROUNDS} rounds, "
              f"{'equal to' if worst < 1e-3 else 'NOT equal to'} torch's result", flush=True)
    dist.destroy_process_group()
    if worst >= 1e-3:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
