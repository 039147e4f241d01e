"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.cli.command_fixtures import (
    new_python,
    new_stepwatch,
    python,
    refused,
    spoiled,
    stepwatch,
    verb,
    write,
)
from tests.support.cli.diff_trainings import trained

__all__ = [
    "new_python",
    "new_stepwatch",
    "python",
    "refused",
    "spoiled",
    "stepwatch",
    "trained",
    "verb",
    "write",
]
