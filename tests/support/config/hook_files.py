"""Hook configurations as files, for the tests of their reading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from stepwatch.formats.smdebug.collections import SavedCollection
from stepwatch.model.steps import Mode
from stepwatch_smdebug.config.hook_config import read_hook_config
from stepwatch_smdebug.plan import HookConfig

NOWHERE: Mapping[str, str] = {}


def read(
    folder: Path, hook: object = None, collections: object = None, **options: object
) -> HookConfig:
    """Return what a file says that holds these settings and collections."""
    document = {"HookParameters": hook, "CollectionConfigurations": collections}
    return read_document(folder, document, **options)


def read_document(folder: Path, document: object, **options: object) -> HookConfig:
    """Return what a file says that holds this document."""
    path = folder / "hook.json"
    path.write_text(json.dumps(document))
    return read_hook_config(path, NOWHERE, **options)


def entry(name: str, **settings: object) -> Mapping[str, object]:
    """Return an entry of ``CollectionConfigurations``; ``_`` stands for the dot in a key."""
    return {"CollectionName": name, "CollectionParameters": settings}


def collection(config: HookConfig, name: str) -> SavedCollection:
    """Return a collection of a configuration."""
    return next(one for one in config.collections if one.name == name)


def saved_steps(
    config: HookConfig, name: str, mode: Mode = Mode.TRAIN, below: int = 1001
) -> list[int]:
    """Return the steps at which a collection is saved."""
    one = collection(config, name)
    return [step for step in range(below) if one.is_due(mode, step)]
