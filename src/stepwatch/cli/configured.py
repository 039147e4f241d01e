"""The hook of a training that a hook configuration describes. Imports its framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..capture.control import Control
from ..capture.listener import Listener
from ..config import said_of
from ..formats.manifest import End
from ..hook_config import HookConfig

if TYPE_CHECKING:
    from ..hooks.registered import RegisteredHook

#: The frameworks that can be hooked, and what configurations call them.
KINDS = {
    "torch": "pytorch",
    "mxnet": "mxnet",
    "xgboost": "xgboost",
    "keras": "tensorflow",
}


class ConfiguredHook:
    """Captures what a hook configuration asks for, of the first model that runs.

    Args:
        configs: What it says to each framework; see ``KINDS``.
        listeners: Who looks at every step.
        command: The script and its arguments, for the record.
        say: Shows a line.
    """

    def __init__(
        self,
        configs: Mapping[str, HookConfig],
        *,
        listeners: Sequence[Listener],
        command: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        self._configs = configs
        self._say = say
        #: It may be ended, and nothing more.
        self.control = Control()
        self._options: dict[str, Any] = {
            "listeners": listeners,
            "command": command,
            "before_step": self._end_if_asked,
            "register_first": True,
        }
        self._hooks: dict[str, RegisteredHook] = {}

    def attach(self, framework: str) -> None:
        """A framework was imported."""
        config = self._configs[KINDS[framework]]
        hook_class: type[RegisteredHook] = import_module(
            f"stepwatch.hooks.{framework}.registered"
        ).RegisteredHook
        agreed = partial(self._agreed, framework, config.finding(hook_class.patterns))
        hook = hook_class(agreed, **self._options)
        for beneath in hook.runs_on & self._hooks.keys():
            self._hooks.pop(beneath).forget()
        self._hooks[framework] = hook

    def close(self, state: str, error: str) -> End | None:
        """Let go of what trains and store what is left; ``None`` where this process writes nothing.

        Of several frameworks the one that trained is the run's.
        """
        self.control.close()
        hooks = list(self._hooks.values())
        trained = [hook for hook in hooks if hook.has_begun] or hooks[:1]
        for hook in hooks:
            if hook not in trained:
                hook.forget()
        ends = [hook.close(state, error) for hook in trained]
        return next(filter(None, ends), None)

    def _agreed(self, framework: str, config: HookConfig) -> HookConfig:
        """Return what to save: nothing if another hook does."""
        from ..hooks.registered import RegisteredHook

        hooks = list(self._hooks.values())
        others = [other for other in RegisteredHook.known if other not in hooks]
        if any(other.active for other in others):
            self._say("the script has a hook of its own, which saves; this one only watches")
            return replace(config, dry_run=True)
        if any(hook.has_begun for hook in hooks):
            self._say("another framework trains as well, and is what is saved of this script")
            return replace(config, dry_run=True)
        for line in said_of(self._configs[KINDS[framework]], KINDS[framework]):
            self._say(line)
        return config

    def _end_if_asked(self) -> None:
        self.control.answer()
        end = self.control.take_end()
        if end is not None:
            raise end
