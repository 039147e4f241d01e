"""Computing with torch so that nobody notices who listens to what it computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def unnoticed(device_type: str) -> Iterator[None]:
    """Compute without gradients, outside of every mode and of autocast.

    Checkpointing that selects what it keeps, and what counts operations, would take ours for the
    model's.

    Args:
        device_type: Where it is computed, such as ``cuda``.
    """
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        if not torch.is_autocast_enabled(device_type):
            yield
            return
        with torch.autocast(device_type, enabled=False):
            yield
