"""Run a command about a finding."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import ClassVar

from ..config import environment
from ..errors import ConfigError
from . import Finding, Place, Tell

_VARIABLES = ("finding_id", "rule", "severity", "step", "mode", "tensor", "worker", "message")


class Command(Tell):
    """Runs a command, with the finding as JSON on its standard input.

    It finds ``STEPWATCH_RUN``, ``STEPWATCH_RULE`` and the like among its variables.

    Args:
        run: The command and its arguments, quoted as for a shell; none is started.
        timeout_s: After so long it is killed, with what it has started, seconds.
    """

    at_most: ClassVar[int | None] = 50

    def __init__(self, run: str, timeout_s: float = 60.0) -> None:
        try:
            self._command = shlex.split(run)
        except ValueError as error:
            raise ConfigError(f"command: run={run!r}: {error}") from None
        if not self._command:
            raise ConfigError("command needs run=COMMAND")
        if not timeout_s > 0:
            raise ConfigError(f"command: timeout_s must be above 0, got {timeout_s}")
        self._timeout_s = timeout_s

    def act(self, finding: Finding, place: Place) -> str:
        line = finding.to_json().encode() + b"\n"
        # A file, not a pipe: what the command leaves running may hold it open.
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # what the script prints is the script's own
                stderr=errors,
                env={**environment(), **variables(finding, place.run)},
                start_new_session=True,  # so that all it starts can be ended
            )
            try:
                process.communicate(line, timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                raise TimeoutError(f"killed after {self._timeout_s:g} s") from None
            finally:
                _end(process)
            if process.returncode:
                errors.seek(0)
                last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
                raise ChildProcessError(": ".join([f"exit status {process.returncode}", *last]))
        return f"ran {self._command[0]}"


def variables(finding: Finding, run: str) -> dict[str, str]:
    """Return what a command is told of a finding in its environment.

    Example:
        >>> told = variables(Finding("loss_spike", 7, "loss/mse", "9 is far above 1"), "runs/a")
        >>> told["STEPWATCH_RULE"], told["STEPWATCH_STEP"], told["STEPWATCH_RUN"]
        ('loss_spike', '7', 'runs/a')
    """
    facts = {name: str(getattr(finding, name)).replace("\0", "") for name in _VARIABLES}
    return {f"STEPWATCH_{name.upper()}": fact for name, fact in {**facts, "run": run}.items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it has started, if it has not ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
