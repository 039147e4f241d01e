"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.sagemaker.served_fixtures import client, ended, place, server

__all__ = ["client", "ended", "place", "server"]
