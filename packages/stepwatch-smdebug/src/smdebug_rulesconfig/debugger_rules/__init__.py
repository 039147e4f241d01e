"""Configurations of the rules about tensors."""
