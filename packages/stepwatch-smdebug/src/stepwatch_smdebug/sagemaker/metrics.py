"""The metrics of jobs, as CloudWatch shows them: what a training printed, by periods of time.

There is one namespace, and a metric has one dimension, the name of its job. What nobody printed has
no data, as on AWS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

from stepwatch.errors import RequestRefused
from stepwatch.jobs.logs import MetricPoint, metric_points
from stepwatch.jobs.paths import JobPaths

from .account import Account

Request = Mapping[str, Any]
Response = dict[str, Any]
NAMESPACE, DIMENSION = "/aws/sagemaker/TrainingJobs", "TrainingJobName"
_STATISTICS: dict[str, Callable[[MetricPoint], float]] = {
    "Average": lambda point: point.total / point.count,
    "SampleCount": lambda point: float(point.count),
    "Sum": lambda point: point.total,
    "Minimum": lambda point: point.lowest,
    "Maximum": lambda point: point.highest,
}
# As many as CloudWatch gives at once.
_MOST_POINTS = 1440


def get_statistics(account: Account, request: Request) -> Response:
    """Describe a metric by the periods of a time."""
    name = request["MetricName"]
    if request.get("ExtendedStatistics") or not request.get("Statistics"):
        raise _invalid(f"Give Statistics, some of {', '.join(_STATISTICS)}; no percentiles.")
    points = _periods(account, request, request)
    if len(points) > _MOST_POINTS:
        raise RequestRefused(
            "InvalidParameterCombination",
            f"{len(points)} datapoints were asked for, and at most {_MOST_POINTS} are given;"
            " lengthen the Period, or ask for less time.",
        )
    datapoints = [
        {
            "Timestamp": point.second,
            "Unit": "None",
            **{one: _STATISTICS[one](point) for one in request["Statistics"]},
        }
        for point in points
    ]
    return {"Label": name, "Datapoints": datapoints}


def get_data(account: Account, request: Request) -> Response:
    """Return several metrics by the periods of a time."""
    newest_first = request.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    results = []
    for query in request["MetricDataQueries"]:
        if "MetricStat" not in query:
            raise _invalid(
                f"The query {query['Id']!r} has no MetricStat; no Expression is answered."
            )
        asked = query["MetricStat"]
        if asked["Stat"] not in _STATISTICS:
            raise _invalid(f"The Stat {asked['Stat']!r} is none of {', '.join(_STATISTICS)}.")
        points = _periods(account, {**asked, **asked["Metric"]}, request)
        if newest_first:
            points = points[::-1]
        if query.get("ReturnData", True):
            results.append(
                {
                    "Id": query["Id"],
                    "Label": query.get("Label", asked["Metric"].get("MetricName", "")),
                    "Timestamps": [point.second for point in points],
                    "Values": [_STATISTICS[asked["Stat"]](point) for point in points],
                    "StatusCode": "Complete",
                }
            )
    return {"MetricDataResults": results, "Messages": []}


def _periods(account: Account, metric: Request, time: Request) -> Sequence[MetricPoint]:
    """Return what was printed of a metric in each period that has any, the first ones first."""
    period = metric["Period"]
    if period not in (1, 5, 10, 30) and (period < 1 or period % 60):
        raise _invalid(f"The Period must be 1, 5, 10, 30 or a multiple of 60, got {period}.")
    dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions", ())}
    if metric.get("Namespace") != NAMESPACE or dimensions.keys() != {DIMENSION}:
        return []
    job = dimensions[DIMENSION]
    if job not in account.records.names():  # it becomes the name of a folder
        return []
    points = metric_points(JobPaths(account.records.home, job), metric.get("MetricName", ""))
    by_period = groupby(points, key=lambda point: point.second // period * period)
    found = [_at(start, reduce(add, group)) for start, group in by_period]
    first = time["StartTime"] // period * period
    return [point for point in found if first <= point.second < time["EndTime"]]


def _at(second: int, point: MetricPoint) -> MetricPoint:
    return MetricPoint(second, point.count, point.total, point.lowest, point.highest)


def _invalid(message: str) -> RequestRefused:
    return RequestRefused("InvalidParameterValue", message)
