"""Configurations of the rules that look at tensors."""
