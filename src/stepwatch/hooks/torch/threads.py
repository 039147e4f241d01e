"""The threads with which torch computes on a CPU: statistics are computed with them as well."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

import torch

from ...statistics import use_threads

# What the kernel calls of the OpenMP library, GNU's or one that stands in for it.
_FUNCTIONS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads", "omp_in_parallel")


def share_threads(*, shared: bool) -> None:
    """Let the statistics of large tensors be computed by all of torch's threads, or no longer.

    Torch wakes its threads for each operation, and while a hook runs they have nothing to do. As
    many are used as ``torch.set_num_threads`` allows. Only for the thread that calls this.
    """
    use_threads(_addresses() if shared else ())


@cache
def _addresses() -> tuple[int, ...]:
    """Return where the functions of torch's own OpenMP library lie; none where it has none."""
    # The very file that torch loaded: another copy would have threads of its own.
    for path in sorted(Path(torch.__file__).parent.glob("lib/lib[gi]*omp*")):
        try:
            library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            found = [getattr(library, name) for name in _FUNCTIONS]
        except (OSError, AttributeError):
            continue
        return tuple(ctypes.cast(one, ctypes.c_void_p).value or 0 for one in found)
    return ()
