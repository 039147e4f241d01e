"""Names that smdebug's hooks for TensorFlow use."""

from __future__ import annotations

SMDEBUG_PREFIX = "smdebug_"
SMDEBUG_GRADIENTS_KEY = f"{SMDEBUG_PREFIX}gradients"
SMDEBUG_LAYER_OUTPUTS_KEY = f"{SMDEBUG_PREFIX}layer_outputs"
TF_DEFAULT_SAVED_COLLECTIONS = ["losses", "metrics", "sm_metrics"]
