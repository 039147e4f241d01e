"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.faults.faulty_trainings import faulty, plain
from tests.support.small_disk import small_disk

__all__ = ["faulty", "plain", "small_disk"]
