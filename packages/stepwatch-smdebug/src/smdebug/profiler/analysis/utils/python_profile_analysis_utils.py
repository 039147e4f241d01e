"""What Python's profilers measured."""

from __future__ import annotations

import pstats
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from stepwatch.plugins.registry import require

from ...python_profile_utils import PythonProfileModes, StepPhase, str_to_python_profile_mode


class Metrics(Enum):
    """What cProfile measures of a function."""

    TOTAL_TIME = "tottime"
    CUMULATIVE_TIME = "cumtime"
    PRIMITIVE_CALLS = "pcalls"
    TOTAL_CALLS = "ncalls"


@dataclass(frozen=True, slots=True)
class StepPythonProfileStats:
    """One time that Python was profiled.

    The profiler is ``cprofile`` or ``pyinstrument``, a step -1 before the first and infinite at the
    end.
    """

    profiler_name: str
    framework: str
    node_id: str
    start_mode: PythonProfileModes
    start_step: float
    start_phase: StepPhase
    start_time_since_epoch_in_micros: float
    end_mode: PythonProfileModes
    end_step: float
    end_phase: StepPhase
    end_time_since_epoch_in_micros: float
    stats_path: str

    @classmethod
    def of_path(cls, path: str) -> StepPythonProfileStats:
        """Parse the path of a file: ``framework/profiler/node/from_to/file``.

        Raises:
            ValueError: It is not such a path.
        """
        framework, profiler, node, stretch, _ = path.split("/")[-5:]
        began, ended = (one.split("-") for one in stretch.split("_"))
        start_mode, start_step, start_phase, start = began
        end_mode, end_step, end_phase, end = ended
        return cls(
            profiler,
            framework,
            node,
            str_to_python_profile_mode(start_mode),
            -1 if start_step == "*" else int(start_step),
            StepPhase(start_phase),
            float(start),
            str_to_python_profile_mode(end_mode),
            float("inf") if end_step == "*" else int(end_step),
            StepPhase(end_phase),
            float(end),
            path,
        )

    def has_start_and_end_mode(
        self, start_mode: PythonProfileModes, end_mode: PythonProfileModes
    ) -> bool:
        """Return whether it began in one mode and ended in another."""
        return (self.start_mode, self.end_mode) == (start_mode, end_mode)

    def in_time_interval(
        self, start_time_since_epoch_in_micros: float, end_time_since_epoch_in_micros: float
    ) -> bool:
        """Return whether it meets a time."""
        return (
            self.start_time_since_epoch_in_micros <= end_time_since_epoch_in_micros
            and self.end_time_since_epoch_in_micros >= start_time_since_epoch_in_micros
        )

    def has_node_id(self, node_id: str) -> bool:
        """Return whether a machine wrote it."""
        return self.node_id == node_id

    def in_step_interval(
        self, start_step: float, end_step: float, start_phase: StepPhase, end_phase: StepPhase
    ) -> bool:
        """Return whether it lies from a phase of one step to a phase of another."""
        if not start_step <= self.start_step <= self.end_step <= end_step:
            return False
        late = start_phase in (StepPhase.STEP_END, StepPhase.FORWARD_PASS_END)
        if start_step == self.start_step and late and self.start_phase != start_phase:
            return False
        early = end_phase is StepPhase.STEP_START
        return not (end_step == self.end_step and early and self.end_phase != end_phase)

    def has_pre_step_zero_profile_stats(self) -> bool:
        """Return whether it began before the first step."""
        return self.start_phase is StepPhase.START

    def has_post_hook_close_profile_stats(self) -> bool:
        """Return whether it ended after the hook was closed."""
        return self.end_phase is StepPhase.END


@dataclass(frozen=True, slots=True)
class cProfileFunctionStats:  # noqa: N801 - smdebug's name
    """What cProfile measured of a function.

    The primitive calls are those that were not from within itself.
    """

    function_name: str  # file:line(name)
    prim_calls: int
    total_calls: int
    total_time: float  # seconds in it alone
    cumulative_time: float  # seconds in it and in what it called
    callers: list[str]


_name: Callable[[Any], str] = pstats.func_std_string  # type: ignore[attr-defined]


class cProfileStats:  # noqa: N801 - smdebug's name
    """What cProfile measured.

    Args:
        ps: The statistics of Python's ``pstats``.
    """

    def __init__(self, ps: pstats.Stats) -> None:
        self.ps = ps
        measured: dict[Any, Any] = ps.stats  # type: ignore[attr-defined]
        self.function_stats_list = [
            cProfileFunctionStats(_name(key), calls, all_calls, own, whole, [*map(_name, callers)])
            for key, (calls, all_calls, own, whole, callers) in measured.items()
        ]

    def print_top_n_functions(self, by: Metrics, n: int = 10) -> None:
        """Print the functions that come first by a measure."""
        self.ps.sort_stats(Metrics(by).value).print_stats(n)

    def get_function_stats(self) -> Any:
        """Return a frame with a row for each function."""
        pandas = require("pandas", extra="analysis")
        return pandas.DataFrame([asdict(one) for one in self.function_stats_list])


@dataclass(frozen=True, slots=True)
class PyinstrumentStepStats:
    """What pyinstrument measured.

    Args:
        html_file_path: The HTML page of the statistics; empty if there is none.
        json_stats: The same statistics as JSON's types.
    """

    html_file_path: str
    json_stats: Any
