"""What losses are computed from: predictions, labels, and the confusion of classes."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial

import numpy as np
import numpy.typing as npt
import torch

from ....capture.open_step import OpenStep
from ....model.steps import Mode
from ...losses import LEAST_COMPARED, MOST_COMPARED, MOST_COMPARED_ELEMENTS, OF_EXPECTED
from ..autograd import is_torn, last_operation
from ..device import PackedBits
from ..events import LossCall
from ..internals import in_transform, isolated_compute
from ..observe import Observer
from ..tensors import readable

#: Of more classes nothing is counted; of more than the second only the labels are.
MOST_CLASSES, MOST_CONFUSED = 1000, 100

_OF_CLASSES = ("cross_entropy", "nll_loss")
# Above what a prediction stands for the class 1: a probability of one half, or its logit.
_THRESHOLDS = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}

# Losses that compare each element of a prediction with one of the target.
_ELEMENTWISE = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", *_THRESHOLDS})

Counts = npt.NDArray[np.int64]


class Classes:
    """Observes the classes that losses are computed of."""

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
            name: Of the loss, without ``loss/``.
            call: Which loss it is.
            prediction: Its prediction, dense and real.
        """
        with isolated_compute(prediction.device.type):
            counts = _counts_of(call, prediction, target)
            if counts is None:
                return
            packed = counts.reshape(-1)
        self._observer.defer(step, packed, partial(self._note, step, name, tuple(counts.shape)))

    def _note(self, step: OpenStep, name: str, shape: tuple[int, ...], packed: PackedBits) -> None:
        counts = packed.reshape(shape)
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
    index = meant if guess is None else meant * num_classes + guess
    counts = torch.zeros((num_classes + 1) * width, dtype=torch.int64, device=index.device)
    one = torch.ones((), dtype=torch.int64, device=index.device)
    counts.scatter_add_(0, index.reshape(-1), one.expand(index.numel()))
    counts = counts[: num_classes * width]
    return counts if guess is None else counts.view(num_classes, num_classes)


def _sum(before: Counts, now: Counts) -> Counts:
    return before + now if before.shape == now.shape else now


def _takes(call: LossCall) -> str:
    """Return the function of a loss, by the name that rules know what it takes by."""
    is_of_rates = call.function == "poisson_nll_loss" and not call.takes_logarithms
    return OF_EXPECTED if is_of_rates else call.function


def class_weights(call: LossCall) -> torch.Tensor | None:
    """Return what a loss multiplies the labels of each class by; ``None`` for nothing.

    Returns:
        Floating, shape ``[classes]``, of up to ``MOST_CLASSES`` classes.
    """
    if call.function in _OF_CLASSES:
        weights = readable(call.class_weights)
        is_known = weights is not None and weights.dim() == 1
        return weights if weights is not None and is_known and _is_few(weights) else None
    weight = readable(call.positive_weight) if call.function in _THRESHOLDS else None
    if weight is None or weight.numel() != 1:  # of several columns each has its own positives
        return None
    with isolated_compute(weight.device.type):
        return torch.cat([torch.ones_like(weight).reshape(1), weight.reshape(1)])


def _is_few(weights: torch.Tensor) -> bool:
    return 1 < weights.numel() <= MOST_CLASSES and weights.is_floating_point()


#: Of the logits of a call at most so many rows are read for ``log_partition``.
MOST_ROWS = 1024


def is_inner(call: LossCall) -> bool:
    """Return whether a loss pulls what a model makes to a constant that is given in its place.

    As a commitment loss pulls codes to the nearest of a table, ``mse_loss(quantized.detach(), z)``.
    """
    tensors = (call.prediction, call.target)
    prediction, target = (isinstance(one, torch.Tensor) and one.requires_grad for one in tensors)
    return target and not prediction


def has_blank_targets(call: LossCall) -> bool:
    """Return whether targets of a CTC loss are of the class that stands for no label.

    Such a target is never told from the gaps between others (Graves and others: Connectionist
    temporal classification, 2006).
    """
    targets, lengths = readable(call.target), call.target_lengths
    if targets is None or not targets.is_cpu:
        return False
    if targets.dim() == 2:  # padded, perhaps by the same number
        known = torch.as_tensor(lengths)
        if not known.is_cpu or known.shape != targets.shape[:1]:
            return False
        targets = targets[torch.arange(targets.shape[1]) < known[:, None]]
    return bool((targets == call.blank).any())


class LossInputs:
    """Observes what losses are given."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._classes = Classes(observer)
        self._weighted: set[str] = set()  # losses that are given weights in TRAIN

    def observe(self, step: OpenStep, loss: str, value: torch.Tensor, call: LossCall) -> None:  # noqa: ARG002
        """Observe the arguments of a loss that was computed.

        Args:
            loss: The name of what it returned, such as ``loss/cross_entropy_1``.
            value: What it returned.
            call: How it was called.
        """
        if in_transform():
            return  # inside of a transform even a target that is not transformed cannot be read
        name = loss.removeprefix("loss/")
        prediction, target, function = call.prediction, call.target, _takes(call)
        if isinstance(prediction, torch.Tensor) and step.wants("predictions"):
            self._observer.tensor(step, f"prediction/{name}", prediction, "predictions", function)
        if isinstance(target, torch.Tensor) and step.wants("labels"):
            self._observer.tensor(step, f"label/{name}", target, "labels", function)
        if step.wants("log_partition") and function == "cross_entropy":
            logits = readable(prediction)
            if logits is not None:
                self._add_log_partition(step, f"log_partition/{name}", logits)
        if step.mode is Mode.TRAIN and step.wants("setup"):
            self._note_last_operation(step, name, prediction)
            if call.function == "ctc_loss":
                with suppress(Exception):  # lengths of whatever kind
                    if has_blank_targets(call):
                        self._observer.numbers(step, {f"setup/blank_targets/{name}": 1.0}, "setup")
            if is_inner(call):
                self._observer.numbers(step, {f"setup/inner/{name}": 1.0}, "setup")
            weights = class_weights(call)
            if weights is not None:
                self._observer.tensor(step, f"setup/class_weight/{name}", weights, "setup")
        self._compare_weights(step, name, call)
        if step.wants("classes"):
            guessed, meant = readable(prediction), readable(target)
            if guessed is not None and meant is not None:
                self._classes.observe(step, name, call, guessed, meant)
            if guessed is not None and meant is not None and not is_inner(call):
                self._observe_spread(step, name, call, guessed, meant)

    def _note_last_operation(self, step: OpenStep, name: str, prediction: object) -> None:
        """Observe by which operation a prediction has a range of its own, or the wrong shape."""
        known = readable(prediction)
        if known is None:
            return
        with isolated_compute(known.device.type):
            last = last_operation(known)
            if is_torn(known):
                self._observer.numbers(step, {f"setup/reshaped/{name}": 1.0}, "setup")
        if last:
            self._observer.numbers(step, {f"setup/last_operation/{name}/{last}": 1.0}, "setup")

    def _observe_spread(
        self, step: OpenStep, name: str, call: LossCall, guessed: torch.Tensor, meant: torch.Tensor
    ) -> None:
        if call.function not in _ELEMENTWISE or not guessed.is_cpu:
            return
        with isolated_compute(guessed.device.type):
            found = relative_spread(guessed, meant, are_logits=_THRESHOLDS.get(call.function) == 0)
        if found is not None:
            self._observer.scalar(step, f"spread/{name}", found, "classes")

    def _compare_weights(self, step: OpenStep, name: str, call: LossCall) -> None:
        """Observe that a loss has weights of classes in TRAIN, and none in EVAL."""
        is_of_classes, has_threshold = call.function in _OF_CLASSES, call.function in _THRESHOLDS
        has_weights = (is_of_classes and call.class_weights is not None) or (
            has_threshold and call.positive_weight is not None
        )
        if step.mode is Mode.TRAIN and has_weights:
            self._weighted.add(name)
        elif step.mode is Mode.EVAL and name in self._weighted and not has_weights:
            self._observer.numbers(step, {f"setup/weighted/{name}": 1.0}, "setup")

    def _add_log_partition(self, step: OpenStep, name: str, logits: torch.Tensor) -> None:
        def note(packed: PackedBits) -> None:
            self._observer.scalar(step, name, packed.view(np.float64)[0], "log_partition")

        with isolated_compute(logits.device.type):
            packed = log_partition(logits).to(torch.float64).reshape(1).view(torch.int64)
        self._observer.defer(step, packed, note)


def relative_spread(
    prediction: torch.Tensor, target: torch.Tensor, *, are_logits: bool = False
) -> float | None:
    """Return how much predictions differ from sample to sample, relative to their targets.

    Args:
        prediction: Floating, shape ``[samples, ...]``.
        target: Of the same shape.
        are_logits: Predictions are logits of what targets are probabilities of.

    Returns:
        The ratio of standard deviations over samples, each the root of the mean variance over
        elements: 0 for predictions that are all alike, near 1 for good ones. ``None`` for fewer
        than ``LEAST_COMPARED`` samples or elements of each, and for targets that do not differ.
    """
    samples, shape = len(prediction) if prediction.dim() else 0, prediction.shape[1:]
    is_enough = min(samples, shape.numel()) >= LEAST_COMPARED
    if prediction.shape != target.shape or not (is_enough and target.is_floating_point()):
        return None
    every = -(-shape.numel() // MOST_COMPARED_ELEMENTS)
    guessed, meant = (
        one.detach()[:MOST_COMPARED].flatten(1)[:, ::every].to(torch.float32)
        for one in (prediction, target)
    )
    guessed = guessed.sigmoid() if are_logits else guessed
    variances = [one.var(0, correction=0).mean().item() for one in (guessed, meant)]
    return math.sqrt(variances[0] / variances[1]) if variances[1] > 0 else None


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
        rows = torch.arange(MOST_ROWS, device=last.device) * num_rows // MOST_ROWS
        last = last[torch.unravel_index(rows, sizes)]
    return torch.logsumexp(last.to(torch.float32), -1).mean()
