"""The steps of a registered hook: opened where something is due, filled, and handed on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..capture.debugger_plan import DebuggerPlan
from ..capture.open_step import OpenStep
from ..capture.recorder import Recorder
from ..steps import Mode
from .saved_arrays import SavedArrays
from .step_numbers import StepNumbers


@dataclass(frozen=True, slots=True)
class ByHand:
    """What a script saved itself.

    Args:
        kind: ``scalars`` or ``tensors``.
        value: A copy of its own.
        collections: Those that a tensor joins.
    """

    kind: str
    value: Any
    collections: Sequence[str] = ()


class RegisteredSteps:
    """Opens steps, saves into them and hands them on.

    What a script saved itself is held until the step ends: it stands after everything else.

    Args:
        recorder: Who takes the steps.
        plan: What is saved.
        saved: Who fills them.
        numbers: Where the training is.
        by_hand: What a script saved itself of the present step, or before the first.
        before_end: Called before a step ends at which something is due.
    """

    def __init__(
        self,
        recorder: Recorder,
        plan: DebuggerPlan,
        saved: SavedArrays,
        numbers: StepNumbers,
        by_hand: dict[str, ByHand],
        before_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.saved = saved
        #: Whether anything but scalars is saved at the present step.
        self.due = False
        #: The collections that are saved at it.
        self.due_collections: frozenset[str] = frozenset()
        self._recorder, self._plan, self._numbers = recorder, plan, numbers
        self._by_hand = by_hand
        self._before_end = before_end
        self._when: tuple[Mode, int, int] | None = None
        self._open: OpenStep | None = None

    @property
    def when(self) -> tuple[Mode, int, int] | None:
        """The mode, the global and the mode step of the present step."""
        return self._when

    def begin(self) -> bool:
        """End the present step and count the next; return whether anything is due at it."""
        if self._when is not None:  # what was saved before the first step goes with it
            self.end()
        self._count()
        if self.due:
            self._open_step()
        return self.due

    def parameters(self, named: Iterable[tuple[str, Any, bool]]) -> None:
        """Save parameters, each with its name and whether it is trained."""
        for name, parameter, trainable in named:
            self.saved.add(name, "weights", parameter, trainable=trainable)

    def anyway(self, named: Iterable[tuple[str, Any]], kind: str) -> None:
        """Save tensors with the present step, whatever is due at it."""
        if self._when is None:
            return
        mode, _, mode_step = self._when
        self._open_step()
        for name, value in named:
            self._plan.once(name, mode, mode_step)
            self.saved.add(name, kind, value)

    def end(self) -> None:
        """Hand on the present step."""
        if self.due:
            self._before_end()
        if self._by_hand:
            if self._when is None:  # no step ever was
                self._count()
            self.add_by_hand()
        if self._when is not None:
            self._recorder.profiler.phases.end(*self._when[:2])
        if self._open is not None and self._when is not None:
            self.saved.finish()
            mode, number, mode_step = self._when
            self._recorder.take(self._open, mode, number, mode_step)
        self._open = None
        self.due = False

    def _count(self) -> None:
        mode, _, mode_step = self._when = self._numbers.advance()
        self.due_collections = self._plan.due(mode, mode_step)
        self.due = bool(self.due_collections)

    def _open_step(self) -> None:
        if self._open is None and self._when is not None:
            mode, _, mode_step = self._when
            self._open = self._recorder.step_at(mode, mode_step)
            self.saved.begin(self._open, mode, mode_step)

    def add_by_hand(self) -> None:
        """Put what a script saved itself into the present step."""
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
