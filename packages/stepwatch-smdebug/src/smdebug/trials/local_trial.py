"""A trial of a run in a folder."""

from __future__ import annotations

import os

from stepwatch_smdebug.trials.sources import Span

from .trial import Trial


class LocalTrial(Trial):
    """A view of a run in a folder, or at a URL; see ``Trial`` for the arguments."""

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
