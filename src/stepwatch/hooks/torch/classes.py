"""How often each class was meant, and how often each was taken for which."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from ...capture.open_step import OpenStep
from .device import Words
from .loss_call import LossCall
from .observe import Observer, on_host
from .unnoticed import unnoticed

#: Of more classes nothing is counted; of more than the second only the labels are.
MOST_CLASSES, MOST_CONFUSED = 1000, 100

_OF_CLASSES = ("cross_entropy", "nll_loss")
# Above what a prediction stands for the class 1: a probability of one half, or its logit.
_THRESHOLDS = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}

Counts = npt.NDArray[np.int64]


class Classes:
    """Observes the classes that losses are computed of.

    Args:
        observer: Who takes the counts.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def observe(
        self,
        step: OpenStep,
        name: str,
        call: LossCall,
        prediction: torch.Tensor,
        target: torch.Tensor,
    ) -> None:
        """Observe the classes of a call, if it is one of classification.

        Args:
            step: Where to.
            name: Of the loss, without ``loss/``.
            call: Which loss it is.
            prediction: Its prediction, dense and real.
            target: Its target, the same.
        """
        with unnoticed(prediction.device.type):
            counts = _counts_of(call, prediction, target)
            if counts is None:
                return
            note = partial(self._note, step, name, tuple(counts.shape))
            words = counts.reshape(-1)
            if not on_host(words):
                self._observer.defer(step, words, note)
                return
            found = words.numpy()
        note(found)

    def _note(self, step: OpenStep, name: str, shape: tuple[int, ...], words: Words) -> None:
        counts = words.reshape(shape)
        if counts.ndim == 2:
            self._observer.joined(step, f"confusion/{name}", "classes", counts, _sum)
            counts = counts.sum(1)
        self._observer.joined(step, f"class_count/{name}", "classes", counts, _sum)


def _counts_of(
    call: LossCall, prediction: torch.Tensor, target: torch.Tensor
) -> torch.Tensor | None:
    threshold = _THRESHOLDS.get(call.function)
    if threshold is not None:
        return binary_counts(prediction, target, threshold)
    if call.function in _OF_CLASSES:
        return class_counts(prediction, target, call.ignore_index)
    return None


def class_counts(
    prediction: torch.Tensor, target: torch.Tensor, ignore_index: int = -100
) -> torch.Tensor | None:
    """Return how often each class was meant, and what it was taken for.

    Args:
        prediction: Shape ``[classes]`` or ``[rows, classes, ...]``; the largest is the guess.
        target: The shape of ``prediction`` without that of the classes, any integer dtype; what
            is no class is left out.
        ignore_index: A class that is left out as well.

    Returns:
        int64, where the prediction is: shape ``[classes, classes]``, the class that was meant
        first; ``[classes]``, without guesses, of more than ``MOST_CONFUSED``. ``None`` for what
        is no such target, probabilities for example, and of more than ``MOST_CLASSES``.
    """
    axis = min(1, prediction.dim() - 1)
    shape = list(prediction.shape)
    num_classes = shape.pop(axis) if shape else 0
    is_index = not target.is_floating_point() and target.dtype is not torch.bool
    if not is_index or list(target.shape) != shape or not 1 < num_classes <= MOST_CLASSES:
        return None
    meant = target.to(torch.int64)
    is_class = (meant >= 0) & (meant < num_classes) & (meant != ignore_index)
    guess = prediction.argmax(axis) if num_classes <= MOST_CONFUSED else None
    return _counted(torch.where(is_class, meant, num_classes), guess, num_classes)


def binary_counts(
    prediction: torch.Tensor, target: torch.Tensor, threshold: float
) -> torch.Tensor | None:
    """Return the same of two classes, over all elements, shape ``[2, 2]``.

    Args:
        prediction: Any shape; above ``threshold`` the guess is 1.
        target: The same shape; what is neither 0 nor 1 is left out.
        threshold: Between the guesses.
    """
    if prediction.shape != target.shape:
        return None
    is_class = (target == 0) | (target == 1)
    meant = torch.where(is_class, target.to(torch.int64), 2)
    return _counted(meant, (prediction > threshold).to(torch.int64), 2)


def _counted(meant: torch.Tensor, guess: torch.Tensor | None, num_classes: int) -> torch.Tensor:
    """Count without waiting for a device: one class more is meant where nothing is."""
    width = 1 if guess is None else num_classes
    place = meant if guess is None else meant * num_classes + guess
    counts = torch.zeros((num_classes + 1) * width, dtype=torch.int64, device=place.device)
    one = torch.ones((), dtype=torch.int64, device=place.device)
    counts.scatter_add_(0, place.reshape(-1), one.expand(place.numel()))
    counts = counts[: num_classes * width]
    return counts if guess is None else counts.view(num_classes, num_classes)


def _sum(before: Counts, now: Counts) -> Counts:
    return before + now if before.shape == now.shape else now
