"""``stepwatch certify train.py``: the first steps of a script, under what must not matter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
from rich.markup import escape

from ..config import environment
from ..errors import ConfigError, StepwatchError, nearest
from .console import console, print_json, table, working
from .launch import Script
from .script_command import SCRIPT_EPILOG, SCRIPT_SETTINGS, time_limit

BREAKS_STATUS = 1
#: The relations, which stand with the hook for torch; here by name, as that imports torch.
NAMES = (
    "permuted-batch", "rows-apart", "evaluation-twice", "eager-compiled", "accumulation",
    "autocast", "checkpointed", "resumed", "resumed-data", "two-processes", "padded-longer",
    "packed-apart", "seeds",
)  # fmt: skip
_STYLES = {"holds": "green", "breaks": "bold red", "does not apply": "dim"}


@click.command(context_settings=SCRIPT_SETTINGS, options_metavar="[OPTIONS]", epilog=SCRIPT_EPILOG)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--steps",
    metavar="K",
    type=click.IntRange(min=2),
    default=20,
    show_default=True,
    help="How many TRAIN steps are run each time; epochs end after half as many.",
)
@click.option("--only", multiple=True, metavar="RELATION", help="Only this one; several times.")
@time_limit("run")
@click.option("--junit", metavar="FILE", type=click.Path(dir_okay=False), help="Also write JUnit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-m", "module", is_flag=True, help="SCRIPT is a module's name, as in python -m.")
def certify(
    script: str,
    arguments: tuple[str, ...],
    steps: int,
    only: tuple[str, ...],
    limit_s: float,
    junit: str | None,
    *,
    as_json: bool,
    module: bool,
) -> int:
    """Run the first steps of SCRIPT under changes that must not matter.

    Each run is in a fresh copy of the current folder: the script's own files stay as they are.

    The exit status is 0 where every relation that applies holds, 1 where one breaks, 2 for an
    error.
    """
    if not hasattr(os, "fork"):
        raise ConfigError("certify runs a script in forks, which this system does not have")
    for name in only:
        if name not in NAMES:
            raise ConfigError(f"no relation {name!r}{nearest(name, NAMES)}")
    Script(script, arguments, is_module=module).check()
    request = {
        "script": _within(script) if not module else script,
        "arguments": arguments,
        "module": module,
        "folder": os.getcwd(),
        "steps": steps,
        "relations": only or NAMES,
        "limit_s": limit_s,
    }
    certificate = _Certificate(script)
    began = time.monotonic()
    with working("starting") as status:
        for event in _events(request):
            certificate.add(event)
            if event["event"] == "begins":
                status.update(f"running {script}: {escape(event['run'])}")
    certificate.seconds = time.monotonic() - began
    if certificate.failure:
        raise StepwatchError(certificate.failure)
    if not certificate.over:
        raise StepwatchError("the process that runs the script ended before it was done")
    if junit:
        Path(junit).write_bytes(certificate.to_junit())
    if as_json:
        print_json(certificate.to_dict())
    else:
        certificate.show()
    return BREAKS_STATUS if certificate.broken else 0


def _within(script: str) -> str:
    """Return the path of a script as a copy of this folder has it; absolute where it has none."""
    path = Path(script).resolve()
    here = Path.cwd().resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _events(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the process says that runs the script; end it, and its forks, with us."""
    command = [sys.executable, "-m", "stepwatch.cli.certify_runs", json.dumps(request)]
    # Of one hash seed: else the order of a set differs from run to run of certify.
    variables = {**environment(), "PYTHONHASHSEED": "0", "WANDB_MODE": "disabled"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=variables, start_new_session=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            yield json.loads(line)
        if process.wait():
            raise StepwatchError(
                f"the process that runs the script ended with {process.returncode}"
            )
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@dataclass(slots=True)
class _Certificate:
    """What was found.

    Args:
        script: As it was asked for.
    """

    script: str
    #: How long all of it took.
    seconds: float = 0.0
    results: list[dict[str, Any]] = field(default_factory=list)
    noise: dict[str, Any] = field(default_factory=dict)
    over: dict[str, Any] = field(default_factory=dict)
    failure: str = ""

    def add(self, event: dict[str, Any]) -> None:
        """Take what the process says."""
        kind = event.pop("event") if event["event"] != "begins" else ""
        if kind == "result":
            self.results.append(event)
        elif kind == "noise":
            self.noise = event
        elif kind == "over":
            self.over = event
        elif kind == "failed":
            self.failure = event["why"]
        if kind:
            event["event"] = kind

    @property
    def broken(self) -> list[dict[str, Any]]:
        return [one for one in self.results if one["outcome"] == "breaks"]

    def headline(self) -> str:
        held = sum(one["outcome"] == "holds" for one in self.results)
        told = f"{held} of {len(self.results)} relations hold"
        if not self.broken:
            return f"{told}, none breaks"
        return f"{told}, {len(self.broken)} break: {', '.join(x['relation'] for x in self.broken)}"

    def show(self) -> None:
        output = console()
        output.print(f"{self.script}: {self.headline()}", style="bold", markup=False)
        rows = [(one["relation"], one["outcome"], one["why"]) for one in self.results]
        output.print(table(("relation", "outcome", "where, or why not"), rows))
        for one in self.broken:
            line = f"{one['relation']} points at {one['points_at']}"
            output.print(line, markup=False, soft_wrap=True)
        for line in self.notes():
            output.print(f"  {line}", style="dim", markup=False, soft_wrap=True)

    def notes(self) -> list[str]:
        """Return what else is to be known, a line each."""
        notes = [f"{self.noise['steps']} TRAIN steps, {self.over['runs']} runs in copies of this "
                 f"folder, {self.seconds:.0f} s"]  # fmt: skip
        if self.noise["cut"]:
            notes.append("epochs were ended early, so that an evaluation may come: see --steps")
        if self.noise["apart"]:
            notes.append(f"{self.noise['apart']}: seed it to have it judged")
        return notes

    def to_dict(self) -> dict[str, Any]:
        results = [{k: v for k, v in one.items() if k != "event"} for one in self.results]
        return {
            "script": self.script,
            "headline": self.headline(),
            "relations": results,
            "steps": self.noise["steps"],
            "runs": self.over["runs"],
            "seconds": self.seconds,
            "plain_seconds": self.noise["seconds"],
            "notes": self.notes(),
        }

    def to_junit(self) -> bytes:
        """Return the results as JUnit's XML: what does not apply is skipped."""
        skipped = sum(one["outcome"] == "does not apply" for one in self.results)
        suite = ElementTree.Element(
            "testsuite", name="stepwatch certify", tests=str(len(self.results)),
            failures=str(len(self.broken)), skipped=str(skipped),
        )  # fmt: skip
        for one in self.results:
            seconds = f"{one.get('seconds', 0.0):.3f}"
            case = ElementTree.SubElement(
                suite, "testcase", classname=self.script, name=one["relation"], time=seconds
            )
            if one["outcome"] == "breaks":
                ElementTree.SubElement(case, "failure", message=one["why"]).text = one["points_at"]
            elif one["outcome"] == "does not apply":
                ElementTree.SubElement(case, "skipped", message=one["why"])
        text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
        return text
