"""Collections of an MXNet training."""

from __future__ import annotations

from typing import Any

from ..core.collection import Collection as BaseCollection
from ..core.collection import CollectionKeys
from ..core.collection_manager import BuiltInCollections

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]


class Collection(BaseCollection):
    """A named set of tensors, which may be those of blocks."""

    def add_block_tensors(self, block: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Let what goes into a block, or comes out of it, belong to this collection.

        Args:
            block: A ``gluon.Block``; its name is that of its tensors.
            inputs: Whether what goes in belongs.
            outputs: Whether what comes out belongs.
        """
        if inputs:
            self.include(f"^{block.name}_input_")
        if outputs:
            self.include(f"^{block.name}_output_")


class CollectionManager(BuiltInCollections):
    """The collections of an MXNet hook."""

    framework = "mxnet"
    collection_class = Collection
