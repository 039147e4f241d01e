"""Hooks the frameworks of a training as a hook configuration describes, and imports them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepwatch.capture.control import Control
from stepwatch.capture.recorder import Listener
from stepwatch.errors import RunExists
from stepwatch.formats.manifest import RUN_KEY, End, Manifest
from stepwatch.formats.smdebug.layout import END_KEY
from stepwatch.store import Store

from .config.hook_config import config_warnings, find_hook_config, read_hook_configs
from .plan import HookConfig

__all__ = ["ConfiguredFrameworks", "HookConfigs", "find_hook_config"]

if TYPE_CHECKING:
    from .hooks.base import SmdebugHook

#: The frameworks that can be hooked, and what configurations call them.
FRAMEWORK_KINDS = {
    "torch": "pytorch",
    "mxnet": "mxnet",
    "xgboost": "xgboost",
    "keras": "tensorflow",
}


class HookConfigs:
    """One hook configuration for each framework, by the values of ``FRAMEWORK_KINDS``."""

    def __init__(self, by_kind: Mapping[str, HookConfig]) -> None:
        self._by_kind = by_kind

    @classmethod
    def read(cls, file: str) -> HookConfigs:
        """Read a file.

        Raises:
            ConfigError: It cannot be read, or is invalid for every framework.
        """
        return cls(read_hook_configs(dict.fromkeys(FRAMEWORK_KINDS.values()), file))

    @property
    def run(self) -> str:
        """Where to write; empty if that is not configured."""
        return next((one.run for one in self._by_kind.values() if isinstance(one, HookConfig)), "")

    @staticmethod
    def check_target(store: Store, url: str) -> None:
        """Raise RunExists for a store that the hook may not write to.

        What an unfinished run left is no hindrance: on SageMaker a training is restarted so.
        """
        manifests = [Manifest.from_json(RUN_KEY, store.get(RUN_KEY)) for _ in store.list(RUN_KEY)]
        if store.list(END_KEY) or any(one.run_format != "smdebug" for one in manifests):
            raise RunExists(f"{url} already holds a run; give another --run, or delete it")

    def frameworks(
        self, run: str, tensorboard: str | None, mirror: str | None
    ) -> Callable[..., ConfiguredFrameworks]:
        """Return what hooks frameworks as configured, and writes to these URLs."""
        configs = {
            kind: replace(one, run=run, tensorboard=tensorboard or one.tensorboard, mirror=mirror)
            for kind, one in self._by_kind.items()
        }
        return partial(ConfiguredFrameworks, configs)


class ConfiguredFrameworks:
    """Hooks the frameworks that a script imports, as a hook configuration says.

    Args:
        configs: The configuration for each framework; see ``FRAMEWORK_KINDS``.
        listeners: Called with every step.
        command: The script and its arguments, for the record.
        say: Shows a line.
        attached: Called with the control of the training.
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
        self._configs, self._say, self._attached = configs, say, attached
        #: It may be ended, and nothing more.
        self.control = Control()
        self._options: dict[str, Any] = {
            "listeners": listeners,
            "command": command,
            "before_step": self._end_if_requested,
            "register_first": True,
        }
        self._hooks: dict[str, SmdebugHook] = {}
        #: This itself, once a framework was imported: it captures of the first model that runs.
        self.first: ConfiguredFrameworks | None = None

    def names(self) -> Sequence[str]:
        """Return the modules whose import is waited for."""
        return tuple(FRAMEWORK_KINDS)

    def attach(self, framework: str) -> None:
        """Hook a framework that was imported."""
        if self.first is None:
            self.first = self
            self._attached(self.control)
        config = self._configs[FRAMEWORK_KINDS[framework]]
        hook_class: type[SmdebugHook] = import_module(f".hooks.{framework}", __package__).HOOK
        settle = partial(self._settle, framework, config.with_patterns(hook_class.patterns))
        hook = hook_class(settle, **self._options)
        for backend in hook.runs_on & self._hooks.keys():
            self._hooks.pop(backend).forget()
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

    def _settle(self, framework: str, config: HookConfig) -> HookConfig:
        """Return what to save: nothing if another hook does."""
        from .hooks.base import SmdebugHook

        hooks = list(self._hooks.values())
        others = [other for other in SmdebugHook.known if other not in hooks]
        if any(other.active for other in others):
            self._say("the script has a hook of its own, which saves; this one only watches")
            return replace(config, dry_run=True)
        if any(hook.has_begun for hook in hooks):
            self._say("another framework trains as well, and is what is saved of this script")
            return replace(config, dry_run=True)
        for line in config_warnings(
            self._configs[FRAMEWORK_KINDS[framework]], FRAMEWORK_KINDS[framework]
        ):
            self._say(line)
        return config

    def _end_if_requested(self) -> None:
        self.control.answer()
        end = self.control.pop_end()
        if end is not None:
            raise end
