"""Runs a script in this process, as ``python script`` would, with a hook on what it imports."""

from __future__ import annotations

import builtins
import logging
import os
import runpy
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import MappingProxyType, ModuleType, TracebackType

from ..actions.policy import Entry
from ..actions.reactions import Reactions
from ..capture.ending import how_it_ended
from ..capture.listener import Listener
from ..capture.profiling import Profiler
from ..capture.worker import rank_and_size
from ..config import environment
from ..errors import ConfigError, StepwatchError
from ..finding import Finding
from ..hook_config import HookConfig
from ..rules.live import LiveWatch
from ..rules.parameters import parse_rules
from .frameworks import Configured, Frameworks
from .on_import import OnImport
from .progress import Progress
from .saved_for import SavedFor

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


def default_run(folder: Path, script: str) -> str:
    """Return a place for a run that is not taken: the script's name and the time.

    Several processes of one launcher get one place: its process number stands for the time.
    """
    if rank_and_size(environment())[1] > 1:
        return str(folder / f"{Path(script).stem}-{os.getppid()}")
    wanted = f"{Path(script).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    taken = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names = [wanted, *(f"{wanted}-{number}" for number in range(2, len(taken) + 3))]
    return str(folder / next(name for name in names if name not in taken))


class Launcher:
    """Runs a script and watches what it trains.

    The script's exit status, exceptions and signals stay as they were. What we have to say goes
    to standard error.

    Args:
        script: The program.
        run: Where to write.
        rules: Rule specs.
        policy: ``--save`` texts.
        reactions: What is done about findings.
        run_format: How the run is laid out.
        tensorboard: Where TensorBoard's files go; ``None`` for nowhere.
        hook_configs: What to save in smdebug's words, instead of ``policy``, and where: what a hook
            configuration says to each framework, as of ``configured.KINDS``. Empty for none.
        black_box_mb: Size of the black box in MiB; 0 for none.
        snapshot_every: It keeps the state before each so many TRAIN steps; 0 for none.
        mirror: Where the run is copied to as it goes on; ``None`` for nowhere.
        resume: The TRAIN step at which the run is taken up again; ``None`` for a new one.
        profiler: Tells where the time goes; ``None`` for nobody.
        quiet: Say only what was found.
    """

    def __init__(
        self,
        script: Script,
        run: str,
        *,
        rules: Sequence[str],
        policy: Sequence[str] | None,
        reactions: Sequence[Entry],
        run_format: str = "native",
        tensorboard: str | None = None,
        hook_configs: Mapping[str, HookConfig] = MappingProxyType({}),
        black_box_mb: int = 64,
        snapshot_every: int = 0,
        mirror: str | None = None,
        resume: int | None = None,
        profiler: Profiler | None = None,
        quiet: bool = False,
    ) -> None:
        self._script = script
        self._run = run
        self._progress = Progress(run, quiet=quiet)
        watched = parse_rules(rules)
        self._live = LiveWatch(watched, self._found)
        self._saved_for = SavedFor(watched, self._progress.say_more)
        self._reactions = Reactions(
            reactions,
            self.say,
            restarted=self._live.end_episodes,
            hides=self._progress.hides,
        )
        # what is profiled is stored before rules look at the last of it
        listeners: list[Listener] = [] if profiler is None else [profiler]
        listeners += [self._progress, self._saved_for, self._live, self._reactions]
        command = [script.name, *script.arguments]
        self._frameworks: Frameworks | Configured
        if not hook_configs:
            self._frameworks = Frameworks(
                run,
                policy=policy,
                run_format=run_format,
                tensorboard=tensorboard,
                listeners=listeners,
                command=command,
                black_box_mb=black_box_mb,
                snapshot_every=snapshot_every,
                mirror=mirror,
                resume=resume,
                say=self._progress.say_more,
                attached=self._reactions.attach,
            )
        else:
            self._frameworks = Configured(
                hook_configs,
                listeners=listeners,
                command=command,
                say=self._progress.say_more,
                attached=self._reactions.attach,
            )
        self._pid = os.getpid()

    def launch(self) -> None:
        """Run the script to its end."""
        logging.lastResort = _OneLine()
        importing = [
            OnImport(name, partial(self._imported, name)) for name in self._frameworks.names()
        ]
        state, error = how_it_ended(None)
        try:
            self._script.execute()
        except BaseException as raised:
            state, error = how_it_ended(raised)
            if not isinstance(raised, SystemExit):
                _show_only_frames_of_script()
            raise
        finally:
            for one in importing:
                one.remove()
            if os.getpid() == self._pid:  # not in a child that the script forked
                self._finish(state, error)

    def say(self, line: str) -> None:
        """Show a line."""
        self._progress.say(line)

    def _found(self, finding: Finding) -> None:
        self._progress.count(finding)
        self._reactions.found(finding)

    def _imported(self, framework: str) -> None:
        """A framework was imported: hook it. What fails here is told, and the script goes on."""
        try:
            self._frameworks.attach(framework)
        except Exception as error:  # noqa: BLE001 - else the import would fail for us
            what = str(error) if isinstance(error, StepwatchError) else repr(error)
            self.say(f"not watching {framework}: {what}; the script goes on without")

    def _finish(self, state: str, error: str) -> None:
        hook = self._frameworks.first
        if hook is None:
            self._progress.close()
            names = self._frameworks.names()
            if not any(name in sys.modules for name in names):
                self.say(f"the script used none of {', '.join(names)}: there was nothing to see")
            with suppress(OSError):  # it holds something, or is no folder
                os.rmdir(self._run)
            return
        end = hook.close(state, error)
        self._progress.close()
        if end is None:  # by the hook configuration this process writes nothing, or no model ran
            return
        self._progress.summary(end, self._live.findings, self._live.statuses())


class _OneLine(logging.StreamHandler):  # type: ignore[type-arg]
    """Shows log records where the script has set up no logging: ours in a line, others as ever."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.setLevel(logging.WARNING)

    def format(self, record: logging.LogRecord) -> str:
        """Return the text, as ``logging.lastResort`` does, with who says so if it is us."""
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
