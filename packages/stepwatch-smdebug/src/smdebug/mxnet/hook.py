"""smdebug's hook for MXNet."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import Block
from mxnet.ndarray import NDArray

from stepwatch_smdebug.hooks.mxnet import SmdebugMXNetHook

from ..core.hook import BaseHook
from ..core.utils import make_numpy_array
from .collection import Collection, CollectionManager

__all__ = ["Hook"]


class Hook(BaseHook):
    """Saves tensors of an MXNet training; see ``BaseHook`` for the arguments.

    Each forward of a registered block is a step, whose weights and gradients are saved when it
    ends.
    """

    framework = "mxnet"
    collection_manager_class = CollectionManager
    collection_class = Collection
    _registered: SmdebugMXNetHook

    def _make_registered(self) -> SmdebugMXNetHook:
        return SmdebugMXNetHook(
            self._hook_config,
            numbers=self._resumed(),
            before_step=self._before_step,
            stores_at_once=True,
        )

    def register_block(self, block: Block) -> None:
        """Save tensors of a model, each forward of which is a step, or of a loss.

        What is no block, and what is registered already, is logged and left as it is.
        """
        if not isinstance(block, Block):
            self.logger.error("a gluon.Block can be registered, got %s", type(block).__name__)
        elif self._registered.knows(block):
            self.logger.warning("%s is registered already", block.name)
        else:
            self._registered.register_block(block)

    def register_hook(self, block: Block) -> None:
        """Do what ``register_block`` does."""
        self.register_block(block)

    def register_first(self) -> None:
        """Register the first model with parameters that runs, and the losses that run."""
        self._registered.registers_first = True

    def _as_array(self, value: object) -> Any:
        return value if isinstance(value, NDArray) else make_numpy_array(value)
