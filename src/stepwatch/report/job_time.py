"""When a job began and ended, and when its training loop did."""

from __future__ import annotations

from dataclasses import dataclass

from ..trial import Trial
from ..trial.profile import Profile

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class JobTime:
    """The time of a job; moments are nanoseconds since the Unix epoch.

    Args:
        start_ns: When it began.
        end_ns: When it ended, or until when something is known of it.
        loop_start_ns: When its first step began; ``None`` if no step was timed.
        loop_end_ns: When its last step ended.
    """

    start_ns: int
    end_ns: int
    loop_start_ns: int | None = None
    loop_end_ns: int | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ns - self.start_ns) / _NS

    def parts(self) -> dict[str, float]:
        """Return the seconds of initialization, training loop and finalization, if known."""
        if self.loop_start_ns is None or self.loop_end_ns is None:
            return {}
        return {
            "initialization": (self.loop_start_ns - self.start_ns) / _NS,
            "training loop": (self.loop_end_ns - self.loop_start_ns) / _NS,
            "finalization": (self.end_ns - self.loop_end_ns) / _NS,
        }


def job_time(trial: Trial, profile: Profile) -> JobTime | None:
    """Return the time of a job; ``None`` if nothing is known of it."""
    steps = profile.steps()
    begun = [trial.reader.manifest.started_ns] if trial.reader.manifest.started_ns else []
    ended = [end.ended_ns for end in trial.reader.ends().values() if end.ended_ns]
    seen = profile.system(device="cpu|memory").column("time_ns").to_numpy()
    starts = steps.column("start_ns").to_numpy()
    loop = (
        (int(starts.min()), int((starts + steps.column("duration_ns").to_numpy()).max()))
        if len(starts)
        else None
    )
    known = [
        *begun,
        *ended,
        *(loop or ()),
        *(map(int, (seen.min(), seen.max())) if len(seen) else ()),
    ]
    if not known:
        return None
    start, end = min(begun or known), max(ended or known)
    if loop is None:
        return JobTime(start, end)
    return JobTime(min(start, loop[0]), max(end, loop[1]), *loop)
