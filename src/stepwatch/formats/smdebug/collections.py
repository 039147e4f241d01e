"""What a hook of smdebug saves, as values, and the collections file of a worker that notes it.

The values follow smdebug to the letter where it differs from our own ``save_policy``: steps are a
union, every mode has its own, and a collection says itself what of its tensors is stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection as AbstractCollection
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ...errors import ConfigError, CorruptRun, nearest
from ...model.json_text import parse_json
from ...model.steps import Mode

#: What a reduction may be. The l1 and l2 norms are over all elements.
REDUCTIONS = ("min", "max", "mean", "std", "variance", "sum", "prod", "median", "l1", "l2")
#: Reductions that do not follow from the statistics of a tensor: they need its values.
NEED_VALUES = ("prod", "median")
#: Collections whose tensors are scalars; they are always stored as they are.
SCALAR_COLLECTIONS = frozenset(
    (
        *("losses", "metrics", "feature_importance", "average_shap"),
        *("sm_metrics", "tensorflow_summaries"),
    )
)
_NORMS = {"l1_norm": "l1", "l2_norm": "l2"}
# Nothing is trained outside of TRAIN.
_ONLY_TRAINING = frozenset({"gradients", "optimizer_variables"})


@dataclass(frozen=True, slots=True)
class Reduction:
    """One number that stands for a tensor.

    Args:
        name: One of ``REDUCTIONS``.
        of_abs: Of the magnitudes of the elements.

    Raises:
        ConfigError: There is no such reduction.

    Example:
        >>> Reduction.parse("abs_l2_norm"), Reduction.parse("l1").text
        (Reduction(name='l2', of_abs=True), 'l1_norm')
    """

    name: str
    of_abs: bool = False

    def __post_init__(self) -> None:
        if self.name not in REDUCTIONS:
            raise ConfigError(
                f"no reduction {self.name!r}{nearest(self.name, REDUCTIONS)} (there are "
                f"{', '.join(REDUCTIONS)}, each also with abs_ before it)"
            )

    @classmethod
    def parse(cls, text: str) -> Reduction:
        """Read what a configuration says, such as ``mean``, ``abs_max``, ``l2`` or ``l2_norm``."""
        name = text.strip()
        bare = name.removeprefix("abs_")
        return cls(_NORMS.get(bare, bare), bare != name)

    @property
    def text(self) -> str:
        """What a configuration calls it: ``l1`` is ``l1_norm`` there."""
        return f"{self.stored}_norm" if self.is_norm else self.stored

    @property
    def is_norm(self) -> bool:
        """Whether it is a norm over all elements."""
        return self.name in _NORMS.values()

    @property
    def stored(self) -> str:
        """What its stored value is called, such as ``abs_l2``."""
        return f"abs_{self.name}" if self.of_abs else self.name


def in_order(reductions: Iterable[Reduction]) -> tuple[Reduction, ...]:
    """Return reductions as they are stored, each once: plain, norms, then those of magnitudes.

    Example:
        >>> [one.text for one in in_order(map(Reduction.parse, ["abs_max", "l1", "min", "l1"]))]
        ['min', 'l1_norm', 'abs_max']
    """
    once = dict.fromkeys(reductions)
    return tuple(sorted(once, key=lambda one: (one.of_abs, one.is_norm)))


@dataclass(frozen=True, slots=True)
class SaveSteps:
    """Which steps of one mode: every n-th within a window, and some by number.

    Args:
        interval: Every how many steps, counted from step 0. At least 1.
        start: First step of the window.
        end: First step after the window; ``None`` for no end. 0 for no window at all.
        steps: Further steps, inside of the window or not.
        others: Schedules whose steps are saved, too. Files hold none of them.

    Raises:
        ConfigError: An interval below 1, or a negative step.

    Example:
        >>> chosen = SaveSteps(interval=3, start=4, end=10, steps=(1, 12))
        >>> [step for step in range(20) if chosen.wants(step)]
        [1, 6, 9, 12]
    """

    interval: int = 500
    start: int = 0
    end: int | None = None
    steps: tuple[int, ...] = ()
    others: tuple[SaveSteps, ...] = ()

    def __post_init__(self) -> None:
        if self.interval < 1:
            raise ConfigError(f"save_interval must be at least 1, got {self.interval}")
        if min((self.start, self.end or 0, *self.steps)) < 0:
            raise ConfigError("start_step, end_step and save_steps must not be negative")

    def wants(self, step: int) -> bool:
        if step in self.steps:
            return True
        in_window = self.start <= step and (self.end is None or step < self.end)
        if in_window and step % self.interval == 0:
            return True
        return any(other.wants(step) for other in self.others)

    def __or__(self, other: SaveSteps) -> SaveSteps:
        """Return what wants the steps of both; the shorter interval is the one that files hold."""
        first, second = sorted((self, other), key=lambda one: one.interval)
        if first == second:
            return first
        plain = replace(second, others=())
        return replace(first, others=(*first.others, plain, *second.others))


@dataclass(frozen=True, slots=True)
class Stored:
    """What of a tensor is stored.

    Args:
        raw: Its full value.
        reductions: Numbers that stand for it, in the order of storing; each once.
        shape: Its shape, by itself.
    """

    raw: bool = False
    reductions: tuple[Reduction, ...] = ()
    shape: bool = False

    def __or__(self, other: Stored) -> Stored:
        both = tuple(dict.fromkeys((*self.reductions, *other.reductions)))
        return Stored(self.raw or other.raw, both, self.shape or other.shape)


RAW = Stored(raw=True)
ALL_MODES: Mapping[Mode, SaveSteps] = {mode: SaveSteps() for mode in Mode}


@dataclass(frozen=True, slots=True)
class SavedCollection:
    """A named set of tensors, when to save them, and what of them.

    Args:
        name: Its name.
        patterns: Regular expressions; a tensor whose name one of them finds anywhere belongs.
        tensors: Names that belong whatever the patterns say.
        steps: For every mode, when.
        stored: What of its tensors is saved.
        histogram: Whether TensorBoard gets histograms of the tensors.
    """

    name: str
    patterns: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    steps: Mapping[Mode, SaveSteps] = field(default_factory=lambda: ALL_MODES)
    stored: Stored = RAW
    histogram: bool = True

    def __post_init__(self) -> None:
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ConfigError(f"include_regex {pattern!r} does not compile: {error}") from None

    def holds(self, tensor: str) -> bool:
        """Return whether a tensor of this name belongs here."""
        return tensor in self.tensors or any(re.search(p, tensor) for p in self.patterns)

    def is_due(self, mode: Mode, mode_step: int) -> bool:
        """Return whether its tensors are saved at this step of the mode."""
        trains = mode not in (Mode.EVAL, Mode.PREDICT) or self.name not in _ONLY_TRAINING
        return trains and self.steps[mode].wants(mode_step)


_MODES = (Mode.TRAIN, Mode.EVAL, Mode.PREDICT, Mode.GLOBAL)
_PARTS = {"collections", "_meta"}
T = TypeVar("T")


def collections_to_json(
    collections: Sequence[SavedCollection],
    members: Mapping[str, AbstractCollection[str]],
    num_workers: int,
) -> dict[str, object]:
    """Return what the collections file of a worker holds.

    Args:
        collections: All that are known.
        members: The names of the tensors that each holds, by its name.
        num_workers: How many workers write collections files.
    """
    return {
        "collections": {
            one.name: _to_json(one, one.tensors.union(members.get(one.name, ())))
            for one in collections
        },
        "_meta": {"num_workers": num_workers},
    }


def _to_json(one: SavedCollection, tensors: AbstractCollection[str]) -> dict[str, object]:
    reductions = in_order(one.stored.reductions)
    return {
        "name": one.name,
        "include_regex": list(one.patterns),
        "tensor_names": sorted(tensors),
        "reduction_config": {
            "save_raw_tensor": one.stored.raw,
            "reductions": ",".join(reduction.text for reduction in reductions),
            "save_shape": one.stored.shape,
        },
        "save_config": {mode.value: _steps_to_json(one.steps[mode]) for mode in _MODES},
        "save_histogram": one.histogram,
    }


def _steps_to_json(steps: SaveSteps) -> dict[str, object]:
    return {
        "save_interval": steps.interval,
        "save_steps": list(steps.steps),
        "start_step": steps.start,
        "end_step": steps.end,
    }


def collections_from_json(key: str, data: bytes) -> tuple[tuple[SavedCollection, ...], int]:
    """Return the collections of a file, with their tensors, and how many workers write.

    What a file leaves open, as one of a hook that never saved does, has the defaults.

    Args:
        key: Where it lies, for the error.
        data: Its bytes.

    Raises:
        CorruptRun: It is no collections file.
    """
    try:
        return _parse(parse_json(data))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        damage = str(error) if isinstance(error, ConfigError) else repr(error)
        raise CorruptRun(key, 0, f"not a collections file ({damage})") from None


def _parse(values: Mapping[str, Mapping[str, object]]) -> tuple[tuple[SavedCollection, ...], int]:
    if not values.keys() <= _PARTS:
        raise ValueError(f"it also has {', '.join(sorted(values.keys() - _PARTS))}")
    num_workers = _of_type(int, values.get("_meta", {}).get("num_workers", 1))
    if num_workers < 1:
        raise ValueError(f"num_workers is {num_workers}")
    named: dict[str, dict[str, object]] = dict(values["collections"])  # type: ignore[arg-type]
    return tuple(_from_json(name, one) for name, one in named.items()), num_workers


def _from_json(name: str, one: Mapping[str, object]) -> SavedCollection:
    steps = _of_type(dict, one.get("save_config") or {})
    return SavedCollection(
        _of_type(str, one.get("name", name)),
        _texts(one.get("include_regex") or []),
        frozenset(_texts(one.get("tensor_names") or [])),
        {mode: _save_steps(steps.get(mode.value) or {}) for mode in _MODES},
        _stored(one.get("reduction_config")),
        _of_type(bool, one.get("save_histogram", True)),
    )


def _save_steps(values: Mapping[str, object]) -> SaveSteps:
    end = values.get("end_step")
    steps = _of_type(list, values.get("save_steps") or [])
    return SaveSteps(
        _of_type(int, values.get("save_interval", 500)),
        # There is no step below 0, so these say the same.
        max(_of_type(int, values.get("start_step") or 0), 0),
        None if end is None else max(_of_type(int, end), 0),
        tuple(step for step in steps if _of_type(int, step) >= 0),
    )


def _stored(values: object) -> Stored:
    if values is None:
        return RAW
    settings = _of_type(dict, values)
    names = _of_type(str, settings.get("reductions") or "").split(",")
    return Stored(
        _of_type(bool, settings.get("save_raw_tensor", False)),
        tuple(dict.fromkeys(Reduction.parse(name) for name in names if name.strip())),
        _of_type(bool, settings.get("save_shape", False)),
    )


def _texts(values: object) -> tuple[str, ...]:
    return tuple(_of_type(str, value) for value in _of_type(list, values))


def _of_type(wanted: type[T], value: object) -> T:
    if type(value) is not wanted:
        raise TypeError(f"{value!r} is no {wanted.__name__}")
    return value


def merge_collections(
    files: Iterable[Sequence[SavedCollection]],
) -> dict[str, SavedCollection]:
    """Return the collections of several workers by name, with the tensors of all of them."""
    merged: dict[str, SavedCollection] = {}
    for file in files:
        for one in file:
            known = merged.get(one.name, one)
            merged[one.name] = replace(known, tensors=known.tensors | one.tensors)
    return merged
