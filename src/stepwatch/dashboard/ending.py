"""How a run ended that did not end well: the exception, the last steps, what to run next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import StepwatchError
from ..formats.blackbox import Frame, read_frames
from ..judge.headline import Headline
from ..trial import Trial
from ..trial.last_steps import end_ns_of, moments_of

_LAST_STEPS = 8


@dataclass(frozen=True, slots=True)
class Ending:
    """What is shown beneath the headline of a run that failed, was killed or stalled.

    Args:
        error: What its end says of it, in a line.
        traceback: The innermost frames of the exception; ``""`` where they are not known.
        last_steps: The last steps, as the black box has them; see ``last_steps.Moment.facts``.
        commands: What to run next, to see why it ended.
    """

    error: str = ""
    traceback: str = ""
    last_steps: list[dict[str, object]] = field(default_factory=list)
    commands: tuple[str, ...] = ()


def ending_of(trial: Trial, headline: Headline) -> Ending | None:
    """Return how a run ended; ``None`` for one that ended well, or goes on."""
    if headline.outcome != "failed":
        return None
    failed = (end for end in trial.reader.ends().values() if end.state == headline.state)
    end = next(failed, None)
    return Ending(
        end.error if end else trial.death,
        end.traceback if end else "",
        last_steps(_frames(trial)),
        headline.commands,
    )


def last_steps(frames: Sequence[Frame], most: int = _LAST_STEPS) -> list[dict[str, object]]:
    """Return the last steps as the black box kept them."""
    end_ns = end_ns_of(frames)
    return [one.facts(end_ns) for one in moments_of(frames)[-most:]]


def _frames(trial: Trial) -> list[Frame]:
    try:
        return list(read_frames(trial.store))
    except (StepwatchError, OSError, ValueError):
        return []  # a black box that is damaged hides nothing else
