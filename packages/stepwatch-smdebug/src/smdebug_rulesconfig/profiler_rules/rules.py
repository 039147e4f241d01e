"""A class for every rule about where time and hardware go.

The defaults are those that ran on SageMaker; its documentation names others for some.
"""

from __future__ import annotations

import math
from inspect import Parameter, Signature
from typing import ClassVar

from ..errors import InvalidParameter

# A parameter has its default, and the range in which a value is valid.
_PERCENT, _POSITIVE, _MODE = "between 0 and 100", "above 0", "the name of a mode"
_Declared = dict[str, tuple[object, str]]
_SCAN: _Declared = {"scan_interval_us": (60_000_000, _POSITIVE)}
_PATIENCE: _Declared = {"patience": (1000, _POSITIVE)}


class ProfilerRuleBase:
    """The configuration of one profiler rule; a rule declares its parameters.

    Raises:
        InvalidParameter: A value out of its range.
        TypeError: There is no such parameter.
    """

    declared: ClassVar[_Declared] = {}

    def __init_subclass__(cls) -> None:
        parameters = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for name, (default, _) in cls.declared.items()
        ]
        if parameters:
            cls.__signature__ = Signature(parameters)  # type: ignore[attr-defined]

    def __init__(self, *values: object, **named: object) -> None:
        self.rule_name = type(self).__name__
        parameters = named
        if self.declared:
            bound = self.__signature__.bind(*values, **named)  # type: ignore[attr-defined]
            bound.apply_defaults()
            parameters = bound.arguments
            for name, value in parameters.items():
                _check(name, value, self.declared[name][1])
        self.rule_parameters = {**parameters, "rule_to_invoke": self.rule_name}

    def __repr__(self) -> str:
        return f"{self.rule_name}({self.rule_parameters!r})"


class BatchSize(ProfilerRuleBase):
    """The batch is too small: neither CPU nor GPU nor its memory is used much."""

    declared: ClassVar[_Declared] = {
        "cpu_threshold_p95": (70, _PERCENT),
        "gpu_threshold_p95": (70, _PERCENT),
        "gpu_memory_threshold_p95": (70, _PERCENT),
        **_PATIENCE,
        "window": (500, _POSITIVE),
        **_SCAN,
    }


class CPUBottleneck(ProfilerRuleBase):
    """GPUs wait while CPUs are busy."""

    declared: ClassVar[_Declared] = {
        "threshold": (50, _PERCENT),
        "gpu_threshold": (10, _PERCENT),
        "cpu_threshold": (90, _PERCENT),
        **_PATIENCE,
        **_SCAN,
    }


class Dataloader(ProfilerRuleBase):
    """Too few or too many processes load data."""

    declared: ClassVar[_Declared] = {
        "min_threshold": (70, _POSITIVE),
        "max_threshold": (200, _POSITIVE),
        **_SCAN,
    }


class GPUMemoryIncrease(ProfilerRuleBase):
    """The memory in use on a GPU grows."""

    declared: ClassVar[_Declared] = {
        "increase": (5, _POSITIVE),
        **_PATIENCE,
        "window": (10, _POSITIVE),
        **_SCAN,
    }


class IOBottleneck(ProfilerRuleBase):
    """GPUs wait while the machine waits for its disks."""

    declared: ClassVar[_Declared] = {
        "threshold": (50, _PERCENT),
        "gpu_threshold": (10, _PERCENT),
        "io_threshold": (50, _PERCENT),
        **_PATIENCE,
        **_SCAN,
    }


class LoadBalancing(ProfilerRuleBase):
    """The GPUs of a machine do not work alike."""

    declared: ClassVar[_Declared] = {"threshold": (0.5, _POSITIVE), **_PATIENCE, **_SCAN}


class LowGPUUtilization(ProfilerRuleBase):
    """GPUs idle, or work in fits and starts."""

    declared: ClassVar[_Declared] = {
        "threshold_p95": (70, _PERCENT),
        "threshold_p5": (10, _PERCENT),
        "window": (500, _POSITIVE),
        **_PATIENCE,
        **_SCAN,
    }


class MaxInitializationTime(ProfilerRuleBase):
    """The first step comes late; ``threshold`` is in minutes."""

    declared: ClassVar[_Declared] = {"threshold": (20, _POSITIVE), **_SCAN}


class OverallFrameworkMetrics(ProfilerRuleBase):
    """A summary of the time in the framework; it never fires."""

    declared = _SCAN


class OverallSystemUsage(ProfilerRuleBase):
    """A summary of what the hardware did; it never fires."""

    declared = _SCAN


class StepOutlier(ProfilerRuleBase):
    """Some steps take far longer than others."""

    declared: ClassVar[_Declared] = {
        "stddev": (3, _POSITIVE),
        "mode": (None, _MODE),
        "n_outliers": (10, _POSITIVE),
        **_SCAN,
    }


def _check(name: str, value: object, wanted: str) -> None:
    if wanted == _MODE:
        if value is not None and not isinstance(value, str):
            raise InvalidParameter(f"{name} must be {wanted}, got {value!r}")
    elif isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidParameter(f"{name} must be a number, got {value!r}")
    elif not (0 <= value <= 100 if wanted == _PERCENT else value > 0):
        raise InvalidParameter(f"{name} must be {wanted}, got {value!r}")
