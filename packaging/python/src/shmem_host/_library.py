# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""libshmem_host.so.0 by ctypes: its functions, structs and numbers.

The runtime is plain C with some dozens of functions, and none of them is called while kernels
communicate, so that a compiled binding would gain nothing and tie the wheel to one Python."""
import ctypes
import pathlib
from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

# Compared with the headers by tests/packages/python_env.sh.
ABI_VERSION = 2 << 16
CTX_NBYTES = 208
ERROR_NBYTES = 88
UNIQUEID_NBYTES = 128
HEAP_KINDS = {"auto": 0, "gpu": 1, "host": 2}
TEAM_INVALID, TEAM_WORLD, TEAM_NODE = -1, 0, 1
ERR_ARGUMENT, ERR_BOOTSTRAP = 64, 70

_HERE = pathlib.Path(__file__).resolve().parent
_SONAME = "libshmem_host.so.0"


class ShmemError(RuntimeError):
    """A call failed. str() is the library's line, status a number of shmem_host/status.h."""

    def __init__(self, status, line):
        super().__init__(line)
        self.status = status


class Attr(ctypes.Structure):
    """shmemh_attr_t."""
    _fields_ = [("size", c_uint32), ("heap_kind", c_int32), ("pe", c_int32), ("n_pes", c_int32),
                ("uniqueid", c_void_p), ("boot", c_void_p)]


class HeapInfo(ctypes.Structure):
    """shmemh_heap_info_t."""
    _fields_ = [("size", c_uint32), ("kind", c_int32), ("base", c_void_p), ("reserved", c_uint64),
                ("committed", c_uint64), ("used", c_uint64), ("largest", c_uint64)]


_STATUS = {  # functions that return a status
    "init": [POINTER(Attr), POINTER(c_void_p)],
    "finalize": [c_void_p],
    "barrier": [c_void_p],
    "calloc": [c_void_p, c_size_t, c_size_t, POINTER(c_void_p)],
    "malloc": [c_void_p, c_size_t, POINTER(c_void_p)],
    "free": [c_void_p, c_void_p],
    "heap_info": [c_void_p, POINTER(HeapInfo)],
    "ctx_get_abi": [c_void_p, c_int32, c_char_p, c_uint32, c_size_t],
    "error_clear": [c_void_p],
    "get_uniqueid": [c_int, c_char_p],
    "team_split_strided": [c_void_p, c_int32, c_int, c_int, c_int, POINTER(c_int32)],
    "team_split_2d": [c_void_p, c_int32, c_int, POINTER(c_int32), POINTER(c_int32)],
    "team_create": [c_void_p, POINTER(c_int), c_int, POINTER(c_int32)],
    "team_destroy": [c_void_p, c_int32],
    "team_barrier": [c_void_p, c_int32],
}
_OTHER = {  # result, arguments
    "my_pe": (c_int, [c_void_p]),
    "n_pes": (c_int, [c_void_p]),
    "ptr": (c_void_p, [c_void_p, c_void_p, c_int]),
    "team_my_pe": (c_int, [c_void_p, c_int32]),
    "team_n_pes": (c_int, [c_void_p, c_int32]),
    "error_get": (c_int, [c_void_p, c_char_p]),
    "error_format": (c_char_p, [c_char_p, c_char_p, c_size_t]),
    "error_text": (c_char_p, [c_void_p]),
    "strerror": (c_char_p, [c_int]),
}


def include_dir():
    """Folder of the device and host headers, for compilers and NVRTC."""
    return _folder("include")


def library_dir():
    """Folder of libshmem_host.so.0, libshmem_sim.so.0 and libshmem_mlx5sw.so.0."""
    return _folder("lib")


def _folder(name):
    path = _HERE / name
    if not path.is_dir():
        raise ShmemError(ERR_ARGUMENT, f"{path} does not exist: this module is not of a wheel; "
                         "ask pkg-config for the folders of shmem_dev and shmem_host")
    return str(path)


def _load():
    own = _HERE / "lib" / _SONAME
    library = ctypes.CDLL(str(own) if own.exists() else _SONAME)
    for name, arguments in _STATUS.items():
        function = getattr(library, f"shmemh_{name}")
        function.restype, function.argtypes = c_int, arguments
    for name, (result, arguments) in _OTHER.items():
        function = getattr(library, f"shmemh_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_loaded = _load()


def call(name, *arguments):
    """A function that does not return a status."""
    return getattr(_loaded, f"shmemh_{name}")(*arguments)


def check(job, name, *arguments):
    """A function that returns a status: ShmemError unless that is 0. job: whose line it is."""
    status = call(name, *arguments)
    if status != 0:
        line = call("error_text", job) or call("strerror", status)
        raise ShmemError(status, line.decode())
