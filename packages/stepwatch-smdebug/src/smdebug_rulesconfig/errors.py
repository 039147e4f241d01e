"""The errors of invalid configurations."""

from __future__ import annotations

from stepwatch.errors import ConfigError


class InvalidAction(ConfigError, TypeError):
    """Something that is no action stands where an action belongs."""


class InvalidParameter(ConfigError, AssertionError):
    """An invalid parameter of a profiler rule.

    Old scripts catch the ``AssertionError``.
    """


class UnknownParameter(ConfigError, TypeError):
    """A profiler rule has no parameter of this name."""
