"""``stepwatch dash``: runs as pages in a browser, live while they train."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from ..config import runs_folder, server_token
from ..dashboard.server import Server, listen
from ..errors import RunNotFound, StoreError
from ..runtime.process import is_loopback
from ..store import open_store, scheme_of
from .console import print_json
from .run_names import RUN, RunVerb

DEFAULT_PORT = 6460


@click.command(cls=RunVerb)
@click.argument("location", type=RUN, metavar="[RUNS-FOLDER|RUN|URL]", required=False)
@click.option("--port", type=click.IntRange(0, 65535), help=f"By default {DEFAULT_PORT}, or any.")
@click.option("--host", default="127.0.0.1", help="Address; of this machine alone by default.")
@click.option("--token", help="What one must know to look; made anew, or $STEPWATCH_TOKEN.")
@click.option("--no-token", is_flag=True, help="Let every user of this machine look.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON; open no browser.")
def dash(
    location: str | None,
    port: int | None,
    host: str,
    token: str | None,
    *,
    no_token: bool,
    no_open: bool,
    as_json: bool,
) -> int:
    """Show runs as pages in a browser, live while they train.

    The address that is printed has a token, which lets one in. Ctrl-C ends it. What is shown lies
    in a folder of runs (by default ./runs or $STEPWATCH_RUNS), is one run, or lies in an object
    store.
    """
    target = location or str(runs_folder())
    if location:  # the default folder comes with the first run
        _check(target)
    server = _listen(target, host, port, "" if no_token else token or server_token() or None)
    if as_json:
        print_json({"shown": target, "url": server.url})
    else:
        print(f"stepwatch: {target} at {server.url} (Ctrl-C ends it)", flush=True)
    if not (no_open or as_json) and is_loopback(host) and sys.stdout.isatty():
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        print()
    return 0


def _check(location: str) -> None:
    """Raise if there is nothing that could be shown; an empty folder may still get runs."""
    if not scheme_of(location) and not Path(location).is_dir():
        raise RunNotFound(f"no folder {location}; runs are made by: stepwatch run train.py")
    open_store(location)  # raises, if nothing is installed for the scheme


def _listen(location: str, host: str, port: int | None, token: str | None) -> Server:
    if port is None:
        with suppress(StoreError):  # it is taken by another one of us; any port will do
            return listen(location, host=host, port=DEFAULT_PORT, token=token)
    return listen(location, host=host, port=port or 0, token=token)
