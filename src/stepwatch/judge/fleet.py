"""The verdicts on many runs, each judged by itself, and which of them to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import StepwatchError
from ..trial import Trial
from .advice import advise
from .evaluate import evaluate
from .headline import Headline, Tone
from .parameters import Spec
from .verdict import plural

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


def judge_alone(run: str, rules: Sequence[Spec], with_document: bool = False) -> RunVerdict:
    """Judge one of many runs; that it cannot be read ends none of the others.

    Args:
        run: Its path or URL.
        rules: By which.
        with_document: Return the verdict as plain data, too.
    """
    try:
        trial = Trial(run)
        verdict = evaluate(trial, rules)
        document = verdict.document(trial) if with_document else None
        return RunVerdict(run, verdict.exit_status, verdict.headline, document=document)
    except StepwatchError as error:
        return RunVerdict(run, UNREADABLE, error=" ".join(str(error).split()))


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
