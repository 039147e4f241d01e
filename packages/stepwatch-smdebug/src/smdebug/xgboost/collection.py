"""Collections of a training with XGBoost."""

from __future__ import annotations

from ..core.collection import Collection, CollectionKeys
from ..core.collection_manager import BuiltInCollections

__all__ = ["Collection", "CollectionKeys", "CollectionManager"]


class CollectionManager(BuiltInCollections):
    """The collections of an XGBoost hook."""

    framework = "xgboost"
