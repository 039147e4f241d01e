"""Collections of a training with Keras."""

from __future__ import annotations

from typing import Any

from ..core.collection import Collection as BaseCollection
from ..core.collection import CollectionKeys
from ..core.collection_manager import CollectionManager as BaseCollectionManager

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]


class Collection(BaseCollection):
    """A named set of tensors, which may be those of layers."""

    def add_keras_layer(self, layer: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Let what goes into a layer, or comes out of it, belong to this collection."""
        if inputs:
            self.include(f"{layer.name}/inputs/")
        if outputs:
            self.include(f"{layer.name}/outputs/")

    def add(self, arg: Any) -> None:
        """Let tensors or variables belong, by their names, one or several."""
        for one in arg if isinstance(arg, list | set | tuple) else [arg]:
            self.add_tensor_name(one.name)

    def get_export_names_of_tensors(self) -> set[str]:
        """Return the names that were added."""
        return self.tensor_names


class CollectionManager(BaseCollectionManager):
    """The collections of a hook for Keras.

    Args:
        collections: Those that are known.
        create_default: Whether those that are built in are there, too.
    """

    collection_class = Collection

    def __init__(
        self, collections: dict[str, BaseCollection] | None = None, create_default: bool = True
    ) -> None:
        super().__init__(collections)
        if create_default:
            self.create_built_in("tensorflow")
