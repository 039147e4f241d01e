"""Collections of a PyTorch training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.collection import Collection as BaseCollection
from ..core.collection import CollectionKeys
from ..core.collection_manager import BuiltInCollections

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]


class Collection(BaseCollection):
    """A named set of tensors, and of modules whose tensors belong to it."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(name, *args, **kwargs)
        self._modules: dict[Any, tuple[bool, bool]] = {}

    def add_module_tensors(self, module: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Let what goes into a module, or comes out of it, belong to this collection.

        Args:
            module: A part of a model that is registered before its first step.
            inputs: Whether what goes in belongs.
            outputs: Whether what comes out belongs.
        """
        self._modules[module] = (inputs, outputs)

    @property
    def modules(self) -> dict[Any, tuple[bool, bool]]:
        """The modules, each with whether its inputs and its outputs belong."""
        return self._modules

    def include_modules(self, names: dict[Any, str]) -> Iterable[Any]:
        """Include the patterns of modules that have names; return those that have none yet."""
        nameless = []
        for module, wanted in self._modules.items():
            if module not in names:
                nameless.append(module)
                continue
            for suffix, wants in zip(("input", "output"), wanted, strict=True):
                pattern = f"{names[module]}_{suffix}_"
                if wants and pattern not in self.include_regex:
                    self.include(pattern)
        return nameless


class CollectionManager(BuiltInCollections):
    """The collections of a PyTorch hook."""

    framework = "pytorch"
    collection_class = Collection
