"""Whether hooks are wanted, by the environment."""

from __future__ import annotations

import os

from . import environment
from .utils import FRAMEWORK, is_framework_version_supported

_VARIABLE = "USE_SMDEBUG"
_NO = ("n", "no", "f", "false", "off", "0")


class ConfigValidator:
    """Tells whether a hook of a framework is wanted: ``$USE_SMDEBUG`` can say no.

    Args:
        framework_type: The framework.
    """

    def __init__(self, framework_type: FRAMEWORK) -> None:
        self._framework_type = framework_type
        self._create_hook = (environment.text(_VARIABLE) or "true").lower() not in _NO

    def validate_training_job(self) -> bool:
        """Return whether it is, and note in the environment if the framework has none."""
        if self._create_hook and not is_framework_version_supported(self._framework_type):
            self._create_hook = False
            os.environ[_VARIABLE] = "False"
        return self._create_hook


class _One:
    validator: ConfigValidator | None = None


def get_config_validator(framework: FRAMEWORK) -> ConfigValidator:
    """Return the validator of this process, which is made with the first call."""
    if _One.validator is None:
        _One.validator = ConfigValidator(framework)
    return _One.validator


def reset_config_validator() -> None:
    """Forget the validator of this process."""
    _One.validator = None
