"""Commands that start the processes of a training: torchrun, accelerate, uv, mpirun and others.

``stepwatch run torchrun OPTIONS train.py`` becomes ``torchrun OPTIONS -m stepwatch run train.py``:
each process that the launcher starts watches itself, and all of them write one run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from ..config.variables import leave_run_options
from ..errors import ConfigError
from ..store import scheme_of

#: Launchers that run a script by Python themselves, with the option by which they run a module.
_SCRIPTS = {"torchrun": "-m", "accelerate": "-m", "deepspeed": "--module"}
#: Launchers that run any program.
_ENVIRONMENTS = ("uv", "poetry", "pdm", "hatch", "pixi", "rye")
_PROGRAMS = ("mpirun", "mpiexec", "mpiexec.hydra", "srun", "numactl", "taskset", "nice", "env")
_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?")
#: Not passed on: the launcher's processes are told where to write, and run no module of ours.
_OWN = ("to", "module")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts a script by a launcher.

    Args:
        before: Launchers with their options, up to the script or the ``-m`` before it.
        script: The script, or the name of a module.
        arguments: Of the script.
        is_module: Whether ``script`` is a module.
    """

    before: tuple[str, ...]
    script: str
    arguments: tuple[str, ...]
    is_module: bool

    def command(self) -> list[str]:
        """Return the command in which each process watches itself.

        Options of ours are no part of it: torchrun takes ``--run`` for one of its own, wherever
        it stands.

        Example:
            >>> Launch(("torchrun",), "train.py", ("--lr", "1"), False).command()
            ['torchrun', '-m', 'stepwatch', 'run', 'train.py', '--lr', '1']
        """
        runner = next((name for one in reversed(self.before) if (name := _name(one))), "")
        if runner in _SCRIPTS:
            start = [*self.before, _SCRIPTS[runner]]
        elif _PYTHON.fullmatch(runner):
            start = [*self.before, "-m"]
        else:  # the script is run as a program
            start = [*self.before, "python" if runner in _ENVIRONMENTS else sys.executable, "-m"]
        module = ["-m"] if self.is_module else []
        return [*start, "stepwatch", "run", *module, self.script, *self.arguments]


def find_launch(words: Sequence[str]) -> Launch | None:
    """Return what a command starts if it begins with a launcher; ``None`` for a script.

    Raises:
        ConfigError: It begins with a launcher, and no script is named.
    """
    if not words or not _name(words[0]):
        return None
    if shutil.which(words[0]) is None:
        raise ConfigError(f"no command {words[0]!r}; install it, or give the path of a script")
    for at, word in enumerate(words):
        if at and word in ("-m", "--module") and at + 1 < len(words):
            if _takes_module(words[:at]):
                return Launch(tuple(words[:at]), words[at + 1], tuple(words[at + 2 :]), True)
        elif at and word.endswith(".py") and Path(word).is_file():
            return Launch(tuple(words[:at]), word, tuple(words[at + 1 :]), False)
    raise ConfigError(f"{' '.join(words[:3])} … names no script; give the path of a Python file")


def _takes_module(before: Sequence[str]) -> bool:
    """Return whether ``-m`` after these words names a module: other launchers mean other things."""
    runner = next((name for one in reversed(before) if (name := _name(one))), "")
    return runner in _SCRIPTS or _PYTHON.fullmatch(runner) is not None


def _name(word: str) -> str:
    """Return the name of a launcher, ``""`` for what is none."""
    name = os.path.basename(word)
    known = name in (*_SCRIPTS, *_ENVIRONMENTS, *_PROGRAMS) or _PYTHON.fullmatch(name)
    return name if known and not word.startswith("-") else ""


def is_this_python(launch: Launch) -> bool:
    """Return whether a command only runs a script by the Python that runs this."""
    if len(launch.before) != 1 or not _PYTHON.fullmatch(os.path.basename(launch.before[0])):
        return False
    found = shutil.which(launch.before[0])
    return found is not None and os.path.abspath(found) in _same_python()


def check_python(launch: Launch) -> None:
    """Check that another Python, if that is what a command begins with, has Stepwatch.

    Raises:
        ConfigError: It has not.
    """
    python = launch.before[0]
    if not _PYTHON.fullmatch(os.path.basename(python)):
        return
    has_it = "import importlib.util as i, sys; sys.exit(i.find_spec('stepwatch') is None)"
    if subprocess.run([python, "-c", has_it], check=False, capture_output=True).returncode == 1:
        raise ConfigError(
            f"{shutil.which(python)} has no stepwatch: install it there, or leave {python} out "
            f"of the command, and {sys.executable} runs the script"
        )


def _same_python() -> set[str]:
    folder = os.path.dirname(sys.executable)
    names = ("python", "python3", f"python3.{sys.version_info.minor}")
    return {os.path.abspath(sys.executable), *(os.path.join(folder, name) for name in names)}


def given_options(context: click.Context) -> list[str]:
    """Return the options that were given to ``stepwatch run``, to be given again."""
    found: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if not isinstance(option, click.Option) or name in _OWN or not option.expose_value:
            continue
        if source is not ParameterSource.COMMANDLINE:
            continue
        value, flag = context.params[name], max(option.opts, key=len)
        if option.is_flag:
            found.append(flag if value else max(option.secondary_opts, key=len))
        else:
            values = value if option.multiple else [value]
            found += [f"{flag}={one}" for one in values]
    return found


def run_option(run: str) -> str:
    """Return the option that names a run, for a process that may run in another folder."""
    return f"--run={run if scheme_of(run) else os.path.abspath(run)}"


def launch(command: Sequence[str], options: Sequence[str]) -> None:
    """Become a command; its output, exit status and signals are its own.

    Args:
        command: It starts processes that watch themselves.
        options: Of ``stepwatch run``, which they find in their environment.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    leave_run_options(options)
    os.execvp(command[0], list(command))
