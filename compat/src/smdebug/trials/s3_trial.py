"""A trial of a run on S3."""

from __future__ import annotations

from smdebug.trials.evidence import Span
from smdebug.trials.trial import Trial


class S3Trial(Trial):
    """A view of a run on S3; needs ``stepwatch[s3]``.

    Args:
        name: What to call it.
        bucket_name: The bucket.
        prefix_name: What the keys of the run begin with.
        range_steps: First global step to look at, and the one behind the last.
        check: Means nothing.
        index_mode: Means nothing.
        cache: Keep values in memory once they were read.
    """

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
