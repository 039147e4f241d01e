"""Feeds the black box: what each TRAIN step is given, and the state before it where it matters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np
import numpy.typing as npt
import torch

from ....capture.black_box import NON_FINITE
from ....capture.open_step import OpenStep
from ....capture.recorder import Recorder
from ....formats.blackbox import (
    BEGIN_FRAME,
    DATA_ROWS,
    LOSS_FRAME,
    MERGE_FRAME,
    OPTIONS,
    SNAPSHOT_FRAME,
    TRIGGER_FRAME,
)
from ....model.steps import Mode
from ..internals import call_keywords, in_transform
from ..models import Names, Optimizers, model_state
from ..observe import has_non_finite
from ..process import is_cuda_used
from ..tensors import tensors_in
from .rows import DrawnRows
from .snapshot import (
    Copies,
    optimizer_state,
    options_of,
    random_states,
    size_of,
    why_not_copied,
)

# What a frame holds beside its copies: the states of the random generators, and facts.
_FACTS_BYTES = 16 * 1024
# Each forward copies the states of the random generators.
MOST_FORWARDS = 16
Array = npt.NDArray[np.generic]
_NOTHING: Mapping[str, Array] = {}
CallParams = ParamSpec("CallParams")


def _isolate_failures(
    method: Callable[Concatenate[BlackBoxFeed, CallParams], None],
) -> Callable[Concatenate[BlackBoxFeed, CallParams], None]:
    """Make a failure of the black box its own: capturing goes on without it."""

    @wraps(method)
    def call(self: BlackBoxFeed, /, *args: CallParams.args, **kwargs: CallParams.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  whatever it is, capturing needs no box
            self.give_up(error)

    return call


class BlackBoxFeed:
    """Hands to the black box what a step would need to be run again.

    Args:
        recorder: Whose box; all this does nothing if it has none.
        names: Of what the models hold.
        optimizers: Those of the script.
        rows: Which rows of its data set a loader gave last.
    """

    def __init__(
        self, recorder: Recorder, names: Names, optimizers: Optimizers, rows: DrawnRows
    ) -> None:
        self._recorder = recorder
        self._box = recorder.black_box
        self._names = names
        self._optimizers = optimizers
        self._rows = rows
        self._mode_step = -1
        self._forward = self._calls = 0
        self._room = self._offered = 0
        self._facts: dict[str, object] = {}
        self._bad_step = -2
        self._snapshot_of = -1

    @_isolate_failures
    def begin(self, model: torch.nn.Module, step: OpenStep, inputs: object) -> None:
        """A model is about to run in a TRAIN step.

        Args:
            inputs: Its positional arguments; those by keyword are found.
        """
        if self._box is None or _is_out_of_reach():
            return
        is_first = step.mode_step != self._mode_step
        if is_first:
            self._start(step)
        self._forward += 1
        if self._forward > MOST_FORWARDS:
            self._warn_of_more_forwards(model)
            return
        copies = Copies(self._room)
        for name, tensor in _call_tensors(inputs):
            copies.add(name, tensor)
        facts, states = random_states()
        rows = self._rows.last()
        if rows is not None:
            states[DATA_ROWS] = np.array(rows, np.int64)
        meta = {
            **self._facts,
            "forward": self._forward - 1,
            "model": type(model).__name__,
            "batch": copies.described,
            "random": facts,
            "threads": torch.get_num_threads(),  # sums in another order end in other bits
        }
        if is_first and self._box.snapshot_every:
            meta[OPTIONS] = self._options()
        self._keep(BEGIN_FRAME, meta, copies, states)
        if is_first:
            self._inspect(step)

    @_isolate_failures
    def loss(
        self, what: str, args: tuple[object, ...], kwargs: Mapping[str, object] | None
    ) -> None:
        """A loss is about to be computed: keep what the model did not compute, such as targets.

        Args:
            what: The function or module that computes it.
            args: What it is given by position.
            kwargs: What it is given by keyword; of a module it is found.
        """
        if self._box is None or self._mode_step < 0 or not torch.is_grad_enabled():
            return
        if _is_out_of_reach():
            return
        copies = Copies(self._room)
        by_name = call_keywords() if kwargs is None else kwargs
        for key, value in (*enumerate(args), *by_name.items()):
            for name, tensor in tensors_in(value, f"loss/{what}/{key}"):
                if not tensor.requires_grad:
                    copies.add(name, tensor)
        self._calls += 1
        meta = {**self._facts, "loss": what, "call": self._calls - 1, "targets": copies.described}
        self._keep(LOSS_FRAME, meta, copies)

    @_isolate_failures
    def settle(self, step: OpenStep) -> None:
        """An optimizer is about to step: what was taken for the step after this one is part of it.

        So it is between the steps of a discriminator and of its generator.
        """
        if self._box is None or step.mode_step != self._mode_step - 1:
            return
        self._keep(MERGE_FRAME, {**self._facts, "into": step.mode_step}, Copies(0))
        self._mode_step, self._snapshot_of = step.mode_step, -1
        self._facts = {**self._facts, "mode_step": step.mode_step}

    @_isolate_failures
    def judge(self, step: OpenStep, name: str) -> None:
        """A loss was observed; keep the state of the TRAIN step in which it is first not finite."""
        is_ours = step.mode is Mode.TRAIN and step.mode_step == self._mode_step
        if self._box is None or not is_ours or not has_non_finite(step, name):
            return
        # It would be so at every step from here on.
        is_new, self._bad_step = self._bad_step < step.mode_step - 1, step.mode_step
        if is_new and self._box.request_dump(NON_FINITE):
            meta = {**self._facts, "reason": NON_FINITE, "loss": name}
            self._box.keep(TRIGGER_FRAME, meta, {})
            self._keep_snapshot(after_forward=True)
            step.raw_room = self._box.capacity

    def give_up(self, error: Exception) -> None:
        """Keep no more, and say so once."""
        self._box = None
        with suppress(Exception):  # a log handler is somebody's code
            logging.getLogger("stepwatch").warning(
                "training and capturing go on without what the black box keeps of a step's "
                "beginning: %s: %s",
                type(error).__name__,
                error,
            )

    def _warn_of_more_forwards(self, model: torch.nn.Module) -> None:
        """Keep a note of the first forward that is too many, and why it holds nothing."""
        if self._forward > MOST_FORWARDS + 1:
            return
        why = f"only the first {MOST_FORWARDS} forwards of a step are kept"
        described = {"forward": MOST_FORWARDS, "model": type(model).__name__, "left_out": why}
        self._keep(BEGIN_FRAME, {**self._facts, **described, "batch": {}}, Copies(0))

    def _options(self) -> dict[int, dict[str, object]]:
        """Return the options of the optimizers, which schedules change, by group."""
        return {
            number: options_of(group)
            for optimizer in self._optimizers
            if self._optimizers.has_stepped(optimizer)
            for number, group in self._optimizers.numbered_groups(optimizer)
        }

    def _start(self, step: OpenStep) -> None:
        assert self._box is not None
        self._mode_step = step.mode_step
        self._forward = self._calls = self._offered = 0
        self._room = self._box.capacity // 4
        is_next = (
            self._recorder.is_open(step.mode) and self._recorder.open_step(step.mode) is not step
        )
        self._facts = {
            "mode": "TRAIN",
            "mode_step": step.mode_step,
            # Others that are open end before it.
            "step": self._recorder.counter.peek(step.mode)[0]
            + sum(map(self._recorder.is_open, (Mode.EVAL, Mode.PREDICT)))
            + is_next,
        }

    def _inspect(self, step: OpenStep) -> None:
        """Look closely at a step that has just begun, if that is wanted."""
        assert self._box is not None
        reason, self._box.wanted = self._box.wanted, ""
        closely = bool(reason) and self._box.request_dump(reason)
        if closely:
            step.raw_room = self._box.capacity
        every = self._box.snapshot_every
        if closely or (every and step.mode_step % every == 0):
            self._keep_snapshot(after_forward=False)

    def _keep_snapshot(self, *, after_forward: bool) -> None:
        """Keep the state before the optimizers' step, if it fits beside what was kept of it."""
        assert self._box is not None
        if self._snapshot_of == self._mode_step:
            return
        self._snapshot_of = self._mode_step
        tensors = dict(model_state(self._names))
        optimizers = []
        for index, optimizer in enumerate(self._optimizers):
            facts, state = optimizer_state(index, optimizer)
            optimizers.append(facts)
            tensors |= state
        copied = [tensor for tensor in tensors.values() if why_not_copied(tensor) is None]
        meta = {**self._facts, "optimizers": optimizers, "buffers_after_forward": after_forward}
        needed = sum(map(size_of, copied))
        room = self._box.capacity * 15 // 16 - self._offered
        copies = Copies(room)
        if needed > room:
            meta["left_out"] = f"{needed} bytes of state do not fit into {room} of the black box"
        else:
            for name, tensor in tensors.items():
                copies.add(name, tensor)
            meta["missing"] = {
                n: f["left_out"] for n, f in copies.described.items() if "left_out" in f
            }
        self._keep(SNAPSHOT_FRAME, meta, copies)

    def _keep(
        self,
        kind: str,
        meta: dict[str, object],
        copies: Copies,
        more: Mapping[str, Array] = _NOTHING,
    ) -> None:
        """Keep a frame with copies, and more that is small; at once, unless it has to be waited."""
        assert self._box is not None
        size_bytes = copies.size_bytes + _FACTS_BYTES
        self._room -= copies.size_bytes
        self._offered += size_bytes
        if copies.are_here:
            self._box.keep(kind, meta, {**copies.arrays(), **more})
        else:
            copies.hold()
            self._box.keep_later(kind, meta, lambda: {**copies.arrays(), **more}, size_bytes)


def _call_tensors(inputs: object) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors that the module is given which is about to be called, by name."""
    yield from tensors_in(inputs, "batch/args")
    if keywords := call_keywords():
        yield from tensors_in(keywords, "batch/kwargs")


def _is_out_of_reach() -> bool:
    """Return whether values cannot be copied now.

    Into a CUDA graph that is captured the copy would go as well; inside of a transform such as
    vmap there are no plain tensors.
    """
    if in_transform():
        return True
    return is_cuda_used() and torch.cuda.is_current_stream_capturing()
