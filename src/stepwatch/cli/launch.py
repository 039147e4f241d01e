"""Runs a script in this process, as ``python script`` would, with a hook on what it imports.

The hook of each framework is put on once the framework was imported; all of them write one run.
"""

from __future__ import annotations

import builtins
import logging
import os
import runpy
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..actions.policy import PolicyEntry
from ..actions.reactions import Reactions
from ..capture.companion import MakeRemote, Report
from ..capture.control import Control
from ..capture.lifecycle import end_state, rank_and_size
from ..capture.output import Output
from ..capture.profiling import Profiler
from ..capture.recorder import Listener
from ..config import environment
from ..errors import ConfigError, StepwatchError
from ..forward.forwarder import Forwarder, Target
from ..judge.headline import Headline, headline
from ..judge.live import LiveWatch
from ..judge.parameters import Spec
from ..judge.root_cause import chains
from ..judge.rule import Watched, required_captures
from ..model.collection import Collection, parse_save
from ..model.finding import Finding
from ..model.record import StepRecord
from ..plugins import registry
from ..runtime.imports import OnImport
from ..runtime.secrets import MASK, masked
from ..store import Store
from .progress import Progress

if TYPE_CHECKING:
    from ..formats.manifest import End
    from ..hooks.base import Hook


class Frameworks:
    """Hooks what is imported, by the entry points of ``stepwatch.hooks``.

    Args:
        run: Where to write.
        policy: ``--save`` texts.
        output: How the run is written.
        listeners: Who is called with every step.
        command: The script and its arguments, for the record.
        say: Shows a line.
        attached: Called with what may be done to the training, when that is known, and again
            when another framework than the one that was imported first turns out to train.
    """

    def __init__(
        self,
        run: str,
        *,
        policy: Sequence[str] | None,
        output: Output,
        listeners: Sequence[Listener],
        command: Sequence[str],
        say: Callable[[str], None],
        attached: Callable[[Control], None],
    ) -> None:
        self._opening: dict[str, Any] = {
            "run": run,
            "policy": policy,
            "listeners": listeners,
            "command": command,
        }
        self._output = output
        self._say, self._attached = say, attached
        self._trains: Control | None = None
        #: The hook that opened the run.
        self.first: Hook | None = None

    def names(self) -> Sequence[str]:
        return registry.names("stepwatch.hooks")

    def attach(self, framework: str) -> None:
        """Hook a framework that was imported.

        Raises:
            StepwatchError: The run cannot be written, or the hook not be loaded.
        """
        make: Any = registry.load("stepwatch.hooks", framework)
        opening = {"run": self.first.recorder} if self.first else self._opening
        if framework == "torch":
            how = {"output": self._output, "hold": False}
        else:  # no other framework takes snapshots
            how = {"output": replace(self._output, snapshot_every=0)}
        hook: Hook = make(**opening, **how, say=self._say, on_begin=self._begins)
        if self.first is None:
            self.first = hook
            self._use(hook.control)

    def _begins(self, hook: Hook) -> None:
        if hook.control is not self._trains:
            self._use(hook.control)

    def _use(self, control: Control) -> None:
        self._trains = control
        self._attached(control)


class HookedFrameworks(Protocol):
    """What is imported and hooked; ``Frameworks`` is one."""

    @property
    def first(self) -> Closing | None:
        """What ends capturing, once a framework was imported."""

    def names(self) -> Sequence[str]:
        """Return the modules to hook when they are imported."""

    def attach(self, framework: str) -> None: ...


class Closing(Protocol):
    """What ends capturing."""

    def close(self, state: str, error: str) -> End | None:
        """Store what is left; ``None`` where this process writes nothing."""


class MakeFrameworks(Protocol):
    """Makes what hooks the frameworks of a script."""

    def __call__(
        self,
        *,
        listeners: Sequence[Listener],
        command: Sequence[str],
        say: Callable[[str], None],
        attached: Callable[[Control], None],
    ) -> HookedFrameworks:
        """See ``Frameworks`` for the arguments."""


class SaveCosts:
    """Reports once for each rule what is saved for it; a listener of the recorder.

    Args:
        rules: The rules that watch the run.
        print_line: Shows a line.
    """

    def __init__(self, rules: Sequence[Watched], print_line: Callable[[str], None]) -> None:
        self._print_line = print_line
        self._wait_for((one.name, text) for one in rules for text in required_captures([one]))

    def _wait_for(self, needs: Iterable[tuple[str, str]]) -> None:
        # Most are waited for at every step of the run.
        self._waiting = [(rule, text, parse_save(text)) for rule, text in needs]

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None: ...

    def on_step(self, record: StepRecord) -> None:
        """Report what a step holds for rules that were not reported yet."""
        still_waiting = []
        for rule, text, collection in self._waiting:
            sizes = _sizes_bytes(collection, record)
            if sizes:
                count = f"{len(sizes)} tensor{'' if len(sizes) == 1 else 's'}"
                self._print_line(
                    f"saving for {rule}: {text}, {count}, {sum(sizes):,} bytes at each time"
                )
            else:
                still_waiting.append((rule, text, collection))
        self._waiting = still_waiting

    def remote(self, send: object) -> MakeRemote | None:
        """Return what looks at the steps in another process; see ``capture.link.Divided``."""
        del send
        needs = [(rule, text) for rule, text, _ in self._waiting]
        return partial(SaveCosts.of, needs) if needs else None

    def receive(self, message: Mapping[str, Any]) -> None:
        """Show what was reported there."""
        if "line" in message:
            self._print_line(message["line"])

    @classmethod
    def of(cls, waiting: Sequence[tuple[str, str]], report: Report) -> SaveCosts:
        """Return one that reports lines, for rules by name and what is saved for them."""
        costs = cls([], lambda line: report({"line": line}))
        costs._wait_for(waiting)
        return costs

    def finish(self) -> None: ...


def _sizes_bytes(collection: Collection, record: StepRecord) -> list[int]:
    """Return the size of each tensor that a step holds of what a collection asks for."""
    layout, policy = record.layout, collection.policy
    rows = set(layout.rows_of.get(collection.name, ()))
    for pattern in collection.patterns:
        rows.update(np.flatnonzero(layout.matching(pattern)))
    sizes = []
    for row in rows:
        name = layout.tensors[row].name
        parts = [record.raw[name].nbytes] if policy.raw and name in record.raw else []
        parts += [8] if policy.digest and name in record.digests else []
        if policy.exponents and name in record.exponents:
            parts.append(record.exponents[name].nbytes)
        if policy.raw is policy.digest is policy.exponents is None:
            parts.append(record.statistics[row].nbytes)
        sizes += [sum(parts)] if parts else []
    return sizes


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
    """Return a path for a new run: the script's name and the time.

    Several processes of one launcher get one path: its process number stands for the time.
    """
    if rank_and_size(environment())[1] > 1:
        return str(folder / f"{Path(script).stem}-{os.getppid()}")
    wanted = f"{Path(script).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    used = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names = [wanted, *(f"{wanted}-{number}" for number in range(2, len(used) + 3))]
    return str(folder / next(name for name in names if name not in used))


class Launcher:
    """Runs a script and watches what it trains.

    The script's exit status, exceptions and signals stay as they were. What we have to say goes
    to standard error.

    Args:
        script: The program.
        run: Where to write.
        rules: What judges, as specs.
        policy: ``--save`` texts.
        reactions: What is done about findings.
        targets: The trackers that findings are passed on to.
        output: How the run is written.
        make_frameworks: Makes what hooks the frameworks, where a hook configuration says what is
            saved, and where; it replaces ``policy`` and ``output``.
        profiler: Tells where the time goes; ``None`` for nobody.
        quiet: Say only what was found.
    """

    def __init__(
        self,
        script: Script,
        run: str,
        *,
        rules: Sequence[Spec],
        policy: Sequence[str] | None,
        reactions: Sequence[PolicyEntry],
        targets: Sequence[Target] = (),
        output: Output,
        make_frameworks: MakeFrameworks | None = None,
        profiler: Profiler | None = None,
        quiet: bool = False,
    ) -> None:
        self._script = script
        self._run = run
        self._progress = Progress(run, quiet=quiet, is_first=rank_and_size(environment())[0] == 0)
        self._live = LiveWatch(rules, self._found)
        self._save_costs = SaveCosts(self._live.watched, self._progress.print_detail)
        self._reactions = Reactions(
            reactions,
            self._progress.print_line,
            restarted=self._live.end_episodes,
            hides=self._progress.hides,
        )
        self._forwarder = Forwarder(
            targets,
            self._progress.print_line,
            judge=partial(self._headline, None),
            hides=self._progress.hides,
            flush=self._flush,
        )
        # what is profiled is stored before rules look at the last of it
        listeners: list[Listener] = [] if profiler is None else [profiler]
        listeners += [self._progress, self._save_costs, self._live]
        listeners += [self._reactions, self._forwarder]
        command = [script.name, *script.arguments]
        if hidden := sum(a != b for a, b in zip(command, masked(command), strict=True)):
            what = "1 argument looks" if hidden == 1 else f"{hidden} arguments look"
            self._progress.print_detail(f"{what} like a secret, and is recorded as {MASK}")
        make = make_frameworks or partial(Frameworks, run, policy=policy, output=output)
        self._frameworks: HookedFrameworks = make(
            listeners=listeners,
            command=command,
            say=self._progress.print_detail,
            attached=self._reactions.attach,
        )
        self._pid = os.getpid()

    def launch(self) -> None:
        """Run the script to its end."""
        logging.lastResort = _OneLine()
        importing = [
            OnImport(name, partial(self._imported, name)) for name in self._frameworks.names()
        ]
        state, error = end_state(None)
        try:
            self._script.execute()
        except BaseException as raised:
            state, error = end_state(raised)
            if not isinstance(raised, SystemExit):
                _show_only_frames_of_script()
            raise
        finally:
            for one in importing:
                one.remove()
            if os.getpid() == self._pid:  # not in a child that the script forked
                self._finish(state, error)

    def _found(self, finding: Finding) -> None:
        self._progress.count(finding)
        self._reactions.found(finding)
        self._forwarder.found(finding)

    def _flush(self) -> None:
        """Have what was recorded until now judged."""
        recorder = getattr(self._frameworks.first, "recorder", None)
        if recorder is not None:
            recorder.flush()

    def _imported(self, framework: str) -> None:
        """Hook a framework that was imported. A failure is reported, and the script goes on."""
        try:
            self._frameworks.attach(framework)
        except Exception as error:  # noqa: BLE001 - else the import would fail for us
            what = str(error) if isinstance(error, StepwatchError) else repr(error)
            self._progress.print_line(
                f"not watching {framework}: {what}; the script goes on without"
            )

    def _finish(self, state: str, error: str) -> None:
        hook = self._frameworks.first
        if hook is None:
            self._progress.close()
            names = self._frameworks.names()
            used = any(name in sys.modules for name in names)
            if self._progress.is_first and not used:
                self._progress.print_line(
                    f"the script used none of {', '.join(names)}: there was nothing to see"
                )
            with suppress(OSError):  # it holds something, or is no folder
                os.rmdir(self._run)
            self._forwarder.close()
            return
        end = hook.close(state, error)
        self._progress.close()
        if end is None:  # by the hook configuration this process writes nothing, or no model ran
            self._forwarder.close()
            return
        self._progress.summary(end, self._live.findings, self._live.statuses())
        self._forwarder.conclude(self._headline(end))

    def _headline(self, end: End | None) -> Headline:
        """Return how the run ended, or how it stands as long as it goes on."""
        found = chains(self._live.findings, self._progress.order)
        return headline(self._progress.run_state(end), found, self._live.statuses())


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
