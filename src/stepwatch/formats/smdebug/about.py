"""What a run is and how it ended, from what lies beside its steps.

A run of ours has ``run.json`` and end notes as every other. A run of smdebug's own has its
collections, from which a manifest is made up, and a mark that says that training ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from ...collection import BUILT_IN
from ...collection import Collection as OurCollection
from ...hook_config import SavedCollection
from ...store import Store
from ..manifest import End, Manifest, read_ends
from ..notes import RUN_KEY
from ..sagemaker_profile.layout import find_root
from .collections import collections_from_json, merge_collections
from .layout import COLLECTIONS, END_KEY, parse_collections_key


class About:
    """What a run is and how it ended, as of the last ``refresh``.

    Args:
        store: Where it lies.

    Raises:
        CorruptRun: ``run.json`` or a collections file is damaged.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: dict[str, tuple[bytes, tuple[SavedCollection, ...], int]] = {}
        self._own = _own_manifest(store)
        #: The collections of all workers by name, with the tensors of all of them.
        self.collections: dict[str, SavedCollection] = {}
        #: What the run is.
        self.manifest = self._own or Manifest(
            _name_of(store.url), 0, num_workers=self.num_workers, run_format="smdebug"
        )
        self.refresh()

    @property
    def workers(self) -> list[str]:
        """The workers that wrote their collections."""
        return [worker for key in self._files if (worker := parse_collections_key(key))]

    @property
    def num_workers(self) -> int:
        """How many workers write; 1 as long as nobody said, 0 for a profile by itself."""
        if self._own:
            return self._own.num_workers
        said = max((number for _, _, number in self._files.values()), default=0)
        return said or int(find_root(self._store) != "")

    @property
    def has_end(self) -> bool:
        """Whether the mark is there that says that training ended."""
        try:
            self._store.size(END_KEY)
        except FileNotFoundError:
            return False
        return True

    def refresh(self) -> bool:
        """Read the collections files anew; return whether they changed."""
        before = dict(self._files)
        for key in self._store.list(COLLECTIONS):
            if parse_collections_key(key):
                self._read(key)
        changed = self._files != before
        if changed:
            self.collections = merge_collections(parsed for _, parsed, _ in self._files.values())
            self.manifest = self._made_up() if self._own is None else self._completed(self._own)
        return changed

    def _read(self, key: str) -> None:
        try:
            data = self._store.get(key)
        except FileNotFoundError:
            return
        if key not in self._files or self._files[key][0] != data:
            self._files[key] = (data, *collections_from_json(key, data))

    def ends(self, workers: Collection[str]) -> dict[str, End]:
        """Return how each worker's part ended, for those that ended.

        Args:
            workers: Who wrote steps.
        """
        ends = read_ends(self._store)
        if self.has_end:
            for worker in self._expected(workers):
                ends.setdefault(worker, End("finished", 0))
        return ends

    def _expected(self, workers: Iterable[str]) -> list[str]:
        """Return who should have written, also where a worker wrote nothing at all."""
        known = list(dict.fromkeys([*self.workers, *workers]))
        others = (f"worker_{rank}" for rank in range(self.num_workers))
        unknown = [worker for worker in others if worker not in known]
        return known + unknown[: max(0, self.num_workers - len(known))]

    def _completed(self, own: Manifest) -> Manifest:
        """Return our own manifest; of a run that was configured in smdebug's words, with those."""
        if own.collections or not own.debugger_collections:
            return own
        return replace(own, collections=self._our_collections())

    def _our_collections(self) -> tuple[OurCollection, ...]:
        return tuple(filter(None, map(_ours, self.collections.values())))

    def _made_up(self) -> Manifest:
        first = next(iter(self._files.values()))[0]
        return Manifest(
            _name_of(self._store.url),
            0,
            num_workers=self.num_workers,
            collections=self._our_collections(),
            run_format="smdebug",
            debugger_collections=self._debugger_collections(first),
        )

    def _debugger_collections(self, first: bytes) -> dict[str, object]:
        """Return the collections as the first worker noted them, with the tensors of all."""
        values: dict[str, dict[str, dict[str, object]]] = json.loads(first)
        for name, one in values["collections"].items():
            if name in self.collections:
                one["tensor_names"] = sorted(self.collections[name].tensors)
        return dict(values)


def _own_manifest(store: Store) -> Manifest | None:
    try:
        return Manifest.from_json(RUN_KEY, store.get(RUN_KEY))
    except FileNotFoundError:
        return None


def _name_of(url: str) -> str:
    return PurePosixPath(url.rpartition("://")[2]).name or url


def _ours(one: SavedCollection) -> OurCollection | None:
    """Return a collection in our words; ``None`` for one that holds nothing.

    What one of a name of ours holds is in the kinds of the tensors already.
    """
    if one.name in BUILT_IN:
        return OurCollection(one.name)
    names = sorted(
        name
        for name in one.tensors
        if not any(re.search(pattern, name) for pattern in one.patterns)
    )
    patterns = one.patterns
    if names:
        # One pattern for all: there may be thousands.
        patterns = (*patterns, rf"\A(?:{'|'.join(map(re.escape, names))})\Z")
    return OurCollection(one.name, patterns) if patterns else None
