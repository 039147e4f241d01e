"""smdebug's hook for PyTorch."""

from __future__ import annotations

import torch

from stepwatch.errors import ConfigError
from stepwatch_smdebug.hooks.torch import SmdebugTorchHook, Value
from stepwatch_smdebug.plan import HookConfig

from ..core.hook import BaseHook, forgiving
from ..core.utils import make_numpy_array
from ..exceptions import SMDebugError
from .collection import Collection, CollectionManager

__all__ = ["Hook"]


class Hook(BaseHook):
    """Saves tensors of a PyTorch training; see ``BaseHook`` for the arguments.

    Each forward of a registered model is a step.
    """

    framework = "pytorch"
    collection_manager_class = CollectionManager
    collection_class = Collection
    has_registered_module = False
    has_registered_loss_module = False
    _registered: SmdebugTorchHook

    def _make_registered(self) -> SmdebugTorchHook:
        return SmdebugTorchHook(
            self._hook_config,
            numbers=self._resumed(),
            before_step=self._before_step,
            stores_at_once=True,
        )

    # What is saved

    @forgiving
    def register_module(self, module: torch.nn.Module) -> None:
        """Save tensors of a model, each forward of which is a step.

        Raises:
            SMDebugError: It is no ``torch.nn.Module``, or one that takes no hooks.
            AssertionError: It, or a part of it, is registered already.
        """
        if not isinstance(module, torch.nn.Module):
            raise SMDebugError(f"a torch.nn.Module can be registered, got {type(module).__name__}")
        if self._registered.modules.knows(module):
            raise AssertionError(f"{type(module).__name__}, or a part of it, is registered already")
        try:
            self._registered.register_module(module)
        except ConfigError as error:
            raise SMDebugError(str(error)) from None
        self.has_registered_module = True

    def register_hook(self, module: torch.nn.Module) -> None:
        """Do what ``register_module`` does."""
        self.register_module(module)

    @forgiving
    def register_loss(self, loss_module: torch.nn.Module) -> None:
        """Save what a loss is given and returns.

        Raises:
            AssertionError: It is no loss of ``torch.nn``.
        """
        if not isinstance(loss_module, torch.nn.modules.loss._Loss):
            raise AssertionError(  # noqa: TRY004  as ever
                f"a loss of torch.nn can be registered, got {type(loss_module).__name__}; what it "
                "returns can be given to record_tensor_value"
            )
        self._registered.register_loss(loss_module)
        self.has_registered_loss_module = True

    def register_first(self) -> None:
        """Register the first model with parameters that runs, and the losses that run."""
        self._registered.modules.hook_any_module()

    @forgiving
    def record_tensor_value(self, tensor_name: str, tensor_value: torch.Tensor) -> None:
        """Save a tensor as ``<tensor_name>_output_<i>``, such as a functional loss.

        Raises:
            AssertionError: It is no tensor.
        """
        if not isinstance(tensor_value, torch.Tensor):
            raise AssertionError(  # noqa: TRY004  as ever
                f"a torch.Tensor can be recorded, got {type(tensor_value).__name__}"
            )
        self._registered.record_output(tensor_name, tensor_value)

    # What only old code needs

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:
        """Return False: there is no timeline."""
        del metrics_name
        return False

    def count_parameters(self, model: torch.nn.Module) -> int:
        """Return how many elements the parameters of a model have that are trained."""
        return sum(one.numel() for one in model.parameters() if one.requires_grad)

    # Inside

    def _as_array(self, value: object) -> Value:
        return value if isinstance(value, torch.Tensor) else make_numpy_array(value)

    def _hook_config(self) -> HookConfig:
        names = self._registered.modules.names()
        for collection in self.collection_manager.collections.values():
            if isinstance(collection, Collection):
                for module in collection.include_modules(names):
                    self.logger.warning(
                        "collection %r gets nothing of %s: it is no part of a registered model",
                        collection.name,
                        type(module).__name__,
                    )
        return super()._hook_config()
