"""Puts a hook on each framework that a script imports; all write one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import registry
from ..capture.control import Control
from ..capture.listener import Listener
from ..hook_config import HookConfig

if TYPE_CHECKING:
    from ..hooks.hook import Hook
    from .configured import ConfiguredHook


class Frameworks:
    """Hooks what is imported, by the entry points of ``stepwatch.hooks``.

    Args:
        run: Where to write.
        policy: ``--save`` texts.
        run_format: How the run is laid out.
        tensorboard: Where TensorBoard's files go; ``None`` for nowhere.
        listeners: Who looks at every step.
        command: The script and its arguments, for the record.
        black_box_mb: Size of the black box in MiB; 0 for none.
        snapshot_every: It keeps the state before each so many TRAIN steps; 0 for none.
        mirror: Where the run is copied to as it goes on; ``None`` for nowhere.
        resume: The TRAIN step at which the run is taken up again; ``None`` for a new one.
        say: Shows a line.
        attached: Told what may be done to the training, when that is known, and when another
            framework than the one that was imported first turns out to train.
    """

    def __init__(
        self,
        run: str,
        *,
        policy: Sequence[str] | None,
        run_format: str,
        tensorboard: str | None,
        listeners: Sequence[Listener],
        command: Sequence[str],
        black_box_mb: int,
        snapshot_every: int,
        mirror: str | None,
        resume: int | None,
        say: Callable[[str], None],
        attached: Callable[[Control], None],
    ) -> None:
        self._opening: dict[str, Any] = {
            "run": run,
            "policy": policy,
            "format": run_format,
            "tensorboard": tensorboard,
            "listeners": listeners,
            "command": command,
            "black_box_mb": black_box_mb,
            "mirror": mirror,
            "resume": resume,
        }
        self._for_torch = {"hold": False, "snapshot_every": snapshot_every}
        self._say, self._attached = say, attached
        self._trains: Control | None = None
        #: The hook that opened the run.
        self.first: Hook | None = None

    @staticmethod
    def names() -> Sequence[str]:
        """Return the modules whose import is waited for."""
        return registry.names("stepwatch.hooks")

    def attach(self, framework: str) -> None:
        """A framework was imported.

        Raises:
            StepwatchError: The run cannot be written, or its hook not be loaded.
        """
        make: Any = registry.load("stepwatch.hooks", framework)
        opening = {"run": self.first.recorder} if self.first else self._opening
        options = self._for_torch if framework == "torch" else {}
        hook: Hook = make(**opening, **options, say=self._say, on_begin=self._begins)
        if self.first is None:
            self.first = hook
            self._use(hook.control)

    def _begins(self, hook: Hook) -> None:
        if hook.control is not self._trains:
            self._use(hook.control)

    def _use(self, control: Control) -> None:
        self._trains = control
        self._attached(control)


class Configured:
    """Hooks what is imported, as a hook configuration says.

    Args:
        configs: What it says to each framework, or why it cannot be meant; see ``KINDS``.
        listeners: Who looks at every step.
        command: The script and its arguments, for the record.
        say: Shows a line.
        attached: Told what may be done to the training.
    """

    def __init__(
        self,
        configs: Mapping[str, HookConfig],
        *,
        listeners: Sequence[Listener],
        command: Sequence[str],
        say: Callable[[str], None],
        attached: Callable[[Control], None],
    ) -> None:
        self._configs, self._listeners, self._command = configs, listeners, command
        self._say, self._attached = say, attached
        #: The hook, once a framework was imported.
        self.first: ConfiguredHook | None = None

    @staticmethod
    def names() -> Sequence[str]:
        """Return the modules whose import is waited for."""
        from .configured import KINDS

        return tuple(KINDS)

    def attach(self, framework: str) -> None:
        """A framework was imported."""
        from .configured import ConfiguredHook

        if self.first is None:
            self.first = ConfiguredHook(
                self._configs, listeners=self._listeners, command=self._command, say=self._say
            )
            self._attached(self.first.control)
        self.first.attach(framework)
