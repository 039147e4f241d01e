"""What is wrong with the tensors of a checkpoint, and whether they are those that a run saved."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

from ..formats.checkpoint_files import Checkpoint, OptimizerState, Read, Weights
from ..formats.saved_weights import SavedWeights, content_of
from ..numerics.digest import digest
from ..numerics.elements import is_real
from ..numerics.statistics import (
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    ZEROS,
    Row,
    summarize_into,
)

Array = npt.NDArray[np.generic]

_MOST_NAMED = 3
# Of tables of embeddings a row of zeros is that of padding, or of tokens that nobody has.
_TABLE = re.compile(r"emb|wte|wpe|vocab|lm_head|shared|tok", re.IGNORECASE)
# Matrices that begin as zeros, or are made so.
_ZERO_BY_NATURE = re.compile(r"lora_B|_mask$|mask\b|scale|gate\b|bias$", re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
    """One thing that an audit found.

    Args:
        kind: A word for it, such as ``non_finite``.
        severity: ``error`` or ``warning``; ``info`` for what may be as it should.
        message: A sentence with the numbers.
        tensors: The tensors that it is about.
    """

    kind: str
    severity: str
    message: str
    tensors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A part of a checkpoint.

    Args:
        file: The file.
        part: Where it lies in it.
        num_tensors: How many tensors it has.
        num_elements: And these, all together.
        dtypes: How many of its tensors are of which dtype.
        content: The digest of its weights; see ``saved_weights.content_of``.
        saved: What the run knows of them.
    """

    file: str
    part: str
    num_tensors: int
    num_elements: int
    dtypes: Mapping[str, int] = field(default_factory=dict)
    content: int = 0
    saved: SavedWeights | None = None

    @property
    def name(self) -> str:
        """The file and the part."""
        return f"{self.file}: {self.part}" if self.part else self.file


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Args:
        parts: The weights and optimizer states of the checkpoint.
        problems: In the order of the parts.
    """

    parts: Sequence[Part]
    problems: Sequence[Problem]

    @property
    def exit_status(self) -> int:
        """1 where something is wrong, 0 where nothing is, or what is of severity ``info``."""
        return int(any(one.severity != "info" for one in self.problems))

    @property
    def non_finite(self) -> Sequence[Problem]:
        """The problems that are values which are not finite."""
        return [one for one in self.problems if one.kind == "non_finite"]

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        parts = [
            {
                "file": one.file,
                "part": one.part,
                "tensors": one.num_tensors,
                "elements": one.num_elements,
                "dtypes": dict(one.dtypes),
                "content": f"{one.content:016x}" if one.content else None,
                "saved": one.saved
                and {
                    "run": one.saved.run,
                    "steps": one.saved.num_steps,
                    "time_ns": one.saved.time_ns,
                    "worker": one.saved.worker,
                    "file": one.saved.file,
                    "part": one.saved.part,
                },
            }
            for one in self.parts
        ]
        problems = [asdict(one) for one in self.problems]
        return {"exit_status": self.exit_status, "parts": parts, "problems": problems}


@dataclass(frozen=True)
class _Seen:
    """What was read of a tensor, without its values."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    row: Row
    digest: int
    dead_units: int
    num_units: int

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype or self.dtype.startswith("complex")


def audit(checkpoint: Checkpoint, saved: Iterable[SavedWeights] | None = None) -> Audit:
    """Return what is wrong with a checkpoint.

    Args:
        checkpoint: As ``read_checkpoint`` returned it.
        saved: All that the run which wrote it knows of its weights; ``None`` not to compare.

    Raises:
        CheckpointUnreadable: A tensor of it is damaged.
    """
    known = None if saved is None else list(saved)
    parts: list[Part] = []
    problems: list[Problem] = []
    for one in checkpoint:
        if isinstance(one, Weights):
            seen = [_look_at(name, read, one.unit_axis) for name, read in one.tensors.items()]
            part = _part_of(one, seen, known)
            problems += _weights_problems(part, one, seen)
            problems += [] if known is None else _differences(part, seen, known)
        else:
            part = _optimizer_part(one)
            problems += _optimizer_problems(one)
        parts.append(part)
    return Audit(parts, problems)


def _look_at(name: str, read: Read, unit_axis: int) -> _Seen:
    value = read()
    row = np.zeros(NUM_FIELDS)
    if value.size and is_real(value.dtype):
        summarize_into(value, row)
    number = digest(value) if value.size else 0
    dead, units = 0, 0
    if value.ndim > 1 and _is_floating(value) and row[ZEROS]:
        dead, units = dead_units(value, unit_axis)
    return _Seen(name, value.dtype.name, tuple(value.shape), row, number, dead, units)


def _is_floating(value: Array) -> bool:
    return value.dtype.kind == "f" or (value.dtype.kind == "V" and "float" in value.dtype.name)


def dead_units(value: Array, axis: int) -> tuple[int, int]:
    """Return how many units of a matrix of weights have no weight but zero, and of how many.

    Args:
        value: Two axes or more; a floating dtype.
        axis: Along which the units lie, 0 or -1.

    Returns:
        Not counted are zeros at the very end of the units, which are padding of the matrix.
    """
    bits = np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}")
    others = tuple(range(1, bits.ndim)) if axis == 0 else tuple(range(bits.ndim - 1))
    # Without the sign: zero may be negative.
    lives = ((bits << np.array(1, bits.dtype)) != 0).any(axis=others)
    alive = np.flatnonzero(lives)
    if not len(alive):
        return 0, len(lives)
    return int((~lives[: alive[-1] + 1]).sum()), len(lives)


def _part_of(one: Weights, seen: Sequence[_Seen], known: Sequence[SavedWeights] | None) -> Part:
    content = content_of(each.digest for each in seen)
    return Part(
        one.file,
        one.part,
        len(seen),
        sum(math.prod(each.shape) for each in seen),
        Counter(each.dtype for each in seen),
        content,
        next((each for each in known or () if each.content == content), None),
    )


def _optimizer_part(one: OptimizerState) -> Part:
    values = [read() for kept in one.parameters.values() for read in kept.values()]
    tensors = [value for value in values if value.ndim]
    dtypes = Counter(value.dtype.name for value in tensors)
    return Part(one.file, one.part, len(tensors), sum(value.size for value in tensors), dtypes)


def _weights_problems(part: Part, one: Weights, seen: Sequence[_Seen]) -> Iterator[Problem]:
    bad = [each for each in seen if is_spoiled(each.row)]
    if bad:
        yield _non_finite(part.name, [(each.name, each.row) for each in bad])
    dead = [each for each in seen if each.dead_units and _may_be_dead(each)]
    if dead:
        units = sum(each.dead_units for each in dead)
        of = sum(each.num_units for each in dead)
        yield Problem(
            "dead_rows",
            "warning",
            f"{part.name}: {units} of {of} rows of {_names(each.name for each in dead)} hold only"
            " zeros: these units always give the same",
            tuple(each.name for each in dead),
        )
    empty = [
        each.name
        for each in seen
        if each.is_float and len(each.shape) > 1 and each.row[COUNT]
        and each.row[ZEROS] == each.row[COUNT]
    ]  # fmt: skip
    if empty:
        yield Problem(
            "all_zero",
            "info",
            f"{part.name}: all of {_names(empty)} is zero, as where a layer is to begin so",
            tuple(empty),
        )
    floats = Counter(each.dtype for each in seen if each.is_float)
    if len(floats) > 1:
        text = ", ".join(f"{number} of {dtype}" for dtype, number in floats.most_common())
        yield Problem("dtypes", "info", f"{part.name}: tensors of several dtypes, {text}")
    yield from _equal_tensors(part, one, seen)


def _may_be_dead(one: _Seen) -> bool:
    """Return whether units without weights are no padding, and were not to begin so."""
    if _ZERO_BY_NATURE.search(one.name):
        return False
    return not (_TABLE.search(one.name) and one.dead_units <= 1)


def _equal_tensors(part: Part, one: Weights, seen: Sequence[_Seen]) -> Iterator[Problem]:
    groups: dict[tuple[int, tuple[int, ...]], list[str]] = defaultdict(list)
    for each in seen:
        is_varied = each.row[MIN] < each.row[MAX]
        if each.is_float and len(each.shape) > 1 and is_varied:
            groups[each.digest, each.shape].append(each.name)
    for names in groups.values():
        if len(names) > 1:
            places = {one.storages.get(name, index) for index, name in enumerate(names)}
            how = "one tensor" if len(places) == 1 else "copies of each other"
            yield Problem(
                "equal",
                "info",
                f"{part.name}: {_names(names)} hold the same values, as {how}",
                tuple(names),
            )


def is_spoiled(row: Row) -> bool:
    """Return whether a tensor holds nan or infinity, and no part of it that is meant.

    Infinity is meant in a mask, which holds nothing else but zeros, and in one number, such as the
    smallest value so far.

    Args:
        row: Its statistics, shape ``[NUM_FIELDS]``.
    """
    if row[NAN]:
        return True
    infinite = row[POSINF] + row[NEGINF]
    finite = row[COUNT] - infinite
    is_mask = finite > 0 and row[ZEROS] == finite
    return bool(infinite and row[COUNT] > 1 and not is_mask)


def _non_finite(where: str, bad: Sequence[tuple[str, Row]]) -> Problem:
    nan = int(sum(row[NAN] for _, row in bad))
    infinite = int(sum(row[POSINF] + row[NEGINF] for _, row in bad))
    counts = " and ".join(
        [f"{nan:,} nan"] * bool(nan) + [f"{infinite:,} infinite"] * bool(infinite)
    )
    names = [name for name, _ in bad]
    return Problem(
        "non_finite",
        "error",
        f"{where}: {counts} values in {len(bad)} tensor{'s' * (len(bad) > 1)}: {_names(names)}",
        tuple(names),
    )


# The state of optimizers


def _optimizer_problems(one: OptimizerState) -> Iterator[Problem]:
    where = f"{one.file}: {one.part}" if one.part else one.file
    bad: list[tuple[str, Row]] = []
    negative, stale = [], []
    steps: Counter[float] = Counter()
    for name, kept in one.parameters.items():
        rows = {what: _statistics(read()) for what, read in kept.items()}
        bad += [(f"{name}/{what}", row) for what, row in rows.items() if is_spoiled(row)]
        squares, mean, step = (rows.get(what) for what in ("exp_avg_sq", "exp_avg", "step"))
        if step is not None and step[COUNT] == 1:
            steps[float(step[MAX])] += 1
        if squares is not None and squares[COUNT]:
            negative += [name] if squares[MIN] < 0 else []
            is_zero = squares[ZEROS] == squares[COUNT] and (
                mean is None or mean[ZEROS] == mean[COUNT]
            )
            has_stepped = step is not None and step[MAX] > 0
            stale += [name] if is_zero and has_stepped else []
    if bad:
        yield _non_finite(where, bad)
    if negative:
        text = f"{where}: negative second moments of {_names(negative)}"
        yield Problem("moments", "error", text, tuple(negative))
    if stale:
        yield Problem(
            "moments",
            "warning",
            f"{where}: the moments of {len(stale)} of {len(one.parameters)} parameters are zero"
            f" after all their steps: {_names(stale)} never had a gradient but zero",
            tuple(stale),
        )
    if len(steps) > 1:
        text = ", ".join(f"{number} of {step:g}" for step, number in sorted(steps.items())[:4])
        yield Problem("steps", "info", f"{where}: parameters with several numbers of steps, {text}")


def _statistics(value: Array) -> Row:
    row = np.zeros(NUM_FIELDS)
    if value.size and is_real(value.dtype):
        summarize_into(value, row)
    return row


# The run that saved them


def _differences(
    part: Part, seen: Sequence[_Seen], known: Sequence[SavedWeights]
) -> Iterator[Problem]:
    """Yield how weights differ from those that the run saved under the same names."""
    if part.saved is not None:
        return
    if not known:
        yield Problem("unknown", "info", f"{part.name}: the run has stored no digests of weights")
        return
    here = {each.name: each.digest for each in seen}
    like = [one for one in known if here.keys() == one.tensors.keys()]
    if not like:
        text = f"{part.name}: the run saved no weights with the names of these"
        yield Problem("unknown", "warning", text)
        return

    def different(one: SavedWeights) -> list[str]:
        return [name for name, number in here.items() if one.tensors[name][0] != number]

    nearest = min(reversed(like), key=lambda one: len(different(one)))
    names = different(nearest)
    yield Problem(
        "changed",
        "warning",
        f"{part.name}: {len(names)} of {len(here)} tensors differ from those that the run saved"
        f" after {nearest.num_steps} TRAIN steps, and all others are farther from these:"
        f" {_names(names)}",
        tuple(names),
    )


def _names(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - _MOST_NAMED
    return ", ".join(found[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
