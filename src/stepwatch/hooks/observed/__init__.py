"""Tensors of frameworks that trace: how they are read, and what of them is stored."""
