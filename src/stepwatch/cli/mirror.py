"""``stepwatch mirror RUN URL``: copy a run to another place, and follow it while it goes on."""

from __future__ import annotations

import sys
import time

import click

from ..errors import ConfigError, RunNotFound, StoreError
from ..formats.copying import RunCopy, changes, list_keys
from ..store import Store, open_store
from ..trial import Trial

_POLL_S = 2.0
# A store that refuses is asked again after 1, 2, 4, 8 and 16 seconds.
_TRIES = 5


@click.command()
@click.argument("run")
@click.argument("url")
def mirror(run: str, url: str) -> None:
    """Copy RUN to URL, such as s3://bucket/run: what is not there yet, and all that follows.

    Ends when the run has ended. To be broken off and called again costs nothing.
    """
    source, target = open_store(run), open_store(url)
    if source.url == target.url:
        raise ConfigError(f"{url} is the run itself; give another place")
    if not source.list():
        raise RunNotFound(f"no run at {source.url}; to list runs: stepwatch runs FOLDER")
    trial = _trial(source)
    copy, seen = RunCopy(source, target), set[str]()
    while True:
        is_over = trial is None or trial.ended  # before the look: nothing comes after it then
        keys = set(list_keys(source))
        for key in keys ^ seen | {key for key in keys if changes(key)}:
            copy.note(key)
        seen = keys
        _advance(copy)
        if is_over:
            break
        time.sleep(_POLL_S)
        if trial is not None:
            trial.refresh()
    print(f"{target.url} holds all of {source.url}; {copy.copied} files were copied")


def _advance(copy: RunCopy) -> None:
    for number in range(_TRIES):
        try:
            return copy.advance()
        except StoreError as error:
            print(f"{error}; it is tried again", file=sys.stderr)
            time.sleep(2**number)
    return copy.advance()


def _trial(source: Store) -> Trial | None:
    """Return the run; ``None`` where only some of its workers wrote, and no reader knows it."""
    try:
        return Trial(source)
    except RunNotFound:
        return None
