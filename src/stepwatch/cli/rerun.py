"""Runs the script of a run again, up to a step that was recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import StepUnavailable, TrainingStopped
from ..formats.manifest import Manifest
from ..formats.script import script_digest
from ..record import StepRecord
from .launch import Script

if TYPE_CHECKING:
    from ..hooks.torch.replay import ReplayHook


def run_again(manifest: Manifest, hook: ReplayHook) -> tuple[StepRecord, str]:
    """Run the script of a run in this process, in the folder in which it ran.

    Args:
        manifest: Of the run.
        hook: Gives the script its recorded steps.

    Returns:
        The last of the steps, as it was this time; and how the script ended, if it did so by
        itself within that step.

    Raises:
        StepUnavailable: The script is gone, is another, or did not come to the step.
    """
    script = _script(manifest)
    how = "it ended"
    try:
        script.execute()
    except TrainingStopped:
        how = ""
    except (Exception, SystemExit) as raised:  # noqa: BLE001  a script may end in any way
        how = f"it ended by {type(raised).__name__}: {raised}".removesuffix(": ")
    hook.close()
    if hook.refusal:
        raise StepUnavailable(hook.refusal)
    if hook.record is None or not hook.over:
        raise StepUnavailable(f"{script.name} did not come to the end of the step: {how}")
    return hook.record, how


def _script(manifest: Manifest) -> Script:
    """Return the script that wrote a run, in its folder; raise if it is gone or has changed."""
    name, *arguments = manifest.command
    if manifest.folder:
        try:
            os.chdir(manifest.folder)
        except OSError as error:
            why = f"the script ran in {manifest.folder}: {error.strerror}"
            raise StepUnavailable(why) from None
    is_module = not manifest.script_sha256 and not os.path.exists(name)
    script = Script(name, tuple(arguments), is_module=is_module)
    script.check()
    if manifest.script_sha256 != script_digest(manifest.command):
        raise StepUnavailable(
            f"{name} is not what it was when it ran; check out the version that ran"
        )
    return script


@contextmanager
def script_output(*, to_stderr: bool, quiet: bool) -> Iterator[None]:
    """Let what a script prints through, or not; also what is printed in C.

    Args:
        to_stderr: Whether its standard output goes to standard error.
        quiet: Whether neither goes anywhere.
    """
    saved = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        _flush()
        if to_stderr:
            os.dup2(2, 1)
        if quiet:
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        yield
    finally:
        _flush()
        for number, copy in enumerate(saved, 1):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
