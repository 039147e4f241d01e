"""Which hook looks at JAX now: the one that was attached last and has not let go."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tracker import Tracker

_attached: list[Tracker] = []


def watcher() -> Tracker | None:
    """Return who looks at what runs now, in this process and thread; ``None`` for nobody."""
    return _attached[-1] if _attached and _attached[-1].is_looking() else None


def begin(tracker: Tracker) -> bool:
    """Let one look; return whether nobody did before."""
    _attached.append(tracker)
    return len(_attached) == 1


def end(tracker: Tracker) -> bool:
    """Let one look no more; return whether it was the last."""
    if tracker not in _attached:
        return False
    _attached.remove(tracker)
    return not _attached
