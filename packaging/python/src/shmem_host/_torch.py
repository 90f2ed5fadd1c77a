# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""The unique id by torch: over a process group, or the store that torchrun starts."""
import itertools
import os
import sys

from . import _library as lib

_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_numbers = itertools.count()
_stores = []  # a store lives as long as the process: that of rank 0 may be the server


def _made(make, n_pes):
    """What rank 0 hands out: the id and "", or b"" and the line of its failure."""
    try:
        return make(n_pes), ""
    except lib.ShmemError as error:
        return b"", str(error)


def _taken(unique, line):
    if line:
        raise lib.ShmemError(lib.ERR_BOOTSTRAP, f"rank 0 made no unique id: {line}")
    return unique


def _by_group(dist, group, make):
    pe, n_pes = dist.get_rank(group), dist.get_world_size(group)
    if pe < 0:
        raise lib.ShmemError(lib.ERR_ARGUMENT, "this rank is not in group: call init on its "
                             "members only")
    box = [_made(make, n_pes) if pe == 0 else None]
    dist.broadcast_object_list(box, src=dist.get_global_rank(group or dist.group.WORLD, 0),
                               group=group)
    return _taken(*box[0]), pe, n_pes


def _by_store(dist, make):
    if not _stores:
        _stores.append(next(dist.rendezvous("env://")))
    store, pe, n_pes = _stores[0]
    key = f"shmem_host/uniqueid/{next(_numbers)}"
    if pe == 0:
        unique, line = _made(make, n_pes)
        store.set(key, unique.hex() + " " + line)
    unique, _, line = bytes(store.get(key)).decode().partition(" ")
    return _taken(bytes.fromhex(unique), line), pe, n_pes


def rendezvous(group, make):
    """(unique id, pe, n_pes), or None if neither torch.distributed nor torchrun is in use."""
    dist = getattr(sys.modules.get("torch"), "distributed", None)
    if group is not None or (dist is not None and dist.is_available() and dist.is_initialized()):
        return _by_group(dist, group, make)
    if not all(os.environ.get(name) for name in _TORCHRUN):
        return None
    try:
        import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise lib.ShmemError(lib.ERR_BOOTSTRAP, "RANK and WORLD_SIZE are set, as torchrun does, "
                             "but torch is not installed: install it, or pass unique, pe and "
                             "n_pes") from error
    return _by_store(dist, make)
