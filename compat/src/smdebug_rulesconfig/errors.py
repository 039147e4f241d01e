"""What a configuration that cannot be meant raises."""

from __future__ import annotations

from stepwatch.errors import ConfigError


class InvalidAction(ConfigError, TypeError):
    """Something that is no action stands where an action belongs."""


class InvalidParameter(ConfigError, AssertionError):
    """A parameter of a profiler rule that cannot be meant.

    Old scripts catch the ``AssertionError``.
    """


class UnknownParameter(ConfigError, TypeError):
    """A profiler rule has no parameter of this name."""
