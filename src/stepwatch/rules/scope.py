"""What of a run a rule looks at: the parameters common to all rules, and chosen tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError, nearest
from ..finding import SEVERITIES
from ..record import Layout, StepRecord, TensorInfo
from ..steps import Mode
from .rule import Rule
from .step_view import StepView, TensorGroup

ON_FIRE = ("continue", "stop")
PROFILES = ("standard", "compat")


def at_least(name: str, value: float, least: float) -> None:
    """Raise a ConfigError for a parameter below ``least``, or nan."""
    if not value >= least:
        raise ConfigError(f"{name} must be at least {least}, got {value}")


def above(name: str, value: float, limit: float, *, up_to: float = float("inf")) -> None:
    """Raise a ConfigError for a parameter that is not above ``limit`` and at most ``up_to``."""
    if not limit < value <= up_to:
        end = "" if up_to == float("inf") else f" and at most {up_to}"
        raise ConfigError(f"{name} must be above {limit}{end}, got {value}")


def within(name: str, value: float, least: float, most: float) -> None:
    """Raise a ConfigError for a parameter that is not between two numbers, themselves included."""
    if not least <= value <= most:
        raise ConfigError(f"{name} must be from {least} to {most}, got {value}")


def one_of(name: str, value: str | None, choices: Sequence[str]) -> None:
    """Raise a ConfigError for a parameter that is neither ``None`` nor one of ``choices``."""
    if value is not None and value not in choices:
        raise ConfigError(
            f"{name} must be one of {', '.join(choices)}, got {value!r}{nearest(value, choices)}"
        )


def compiled(name: str, regex: str | None) -> None:
    """Raise a ConfigError for a regular expression that does not compile."""
    try:
        re.compile(regex or "")
    except re.error as error:
        raise ConfigError(f"{name} {regex!r} does not compile: {error}") from None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a rule is shown, and what becomes of what it finds; the same for every rule.

    Where a rule has a parameter of the same name, the parameter is the rule's.

    Args:
        start_step: First global step it is shown.
        end_step: First global step it is no longer shown; ``None`` for no end.
        mode: Only steps of this mode; ``None`` or ``GLOBAL`` for all.
        workers: Only what these workers saw; empty for all.
        include_regex: Only tensors in whose name this finds itself.
        exclude_regex: No tensor in whose name this finds itself.
        severity: Given to every finding; ``None`` leaves it to the rule.
        on_fire: ``stop`` ends the rule with its first finding.
        cooldown_steps: A condition must have been away for more steps than this to be news.
        min_evaluations: With fewer evaluations the rule ends NotEvaluated. At least 1.
        profile: ``compat`` makes the conditions and defaults of SageMaker those of the rule,
            which then ends with its first finding unless ``on_fire`` is given.

    Raises:
        ConfigError: A value that cannot be meant.
    """

    start_step: int = 0
    end_step: int | None = None
    mode: str | None = None
    workers: tuple[str, ...] = ()
    include_regex: str | None = None
    exclude_regex: str | None = None
    severity: str | None = None
    on_fire: str = "continue"
    cooldown_steps: int = 100
    min_evaluations: int = 1
    profile: str = "standard"

    def __post_init__(self) -> None:
        at_least("start_step", self.start_step, 0)
        at_least("cooldown_steps", self.cooldown_steps, 0)
        at_least("min_evaluations", self.min_evaluations, 1)
        if self.end_step is not None and self.end_step <= self.start_step:
            raise ConfigError(
                f"end_step ({self.end_step}) must be above start_step ({self.start_step})"
            )
        one_of("mode", self.mode, [mode.value for mode in Mode])
        one_of("severity", self.severity, SEVERITIES)
        one_of("on_fire", self.on_fire, ON_FIRE)
        one_of("profile", self.profile, PROFILES)
        compiled("include_regex", self.include_regex)
        compiled("exclude_regex", self.exclude_regex)

    def view(self, step: StepView) -> StepView | None:
        """Return what is seen of a step, ``None`` for nothing."""
        number = step.number
        if number < self.start_step or (self.end_step is not None and number >= self.end_step):
            return None
        if not step.is_of(self.mode):
            return None
        if not (self.workers or self.include_regex or self.exclude_regex):
            return step
        records = [r for r in step.records if not self.workers or r.worker in self.workers]
        if not records:
            return None
        include, exclude = self.include_regex, self.exclude_regex
        others = step.others or len(records) < len(step.records)
        return StepView(records, step.patterns, include=include, exclude=exclude, others=others)


@dataclass(frozen=True, slots=True)
class Watched:
    """A rule, and what it is to be shown.

    Args:
        rule: Ready to look at its first step.
        scope: Parameters that every rule has.
        label: What it goes by where one rule is used twice; the rule's name if empty.
    """

    rule: Rule
    scope: Scope = Scope()
    label: str = ""

    @property
    def name(self) -> str:
        """What findings and statuses call it."""
        return self.label or self.rule.name


def evidence(rules: Iterable[Watched]) -> tuple[str, ...]:
    """Return what must be saved for rules, in the words of ``--save``, each once."""
    wanted = (text for one in rules for text in getattr(one.rule, "evidence", ()))
    return tuple(dict.fromkeys(wanted))


class Selection:
    """The tensors a rule was told to look at, found once for each layout.

    Args:
        collections: Names of collections.
        regexes: Regular expressions; a tensor in whose name one finds itself is selected too.
            With neither, every tensor is.
        keep: Leaves out of the selected tensors those for which it is false.

    Raises:
        ConfigError: A regular expression that does not compile.
    """

    def __init__(
        self,
        collections: Sequence[str] = (),
        regexes: Sequence[str] = (),
        *,
        keep: Callable[[Layout, TensorInfo], bool] | None = None,
    ) -> None:
        self.collections = tuple(collections)
        self.regexes = tuple(regexes)
        for regex in self.regexes:
            compiled("tensor_regex", regex)
        self.found_any = False
        self._keep = keep
        self._known: WeakKeyDictionary[Layout, Selected] = WeakKeyDictionary()

    def groups(self, step: StepView) -> Iterator[tuple[TensorGroup, tuple[str, ...]]]:
        """Yield, for each worker that has any, the selected tensors and their names."""
        for record in step.records:
            selected = self._known.get(record.layout)
            if selected is None:
                selected = self._known[record.layout] = self._select(step, record)
            if selected.names:
                self.found_any = True
                yield TensorGroup(record, selected.rows), selected.names

    def missing(self) -> str | None:
        """Return what was looked for, if none of it was ever found."""
        if self.found_any:
            return None
        wanted = [f"in {', '.join(self.collections)}"] if self.collections else []
        wanted += [f"matching {regex!r}" for regex in self.regexes]
        return f"no tensor {' or '.join(wanted) or 'at all'} was seen"

    def _select(self, step: StepView, record: StepRecord) -> Selected:
        layout = record.layout
        seen = np.zeros(len(layout), bool)
        # without a collection, groups() gives every tensor that is in scope
        if self.collections or not self.regexes:
            for group in step.groups(*self.collections):
                if group.record is record:
                    seen[group.rows] = True
        if self.regexes:
            for group in step.groups():
                if group.record is record:
                    for regex in self.regexes:
                        seen[group.rows] |= layout.matching(regex)[group.rows]
        tensors = layout.tensors
        rows = [
            int(row)
            for row in np.flatnonzero(seen)
            if self._keep is None or self._keep(layout, tensors[row])
        ]
        return Selected(np.array(rows, np.intp), tuple(tensors[row].name for row in rows))


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected rows of a layout and the names of their tensors."""

    rows: npt.NDArray[np.intp]
    names: tuple[str, ...]


class Streaks:
    """For how many looks in a row each tensor has met a condition."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._counts = np.zeros(0, np.int64)
        self._absent: dict[str, int] = {}

    def update(self, names: tuple[str, ...], met: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Count one look; a tensor that is not among ``names`` keeps its count.

        Args:
            names: The tensors looked at.
            met: Whether each meets the condition now, shape ``[tensors]``.

        Returns:
            Shape ``[tensors]``, the looks in a row including this one.
        """
        if names is not self._names and names != self._names:
            self._absent.update(zip(self._names, self._counts.tolist(), strict=True))
            self._counts = np.array([self._absent.pop(name, 0) for name in names], np.int64)
        self._names = names
        self._counts = np.where(met, self._counts + 1, 0)
        return self._counts
