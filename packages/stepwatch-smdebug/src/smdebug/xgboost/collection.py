"""Collections of a training with XGBoost."""

from __future__ import annotations

from ..core.collection import Collection, CollectionKeys
from ..core.collection_manager import CollectionManager as BaseCollectionManager

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]


class CollectionManager(BaseCollectionManager):
    """The collections of an XGBoost hook.

    Args:
        create_default: Whether those that are built in are there.
    """

    def __init__(self, create_default: bool = True) -> None:
        super().__init__()
        if create_default:
            self.create_built_in("xgboost")
