"""The rule on parameters that do not train."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NamedRows, Rule, Selection
from ..judge.step_view import StepNumber, StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, TensorInfo
from ..numerics.measures import Floats, listed, number
from ..numerics.statistics import COUNT, MAX, MIN, NAN, SUM, SUM_ABS, SUM_SQ, ZEROS
from .left_out import LeftOut, LeftOutVariables
from .shared import in_a_row, is_scalar, is_skipped, losses_of
from .waiting import Waiting, WaitingOptimizers

Mask = npt.NDArray[np.bool_]
#: A loss that ends at this much of what it was first has hardly fallen.
STUCK = 0.5


def is_frozen(info: TensorInfo) -> bool:
    """Return whether a parameter is frozen although an optimizer was given it."""
    return info.trainable is False and bool(info.optimizer_groups)


def frozen_inside(infos: Sequence[TensorInfo]) -> Mask:
    """Return which parameters are of a block that is frozen between others that train.

    Blocks are what a list of modules holds: ``blocks.0``, ``blocks.1`` and so on. One of them is
    frozen by accident if an optimizer was given all of it, one before it that is built the same
    way trains, and so does some parameter after it. What is frozen on purpose is the beginning of
    a model, or the same layer of every block.

    Args:
        infos: Of all parameters, in the order of the model.

    Returns:
        Shape ``[parameters]``.
    """
    inside = np.zeros(len(infos), bool)
    trains = np.array([info.trainable is not False for info in infos], bool)
    frozen = np.array([is_frozen(info) for info in infos], bool)
    last = int(np.flatnonzero(trains)[-1]) if trains.any() else -1
    for blocks in _lists(infos).values():
        for index, block in blocks.items():
            if max(block.rows) < last and frozen[block.rows].all():
                inside[block.rows] |= any(
                    trains[other.rows].all() and other.parts == block.parts
                    for before, other in blocks.items()
                    if before < index
                )
    return inside


@dataclass(slots=True)
class _Block:
    """Where the parameters of a block stand, and their names within it with their shapes."""

    rows: list[int] = field(default_factory=list)
    parts: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


def _lists(infos: Sequence[TensorInfo]) -> dict[str, dict[int, _Block]]:
    """Return the blocks of each list of modules, by the name of the list."""
    lists: dict[str, dict[int, _Block]] = {}
    for row, info in enumerate(infos):
        path = info.name.split(".")
        for depth, part in enumerate(path[:-1]):
            if part.isdecimal():
                blocks = lists.setdefault(".".join(path[:depth]), {})
                block = blocks.setdefault(int(part), _Block())
                block.rows.append(row)
                block.parts.append((".".join(path[depth + 1 :]), info.shape))
    return lists


_NARROW = ("bfloat16", "float16")
#: Parameters that an optimizer holds and no model has are named so.
FOREIGN = "optimizer/"

#: The sentence and the remedy for each way of not being trained.
CAUSES = {
    "no_gradient": (
        "wanted a gradient and never got one in {k} steps or more",
        "use it in the loss, take away what cuts it off (detach(), no_grad(), stop_gradient;"
        " with reentrant checkpoints of a frozen model enable_input_require_grads() is missing), or"
        " freeze it on purpose",
    ),
    "zeroed": (
        "wanted a gradient and had none when the optimizer stepped, in {k} steps or more: it was"
        " set to zero after backward()",
        "call zero_grad() before backward(), or after the optimizer's step, and not between them",
    ),
    "not_returned": (
        "never got a gradient in {k} steps or more: training_step returned no loss (None) for any"
        " batch, so Lightning skips backward() and nothing is trained",
        "return the loss at the end of training_step, alone or as the 'loss' of a dict; self.log()"
        " does not train on it",
    ),
    "not_in_optimizer": (
        "are in no optimizer and never change, at {k} steps in a row",
        "create the optimizer after the last change to the model, from all its parameters; those of"
        " layers in a plain list are not among them (in PyTorch take an nn.ModuleList); or freeze"
        " it on purpose",
    ),
    "thawed": (
        "were frozen before and are let train since, but are in no optimizer and never change, at"
        " {k} steps in a row",
        "give layers that are thawed to the optimizer, as by optimizer.add_param_group(), or make"
        " it from all parameters of the model: one that was made from those with requires_grad"
        " does not hold what was frozen then",
    ),
    "nothing_trained": (
        "had gradients and are in no optimizer, and {held}, at {k} steps in a row: nothing is"
        " trained",
        "make the optimizer after the last change to the model, such as a new head, and from the"
        " parameters of the model that is trained, as by Adam(model.parameters())",
    ),
    "all_frozen": (
        "are frozen, at {k} steps in a row: nothing is trained",
        "let what is to be trained train (trainable = True in Keras, before compile();"
        " requires_grad_(True) in PyTorch)",
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
    "rounded_away": (
        "got gradients at {k} steps or more and are bit for bit what they were at first: in 16"
        " bits an update that is small beside a weight is rounded away",
        "keep the weights in float32 and compute under autocast, or raise the learning rate",
    ),
    "adapter_frozen": (
        "are halves of adapters, zero and frozen at {k} steps in a row while the other halves"
        " train: the product of both is zero, and nothing is learnt",
        "let both matrices of each adapter train, as by requires_grad_(True)",
    ),
    "adapter_zero": (
        "are halves of adapters that stayed zero, with gradients of exact zeros, at {k} steps in a"
        " row: these adapters add nothing",
        "see that the other matrix does not begin at zero as well, that lora_alpha is not 0, that"
        " their dropout is below 1, and that what they add is used",
    ),
    "adapter_head": (
        "are the last layer, frozen as it was initialized at {k} steps in a row, while adapters"
        " before it train",
        "name it in modules_to_save of the LoraConfig, or give that the task_type, such as"
        " TaskType.SEQ_CLS",
    ),
    "frozen_as_drawn": (
        "are frozen at values like those of a new layer, at {k} steps in a row, while"
        " others train: they were never trained",
        "load trained weights before they are frozen (in Keras weights='imagenet' or"
        " load_weights()), or let them train",
    ),
    "frozen_anew": (
        "are frozen at values like those of a new layer, at {k} steps in a row, while"
        " others train, and weights of the same shapes were trained before: what was learnt there"
        " has not come here",
        "copy the trained weights before they are frozen (set_weights(), load_state_dict()), or"
        " take the trained layers themselves, not ones that are made anew",
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
#: Of fewer numbers the largest may lie farther from where they end than this part of it.
LEAST_DRAWN, NEAR = 200, 0.05
#: A gradient this much smaller than the largest is what rounding leaves of 0, as that of a shift
#: before a normalization.
NEGLIGIBLE = 1e-6
#: Where PyTorch keeps the variables of layers of Keras: no output tells which of them ran.
_OF_KERAS = "_torch_params."
#: What differs by this part of its norm from the parameter of the same name before is another one.
ANOTHER = 0.1


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a layout, shape ``[parameters]`` each."""

    trainable: Mask
    foreign: Mask
    held: Mask
    unheld: Mask
    doubled: Mask
    has_gradient: Mask
    gradient_rows: npt.NDArray[np.intp]
    frozen: Mask
    inside: Mask
    idle: Mask  # no optimizer holds them, and their modules did not run
    out: Mask  # frozen, and no optimizer holds them
    of_keras: Mask  # of layers of Keras, whose optimizers are not known

    @classmethod
    def of(cls, group: TensorGroup) -> _Parameters:
        infos, row_of = group.infos, group.record.layout.row_of
        rows = np.array([row_of.get(f"gradient/{info.name}", -1) for info in infos], np.intp)
        trainable = np.array([info.trainable is not False for info in infos])
        foreign = np.array([info.name.startswith(FOREIGN) for info in infos])
        groups = [info.optimizer_groups for info in infos]
        without = np.array([held == 0 for held in groups])
        of_keras = np.array([_OF_KERAS in info.name for info in infos], bool)
        idle = without & ~of_keras & ~_ran(group)
        return cls(
            trainable,
            foreign,
            np.array([bool(held) for held in groups]),
            trainable & ~foreign & without & ~idle,
            trainable & np.array([held is not None and held > 1 for held in groups]),
            rows >= 0,
            rows,
            (rows < 0) & np.array([is_frozen(info) for info in infos], bool),
            frozen_inside(infos),
            idle,
            ~trainable & ~foreign & without,
            of_keras,
        )

    def is_replaced(self) -> Mask:
        """Return which get gradients and are held by no optimizer, where none holds any that does.

        As of a new head, if the optimizer was made before it and the rest is frozen. All are false
        where no optimizer holds anything.
        """
        trains = self.held & self.trainable & self.has_gradient
        if trains.any() or not self.held.any():
            return np.zeros(len(self.held), bool)
        return self.unheld & self.has_gradient


def _ran(group: TensorGroup) -> Mask:
    """Return which parameters are of modules that ran in the step, as far as outputs tell.

    A model of an earlier part of a script may still be there, with the gradients of its last step.
    """
    layout = group.record.layout
    if not len(layout.rows_of.get("outputs", ())):
        return np.ones(len(group.infos), bool)
    return np.array(
        [
            "." not in info.name
            or any(f"output/{one}" in layout.row_of for one in _owners(info.name))
            for info in group.infos
        ],
        bool,
    )


def _owners(parameter: str) -> Iterator[str]:
    """Yield the module of a parameter, and what that is in, from the inside out."""
    while "." in parameter:
        parameter = parameter.rpartition(".")[0]
        yield parameter


def frozen_as_drawn(group: TensorGroup) -> list[str]:
    """Return the frozen matrices if all are as drawn anew, and no copies of trained ones.

    So are those that Keras draws uniformly up to ``sqrt(6 / (fan_in + fan_out))`` (Glorot and
    Bengio: Understanding the difficulty of training deep feedforward neural networks, 2010), and
    PyTorch up to ``1 / sqrt(fan_in)``: the largest is near that, and the root mean square is the
    largest by the root of 3. What was trained is not cut off there.

    Those of a target network are copies: there is a trained one of the shape of each.
    """
    found, copied = [], Counter(info.shape for info in group.infos if info.trainable)
    is_copy = True
    if not copied:
        return []  # nothing is trained at all
    for row, info in zip(group.rows.tolist(), group.infos, strict=True):
        if info.trainable is not False or not _is_large_matrix(info):
            continue
        copied[info.shape] -= 1
        is_copy &= copied[info.shape] >= 0
        if not _is_as_drawn(group.record.statistics[row], info):
            return []
        found.append(info.name)
    return [] if is_copy else found


def _is_large_matrix(info: TensorInfo) -> bool:
    return len(info.shape) > 1 and math.prod(info.shape) >= LEAST_DRAWN


def _is_as_drawn(statistics: Floats, info: TensorInfo) -> bool:
    """Return whether a matrix is uniform up to one of the limits; see ``frozen_as_drawn``."""
    least, most, squares = statistics[[MIN, MAX, SUM_SQ]].tolist()
    largest, parts = max(-least, most), math.prod(info.shape[:-2])
    if not largest:
        return False
    limits = (
        math.sqrt(6 / (parts * sum(info.shape[-2:]))),
        1 / math.sqrt(math.prod(info.shape[1:])),
    )
    is_uniform = abs(math.sqrt(3 * squares / math.prod(info.shape)) / largest - 1) < NEAR
    return is_uniform and any(abs(largest / limit - 1) < NEAR for limit in limits)


def are_as_drawn(group: TensorGroup, names: Sequence[str]) -> bool:
    """Return whether the matrices among some parameters are as they are drawn for new layers."""
    chosen = set(names)
    drawn = [
        _is_as_drawn(group.record.statistics[row], info)
        for row, info in zip(group.rows.tolist(), group.infos, strict=True)
        if info.name in chosen and _is_large_matrix(info)
    ]
    return bool(drawn) and all(drawn)


def trains_head(group: TensorGroup, unheld: Sequence[str]) -> bool:
    """Return whether all layers that no optimizer holds come before those that one does.

    To train the last layers by giving the optimizer nothing else is usual practice. Layers that
    the model does not know, as those in a plain list, are named by their class; they are not meant.

    Args:
        group: The parameters.
        unheld: The names of those that no optimizer holds.
    """
    row_of, without = group.record.layout.row_of, set(unheld)
    ends: dict[bool, list[int]] = {True: [], False: []}
    if any(name[:1].isupper() for name in unheld):
        return False
    for info in group.infos:
        # What stands beside layers, such as a token that is put before all others, has no place.
        row = row_of.get(f"output/{info.name.rpartition('.')[0]}")
        if row is not None and not info.name.startswith(FOREIGN):
            ends[info.name in without].append(row)
    return bool(ends[True] and ends[False]) and max(ends[True]) < min(ends[False])


#: Where optimizers are not known, they may be functions that return new parameters.
_NOT_KEPT = (
    "keep what the update returns, in JAX by params = optax.apply_updates(params, updates), and"
    " pass it on to the next step; check that the learning rate is not 0, and that the model that"
    " is trained is not a copy"
)


class Training:
    """Counts, for each parameter of one worker, the ways of not being trained.

    Args:
        k: After so many steps a way is reported.
    """

    def __init__(self, k: int) -> None:
        self._k, self._step = k, -1
        self._memory = NamedRows((_WIDTH,))
        self._layouts: WeakKeyDictionary[Layout, _Parameters] = WeakKeyDictionary()

    def add(
        self,
        group: TensorGroup,
        names: tuple[str, ...],
        step: int,
        *,
        skipped: bool,
        is_new_part: bool = False,
    ) -> Iterator[tuple[str, list[str]]]:
        """Add one TRAIN step; yield each cause that holds, with the names it holds for.

        Args:
            group: The parameters.
            names: Their names.
            step: The number of the step, as TRAIN counts it.
            skipped: The step will change nothing, and that is as it should be.
            is_new_part: Another optimizer steps for the first time.
        """
        follows, self._step = step <= self._step + 1, step
        layout = group.record.layout
        parameters = self._layouts.get(layout)
        if parameters is None:
            parameters = self._layouts[layout] = _Parameters.of(group)
        statistics = group.record.statistics
        signature = statistics[group.rows][:, _SIGNATURE]
        rows = self._memory.rows(names)
        memory = self._memory.values[rows]
        new = memory[:, _STEPS] == 0
        memory[new, _FIRST:] = np.tile(signature[new], 2)
        if is_new_part:  # who makes another optimizer may have frozen them before
            memory[parameters.frozen, _GOT_ONE] = 0
        self._count(memory, parameters, statistics, signature, follows=follows, skipped=skipped)
        self._memory.values[rows] = memory
        conditions = self._conditions(memory, parameters)
        by_hand = (memory[:, _UNHELD] == 0) & (memory[:, _CHANGED] > 0)
        trains = parameters.trainable & (~parameters.unheld | by_hand) & (memory[:, _GOT_ONE] > 0)
        forgotten = conditions["not_in_optimizer"] | conditions["thawed"]
        if forgotten.any() and not trains.any():
            conditions = {"nothing_trained": forgotten}
        # Even if the one of the same name was trained in an earlier part of the script. What the
        # optimizer holds may be frozen on purpose then.
        replaced = memory[:, _REPLACED]
        if (replaced >= self._k).any():
            conditions = {"nothing_trained": replaced >= self._k}
        elif replaced.any():  # as it seems: that is told, not what the optimizer holds instead
            conditions["not_in_model"] = np.zeros(len(names), bool)
        unheld = (memory[:, _UNHELD] > 0) & (memory[:, _HELD] == 0) & parameters.has_gradient
        if replaced.any() or unheld.any():
            # What is frozen on purpose is not told before what is forgotten.
            conditions["frozen_again"] = np.zeros(len(names), bool)
        for cause, holds in conditions.items():
            if holds.any():
                yield cause, [names[index] for index in np.flatnonzero(holds)]

    def _count(
        self,
        memory: Floats,
        parameters: _Parameters,
        statistics: Floats,
        signature: Floats,
        *,
        follows: bool,
        skipped: bool,
    ) -> None:
        memory[:, _STEPS] += 1
        memory[:, _GOT_ONE] += parameters.has_gradient
        memory[:, _WAS_OUT] += parameters.out
        memory[parameters.out, _HELD] = 0
        memory[:, _HELD] += parameters.held
        # Another parameter of the same name: no step changes the norm of one by so much.
        norms = np.sqrt(np.stack([signature[:, -1], memory[:, -1]]))
        is_another = follows & (np.abs(norms[0] - norms[1]) > ANOTHER * norms.max(axis=0))
        memory[parameters.unheld & is_another & (memory[:, _UNHELD] == 0), _HELD] = 0
        moved = (signature != memory[:, _LAST:]).any(axis=1)  # perhaps by hand, without optimizer
        memory[:, _LAST:] = signature
        # A gradient of 0 moves nothing, whoever holds the parameter: no optimizer of torch may.
        # A row of -1 reads the last row, which is then masked.
        gradients = statistics[parameters.gradient_rows]
        is_zero = parameters.has_gradient & (gradients[:, SUM_SQ] == 0)
        # A model of an earlier part of a script keeps the gradients of its last step. And where
        # nothing moves, as while gradients are accumulated, nobody is left out.
        is_old = gradients[:, SUM_SQ] == memory[:, _GRADIENT]
        memory[:, _GRADIENT] = gradients[:, SUM_SQ]
        waits = parameters.of_keras & (is_old | (not moved.any()))
        unheld = memory[:, _UNHELD] + ~(is_zero | waits)
        memory[:, _UNHELD] = np.where(parameters.unheld & ~moved, unheld, 0)
        replaced = parameters.is_replaced() & ~moved
        memory[:, _REPLACED] = np.where(replaced, memory[:, _REPLACED] + 1, 0)
        memory[:, _DOUBLED] = np.where(parameters.doubled, memory[:, _DOUBLED] + 1, 0)
        frozen_again = parameters.frozen & (memory[:, _GOT_ONE] > 0)
        memory[:, _FROZEN] = np.where(frozen_again, memory[:, _FROZEN] + 1, 0)
        memory[:, _INSIDE] = np.where(parameters.inside, memory[:, _INSIDE] + 1, 0)
        # nan is not equal to itself, so a parameter with a nan in its sums counts as changed
        memory[:, _CHANGED] += (signature != memory[:, _FIRST:_LAST]).any(axis=1)
        if not skipped:
            mean_squares = gradients[:, SUM_SQ] / np.maximum(gradients[:, COUNT], 1)
            largest = mean_squares.max(where=parameters.has_gradient, initial=0.0)
            has_any = mean_squares > NEGLIGIBLE**2 * largest
            memory[:, _MOVING] += parameters.has_gradient & ~parameters.idle & ~waits & has_any

    def _conditions(self, memory: Floats, parameters: _Parameters) -> dict[str, Mask]:
        k = self._k
        without = (memory[:, _STEPS] >= k) & (memory[:, _GOT_ONE] == 0)
        # the values are those from before a step, so k gradients show at step k + 1
        stuck = (memory[:, _MOVING] > k) & (memory[:, _CHANGED] == 0) & (memory[:, _UNHELD] == 0)
        # What was trained before is no longer: that is another part of the script. And what never
        # had a gradient is a copy, or a model that is asked.
        unheld = (memory[:, _UNHELD] >= k) & (memory[:, _HELD] == 0) & (memory[:, _GOT_ONE] > 0)
        return {
            "no_gradient": without & parameters.trainable & ~parameters.foreign,
            "not_in_optimizer": unheld & (memory[:, _WAS_OUT] == 0),
            "thawed": unheld & (memory[:, _WAS_OUT] > 0),
            "all_frozen": (memory[:, _STEPS] >= k)
            & (memory[:, _CHANGED] == 0)
            & (not parameters.trainable.any()),
            "in_two_groups": memory[:, _DOUBLED] >= k,
            "not_in_model": without & parameters.trainable & parameters.foreign,
            "unchanged": stuck & parameters.trainable,
            "frozen_again": memory[:, _FROZEN] >= k,
            "frozen_inside": (memory[:, _INSIDE] >= k) & (memory[:, _FROZEN] == 0),
        }


#: The two matrices of a low-rank adapter; the one of the second pattern begins at zero.
_ADAPTERS = (("lora_A", "lora_B"), ("lora_embedding_B", "lora_embedding_A"))


class Adapters:
    """Counts how long the matrices of low-rank adapters that begin at zero stay so for no reason.

    The other matrix of an adapter has no gradient until this one has changed, as it should.

    Args:
        k: After so many steps they are reported.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self._streaks = NamedRows(dtype=np.int64)
        self._layouts: WeakKeyDictionary[Layout, _Halves] = WeakKeyDictionary()
        self._num_frozen = 0

    def add(self, group: TensorGroup, *, skipped: bool) -> Iterator[tuple[str, list[str]]]:
        """Add one TRAIN step; see ``Training.add``."""
        layout, statistics = group.record.layout, group.record.statistics
        halves = self._layouts.get(layout)
        if halves is None:
            halves = self._layouts[layout] = _Halves.of(group)
        if not halves.names:
            return
        counts = self._streaks.rows(halves.names)
        is_zero = statistics[halves.rows, ZEROS] == statistics[halves.rows, COUNT]
        # a row of -1 reads the last row, which is then masked
        no_gradient = statistics[halves.gradient_rows, [[SUM_SQ], [NAN]]].sum(axis=0) == 0
        holds = is_zero & (halves.frozen | (no_gradient & (halves.gradient_rows >= 0)))
        before = self._streaks.values[counts]
        streaks = np.where(holds, before + (not skipped), 0)
        self._streaks.values[counts] = streaks
        for cause, chosen in (("adapter_frozen", halves.frozen), ("adapter_zero", ~halves.frozen)):
            # the values are those from before a step
            found = np.flatnonzero((streaks > self._k) & chosen)
            if len(found):
                yield cause, [halves.names[index] for index in found]
        is_new = halves.head is not None and halves.head.is_as_initialized(statistics)
        self._num_frozen = self._num_frozen + 1 if is_new else 0
        if halves.head is not None and self._num_frozen >= self._k:
            yield "adapter_head", list(halves.head.names)


@dataclass(frozen=True)
class _Halves:
    """The matrices of adapters that begin at zero, of adapters that are trained.

    Args:
        names: Theirs.
        rows: Where they stand, shape ``[matrices]``.
        gradient_rows: Where their gradients do, -1 for none.
        frozen: Which are frozen while the other one trains.
        head: The last layer of the model, if it is frozen and has no adapter.
    """

    names: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    gradient_rows: npt.NDArray[np.intp]
    frozen: Mask
    head: _Head | None

    @classmethod
    def of(cls, group: TensorGroup) -> _Halves:
        infos = {info.name: info for info in group.infos}
        row_of = group.record.layout.row_of
        names = []
        for other, zero in _ADAPTERS:
            for name, info in infos.items():
                half = name.replace(f"{other}.", f"{zero}.")
                if half != name and half in infos and info.trainable:
                    names.append(half)
        return cls(
            tuple(names),
            np.array([row_of[name] for name in names], np.intp),
            np.array([row_of.get(f"gradient/{name}", -1) for name in names], np.intp),
            np.array([infos[name].trainable is False for name in names], bool),
            _Head.of(group),
        )


@dataclass(frozen=True)
class _Head:
    """The last layer of a model, which is frozen: a matrix with a bias.

    Args:
        names: Of both.
        rows: Where they stand.
        fan_in: How many columns the matrix takes.
    """

    names: tuple[str, str]
    rows: tuple[int, int]
    fan_in: int

    @classmethod
    def of(cls, group: TensorGroup) -> _Head | None:
        infos = {info.name: info for info in group.infos}
        row_of = group.record.layout.row_of
        ends = {
            name: row
            for name, info in infos.items()
            if len(info.shape) > 1
            and (row := row_of.get(f"output/{name.rpartition('.')[0]}")) is not None
        }
        last = max(ends, key=ends.__getitem__, default="")
        bias = f"{last.rpartition('.')[0]}.bias"
        if bias not in infos or any(infos[one].trainable is not False for one in (last, bias)):
            return None
        if "lora_" in last or ".base_layer." in last:
            return None
        rows = row_of[last], row_of[bias]
        return cls((last, bias), rows, math.prod(infos[last].shape[1:]))

    def is_as_initialized(self, statistics: Floats) -> bool:
        """Return whether it was not trained before: its bias is zero, or as torch draws both."""
        weight, bias = (statistics[row] for row in self.rows)
        if bias[ZEROS] == bias[COUNT]:
            return True
        bound = 1 / math.sqrt(self.fan_in)
        largest = max(abs(weight[MIN]), abs(weight[MAX])) / bound
        spread = math.sqrt(3 * weight[SUM_SQ] / weight[COUNT]) / bound  # 1 for equal shares
        is_inside = max(abs(bias[MIN]), abs(bias[MAX])) <= _BOUND[1] * bound
        is_drawn = _BOUND[0] <= largest <= _BOUND[1] and abs(spread - 1) <= _SPREAD
        return bool(is_inside and is_drawn and weight[COUNT] >= _ENOUGH)


#: What torch draws reaches its bound within this, and spreads as it should; of so many elements.
_BOUND, _SPREAD, _ENOUGH = (0.95, 1.001), 0.1, 64


# The columns of the memory; the signatures of the first and of the last values come last.
(
    _STEPS,
    _GOT_ONE,
    _HELD,
    _UNHELD,
    _DOUBLED,
    _CHANGED,
    _MOVING,
    _FROZEN,
    _INSIDE,
    _REPLACED,
    _WAS_OUT,
    _GRADIENT,
    _FIRST,
) = range(13)
_LAST = _FIRST + len(_SIGNATURE)
_WIDTH = _LAST + len(_SIGNATURE)


def _total(names: Sequence[str], members: Sequence[str]) -> int:
    """Return how many parameters models have; or all where members are of an optimizer alone."""
    if members[0].startswith(FOREIGN):
        return len(names)
    return sum(not name.startswith(FOREIGN) for name in names)


def _what_is_held(group: TensorGroup) -> str:
    """Return what optimizers hold, of which nothing is trained."""
    held = [info for info in group.infos if info.optimizer_groups]
    if not held:
        return "no optimizer holds any"
    num_foreign = sum(info.name.startswith(FOREIGN) for info in held)
    why = ["belong to no model that ran"] * (num_foreign > 0)
    why += ["are frozen or got no gradient"] * (num_foreign < len(held))
    return f"the {len(held)} that the optimizer holds {' or '.join(why)}"


def _why_without(step: StepView, group: TensorGroup, members: Sequence[str]) -> str:
    """Return the cause, of those in ``CAUSES``, for which parameters never had a gradient."""
    if len(members) == sum(bool(info.trainable) for info in group.infos):
        worker = group.record.worker
        if step.scalar("loop/backwards_lost", worker) >= 1:
            return "zeroed"
        if step.scalar("loop/batches_without_loss", worker) >= 1:
            return "not_returned"
    return "no_gradient"


_OBSERVED = "weights", "gradients", "optimizer"


#: Steps in a row at which gradients hold what another optimizer's backward pass left.
LEFT_STEPS = 5


class UntrainedParameter(Rule):
    """Parameters that training leaves as they are, or trains wrongly, from the first step on.

    What is found, each after ``k`` TRAIN steps: parameters that never got a gradient, and why where
    that is known: gradients are set to zero before the optimizer steps (``zeroed``), or the
    ``training_step`` of Lightning returns no loss (``not_returned``); that no optimizer holds, from
    the first step on or since they were thawed (``thawed``); that
    several groups hold; that an optimizer holds but no model has; that get gradients and never
    change; and gradients that are not set to zero between steps, or hold what the backward pass for
    another optimizer left (``left_over``, after ``LEFT_STEPS``). Parameters that are frozen are
    left out of this. They are found if an optimizer holds them and they were trained at first
    (``frozen_again``), or are one of several blocks that are built the same way, one before it
    trains, and so does what comes after it (``frozen_inside``). Of low-rank adapters also the
    matrix that begins at zero, if it stays so: because it is frozen while the other one trains
    (``adapter_frozen``), or gets a gradient of exact zeros (``adapter_zero``); or the last layer of
    the model is frozen as it was initialized (``adapter_head``). And, at the end, an optimizer that
    never stepped while another one did (``never_stepped``), and variables that lie before what a
    gradient tape trains and that no gradient was taken by (``not_differentiated``).
    """

    name = "untrained_parameter"
    # Between full steps learning rates tell that training goes on.
    needs = (*_OBSERVED, "learning_rates")
    training_only = True
    sign: ClassVar[Mapping[str, str]] = {
        "zero_grad": "stale",
        "left_over": "stale",
        "unchanged": "unchanged",
        "rounded_away": "precision",
        "*": "untrained",
    }
    view: ClassVar[Mapping[str, EvidenceView]] = {
        "zero_grad": EvidenceView("gradients", "l2"),
        "left_over": EvidenceView("gradients", "l2"),
        "*": EvidenceView("updates"),
    }

    k: int = parameter(10, "So many TRAIN steps.", at_least=1)

    _has_optimizer = False

    def begin(self) -> None:
        self._weights = Selection(("weights",))
        self._training: dict[str, Training] = {}
        self._adapters: dict[str, Adapters] = {}
        self._rates: dict[tuple[str, str], float] = {}
        # Of each worker whose training returns no loss: the last step, and what is to be told.
        self._not_returned: dict[str, tuple[StepNumber, list[str], int]] = {}
        # Of each worker: the frozen weights of which no more is asked, and the shapes of those that
        # were trained.
        self._not_drawn: dict[str, set[str]] = {}
        self._trained: dict[str, dict[str, tuple[int, ...]]] = {}
        self._last_steps: deque[StepNumber] = deque(maxlen=self.k + 1)
        self._frozen: WeakKeyDictionary[Layout, dict[str, tuple[int, ...]]] = WeakKeyDictionary()
        # Of each layout the trained matrices that are as drawn still, and of each worker the names
        # of those that were not when they were trained.
        self._as_new: WeakKeyDictionary[Layout, list[tuple[int, TensorInfo]]] = WeakKeyDictionary()
        self._changed: dict[str, set[str]] = {}
        # Of each worker of which they are as drawn: since when, which, and of how many. And of each
        # loss: the first values and the last ones.
        self._as_drawn: dict[str, tuple[StepNumber, list[str], int]] = {}
        self._losses = Selection(("losses",), keep=is_scalar)
        self._fell: dict[str, tuple[list[float], deque[float]]] = {}
        self._waiting, self._left_out = WaitingOptimizers(), LeftOutVariables()

    def check(self, step: StepView) -> Findings:
        self._waiting.add(step)
        self._left_out.add(step, _SIGNATURE)
        if not any(one.layout.rows_of.keys() & _OBSERVED for one in step.records):
            return
        self._steps += 1
        self._last_steps.append(step.at)
        for name, loss in losses_of(step, self._losses).items():
            first, last = self._fell.setdefault(name, ([], deque(maxlen=self.k)))
            (first if len(first) < self.k else last).append(loss)
        warming_up = self._warming_up(step)
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            training = self._training.setdefault(worker, Training(self.k))
            skipped = is_skipped(step, worker) or worker in warming_up
            adapters = self._adapters.setdefault(worker, Adapters(self.k))
            for cause, members in (
                *training.add(
                    group,
                    names,
                    step.mode_step,
                    skipped=skipped,
                    is_new_part=step.scalar("optimizer/begins", worker) > 0,
                ),
                *adapters.add(group, skipped=skipped),
            ):
                if cause == "unchanged":
                    yield from self._unchanged(step, group, members)
                    continue
                if cause == "no_gradient":
                    cause = _why_without(step, group, members)
                if cause == "not_returned":
                    self._not_returned[worker] = step.at, members, len(names)
                    continue
                # What was never trained is no base to train a head on.
                is_head = cause == "not_in_optimizer" and (
                    trains_head(group, members) or all(_OF_KERAS in one for one in members)
                )
                # And what was trained as another model is a teacher of this one.
                shapes = {info.name: info.shape for info in group.infos}
                is_teacher = cause == "no_gradient" and self._has_trained(worker, shapes, members)
                is_meant = (is_head or is_teacher) and not are_as_drawn(group, members)
                severity = "info" if is_meant else "warning"
                held = _what_is_held(group) if cause == "nothing_trained" else ""
                total = _total(names, members)
                yield self._finding(step, worker, cause, members, total, severity, held=held)
            yield from self._drawn(step, group)
        yield from self._zero_grad(step)
        yield from self._left_over(step)
        yield from self._without_loss(step)

    def _has_trained(
        self, worker: str, shapes: Mapping[str, tuple[int, ...]], members: Sequence[str]
    ) -> bool:
        """Return whether weights of the shapes of these members were trained under other names.

        Args:
            worker: Who trained them.
            shapes: By name: what has one of these names counts for no other weights.
            members: Some of these names.
        """
        trained = self._trained.get(worker, {})
        before = Counter(shape for name, shape in trained.items() if name not in shapes)
        return Counter(shapes[name] for name in members) <= before

    def _without_loss(self, step: StepView) -> Findings:
        """Find trainings that return no loss; without one there may be nothing to train on yet."""
        for worker, (_, members, total) in tuple(self._not_returned.items()):
            self._not_returned[worker] = step.at, members, total
            is_returned = not step.scalar("loop/batches_without_loss", worker) >= 1
            has_loss = any(True for _ in step.tensors("losses", worker=worker))
            if is_returned or has_loss:
                del self._not_returned[worker]
            if has_loss and not is_returned:
                yield self._finding(step.at, worker, "not_returned", members, total)

    def finish(self) -> Findings:
        for worker, (at, members, total) in self._not_returned.items():
            yield self._finding(at, worker, "not_returned", members, total)
        # What is drawn at random may do, where something else has learnt from it.
        for worker, (onset, members, total) in self._as_drawn.items() if self._is_stuck() else ():
            at = self._last_steps[-1]
            yield self._finding(at, worker, "frozen_as_drawn", members, total, onset=onset)
        # Until the end an optimizer may be meant to begin later.
        for one in self._waiting.never_stepped(self.k):
            yield self._never_stepped(one, self._waiting.last)
        last = self._waiting.last
        for worker, variables in self._left_out.left_out(self.k, last).items():
            yield self._not_differentiated(worker, variables, last)

    def _not_differentiated(
        self, worker: str, variables: Sequence[LeftOut], last: StepNumber
    ) -> Finding:
        large = [one for one in variables if _is_large_matrix(one.info)]
        is_drawn = bool(large) and all(_is_as_drawn(one.first, one.info) for one in large)
        names, onset = [one.name for one in variables], variables[0].onset
        what = f"{len(names)} trainable {'variables' if len(names) > 1 else 'variable'}"
        are = "are" if len(names) > 1 else "is"
        return self.finding(
            last,
            names[0],
            f"{listed(names)}: {what} of layers before those that are trained {are} given to no"
            f" gradient() of a tape, in {last.train_step + 1 - onset.train_step} TRAIN steps up to"
            f" step {last.train_step}, and never change"
            + (": they are as drawn for new layers" if is_drawn else ""),
            worker=worker,
            mode="TRAIN",
            severity="warning" if is_drawn else "info",
            value=float(len(names)),
            threshold=0.0,
            onset=onset,
            condition="not_differentiated",
            remedy="take gradients by the variables of all models that are to be trained, and apply"
            " them, as encoder.trainable_variables + decoder.trainable_variables; what is meant to"
            " stay is frozen by trainable = False",
            evidence={"cause": "not_differentiated", "parameters": names[:20]},
        )

    def _never_stepped(self, waiting: Waiting, last: StepNumber) -> Finding:
        num_steps = last.train_step + 1 - waiting.onset.train_step
        first, count = waiting.parameter, waiting.count
        parameters = f"{count} {'parameter' if count == 1 else 'parameters'}"
        names = f" ({first}{f' and {count - 1} more' if count > 1 else ''})" if first else ""
        of_it = "computed, and set to zero by it" if waiting.is_zeroed else "computed"
        return self.finding(
            last,
            first,
            f"{waiting.optimizer} never stepped in {num_steps} TRAIN steps up to step"
            f" {last.train_step}, while another optimizer did: gradients of {parameters} that it"
            f" holds{names} are {of_it}, and what is trained with them stays as it was",
            worker=waiting.worker,
            mode="TRAIN",
            severity="warning" if waiting.is_zeroed else "info",
            value=float(count),
            threshold=0.0,
            onset=waiting.onset,
            condition=f"never_stepped {waiting.what}",
            remedy="call step() of this optimizer after the backward() of its loss; if it is not"
            " meant to train them, freeze them with requires_grad_(False)",
            evidence={"cause": "never_stepped", "optimizer": waiting.optimizer},
        )

    def _since(self, streak: int) -> StepNumber:
        """Return the first of so many last steps."""
        return [*self._last_steps][-streak:][0]

    def _is_stuck(self) -> bool:
        """Return whether no loss has fallen by much, though there was time."""
        falls = [
            fmean(last) / fmean(first)
            for first, last in self._fell.values()
            if last and fmean(first) > 0
        ]
        is_long = bool(self._last_steps) and self._last_steps[-1].train_step >= 10 * self.k
        return is_long and min(falls, default=0.0) >= STUCK

    def _drawn(self, step: StepView, group: TensorGroup) -> Findings:
        """Judge frozen weights, once for each model: those of another one may be others."""
        worker = group.record.worker
        known = self._not_drawn.setdefault(worker, set())
        trained = self._trained.setdefault(worker, {})
        layout = group.record.layout
        frozen = self._frozen.get(layout)
        if frozen is None:
            of = {info.name: info for info in group.infos}
            frozen = self._frozen[layout] = {
                name: info.shape for name, info in of.items() if info.trainable is False
            }
            trained.update((name, info.shape) for name, info in of.items() if info.trainable)
            rows = zip(group.rows.tolist(), group.infos, strict=True)
            self._as_new[layout] = [
                one for one in rows if one[1].trainable and _is_large_matrix(one[1])
            ]
        changed = self._changed.setdefault(worker, set())
        as_new, statistics = self._as_new[layout], group.record.statistics
        if as_new:
            left = [one for one in as_new if _is_as_drawn(statistics[one[0]], one[1])]
            changed.update({info.name for _, info in as_new} - {info.name for _, info in left})
            self._as_new[layout] = left
        if known.issuperset(frozen):
            return
        members = frozen_as_drawn(group)
        if not members:
            known.update(frozen)
        if self.persists((worker, "drawn"), bool(members), self.k):
            known.update(frozen)
            is_anew = changed.issuperset(members) or self._has_trained(worker, frozen, members)
            cause, severity = ("frozen_anew", "warning") if is_anew else ("frozen_as_drawn", "info")
            if not is_anew:
                self._as_drawn[worker] = self._since(self.k), members, len(group.infos)
            yield self._finding(step, worker, cause, members, len(group.infos), severity)

    def _unchanged(self, step: StepView, group: TensorGroup, members: list[str]) -> Findings:
        """Find parameters that stand still, those apart whose updates 16 bits cannot hold."""
        infos = {info.name: info for info in group.infos}
        sizes = {info.name: math.prod(info.shape) for info in group.infos if info.trainable}
        own = group.record.worker
        is_moved = any(rate for (worker, _), rate in self._rates.items() if worker == own)
        narrow = [name for name in members if is_moved and infos[name].dtype in _NARROW]
        wide = [name for name in members if name not in narrow]
        if wide:
            # Where optimizers are not known, as in JAX, some may be frozen by a mask of updates.
            is_known = any(infos[name].optimizer_groups is not None for name in wide)
            is_all = is_known or len(wide) == len(sizes)
            severity = "warning" if is_all else "info"
            total = _total([*infos], wide)
            finding = self._finding(step, own, "unchanged", wide, total, severity)
            yield finding if is_known else replace(finding, remedy=_NOT_KEPT)
        if narrow:
            # Gains of one, as of normalizations, stand still where the others move.
            still = sum(sizes.get(name, 0) for name in narrow)
            severity = "warning" if 2 * still >= sum(sizes.values()) else "info"
            yield self._finding(
                step, own, "rounded_away", narrow, _total([*infos], narrow), severity
            )

    def _warming_up(self, step: StepView) -> set[str]:
        """Return the workers of which a rate rose: it may have been too small to change all yet."""
        rates = {(one.worker, one.name): one.scalar for one in step.tensors("learning_rates")}
        before, self._rates = self._rates, rates
        return {key[0] for key, rate in rates.items() if rate > before.get(key, rate)}

    def unevaluated(self) -> str | None:
        if not self._training and not self._has_optimizer:
            return "no parameter was seen at a TRAIN step"
        if self._steps >= self.k:
            return None
        return f"{self._steps} TRAIN steps were observed in full, {self.k} are needed"

    def _zero_grad(self, step: StepView) -> Findings:
        for worker in step.workers:
            tensor = step.tensor("optimizer/stale_gradients", worker)
            if tensor is None:
                continue
            stale = tensor.scalar
            self._has_optimizer = True
            if self.persists(worker, stale > 0, self.k):
                yield self.finding(
                    step,
                    tensor.name,
                    f"the gradients of {number(stale)} parameters were not set to zero between"
                    f" optimizer steps, for "
                    f"{in_a_row(self.k, 'step')} up to step {step.train_step}: each"
                    " step adds to all gradients before it",
                    worker=worker,
                    value=stale,
                    threshold=0.0,
                    onset=self._last_steps[0],  # whose gradients were the first that stayed
                    condition="zero_grad",
                    remedy="call zero_grad() once for each optimizer step",
                )

    def _left_over(self, step: StepView) -> Findings:
        """Judge gradients that hold what the backward pass for another optimizer left."""
        for worker in step.workers:
            tensor = step.tensor("optimizer/left_gradients", worker)
            if tensor is None:
                continue
            left = tensor.scalar
            # Of what is never set to zero more is said.
            is_left = left > 0 and not step.scalar("optimizer/stale_gradients", worker) > 0
            if self.persists((worker, "left_over"), is_left, LEFT_STEPS):
                yield self.finding(
                    step,
                    tensor.name,
                    f"the gradients of {number(left)} parameters hold those of a loss by which"
                    " another optimizer updated other parameters, and were not set to zero before"
                    f" backward(), {in_a_row(LEFT_STEPS, 'step')} up to step {step.train_step}:"
                    " they are updated by the loss of the opponent, too, as a discriminator by that"
                    " of the generator",
                    worker=worker,
                    value=left,
                    threshold=0.0,
                    condition="left_over",
                    remedy="call zero_grad() of each network, or of its optimizer, right before"
                    " backward() of its own loss",
                )

    def _finding(
        self,
        step: StepView | StepNumber,
        worker: str,
        cause: str,
        members: list[str],
        total: int,
        severity: str = "warning",
        *,
        held: str = "",
        onset: StepNumber | None = None,
    ) -> Finding:
        what, remedy = CAUSES[cause]
        what = what if len(members) > 1 else _of_one(what)
        # To see that a weight stays as it is takes one step more.
        streak = self.k + (cause in ("unchanged", "rounded_away"))
        return self.finding(
            step,
            members[0],
            f"{len(members)} of {total} {'parameter' if total == 1 else 'parameters'}"
            f" {what.format(k=self.k, held=held)}, up to step {step.train_step}: {listed(members)}",
            worker=worker,
            value=float(len(members)),
            threshold=0.0,
            severity=severity,
            onset=onset or self._since(streak),
            mode="TRAIN" if isinstance(step, StepNumber) else "",
            condition=cause,
            remedy=remedy,
            evidence={"cause": cause, "parameters": members[:20]},
        )


_ONE = {
    "are": "is",
    "they were": "it was",
    "were": "was",
    "never change": "never changes",
    "have been": "has been",
}


def _of_one(what: str) -> str:
    """Return what is said of several parameters as it is said of one.

    Example:
        >>> _of_one("are in no optimizer and never change")
        'is in no optimizer and never changes'
    """
    head, colon, rest = what.partition(":")
    for several, one in _ONE.items():
        head = re.sub(rf"\b{several}\b", one, head)
    return head + colon + rest
