"""The headline of a run: in one sentence how it stands, wherever it is shown.

The rule on which this is correct: state comes before rules, causes before counts, and a run is
healthy only where every one of ``CORE_CHECKS`` was made, and most checks had the data for it. What
was not checked is not called good.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..formats.blackbox import STEPS_FRAME, Frame, read_frames
from ..formats.manifest import Process
from ..model.finding import Finding
from ..model.steps import Mode
from ..trial import Series, Trial
from ..trial.last_steps import moments_of
from ..trial.recording import replayable_steps
from ..trial.tensor import fields_of
from .crash import is_incomplete, last_batch, memory_seen, raised_at, remedies
from .root_cause import Chain, rule_name
from .rule_runner import RuleOutcome, RuleStatus

#: What is checked of every training, and the rules of which one must have passed.
CORE_CHECKS: Mapping[str, tuple[str, ...]] = {
    "values are finite": ("non_finite_origin", "exploding_tensor"),
    "the loss falls": ("loss_not_decreasing",),
    "all parameters are trained": ("untrained_parameter",),
    "gradients are alive": ("zero_gradients", "vanishing_gradient"),
}

#: What people look for beside the core checks: the rule of it, and why it is most often not made.
IMPORTANT_CHECKS: Mapping[str, str] = {
    "overfit": "overfitting (no validation loss)",
    "loss_input": "whether the loss gets what it expects (it was not captured)",
}

Outcome = Literal["failed", "found", "healthy", "no problem seen", "not judged"]
Tone = Literal["error", "warning", "info", "good", "none"]


@dataclass(frozen=True, slots=True)
class RunState:
    """How a run stands, apart from what rules say of it.

    Args:
        state: See ``Trial.state``; ``stalled`` for one that runs and takes no step any more.
        steps: How many are complete.
        last_step: The last global step; -1 for none.
        reason: The exception that ended it, or what is known of its end.
        traceback: Where that exception was raised; empty if that is not known.
        last: What is known of the last steps, a line each.
        commands: What to run next, to see why it ended.
        remedy: What to do about it.
        train_step: The last TRAIN step, as people count; ``None`` where that is not known.
        is_within: Whether that step was not over when the run ended.
    """

    state: str = "finished"
    steps: int = 0
    last_step: int = -1
    reason: str = ""
    traceback: str = ""
    last: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    remedy: str = ""
    train_step: int | None = None
    is_within: bool = False

    @property
    def shown_step(self) -> int:
        """The last step, as people count."""
        return self.last_step if self.train_step is None else self.train_step

    def title(self) -> str:
        """Return what ended a run that did not end by itself, and where; ``""`` for others.

        An exception says what it is; what is known of other ends stands beneath.
        """
        return self.sentence() if self.state == "failed" else self._begin()

    def sentence(self) -> str:
        """Return how a run ended that did not end by itself; ``""`` for others."""
        begin = self._begin()
        return f"{begin}: {self.reason}" if begin and self.reason else begin

    def _begin(self) -> str:
        where = f"{'in' if self.is_within else 'after'} step {self.shown_step}"
        where = where if self.last_step >= 0 else "before its first step"
        return {
            "failed": f"Failed {where}",
            "died": f"Killed (SIGKILL or out of memory) {where}",
            "stalled": f"Stalled {where}",
        }.get(self.state, "")


@dataclass(frozen=True, slots=True)
class Headline:
    """How a run stands, in one sentence and as values.

    Args:
        outcome: ``failed`` where the training did not end by itself, ``found`` where a rule found
            something, ``healthy`` where the core checks passed, ``no problem seen`` where some of
            them, or most of all checks, could not be made, ``not judged`` where no rule passed.
        tone: A severity, ``good`` or ``none``.
        title: What a glance takes in: what was found in a few words and where, else the sentence.
        text: The sentence.
        state: See ``RunState``.
        steps: How many steps are complete.
        last_step: The last global step; -1 for none.
        cause: What was found first, of the most severe chain; ``None`` for nothing.
        details: What is known of the end of the run, a line each.
        commands: What to run next.
        remedy: What to do, one line.
        checks: How many rules have which outcome.
        too_early: The core checks that could not be made.
        traceback: Where the exception was raised that ended the run; empty for none.
    """

    outcome: Outcome
    tone: Tone
    title: str
    text: str
    state: str
    steps: int
    last_step: int
    cause: Finding | None = None
    details: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    remedy: str = ""
    checks: Mapping[RuleOutcome, int] = field(default_factory=dict)
    too_early: tuple[str, ...] = ()
    traceback: str = ""

    @property
    def mark(self) -> str:
        """The health of the run as one character: ``✕``, ``!``, ``✓``, or ``–`` for unknown."""
        return {"error": "✕", "warning": "!", "good": "✓"}.get(self.tone, "–")

    @property
    def rest(self) -> str:
        """What the sentence says beyond the title; ``""`` for nothing."""
        rest = self.text.removeprefix(self.title)
        return sentence(rest[2:]) if rest.startswith(": ") else rest.lstrip(",; ")

    @property
    def line(self) -> str:
        """The title and the sentence, for what has room for one line."""
        is_begun = self.text.startswith(self.title)
        return self.text if is_begun else f"{self.title}: {self.text}"

    def to_json(self) -> dict[str, object]:
        """Return it as plain data of JSON's types."""
        return {
            "outcome": self.outcome,
            "tone": self.tone,
            "mark": self.mark,
            "title": self.title,
            "text": self.text,
            "rest": self.rest,
            "state": self.state,
            "steps": self.steps,
            "last_step": self.last_step,
            "cause": None if self.cause is None else self.cause.to_dict(),
            "details": list(self.details),
            "commands": list(self.commands),
            "remedy": self.remedy,
            "checks": dict(self.checks),
            "too_early": list(self.too_early),
            "traceback": self.traceback,
        }


def headline(state: RunState, chains: Sequence[Chain], statuses: Sequence[RuleStatus]) -> Headline:
    """Return the headline of a run.

    Args:
        state: How it stands.
        chains: What was found, the most severe first.
        statuses: Of each rule, of each worker that judged.
    """
    outcomes = rule_outcomes(statuses)
    checks = Counter(outcomes.values())
    missing = too_early(outcomes)
    cause = chains[0].cause if chains else None
    found = "" if cause is None else sentence(cause.message)
    title = (
        ""
        if cause is None
        else sentence(cause.title) + (f" {cause.since}" if cause.noticed else f", {cause.since}")
    )
    ended = state.sentence()
    outcome: Outcome
    tone: Tone
    if ended:
        outcome, tone, text = "failed", "error", ended
    elif cause is not None:
        outcome, tone, text = "found", _TONES.get(chains[0].severity, "warning"), found
    elif not checks["passed"]:
        outcome, tone, text = "not judged", "none", _not_judged(state, checks)
    elif missing or not is_core(outcomes) or checks["lacked data"] > checks["passed"]:
        unmade = [*missing, *_important(outcomes)]
        outcome, tone, text = "no problem seen", "none", _no_problem(state, checks, unmade)
    else:
        outcome, tone, text = "healthy", "good", _healthy(state, checks, outcomes)
    if outcome != "found":  # what passed is the title, what did not stands below it
        is_passed = outcome in ("healthy", "no problem seen")
        title = text[: text.index(" passed") + len(" passed")] if is_passed else text
        title = state.title() or title
    if state.state in ("stopped", "interrupted"):
        began = f"{state.state.capitalize()} after step {state.shown_step}. "
        title, text = began + title, text if outcome == "found" else began + text
    details = [*([f"Found before: {found}"] if ended and found else []), *state.last]
    return Headline(
        outcome,
        tone,
        title,
        text,
        state.state,
        state.steps,
        state.last_step,
        cause,
        tuple(details),
        state.commands,
        state.remedy if ended else "" if cause is None else cause.remedy,
        dict(checks),
        tuple(missing),
        state.traceback,
    )


_TONES: Mapping[str, Tone] = {"error": "error", "warning": "warning", "info": "info"}
# Of one rule on several workers the first of these counts.
_WORST_FIRST: tuple[RuleOutcome, ...] = (
    "found",
    "failed",
    "passed",
    "lacked data",
    "does not apply",
)


def rule_outcomes(statuses: Iterable[RuleStatus]) -> dict[str, RuleOutcome]:
    """Return what became of each rule, once for all workers that judged by it."""
    found: dict[str, RuleOutcome] = {}
    for status in statuses:
        both = (found.get(status.rule, status.outcome), status.outcome)
        found[status.rule] = min(both, key=_WORST_FIRST.index)
    return found


def too_early(outcomes: Mapping[str, RuleOutcome]) -> list[str]:
    """Return the core checks that were not made; none where rules were asked of other kinds only.

    A check is made where one of its rules passed, or has nothing in this model that it is about.

    Example:
        >>> too_early({"exploding_tensor": "passed", "loss_not_decreasing": "lacked data"})[:2]
        ['the loss falls', 'all parameters are trained']
    """
    ready = {
        rule_name(rule)
        for rule, outcome in outcomes.items()
        if outcome in ("passed", "found", "does not apply")
    }
    if not is_core(outcomes):
        return []
    return [check for check, rules in CORE_CHECKS.items() if ready.isdisjoint(rules)]


def is_core(rules: Iterable[str]) -> bool:
    """Return whether one of some rules makes a core check."""
    core = {rule for names in CORE_CHECKS.values() for rule in names}
    return any(rule_name(rule) in core for rule in rules)


def counts(checks: Mapping[RuleOutcome, int]) -> str:
    """Return how many rules have which outcome, in words; those that do not apply are left out.

    Example:
        >>> counts({"passed": 26, "lacked data": 5, "does not apply": 13})
        '26 checks passed, 5 lacked data'
    """
    passed = checks.get("passed", 0)
    texts = [f"{passed} {'check' if passed == 1 else 'checks'} passed"]
    words: tuple[RuleOutcome, ...] = ("found", "lacked data", "failed")
    named = {"found": "found something", "failed": "failed"}
    texts += [f"{checks[one]} {named.get(one, one)}" for one in words if checks.get(one)]
    return ", ".join(texts)


def sentence(text: str) -> str:
    """Return a text with a capital letter, unless it begins with the name of a tensor.

    Example:
        >>> sentence("warm-up takes most of it"), sentence("w: 3 nan"), sentence("fc.bias is 0")
        ('Warm-up takes most of it', 'w: 3 nan', 'fc.bias is 0')
    """
    first = text.partition(" ")[0].replace("-", "")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _not_judged(state: RunState, checks: Mapping[RuleOutcome, int]) -> str:
    if not sum(checks.values()):
        return f"Not judged: no rule judged {_steps(state)}"
    if not state.steps:
        return "Not judged: there is no step yet"
    return f"Not judged: no rule had the data it needs in {_steps(state)}"


def _no_problem(state: RunState, checks: Mapping[RuleOutcome, int], missing: Sequence[str]) -> str:
    so_far = " so far" if state.state == "running" else ""
    text = f"No problem seen in {_steps(state)}{so_far}, {counts(checks)}"
    return f"{text}; not checked: {', '.join(missing)}" if missing else text


def _healthy(
    state: RunState, checks: Mapping[RuleOutcome, int], outcomes: Mapping[str, RuleOutcome]
) -> str:
    if state.state == "running":
        return f"Healthy so far, step {state.shown_step}, {counts(checks)}"
    missing = _important(outcomes)
    return f"Healthy: {counts(checks)}" + (f"; not checked: {', '.join(missing)}" * bool(missing))


def _important(outcomes: Mapping[str, RuleOutcome]) -> list[str]:
    """Return what people look for beside the core checks and was not made, with the reason."""
    lacking = {rule_name(rule) for rule, outcome in outcomes.items() if outcome == "lacked data"}
    return [what for rule, what in IMPORTANT_CHECKS.items() if rule in lacking]


def _steps(state: RunState) -> str:
    return f"{state.steps:,} step{'' if state.steps == 1 else 's'}"


# How a run stands

#: A run that goes on is called stalled where no step came for so long, and for so many times what
#: the slowest of its last steps took.
STALLED_S, STALLED_TIMES = 120.0, 20.0
_LAST_STEPS = 3


def run_state(trial: Trial, now_ns: int | None = None) -> RunState:
    """Return how a run stands; a few rows are read, however long it is.

    Args:
        trial: The run.
        now_ns: The time of day, nanoseconds since the Unix epoch; now by default.
    """
    steps = trial.step_numbers()
    last_step = int(steps[-1]) if len(steps) else -1
    state, reason, traceback = trial.state, "", ""
    if state == "running":
        reason = _stall(trial, time.time_ns() if now_ns is None else now_ns)
        state = "stalled" if reason else state
    elif state == "failed":
        reason, traceback = _exception(trial)
    elif state == "died":
        reason = _death(trial)
    within = trial.mode_step_numbers(Mode.TRAIN)
    train_step = int(within[-1]) if len(within) else None
    stands = RunState(state, len(steps), last_step, reason, traceback, train_step=train_step)
    return explained(trial, stands) if state in ("failed", "died", "stalled") else stands


def explained(trial: Trial, stands: RunState) -> RunState:
    """Return how a run stands that did not end by itself, with what is known of its end."""
    frames = read_frames(trial.store)
    moments = moments_of(frames)
    batch, about_batch = last_batch(moments)
    at = raised_at(stands.traceback)
    memory = memory_seen(trial) if stands.state == "died" else ""
    commands = tuple(_commands(trial, frames))
    remedy = "; ".join(remedies(stands.state, batch=about_batch, at=at, commands=commands))
    lines = [f"raised at {at}" if at and at not in remedy else "", batch, memory]
    return replace(
        stands,
        last=(*map(sentence, filter(None, lines)), *_last_steps(trial)),
        commands=commands,
        remedy=_where_it_waits(trial) if stands.state == "stalled" else remedy,
        is_within=stands.state == "failed" and is_incomplete(moments),
    )


def _exception(trial: Trial) -> tuple[str, str]:
    ends = trial.reader.ends().items()
    worker, end = next(((who, one) for who, one in ends if one.state == "failed"), ("", None))
    if end is None:
        return "", ""
    of = f" ({worker})" if len(trial.workers) > 1 else ""
    return f"{end.error}{of}", end.traceback


def _death(trial: Trial) -> str:
    steps = "1 step is" if trial.num_salvaged == 1 else f"{trial.num_salvaged} steps are"
    kept = f"; {steps} from the black box" if trial.num_salvaged else ""
    lost = "; what came after is lost" if len(trial.step_numbers()) else ""
    return f"its process left no note of its end{kept}{lost}"


def _stall(trial: Trial, now_ns: int) -> str:
    """Return since when a run that goes on takes no step; ``""`` if it takes them."""
    times = _last_times(trial)
    if len(times) < 2:
        return ""
    waited_s = (now_ns - int(times[-1])) / 1e9
    usual_s = float(np.diff(times).max()) / 1e9
    if waited_s < max(STALLED_S, STALLED_TIMES * usual_s):
        return ""
    process = Process.of(trial.reader.manifest)
    alive = f"; its process {process.pid} on {process.host} may be gone" if process.host else ""
    alive = f"; its process {process.pid} still runs" if process.runs_here() else alive
    return f"no step for {duration(waited_s)}, where one took {duration(usual_s)} at most{alive}"


def _where_it_waits(trial: Trial) -> str:
    """Return how to see what a process does that takes no step; ``""`` if it is not here."""
    process = Process.of(trial.reader.manifest)
    waits = f"see where it waits: py-spy dump --pid {process.pid} (pip install py-spy)"
    return waits if process.runs_here() else ""


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Example:
        >>> duration(0.0123), duration(4.2), duration(250), duration(9000)
        ('12 ms', '4.2 s', '4.2 min', '2.5 h')
    """
    for limit, size, unit in ((1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min")):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 3600:.3g} h"


def _last_times(trial: Trial) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return when the steps were that lie in the same part as the last, ascending."""
    steps = trial.step_numbers()
    names = trial.tensor_names(collection="losses") or list(trial.reader.tensors())
    if not len(steps) or not names:
        return np.empty(0, np.int64)
    rows = trial.rows(frozenset(names[:1]), ["time_ns"], step=int(steps[-1]))
    times: np.ndarray[tuple[int], np.dtype[np.int64]] = np.unique(rows.column("time_ns"))
    return times


def _last_steps(trial: Trial) -> Iterator[str]:
    """Yield a line on the loss at the last steps."""
    names = trial.tensor_names(collection="losses")[:1]
    mode = Mode.TRAIN if Mode.TRAIN in trial.modes else Mode.GLOBAL
    last = trial.step_numbers(mode)[-1:]
    if not names or not len(last):
        return
    within = trial.steps(mode)[-1]
    columns = ["mode_step", *fields_of("mean")]
    series = Series(trial.rows(frozenset(names), columns, mode, step=within))
    known = dict(zip(series.mode_steps.tolist(), series["mean"].tolist(), strict=True))
    pairs = [f"{step}: {value:.4g}" for step, value in sorted(known.items())[-_LAST_STEPS:]]
    if pairs:
        yield f"Loss at the last steps, {', '.join(pairs)}"


def _commands(trial: Trial, frames: Sequence[Frame]) -> Iterator[str]:
    """Yield what shows the last steps, and what runs one of them again where that is possible."""
    if frames:
        yield f"stepwatch blackbox {trial.path}"
    if kept := _replayable(trial, frames):
        yield f"stepwatch replay {trial.path} --step {max(kept)}"


def _replayable(trial: Trial, frames: Sequence[Frame]) -> frozenset[int]:
    return frozenset(replayable_steps(frames) if len(trial.workers) == 1 else ())


class Replayable:
    """The TRAIN steps of a run that can be run again.

    They are read when somebody asks for one: a black box has tens of megabytes.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __contains__(self, step: object) -> bool:
        return step in self.steps

    @cached_property
    def steps(self) -> frozenset[int]:
        """All of them."""
        frames = read_frames(self._trial.store, left_out=[STEPS_FRAME])  # which have no inputs
        return _replayable(self._trial, frames)
