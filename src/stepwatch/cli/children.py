"""Processes that a script starts.

What ``torch.multiprocessing.spawn`` starts trains together: each process is watched as if a
launcher had started it. What others train is not seen from here, which is said; only Python
counts, and not what loads data, keeps resources, or watches itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..config.variables import set_rank
from ..hooks.patching import Function, PatchSet
from ..runtime.imports import OnImport

_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?|torchrun|accelerate|deepspeed")
# Modules of what processes run that load data, or are there for others.
_HELPERS = ("torch.utils.data", "multiprocessing.", "tensorflow.", "grain.", "wandb", "joblib.")
# Arguments by which multiprocessing starts Python, which is counted where that is asked for.
_OF_MULTIPROCESSING = "multiprocessing"
# Where what is to run in each process is the first argument of what is started.
_SPAWN = "torch.multiprocessing.spawn"
_STARTS = "start_processes"
_MOST_NAMED = 3


class WatchedFunction:
    """What each process runs that the script starts together with others: its function, watched.

    Args:
        function: The script's; it is given the number of its process, and more.
        words: Those of the command after ``stepwatch run``.
        size: How many processes there are.
    """

    def __init__(self, function: Function, words: Sequence[str], size: int) -> None:
        self._function, self._words, self._size = function, words, size

    def __call__(self, number: int, *args: Any) -> None:
        from .run import run

        function = partial(self._function, number, *args)
        set_rank(number, self._size)
        try:
            launch = run.main([*self._words], standalone_mode=False)
        except Exception as error:  # noqa: BLE001  it is called within a training
            print(f"stepwatch: not watched: {error}; the script goes on", file=sys.stderr)
            function()
        else:
            launch(function)


class ChildProcesses:
    """Counts the Python processes that this one starts, and are not watched.

    Args:
        hand_over: Lets processes that train together write the run, and returns the words of the
            command that watches them; ``None`` where they cannot.
    """

    def __init__(self, hand_over: Callable[[], Sequence[str] | None] = lambda: None) -> None:
        self._hand_over = hand_over
        self._found: Counter[str] = Counter()
        self._patches = PatchSet()
        self._imports: list[OnImport] = []
        self._pid = os.getpid()

    def begin(self) -> None:
        """Count from here on."""
        self._patches.put(subprocess.Popen, "__init__", partial(self._noting, self._of_command))
        self._imports = [
            OnImport("multiprocessing.process", self._watch_multiprocessing),
            OnImport(_SPAWN, self._watch_spawning),
        ]

    def end(self) -> None:
        """Count no more."""
        self._patches.remove()
        for one in self._imports:
            one.remove()

    def line(self) -> str:
        """Return what was not watched, and how it can be; empty for nothing.

        Example:
            >>> children = ChildProcesses()
            >>> children._found.update(["fold.py", "fold.py"])
            >>> children.line().partition(";")[0]
            'not watched: 2 processes that the script started (fold.py)'
        """
        count = sum(self._found.values())
        if not count:
            return ""
        names = [name for name, _ in self._found.most_common(_MOST_NAMED)]
        more = ", ..." if len(self._found) > _MOST_NAMED else ""
        processes = "1 process" if count == 1 else f"{count} processes"
        return (
            f"not watched: {processes} that the script started ({', '.join(names)}{more}); if they "
            "train, call stepwatch.init() in them, after init_process_group() where they have one,"
            " or start them by stepwatch run"
        )

    def _watch_multiprocessing(self) -> None:
        from multiprocessing.process import BaseProcess

        self._patches.put(BaseProcess, "start", partial(self._noting, self._of_process))

    def _watch_spawning(self) -> None:
        for module in (_SPAWN, _SPAWN.rpartition(".")[0]):  # the package has its function, too
            if hasattr(sys.modules.get(module), _STARTS):
                self._patches.put(sys.modules[module], _STARTS, self._spawning)

    def _spawning(self, original: Function) -> Function:
        def start_processes(
            fn: Function, args: Sequence[Any] = (), nprocs: int = 1, *rest: Any, **named: Any
        ) -> Any:
            try:
                words = self._hand_over() if os.getpid() == self._pid else None
            except Exception:  # noqa: BLE001  it is called within a training
                words = None
            if words is not None:
                fn = WatchedFunction(fn, words, nprocs)
            return original(fn, args, nprocs, *rest, **named)

        return start_processes

    def _noting(self, name_of: Any, original: Function) -> Function:
        def noting(*args: Any, **kwargs: Any) -> Any:
            try:
                name = name_of(*args, **kwargs) if os.getpid() == self._pid else ""
            except Exception:  # noqa: BLE001  it is called within a training
                name = ""
            result = original(*args, **kwargs)  # which forgets what the process is to run
            if name:
                self._found[name] += 1
            return result

        return noting

    @staticmethod
    def _of_command(_: object, args: Any = (), *__: object, **named: Any) -> str:
        """Return the script of a command that starts Python; empty for others."""
        words = _words(named.get("args", args))
        runs = [n for n, word in enumerate(words) if _PYTHON.fullmatch(Path(word).name)]
        if not runs or is_watched(words) or any(_OF_MULTIPROCESSING in word for word in words):
            return ""
        script = [word for word in words[runs[0] + 1 :] if word.endswith(".py")]
        return Path(script[0]).name if script else " ".join(words[runs[0] :][:3])[:40]

    @staticmethod
    def _of_process(process: Any) -> str:
        """Return the name of the function that a process runs; empty for a helper."""
        target = getattr(process, "_target", None)
        if getattr(target, "__module__", None) == _SPAWN:
            target = process._args[0]
        if isinstance(target, WatchedFunction):
            return ""
        module = getattr(target, "__module__", None) or type(process).__module__
        if module.startswith(_HELPERS):
            return ""
        return str(getattr(target, "__name__", None) or type(process).__name__)


def _words(args: Any) -> list[str]:
    if isinstance(args, (str, bytes, os.PathLike)):
        return os.fsdecode(args).split()
    return [os.fsdecode(one) for one in args]


def is_watched(words: Sequence[str]) -> bool:
    """Return whether a command is one of Stepwatch.

    Example:
        >>> is_watched(["python", "-m", "stepwatch", "run", "a.py"]), is_watched(["python", "a.py"])
        (True, False)
    """
    is_named = any(
        Path(word).name == "stepwatch" or word.startswith("stepwatch.") for word in words
    )
    code = words[words.index("-c") + 1 :][:1] if "-c" in words else []
    return is_named or any("stepwatch" in one for one in code)
