"""Names of tensors of Keras, and who trains, by ``TF_CONFIG``. TensorFlow is not imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..core.modes import ModeKeys
from ..exceptions import SMDebugError

TFConfig = Mapping[str, Any]


class TFDistributionStrategy(Enum):
    """How several processes train together."""

    NONE = 0
    HOROVOD = 1
    MIRRORED = 2
    PARAMETER_SERVER = 3
    SMDATAPARALLEL = 4
    UNSUPPORTED = 100


class ModelInput:
    """The key of what goes into a model."""

    INPUTS = "smdebug_x"


class ModelOutput:
    """The keys of what a model is to give, and of what it gives."""

    LABELS = "smdebug_y"
    PREDICTIONS = "smdebug_y_pred"
    VAL_LABELS = "val_smdebug_y"
    VAL_PREDICTIONS = "val_smdebug_y_pred"


ModelInputs = {ModelInput.INPUTS}
_OUTPUTS = {
    ModelOutput.LABELS: "labels",
    ModelOutput.PREDICTIONS: "predictions",
    ModelOutput.VAL_LABELS: "labels",
    ModelOutput.VAL_PREDICTIONS: "predictions",
}
ModelOutputs = set(_OUTPUTS)


def get_model_input_export_name() -> str:
    """Return the name under which what goes into a model is saved."""
    return "model_input"


def get_model_output_export_name(key: str) -> str:
    """Return the name under which one of ``ModelOutputs`` is saved."""
    return _OUTPUTS[key]


def get_export_name_for_keras(layer: Any, tensor_type: str, tensor: Any = None) -> str | None:
    """Return the name under which a tensor of a layer is saved.

    Args:
        layer: The layer, or its name.
        tensor_type: ``input``, ``output`` or ``weight``; of others there is no name.
        tensor: The tensor; not needed where ``layer`` is a name.
    """
    if tensor_type not in ("input", "output", "weight"):
        return None
    if isinstance(layer, str):
        return f"{layer}/{tensor_type}s"
    return f"{layer.name}/{tensor_type}s/{tensor.name}"


def get_keras_mode(mode: ModeKeys) -> str:
    """Return what Keras calls a mode."""
    return {"TRAIN": "train", "EVAL": "test"}.get(mode.name, "predict")


def load_tf_config_json(tf_config: str | None) -> Any:
    """Return what the text of ``TF_CONFIG`` holds; ``None`` if it is none."""
    try:
        return json.loads(tf_config or "")
    except ValueError:
        return None


def is_parameter_server_strategy(tf_config_json: TFConfig | None) -> bool:
    """Return whether there are parameter servers."""
    return "ps" in (tf_config_json or {}).get("cluster", {})


def get_worker_id_from_tf_config(tf_config_json: TFConfig) -> str:
    """Return who this process is, such as ``worker_0``."""
    return "{type}_{index}".format(**tf_config_json["task"])


def get_num_workers_from_tf_config(tf_config_json: TFConfig) -> int:
    """Return how many train."""
    cluster = tf_config_json["cluster"]
    return len(cluster["worker"]) + len(cluster.get("chief", ()))


def get_chief_worker_from_tf_config(tf_config_json: TFConfig) -> str:
    """Return who leads.

    Raises:
        SMDebugError: It is not said.
    """
    if "chief" not in tf_config_json["cluster"]:
        raise SMDebugError("TF_CONFIG names no chief")
    return "chief_0"


def is_tf_version_2x() -> bool:
    """Return whether TensorFlow 2 is installed."""
    return _version()[:1] == (2,)


def is_current_version_supported(tf_version: str | None = None) -> bool:
    """Return whether there is a hook for a version of TensorFlow: for those of Keras 3 there is."""
    return bool(tf_version or _version())


def _version() -> tuple[int, ...]:
    try:
        found = version("tensorflow")
    except PackageNotFoundError:
        return ()
    return tuple(int(part) for part in found.split(".")[:2])
