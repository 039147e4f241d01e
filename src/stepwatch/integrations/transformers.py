"""Importing this makes ``report_to="stepwatch"`` known to the trainers of Transformers and TRL."""

from __future__ import annotations

# First, so that who waits for this import has hooked it before what follows.
import transformers.trainer  # noqa: F401

from ..hooks.transformers import Reported, TransformersHook

__all__ = ["Reported", "TransformersHook"]
