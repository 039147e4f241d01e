"""The hook of a training that a hook configuration describes. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..capture.control import Control
from ..capture.listener import Listener
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
        #: It may be ended, and nothing more.
        self.control = Control()
        self._hook = RegisteredHook(
            self._agreed,
            listeners=listeners,
            command=command,
            before_step=self._end_if_asked,
            register_first=True,
        )

    def close(self, state: str, error: str) -> End | None:
        """Let go of torch and store what is left; ``None`` where this process writes nothing."""
        self.control.close()
        return self._hook.close(state, error)

    def _agreed(self) -> HookConfig:
        """Return what to save: nothing if the script has a hook of its own, which does."""
        if not any(other.active for other in RegisteredHook.known if other is not self._hook):
            return self._config
        self._say("the script has a hook of its own, which saves; this one only watches")
        return replace(self._config, dry_run=True)

    def _end_if_asked(self) -> None:
        self.control.answer()
        end = self.control.take_end()
        if end is not None:
            raise end
