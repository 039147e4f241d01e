"""The hook of a training that a hook configuration describes. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..capture.recorder import Listener
from ..errors import TrainingStopped
from ..formats.manifest import End
from ..hook_config import HookConfig
from ..hooks.torch.registered import RegisteredHook


class ConfiguredHook:
    """Captures what a hook configuration asks for, of the first model that runs.

    Args:
        config: It.
        listeners: Who looks at every step.
        command: The script and its arguments, for the record.
        say: Shows a line.
    """

    def __init__(
        self,
        config: HookConfig,
        *,
        listeners: Sequence[Listener],
        command: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        self._config = config
        self._say = say
        self._stop_reason: str | None = None
        self._hook = RegisteredHook(
            self._agreed,
            listeners=listeners,
            command=command,
            before_step=self._stop_if_asked,
            register_first=True,
        )

    def stop(self, reason: str) -> None:
        """Ask training to stop: ``TrainingStopped`` is raised before the next step."""
        self._stop_reason = reason

    def close(self, state: str, error: str) -> End | None:
        """Let go of torch and store what is left; ``None`` where this process writes nothing."""
        return self._hook.close(state, error)

    def _agreed(self) -> HookConfig:
        """Return what to save: nothing if the script has a hook of its own, which does."""
        if not any(other.active for other in RegisteredHook.known if other is not self._hook):
            return self._config
        self._say("the script has a hook of its own, which saves; this one only watches")
        return replace(self._config, dry_run=True)

    def _stop_if_asked(self) -> None:
        if self._stop_reason is not None:
            reason, self._stop_reason = self._stop_reason, None
            raise TrainingStopped(reason)
