"""``stepwatch audit CHECKPOINT``: what is wrong with the tensors of a checkpoint."""

from __future__ import annotations

import click
from rich.markup import escape

from ..errors import RunNotFound
from ..formats.checkpoint_files import open_checkpoint
from ..formats.manifest import RUN_KEY
from ..formats.saved_weights import SavedWeights, all_saved
from ..judge.audit import Audit, Part
from ..judge.audit import audit as audit_checkpoint
from ..store import open_store
from .console import SEVERITY_STYLES, console, print_json, working
from .run_names import RUN, RunVerb

SCHEMA_VERSION = 1


@click.command(cls=RunVerb)
@click.argument("checkpoint")
@click.option("--run", type=RUN, help="The run that saved it: are these the weights that it saved?")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(checkpoint: str, run: str | None, *, as_json: bool) -> int:
    """Say what is wrong with the tensors in CHECKPOINT, a file or folder.

    It reads files of PyTorch, safetensors, folders of transformers and files of Keras, and runs no
    code from them. What lies in object storage is copied to this machine for as long.

    The exit status is 0 where nothing is wrong, 1 where something is, 2 for an error.
    """
    saved = None if run is None else _saved_by(run)
    with working("reading the checkpoint"), open_checkpoint(checkpoint) as parts:
        found = audit_checkpoint(parts, saved)
    if as_json:
        about = {"schema_version": SCHEMA_VERSION, "checkpoint": checkpoint, "run": run}
        print_json({**about, **found.to_dict()})
    else:
        _show(found, run or "")
    return found.exit_status


def _saved_by(run: str) -> list[SavedWeights]:
    store = open_store(run)
    if not store.list(RUN_KEY):
        raise RunNotFound(f"no run at {run}: it holds no {RUN_KEY}")
    return list(all_saved(store))


def _show(found: Audit, run: str) -> None:
    output = console()
    for part in found.parts:
        output.print(part.name, style="bold", markup=False, soft_wrap=True)
        output.print(f"  {_about(part)}", style="dim", markup=False, soft_wrap=True)
        if part.saved is not None:
            which = f" as {part.saved.part}" if part.saved.part else ""
            output.print(
                f"  equal to what {run} saved after {part.saved.num_steps} TRAIN steps{which}",
                style="green",
                markup=False,
                soft_wrap=True,
            )
    for one in found.problems:
        style = SEVERITY_STYLES.get(one.severity, "")
        output.print(
            f"[{style}]{one.severity}[/] [bold]{one.kind}[/] {escape(one.message)}", soft_wrap=True
        )
    if not found.exit_status:
        output.print("nothing is wrong with what was read", style="bold")


def _about(part: Part) -> str:
    dtypes = ", ".join(sorted(part.dtypes)) or "no dtype"
    return f"{part.num_tensors:,} tensors, {part.num_elements:,} elements, {dtypes}"
