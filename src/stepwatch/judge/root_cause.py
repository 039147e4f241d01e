"""Chains: what began it on top, and beneath it what followed, in place of forty alarms.

The rule on which this is correct: a finding follows from another only if there is a link of
``LINKS`` and the other is before it in one order of all findings (when it began, then the
stage of the step, then the order of execution). So there is no circle, and the same findings give
the same chains, whatever the order they came in.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from weakref import WeakSet

from ..errors import StepwatchError
from ..model.collection import SPECS, STAGES, spec_of, subject
from ..model.finding import SEVERITIES, Finding
from ..model.record import Layout
from ..model.subjects import subject_of
from ..plugins import registry
from .parameters import GROUP


class StepOrder:
    """The tensors of a run: the collection of each, and when it is computed.

    Args:
        layouts: Of the steps of the run, in any order.
    """

    def __init__(self, layouts: Iterable[Layout] = ()) -> None:
        self._known: WeakSet[Layout] = WeakSet()
        self._last: Layout | None = None
        self._collections: dict[str, str] = {}
        self._rows: dict[str, int] = {}
        for layout in layouts:
            self.add(layout)

    def add(self, layout: Layout) -> None:
        """Add the tensors of a step."""
        if layout is self._last:  # as at most steps
            return
        self._last = layout
        if layout in self._known:
            return
        self._known.add(layout)
        for row, tensor in enumerate(layout.tensors):
            self._collections[tensor.name] = tensor.collection
            # the first of its rows, so that it does not matter which layout comes first
            self._rows[tensor.name] = min(row, self._rows.get(tensor.name, row))

    def __reduce__(self) -> tuple[type[StepOrder], tuple[()], dict[str, object]]:
        """Pickle without the layouts: no more of these steps come in another process."""
        return StepOrder, (), {"_collections": self._collections, "_rows": self._rows}

    @property
    def collections(self) -> frozenset[str]:
        """The built-in collections of which there is a tensor."""
        return frozenset(self._collections.values())

    @property
    def tensors(self) -> Collection[str]:
        """The names of all of them."""
        return self._rows.keys()

    def missing(self, stage: int) -> str:
        """Return the main collection of a stage if nothing of it was captured, else ``""``."""
        names = [
            spec.name
            for spec in SPECS.values()
            if spec.stage == STAGES[stage] and spec.models != "trees only"
        ]
        return "" if not names or self.collections.intersection(names) else names[0]

    def stage(self, tensor: str) -> int:
        """Return the index of a tensor's stage in ``STAGES``; what is not known comes last."""
        collection = self._collections.get(tensor)
        spec = SPECS.get(collection) if collection else spec_of(tensor)
        return STAGES.index(spec.stage) if spec and spec.stage else len(STAGES)

    def position(self, tensor: str) -> int:
        """Return when a tensor is made within its step; what is not known comes last."""
        return self._rows.get(tensor, len(self._rows))

    def made_by(self, tensor: str) -> int | None:
        """Return when the module ends that a tensor belongs to; ``None`` if that is not known."""
        spec = spec_of(tensor)
        module = subject(tensor)
        if spec is None or spec.subject != "module":
            module = module.rpartition(".")[0]
        return self._rows.get(f"output/{module}")


# A label ends so where one rule was requested several times.
_NUMBER = re.compile(r"-\d+$")


@dataclass(frozen=True, slots=True)
class Sign:
    """What a kind of findings is evidence of.

    Args:
        confirm: What would confirm that it is the cause, one line; with ``{run}``, ``{step}``,
            ``{mode_step}``, ``{script}`` and ``{tensor}``; ``""`` where the finding says it all.
        late: How many steps after it began it is reported, where the finding has no ``onset``;
            infinite for what a script is made of, and so for what holds from its first step on.
        reach: How many steps later something may follow from it; ``None`` as long as the run goes.
        stage: Of ``STAGES``, where that of the tensor is not what counts: ``outcome`` for findings
            that something is wrong which do not locate it.
        unseen: What began within so many steps may have begun with the run, where the finding has
            no ``onset``: its rules judge only what comes later.
        locates: Whether it says what is wrong, or where. Of the same severity, chains that begin
            with one that does not come after those that begin with one that does.
    """

    confirm: str
    late: float = 0
    reach: int | None = None
    stage: str = ""
    unseen: int = 0
    locates: bool = True


Relation = Callable[[Finding, Finding, StepOrder], bool]


def anywhere(cause: Finding, effect: Finding, order: StepOrder) -> bool:  # noqa: ARG001
    """Hold wherever the two are."""
    return True


def same_step(cause: Finding, effect: Finding, order: StepOrder) -> bool:  # noqa: ARG001
    """Hold where both are of one step."""
    return cause.step == effect.step


def same_tensor(cause: Finding, effect: Finding, order: StepOrder) -> bool:  # noqa: ARG001
    """Hold where both are about one parameter or module."""
    return bool(_subjects(cause) & _subjects(effect))


def on_the_way_back(cause: Finding, effect: Finding, order: StepOrder) -> bool:
    """Hold where the gradient passes the cause before the effect, as far as is known."""
    maker, reached = order.made_by(cause.tensor), order.made_by(effect.tensor)
    return maker is None or reached is None or reached <= maker


def of_all_weights(cause: Finding, effect: Finding, order: StepOrder) -> bool:  # noqa: ARG001
    """Hold where a training that diverges moved most of the weights."""
    return cause.condition in ("diverged", "unbounded") and effect.condition == "replaced"


def diverges(cause: Finding, effect: Finding, order: StepOrder) -> bool:  # noqa: ARG001
    """Hold where a training diverges after something else than its optimizer moved a weight."""
    return cause.condition != "replaced" and effect.condition in ("diverged", "unbounded")


@dataclass(frozen=True, slots=True)
class Link:
    """One sign may bring about another.

    Args:
        cause: A key of ``SIGNS``.
        effect: Another, or the same.
        relation: Where the two must be.
        certain: Whether nothing else can be behind it.
    """

    cause: str
    effect: str
    relation: Relation = anywhere
    certain: bool = False


_SHOW = "stepwatch show {run} --tensor '{tensor}'"
_RATES = (
    "look at the learning rate: stepwatch show {run} --tensor '^learning_rate/' --statistic mean"
)
_REPLAY = "run the step again: stepwatch replay {run} --step {step}"
_LOOK = f"look at it: {_SHOW}"
_TENTH = "train once with a tenth of the learning rate"
_BATCH = (
    "save what the loss is given: stepwatch run --save predictions:raw:steps={mode_step}"
    " --save labels:raw:steps={mode_step} {script}"
)

_SAVED = "look at what was saved of the batches: stepwatch dash {run}"

_BATCHES = (
    "look at the batches: stepwatch run --save inputs:raw:steps={mode_step}"
    " --save labels:raw:steps={mode_step} {script}"
)

SIGNS = {
    "setup": Sign("", late=math.inf, stage="setting"),
    "schedule": Sign(_RATES, late=20),
    "rate": Sign(_RATES, late=10),
    "mode": Sign(f"see since when: {_SHOW} --statistic mean", late=10),
    "stale": Sign("train once with zero_grad() right before backward()", late=10),
    "scale": Sign(f"look at the weight of the loss, or the norm: {_SHOW}", late=10),
    "unchanged": Sign(f"see since when: {_SHOW}", late=10, stage="weight"),
    "untrained": Sign(f"see whether it changes: {_SHOW}", late=10, stage="setting"),
    "initialization": Sign(f"look at how large it is at step 0: {_SHOW}", late=5, stage="setting"),
    "state": Sign(_TENTH, late=30),
    "divisor": Sign("train once with a hundredth of eps", late=30, stage="update"),
    "precision": Sign("train once in float32", late=40, stage="setting"),
    "unsynced": Sign(f"see the gradients of each worker: {_SHOW}", late=2, stage="setting"),
    "replicas": Sign(
        "compare the replicas: stepwatch run --save weights:digest --save batches:digest {script}",
        late=5,
    ),
    "loss_input": Sign(_BATCH, late=5),
    "data": Sign(_BATCHES, late=50, stage="data"),
    "inputs": Sign(_BATCHES, late=10, stage="data"),
    "held_out": Sign(
        "evaluate once on data that are trained on: their loss must be that of training",
        stage="output",
    ),
    "inactive": Sign(f"see since when: {_SHOW} --statistic zero_fraction", late=10, unseen=10),
    "drift": Sign(f"see how it grows: {_SHOW} --statistic abs_max", late=30),
    "no_gradient": Sign(
        "look at what the loss is given, and which layer still varies: stepwatch show {run}",
        late=10,
        stage="gradient",
    ),
    "pace": Sign("train once with ten times the learning rate", late=100, stage="update"),
    "updates": Sign(_TENTH, stage="update"),
    "moved": Sign(f"see when it changed: {_SHOW} --statistic l2"),
    "vanishing": Sign(f"see where it fades: {_SHOW} --statistic abs_mean", late=10),
    "spike": Sign(_REPLAY, reach=20, locates=False),
    "growth": Sign(_TENTH, late=50),
    "bad_data": Sign(_REPLAY, reach=200),
    "non_finite": Sign(_REPLAY, reach=200),
    "exploded": Sign(_REPLAY, reach=200, stage="outcome", locates=False),
    "waiting": Sign("time the data loader without the model, worker by worker", locates=False),
    "machine": Sign("see where the time goes: stepwatch profile {run}", locates=False),
    "memory": Sign(f"see how it grows: {_SHOW} --statistic mean", late=100, locates=False),
    "collapse": Sign(
        "train once without what else the loss adds up: samples must be told apart then",
        stage="output",
    ),
    "outcome": Sign(
        "train once on a single small batch, again and again: its loss must keep falling",
        stage="outcome",
        locates=False,
    ),
    "metric": Sign("compute it by hand for one batch", stage="outcome"),
    "loaded": Sign(
        "compare the checkpoint with its run: stepwatch audit CHECKPOINT --run {run}",
        late=3,
        stage="setting",
    ),
    "other": Sign(_LOOK),
}

_LOST = ("waiting", "machine", "memory", "metric", "other")
_NOT_FINITE = ("bad_data", "non_finite", "exploded")
_DIVERGED = ("spike", "non_finite", "exploded")


def _links(causes: Iterable[str], effects: Iterable[str]) -> list[Link]:
    return [Link(cause, effect) for cause in causes for effect in effects]


LINKS = (
    # by definition
    Link("bad_data", "exploded", same_step, certain=True),
    Link("non_finite", "exploded", same_step, certain=True),
    Link("stale", "stale", same_tensor, certain=True),
    Link("untrained", "unchanged", same_tensor, certain=True),
    Link("inactive", "inactive", same_tensor, certain=True),
    # one rule that finds the same of several tensors, or more of it
    *(Link(sign, sign) for sign in ("schedule", "drift", "inactive", "updates", "waiting")),
    *_links(("waiting", "machine"), ("machine",)),
    Link("schedule", "rate"),
    *_links(("setup",), ("schedule", "rate", "untrained", "unchanged", "updates", "pace")),
    Link("loss_input", "metric"),
    # what holds for the data that are trained on, and for no other
    *_links(("setup", "mode", "loaded", "loss_input", "data", "inputs"), ("held_out",)),
    # what learns nothing learns nothing that holds
    *_links(("schedule", "untrained"), ("held_out",)),
    # workers that train alone
    *_links(("unsynced",), ("unsynced", "replicas", *_DIVERGED)),
    # steps that are too large or too small, and what they end in
    *_links(
        ("schedule", "rate", "stale", "scale", "state", "precision", "inputs"),
        ("drift", "growth", "updates", "pace", *_DIVERGED),
    ),
    *_links(("initialization",), ("drift", "growth", "updates", "pace", "spike")),
    *_links(("untrained", "unchanged", "inactive", "vanishing"), ("updates", "pace")),
    *_links(("drift", "growth", "updates", "pace", "replicas", "moved"), _DIVERGED),
    *_links(("spike",), (*_DIVERGED, "inactive")),
    *_links(("loss_input", *_NOT_FINITE), ("exploded",)),
    # weights that became NaN spoil each step after it
    *_links(("loss_input", "bad_data", "non_finite"), ("non_finite",)),
    *_links(("bad_data", "non_finite"), ("spike",)),
    # what moves weights by much then
    *_links(_NOT_FINITE, ("moved",)),
    Link("updates", "moved", of_all_weights),
    Link("moved", "updates", diverges),
    # what was loaded is not what is trained on
    *_links(
        ("loaded",),
        ("untrained", "unchanged", "rate", "schedule", "state", "updates", "pace", *_DIVERGED),
    ),
    # gradients that do not arrive
    *_links(
        ("initialization", "schedule", "rate", "inputs"), ("inactive", "vanishing", "unchanged")
    ),
    *_links(("precision",), ("vanishing", "unchanged")),
    *_links(
        ("initialization", "schedule", "rate", "inputs", "inactive", "loss_input", "spike"),
        ("no_gradient",),
    ),
    *_links(("updates", "growth"), ("no_gradient", "inactive")),
    # steps that add up kill units, and a layer that begins at zero and is not trained stays there
    *_links(("stale", "untrained"), ("inactive",)),
    Link("untrained", "no_gradient"),
    *_links(
        ("no_gradient",),
        ("state", "pace", "updates", "unchanged", "vanishing", "scale", "inactive"),
    ),
    # what no longer depends on the input trains nothing before it, and the other way round
    *_links((sign for sign in SIGNS if sign not in (*_LOST, "outcome", "collapse")), ("collapse",)),
    *_links(("collapse",), ("inactive", "vanishing", "unchanged", "no_gradient")),
    Link("inactive", "vanishing", on_the_way_back),
    Link("inactive", "unchanged", on_the_way_back),
    Link("vanishing", "unchanged", same_tensor),
    # what an optimizer divides by outweighs gradients that are nearly none
    *_links(("inactive", "vanishing", "no_gradient", "initialization", "scale"), ("divisor",)),
    *_links(("divisor",), ("updates", "pace")),
    # what comes of it: nothing follows from time that is lost, or from what is only counted
    *_links((sign for sign in SIGNS if sign not in _LOST), ("outcome",)),
)


def rule_name(label: str) -> str:
    """Return the name of a rule by what it is called where it was requested several times.

    Example:
        >>> rule_name("loss_spike-2"), rule_name("overfit")
        ('loss_spike', 'overfit')
    """
    return _NUMBER.sub("", label)


def sign_of(finding: Finding) -> str:
    """Return the key in ``SIGNS`` of what a finding is a sign of, as its rule declares it."""
    declared = _declared(rule_name(finding.rule))
    texts = finding.condition, str(finding.evidence.get("cause", ""))
    return next(
        (
            sign
            for pattern, sign in declared.items()
            if any(fnmatchcase(text, pattern) for text in texts)
        ),
        "other",
    )


def earlier_rules(sign: str) -> list[str]:
    """Return the rules that can name what a sign follows from, directly or over others."""
    found: set[str] = set()
    news = {sign}
    while news:
        news = {link.cause for link in LINKS if link.effect in news} - found
        found |= news
    declared = {name: _declared(name).values() for name in registry.names(GROUP)}
    causes = [name for name in SIGNS if name in found - {sign}]
    rules = [rule for cause in causes for rule in declared if cause in declared[rule]]
    return list(dict.fromkeys(rules))


@cache
def _declared(rule: str) -> Mapping[str, str]:
    """Return the signs of an installed rule by patterns of conditions."""
    try:
        sign = getattr(registry.load(GROUP, rule), "sign", "other")
    except StepwatchError:  # a rule of somebody's own, or one that cannot be imported here
        sign = "other"
    declared = sign if isinstance(sign, Mapping) else {"*": sign}
    return {pattern: one if one in SIGNS else "other" for pattern, one in declared.items()}


def _subjects(finding: Finding) -> set[str]:
    names = [finding.tensor]
    for key in ("tensors", "parameters"):
        more = finding.evidence.get(key)
        names += [str(name) for name in more] if isinstance(more, (list, tuple)) else []
    return {subject(name) for name in names if name}


@dataclass(frozen=True, slots=True)
class Consequence:
    """A finding that follows from another.

    Args:
        finding: What was found.
        certain: Whether it follows; else it may.
    """

    finding: Finding
    certain: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """One cause and what came of it.

    Args:
        cause: The first finding: of the earliest step, of the earliest stage of that, and there
            the first that was executed.
        consequences: The others, in the order in which they happened.
    """

    cause: Finding
    consequences: tuple[Consequence, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The cause, and all that follows."""
        return (self.cause, *(one.finding for one in self.consequences))

    @property
    def severity(self) -> str:
        """The worst severity of its findings."""
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index)

    @property
    def head(self) -> Finding:
        """The cause as it is shown: as severe as what came of it."""
        return replace(self.cause, severity=self.severity)

    def confirm(
        self,
        run: str = "RUN",
        replayable: Container[int] | None = None,
        *,
        tensors: Container[str] | None = None,
        raw: Container[str] = (),
        script: str = "SCRIPT",
    ) -> str:
        """Return what would confirm the cause, one line; ``""`` where nothing here would.

        Args:
            run: Where the run lies.
            replayable: The TRAIN steps that can be run again; ``None`` if that is not known.
            tensors: Those of the run; ``None`` if that is not known.
            raw: The collections of which full values were asked for.
            script: The script, and its arguments.
        """
        cause = self.cause
        step = cause.train_step
        mode_step = step if cause.mode_step is None else cause.mode_step
        shown = subject_of(cause.tensor, tensors).tensor if cause.tensor else ""
        if tensors is not None and shown not in tensors:
            shown = ""
        line = SIGNS[sign_of(cause)].confirm
        if line == _BATCH and tensors is not None and _is_given_to_loss(shown):
            line = _LOOK
        if line in (_BATCH, _BATCHES) and "labels" in raw:
            line = _SAVED if find_spec("starlette") else ""  # without it there is no dashboard
        if not shown and "{tensor}" in line:
            line = "" if cause.tensor else _REPLAY
        if line == _REPLAY and replayable is not None and step not in replayable:
            line = _LOOK if shown else ""
        return line.format(run=run, step=step, mode_step=mode_step, tensor=shown, script=script)


def _is_given_to_loss(tensor: str) -> bool:
    """Return whether a tensor is the prediction or the target of a loss."""
    spec = spec_of(tensor)
    return spec is not None and spec.name in ("predictions", "labels")


def chains(findings: Iterable[Finding], order: StepOrder | None = None) -> list[Chain]:
    """Group findings by what they follow from.

    Args:
        findings: In any order; one that is there twice counts once.
        order: The tensors of the run, for the order of execution. What is not known of them
            speaks against no link.

    Returns:
        The most severe first, of these those whose cause says what is wrong, then in the order in
        which they began. Every finding is in one chain.
    """
    found = _members(_Search(findings, order or StepOrder()))
    return sorted(found, key=_precedence)


def _precedence(chain: Chain) -> tuple[int, bool]:
    return -SEVERITIES.index(chain.severity), not SIGNS[sign_of(chain.cause)].locates


@dataclass(frozen=True, order=True)
class _Ranked:
    """A finding in the one order of all of them."""

    began: float
    stage: int
    position: int
    step: int
    finding_id: str
    finding: Finding = field(compare=False)
    sign: str = field(compare=False)


class _Search:
    def __init__(self, findings: Iterable[Finding], order: StepOrder) -> None:
        self._order = order
        known = {finding.finding_id: finding for finding in findings}
        self.ranked = sorted(self._rank(name, finding) for name, finding in known.items())
        self._of_sign: dict[str, list[_Ranked]] = {}
        for one in self.ranked:
            self._of_sign.setdefault(one.sign, []).append(one)

    def cause_of(self, one: _Ranked) -> tuple[_Ranked, bool] | None:
        """Return what a finding follows from, the first of what is certain; and if it is."""
        best: tuple[bool, _Ranked] | None = None
        for link in LINKS:
            cause = self._first(link, one) if link.effect == one.sign else None
            if cause is not None:
                workers = {cause.finding.worker, one.finding.worker} - {""}
                found = not link.certain or len(workers) > 1, cause
                best = found if best is None else min(best, found)
        return None if best is None else (best[1], not best[0])

    def _rank(self, finding_id: str, finding: Finding) -> _Ranked:
        name = sign_of(finding)
        sign = SIGNS[name]
        began = finding.step - sign.late if finding.onset is None else finding.onset
        began = max(0, began)
        return _Ranked(
            0 if finding.onset is None and began <= sign.unseen else began,
            STAGES.index(sign.stage) if sign.stage else self._order.stage(finding.tensor),
            self._order.position(finding.tensor),
            finding.step,
            finding_id,
            finding,
            name,
        )

    def _first(self, link: Link, effect: _Ranked) -> _Ranked | None:
        """Return the first finding that the effect follows from by a link."""
        causes = self._of_sign.get(link.cause, [])
        sign = SIGNS[link.cause]
        oldest = 0
        if sign.reach is not None:
            earliest = effect.finding.step - sign.reach - sign.late
            oldest = bisect_left(causes, earliest, key=lambda cause: cause.began)
        for cause in causes[oldest:]:
            if not cause < effect:
                break
            # What is no warning by itself is not said to be behind one unless that is certain.
            if not link.certain and cause.finding.severity == "info" != effect.finding.severity:
                continue
            if link.relation(cause.finding, effect.finding, self._order):
                return cause
        return None


def _members(search: _Search) -> list[Chain]:
    """Return the chains in the order of their causes."""
    roots: dict[str, tuple[Finding, bool]] = {}
    consequences: dict[str, list[Consequence]] = {}
    for one in search.ranked:  # a cause comes before what follows from it
        found = search.cause_of(one)
        if found is None:
            roots[one.finding_id] = one.finding, True
            consequences[one.finding_id] = []
        else:
            cause, certain = found
            root, all_certain = roots[cause.finding_id]
            roots[one.finding_id] = root, certain and all_certain
            consequence = Consequence(one.finding, certain and all_certain)
            consequences[root.finding_id].append(consequence)
    return [Chain(roots[name][0], tuple(rest)) for name, rest in consequences.items()]
