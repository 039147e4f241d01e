"""What losses are computed from: predictions and labels, and what follows from them."""

from __future__ import annotations

import numpy as np
import torch

from ...capture.open_step import OpenStep
from .arrays import plain, unsupported
from .classes import Classes
from .device import Words
from .looking import in_transform
from .loss_call import LossCall
from .observe import Observer, on_host
from .unnoticed import unnoticed

#: Of the logits of a call at most so many rows are read for ``log_partition``.
MOST_ROWS = 1024


class LossInputs:
    """Observes what losses are given.

    Args:
        observer: Who takes what is found.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._classes = Classes(observer)

    def observe(self, step: OpenStep, loss: str, call: LossCall) -> None:
        """Observe the arguments of a loss that was computed.

        Args:
            step: Where to.
            loss: The name of what it returned, such as ``loss/cross_entropy_1``.
            call: How it was called.
        """
        if in_transform():
            return  # inside of a transform even a target that is not transformed cannot be read
        name = loss.removeprefix("loss/")
        prediction, target = call.prediction, call.target
        if isinstance(prediction, torch.Tensor) and step.wants("predictions"):
            self._observer.tensor(step, f"prediction/{name}", prediction, "predictions")
        if isinstance(target, torch.Tensor) and step.wants("labels"):
            self._observer.tensor(step, f"label/{name}", target, "labels")
        if step.wants("log_partition") and call.function == "cross_entropy":
            logits = _readable(prediction)
            if logits is not None:
                self._add_log_partition(step, f"log_partition/{name}", logits)
        if step.wants("classes"):
            guessed, meant = _readable(prediction), _readable(target)
            if guessed is not None and meant is not None:
                self._classes.observe(step, name, call, guessed, meant)

    def _add_log_partition(self, step: OpenStep, name: str, logits: torch.Tensor) -> None:
        def note(words: Words) -> None:
            self._observer.scalar(step, name, words.view(np.float64)[0], "log_partition")

        with unnoticed(logits.device.type):
            words = log_partition(logits).to(torch.float64).reshape(1).view(torch.int64)
            if not on_host(words):
                self._observer.defer(step, words, note)
                return
            found = words.numpy()
        note(found)


def log_partition(logits: torch.Tensor) -> torch.Tensor:
    """Return the mean over rows of ``log(sum(exp(logits)))``, over the classes.

    The z-loss of PaLM (Chowdhery et al., 2022) keeps it near 0.

    Args:
        logits: Shape ``[classes]`` or ``[rows, classes, ...]``, any floating dtype; not empty.

    Returns:
        Natural logarithm, float32, shape ``[]``, where the logits are; of at most ``MOST_ROWS``
        evenly spaced rows, so that no second tensor as large as the logits is needed.
    """
    last = logits if logits.dim() < 2 else logits.movedim(1, -1)
    sizes = last.shape[:-1]
    num_rows = sizes.numel()
    if num_rows > MOST_ROWS:
        place = torch.arange(MOST_ROWS, device=last.device) * num_rows // MOST_ROWS
        last = last[torch.unravel_index(place, sizes)]
    return torch.logsumexp(last.to(torch.float32), -1).mean()


def _readable(value: object) -> torch.Tensor | None:
    """Return a tensor that can be computed with, ``None`` if it is none."""
    if not isinstance(value, torch.Tensor):
        return None
    value = plain(value)
    if unsupported(value) or value.layout is not torch.strided:
        return None
    return None if value.is_complex() or not value.numel() else value
