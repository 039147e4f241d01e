"""The JSON object of a hook configuration, and what it means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from ..errors import ConfigError
from ..hook_config import RAW, HookConfig
from .asked import Asked, built_in
from .frameworks import Framework
from .hook_parameters import (
    SHARED,
    read_patterns,
    read_stored,
    read_when,
    save_steps,
)
from .parameters import Parameters, log

DEFAULT_RUN = "/opt/ml/output/tensors"

_TOP = ("LocalPath", "S3OutputPath", "S3Path", "HookParameters", "CollectionConfigurations")
_HOOK_ONLY = ("save_all", "include_workers", "export_tensorboard", "tensorboard_dir", "dry_run")
_ENTRY = ("CollectionName", "CollectionParameters")
_BELONGS = {
    **dict.fromkeys((*SHARED, *_HOOK_ONLY), "HookParameters"),
    **dict.fromkeys(_TOP, "the top of the file"),
    **dict.fromkeys(_ENTRY, "an entry of CollectionConfigurations"),
}
#: All that can be said somewhere.
KEYS = frozenset(_BELONGS)


class HookDocument:
    """Reads the JSON object of a hook configuration.

    Args:
        top: The object.
        framework: Whose collections are built in.
        interval: Every so-manieth step if it does not say.

    Raises:
        ConfigError: It holds what cannot be meant.
    """

    def __init__(self, top: Parameters, framework: Framework, interval: int) -> None:
        top.warn_of_unknown(_TOP, _BELONGS)
        self._top = top
        self._framework = framework
        self._interval = interval
        self.hook = Parameters(top.values.get("HookParameters"), "HookParameters")
        self.hook.warn_of_unknown((*SHARED, *_HOOK_ONLY), _BELONGS)
        self._when = read_when(self.hook, interval)
        self._stored = read_stored(self.hook, RAW)

    @property
    def run(self) -> str:
        """Where to write."""
        said = self._top.values.get("LocalPath") is not None
        return os.path.expanduser(self._top.text("LocalPath") if said else DEFAULT_RUN)

    def config(self, tensorboard: str | None) -> HookConfig:
        """Return what the document says, with where TensorBoard's files go."""
        steps = save_steps(self.hook, self._when, self._interval)
        entries = self._entries()
        asked, included = self._known(), {*self._framework.included, *entries}
        for name, entry in entries.items():
            asked[name] = self._asked(asked.get(name) or self._own(name), entry)
        for name, patterns in self._of_hook().items():
            asked[name] = replace(asked[name], patterns=(*asked[name].patterns, *patterns))
            included.add(name)
        return HookConfig(
            self.run,
            tuple(one.settled(steps, self._stored) for one in asked.values()),
            frozenset(included),
            all_workers=self._all_workers(),
            tensorboard=tensorboard,
            dry_run="dry_run" in self.hook and self.hook.flag("dry_run"),
            steps=steps,
            stored=self._stored,
        )

    def _known(self) -> dict[str, Asked]:
        return {
            one.name: replace(one, histogram=self._histogram) for one in built_in(self._framework)
        }

    def _own(self, name: str) -> Asked:
        return Asked(name, histogram=self._histogram)

    @property
    def _histogram(self) -> bool:
        return "save_histogram" not in self.hook or self.hook.flag("save_histogram")

    def _asked(self, before: Asked, entry: Parameters) -> Asked:
        own = read_when(entry, self._interval)
        when = {mode: said | own[mode] for mode, said in self._when.items()}
        speaks = any(key in entry for key in ("reductions", "save_raw_tensor", "save_shape"))
        return replace(
            before,
            patterns=(*before.patterns, *read_patterns(entry)),
            steps=save_steps(entry, when, self._interval),
            stored=read_stored(entry, self._stored) if speaks else None,
            histogram=entry.flag("save_histogram")
            if "save_histogram" in entry
            else before.histogram,
        )

    def _entries(self) -> dict[str, Parameters]:
        """Return the settings of each collection that is named, in order."""
        entries = self._top.values.get("CollectionConfigurations")
        if not isinstance(entries, list | None):
            raise ConfigError(f"CollectionConfigurations must be a JSON list, got {entries!r}")
        found: dict[str, Parameters] = {}
        for number, entry in enumerate(entries or ()):
            outer = Parameters(entry, f"CollectionConfigurations[{number}]")
            outer.warn_of_unknown(_ENTRY, _BELONGS)
            name = outer.values.get("CollectionName")
            if not isinstance(name, str) or not name:
                raise ConfigError(f"{outer.where}: CollectionName must be a text, got {name!r}")
            inner = Parameters(outer.values.get("CollectionParameters"), f"collection {name!r}")
            inner.warn_of_unknown(SHARED, _BELONGS)
            found[name] = inner.after(found[name]) if name in found else inner
        return found

    def _of_hook(self) -> Mapping[str, tuple[str, ...]]:
        """Return the patterns that the hook's own settings add to built-in collections."""
        added = {}
        if patterns := read_patterns(self.hook):
            added["default"] = patterns
        if "save_all" in self.hook and self.hook.flag("save_all"):
            added["all"] = (".*",)
        return added

    def _all_workers(self) -> bool:
        wanted = self.hook.values.get("include_workers", "one")
        if wanted not in ("one", "all"):
            log.warning(
                "HookParameters: include_workers is %r and not 'all', so one writes", wanted
            )
        return wanted == "all"
