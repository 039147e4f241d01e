"""Evidence views: which numbers of a run show what a rule found, and how they are drawn.

A rule declares its view beside its ``sign``. What it leaves open follows from the collections that
it needs and from the tensor of the finding. The page, reports and plots open with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from ..errors import StepwatchError
from ..model.collection import SPECS, subject
from ..model.finding import Finding
from ..model.subjects import NOTES, subject_of
from ..numerics.statistics import BY_FACTORS
from ..plugins import registry
from ..trial import Trial
from .parameters import GROUP
from .root_cause import rule_name
from .rule import EvidenceView, Scale

#: How a collection is looked at where a rule says no more: the first that a run has, in this order.
USUAL: Mapping[str, EvidenceView] = {
    "gradients": EvidenceView("gradients", "l2"),
    "updates": EvidenceView("updates", "mean", "log10", (1e-4, 1e-2)),
    "outputs": EvidenceView("outputs", "rms"),
    "weights": EvidenceView("weights", "rms"),
}


def of_collection(collection: str, statistic: str = "") -> EvidenceView:
    """Return the view of a collection, with all that was left open.

    Example:
        >>> view = of_collection("updates")
        >>> view.statistic, view.scale, view.band
        ('mean', 'log10', (0.0001, 0.01))
    """
    usual = USUAL.get(collection, EvidenceView(collection))
    spec = SPECS.get(collection)
    statistic = statistic or usual.statistic or ("mean" if spec and spec.is_number else "rms")
    scale: Scale = usual.scale or ("log10" if statistic in BY_FACTORS else "linear")
    band = usual.band if statistic == usual.statistic else None
    return replace(usual, statistic=statistic, scale=scale, band=band)


def declared_view(rule: str, condition: str = "") -> EvidenceView:
    """Return what a rule declares for a condition; by what it needs where it declares nothing.

    Example:
        >>> declared_view("vanishing_gradient").statistic
        'abs_mean'
        >>> declared_view("loss_direction").collection
        'losses'
    """
    views = _declared(rule_name(rule))
    return next(
        (view for pattern, view in views.items() if fnmatchcase(condition, pattern)),
        EvidenceView(),
    )


@cache
def _declared(rule: str) -> Mapping[str, EvidenceView]:
    try:
        kind = registry.load(GROUP, rule)
    except StepwatchError:  # a rule of somebody's own, or one that cannot be imported here
        return {}
    declared = getattr(kind, "view", None)
    if declared is None:
        needs = getattr(kind, "needs", ())
        return {"*": EvidenceView(next((one for one in needs if one in SPECS), ""))}
    return declared if isinstance(declared, Mapping) else {"*": declared}


def view_of(finding: Finding, kinds: Mapping[str, str]) -> EvidenceView:
    """Return the view of a finding.

    Args:
        finding: The finding.
        kinds: The collection of each tensor of the run.

    Returns:
        A view that the run has something of, if it has anything of a layer or of the declared
        collection; else the view of an empty collection.
    """
    declared = declared_view(finding.rule, finding.condition)
    there = frozenset(kinds.values())
    own = kinds.get(subject_of(finding.tensor, kinds).tensor, "")
    wanted = "" if declared.collection in NOTES else declared.collection
    wanted = wanted or own
    beside = ("losses",) if kinds.get(finding.tensor) in NOTES else ()
    chosen = next((one for one in (wanted, own, *beside, *USUAL) if one in there), "")
    view = of_collection(chosen, declared.statistic if chosen == wanted else "")
    if chosen == declared.collection:
        view = replace(view, scale=declared.scale or view.scale, band=declared.band or view.band)
    return replace(view, tensors=_tensors(finding), first=finding.began, last=finding.step)


#: The collections whose tensors are single numbers that people follow, in this order.
NUMBERS = ("losses", "metrics", "scalars", "learning_rates")


def numbers_of(finding: Finding, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """Return the numbers that a finding is about: what has a figure of its own, as a loss has.

    Those that its evidence tells of by name come first: a rate that is too high is seen in a loss.

    Example:
        >>> kinds = {"loss/mse": "losses", "spread/mse": "classes", "fc.weight": "weights"}
        >>> numbers_of(Finding("chance_level", 9, "spread/mse", ""), kinds)
        ('loss/mse',)
        >>> numbers_of(Finding("weight_collapse", 9, "fc.weight", ""), kinds)
        ()
        >>> kinds = {"loss/mse": "losses", "learning_rate/0": "learning_rates"}
        >>> evidence = {"loss/mse": [2.3, 9.6]}
        >>> numbers_of(Finding("step_size", 9, "learning_rate/0", "", evidence=evidence), kinds)
        ('loss/mse', 'learning_rate/0')
    """
    told = [name for name in finding.evidence if kinds.get(name) in NUMBERS]
    kind = kinds.get(finding.tensor)
    shown = subject_of(finding.tensor, kinds).tensor
    if kind in _OF_LOSS:
        shown = f"loss/{finding.tensor.partition('/')[2]}"
    own = [shown] if kinds.get(shown) in NUMBERS else []
    return tuple(dict.fromkeys([*told, *own]))


# What is kept of a loss under its name.
_OF_LOSS = ("predictions", "labels", "log_partition")


def is_marked(finding: Finding, name: str, kinds: Mapping[str, str]) -> bool:
    """Return whether a finding is marked in the figure of a number.

    What is about no number is marked beside every loss.
    """
    named = numbers_of(finding, kinds)
    return name in named if named else kinds.get(name) == "losses"


def by_findings(
    names: Sequence[str], findings: Iterable[Finding], kinds: Mapping[str, str]
) -> list[str]:
    """Return numbers in the order in which they are shown: those that findings are about first.

    Args:
        names: The numbers, in any order, which is kept of those that are about nothing.
        findings: As figures mark them; see ``Verdict.marked``.
        kinds: The collection of each tensor of the run.
    """
    found = list(findings)
    named = [one for finding in found for one in numbers_of(finding, kinds) if one in names]
    about_none = found and not numbers_of(found[0], kinds)
    first = [one for one in names if is_marked(found[0], one, kinds)][:1] if about_none else []
    return [*dict.fromkeys((*first, *named, *names))]


def usual_view(kinds: Mapping[str, str]) -> EvidenceView:
    """Return what to look at first of a run in which nothing was found."""
    there = frozenset(kinds.values())
    return of_collection(next((one for one in USUAL if one in there), ""))


def evidence_view(trial: Trial, cause: Finding | None) -> EvidenceView:
    """Return the view of what was found first, or the usual one of a run where nothing was."""
    kinds = trial.reader.tensors()
    return usual_view(kinds) if cause is None else view_of(cause, kinds)


#: The collections that are drawn as layers over steps; what is one number is drawn as a line.
LAYERED = frozenset(
    (*USUAL, "buffers", "inputs", "batches", "optimizer_states", "attention", "embeddings")
)


def layer_view(view: EvidenceView, kinds: Mapping[str, str]) -> EvidenceView:
    """Return a view of layers at the same steps: itself, or the usual one beneath a line."""
    if view.collection in LAYERED:
        return view
    return replace(usual_view(kinds), tensors=view.tensors, first=view.first, last=view.last)


def _tensors(finding: Finding) -> tuple[str, ...]:
    """Return the parameters or modules that a finding is about, the worst first."""
    names: list[object] = [finding.tensor]
    for key in ("tensors", "parameters"):
        more = finding.evidence.get(key)
        names += more if isinstance(more, (list, tuple)) else []
    return tuple(dict.fromkeys(subject(str(name)) for name in names if name))


def rows_of(names: Iterable[str], tensors: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of some tensors a finding is about, and of what it is about there is none.

    Args:
        names: Of the tensors that are drawn.
        tensors: The parameters or modules of a view.

    Example:
        >>> rows_of(["update_ratio/a.w", "update_ratio/b.w"], ["b.w", "frozen.w"])
        (['update_ratio/b.w'], ['frozen.w'])
    """
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(subject(name), []).append(name)
    wanted = list(tensors)
    present = [name for one in wanted for name in found.get(one, ())]
    return present, [one for one in wanted if one not in found]


def blank_rows(collection: str, absent: Iterable[str], kinds: Mapping[str, str]) -> list[str]:
    """Return the parameters that a collection should have a tensor of, and has none.

    Example:
        >>> kinds = {"frozen.w": "weights"}
        >>> blank_rows("updates", ["frozen.w"], kinds), blank_rows("outputs", ["frozen.w"], kinds)
        (['frozen.w'], [])
    """
    spec = SPECS.get(collection)
    if spec is None or spec.subject != "parameter":
        return []
    return [one for one in absent if kinds.get(one) == "weights"]
