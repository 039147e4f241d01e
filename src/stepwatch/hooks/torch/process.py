"""The process that trains: its rank, its threads, and what it asked of libraries it imported."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch
import torch.distributed

from ... import config
from ...capture.lifecycle import rank_and_size
from ...numerics.statistics import use_threads
from ...profile.devices import Cgroup

# Libraries that have ranks of their own, if the script imported them.
_OTHERS = ("horovod.torch", "smdistributed.dataparallel.torch.distributed")
# What the kernel calls of the OpenMP library, GNU's or one that stands in for it.
_FUNCTIONS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads", "omp_in_parallel")


def distributed_rank() -> tuple[int, int]:
    """Return the rank of this process and how many there are.

    That of ``torch.distributed`` once it is initialised, else of Horovod or SageMaker's data
    parallel library, else what the launcher said; ``(0, 1)`` when launched alone.
    """
    if is_one_of_several():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    for name in _OTHERS:
        library = sys.modules.get(name)
        if library is not None and library.is_initialized():
            horovod = hasattr(library, "size")
            size = library.size() if horovod else library.get_world_size()
            return (library.rank() if horovod else library.get_rank()), size
    return rank_and_size(config.environment())


def is_one_of_several() -> bool:
    """Return whether this process trains together with others."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def accelerate_accumulation_steps() -> int | None:
    """Return of how many micro-batches accelerate is asked to accumulate the gradients.

    ``None`` where the script has not imported it, or made no ``Accelerator``.
    """
    state = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
    options = getattr(state, "_shared_state", {}).get("plugin_kwargs")
    num_steps = options.get("num_steps") if isinstance(options, dict) else None
    return num_steps if isinstance(num_steps, int) else None


def is_cuda_used() -> bool:
    """Return whether this process uses CUDA; to ask does not initialise it."""
    used: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]  # as torch has it
    return used


def memory_use() -> Iterator[tuple[str, float]]:
    """Yield how much memory this process holds and how much there is, in bytes, by name.

    On the host it is what the process has for itself alone, without files that are mapped; where
    it uses CUDA, also what tensors hold on the current device, and what torch's allocator does.
    """
    with suppress(OSError, ValueError, IndexError):
        pages = _STATM.read_text().split()
        yield "host_memory_bytes", (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
        yield "host_memory_limit_bytes", _host_memory_bytes()
    if is_cuda_used():
        device = torch.cuda.current_device()
        yield "device_memory_bytes", torch.cuda.memory_allocated(device)
        yield "device_memory_reserved_bytes", torch.cuda.memory_reserved(device)
        limit = torch.cuda.get_device_properties(device).total_memory
        yield "device_memory_limit_bytes", limit


_STATM = Path("/proc/self/statm")


@cache
def _host_memory_bytes() -> float:
    """Return how much memory this machine has, or the control group of this process may use."""
    physical = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limits = (
        value for _, name, value in Cgroup(os.getpid()).read() if name == "memory_limit_bytes"
    )
    return min([physical, *limits])


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
