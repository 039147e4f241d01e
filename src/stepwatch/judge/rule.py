"""The contract of a rule, on steps or on a profile, and its scope: what of a run it judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from sys import intern
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..model.finding import SEVERITIES, Finding
from ..model.record import Layout, StepRecord, TensorInfo
from ..model.steps import Mode
from ..profile.windows import ProfileWindow
from .declaration import (
    Parameter,
    at_least,
    compiled,
    constructor,
    declare,
    one_of,
    parameter,
)
from .step_view import StepNumber, StepView, TensorGroup, TensorView


class NamedRows:
    """An array with a row for each name; a name keeps its row, whatever else comes.

    Args:
        shape: Of a row.
        dtype: Of the array.
    """

    def __init__(self, shape: tuple[int, ...] = (), dtype: npt.DTypeLike = np.float64) -> None:
        self.values: npt.NDArray[Any] = np.zeros((0, *shape), dtype)
        self.index: dict[str, int] = {}
        self._names: Sequence[str] = ()
        self._rows = np.zeros(0, np.intp)

    def rows(self, names: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the rows of some names; those of new ones hold zeros."""
        if names is not self._names and names != self._names:
            index = self.index
            rows = [index.setdefault(name, len(index)) for name in names]
            self._names, self._rows = names, np.array(rows, np.intp)
            new = (len(index) - len(self.values), *self.values.shape[1:])
            self.values = np.concatenate([self.values, np.zeros(new, self.values.dtype)])
        return self._rows


class Streaks:
    """Counts evaluations in a row, of single conditions or of all tensors of a group at once.

    Of each it knows the step at which the condition began to hold.
    """

    def __init__(self) -> None:
        #: The step that is evaluated.
        self.step: StepNumber | None = None
        self._counts: dict[Hashable, int] = {}
        self._began: dict[Hashable, StepNumber | None] = {}
        self._groups: dict[Hashable, NamedRows] = {}
        self._group_began: dict[Hashable, NamedRows] = {}
        # What was counted last: a single condition that holds, or a group.
        self._last: tuple[Hashable, bool] | None = None

    def count(self, key: Hashable, holds: object) -> int:
        """Count one evaluation; return how often in a row the condition held, with this one."""
        count = self._counts[key] = self._counts.get(key, 0) + 1 if holds else 0
        if count == 1:
            self._began[key] = self.step
        self._last = (key, False) if count else None
        return count

    def forget_last(self) -> None:
        """Forget what was counted last."""
        self._last = None

    def pop_onset(self, tensor: str) -> StepNumber | None:
        """Return since when what was counted last holds; ``None`` where it does not.

        Of a single condition this is said once, as the next finding is of another.

        Args:
            tensor: Of a group, the tensor.
        """
        if self._last is None:
            return None
        key, is_group = self._last
        if not is_group:
            self._last = None
            return self._began.get(key)
        row = self._groups[key].index.get(tensor)
        if row is None or not self._groups[key].values[row]:
            return None
        return StepNumber(*self._group_began[key].values[row].tolist())

    def count_each(
        self, key: Hashable, names: tuple[str, ...], holds: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Count one evaluation of each tensor; one that is not in ``names`` keeps its count.

        Args:
            key: The group, such as a worker.
            names: The tensors.
            holds: Whether the condition holds for each now, shape ``[tensors]``.

        Returns:
            Shape ``[tensors]``, how often in a row it held, with this one.
        """
        # Below zero are steps in a row that do not count, and at which it may have begun.
        counts = self._add(key, names, holds, lambda before: np.maximum(before, 0) + 1)
        self._last = None if self.step is None else (key, True)
        return counts

    def note_each(
        self, key: Hashable, names: tuple[str, ...], holds: npt.NDArray[np.bool_]
    ) -> None:
        """Note of a step that does not count for which tensors the condition held already."""
        self._add(key, names, holds, lambda before: np.minimum(before, 0) - 1)

    def _add(
        self,
        key: Hashable,
        names: tuple[str, ...],
        holds: npt.NDArray[np.bool_],
        more: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]],
    ) -> npt.NDArray[np.int64]:
        group = self._groups.setdefault(key, NamedRows(dtype=np.int64))
        rows = group.rows(names)
        before = group.values[rows]
        group.values[rows] = counts = np.where(holds, more(before), 0)
        if self.step is not None:
            began = self._group_began.setdefault(key, NamedRows((2,), np.int64))
            at = began.rows(names)
            began.values[at[holds & (before == 0)]] = self.step
        return counts


class SimultaneousOnsets:
    """Tensors for which a condition began to hold at one step, under the name of the first."""

    def __init__(self) -> None:
        self._leader_of: dict[str, str] = {}

    def update(self, names: tuple[str, ...], holds: npt.NDArray[np.bool_]) -> dict[str, list[int]]:
        """Return the indices of the tensors for which it holds now; see ``Rule.onsets``."""
        if not self._leader_of and not holds.any():
            return {}
        new_leader = ""
        groups: dict[str, list[int]] = {}
        for index, (name, holds_now) in enumerate(zip(names, holds.tolist(), strict=True)):
            if not holds_now:
                self._leader_of.pop(name, None)
                continue
            if name not in self._leader_of:
                new_leader = new_leader or name
                self._leader_of[name] = new_leader
            groups.setdefault(self._leader_of[name], []).append(index)
        return groups


#: All of them; those of SageMaker Debugger.
PROFILE_RULES = (
    "batch_size",
    "cpu_bottleneck",
    "dataloader",
    "gpu_memory_increase",
    "io_bottleneck",
    "load_balancing",
    "low_gpu_utilization",
    "max_initialization_time",
    "overall_framework_metrics",
    "overall_system_usage",
    "step_outlier",
)


_NOTHING: Mapping[str, object] = {}


#: How the colors of a view follow its numbers; ``""`` for what suits the statistic.
Scale = Literal["", "linear", "log10"]


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """Which numbers show a finding.

    Args:
        collection: Of which tensors; ``""`` for that of the finding's tensor.
        statistic: Which of them; ``""`` for what is usual for the collection.
        scale: Of the colors; ``""`` for what suits the statistic.
        band: What is healthy, from and to; ``None`` where that depends on the model.
        tensors: The parameters or modules that the finding is about, the worst first.
        first: The first global step at which it was so; ``None`` if there is no finding.
        last: The step that confirmed it.
    """

    collection: str = ""
    statistic: str = ""
    scale: Scale = ""
    band: tuple[float, float] | None = None
    tensors: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None


class NotApplicable(str):
    """Why a rule reached no judgement, where that is as it should be: nothing is of its kind."""

    __slots__ = ()


class Rule:
    """Evaluates steps, one after the other, and yields findings.

    A rule depends on nothing but the steps it was given, in order: the same steps give the
    same findings, live and in replay. Only what it yields at a ``tick`` depends on the clock. It
    is given a step only if that holds a tensor of one of the collections it needs.

    Its parameters are class attributes, from which the constructor is made; what it remembers is
    set up in ``begin``. A class of your own with ``name``, ``needs`` and ``check`` is a rule,
    whether it inherits from this one or not, and may have an ``__init__`` of its own.

    Example:
        >>> class LargeLoss(Rule):
        ...     name = "large_loss"
        ...     needs = ("losses",)
        ...     limit: float = parameter(100.0, "A loss above this is large.", above=0)
        ...
        ...     def check(self, step):
        ...         for loss in step.tensors("losses"):
        ...             if loss.statistics.mean > self.limit:
        ...                 yield self.finding(step, loss, "the loss is large")
        >>> LargeLoss(limit=5).limit
        5
    """

    #: The name under which it is requested, in snake case.
    name: ClassVar[str]
    #: Collections of which a step must hold at least one tensor; none for every step.
    needs: ClassVar[tuple[str, ...]] = ()

    #: What must be saved for it beyond what is by default, as ``--save`` takes it; whoever
    #: captures with this rule at work saves it.
    evidence: tuple[str, ...] = ()

    #: Whether ``check`` is called for steps that train the model only.
    training_only: ClassVar[bool] = False

    #: Whether it starts anew when a script trains another model after the first: what it
    #: remembers of one loss says nothing of another.
    per_model: ClassVar[bool] = False

    #: Of such a rule: how many models were trained so far, with the one that is.
    num_models = 1

    #: Parameters, its own and those of ``Scope``, with which it behaves as SageMaker's does.
    compat: ClassVar[Mapping[str, object]] = {}

    #: Whether it compares what several workers recorded of one TRAIN step, and finds nothing in
    #: the steps of one. While workers train, the first one gives it their steps together, without
    #: full values.
    joint: ClassVar[bool] = False

    #: What its findings are signs of, a key of ``root_cause.SIGNS``; or that by patterns of
    #: the condition of a finding, or of the ``cause`` in its evidence, the first that matches.
    sign: ClassVar[str | Mapping[str, str]] = "other"

    #: What shows its findings; or that by patterns of the condition of a finding, the first that
    #: matches. ``None`` for the first collection that it needs.
    view: ClassVar[EvidenceView | Mapping[str, EvidenceView] | None] = None

    #: Why it reached no judgement, where there is one reason only; with ``{name}`` of parameters.
    lacks: ClassVar[str] = ""

    #: The parameter that is the number of TRAIN steps it needs, where it counts them in ``_steps``.
    needed_steps: ClassVar[str] = ""

    #: Its parameters in the order of the constructor, from the class attributes.
    parameters: ClassVar[Mapping[str, Parameter]] = {}

    #: Whether it judged anything, and how many steps it counted: what ``unevaluated`` goes by.
    _evaluated = False
    _steps = 0
    #: The tensors that it judges, where it has no other reason than that there are none.
    _tensors: Selection

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **parameters: Any) -> None: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.parameters = declare(cls, cls.parameters)
        if cls.__init__ is object.__init__ or hasattr(cls.__init__, "__signature__"):
            cls.__init__ = constructor(cls.parameters)  # type: ignore[method-assign]

    def begin(self) -> None:
        """Set up what it remembers; called by the constructor, with the parameters set."""

    def concerns(self, step: StepView) -> bool:  # noqa: ARG002
        """Return whether ``check`` might find or remember anything at a step.

        Asked once of all steps that hold the same tensors, by their names; of others the rule
        only counts that it has evaluated them.
        """
        return True

    def look(self, step: StepView) -> None:
        """Remember of a step before ``start_step`` what explains a later one."""

    def check(self, step: StepView) -> Iterable[Finding]:
        """Evaluate one step and yield what is wrong with it."""
        raise NotImplementedError

    def finish(self) -> Iterable[Finding]:
        """Yield what can only be known after the last step."""
        return ()

    def tick(self, now_ns: int, last_steps: Mapping[str, int]) -> Iterable[Finding]:  # noqa: ARG002
        """Judge by the clock, some times a second while the run goes on and never in replay.

        Args:
            now_ns: The time of day, nanoseconds since the Unix epoch, by a clock that nobody sets
                while the run is watched.
            last_steps: The last step that each worker wrote, complete or not; empty in the
                training process, which has no data of the others.
        """
        return ()

    def unevaluated(self) -> str | None:
        """Return why no judgement was reached although there were steps, or ``None``.

        A rule that compares steps gives here that it never had two to compare. Where the model or
        the training has nothing that the rule is about, the reason is a ``NotApplicable``.
        """
        if self.needed_steps:
            return few_steps(self._steps, getattr(self, self.needed_steps))
        if self._evaluated:
            return None
        if self.lacks:
            given = {name: getattr(self, name) for name in self.parameters}
            return type(self.lacks)(self.lacks.format(**given))
        tensors: Selection | None = getattr(self, "_tensors", None)
        return tensors.missing() if tensors else None

    def finding(
        self,
        step: StepView | StepNumber | int,
        tensor: TensorView | str,
        message: str,
        *,
        condition: str = "",
        value: float | None = None,
        threshold: float | None = None,
        remedy: str = "",
        severity: str = "warning",
        mode: str = "",
        worker: str | None = None,
        onset: StepNumber | None = None,
        evidence: Mapping[str, object] = _NOTHING,
    ) -> Finding:
        """Return a finding of this rule.

        Args:
            step: The step, what was remembered of one, or its global number.
            tensor: What it is about; by its name, or with its worker.
            message: What is wrong, with the numbers.
            condition: What separates this finding from others of the rule; the tensor if empty.
            value: What was measured.
            threshold: What it was compared with.
            remedy: What to do.
            severity: One of ``SEVERITIES``.
            mode: That of the step, where the engine cannot know it.
            worker: That of the tensor if ``None``.
            onset: The step at which it began. By default that from which on the condition held
                which ``persists`` was asked about last, where the finding is of this very step.
            evidence: More numbers and names.
        """
        number = step if isinstance(step, int) else step.number
        mode_step = step.mode_step(mode) if isinstance(step, StepNumber) else None
        name, its_worker = (tensor, "") if isinstance(tensor, str) else (tensor.name, tensor.worker)
        held, now = self._held.pop_onset(name), self._held.step
        if onset is None and now is not None and now.number == number:
            onset = held
        return Finding(
            self.name,
            number,
            name,
            message,
            condition=condition,
            value=value,
            threshold=threshold,
            remedy=remedy,
            severity=severity,
            mode=mode,
            mode_step=mode_step,
            worker=its_worker if worker is None else worker,
            onset=None if onset is None else onset.number,
            train_onset=None if onset is None else onset.train_step,
            evidence=evidence,
        )

    def begin_step(self, step: StepNumber | None) -> None:
        """A step is about to be evaluated: what begins to hold does so there; ``None`` for none."""
        self._held.step = step
        self._held.forget_last()

    def streak(self, key: Hashable, holds: object) -> int:
        """Count an evaluation of a condition; return how many times in a row it held."""
        return self._held.count(key, holds)

    def persists(self, key: Hashable, holds: object, times: int | None = None) -> bool:
        """Count an evaluation of a condition; return whether it held so many times in a row.

        Args:
            key: The condition, with the worker and the tensor that it is about.
            holds: Whether it holds now.
            times: How many; by default the parameter ``consecutive``.
        """
        needed: int = self.consecutive if times is None else times  # type: ignore[attr-defined]
        return self._held.count(key, holds) >= needed

    def persist_each(
        self, key: Hashable, names: tuple[str, ...], holds: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Return for which tensors a condition held ``consecutive`` times in a row.

        Args:
            key: Of the group of tensors, such as the worker.
            names: The tensors.
            holds: Whether it holds for each now, shape ``[tensors]``.
        """
        if self.consecutive == 1:  # type: ignore[attr-defined]
            return holds
        streaks = self._held.count_each(key, names, holds)
        return streaks >= self.consecutive  # type: ignore[attr-defined, no-any-return]

    def note_each(
        self, key: Hashable, names: tuple[str, ...], holds: npt.NDArray[np.bool_]
    ) -> None:
        """Note in ``look`` for which tensors a condition holds: it began there, and counts later.

        Args:
            key: As for ``persist_each``.
            names: The tensors.
            holds: Whether it holds for each now, shape ``[tensors]``.
        """
        self._held.note_each(key, names, holds)

    def onsets(
        self, key: Hashable, names: tuple[str, ...], holds: npt.NDArray[np.bool_]
    ) -> dict[str, list[int]]:
        """Return the indices of the tensors for which a condition holds, by those of one onset.

        Args:
            key: The condition, with the worker where each is judged by itself.
            names: The tensors; others keep their onset.
            holds: Whether it holds for each now, shape ``[tensors]``.

        Returns:
            In order, under the name of the first for which it began to hold at the same step.
        """
        return self._onsets[key].update(names, holds)

    @cached_property
    def _held(self) -> Streaks:
        return Streaks()

    @cached_property
    def _onsets(self) -> defaultdict[Hashable, SimultaneousOnsets]:
        return defaultdict(SimultaneousOnsets)


Findings = Iterator[Finding]


def few_steps(num_steps: int, needed: int) -> str | None:
    """Return why so many TRAIN steps are not enough; ``None`` if they are."""
    return (
        None
        if num_steps >= needed
        else f"{num_steps} TRAIN steps were observed in full, {needed} are needed"
    )


ON_FIRE = ("continue", "stop")
PROFILES = ("standard", "compat")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which steps and tensors a rule judges, and what becomes of its findings.

    Where a rule has a parameter of the same name, the parameter is the rule's.

    Args:
        start_step: First global step that is judged.
        end_step: First global step that no longer is; ``None`` for no end.
        mode: Only steps of this mode; ``None`` or ``GLOBAL`` for all.
        workers: Only records of these workers; empty for all.
        include_regex: Only tensors whose name matches, by a search.
        exclude_regex: No tensor whose name matches.
        severity: Given to every finding; ``None`` leaves it to the rule.
        on_fire: ``stop`` ends the rule with its first finding.
        cooldown_steps: A condition must have been away for more steps than this to be news, of
            those of its mode that the rule evaluated.
        min_evaluations: With fewer evaluations the rule ends NotEvaluated. At least 1.
        profile: ``compat`` makes the conditions and defaults of SageMaker those of the rule,
            which then ends with its first finding unless ``on_fire`` is given.

    Raises:
        ConfigError: An invalid value.
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
        """Return what of a step is in scope, ``None`` for nothing."""
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
    """A rule with its scope.

    Args:
        rule: Ready for its first step.
        scope: Parameters that every rule has.
        label: Its name where one rule is used twice; the rule's name if empty.
    """

    rule: Rule
    scope: Scope = Scope()
    label: str = ""

    @property
    def name(self) -> str:
        """Its name in findings and statuses."""
        return self.label or self.rule.name


def required_captures(rules: Iterable[Watched]) -> tuple[str, ...]:
    """Return what must be saved for rules, as ``--save`` takes it, each once."""
    wanted = (text for one in rules for text in getattr(one.rule, "evidence", ()))
    return tuple(dict.fromkeys(wanted))


class Selection:
    """The tensors a rule is to judge, found once for each layout.

    Args:
        collections: Names of collections.
        regexes: Regular expressions; a tensor whose name matches one is selected too.
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
        #: The same for all that select the same; a text, whose hash is computed once.
        self.key = intern(repr((self.collections, self.regexes, keep)))
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
        """Return what was to be selected, if none of it was ever there."""
        if self.found_any:
            return None
        wanted = [f"in {', '.join(self.collections)}"] if self.collections else []
        wanted += [f"matching {regex!r}" for regex in self.regexes]
        return f"no tensor {' or '.join(wanted) or 'at all'} was seen"

    def _select(self, step: StepView, record: StepRecord) -> Selected:
        layout = record.layout
        mask = np.zeros(len(layout), bool)
        # without a collection, groups() gives every tensor that is in scope
        if self.collections or not self.regexes:
            for group in step.groups(*self.collections):
                if group.record is record:
                    mask[group.rows] = True
        if self.regexes:
            for group in step.groups():
                if group.record is record:
                    for regex in self.regexes:
                        mask[group.rows] |= layout.matching(regex)[group.rows]
        tensors = layout.tensors
        rows = [
            int(row)
            for row in np.flatnonzero(mask)
            if self._keep is None or self._keep(layout, tensors[row])
        ]
        return Selected(np.array(rows, np.intp), tuple(tensors[row].name for row in rows))


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected rows of a layout and the names of their tensors."""

    rows: npt.NDArray[np.intp]
    names: tuple[str, ...]


#: How long a window is, unless a rule needs shorter ones.
SCAN_INTERVAL_US = 60_000_000


class ProfileRule(Rule):
    """Evaluates a profile, one window of time after the other, and no step.

    As with steps, the same windows give the same findings, live and in replay. ``add`` takes in a
    window; ``judge`` judges all of them at the end of each interval. Of a finding, ``step`` is the
    last one that had begun by then.
    """

    #: What the profile must hold, for the reason why nothing was judged.
    evidence_noun: ClassVar[str] = "readings"
    #: What ``datapoints`` counts.
    unit: ClassVar[str] = "readings"

    sign = "machine"

    scan_interval_us: int = parameter(
        SCAN_INTERVAL_US, "Microseconds from one judgement to the next.", above=0, kw_only=True
    )

    #: The default of ``needed``, a parameter of most.
    patience: int = 0
    _evaluated_ns: int | None = None
    #: How often a condition held, at any judgement.
    violations = 0

    def check(self, step: StepView) -> Iterable[Finding]:  # noqa: ARG002
        return ()

    def scan(self, window: ProfileWindow) -> Findings:
        """Evaluate one window and yield what is wrong."""
        self.add(window)
        if self._evaluated_ns is None:
            self._evaluated_ns = window.start_ns
        if window.is_last or window.end_ns - self._evaluated_ns >= 1000 * self.scan_interval_us:
            self._evaluated_ns = window.end_ns
            for finding in self.judge(window):
                self.violations += 1
                more = {"datapoints": self.datapoints, "time_ns": window.end_ns}
                yield replace(finding, evidence={**finding.evidence, **more})

    def add(self, window: ProfileWindow) -> None:
        """Take in one window."""
        raise NotImplementedError

    def judge(self, window: ProfileWindow) -> Iterable[Finding]:  # noqa: ARG002
        """Judge all that was taken in, of which ``window`` is the last; some find nothing."""
        return ()

    @property
    def datapoints(self) -> int:
        """How many readings, steps or whatever else it judges there were."""
        raise NotImplementedError

    def details(self) -> Mapping[str, object]:
        """Return the numbers behind the judgement, of JSON's types."""
        return {}

    def summary(self) -> str:
        """Return the numbers as a sentence, for a rule that finds nothing; may be empty."""
        return ""

    def unevaluated(self) -> str | None:
        count = self.datapoints
        if not count:
            return f"no {self.evidence_noun} in the profile"
        if count <= self.needed:
            return f"{count} {self.unit} were seen, more than {self.needed} are needed"
        return None

    @property
    def needed(self) -> int:
        """More than so many datapoints are needed."""
        return self.patience


class GpuRule(ProfileRule):
    """A rule that has nothing to judge where no machine has a GPU."""

    evidence_noun = "readings of GPUs"

    def unevaluated(self) -> str | None:
        return super().unevaluated() if self.datapoints else NotApplicable("no GPU in the profile")
