"""The hook for MXNet."""

from .hook import MXNetHook

__all__ = ["MXNetHook"]
