"""Hooks from configuration files, and settings as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, TypeVar

_Hook = TypeVar("_Hook", covariant=True)

CONFIG_FILE_PATH_ENV_STR = "SMDEBUG_CONFIG_FILE_PATH"
DEFAULT_WORKER_NAME = "worker_0"
DEFAULT_RESOURCE_CONFIG_FILE = "/opt/ml/input/config/resourceconfig.json"


class _FromFile(Protocol[_Hook]):
    def create_from_json_file(self, json_file_path: str | None = None) -> _Hook: ...


def create_hook_from_json_config(
    hook_cls: _FromFile[_Hook], json_config_path: str | None = None
) -> _Hook:
    """Return the hook that a configuration file describes.

    Args:
        hook_cls: The class of the hook.
        json_config_path: The file; by default what ``$SMDEBUG_CONFIG_FILE_PATH`` names, else
            SageMaker's.
    """
    return hook_cls.create_from_json_file(json_config_path)


def get_node_id_from_resource_config() -> str | None:
    """Return what SageMaker calls this machine, such as ``algo-1``; ``None`` elsewhere."""
    try:
        document = json.loads(Path(DEFAULT_RESOURCE_CONFIG_FILE).read_text())
    except (OSError, ValueError):
        return None
    return str(document["current_host"]) if "current_host" in document else None


class JsonSettings:
    """Settings that can be changed, and are equal if their JSON is."""

    def to_json_dict(self) -> dict[str, Any]:
        """Return what a collections file holds."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, params: Any) -> Any:
        """Return what ``to_json_dict`` made; ``None`` gives ``None``."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the JSON as text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_json(cls, json_str: str) -> Any:
        """Return what ``to_json`` made."""
        return cls.from_dict(json.loads(json_str))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()
