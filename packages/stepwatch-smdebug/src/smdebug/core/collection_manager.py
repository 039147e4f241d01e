"""The collections of a hook or a trial, by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from stepwatch.store import open_store
from stepwatch_smdebug.config.frameworks import framework

from ..exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from .collection import Collection
from .save_config import SaveConfig

_KEYS = ("collections", "_meta")


class CollectionManager:
    """The collections of a hook or a trial, by name.

    Args:
        collections: Those that are known.
        create_default: Accepted for old code.
    """

    #: What ``get`` makes.
    collection_class: type[Collection] = Collection

    def __init__(
        self, collections: dict[str, Collection] | None = None, create_default: bool = False
    ) -> None:
        del create_default
        self.collections: dict[str, Collection] = {} if collections is None else collections
        self._meta: dict[str, Any] = {"num_workers": 1}

    def create_built_in(self, name: str) -> None:
        """Add the collections that hooks of a framework bring along, such as ``pytorch``."""
        for collection, patterns in framework(name).collections.items():
            self.create_collection(collection)
            self.collections[collection].include(patterns)

    def create_collection(self, name: str, cls: type[Collection] | None = None) -> None:
        """Add an empty collection, unless there is one of this name."""
        if name not in self.collections:
            self.collections[name] = (cls or self.collection_class)(name)

    def get_collections(self) -> dict[str, Collection]:
        """Return all collections by name, each as ``get`` does."""
        for name in self.collections:
            self.get(name)
        return self.collections

    def add(self, arg: str | Collection) -> None:
        """Add a collection, in place of one of the same name, or an empty one by name."""
        if isinstance(arg, str):
            self.create_collection(arg)
        elif isinstance(arg, Collection):
            self.collections[arg.name] = arg
        else:
            raise SMDebugTypeError(f"a Collection or a name can be added, got {arg!r}")

    def get(self, name: str, create: bool = True) -> Collection:
        """Return a collection.

        Its ``save_config`` can be changed in place, which is what ``None`` does not allow.

        Args:
            name: Its name.
            create: Make an empty one if there is none.

        Raises:
            SMDebugError: There is none, and none is to be made.
        """
        if name not in self.collections:
            if not create:
                known = ", ".join(self.collections)
                raise SMDebugError(f"no collection {name!r}; there are {known}")
            self.create_collection(name)
        collection = self.collections[name]
        if collection.save_config is None:
            collection.save_config = SaveConfig.inheriting()
        return collection

    def update_meta(self, meta: Mapping[str, Any]) -> None:
        """Change what is noted beside the collections."""
        if not isinstance(meta, Mapping):
            raise SMDebugTypeError(f"meta is a dict, got {meta!r}")
        self._meta.update(meta)

    def get_num_workers(self) -> int:
        """Return how many processes write."""
        return int(self._meta["num_workers"])

    def set_num_workers(self, num_workers: int) -> None:
        """Note how many processes write."""
        self._meta["num_workers"] = int(num_workers)

    def to_json_dict(self) -> dict[str, Any]:
        """Return what a collections file holds."""
        known = {name: one.to_json_dict() for name, one in self.collections.items()}
        return {"collections": known, "_meta": self._meta}

    def export(self, out_dir: str | os.PathLike[str], filename: str) -> None:
        """Write a collections file below a folder or URL."""
        data = json.dumps(self.to_json_dict()).encode()
        open_store(out_dir).put(f"collections/000000000/{filename}", data)

    @classmethod
    def load(
        cls, filename: str | os.PathLike[str], collection_class: type[Collection] = Collection
    ) -> CollectionManager | None:
        """Read a collections file."""
        with open(filename, encoding="utf-8") as file:
            return cls.load_from_string(file.read(), collection_class)

    @classmethod
    def load_from_string(
        cls, s: str | None, collection_class: type[Collection] = Collection
    ) -> CollectionManager | None:
        """Read the text of a collections file; ``None`` gives ``None``.

        Raises:
            SMDebugValueError: It holds something else.
        """
        if s is None:
            return None
        document = json.loads(s)
        if not isinstance(document, dict) or set(document) - set(_KEYS):
            raise SMDebugValueError(
                f"a collections file holds {' and '.join(_KEYS)}, got {list(document)}"
            )
        loaded = cls(create_default=False)
        for collection in document["collections"].values():
            loaded.add(collection_class.from_dict(collection))
        loaded.update_meta(document.get("_meta", {}))
        return loaded

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.collections == other.collections

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return f"<class CollectionManager: collection_names={list(self.collections)}>"


class BuiltInCollections(CollectionManager):
    """The collections of a framework's hook.

    Args:
        create_default: Whether those that the hook brings along are there.
    """

    #: Whose hook it is, such as ``pytorch``.
    framework: str

    def __init__(self, create_default: bool = True) -> None:
        super().__init__()
        if create_default:
            self.create_built_in(self.framework)
