"""``stepwatch serve``: answer SageMaker's own clients on this machine."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from pathlib import Path
from typing import Any

import click

from stepwatch.config import environment, jobs_folder, server_token
from stepwatch.errors import ConfigError
from stepwatch.jobs.records import Records
from stepwatch.plugins.registry import require
from stepwatch.runtime.process import is_loopback

from .access import Access
from .account import Account, interpreters, region_of
from .app import Dispatcher, make_app

_CONCURRENT = 200
#: The services that are answered, as the variables of clients name them.
_SERVICES = ("SAGEMAKER", "CLOUDWATCH", "CLOUDWATCH_LOGS", "STS", "IAM")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8780, show_default=True, help="0 for one that is free.")
@click.option("--jobs", "folder", help="Where jobs lie; $STEPWATCH_JOBS by default.")
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="[IMAGE=]PATH",
    help="The interpreter that trains; for images with IMAGE in their name.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def serve(
    host: str, port: int, folder: str | None, pythons: tuple[str, ...], *, as_json: bool
) -> None:
    """Answer SageMaker's own clients: their jobs run on this machine.

    Clients find it by the variables that are printed: the path in them is a secret that lets them
    in. Where $STEPWATCH_TOKEN is set, that is the secret, and clients sign with it. Jobs go on
    when it ends.
    """
    uvicorn = require("uvicorn", extra="serve")
    records = Records(Path(folder) if folder else jobs_folder())
    account = Account(records, region_of(environment()), interpreters(pythons))
    secret = server_token()
    if not (secret or is_loopback(host)):
        raise ConfigError(
            f"whoever reaches {host} could run programs here; set STEPWATCH_TOKEN to a long secret,"
            " which clients sign with, or listen at 127.0.0.1"
        )
    path = "" if secret else secrets.token_urlsafe(16)
    access = Access(host, secret or path)
    listening = _listen(host, port)
    app = make_app(Dispatcher(account, access))
    url = f"http://{_spelled(host)}:{listening.getsockname()[1]}/{path}".rstrip("/")
    variables = {f"AWS_ENDPOINT_URL_{service}": url for service in _SERVICES}
    if as_json:
        line = {
            "schema_version": 1,
            "url": url,
            "jobs": str(records.home),
            "clients": variables,
        }
        print(json.dumps(line), flush=True)  # one line: who started it reads on
    else:
        print(f"listening at {url}; jobs lie in {records.home}", flush=True)
        exported = " ".join(f"{name}={value}" for name, value in variables.items())
        print(f"clients: export {exported}", flush=True)
    config: Any = uvicorn.Config(
        app,
        http="h11",  # the faster parser, if it is installed, takes headers without end
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        limit_concurrency=_CONCURRENT,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except asyncio.CancelledError:  # Ctrl-C in the moment before it serves
        raise KeyboardInterrupt from None


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket at an address: requests from now on are answered once we are ready."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows it for TCP, and sends answers without delay.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_CONCURRENT)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ConfigError(
            f"cannot listen at {host}, port {port}: {error}; give another --port, or 0"
        ) from None
    return listening


def _spelled(host: str) -> str:
    return f"[{host}]" if ":" in host else host
