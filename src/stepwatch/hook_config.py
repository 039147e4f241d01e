"""What a Debugger hook is told to save: SageMaker's hook configuration as values.

These follow smdebug to the letter where it differs from our own ``save_policy``: steps are a
union, every mode has its own, and a collection says itself what of its tensors is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .errors import ConfigError, nearest
from .steps import Mode

#: What a reduction may be. The l1 and l2 norms are over all elements.
REDUCTIONS = ("min", "max", "mean", "std", "variance", "sum", "prod", "median", "l1", "l2")
#: Reductions that do not follow from the statistics of a tensor: they need its values.
NEED_VALUES = ("prod", "median")
#: Collections whose tensors are scalars; they are always stored as they are.
SCALAR_COLLECTIONS = frozenset(
    {
        "losses",
        "metrics",
        "feature_importance",
        "average_shap",
        "sm_metrics",
        "tensorflow_summaries",
    }
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
    """Which steps of one mode: those of a rhythm within a window, and some by number.

    Args:
        interval: Each so-manieth step, counted from step 0. At least 1.
        start: First step of the window.
        end: First step after the window; ``None`` for no end. 0 for no window at all.
        steps: Further steps, inside of the window or not.

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

    def __post_init__(self) -> None:
        if self.interval < 1:
            raise ConfigError(f"save_interval must be at least 1, got {self.interval}")
        if min((self.start, self.end or 0, *self.steps)) < 0:
            raise ConfigError("start_step, end_step and save_steps must not be negative")

    def wants(self, step: int) -> bool:
        """Return whether ``step`` is chosen."""
        if step in self.steps:
            return True
        in_window = self.start <= step and (self.end is None or step < self.end)
        return in_window and step % self.interval == 0


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
        """Return what is stored if both are asked for."""
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
        stored: What.
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


@dataclass(frozen=True, slots=True)
class HookConfig:
    """What a Debugger hook is told.

    Args:
        run: Where to write.
        collections: All that are known, saved or not.
        included: Names of those that are saved; ``all`` among them stands for every one.
        all_workers: Every process writes, not only the first.
        tensorboard: Where TensorBoard's files go; ``None`` for nowhere.
        dry_run: Look at everything and write nothing.
        steps: For every mode, when to save of collections that say nothing of it.
        stored: What to save of collections that say nothing of it.
        mirror: Where the run is copied to as it goes on; ``None`` for nowhere.
    """

    run: str
    collections: tuple[SavedCollection, ...]
    included: frozenset[str] = frozenset()
    all_workers: bool = False
    tensorboard: str | None = None
    dry_run: bool = False
    steps: Mapping[Mode, SaveSteps] = field(default_factory=lambda: ALL_MODES)
    stored: Stored = RAW
    mirror: str | None = None

    def finding(self, patterns: Mapping[str, str]) -> HookConfig:
        """Return it with a further pattern in some of its collections.

        Args:
            patterns: By the name of the collection.
        """
        collections = tuple(
            replace(one, patterns=(*one.patterns, patterns[one.name]))
            if one.name in patterns
            else one
            for one in self.collections
        )
        return replace(self, collections=collections)

    @property
    def saved(self) -> tuple[SavedCollection, ...]:
        """The collections that are saved."""
        every = "all" in self.included
        return tuple(one for one in self.collections if every or one.name in self.included)
