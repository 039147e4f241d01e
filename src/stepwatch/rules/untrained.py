"""Ways in which parameters are not trained, counted over steps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..judge.rule import NamedRows
from ..judge.step_view import TensorGroup
from ..model.record import Layout, TensorInfo
from ..numerics.measures import Floats
from ..numerics.statistics import COUNT, MAX, MIN, NAN, SUM, SUM_ABS, SUM_SQ, ZEROS

Mask = npt.NDArray[np.bool_]
#: Parameters that an optimizer holds and no model has are named so.
FOREIGN = "optimizer/"
#: An update that leaves all of these as they were, to the last bit, changed nothing.
SIGNATURE = [MIN, MAX, SUM, SUM_ABS, SUM_SQ]
#: Of fewer numbers the largest may lie farther from where they end than this part of it.
LEAST_DRAWN, NEAR = 200, 0.05
#: And the ends of so many normal numbers, from where these are expected.
NEAR_END = 0.25
#: The standard deviation of new matrices of transformers, their ``initializer_range``.
OF_TRANSFORMERS = 0.02
#: A gradient this much smaller than the largest is what rounding leaves of 0, as that of a shift
#: before a normalization.
NEGLIGIBLE = 1e-6
#: Where PyTorch keeps the variables of layers of Keras: no output tells which of them ran.
OF_KERAS = "_torch_params."
#: What differs by this part of its norm from the parameter of the same name before is another one.
ANOTHER = 0.1


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
    has_optimizer: bool  # one stepped, whatever it holds

    @classmethod
    def of(cls, group: TensorGroup) -> _Parameters:
        infos, row_of = group.infos, group.record.layout.row_of
        rows = np.array([row_of.get(f"gradient/{info.name}", -1) for info in infos], np.intp)
        trainable = np.array([info.trainable is not False for info in infos])
        foreign = np.array([info.name.startswith(FOREIGN) for info in infos])
        groups = [info.optimizer_groups for info in infos]
        without = np.array([held == 0 for held in groups])
        of_keras = np.array([OF_KERAS in info.name for info in infos], bool)
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
            bool(len(group.record.layout.rows_of.get("learning_rates", ()))),
        )

    def is_replaced(self) -> Mask:
        """Return which get gradients and are held by no optimizer, where none holds any that does.

        As of a new head, if the optimizer was made before it and the rest is frozen: it may hold
        the old one only, which is no part of the model. All are false where no optimizer steps.
        """
        trains = self.held & self.trainable & self.has_gradient
        if trains.any() or not (self.held.any() or self.has_optimizer):
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
    largest by the root of 3. What was trained is not cut off there. And those of transformers,
    whose standard deviation is 0.02 in each: of what was trained it differs from layer to layer.
    The mean of each is 0 within four standard errors: that of a table of features is another.

    Those of a target network are copies: there is one of the shape of each that an optimizer holds.
    """
    if not any(info.trainable for info in group.infos):
        return []  # nothing is trained at all
    held = [info for info in group.infos if info.trainable and info.optimizer_groups != 0]
    found, copied, is_copy = [], Counter(info.shape for info in held), True
    for row, info in zip(group.rows.tolist(), group.infos, strict=True):
        if info.trainable is not False or not is_large_matrix(info):
            continue
        copied[info.shape] -= 1
        is_copy &= copied[info.shape] >= 0
        if not is_as_drawn(group.record.statistics[row], info):
            return []
        found.append(info.name)
    return [] if is_copy else found


def is_large_matrix(info: TensorInfo) -> bool:
    """Return whether a parameter is a matrix of enough numbers to tell how they were drawn."""
    return len(info.shape) > 1 and math.prod(info.shape) >= LEAST_DRAWN


def is_as_drawn(statistics: Floats, info: TensorInfo) -> bool:
    """Return whether a matrix is drawn as one of a new layer; see ``frozen_as_drawn``."""
    least, most, total, squares = statistics[[MIN, MAX, SUM, SUM_SQ]].tolist()
    largest, parts = max(-least, most), math.prod(info.shape[:-2])
    if not largest or abs(total) > 4 * math.sqrt(squares):
        return False
    limits = (
        math.sqrt(6 / (parts * sum(info.shape[-2:]))),
        1 / math.sqrt(math.prod(info.shape[1:])),
    )
    size = math.prod(info.shape)
    deviation = math.sqrt(squares / size)
    scatter = max(NEAR, 3 / math.sqrt(2 * size))  # three standard errors
    if abs(deviation / OF_TRANSFORMERS - 1) < scatter and largest > 2 * deviation:
        return True
    is_uniform = abs(math.sqrt(3) * deviation / largest - 1) < NEAR
    return is_uniform and any(abs(largest / limit - 1) < NEAR for limit in limits)


def is_normal(statistics: Floats, info: TensorInfo) -> bool:
    """Return whether a matrix may be drawn from a normal distribution around 0.

    Its mean is 0 within three standard errors, and its least and largest numbers are where those of
    so many are expected (Cramér: Mathematical methods of statistics, 1946, 28.6): what was trained
    has other ends.
    """
    least, most, total, squares = statistics[[MIN, MAX, SUM, SUM_SQ]].tolist()
    size = math.prod(info.shape)
    deviation = math.sqrt(squares / size)
    if not deviation or abs(total) > 3 * deviation * math.sqrt(size):
        return False
    far = math.sqrt(2 * math.log(size))
    expected = far - (math.log(math.log(size)) + math.log(4 * math.pi)) / (2 * far)
    return all(abs(end / (expected * deviation) - 1) < NEAR_END for end in (-least, most))


def are_copies(group: TensorGroup, names: Sequence[str]) -> bool:
    """Return whether no optimizer holds some parameters, and it holds one of the shape of each.

    As of a network that targets are computed of, until it is given the weights of the other.
    """
    chosen = set(names)
    held = Counter(info.shape for info in group.infos if info.optimizer_groups)
    asked = [info for info in group.infos if info.name in chosen]
    is_unheld = all(info.optimizer_groups == 0 for info in asked)
    return is_unheld and Counter(info.shape for info in asked) <= held


def are_as_drawn(group: TensorGroup, names: Sequence[str], *, or_normal: bool = False) -> bool:
    """Return whether the matrices among some parameters are as they are drawn for new layers.

    Args:
        group: The parameters.
        names: Some of theirs.
        or_normal: Normal numbers of whatever size are drawn, too.
    """
    chosen = set(names)
    drawn = [
        is_as_drawn(statistics := group.record.statistics[row], info)
        or (or_normal and is_normal(statistics, info))
        for row, info in zip(group.rows.tolist(), group.infos, strict=True)
        if info.name in chosen and is_large_matrix(info)
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
        signature = statistics[group.rows][:, SIGNATURE]
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
        # Where no optimizer holds any, of those that one held: others are told for themselves.
        was_held = (memory[:, _HELD] > 0) & ~is_zero
        replaced = parameters.is_replaced() & ~moved & (parameters.held.any() | was_held)
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
            # What changes all the same is updated by the script, as an average is.
            "no_gradient": without
            & parameters.trainable
            & ~parameters.foreign
            & (memory[:, _CHANGED] == 0),
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
_MATRICES = tuple(name for pair in _ADAPTERS for name in pair)


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
        self._num_frozen = self._num_all_frozen = 0

    def add(self, group: TensorGroup, *, skipped: bool) -> Iterator[tuple[str, list[str]]]:
        """Add one TRAIN step; see ``Training.add``."""
        layout, statistics = group.record.layout, group.record.statistics
        halves = self._layouts.get(layout)
        if halves is None:
            halves = self._layouts[layout] = _Halves.of(group)
        self._num_all_frozen = self._num_all_frozen + 1 if halves.all_frozen else 0
        if self._num_all_frozen >= self._k:
            yield "adapters_frozen", list(halves.all_frozen)
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
        all_frozen: All matrices of adapters, if none is trained, and something else of the model
            is.
    """

    names: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    gradient_rows: npt.NDArray[np.intp]
    frozen: Mask
    head: _Head | None
    all_frozen: tuple[str, ...]

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
        of_adapters = [name for name in infos if any(f"{one}." in name for one in _MATRICES)]
        models = {name.partition(".")[0] for name, info in infos.items() if info.trainable}
        is_trained = any(infos[name].trainable is not False for name in of_adapters)
        others = [name for name in of_adapters if name.partition(".")[0] in models]
        return cls(
            tuple(names),
            np.array([row_of[name] for name in names], np.intp),
            np.array([row_of.get(f"gradient/{name}", -1) for name in names], np.intp),
            np.array([infos[name].trainable is False for name in names], bool),
            _Head.of(group),
            () if is_trained else tuple(others),
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
_LAST = _FIRST + len(SIGNATURE)
_WIDTH = _LAST + len(SIGNATURE)
