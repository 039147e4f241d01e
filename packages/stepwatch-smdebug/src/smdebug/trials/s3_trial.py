"""A trial of a run on S3."""

from __future__ import annotations

from stepwatch_smdebug.trials.sources import Span

from .trial import Trial


class S3Trial(Trial):
    """A view of a run on S3, which needs ``stepwatch[s3]``; see ``Trial`` for the arguments."""

    def __init__(
        self,
        name: str,
        bucket_name: str,
        prefix_name: str,
        range_steps: Span | None = None,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
    ) -> None:
        self.bucket_name = bucket_name
        self.prefix_name = prefix_name
        path = f"s3://{bucket_name}/{prefix_name}"
        super().__init__(name, path, range_steps, True, check, index_mode, cache)
