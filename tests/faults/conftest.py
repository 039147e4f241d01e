"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.faults.faulty_trainings import faulty, plain
from tests.support.small_disk import disk, small_disk

__all__ = ["disk", "faulty", "plain", "small_disk"]
