"""The profile of a training job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from stepwatch.errors import RunNotFound
from stepwatch.plugins.registry import require

from ...algorithm_metrics_reader import S3AlgorithmMetricsReader
from ...metrics_reader_base import MetricsReaderBase
from ...system_metrics_reader import S3SystemMetricsReader

_POLL_S = 10.0
_OVER = ("Completed", "Failed", "Stopped")


class TrainingJob:
    """A training job of SageMaker, or of a server with the same API.

    Args:
        training_job_name: Its name.
        region: Where it is; by default as AWS's own programs would.

    Raises:
        RunNotFound: The job is not profiled.
    """

    def __init__(self, training_job_name: str, region: str | None = None) -> None:
        boto3: Any = require("boto3", extra="s3-profiles")
        self.name, self.region = training_job_name, region
        self.sm_client: Any = boto3.client("sagemaker", region_name=region)
        self.profiler_config, self.profiler_s3_output_path = (
            self.get_config_and_profiler_s3_output_path()
        )
        self.system_metrics_reader: S3SystemMetricsReader | None = None
        self.framework_metrics_reader: S3AlgorithmMetricsReader | None = None

    def describe_training_job(self) -> Mapping[str, Any]:
        """Return the description of the job."""
        described: Mapping[str, Any] = self.sm_client.describe_training_job(
            TrainingJobName=self.name
        )
        return described

    def get_sm_client(self) -> Any:
        """Return the client of SageMaker."""
        return self.sm_client

    def get_config_and_profiler_s3_output_path(self) -> tuple[Mapping[str, Any], str]:
        """Return how the job is profiled, and where its profile lies."""
        config = self.describe_training_job().get("ProfilerConfig", {})
        if "S3OutputPath" not in config:
            raise RunNotFound(
                f"training job {self.name} has no profile: its ProfilerConfig names no S3OutputPath"
            )
        return config, f"{config['S3OutputPath'].rstrip('/')}/{self.name}/profiler-output"

    def wait_for_sys_profiling_data_to_be_available(self) -> None:
        """Wait until there are readings of the hardware, or the job is over."""
        self.system_metrics_reader = S3SystemMetricsReader(self.profiler_s3_output_path)
        self._wait(self.system_metrics_reader)

    def wait_for_framework_profiling_data_to_be_available(self) -> None:
        """Wait until there are intervals of the framework, or the job is over."""
        self.framework_metrics_reader = S3AlgorithmMetricsReader(self.profiler_s3_output_path)
        self._wait(self.framework_metrics_reader)

    def get_systems_metrics_reader(self) -> S3SystemMetricsReader | None:
        """Return what reads the readings; ``None`` before they were waited for."""
        return self.system_metrics_reader

    def get_framework_metrics_reader(self) -> S3AlgorithmMetricsReader | None:
        """Return what reads the intervals; ``None`` before they were waited for."""
        return self.framework_metrics_reader

    def _wait(self, reader: MetricsReaderBase) -> None:
        while True:
            over = self.describe_training_job().get("TrainingJobStatus") in _OVER
            reader.refresh_event_file_list()
            if reader.get_timestamp_of_latest_available_file():
                return
            if over:
                raise RunNotFound(
                    f"training job {self.name} is over and left no profile at"
                    f" {self.profiler_s3_output_path}"
                )
            time.sleep(_POLL_S)
