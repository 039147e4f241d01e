"""Hooks from configuration files."""

from __future__ import annotations

from typing import Protocol, TypeVar

_Hook = TypeVar("_Hook", covariant=True)

CONFIG_FILE_PATH_ENV_STR = "SMDEBUG_CONFIG_FILE_PATH"


class _FromFile(Protocol[_Hook]):
    def create_from_json_file(self, json_file_path: str | None = None) -> _Hook: ...


def create_hook_from_json_config(
    hook_cls: _FromFile[_Hook], json_config_path: str | None = None
) -> _Hook:
    """Return the hook that a configuration file describes.

    Args:
        hook_cls: Which hook.
        json_config_path: The file; by default what ``$SMDEBUG_CONFIG_FILE_PATH`` names, else
            SageMaker's.
    """
    return hook_cls.create_from_json_file(json_config_path)
