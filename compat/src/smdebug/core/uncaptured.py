"""What stands where the hooks of frameworks stand that Stepwatch does not capture from yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NoReturn

from smdebug.exceptions import SMDebugNotImplementedError
from stepwatch.config import find_hook_config


class UncapturedHook:
    """A hook that cannot be made: old imports work, and the first call says why not."""

    framework: ClassVar[str] = ""

    def __init__(self, *_: object, **__: object) -> None:
        _refuse(self.framework)

    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> NoReturn:
        """Raise as the constructor does."""
        del json_file_path
        _refuse(cls.framework)

    @classmethod
    def hook_from_config(cls, json_config_path: str | None = None) -> NoReturn:
        """Raise as the constructor does."""
        del json_config_path
        _refuse(cls.framework)


def refusing(framework: str) -> Callable[..., NoReturn]:
    """Return a function that raises as the hooks of a framework do."""

    def refuse(*_: object, **__: object) -> NoReturn:
        _refuse(framework)

    return refuse


def hook_getter(framework: str) -> Callable[..., None]:
    """Return what answers scripts that ask for a hook that somebody else may have configured.

    There is none where nothing configures one, as ever; else it is refused.
    """

    def get_hook(
        *named: object,
        hook_type: object = None,
        json_config_path: str | None = None,
        create_if_not_exists: bool = False,
    ) -> None:
        """Return ``None`` where no file tells of a hook; raise where one does."""
        del hook_type
        paths = [one for one in named if one not in (None, "keras", "session", "estimator")]
        if paths or json_config_path or create_if_not_exists or find_hook_config():
            _refuse(framework)

    return get_hook


def del_hook() -> None:
    """Do nothing: there is no hook."""


def _refuse(framework: str) -> NoReturn:
    raise SMDebugNotImplementedError(
        f"Stepwatch does not capture from {framework} yet; what smdebug wrote from it is read: "
        "smdebug.trials.create_trial, rules and the stepwatch command work on such runs"
    )
