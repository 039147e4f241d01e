"""How a run is laid out in a store. Writing and reading meet only here, and on disk."""

from __future__ import annotations

from ..store import Store
from .native.reader import NativeReader


def open_reader(store: Store) -> NativeReader:
    """Return a reader for the run that lies in a store, whatever its format.

    Raises:
        RunNotFound: There is no run.
    """
    return NativeReader(store)
