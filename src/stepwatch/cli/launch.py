"""Runs a script in this process, as ``python script`` would, within a session that watches it."""

from __future__ import annotations

import builtins
import logging
import os
import re
import runpy
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from ..capture.lifecycle import end_state, rank_and_size
from ..config import environment
from ..errors import ConfigError
from .session import Session

_PACKAGE = os.path.join(Path(__file__).parents[1], "")


@dataclass(frozen=True, slots=True)
class Script:
    """A Python program and its arguments.

    Args:
        name: A path, or the name of a module.
        arguments: What it finds in ``sys.argv[1:]``.
        is_module: Whether ``name`` is that of a module.
    """

    name: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False

    def check(self) -> None:
        """Raise ConfigError if there is no such script."""
        if self.is_module:
            package = self.name.partition(".")[0]  # what is below can only be found by importing
            if PathFinder.find_spec(package, [os.getcwd(), *sys.path[1:]]) is None:
                raise ConfigError(f"no module named {package!r} here or installed")
            return
        if Path(self.name).is_file():
            return
        if Path(self.name, "__main__.py").is_file():
            return
        raise ConfigError(f"no script at {self.name}; give the path of a Python file")

    def execute(self) -> None:
        """Run it as the main program of this process."""
        sys.argv[:] = [self.name, *self.arguments]
        if self.is_module:
            sys.path[0] = os.getcwd()
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
            return
        path = Path(self.name)
        if path.is_dir():
            sys.path[0] = self.name
            runpy.run_path(self.name, run_name="__main__")
            return
        sys.path[0] = str(path.resolve().parent)
        file = os.path.abspath(self.name)  # as Python does, and what tracebacks say
        main = ModuleType("__main__")
        main.__file__ = file
        main.__loader__ = SourceFileLoader("__main__", file)
        main.__dict__.update(__builtins__=builtins, __cached__=None, __annotations__={})
        # Classes of the script are pickled by this name, and its workers look it up.
        sys.modules["__main__"] = main
        code = compile(path.read_bytes(), file, "exec", dont_inherit=True)
        exec(code, main.__dict__)


def default_run(folder: Path, name: str) -> str:
    """Return a path for a new run: its name and the time.

    Several processes of one launcher get one path: its process number stands for the time.
    """
    stem = re.sub(r"[^-\w.]+", "-", name) or "run"
    if rank_and_size(environment())[1] > 1:
        return str(folder / f"{stem}-{os.getppid()}")
    wanted = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    used = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names = [wanted, *(f"{wanted}-{number}" for number in range(2, len(used) + 3))]
    return str(folder / next(name for name in names if name not in used))


class Launcher:
    """Runs a script in a session that watches what it trains.

    The script's exit status, exceptions and signals stay as they were.

    Args:
        script: The program.
        run: Where to write.
        options: Those of ``Session``.
    """

    def __init__(self, script: Script, run: str, **options: Any) -> None:
        self._script = script
        self._session = Session([script.name, *script.arguments], run, **options)

    def launch(self, execute: Callable[[], object] | None = None) -> None:
        """Run the script to its end, or only the part of it that ``execute`` runs."""
        logging.lastResort = _OneLine()
        self._session.begin()
        state, error = end_state(None)
        try:
            (execute or self._script.execute)()
        except BaseException as raised:
            state, error = end_state(raised)
            if not isinstance(raised, SystemExit):
                _show_only_frames_of_script()
            raise
        finally:
            self._session.finish(state, error)


class _OneLine(logging.StreamHandler):  # type: ignore[type-arg]
    """Shows log records where the script has set up no logging: ours in a line, others as ever."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.setLevel(logging.WARNING)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return f"stepwatch: {text}" if record.name == "stepwatch" else text


def _show_only_frames_of_script() -> None:
    """Leave our own frames out of the traceback that ends the process."""
    show = sys.excepthook

    def show_trimmed(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        while traceback is not None and _is_ours(traceback):
            traceback = traceback.tb_next
        show(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = show_trimmed


def _is_ours(traceback: TracebackType) -> bool:
    name = traceback.tb_frame.f_code.co_filename
    return name.startswith((_PACKAGE, "<frozen runpy>")) or name == _ENTRY


# The file of the command itself: the outermost frame.
_ENTRY = getattr(sys.modules["__main__"], "__file__", "")
