"""Where a hook configuration wants TensorBoard's files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import ConfigError
from .parameters import Parameters
from .variables import JOB_VARIABLE

TENSORBOARD_VARIABLE = "TENSORBOARD_CONFIG_FILE_PATH"
TENSORBOARD_PATH = "/opt/ml/input/config/tensorboardoutputconfig.json"
DEFAULT_TENSORBOARD = "/opt/ml/output/tensorboard"


def tensorboard_folder(hook: Parameters, run: str, variables: Mapping[str, str]) -> str | None:
    """Return the folder or URL for TensorBoard's files, ``None`` for none.

    On SageMaker a file of its own decides, whatever the hook's settings say.

    Args:
        hook: The hook's settings.
        run: Where the run lies; by default the files go below it.
        variables: The environment.
    """
    folder = hook.values.get("tensorboard_dir")
    export = "export_tensorboard" in hook and hook.flag("export_tensorboard")
    if variables.get(JOB_VARIABLE):
        return _of_sagemaker(Path(variables.get(TENSORBOARD_VARIABLE) or TENSORBOARD_PATH))
    if folder is not None and hook.text("tensorboard_dir"):
        return os.path.expanduser(hook.text("tensorboard_dir"))
    return f"{run.rstrip('/')}/tensorboard" if export else None


def _of_sagemaker(file: Path) -> str | None:
    if not file.is_file():
        return None
    try:
        document = Parameters(json.loads(file.read_text(encoding="utf-8")), f"{file}")
    except ValueError as error:
        raise ConfigError(f"TensorBoard configuration {file} is no JSON: {error}") from None
    if document.values.get("LocalPath") is None:
        return DEFAULT_TENSORBOARD
    return os.path.expanduser(document.text("LocalPath"))
