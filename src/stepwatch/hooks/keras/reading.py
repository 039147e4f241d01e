"""Reading what a batch has left, once it is over."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...capture.plan import Plan, Plans
from ...capture.recorder import Recorder
from ...model.record import Layout, StepRecord
from ..observations import PackedTensors
from .backend import Array, StepFacts

#: Of a step: what is known of its tensors, and the value of each.
Numbers = tuple[Layout, tuple[float, ...]]


class SideOutput(NamedTuple):
    """What leaves a trace of a step for us.

    Args:
        packed: What is known of the tensors.
        keys: Those of the outputs,
        num_values: and how many of these, the first, hold values; the others hold statistics.
        restore: Returns the values of the tensors, of those of the outputs.
        facts: What else is known of the step.
        only_losses: Of which steps it is to be read; ``None`` for all.
    """

    packed: PackedTensors
    keys: list[str]
    num_values: int
    restore: Callable[[Sequence[Any]], Sequence[Any]]
    facts: StepFacts
    only_losses: bool | None

    def values(self, beside: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of the tensors that leave.

        Args:
            beside: What has left a step, by key.
        """
        return self.restore([beside[key] for key in self.keys[: self.num_values]])

    def statistics(self, beside: Mapping[str, Any]) -> Sequence[Any]:
        return [beside[key] for key in self.keys[self.num_values :]]


class _Known(NamedTuple):
    """A batch that was read, of which a few numbers were all there was.

    Args:
        plan: What was saved then.
        sides: What was read of it,
        logs: and the keys of what the model returned.
        order: The place of each tensor of the layout among these numbers.
    """

    plan: Plans
    sides: Sequence[SideOutput]
    logs: Sequence[str]
    order: Sequence[int]
    layout: Layout


class NumberReader:
    """Reads batches of which a few numbers are all there is, as most are that a budget thins.

    What each number is, and that nothing but its value is saved, is found out once, for batches
    that leave the same.

    Args:
        recorder: Says what is saved of which tensor.
        to_numpy: Returns a tensor as an array.
    """

    def __init__(self, recorder: Recorder, to_numpy: Callable[[Any], Array]) -> None:
        self._recorder, self._to_numpy = recorder, to_numpy
        self._known: dict[tuple[str, ...], _Known] = {}

    def read(self, beside: Mapping[str, Any], logs: Mapping[str, Any]) -> Numbers | None:
        """Return what has left a batch; ``None`` if it is to be read in the usual way.

        Args:
            beside: What has left it, by key.
            logs: What the model returned, by key.
        """
        known = self._known.get((*beside, *logs))
        if known is None or known.plan is not self._recorder.plan:
            return None
        found = [value for side in known.sides for value in side.values(beside)]
        found += [logs[key] for key in known.logs]
        arrays = [self._to_numpy(value) for value in found]
        if any(one.size != 1 for one in arrays):
            return None
        values = [float(one.item()) for one in arrays]
        if not all(map(math.isfinite, values)):
            return None
        return known.layout, tuple([values[place] for place in known.order])

    def was_read(
        self,
        record: StepRecord,
        beside: Mapping[str, Any],
        logs: Mapping[str, Any],
        sides: Sequence[SideOutput],
        names: Mapping[str, str],
    ) -> None:
        """A batch was read in the usual way: others may be read as it was.

        Args:
            record: All there is of it.
            beside: What has left it, by key.
            logs: What the model returned, by key.
            sides: What was read of it.
            names: What tensors are called that were read of what the model returned, and its key.
        """
        plan, layout = self._recorder.plan, record.layout
        places = [info.name for side in sides for info in side.packed.infos] + list(names)
        is_simple = (
            all(side.num_values == len(side.keys) and all(side.packed.leaves) for side in sides)
            and not any(one for side in sides for one in side.packed.arranged)
            and isinstance(plan, Plan)
            and plan.always.issuperset(places)
            and sorted(places) == sorted(layout.row_of)
            and all(math.prod(info.shape) == 1 for info in layout.tensors)
        )
        if is_simple:
            order = [places.index(info.name) for info in layout.tensors]
            known = _Known(plan, sides, list(names.values()), order, layout)
            self._known[(*beside, *logs)] = known
