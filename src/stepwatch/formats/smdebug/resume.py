"""Takes a worker's part of a run up again at an earlier step, in smdebug's format."""

from __future__ import annotations

from ...store import Store
from .layout import EVENTS, INDEX, parse_step_key


def cut(store: Store, worker: str, first: int) -> None:
    """Remove what a worker stored of step ``first`` and all that follow, the last step first."""
    for folder in (INDEX, EVENTS):  # so that no index names what is gone
        for key in reversed(store.list(folder)):
            step, whose = parse_step_key(key) or (-1, "")
            if step >= first and whose == worker:
                store.delete(key)
