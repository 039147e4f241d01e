"""What a verb does to each of many runs, here or on a Ray cluster; and their verdicts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap, takewhile
from typing import Any, Generic, TypeVar

from ..errors import StepwatchError
from ..jobs.ray.cluster import spread_in_order
from ..judge.advice import advise
from ..judge.evaluate import evaluate
from ..judge.headline import Headline, Tone
from ..judge.parameters import Spec
from ..judge.rule import PROFILE_RULES
from ..judge.verdict import plural
from ..rules import DEFAULT_RULES
from ..runtime.terminal import print_text
from ..trial import Trial
from .console import track_progress

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T]):
    """What became of one of many runs.

    Args:
        run: Its path or URL.
        value: What was returned for it; ``None`` where that could not be.
        error: Why it could not; empty where it was.
    """

    run: str
    value: T | None = None
    error: str = ""


def on_each(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], *, on_ray: bool
) -> Iterator[T]:
    """Yield what a function returns for each call, in their order.

    Args:
        function: One of a module, which nodes can import.
        calls: The arguments of each.
        on_ray: Make the calls on a Ray cluster.
    """
    return spread_in_order(function, calls, _warn) if on_ray else starmap(function, calls)


def attempt_each(
    function: Callable[..., T],
    calls: Sequence[tuple[Any, ...]],
    *,
    description: str,
    on_ray: bool,
) -> list[Attempt[T]]:
    """Make a call for each of many runs, and say on standard error of which that failed.

    Args:
        function: As for ``on_each``; its first argument is the run.
        calls: The arguments of each.
        description: What is done, for the progress.
        on_ray: As for ``on_each``.
    """
    tries = on_each(_attempt, [(function, *call) for call in calls], on_ray=on_ray)
    done = list(track_progress(tries, description=description, total=len(calls)))
    failed = [one for one in done if one.error]
    for one in failed:
        _warn(f"stepwatch: {one.run}: {one.error}")
    if failed:
        _warn(f"stepwatch: {len(failed)} of {plural(len(done), 'run')} failed")
    return done


def _attempt(function: Callable[..., T], run: str, *arguments: Any) -> Attempt[T]:
    try:
        return Attempt(run, function(run, *arguments))
    except StepwatchError as error:
        return Attempt(run, error=" ".join(str(error).split()))


def labels(runs: Sequence[str]) -> list[str]:
    """Return what each of several runs is called beneath the folder that holds them all.

    Example:
        >>> labels(["s3://b/runs/one/a", "s3://b/runs/two/a"])
        ['one/a', 'two/a']
    """
    parts = [run.split("/") for run in runs]
    folders = zip(*(one[:-1] for one in parts), strict=False)
    shared = sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, folders))
    return ["/".join(one[shared:]).replace("#", "/") for one in parts]


def _warn(line: str) -> None:
    print_text(line, file=sys.stderr)


#: The tones of verdicts, what to look at first before the others.
TONES: tuple[Tone, ...] = ("error", "warning", "info", "none", "good")
_STANDS = {
    "error": "failed or with errors",
    "warning": "with warnings",
    "info": "with hints",
    "none": "not fully checked",
    "good": "healthy",
}
#: The exit status of a run that cannot be read.
UNREADABLE = 2


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """How one of many runs stands.

    Args:
        run: Its path or URL.
        exit_status: 0, 1 where something was found, 2 where it could not be judged.
        headline: How it stands; ``None`` where it could not be judged.
        error: Why it could not; empty where it was.
        document: The verdict as plain data, where that was asked for.
    """

    run: str
    exit_status: int
    headline: Headline | None = None
    error: str = ""
    document: Mapping[str, object] | None = None

    @property
    def tone(self) -> Tone:
        return "error" if self.headline is None else self.headline.tone

    @property
    def mark(self) -> str:
        return "✕" if self.headline is None else self.headline.mark

    @property
    def advice(self) -> str:
        """What a scheduler is to do about it, one line."""
        return self.text if self.headline is None else advise(self.headline).line()

    @property
    def text(self) -> str:
        """How it stands, in a few words."""
        return f"cannot be judged: {self.error}" if self.headline is None else self.headline.title


def judge_alone(run: str, rules: Sequence[Spec] | None, with_document: bool) -> RunVerdict:
    """Judge one of many runs; that it cannot be read ends none of the others.

    Args:
        run: Its path or URL.
        rules: By which; ``None`` for the default set, or that of profiles where there is no step.
        with_document: Return the verdict as plain data, too.
    """
    tried = _attempt(_judge, run, rules, with_document)
    return tried.value or RunVerdict(run, UNREADABLE, error=tried.error)


def _judge(run: str, rules: Sequence[Spec] | None, with_document: bool) -> RunVerdict:
    trial = Trial(run)
    default = PROFILE_RULES if is_profile(trial) else DEFAULT_RULES
    verdict = evaluate(trial, default if rules is None else rules)
    document = verdict.document(trial) if with_document else None
    return RunVerdict(run, verdict.exit_status, verdict.headline, document=document)


def is_profile(trial: Trial) -> bool:
    """Return whether a run has no step, and a profile."""
    return not trial.steps() and trial.profile.bounds is not None


def ranked(verdicts: Iterable[RunVerdict]) -> list[RunVerdict]:
    """Return verdicts in the order in which to look at them: the most severe first.

    Example:
        >>> [one.run for one in ranked([RunVerdict("b", 2), RunVerdict("a", 2)])]
        ['a', 'b']
    """
    return sorted(verdicts, key=lambda one: (TONES.index(one.tone), one.run))


def summary(verdicts: Sequence[RunVerdict]) -> str:
    """Return how many runs there are, and how they stand.

    Example:
        >>> summary([RunVerdict("a", 2, error="no run"), RunVerdict("b", 2, error="no run")])
        '2 runs: 2 could not be judged'
    """
    tones = Counter(one.tone for one in verdicts if one.headline is not None)
    unjudged = len(verdicts) - tones.total()
    parts = [f"{tones[tone]} {_STANDS[tone]}" for tone in TONES if tones[tone]]
    parts += [f"{unjudged} could not be judged"] if unjudged else []
    return f"{plural(len(verdicts), 'run')}: {', '.join(parts)}"
