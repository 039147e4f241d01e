"""``stepwatch compact RUN``: make few large parts of many small ones."""

from __future__ import annotations

import click

from ..errors import ConfigError
from ..formats.native.merge import compact as compact_parts
from ..formats.native.reader import NativeReader
from ..trial import Trial


@click.command()
@click.argument("run")
def compact(run: str) -> None:
    """Merge the parts of RUN, so that it opens and reads faster; nothing is lost."""
    trial = Trial(run)
    if not trial.ended:
        raise ConfigError(f"{run} is still being written; compact it when it has ended")
    if not isinstance(trial.reader, NativeReader):
        raise ConfigError(
            f"{run} is in the smdebug format, which has no parts to merge; to get a native run: "
            f"stepwatch convert {run} DST --to native"
        )
    for worker in trial.workers:
        parts = trial.reader.parts(worker)
        left = compact_parts(trial.store, parts)
        print(f"{worker}: {len(parts)} parts before, {left} now")
