"""Reads NVIDIA's accelerators by NVML; needs nvidia-ml-py and a driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import MissingDependency
from ..optional import require
from .devices import Reading

# Clocks that are low because nothing is to be done, or because somebody asked for it.
_WANTED = 0x1 | 0x2


class Gpus:
    """The accelerators of this machine.

    Args:
        nvml: The module ``pynvml``; for tests.

    Raises:
        MissingDependency: nvidia-ml-py is not installed.
        OSError: There is no driver, or none that answers.
    """

    def __init__(self, nvml: Any = None) -> None:
        self._nvml = nvml or require("pynvml", extra="profiler")
        try:
            self._nvml.nvmlInit()
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
            #: What they are called.
            self.names = tuple(
                _text(self._nvml.nvmlDeviceGetName(handle)) for handle in self._handles
            )
        except self._nvml.NVMLError as error:
            raise OSError(f"NVML: {error}") from None
        self._refused: set[tuple[str, str]] = set()

    def read(self) -> Iterator[Reading]:
        """Yield what they are at; nothing of what a device or its driver cannot tell."""
        nvml = self._nvml
        for number, handle in enumerate(self._handles):
            gpu = f"gpu{number}"
            busy = self._ask(gpu, "busy", nvml.nvmlDeviceGetUtilizationRates, handle)
            if busy is not None:
                yield gpu, "busy_percent", busy.gpu
            memory = self._ask(gpu, "memory", nvml.nvmlDeviceGetMemoryInfo, handle)
            if memory is not None:
                yield gpu, "memory_percent", 100 * memory.used / memory.total
                yield gpu, "memory_bytes", memory.used
            milliwatts = self._ask(gpu, "power", nvml.nvmlDeviceGetPowerUsage, handle)
            if milliwatts is not None:
                yield gpu, "power_watts", milliwatts / 1000
            heat = self._ask(gpu, "heat", nvml.nvmlDeviceGetTemperature, handle, 0)
            if heat is not None:
                yield gpu, "temperature_celsius", heat
            clock = self._ask(gpu, "clock", nvml.nvmlDeviceGetClockInfo, handle, 1)
            if clock is not None:
                yield gpu, "clock_mhz", clock
            why = self._ask(
                gpu, "throttling", nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle
            )
            if why is not None:
                yield gpu, "throttled", float(bool(why & ~_WANTED))

    def _ask(self, gpu: str, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a device tells; ``None`` if it does not, and it is not asked again."""
        if (gpu, what) in self._refused:
            return None
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            if isinstance(error, self._nvml.NVMLError_NotSupported):
                self._refused.add((gpu, what))
            return None


def open_gpus() -> tuple[Gpus | None, str]:
    """Return the accelerators, and why they are not read if they are not."""
    try:
        gpus = Gpus()
    except (MissingDependency, OSError) as error:
        return None, f"no accelerator is read: {error}"
    return (gpus, "") if gpus.names else (None, "no accelerator is read: NVML finds none")


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
