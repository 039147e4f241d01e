"""Runs a recorded step again, and finds what each row of its batch does to loss and gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from ....formats.blackbox import Frame
from ....trial.alternatives import Alternative
from ....trial.recording import Recording
from ..internals import Loss
from ..tensors import Array
from .replay import Options, ReplayHook

_REDUCED = ("mean", "sum", "batchmean")
_MOST_ROWS = 4096
#: So many rows are looked up in the data set; so long is what is shown of one.
_MOST_CHECKED, _SHOWN = 10, 200
#: So many batches are drawn before the first of them is trained on, at most.
_MOST_AHEAD = 4


class BlameHook(ReplayHook):
    """Gives a script the steps of a recording, and takes the last one apart by rows.

    A loss of ``torch.nn.functional`` is computed once more without its reduction, which gives the
    loss of each row, and then differentiated for one row after the other.

    Args:
        recording: The steps.
        options: As for ``ReplayHook``.
        drawn: The rows that were drawn last before each frame that has any, by its number.
    """

    def __init__(self, recording: Recording, options: Options, drawn: Mapping[int, Array]) -> None:
        self._drawn = drawn
        self._before_last = sum(map(len, recording.steps[:-1]))
        self._loss: torch.nn.Module | None = None  # the module that is about to be called
        self._is_busy = False
        #: ``rows``: of each row in the order of the batch its call, loss and gradient norm.
        self.facts: dict[str, Any] = {"rows": [], "refused": ""}
        super().__init__(recording, options, keep_all=True)

    def _feed(self, module: torch.nn.Module, args: Any, kwargs: Any = None) -> Any:
        self._loss = module if isinstance(module, Loss) else None
        return super()._feed(module, args, kwargs)

    def _targets_of_function(self, name: str, args: Any, kwargs: Any) -> Any:
        if self._is_busy:
            return args, kwargs
        self._loss = None
        return super()._targets_of_function(name, args, kwargs)

    def _with_targets(self, name: str, args: Any, kwargs: Any) -> Any:
        args, kwargs = super()._with_targets(name, args, kwargs)
        if self._num_forwards > self._before_last and not self.facts["refused"]:
            before, self._tracker.active = self._tracker.active, False
            self._is_busy = True
            try:
                self._take_apart(name, args, kwargs or {})
            except (RuntimeError, TypeError, ValueError) as error:
                self.facts["refused"] = f"{name} cannot be taken apart: {error}".splitlines()[0]
            finally:
                self._tracker.active, self._is_busy = before, False
        return args, kwargs

    def _unreduced(self, name: str, args: Any, kwargs: Any) -> torch.Tensor:
        """Return what a loss is before its reduction."""
        module: Any = self._loss
        if module is None:
            function = getattr(torch.nn.functional, name)
            loss: torch.Tensor = function(*args, **{**kwargs, "reduction": "none"})
            return loss
        before, module.reduction = module.reduction, "none"
        try:
            loss = module.forward(*args, **kwargs)
        finally:
            module.reduction = before
        return loss

    def _take_apart(self, name: str, args: Any, kwargs: Any) -> None:
        frame = self._forwards[self._num_forwards - 1].begin
        batch = [one for key, one in frame.arrays.items() if key.startswith("batch/") and one.ndim]
        num_rows = len(batch[0]) if batch else 0
        reduction = getattr(self._loss, "reduction", kwargs.get("reduction", "mean"))
        if not 0 < num_rows <= _MOST_ROWS or reduction not in _REDUCED:
            self.facts["refused"] = f"{name} with reduction={reduction} of {num_rows} rows"
            return
        losses = self._unreduced(name, args, kwargs)
        if losses.numel() % num_rows:
            self.facts["refused"] = f"{name} has {losses.numel()} losses for {num_rows} rows"
            return
        per_row = losses.reshape(num_rows, -1).double().sum(1)
        parameters = [one for _, one in self._tracker.names.named_parameters() if one.requires_grad]
        for row, loss in enumerate(per_row):
            gradients = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
            square: float = sum(
                float(one.double().square().sum()) for one in gradients if one is not None
            )
            fact = {"call": self._num_forwards - 1 - self._before_last, "row": row}
            self.facts["rows"].append({**fact, "loss": float(loss), "gradient": square**0.5})
        self._name_rows(frame)

    def _name_rows(self, frame: Frame) -> None:
        """Say of which rows of the script's data set the batch was made, and check it there.

        Where batches are fetched ahead, as by accelerate, the rows that were drawn last are those
        of a later batch: its own were before them.
        """
        call = self._num_forwards - 1 - self._before_last
        own = [one for one in self.facts["rows"] if one["call"] == call]
        worst = sorted(own, key=lambda one: (badness(one["loss"]), badness(one["gradient"])))[
            -_MOST_CHECKED:
        ]
        numbers = sorted(number for number in self._drawn if number <= frame.sequence)
        drawn = [self._drawn[number] for number in numbers[: -_MOST_AHEAD - 1 : -1]]
        for rows in (*drawn, *drawn[:1]):  # where none is it, that of the batch itself
            if len(rows) != len(own):
                continue
            for one in own:
                one["index"] = int(rows[one["row"]])
            if self._check(worst, frame):
                return

    def _check(self, rows: Sequence[dict[str, Any]], frame: Frame) -> bool:
        """Look rows up in the script's data set; return whether any is there what it was."""
        iterator = self._tracker.rows.iterator
        data = getattr(iterator() if iterator is not None else None, "_dataset", None)
        if data is None:
            return True
        batch = [one for key, one in frame.arrays.items() if key.startswith("batch/") and one.ndim]
        try:
            for one in rows:
                one["checked"], one["shown"] = _looked_up(data, one["index"], batch, one["row"])
        except Exception:  # noqa: BLE001  a data set is somebody's code
            return True
        return any(one["checked"] for one in rows)


def badness(number: float) -> float:
    """Return a number to sort by; what is no number is the worst."""
    return abs(number) if math.isfinite(number) else math.inf


def _looked_up(data: Any, index: int, batch: list[Array], row: int) -> tuple[bool, str]:
    """Return whether a row of a data set is that of the batch, and what it is in short.

    It is by the largest of its values: others may have a class by chance.
    """
    sample = data[index]
    values = [np.asarray(one) for one in tree_leaves(sample, is_leaf=_is_numbers) if _is_value(one)]
    most = max((value.size for value in values), default=0)
    is_it = any(
        _is_same(np.asarray(array[row]), value)
        for array in batch
        for value in values
        if value.size == most
    )
    return is_it, shorten(repr(sample), _SHOWN, placeholder=" …")


def _is_numbers(value: object) -> bool:
    """Return whether a list is one of numbers, as data sets of Hugging Face have them."""
    return isinstance(value, list) and all(isinstance(one, (int, float)) for one in value)


def _is_value(value: object) -> bool:
    return isinstance(value, (torch.Tensor, np.ndarray, int, float)) or _is_numbers(value)


def _is_same(given: Array, value: Array) -> bool:
    """Return whether a row that a model was given is a value, maybe padded at one of its ends."""
    if given.ndim == value.ndim == 1 and 0 < len(value) < len(given):
        given = (
            given[: len(value)] if _is_equal(given[: len(value)], value) else given[-len(value) :]
        )
    return given.shape == value.shape and _is_equal(given, value)


def _is_equal(given: Array, value: Array) -> bool:
    return np.array_equal(given, value, equal_nan=given.dtype.kind == value.dtype.kind == "f")


def make(recording: Recording, task: Any, change: Alternative) -> BlameHook:
    """Return the hook for a task of ``cli.replays``."""
    del change
    return BlameHook(recording, task.options, task.drawn)
