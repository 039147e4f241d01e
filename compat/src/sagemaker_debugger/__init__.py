"""The import name ``sagemaker_debugger``, for scripts that save tensors under it."""

from __future__ import annotations

from sagemaker_debugger.saving import save_tensor

__all__ = ["save_tensor"]
