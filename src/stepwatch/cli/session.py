"""Watches what a process trains: what is hooked, judged, shown, done and passed on.

The hook of each framework is put on once the framework was imported; all of them write one run.
``stepwatch run`` puts a session around a script; ``stepwatch.init`` begins one within it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ..actions.policy import PolicyEntry
from ..actions.reactions import Reactions
from ..capture.companion import MakeRemote, Report
from ..capture.control import Control
from ..capture.lifecycle import rank_and_size
from ..capture.output import Output
from ..capture.profiling import Profiler
from ..capture.recorder import Listener
from ..config import environment
from ..errors import StepwatchError
from ..formats.manifest import FIRST_WORKER
from ..formats.settings import RunSettings, read_settings, write_settings
from ..forward.forwarder import Forwarder, Target
from ..hooks.base import Hook
from ..hooks.centred import CentredWindows
from ..hooks.data_helpers import FOLDS, DataHelpers
from ..hooks.data_reads import DataReads
from ..hooks.encodings import Encodings
from ..hooks.logged import LoggedHook
from ..hooks.split_tables import SplitTables
from ..hooks.written_losses import WrittenLosses
from ..judge.headline import Headline, headline
from ..judge.live import LiveWatch
from ..judge.parameters import Spec
from ..judge.root_cause import chains
from ..judge.rule import Watched, required_captures
from ..model.collection import Collection, parse_save
from ..model.finding import Finding
from ..model.record import ScalarSteps, StepRecord
from ..plugins import registry
from ..runtime.imports import OnImport
from ..runtime.secrets import MASK, masked
from ..store import Store, clear
from .children import ChildProcesses
from .launchers import run_option
from .progress import FindingDedup, Progress

if TYPE_CHECKING:
    from ..formats.manifest import End


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
        #: How data are prepared and losses are written is watched from the start: before anything
        #: trains.
        self.prepared = (
            *(Encodings(), CentredWindows(), DataHelpers(), DataReads(), FOLDS),
            *(SplitTables(), WrittenLosses()),
        )
        #: The hook that opened the run.
        self.first: Hook | None = None

    def names(self) -> Sequence[str]:
        return registry.names("stepwatch.hooks")

    def open_logged(self) -> None:
        """Open the run for what the script logs: no framework was imported."""
        self.first = LoggedHook(**self._opening, output=self._output, say=self._say)
        self.first.recorder.beside += [one.found for one in self.prepared]
        self._use(self.first.control)

    def attach(self, framework: str) -> None:
        """Hook a framework that was imported, at once or when it begins to train.

        Raises:
            StepwatchError: The run cannot be written, or the hook not be loaded.
        """
        make: Any = registry.load("stepwatch.hooks", framework)
        make.when_training(partial(self._attach, framework, make))

    def _attach(self, framework: str, make: Any) -> None:
        opening = {"run": self.first.recorder} if self.first else self._opening
        if framework == "torch":
            how = {"output": self._output, "hold": False}
        else:  # no other framework takes snapshots
            how = {"output": replace(self._output, snapshot_every=0)}
        hook: Hook = make(**opening, **how, say=self._say, on_begin=self._begins)
        if self.first is None:
            self.first = hook
            hook.recorder.beside += [one.found for one in self.prepared]
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

    def on_scalars(self, steps: ScalarSteps) -> None:
        """Report what the last of some steps alike holds."""
        if self._waiting:
            self.on_step(steps.last())

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


class Notes:
    """What people call the run, stored beside it; a listener of the recorder.

    Args:
        settings: What is known when the run begins.
    """

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self._store: Store | None = None

    def start(self, store: Store, worker: str, patterns: Mapping[str, Sequence[str]]) -> None:
        """The run begins: the first worker stores what there is."""
        del patterns
        if worker == FIRST_WORKER:
            self._store = store
            self.settings = read_settings(store).updated(self.settings)
            self._write()

    def add(self, settings: RunSettings) -> None:
        """Add to what is known; what cannot be stored is left out, and training goes on."""
        self.settings = self.settings.updated(settings)
        self._write()

    def on_step(self, record: StepRecord) -> None: ...

    def remote(self, send: object) -> None: ...

    def finish(self) -> None: ...

    def _write(self) -> None:
        if self._store is not None and self.settings != RunSettings():
            with suppress(StepwatchError, OSError):
                write_settings(self._store, self.settings)


# What others build on.
_TRAINED_BY = ("jax", "tensorflow", "torch")


class Session:
    """Watches what this process trains, from ``begin`` to ``finish``.

    What we have to say goes to standard error.

    Args:
        command: The script and its arguments, for the record.
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
        as_json: Print the verdict to standard output, after all that the script does.
        settings: What people call the run.
        watches_others: The words after ``stepwatch run`` and ``--run``, by which processes are
            watched that the script starts to train together; none where they are not.
    """

    _current: ClassVar[Session | None] = None

    def __init__(
        self,
        command: Sequence[str],
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
        as_json: bool = False,
        settings: RunSettings | None = None,
        watches_others: Sequence[str] = (),
    ) -> None:
        #: Where it is written.
        self.run = run
        #: Whether the script began it, and may end it.
        self.is_of_script = False
        self._as_json = as_json
        self._progress = Progress(run, quiet=quiet, is_first=rank_and_size(environment())[0] == 0)
        self._live = LiveWatch(rules, self._found)
        self._save_costs = SaveCosts(self._live.watched, self._progress.print_detail)
        self._reactions = Reactions(
            reactions,
            self._progress.print_line,
            restarted=self._live.end_episodes,
            hides=self._progress.hides,
        )
        # What was passed on is not what was shown.
        self._passed_on = FindingDedup(self._progress.order)
        self._forwarder = Forwarder(
            targets,
            self._progress.print_line,
            judge=partial(self._headline, None),
            hides=self._passed_on.hides,
            flush=self._flush,
        )
        #: What people call the run and train it with.
        self.notes = Notes(settings or RunSettings())
        # what is profiled is stored before rules look at the last of it
        listeners: list[Listener] = [] if profiler is None else [profiler]
        listeners += [self._progress, self._save_costs, self._live]
        listeners += [self._reactions, self._forwarder, self.notes]
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
        self._importing: list[OnImport] = []
        self._has_failed = self._frameworks_failed = False
        self._children = ChildProcesses(self._hand_over)
        self._watches_others = watches_others
        # How often processes were started that write the run.
        self._num_handed_over = 0

    @classmethod
    def current(cls) -> Session | None:
        """Return the session that is under way in this process; that of a parent is none."""
        there = cls._current
        return None if there is None or there._pid != os.getpid() else there

    def begin(self) -> None:
        """Hook what was imported, and what will be."""
        Session._current = self
        self._children.begin()
        # a trainer of what was imported already joins the hook of what it trains by
        names = sorted(self._frameworks.names(), key=lambda name: name not in _TRAINED_BY)
        self._importing = [OnImport(name, partial(self._imported, name)) for name in names]
        if isinstance(self._frameworks, Frameworks):
            for one in self._frameworks.prepared:
                one.begin()

    def log(self, metrics: Mapping[str, object], step: int | None = None) -> None:
        """Take numbers of the script; whatever fails is shown once, and training goes on.

        Where a framework trains, they belong to its TRAIN step that ends next. Else each call, or
        all calls with the same ``step``, are a step.
        """
        try:
            self._log(metrics, step)
        except Exception as error:  # noqa: BLE001  it is called within a training
            if not self._has_failed:
                self._has_failed = True
                self._progress.print_line(f"not logged: {error}; the script goes on")

    def _log(self, metrics: Mapping[str, object], step: int | None) -> None:
        frameworks = self._frameworks
        if frameworks.first is None and isinstance(frameworks, Frameworks):
            frameworks.open_logged()
        hook = frameworks.first
        if isinstance(hook, LoggedHook):
            hook.log(metrics, step)
        elif isinstance(hook, Hook) and hook.framework != "torch":  # that hears it by itself
            for name, value in metrics.items():
                if isinstance(value, (int, float, np.number)):
                    hook.observe(f"metric/{name}", "metrics", np.asarray(value, np.float64))

    def finish(self, state: str, error: str) -> None:
        """Store what is left, and show and pass on how it ended; in a forked child, nothing."""
        self._stop_importing()
        Session._current = None
        self._children.end()
        if os.getpid() == self._pid:
            self._finish(state, error)

    def _found(self, finding: Finding) -> None:
        self._progress.count(finding)
        self._passed_on.add(finding)
        self._reactions.found(finding)
        self._forwarder.found(finding)

    def _hand_over(self) -> Sequence[str] | None:
        """Let processes that the script starts, to train together, write the run.

        What this process does after it is not watched.

        Returns:
            The words of the command that watches them; ``None`` where something was trained here.
        """
        if not self._watches_others:
            return None
        hook, run = self._frameworks.first, self.run
        if self._num_handed_over:
            run = f"{run}-{self._num_handed_over + 1}"
        elif isinstance(hook, Hook):
            if hook.recorder.num_steps or hook.recorder.opened:
                return None
            hook.close()
            clear(hook.recorder.store)
        self._num_handed_over += 1
        self._stop_importing()
        return [run_option(run), *self._watches_others]

    def _stop_importing(self) -> None:
        for one in self._importing:
            one.remove()
        self._importing = []
        if isinstance(self._frameworks, Frameworks):
            for watched in self._frameworks.prepared:
                watched.end()

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
            self._frameworks_failed = True
            what = str(error) if isinstance(error, StepwatchError) else repr(error)
            self._progress.print_line(
                f"not watching {framework}: {what}; the script goes on without"
            )

    def _finish(self, state: str, error: str) -> None:
        hook = self._frameworks.first
        if hook is None or self._num_handed_over:
            self._progress.close()
            names = self._frameworks.names()
            is_known = self._frameworks_failed or self._num_handed_over
            if self._progress.is_first and not is_known:
                self._progress.print_line(
                    f"the script trained with none of {', '.join(names)}: there was nothing to see"
                )
            self._progress.print_detail(self._children.line())
            with suppress(OSError):  # it holds something, or is no folder
                os.rmdir(self.run)
            self._forwarder.close()
            return
        end = hook.close(state, error)
        self._progress.close()
        if end is None:  # by the hook configuration this process writes nothing, or no model ran
            self._forwarder.close()
            return
        self._progress.summary(end, self._live.findings, self._live.statuses())
        self._progress.print_detail(self._children.line())
        self._forwarder.conclude(self._headline(end))
        if self._as_json and self._progress.is_first:
            self._print_verdict()

    def _print_verdict(self) -> None:
        """Print what ``stepwatch check --json`` does, by what was judged while it trained."""
        from ..judge.evaluate import verdict_so_far  # few ask for it
        from ..trial import Trial
        from .console import print_json

        with suppress(StepwatchError, OSError, ValueError):  # the run itself may be lost
            trial = Trial(self.run)
            verdict = verdict_so_far(trial, self._live.findings, self._live.statuses())
            print_json(verdict.document(trial))

    def _headline(self, end: End | None) -> Headline:
        """Return how the run ended, or how it stands as long as it goes on."""
        found = chains(self._live.findings, self._progress.order)
        return headline(self._progress.run_state(end), found, self._live.statuses())
