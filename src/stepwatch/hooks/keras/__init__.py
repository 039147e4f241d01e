"""Keras 3, on its TensorFlow, JAX and PyTorch backends."""

from .hook import KerasHook as KerasHook
