"""The hook for JAX, with Flax NNX or plain pytrees."""

from .hook import JaxHook

__all__ = ["JaxHook"]
