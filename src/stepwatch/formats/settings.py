"""What people call a run and trained it with: ``settings.json``, which grows while it trains."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..errors import StepwatchError
from ..model.json_text import parse_json
from ..runtime.secrets import MASK, is_secret, masked
from ..store import Store

SETTINGS_KEY = "settings.json"
# What is longer was not written by us, and what nests deeper is no configuration.
_MOST_BYTES, _DEEPEST = 4 << 20, 20


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What people call a run, and what they trained it with.

    Args:
        name: For people; runs may share one.
        project: What it belongs to.
        tags: Words to find it by.
        note: A text.
        config: Parameters of the training, of JSON's types.
    """

    name: str = ""
    project: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)

    def updated(self, other: RunSettings) -> RunSettings:
        """Return this with what another one says: what is empty there stays, tags are added.

        Example:
            >>> RunSettings("a", tags=("x",)).updated(RunSettings(tags=("y",), config={"lr": 1}))
            RunSettings(name='a', project='', tags=('x', 'y'), note='', config={'lr': 1})
        """
        given = {one: value for one, value in asdict(other).items() if value}
        given["tags"] = tuple(dict.fromkeys((*self.tags, *other.tags)))
        given["config"] = {**self.config, **other.config}
        return replace(self, **given)


def plain_config(config: object) -> dict[str, Any]:
    """Return a configuration as plain data of JSON's types; what is of none of them, as text.

    What looks like a secret is masked.

    Args:
        config: A mapping, such as of OmegaConf; a dataclass, or what has attributes, such as what
            ``argparse`` gives.

    Example:
        >>> from argparse import Namespace
        >>> plain_config(Namespace(lr=0.1, layers=(2, 3), device=print))
        {'lr': 0.1, 'layers': [2, 3], 'device': '<built-in function print>'}
        >>> plain_config({"api_key": "abc"})
        {'api_key': '***'}
    """
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        # not "asdict", which copies values that may be large
        config = {one.name: getattr(config, one.name) for one in dataclasses.fields(config)}
    elif not isinstance(config, Mapping):
        config = vars(config)
    return _plain_mapping(config, _DEEPEST)


def _plain_mapping(values: Mapping[Any, object], deepest: int) -> dict[str, Any]:
    return {
        str(name): MASK if value and is_secret(str(name)) else _plain(value, deepest - 1)
        for name, value in values.items()
    }


def _plain(value: object, deepest: int) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return masked([value])[0]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if deepest and isinstance(value, Mapping):
        return _plain_mapping(value, deepest)
    if deepest and isinstance(value, (Sequence, AbstractSet)):
        return [_plain(inner, deepest - 1) for inner in value]
    return str(value)


def read_settings(store: Store) -> RunSettings:
    """Return what a run is called and was trained with; empty where that is not known."""
    try:
        values = parse_json(store.get(SETTINGS_KEY, 0, _MOST_BYTES))
        texts = {one: values[one] for one in ("name", "project", "note") if one in values}
        tags = tuple(values.get("tags", ()))
        config = values.get("config", {})
        if all(isinstance(one, str) for one in (*texts.values(), *tags)) and isinstance(
            config, dict
        ):
            return RunSettings(tags=tags, config=config, **texts)
    except (StepwatchError, OSError, ValueError, TypeError, AttributeError):
        pass
    return RunSettings()


def write_settings(store: Store, settings: RunSettings) -> None:
    """Store what a run is called and is trained with.

    Raises:
        StoreError: The store refuses.
    """
    store.put(SETTINGS_KEY, json.dumps(asdict(settings), indent=1).encode())
