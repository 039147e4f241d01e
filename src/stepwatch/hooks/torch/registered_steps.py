"""The steps of a registered hook: opened where something is due, filled, and handed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from ...capture.debugger_plan import DebuggerPlan
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...steps import Mode
from .module_hooks import named_parameters
from .saved_tensors import SavedTensors
from .step_numbers import StepNumbers

Value = torch.Tensor | npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class ByHand:
    """What a script saved itself.

    Args:
        kind: ``scalars`` or ``tensors``.
        value: A copy of its own.
        collections: Those that a tensor joins.
    """

    kind: str
    value: Value
    collections: Sequence[str] = ()


def copy_of(value: Value) -> Value:
    """Return a copy that lies where the value lies."""
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            return value.detach().clone()
    return np.array(value)


class RegisteredSteps:
    """Opens steps, saves into them and hands them on.

    What a script saved itself is held until the step ends: it stands after everything else.

    Args:
        recorder: Who takes the steps.
        plan: What is saved.
        numbers: Where the training is.
        by_hand: What a script saved itself of the present step, or before the first.
    """

    def __init__(
        self,
        recorder: Recorder,
        plan: DebuggerPlan,
        numbers: StepNumbers,
        by_hand: dict[str, ByHand],
    ) -> None:
        self.saved = SavedTensors(plan)
        #: Whether anything but scalars is saved at the present step.
        self.due = False
        self._recorder, self._plan, self._numbers = recorder, plan, numbers
        self._by_hand = by_hand
        self._when: tuple[Mode, int, int] | None = None
        self._open: OpenStep | None = None

    def begin(self) -> bool:
        """End the present step and count the next; return whether anything is due at it."""
        if self._when is not None:  # what was saved before the first step goes with it
            self.end()
        self._count()
        if self.due:
            self._open_step()
        return self.due

    def parameters(self, root: torch.nn.Module) -> None:
        """Save the parameters of a model."""
        for name, parameter in named_parameters(root):
            self.saved.add(name, "weights", parameter, trainable=parameter.requires_grad)

    def end(self) -> None:
        """Hand on the present step."""
        if self._by_hand:
            if self._when is None:  # no step ever was
                self._count()
            self._add_by_hand()
        if self._open is not None and self._when is not None:
            self.saved.finish()
            mode, number, mode_step = self._when
            self._recorder.take(self._open, mode, number, mode_step)
        self._open = None
        self.due = False

    def _count(self) -> None:
        mode, _, mode_step = self._when = self._numbers.advance()
        self.due = bool(self._plan.due(mode, mode_step))

    def _open_step(self) -> None:
        if self._open is None and self._when is not None:
            mode, _, mode_step = self._when
            self._open = self._recorder.step_at(mode, mode_step)
            self.saved.begin(self._open, mode, mode_step)

    def _add_by_hand(self) -> None:
        for name, one in self._by_hand.items():
            if one.kind == "scalars":
                self._plan.always(name)
            elif self.due:
                self._plan.join(name, one.collections)
            else:
                continue
            self._open_step()
            self.saved.add(name, one.kind, one.value)
        self._by_hand.clear()
