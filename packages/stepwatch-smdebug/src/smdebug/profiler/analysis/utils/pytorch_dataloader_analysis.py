"""The times of PyTorch's data loaders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwatch.plugins.registry import require

from ...utils import TIME_FORMAT
from ..notebook_utils.chart import EVERYTHING
from ..notebook_utils.timeline_charts import TimelineCharts
from .profiler_data_to_pandas import PandasFrame

_TIMES = ["start_time", "end_time", "duration_us"]


class PT_dataloader_analysis:  # noqa: N801 - smdebug's name
    """Describes PyTorch's data loaders; each method prints what it finds and returns outliers.

    Of jobs on SageMaker it needs AWS's builds of PyTorch; of runs of ours the processes that load.

    Args:
        pandas_frame: The profile of the job.
    """

    def __init__(self, pandas_frame: PandasFrame) -> None:
        self.pd_data_frame = pandas_frame
        load = pandas_frame.get_all_dataloader_metrics
        self.dataIter_metric = load([".*DataLoaderIter::GetNext"])
        self.initialize_metric = load(["DataLoaderIterInitialize"])
        self.dataWorker_metric = load(["DataLoaderWorker"])

    def analyze_dataloaderIter_initialization(self) -> None:  # noqa: N802 - smdebug's name
        """Print how long it takes to begin an epoch, by kind of iterator."""
        if not len(self.initialize_metric):
            print("no iterator of a DataLoader was begun, as far as the profile tells")
        for kind, rows in self.initialize_metric.groupby("framework_metric"):
            print(
                f"{kind}: begun {len(rows)} times, with {rows['num_workers'].iloc[0]} workers and"
                f" pin_memory={rows['pin_memory'].iloc[0]};"
                f" median {rows['duration_us'].median()} us,"
                f" longest {rows['duration_us'].max()} us"
            )

    def analyze_dataloaderWorkers(self) -> Any:  # noqa: N802 - smdebug's name
        """Print how long processes load, and return those that take twice as long or more."""
        return _outliers("processes that load", self.dataWorker_metric)

    def analyze_dataloader_getnext(self) -> Any:
        """Print how long batches are waited for, and return the waits that are twice as long."""
        return _outliers("waits for a batch", self.dataIter_metric)

    def analyze_batchtime(self) -> Any:
        """Print the time from one batch to the next, and return those that are twice as long."""
        pandas = require("pandas", extra="analysis")
        rows = self.dataIter_metric
        began = pandas.to_datetime(rows["start_time"], format=TIME_FORMAT)
        rows = rows.assign(start_time=began).sort_values(["node_id", "pid", "end_time"])
        of_process = rows.groupby(["node_id", "pid"])["start_time"]
        rows = rows.assign(
            BatchTime_in_seconds=of_process.diff().dt.total_seconds(),
            previous_batch_start=of_process.shift(),
        )
        columns = ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"]
        return _outliers("times from batch to batch", rows, "BatchTime_in_seconds", columns)

    def plot_the_window(
        self,
        start_timestamp: float,
        end_timestamp: float,
        select_events: Sequence[str] = EVERYTHING,
        select_dimensions: Sequence[str] = EVERYTHING,
    ) -> TimelineCharts:
        """Draw what the hardware did in a time, in microseconds since the Unix epoch."""
        frame = self.pd_data_frame
        return TimelineCharts(
            frame.system_metrics_reader,
            frame.framework_metrics_reader,
            start_timestamp,
            end_timestamp,
            select_dimensions,
            select_events,
        )


def _outliers(
    what: str,
    rows: Any,
    column: str = "duration_us",
    columns: Sequence[str] = (*_TIMES, "worker_id"),
) -> Any:
    """Print median and longest; return the rows of twice the median or more, ``None`` for none."""
    if not len(rows):
        print(f"the profile tells of no {what}")
        return None
    median = rows[column].median()
    print(f"{len(rows)} {what}: median {median}, longest {rows[column].max()} ({column})")
    found = rows.loc[rows[column] >= 2 * median, list(columns)]
    found = found.sort_values(column, ascending=False).reset_index(drop=True)
    if not len(found):
        print("none takes twice the median or more")
        return None
    return found
