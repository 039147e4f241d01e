"""What a script calls that wants to say it itself: ``stepwatch.init``, ``log``, ``finish``.

Under ``stepwatch run`` they belong to the run that is under way; without it ``init`` begins one.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ..actions.policy import check_rules, parse_actions
from ..capture.budget import DEFAULT_SHARE
from ..capture.lifecycle import end_state
from ..capture.output import Output
from ..capture.profiling import Profiler
from ..config import runs_folder
from ..formats.settings import RunSettings, plain_config
from ..forward.forwarder import parse_targets
from ..judge.parameters import parse_rules, rule_specs
from ..rules import DEFAULT_RULES
from .launch import default_run
from .session import Session


class ScriptRun:
    """The run that is under way; one that the script began ends by ``finish`` or with Python.

    Args:
        session: What watches.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        #: Where it is written.
        self.path = session.run

    def __enter__(self) -> ScriptRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        del kind, traceback
        self.finish(error)

    def log(self, metrics: Mapping[str, object], step: int | None = None) -> None:
        """Save numbers, see ``log``."""
        self._session.log(metrics, step)

    def finish(self, error: BaseException | None = None) -> None:
        """End it, and show what was found; what ``stepwatch run`` began goes on.

        Args:
            error: What ended the training.
        """
        if self._session.is_of_script and Session.current() is self._session:
            self._session.finish(*end_state(error))


def init(
    name: str = "",
    *,
    project: str = "",
    tags: Sequence[str] = (),
    note: str = "",
    config: object = None,
    run: str | None = None,
    rules: str | Sequence[str] = "default",
    on_finding: str | Sequence[str] = (),
    forward: str = "auto",
    save: Sequence[str] = (),
    quiet: bool = False,
) -> ScriptRun:
    """Watch what this process trains from here on, as ``stepwatch run`` would.

    Call it before the model is made. It is a context manager as well. Where a run is under way
    already, what is said of it is added, and the rest of the options has no effect.

    Args:
        name: What people call the run; its folder begins with it.
        project: What it belongs to.
        tags: Words to find it by.
        note: A text to keep with it.
        config: Parameters of the training, see ``save_config``.
        run: Where to write; by default a new folder in ``./runs``.
        rules: What judges, as ``--rules`` takes it.
        on_finding: What is done about findings, as ``--on-finding`` takes it.
        forward: The trackers to pass findings on to, as ``--forward`` takes it.
        save: What to save, as ``--save`` takes it.
        quiet: Say only what was found.

    Raises:
        ConfigError: An option is invalid.
        RunExists: ``run`` already holds a run.
    """
    settings = RunSettings(
        name, project, tuple(tags), note, {} if config is None else plain_config(config)
    )
    current = Session.current()
    if current is not None:
        current.notes.add(settings)
        return ScriptRun(current)
    specs = rule_specs([rules] if isinstance(rules, str) else list(rules), DEFAULT_RULES)
    reactions = parse_actions(on_finding)
    check_rules(reactions, [rule.name for rule in parse_rules(specs)])
    script = sys.argv[0] or "python"
    session = Session(
        [script, *sys.argv[1:]],
        run or default_run(runs_folder(), name or Path(script).stem),
        rules=specs,
        policy=list(save),
        reactions=reactions,
        targets=parse_targets(forward),
        output=Output(budget=DEFAULT_SHARE),
        profiler=Profiler.by_default(),
        quiet=quiet,
        settings=settings,
    )
    session.is_of_script = True
    session.begin()
    atexit.register(_finish_at_exit, session)
    return ScriptRun(session)


def log(metrics: Mapping[str, object], step: int | None = None) -> None:
    """Save numbers with the run that is under way; without one, nothing is done.

    Where a framework trains, they belong to its TRAIN step that ends next, as ``metric/NAME``.
    Else each call is a step, and names say what is a loss (``loss``, ``val_loss``) or a learning
    rate (``lr``).

    Args:
        metrics: By name; what is no number is left out.
        step: Calls with the same one are one step, where no framework counts them.
    """
    current = Session.current()
    if current is not None:
        current.log(metrics, step)


def save_config(config: object) -> None:
    """Save parameters of the training with the run under way; without one, nothing is done.

    Args:
        config: A mapping, such as of Hydra; a dataclass, or what has attributes, such as what
            ``argparse`` gives. What was saved before under other names stays.
    """
    current = Session.current()
    if current is not None:
        current.notes.add(RunSettings(config=plain_config(config)))


def finish() -> None:
    """End the run that ``init`` began, and show what was found."""
    current = Session.current()
    if current is not None:
        ScriptRun(current).finish()


def _finish_at_exit(session: Session) -> None:
    # Python leaves here the exception that it has just shown
    ScriptRun(session).finish(getattr(sys, "last_value", None))
