"""What reads the profile of a job, of SageMaker's or of ours."""

from __future__ import annotations

import os

from stepwatch.store import open_store
from stepwatch.trial.profile import Profile, profile_of

from .utils import TimeUnits, convert_utc_timestamp_to_microseconds


class MetricsReaderBase:
    """Reads a profile.

    Args:
        path: Where it lies: ``profiler-output`` of a job, or a run of ours; a folder or a URL.
        use_in_memory_cache: Has no effect.
    """

    def __init__(self, path: str | os.PathLike[str], use_in_memory_cache: bool = False) -> None:
        del use_in_memory_cache
        self.path = os.fspath(path)
        self.profile: Profile = profile_of(open_store(self.path))

    def refresh_event_file_list(self) -> None:
        """Read what was written since; every query does."""
        if self.profile.bounds is None:  # its layout was not known before
            self.profile = profile_of(open_store(self.path))

    def get_timestamp_of_first_available_file(self) -> int:
        """Return when the profile begins, in microseconds since the Unix epoch; 0 for none yet."""
        bounds = self.profile.bounds
        return 0 if bounds is None else bounds[0] // 1000

    def get_timestamp_of_latest_available_file(self) -> int:
        """Return when the profile ends so far, in microseconds since the Unix epoch; 0 for none."""
        bounds = self.profile.bounds
        return 0 if bounds is None else bounds[1] // 1000


def as_ns(time: float, unit: TimeUnits) -> int:
    """Return a time of a unit in nanoseconds."""
    return 1000 * convert_utc_timestamp_to_microseconds(time, unit)
