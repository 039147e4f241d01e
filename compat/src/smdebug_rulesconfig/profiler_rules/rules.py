"""A class for every rule that looks at where time and hardware go.

The defaults are those that ran on SageMaker; its documentation names others for some.
"""

from __future__ import annotations

import math

from ..errors import InvalidParameter

_MINUTE_US = 60_000_000


class ProfilerRuleBase:
    """The configuration of one profiler rule.

    Args:
        parameters: Of the rule, by name.
    """

    def __init__(self, **parameters: object) -> None:
        self.rule_name = type(self).__name__
        self.rule_parameters = {**parameters, "rule_to_invoke": self.rule_name}

    def __repr__(self) -> str:
        return f"{self.rule_name}({self.rule_parameters!r})"


class BatchSize(ProfilerRuleBase):
    """The batch is too small: neither CPU nor GPU nor its memory is used much."""

    def __init__(
        self,
        cpu_threshold_p95: float = 70,
        gpu_threshold_p95: float = 70,
        gpu_memory_threshold_p95: float = 70,
        patience: int = 1000,
        window: int = 500,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_percents(
                cpu_threshold_p95=cpu_threshold_p95,
                gpu_threshold_p95=gpu_threshold_p95,
                gpu_memory_threshold_p95=gpu_memory_threshold_p95,
            ),
            **_positive(patience=patience, window=window, scan_interval_us=scan_interval_us),
        )


class CPUBottleneck(ProfilerRuleBase):
    """GPUs wait while CPUs are busy."""

    def __init__(
        self,
        threshold: float = 50,
        gpu_threshold: float = 10,
        cpu_threshold: float = 90,
        patience: int = 1000,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_percents(
                threshold=threshold, gpu_threshold=gpu_threshold, cpu_threshold=cpu_threshold
            ),
            **_positive(patience=patience, scan_interval_us=scan_interval_us),
        )


class Dataloader(ProfilerRuleBase):
    """Too few or too many processes load data."""

    def __init__(
        self,
        min_threshold: float = 70,
        max_threshold: float = 200,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_positive(
                min_threshold=min_threshold,
                max_threshold=max_threshold,
                scan_interval_us=scan_interval_us,
            )
        )


class GPUMemoryIncrease(ProfilerRuleBase):
    """The memory in use on a GPU grows."""

    def __init__(
        self,
        increase: float = 5,
        patience: int = 1000,
        window: int = 10,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_positive(
                increase=increase,
                patience=patience,
                window=window,
                scan_interval_us=scan_interval_us,
            )
        )


class IOBottleneck(ProfilerRuleBase):
    """GPUs wait while the machine waits for its disks."""

    def __init__(
        self,
        threshold: float = 50,
        gpu_threshold: float = 10,
        io_threshold: float = 50,
        patience: int = 1000,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_percents(
                threshold=threshold, gpu_threshold=gpu_threshold, io_threshold=io_threshold
            ),
            **_positive(patience=patience, scan_interval_us=scan_interval_us),
        )


class LoadBalancing(ProfilerRuleBase):
    """The GPUs of a machine do not work alike."""

    def __init__(
        self,
        threshold: float = 0.5,
        patience: int = 1000,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_positive(threshold=threshold, patience=patience, scan_interval_us=scan_interval_us)
        )


class LowGPUUtilization(ProfilerRuleBase):
    """GPUs idle, or work in fits and starts."""

    def __init__(
        self,
        threshold_p95: float = 70,
        threshold_p5: float = 10,
        window: int = 500,
        patience: int = 1000,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        super().__init__(
            **_percents(threshold_p95=threshold_p95, threshold_p5=threshold_p5),
            **_positive(window=window, patience=patience, scan_interval_us=scan_interval_us),
        )


class MaxInitializationTime(ProfilerRuleBase):
    """The first step comes late; ``threshold`` is in minutes."""

    def __init__(self, threshold: float = 20, scan_interval_us: int = _MINUTE_US) -> None:
        super().__init__(**_positive(threshold=threshold, scan_interval_us=scan_interval_us))


class OverallFrameworkMetrics(ProfilerRuleBase):
    """A summary of the time in the framework; it never fires."""

    def __init__(self, scan_interval_us: int = _MINUTE_US) -> None:
        super().__init__(**_positive(scan_interval_us=scan_interval_us))


class OverallSystemUsage(ProfilerRuleBase):
    """A summary of what the hardware did; it never fires."""

    def __init__(self, scan_interval_us: int = _MINUTE_US) -> None:
        super().__init__(**_positive(scan_interval_us=scan_interval_us))


class StepOutlier(ProfilerRuleBase):
    """Some steps take far longer than others."""

    def __init__(
        self,
        stddev: float = 3,
        mode: str | None = None,
        n_outliers: int = 10,
        scan_interval_us: int = _MINUTE_US,
    ) -> None:
        if mode is not None and not isinstance(mode, str):
            raise InvalidParameter(f"mode must be the name of a mode, got {mode!r}")
        super().__init__(
            **_positive(stddev=stddev),
            mode=mode,
            **_positive(n_outliers=n_outliers, scan_interval_us=scan_interval_us),
        )


def _percents(**values: object) -> dict[str, object]:
    for name, value in values.items():
        if not 0 <= _number(name, value) <= 100:
            raise InvalidParameter(f"{name} must be between 0 and 100, got {value!r}")
    return values


def _positive(**values: object) -> dict[str, object]:
    for name, value in values.items():
        if not _number(name, value) > 0:
            raise InvalidParameter(f"{name} must be above 0, got {value!r}")
    return values


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise InvalidParameter(f"{name} must be a number, got {value!r}")
    return value
