"""The memory of UntrainedParameter: what has happened to each parameter since it was first seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..record import Layout
from ..statistics import MAX, MIN, SUM, SUM_ABS, SUM_SQ
from .frozen import frozen_inside, is_frozen
from .step_view import TensorGroup

#: Parameters that an optimizer holds and no model has are named so.
FOREIGN = "optimizer/"

#: What a finding says, and what to do, for each way of not being trained.
CAUSES = {
    "no_gradient": (
        "wanted a gradient and never got one in {k} steps or more",
        "use it in the loss, take away what cuts it off (detach(), no_grad(), stop_gradient), or"
        " freeze it on purpose",
    ),
    "not_in_optimizer": (
        "of the model were held by no optimizer, and did not change, at {k} steps in a row",
        "create the optimizer after the last change to the model, from all its parameters; those of"
        " layers in a plain list are not among them (in PyTorch take an nn.ModuleList); or freeze"
        " it on purpose",
    ),
    "in_two_groups": (
        "were held by more than one parameter group at {k} steps in a row, so each step moves"
        " them more than once",
        "give each parameter to one optimizer and one group",
    ),
    "not_in_model": (
        "of an optimizer belong to no model that ran and never got a gradient in {k} steps or more",
        "a layer was replaced after the optimizer was created; create the optimizer after it",
    ),
    "unchanged": (
        "got gradients at {k} steps or more and are bit for bit what they were at first",
        "check that their learning rate is not 0, that the model that is trained is not a copy, and"
        " that their gradients are not too small to change them",
    ),
    "frozen_again": (
        "were trained at first and have been frozen at {k} steps in a row, though an optimizer"
        " holds them",
        "look for what freezes it, such as requires_grad_(False), in what runs beside training, and"
        " undo it afterwards",
    ),
    "frozen_inside": (
        "are of a block that was frozen at {k} steps in a row while blocks like it before it, and"
        " layers after it, train",
        "let the block train, as by requires_grad_(True); if it is frozen on purpose, do not give"
        " it to the optimizer",
    ),
}

# An update that leaves all of these as they were, to the last bit, changed nothing.
_SIGNATURE = [MIN, MAX, SUM, SUM_ABS, SUM_SQ]


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a layout, shape ``[parameters]`` each."""

    trainable: npt.NDArray[np.bool_]
    foreign: npt.NDArray[np.bool_]
    unheld: npt.NDArray[np.bool_]
    doubled: npt.NDArray[np.bool_]
    has_gradient: npt.NDArray[np.bool_]
    gradient_rows: npt.NDArray[np.intp]
    frozen: npt.NDArray[np.bool_]
    inside: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, group: TensorGroup) -> _Parameters:
        infos, row_of = group.infos, group.record.layout.row_of
        rows = np.array([row_of.get(f"gradient/{info.name}", -1) for info in infos], np.intp)
        trainable = np.array([info.trainable is not False for info in infos])
        foreign = np.array([info.name.startswith(FOREIGN) for info in infos])
        groups = [info.optimizer_groups for info in infos]
        return cls(
            trainable,
            foreign,
            trainable & ~foreign & np.array([held == 0 for held in groups]),
            trainable & np.array([held is not None and held > 1 for held in groups]),
            rows >= 0,
            rows,
            (rows < 0) & np.array([is_frozen(info) for info in infos], bool),
            frozen_inside(infos),
        )


class Training:
    """Counts, for each parameter of one worker, the ways of not being trained.

    Args:
        k: After so many steps a way is reported.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self._names: tuple[str, ...] = ()
        self._state: dict[str, npt.NDArray[np.float64]] = {}
        self._memory = np.zeros((0, _WIDTH))
        self._layouts: WeakKeyDictionary[Layout, _Parameters] = WeakKeyDictionary()

    def add(
        self, group: TensorGroup, names: tuple[str, ...], *, skipped: bool
    ) -> Iterator[tuple[str, list[str]]]:
        """Add one TRAIN step; yield each cause that is met, with the names it is met for.

        Args:
            group: The parameters.
            names: Their names.
            skipped: The step will change nothing, and that is as it should be.
        """
        layout = group.record.layout
        parameters = self._layouts.get(layout)
        if parameters is None:
            parameters = self._layouts[layout] = _Parameters.of(group)
        statistics = group.record.statistics
        signature = statistics[group.rows][:, _SIGNATURE]
        self._align(names, signature)
        self._count(parameters, statistics, signature, skipped=skipped)
        for cause, met in self._met(parameters).items():
            if met.any():
                yield cause, [names[index] for index in np.flatnonzero(met)]

    def _align(self, names: tuple[str, ...], signature: npt.NDArray[np.float64]) -> None:
        """Make row i of the memory that of the i-th name."""
        if names is self._names or names == self._names:
            self._names = names
            return
        self._state.update(zip(self._names, self._memory, strict=True))
        self._memory = np.zeros((len(names), _WIDTH))
        for index, name in enumerate(names):
            known = self._state.pop(name, None)
            if known is None:
                self._memory[index, _FIRST:] = np.tile(signature[index], 2)
            else:
                self._memory[index] = known
        self._names = names

    def _count(
        self,
        parameters: _Parameters,
        statistics: npt.NDArray[np.float64],
        signature: npt.NDArray[np.float64],
        *,
        skipped: bool,
    ) -> None:
        memory = self._memory
        memory[:, _STEPS] += 1
        memory[:, _GOT_ONE] += parameters.has_gradient
        moved = (signature != memory[:, _LAST:]).any(axis=1)  # perhaps by hand, without optimizer
        memory[:, _LAST:] = signature
        memory[:, _UNHELD] = np.where(parameters.unheld & ~moved, memory[:, _UNHELD] + 1, 0)
        memory[:, _DOUBLED] = np.where(parameters.doubled, memory[:, _DOUBLED] + 1, 0)
        frozen_again = parameters.frozen & (memory[:, _GOT_ONE] > 0)
        memory[:, _FROZEN] = np.where(frozen_again, memory[:, _FROZEN] + 1, 0)
        memory[:, _INSIDE] = np.where(parameters.inside, memory[:, _INSIDE] + 1, 0)
        # nan is not equal to itself, so a parameter with a nan in its sums counts as changed
        memory[:, _CHANGED] += (signature != memory[:, _FIRST:_LAST]).any(axis=1)
        if not skipped:
            squares = statistics[parameters.gradient_rows, SUM_SQ]
            # a row of -1 reads the last row, which is then masked
            memory[:, _MOVING] += parameters.has_gradient & (squares > 0)

    def _met(self, parameters: _Parameters) -> dict[str, npt.NDArray[np.bool_]]:
        memory, k = self._memory, self._k
        without = (memory[:, _STEPS] >= k) & (memory[:, _GOT_ONE] == 0)
        # the values are those from before a step, so k gradients show at step k + 1
        stuck = (memory[:, _MOVING] > k) & (memory[:, _CHANGED] == 0) & (memory[:, _UNHELD] == 0)
        return {
            "no_gradient": without & parameters.trainable & ~parameters.foreign,
            "not_in_optimizer": memory[:, _UNHELD] >= k,
            "in_two_groups": memory[:, _DOUBLED] >= k,
            "not_in_model": without & parameters.trainable & parameters.foreign,
            "unchanged": stuck & parameters.trainable,
            "frozen_again": memory[:, _FROZEN] >= k,
            "frozen_inside": (memory[:, _INSIDE] >= k) & (memory[:, _FROZEN] == 0),
        }


# The columns of the memory; the signatures of the first and of the last values come last.
_STEPS, _GOT_ONE, _UNHELD, _DOUBLED, _CHANGED, _MOVING, _FROZEN, _INSIDE, _FIRST = range(9)
_LAST = _FIRST + len(_SIGNATURE)
_WIDTH = _LAST + len(_SIGNATURE)
