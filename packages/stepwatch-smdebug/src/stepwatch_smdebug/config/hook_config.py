"""SageMaker's hook configuration: the JSON file that says what a Debugger hook saves.

SageMaker passes every setting as a string; files written by hand hold numbers, booleans and
lists. All are accepted. Unknown settings are warned of and do nothing; invalid values of known
ones are an error before anything is trained.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from logging import LogRecord
from operator import or_
from pathlib import Path
from typing import Any

from stepwatch.config.json_settings import JsonSettings, log
from stepwatch.config.variables import JOB_VARIABLE, environment
from stepwatch.errors import ConfigError, ConfigNotFound
from stepwatch.formats.smdebug.collections import (
    RAW,
    Reduction,
    SavedCollection,
    SaveSteps,
    Stored,
    in_order,
)
from stepwatch.model.steps import Mode

from ..plan import HookConfig
from .frameworks import Framework, framework, saved_collection

# The settings that say when to save, and the fields of ``SaveSteps``.
_WHEN = {
    "save_interval": "interval",
    "start_step": "start",
    "end_step": "end",
    "save_steps": "steps",
}
_WHAT = ("reductions", "save_raw_tensor", "save_shape")
_SHARED = (
    *_WHEN,
    *(f"{mode.value.lower()}.{key}" for mode in Mode for key in _WHEN),
    *_WHAT,
    "save_histogram",
    "include_regex",
)
_TOP = ("LocalPath", "S3OutputPath", "S3Path", "HookParameters", "CollectionConfigurations")
_HOOK_ONLY = ("save_all", "include_workers", "export_tensorboard", "tensorboard_dir", "dry_run")
_ENTRY = ("CollectionName", "CollectionParameters")
_BELONGS = {
    **dict.fromkeys((*_SHARED, *_HOOK_ONLY), "HookParameters"),
    **dict.fromkeys(_TOP, "the top of the file"),
    **dict.fromkeys(_ENTRY, "an entry of CollectionConfigurations"),
}
#: All settings that there are, wherever they belong.
KEYS = frozenset(_BELONGS)
DEFAULT_RUN = "/opt/ml/output/tensors"

# Fields of ``SaveSteps`` that are configured for a mode.
_When = dict[str, Any]


class HookDocument:
    """Reads the JSON object of a hook configuration.

    Args:
        top: The object.
        framework: The framework whose collections are built in.
        interval: Every how many steps is saved by default.

    Raises:
        ConfigError: It holds an invalid value.
    """

    def __init__(self, top: JsonSettings, framework: Framework, interval: int) -> None:
        top.warn_of_unknown(_TOP, _BELONGS)
        self._top = top
        self._framework = framework
        self._interval = interval
        self.hook = JsonSettings(top.values.get("HookParameters"), "HookParameters")
        self.hook.warn_of_unknown((*_SHARED, *_HOOK_ONLY), _BELONGS)
        self._when = self._read_when(self.hook)
        self._stored = _read_stored(self.hook, RAW)

    @property
    def run(self) -> str:
        """Where to write."""
        is_given = self._top.values.get("LocalPath") is not None
        return os.path.expanduser(self._top.text("LocalPath") if is_given else DEFAULT_RUN)

    def config(self, tensorboard: str | None) -> HookConfig:
        """Return the configuration, with where TensorBoard's files go."""
        steps = self._save_steps(self.hook, self._when)
        entries, added = self._entries(), self._patterns_of_hook()
        return HookConfig(
            self.run,
            tuple(
                self._collection(name, entries.get(name, ()), steps, added.get(name, ()))
                for name in {**self._framework.collections, **entries}
            ),
            frozenset({*self._framework.included, *entries, *added}),
            all_workers=self._all_workers(),
            tensorboard=tensorboard,
            dry_run=self._hook_flag("dry_run"),
            steps=steps,
            stored=self._stored,
        )

    def _collection(
        self,
        name: str,
        entries: Sequence[JsonSettings],
        steps: Mapping[Mode, SaveSteps],
        added: tuple[str, ...],
    ) -> SavedCollection:
        """Return a collection; of several entries of one name, what any of them asks for."""
        patterns = [
            *self._framework.collections.get(name, ()),
            *chain(*map(_read_patterns, entries)),
        ]
        if entries:
            steps = _any_steps([self._steps_of(entry) for entry in entries])
        stored = [
            _read_stored(entry, self._stored)
            for entry in entries
            if any(key in entry for key in _WHAT)
        ]
        histograms = [e.flag("save_histogram") for e in entries if "save_histogram" in e]
        histogram = any(histograms or [self._hook_flag("save_histogram", default=True)])
        what = reduce(or_, stored) if stored else self._stored
        return saved_collection(name, (*patterns, *added), (), steps, what, histogram)

    def _steps_of(self, entry: JsonSettings) -> Mapping[Mode, SaveSteps]:
        own = self._read_when(entry)
        return self._save_steps(entry, {m: when | own[m] for m, when in self._when.items()})

    def _entries(self) -> dict[str, list[JsonSettings]]:
        """Return the settings of each collection that is named, in order.

        One may be named several times: the SDK sends those of a user and those of each rule.
        """
        entries = self._top.values.get("CollectionConfigurations")
        if not isinstance(entries, list | None):
            raise ConfigError(f"CollectionConfigurations must be a JSON list, got {entries!r}")
        found: dict[str, list[JsonSettings]] = {}
        for number, entry in enumerate(entries or ()):
            outer = JsonSettings(entry, f"CollectionConfigurations[{number}]")
            outer.warn_of_unknown(_ENTRY, _BELONGS)
            name = outer.values.get("CollectionName")
            if not isinstance(name, str) or not name:
                raise ConfigError(f"{outer.where}: CollectionName must be a text, got {name!r}")
            inner = JsonSettings(outer.values.get("CollectionParameters"), f"collection {name!r}")
            inner.warn_of_unknown(_SHARED, _BELONGS)
            found.setdefault(name, []).append(inner)
        return found

    def _patterns_of_hook(self) -> dict[str, tuple[str, ...]]:
        added = {}
        if patterns := _read_patterns(self.hook):
            added["default"] = patterns
        if self._hook_flag("save_all"):
            added["all"] = (".*",)
        return added

    def _hook_flag(self, key: str, *, default: bool = False) -> bool:
        return self.hook.flag(key) if key in self.hook else default

    def _all_workers(self) -> bool:
        wanted = self.hook.values.get("include_workers", "one")
        if wanted not in ("one", "all"):
            log.warning(
                "HookParameters: include_workers is %r and not 'all', so one writes", wanted
            )
        return wanted == "all"

    def _read_when(self, settings: JsonSettings) -> dict[Mode, _When]:
        """Return the settings of each mode; those of the mode alone take precedence."""
        every = self._read_mode(settings, "")
        return {mode: every | self._read_mode(settings, f"{mode.value.lower()}.") for mode in Mode}

    def _read_mode(self, settings: JsonSettings, prefix: str) -> _When:
        # null is smdebug's own default, not what is inherited: end_step null is "no end".
        defaults = {"save_interval": self._interval, "start_step": 0, "end_step": None}
        found: _When = {}
        for key, field in _WHEN.items():
            name = prefix + key
            if name in settings and key == "save_steps":
                found[field] = settings.wholes(name)
            elif name in settings:
                is_null = settings.values[name] is None
                found[field] = defaults[key] if is_null else settings.whole(name)
        return found

    def _save_steps(
        self, settings: JsonSettings, when: Mapping[Mode, _When]
    ) -> Mapping[Mode, SaveSteps]:
        try:
            return {m: SaveSteps(**{"interval": self._interval, **one}) for m, one in when.items()}
        except ConfigError as error:
            raise ConfigError(f"{settings.where}: {error}") from None


def _any_steps(schedules: Sequence[Mapping[Mode, SaveSteps]]) -> Mapping[Mode, SaveSteps]:
    """Return, for each mode, what wants the steps of all schedules; one at least."""
    return {mode: reduce(or_, (one[mode] for one in schedules)) for mode in Mode}


def _read_stored(settings: JsonSettings, inherited: Stored) -> Stored:
    """Return what to store of a tensor.

    Reductions replace whatever was inherited. Without them, ``save_raw_tensor`` and
    ``save_shape`` change what was.
    """
    flags: dict[str, Any] = {
        field: settings.flag(key)
        for key, field in (("save_raw_tensor", "raw"), ("save_shape", "shape"))
        if key in settings
    }
    if "reductions" in settings:
        try:
            parsed = in_order(map(Reduction.parse, settings.texts("reductions")))
        except ConfigError as error:
            raise ConfigError(f"{settings.where}: reductions: {error}") from None
        return Stored(flags.get("raw", False), parsed, flags.get("shape", False))
    stored = replace(inherited, **flags)
    if stored == Stored():
        log.warning(
            "%s: save_raw_tensor is off and there is nothing else to save; it stays on",
            settings.where,
        )
        return inherited
    return stored


def _read_patterns(settings: JsonSettings) -> tuple[str, ...]:
    if "include_regex" not in settings:
        return ()
    patterns = settings.texts("include_regex")
    if not patterns:
        log.warning(
            "%s: include_regex is empty and does nothing; every tensor is '.*'", settings.where
        )
    return patterns


TENSORBOARD_VARIABLE = "TENSORBOARD_CONFIG_FILE_PATH"
TENSORBOARD_PATH = "/opt/ml/input/config/tensorboardoutputconfig.json"
DEFAULT_TENSORBOARD = "/opt/ml/output/tensorboard"


def tensorboard_folder(hook: JsonSettings, run: str, variables: Mapping[str, str]) -> str | None:
    """Return the folder or URL for TensorBoard's files, ``None`` for none.

    On SageMaker a file of its own decides, whatever the hook's settings say.

    Args:
        hook: The hook's settings.
        run: Where the run lies; by default the files go below it.
        variables: The environment.
    """
    folder = hook.values.get("tensorboard_dir")
    export = "export_tensorboard" in hook and hook.flag("export_tensorboard")
    if variables.get(JOB_VARIABLE):
        return _of_sagemaker(Path(variables.get(TENSORBOARD_VARIABLE) or TENSORBOARD_PATH))
    if folder is not None and hook.text("tensorboard_dir"):
        return os.path.expanduser(hook.text("tensorboard_dir"))
    return f"{run.rstrip('/')}/tensorboard" if export else None


def _of_sagemaker(file: Path) -> str | None:
    if not file.is_file():
        return None
    try:
        document = JsonSettings(json.loads(file.read_text(encoding="utf-8")), f"{file}")
    except ValueError as error:
        raise ConfigError(f"TensorBoard configuration {file} is no JSON: {error}") from None
    if document.values.get("LocalPath") is None:
        return DEFAULT_TENSORBOARD
    return os.path.expanduser(document.text("LocalPath"))


CONFIG_VARIABLE = "SMDEBUG_CONFIG_FILE_PATH"
CONFIG_PATH = "/opt/ml/input/config/debughookconfig.json"


def read_hook_config(
    path: str | os.PathLike[str] | None = None,
    variables: Mapping[str, str] | None = None,
    *,
    kind: str = "pytorch",
    default_interval: int | None = None,
) -> HookConfig:
    """Read a hook configuration.

    Args:
        path: The file; else ``$SMDEBUG_CONFIG_FILE_PATH``, else SageMaker's path for it.
        variables: The environment; that of this process by default.
        kind: The framework whose collections are built in: ``pytorch``, ``tensorflow``,
            ``mxnet`` or ``xgboost``.
        default_interval: Every how many steps is saved if the file does not say; by default
            500, and 10 for XGBoost.

    Raises:
        ConfigNotFound: There is no such file; a ``FileNotFoundError``.
        ConfigError: It holds an invalid value, or a collection that could hold no tensor.
    """
    config = read_open_hook_config(path, variables, kind=kind, default_interval=default_interval)
    for line in config_warnings(config, kind):
        raise ConfigError(line)
    return config


def read_hook_configs(
    kinds: Iterable[str], path: str | os.PathLike[str] | None = None
) -> dict[str, HookConfig]:
    """Read a hook configuration for each of several frameworks; each warning is given once.

    A collection may hold nothing: it may be for another framework than the one that trains.
    Arguments and errors are those of ``read_hook_config``.
    """
    reported: set[str] = set()

    def is_new(record: LogRecord) -> bool:
        is_known = record.getMessage() in reported
        reported.add(record.getMessage())
        return not is_known

    log.addFilter(is_new)
    try:
        return {kind: read_open_hook_config(path, kind=kind) for kind in kinds}
    finally:
        log.removeFilter(is_new)


def config_warnings(config: HookConfig, kind: str) -> list[str]:
    """Return what of a hook configuration does nothing for a framework, a line each."""
    return framework(kind).warnings(config.collections)


def read_open_hook_config(
    path: str | os.PathLike[str] | None = None,
    variables: Mapping[str, str] | None = None,
    *,
    kind: str = "pytorch",
    default_interval: int | None = None,
) -> HookConfig:
    """Read a hook configuration whose collections a script may still fill or replace.

    As ``read_hook_config``, but a collection without patterns is no error yet.
    """
    variables = environment() if variables is None else variables
    built = framework(kind)
    interval = built.interval if default_interval is None else default_interval
    file = path or variables.get(CONFIG_VARIABLE) or CONFIG_PATH
    document = HookDocument(_load(Path(file)), built, interval)
    return document.config(tensorboard_folder(document.hook, document.run, variables))


def find_hook_config(variables: Mapping[str, str] | None = None) -> str | None:
    """Return the file that the environment names, on SageMaker by default SageMaker's path."""
    variables = environment() if variables is None else variables
    file = variables.get(CONFIG_VARIABLE) or (CONFIG_PATH if variables.get(JOB_VARIABLE) else None)
    return file if file is not None and Path(file).is_file() else None


def _load(file: Path) -> JsonSettings:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise ConfigNotFound(
            f"no hook configuration at {file}; give the path of a JSON file, or set "
            f"${CONFIG_VARIABLE}"
        ) from None
    except ValueError as error:
        raise ConfigError(f"hook configuration {file} is no JSON: {error}") from None
    return JsonSettings(document, f"hook configuration {file}")
