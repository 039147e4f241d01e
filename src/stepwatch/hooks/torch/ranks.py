"""Which process of a distributed training this is, as its communication library says."""

from __future__ import annotations

import sys

import torch.distributed

from ... import config
from ...capture.worker import rank_and_size

# Libraries that have ranks of their own, if the script imported them.
_OTHERS = ("horovod.torch", "smdistributed.dataparallel.torch.distributed")


def distributed_rank() -> tuple[int, int]:
    """Return the rank of this process and how many there are.

    That of ``torch.distributed`` once it is initialised, else of Horovod or SageMaker's data
    parallel library, else what the launcher said; ``(0, 1)`` when launched alone.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
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
