"""Single numbers that may be on an accelerator."""

from __future__ import annotations

import torch

from ...capture.open_step import OpenStep
from .observe import Observer, on_host


class Scalars:
    """Observes numbers; those on an accelerator come to the host together.

    Args:
        observer: Who takes them.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._waiting: list[tuple[OpenStep, str, str, torch.Tensor]] = []

    def add(self, step: OpenStep, name: str, collection: str, value: torch.Tensor) -> None:
        """Observe a tensor of one element; one on an accelerator when ``finish`` is called."""
        if on_host(value):
            self._observer.scalar(step, name, value, collection)
        else:
            self._waiting.append((step, name, collection, value.detach().reshape(())))

    def finish(self) -> None:
        """Observe those that wait."""
        waiting, self._waiting = self._waiting, []
        for device in dict.fromkeys(value.device for *_, value in waiting):
            here = [one for one in waiting if one[-1].device == device]
            numbers = torch.stack([value.to(torch.float64) for *_, value in here]).tolist()
            for (step, name, collection, _), number in zip(here, numbers, strict=True):
                self._observer.scalar(step, name, number, collection)
