"""For tests of trainings, authors of plug-ins and our own: contracts, and runs made to order.

``store_contract`` and ``hook_contract`` need pytest and are imported by their own names; pytest
itself loads ``training``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .hostile import hostile_runs, make_hostile_run
    from .made_runs import make_record, make_run
    from .training import Healthy, TrainingFailed

_HOMES = {
    "Healthy": "training",
    "TrainingFailed": "training",
    "hostile_runs": "hostile",
    "make_hostile_run": "hostile",
    "make_record": "made_runs",
    "make_run": "made_runs",
}
__all__ = [
    "Healthy",
    "TrainingFailed",
    "hostile_runs",
    "make_hostile_run",
    "make_record",
    "make_run",
]


def __getattr__(name: str) -> object:
    # pytest loads the plug-in in here wherever Stepwatch is installed, and little may come with it
    if name not in _HOMES:
        raise AttributeError(f"module 'stepwatch.testing' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
