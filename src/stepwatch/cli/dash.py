"""``stepwatch dash``: runs as pages in a browser, live while they train."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from ..config import runs_folder
from ..dashboard.server import Server, listen
from ..errors import RunNotFound, StoreError
from ..runtime.net import is_loopback
from ..store import open_store, scheme_of

DEFAULT_PORT = 6460


@click.command()
@click.argument("place", metavar="[RUNS-FOLDER|RUN|URL]", required=False)
@click.option("--port", type=click.IntRange(0, 65535), help=f"By default {DEFAULT_PORT}, or any.")
@click.option("--host", default="127.0.0.1", help="Address; others than this machine need a token.")
@click.option("--token", default="", help="What one must know to look.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
def dash(place: str | None, port: int | None, host: str, token: str, *, no_open: bool) -> int:
    """Show runs as pages in a browser, live while they train.

    Ctrl-C ends it. What is shown lies in a folder of runs (by default ./runs or $STEPWATCH_RUNS),
    is one run, or lies in an object store.
    """
    shown = place or str(runs_folder())
    _check(shown)
    server = _listen(shown, host, port, token)
    print(f"stepwatch: {shown} at {server.url} (Ctrl-C ends it)", flush=True)
    if not no_open and is_loopback(host) and sys.stdout.isatty():
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        print()
    return 0


def _check(place: str) -> None:
    """Raise if there is nothing that could be shown; an empty folder may still get runs."""
    if not scheme_of(place) and not Path(place).is_dir():
        raise RunNotFound(f"no folder {place}; runs are made by: stepwatch run train.py")
    open_store(place)  # raises, if nothing is installed for the scheme


def _listen(place: str, host: str, port: int | None, token: str) -> Server:
    if port is None:
        with suppress(StoreError):  # it is taken by another one of us; any port will do
            return listen(place, host=host, port=DEFAULT_PORT, token=token)
    return listen(place, host=host, port=port or 0, token=token)
