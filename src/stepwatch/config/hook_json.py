"""SageMaker's hook configuration: the JSON file that says what a Debugger hook saves.

SageMaker passes every setting as a string; files written by hand hold numbers, booleans and
lists. All are taken. What is not known is warned of and does nothing; what is known and cannot
be meant is an error before anything is trained.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from logging import LogRecord
from pathlib import Path

from ..errors import ConfigError, ConfigNotFound
from ..hook_config import HookConfig
from .asked import check_filled, empty
from .frameworks import framework
from .hook_document import HookDocument
from .parameters import Parameters, log
from .tensorboard_json import tensorboard_folder
from .variables import JOB_VARIABLE, environment

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
        path: The file; else ``$SMDEBUG_CONFIG_FILE_PATH``, else SageMaker's place for it.
        variables: The environment; that of this process by default.
        kind: The framework whose collections are built in: ``pytorch``, ``tensorflow``,
            ``mxnet`` or ``xgboost``.
        default_interval: Every so-manieth step if the file does not say; by default 500,
            and 10 for XGBoost.

    Raises:
        ConfigNotFound: There is no such file; a ``FileNotFoundError``.
        ConfigError: It holds what cannot be meant, or a collection that could hold no tensor.
    """
    config = read_open_hook_config(path, variables, kind=kind, default_interval=default_interval)
    check_filled(config, framework(kind))
    return config


def read_hook_configs(
    kinds: Iterable[str], path: str | os.PathLike[str] | None = None
) -> dict[str, HookConfig]:
    """Read a hook configuration for each of several frameworks; what it warns of is said once.

    A collection may hold nothing: it may be meant for another framework than the one that trains.

    Args:
        kinds: Their names, as of ``read_hook_config``.
        path: The file, as there.

    Raises:
        ConfigNotFound: There is no such file.
        ConfigError: It holds what cannot be meant.
    """
    said: set[str] = set()

    def is_news(record: LogRecord) -> bool:
        is_known = record.getMessage() in said
        said.add(record.getMessage())
        return not is_known

    log.addFilter(is_news)
    try:
        return {kind: read_open_hook_config(path, kind=kind) for kind in kinds}
    finally:
        log.removeFilter(is_news)


def said_of(config: HookConfig, kind: str) -> list[str]:
    """Return what of a hook configuration does nothing for a framework, a line each."""
    return empty(config, framework(kind))


def read_open_hook_config(
    path: str | os.PathLike[str] | None = None,
    variables: Mapping[str, str] | None = None,
    *,
    kind: str = "pytorch",
    default_interval: int | None = None,
) -> HookConfig:
    """Read a hook configuration whose collections a script may still fill, or make its own.

    As ``read_hook_config``, but a collection without patterns is no error yet.
    """
    variables = environment() if variables is None else variables
    built = framework(kind)
    interval = built.interval if default_interval is None else default_interval
    file = path or variables.get(CONFIG_VARIABLE) or CONFIG_PATH
    document = HookDocument(_load(Path(file)), built, interval)
    return document.config(tensorboard_folder(document.hook, document.run, variables))


def find_hook_config(variables: Mapping[str, str] | None = None) -> str | None:
    """Return the file that was named for this process without its doing, if there is one.

    It is what the environment names, and on SageMaker what lies at SageMaker's place.
    """
    variables = environment() if variables is None else variables
    file = variables.get(CONFIG_VARIABLE) or (CONFIG_PATH if variables.get(JOB_VARIABLE) else None)
    return file if file is not None and Path(file).is_file() else None


def _load(file: Path) -> Parameters:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise ConfigNotFound(
            f"no hook configuration at {file}; give the path of a JSON file, or set "
            f"${CONFIG_VARIABLE}"
        ) from None
    except ValueError as error:
        raise ConfigError(f"hook configuration {file} is no JSON: {error}") from None
    return Parameters(document, f"hook configuration {file}")
