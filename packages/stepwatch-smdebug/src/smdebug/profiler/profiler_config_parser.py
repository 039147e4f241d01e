"""Reads the profiler configuration of a job of SageMaker.

It says what is asked for. The profiler of Stepwatch follows what the launch asks; smdebug's own
profiler of Python is not there.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping
from enum import Enum
from typing import Any

from ..core import environment
from ..core.json_config import get_node_id_from_resource_config
from ..core.logger import get_logger
from ..core.utils import FRAMEWORK, check_smmodelparallel_training, is_first_process
from .profiler_config import ProfilerConfig
from .profiler_constants import (
    BASE_FOLDER_DEFAULT,
    CLOSE_FILE_INTERVAL_DEFAULT,
    CONFIG_PATH_DEFAULT,
    FILE_OPEN_FAIL_THRESHOLD_DEFAULT,
    MAX_FILE_SIZE_DEFAULT,
)


class MetricsCategory(Enum):
    """The kinds of metrics."""

    DETAILED_PROFILING = 1
    DATALOADER_PROFILING = 2
    PYTHON_PROFILING = 3
    SMDATAPARALLEL_PROFILING = 4


class ProfilingParametersField(Enum):
    """The keys of a configuration; case does not count."""

    PROFILING_PARAMETERS = "profilingparameters"
    DISABLE_PROFILER = "disableprofiler"
    LOCAL_PATH = "localpath"
    FILE_MAX_SIZE = "rotatemaxfilesizeinbytes"
    FILE_CLOSE_INTERVAL = "rotatefilecloseintervalinseconds"
    FILE_OPEN_FAIL_THRESHOLD = "fileopenfailthreshold"
    DETAILED_PROFILING_CONFIG = "detailedprofilingconfig"
    DATALOADER_PROFILING_CONFIG = "dataloaderprofilingconfig"
    PYTHON_PROFILING_CONFIG = "pythonprofilingconfig"
    SMDATAPARALLEL_PROFILING_CONFIG = "smdataparallelprofilingconfig"


_RANGES = (
    ProfilingParametersField.DETAILED_PROFILING_CONFIG,
    ProfilingParametersField.DATALOADER_PROFILING_CONFIG,
    ProfilingParametersField.PYTHON_PROFILING_CONFIG,
    ProfilingParametersField.SMDATAPARALLEL_PROFILING_CONFIG,
)


class ProfilerConfigParser:
    """Reads the file that ``$SMPROFILER_CONFIG_PATH`` names, by default SageMaker's.

    Args:
        framework: What trains; has no effect.

    Attributes:
        config: What is asked for; ``None`` where nothing is.
        profiling_enabled: Whether something is.
    """

    def __init__(self, framework: FRAMEWORK | None = None) -> None:
        self.framework = framework
        self.config: ProfilerConfig | None = None
        self.profiling_enabled = False
        self.python_profiler = None
        self.last_json_config: Any = None
        self.logger = get_logger()
        self.load_config()

    def load_config(self) -> None:
        """Read the file, unless it holds what it held; one that cannot be read disables all."""
        path = environment.text("SMPROFILER_CONFIG_PATH") or CONFIG_PATH_DEFAULT
        try:
            with open(path, encoding="utf-8") as file:
                document = dict(json.loads(file.read().lower()))
        except FileNotFoundError:
            document = {}
        except (OSError, ValueError, TypeError, RecursionError) as error:
            self.logger.warning("%s cannot be read, so nothing is profiled: %s", path, error)
            document = {}
        if document and document == self.last_json_config:
            return
        self.last_json_config, self.config = document, None
        parameters = document.get(ProfilingParametersField.PROFILING_PARAMETERS.value) or {}
        is_off = document.get(ProfilingParametersField.DISABLE_PROFILER.value, False)
        self.profiling_enabled = bool(parameters) and not is_off
        if self.profiling_enabled:
            self.config = self._config(parameters)

    def _config(self, parameters: Mapping[str, Any]) -> ProfilerConfig:
        field = ProfilingParametersField
        folder = parameters.get(field.LOCAL_PATH.value, BASE_FOLDER_DEFAULT)
        files: tuple[int, float, int]
        defaults = (
            MAX_FILE_SIZE_DEFAULT,
            CLOSE_FILE_INTERVAL_DEFAULT,
            FILE_OPEN_FAIL_THRESHOLD_DEFAULT,
        )
        try:
            files = (
                int(float(parameters.get(field.FILE_MAX_SIZE.value, defaults[0]))),
                float(parameters.get(field.FILE_CLOSE_INTERVAL.value, defaults[1])),
                int(parameters.get(field.FILE_OPEN_FAIL_THRESHOLD.value, defaults[2])),
            )
        except ValueError as error:
            self.logger.info("%s; the profiler has its defaults", error)
            folder, files = BASE_FOLDER_DEFAULT, defaults
        config = ProfilerConfig(
            folder, *files, *(self._settings(parameters, one) for one in _RANGES)
        )
        if check_smmodelparallel_training():
            config.detailed_profiling_config.disabled = True
        for one in config.ranges:
            if one.error_message is not None:
                self.logger.error(one.error_message)
        return config

    def _settings(
        self, parameters: Mapping[str, Any], field: ProfilingParametersField
    ) -> Mapping[str, Any]:
        """Return a configuration within the configuration, which is the text of a dict."""
        found = parameters.get(field.value, {})
        try:
            found = ast.literal_eval(found) if isinstance(found, str) else found
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            self.logger.warning("%s: %s", field.value, error)
        return found if isinstance(found, dict) else {}

    def should_save_metrics(
        self,
        metrics_category: MetricsCategory,
        current_step: int | str,
        metrics_name: str | None = None,
        current_time: float | None = None,
    ) -> bool:
        """Return whether a kind of metrics is to be profiled at a step.

        Args:
            metrics_category: The kind.
            current_step: The step; ``"*"`` before the first and after the last one.
            metrics_name: Of data loaders, which of their metrics.
            current_time: Seconds since the Unix epoch; now by default.
        """
        if not self.profiling_enabled or self.config is None:
            return False
        if not isinstance(metrics_category, MetricsCategory):
            return False
        loaders = self.config.dataloader_profiling_config
        is_named = metrics_category is MetricsCategory.DATALOADER_PROFILING and metrics_name
        if is_named and not loaders.valid_metrics_name(str(metrics_name)):
            return False
        which = self.config.ranges[metrics_category.value - 1]
        return which.can_start_profiling(current_step, current_time)

    def write_tf_dataloader_flag(self, flag_filename: str) -> bool | None:
        """Leave a mark for TensorFlow of AWS, where data loaders are profiled.

        Returns:
            Whether this call made it; ``None`` where they are not profiled.
        """
        if self.config is None or not self.config.dataloader_profiling_config.is_enabled():
            return None
        folder = os.path.join(self.config.local_path, get_node_id_from_resource_config() or "")
        return is_first_process(os.path.join(folder, flag_filename), is_dir=False)

    def is_python_profiling_enabled(self) -> bool:
        """Return whether Python is to be profiled."""
        return self.config is not None and self.config.python_profiling_config.is_enabled()


class _One:
    parser: ProfilerConfigParser | None = None


def get_profiler_config_parser(framework: FRAMEWORK | None = None) -> ProfilerConfigParser:
    """Return the parser of this process, which is made with the first call."""
    if _One.parser is None:
        _One.parser = ProfilerConfigParser(framework)
    return _One.parser


def reset_profiler_config_parser() -> None:
    """Forget the parser of this process."""
    _One.parser = None
