"""Opens a trial by its path."""

from __future__ import annotations

import os
from typing import Any

from ..core.utils import is_s3
from .local_trial import LocalTrial
from .profiler_trial import ProfilerTrial
from .s3_trial import S3Trial
from .trial import Trial


def create_trial(
    path: str | os.PathLike[str] | None = None,
    name: str | None = None,
    profiler: bool = False,
    output_dir: str = "/opt/ml/processing/outputs/",
    *,
    out_dir: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> Trial | ProfilerTrial:
    """Open a run, of smdebug's format or Stepwatch's; it may still be written.

    Args:
        path: Its folder or URL: the ``out_dir`` of the hook.
        name: What to call it; by default the last part of the path.
        profiler: Open a profile instead: of a job on SageMaker, or of a run.
        output_dir: Where reports about a profile go.
        out_dir: The same as ``path``.
        kwargs: ``range_steps``, ``cache`` and others of the trial.

    Raises:
        TrialNotFound: There is no run. It is not waited for.
        MissingCollectionFiles: The training ended without its collections files.
        TypeError: No path, two of them, or an argument that there is not.
    """
    given = [one for one in (path, out_dir) if one is not None]
    if len(given) != 1:
        raise TypeError(f"create_trial takes one path, got {len(given)}")
    path = os.fspath(given[0]).strip()
    name = os.path.basename(path) if name is None else name
    if profiler:
        return ProfilerTrial(name=name, trial_dir=path, output_dir=output_dir, **kwargs)
    on_s3, bucket, prefix = is_s3(path)
    if on_s3:
        return S3Trial(name=name, bucket_name=str(bucket), prefix_name=str(prefix), **kwargs)
    return LocalTrial(name=name, dirname=path, **kwargs)
