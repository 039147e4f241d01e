"""Helpers of tests; fixtures among them are handed on by the ``conftest.py`` of each folder."""

from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parents[2]
