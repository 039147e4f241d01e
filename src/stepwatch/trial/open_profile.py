"""Profiles of whatever layout, of runs and of jobs on SageMaker."""

from __future__ import annotations

import os

from ..errors import RunNotFound
from ..formats.profile.layout import PROFILE
from ..formats.sagemaker_profile import SageMakerProfileReader
from ..formats.sagemaker_profile.layout import find_root
from ..store import Store, open_store
from .profile import Profile


def profile_of(store: Store) -> Profile:
    """Return the profile that lies in a store, of whatever layout; an empty one for none."""
    if not store.list(PROFILE) and find_root(store) is not None:
        return Profile(store, SageMakerProfileReader(store))
    return Profile(store)


def open_profile(place: str | os.PathLike[str] | Store) -> Profile:
    """Return a profile: of a run, or of a job on SageMaker.

    Args:
        place: The run's directory or URL; or that of a job's ``profiler-output``, or of what holds
            it.

    Raises:
        RunNotFound: There is no profile.

    Example:
        >>> open_profile("memory://nowhere")
        Traceback (most recent call last):
        stepwatch.errors.RunNotFound: no profile at memory://nowhere: ...
    """
    store = open_store(place) if isinstance(place, (str, os.PathLike)) else place
    profile = profile_of(store)
    if profile.bounds is None:
        raise RunNotFound(
            f"no profile at {store.url}: it holds neither {PROFILE} nor system/ and framework/ of"
            " SageMaker's profiler"
        )
    return profile
