"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.looked_at_fixtures import runs_folder

__all__ = ["runs_folder"]
