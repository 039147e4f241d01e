"""A trial of a run in a folder."""

from __future__ import annotations

import os

from smdebug.trials.evidence import Span
from smdebug.trials.trial import Trial


class LocalTrial(Trial):
    """A view of a run in a folder.

    Args:
        name: What to call it.
        dirname: The folder, or a URL for which a store is installed.
        range_steps: First global step to look at, and the one behind the last.
        parallel: Means nothing.
        check: Means nothing.
        index_mode: Means nothing.
        cache: Keep values in memory once they were read.
    """

    def __init__(
        self,
        name: str,
        dirname: str | os.PathLike[str],
        range_steps: Span | None = None,
        parallel: bool = True,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
    ) -> None:
        path = os.path.expanduser(os.fspath(dirname))
        super().__init__(name, path, range_steps, parallel, check, index_mode, cache)
