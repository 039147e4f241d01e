"""Accelerators, by a driver that answers as NVIDIA's does: most machines that test have none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepwatch.profile.devices import Gpus, open_gpus


class NVMLError(Exception):
    """What the driver raises."""


class NVMLErrorNotSupported(NVMLError):
    """What it raises for what a device does not have."""


def driver(count: int = 2, **functions: object) -> SimpleNamespace:
    def refuse(*_: object) -> None:
        raise NVMLErrorNotSupported

    known = {
        "NVMLError": NVMLError,
        "NVMLError_NotSupported": NVMLErrorNotSupported,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: count,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda handle: f"GPU {handle}".encode(),
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=90 + handle, memory=5),
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(used=20, total=80),
        "nvmlDeviceGetPowerUsage": lambda _: 350_500,
        "nvmlDeviceGetTemperature": lambda *_: 61,
        "nvmlDeviceGetClockInfo": lambda *_: 1980,
        "nvmlDeviceGetCurrentClocksThrottleReasons": refuse,
    }
    return SimpleNamespace(**known, **{}) if not functions else SimpleNamespace(**known | functions)


def read(gpus: Gpus) -> dict[tuple[str, str], float]:
    return {(device, metric): value for device, metric, value in gpus.read()}


class TestGpus:
    def test_each_device_is_told_of(self):
        """What a device cannot tell is left out; the rest is told in our units."""
        gpus = Gpus(driver())

        found = read(gpus)

        assert ("GPU 0", "GPU 1") == gpus.names
        assert (90, 91) == (found["gpu0", "busy_percent"], found["gpu1", "busy_percent"])
        assert (25.0, 20, 350.5, 61, 1980) == tuple(
            found["gpu0", metric]
            for metric in (
                "memory_percent", "memory_bytes", "power_watts", "temperature_celsius", "clock_mhz"
            )
        )  # fmt: skip
        assert ("gpu0", "throttled") not in found

    @pytest.mark.parametrize(("reasons", "throttled"), [(0, 0.0), (1, 0.0), (4, 1.0), (5, 1.0)])
    def test_throttling_is_not_idleness(self, reasons, throttled):
        """A clock that is low because nothing is to be done is not throttled."""
        gpus = Gpus(driver(nvmlDeviceGetCurrentClocksThrottleReasons=lambda _: reasons))

        assert throttled == read(gpus)["gpu0", "throttled"]

    def test_a_driver_that_is_lost_tells_nothing_and_comes_back(self):
        """An error in the middle of a run costs the readings that it hides."""
        answers = iter([NVMLError("GPU is lost"), SimpleNamespace(gpu=7, memory=0)])

        def rates(_: object) -> object:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        gpus = Gpus(driver(count=1, nvmlDeviceGetUtilizationRates=rates))

        assert ("gpu0", "busy_percent") not in read(gpus)
        assert 7 == read(gpus)["gpu0", "busy_percent"]

    def test_a_machine_without_one_says_why(self, monkeypatch):
        """There is a note, and no reading."""

        def refuse() -> None:
            raise NVMLError("Driver Not Loaded")

        with pytest.raises(OSError, match="Driver Not Loaded"):
            Gpus(driver(nvmlInit=refuse))
        monkeypatch.setattr("stepwatch.profile.devices.require", lambda *_, **__: driver(count=0))
        assert (None, "no accelerator is read: NVML finds none") == open_gpus()
