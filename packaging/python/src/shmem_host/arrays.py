# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Arrays in the symmetric heap, which DLPack hands to torch, NumPy, JAX or CuPy without a copy."""
import ctypes
import math
from ctypes import c_char_p, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p

from . import _library as lib

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6  # DLDataTypeCode
_CPU, _CUDA = 1, 2  # DLDeviceType
_TYPES = {
    "bool": (_BOOL, 8), "bfloat16": (_BFLOAT, 16), "complex64": (_COMPLEX, 64),
    "complex128": (_COMPLEX, 128),
    **{f"int{bits}": (_INT, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (_UINT, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (_FLOAT, bits) for bits in (16, 32, 64)},
}


class _Tensor(ctypes.Structure):
    """DLManagedTensor, with the shape behind it in the same allocation."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", c_void_p), ("strides", c_void_p), ("byte_offset", c_uint64),
                ("manager", c_void_p), ("deleter", c_void_p)]


# The deleter is C's free: torch may call it when there is no interpreter any more.
_libc = ctypes.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = c_void_p, [c_size_t]
_libc.free.restype, _libc.free.argtypes = None, [c_void_p]
_FREE = ctypes.cast(_libc.free, c_void_p).value
_api = ctypes.pythonapi
_destructor_t = ctypes.PYFUNCTYPE(None, c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, _destructor_t)(
    ("PyCapsule_New", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))
_UNUSED = b"dltensor"  # who takes the tensor over renames the capsule


@_destructor_t
def _drop(capsule):
    if _is_valid(capsule, _UNUSED):
        _libc.free(_pointer(capsule, _UNUSED))


def type_name(dtype):
    """"float32" of "float32", torch.float32, numpy.float32 or numpy.dtype("float32")."""
    if isinstance(dtype, str):
        name = dtype
    else:
        name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
        name = name.removesuffix("_")  # numpy.bool_ of NumPy 1
    name = name.rpartition(".")[2]
    if name not in _TYPES:
        raise lib.ShmemError(lib.ERR_ARGUMENT, f"dtype {dtype!r}: must be one of "
                             f"{', '.join(sorted(_TYPES))}, by name or of torch or NumPy")
    return name


class SymmetricArray:
    """Memory of the symmetric heap with a shape, in C order; job.zeros and job.empty make it.

    pointer and nbytes say where it is on this PE; torch.from_dlpack(array) is a tensor on it.
    After free() or the job's finalize() no such tensor may be used any more: neither Python nor
    torch knows that the memory is gone."""

    def __init__(self, job, pointer, shape, dtype):
        self.job, self.pointer, self.shape, self.dtype = job, pointer, shape, dtype

    @property
    def nbytes(self):
        """Bytes on each PE."""
        return math.prod(self.shape) * _TYPES[self.dtype][1] // 8

    def peer_pointer(self, pe):
        """Address at which this PE sees the array of world PE pe; None: not mapped here."""
        return lib.call("ptr", self.job.handle, self.pointer, pe)

    def memoryview(self):
        """The bytes, of a heap in host memory."""
        if self.job.device is not None:
            raise lib.ShmemError(lib.ERR_ARGUMENT, "memoryview: the heap is GPU memory, which "
                                 "Python cannot read: use torch.from_dlpack")
        if not self.pointer:
            return memoryview(b"")
        return memoryview((c_uint8 * self.nbytes).from_address(self.pointer)).cast("B")

    def free(self):
        """Free it on every PE. Collective, in the same order on every PE."""
        lib.check(self.job.handle, "free", self.job.handle, self.pointer)
        self.pointer, self.shape = None, (0,)

    def __dlpack_device__(self):
        return (_CPU, 0) if self.job.device is None else (_CUDA, self.job.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        # stream changes nothing: what init and allocation write on a stream, as zeros() does on one
        # of the library's own, is complete when they return. Nor does max_version: the oldest form
        # of a capsule is one that all consumers take.
        del stream, max_version
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("symmetric memory is handed out as it is: without a copy, on "
                              f"device {self.__dlpack_device__()}")
        code, bits = _TYPES[self.dtype]
        at = _libc.malloc(ctypes.sizeof(_Tensor) + 8 * max(1, len(self.shape)))
        if not at:
            raise MemoryError
        shape = at + ctypes.sizeof(_Tensor)
        (c_int64 * len(self.shape)).from_address(shape)[:] = self.shape
        fields = _Tensor.from_address(at)
        fields.data, fields.byte_offset = self.pointer, 0
        fields.device_type, fields.device_id = self.__dlpack_device__()
        fields.ndim, fields.shape, fields.strides = len(self.shape), shape, None
        fields.code, fields.bits, fields.lanes = code, bits, 1
        fields.manager, fields.deleter = None, _FREE
        return _new(at, _UNUSED, _drop)

    def __repr__(self):
        return f"SymmetricArray(shape={self.shape}, dtype={self.dtype}, pe={self.job.my_pe})"


def allocate(job, name, shape, dtype):
    """An array by shmemh_malloc or shmemh_calloc."""
    shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    dtype = type_name(dtype)
    if any(n < 0 for n in shape):
        raise lib.ShmemError(lib.ERR_ARGUMENT, f"{name} {shape}: a dimension is negative")
    array = SymmetricArray(job, None, shape, dtype)
    at = c_void_p()
    sizes = (1, array.nbytes) if name == "calloc" else (array.nbytes,)
    lib.check(job.handle, name, job.handle, *sizes, ctypes.byref(at))
    array.pointer = at.value
    return array
