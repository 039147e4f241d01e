"""The hook for PyTorch."""

from .hook import TorchHook

__all__ = ["TorchHook"]
