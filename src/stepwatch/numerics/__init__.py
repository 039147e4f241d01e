"""Arithmetic on arrays: statistics, digests, exponents, measures."""
