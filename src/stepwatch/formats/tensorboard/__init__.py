"""Scalars and histograms in the files that TensorBoard reads."""

from __future__ import annotations

from .writer import TensorBoardWriter

__all__ = ["TensorBoardWriter"]
