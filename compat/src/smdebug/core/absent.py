"""What stands where the hook of a framework stands that is not installed."""

from __future__ import annotations

import os
from typing import ClassVar, NoReturn

from stepwatch.config import find_hook_config
from stepwatch.errors import MissingDependency


class AbsentHook:
    """A hook that cannot be made: old imports work, and the first call says why not."""

    #: What is not installed.
    module: ClassVar[str] = ""

    def __init__(self, *_: object, **__: object) -> None:
        self._refuse()

    @classmethod
    def create_from_json_file(
        cls, json_file_path: str | os.PathLike[str] | None = None
    ) -> NoReturn:
        """Raise as the constructor does.

        Raises:
            FileNotFoundError: Nothing tells of a hook, so none is missing.
        """
        if json_file_path is None and find_hook_config() is None:
            raise FileNotFoundError("no hook configuration")
        cls._refuse()

    @classmethod
    def hook_from_config(cls, json_config_path: str | os.PathLike[str] | None = None) -> NoReturn:
        """Do what ``create_from_json_file`` does."""
        cls.create_from_json_file(json_config_path)

    @classmethod
    def _refuse(cls) -> NoReturn:
        raise MissingDependency(
            f"{cls.module} is not installed, so nothing is captured from it; what smdebug wrote "
            "from it is read"
        )
