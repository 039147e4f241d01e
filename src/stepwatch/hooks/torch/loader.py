"""How long a script waits for the next batch of a data loader."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol


class LoaderWatcher(Protocol):
    """What the wrapper tells."""

    def saw_wait(self, seconds: float) -> None:
        """The next batch of a data loader was waited for, or the end of it."""


def loader_wrapper(watcher: LoaderWatcher) -> Callable[[Any], Any]:
    """Return what wraps ``__next__`` of the iterators of ``DataLoader``.

    A data set that itself reads from a loader is part of the wait for its own.
    """
    depth = 0

    def make(original: Any) -> Any:
        def __next__(iterator: Any) -> Any:  # noqa: N807  so that it is called as it was
            nonlocal depth
            depth += 1
            began = perf_counter()
            try:
                return original(iterator)
            finally:
                depth -= 1
                if not depth:
                    watcher.saw_wait(perf_counter() - began)

        return __next__

    return make
