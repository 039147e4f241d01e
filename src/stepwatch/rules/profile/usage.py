"""Rules that find nothing, and sum up: how machines were used, and where the time went."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from ..checks import number
from ..rule import Findings
from .recent import Quantiles
from .rule import ProfileRule
from .window import CORES, GPUS, ProfileWindow, by_node, mean_together

#: What is summed up: its name, of which devices the mean is taken, of which metric, and its unit.
OF_MACHINES = (
    ("CPU", CORES, "busy_percent", "%"),
    ("CPU memory", "memory", "used_percent", "%"),
    ("GPU", GPUS, "busy_percent", "%"),
    ("GPU memory", GPUS, "memory_percent", "%"),
    ("I/O wait", CORES, "iowait_percent", "%"),
    ("network received", "network", "receive_bytes_per_second", "bytes/s"),
    ("network sent", "network", "transmit_bytes_per_second", "bytes/s"),
    ("disk read", "disk", "read_bytes_per_second", "bytes/s"),
    ("disk written", "disk", "write_bytes_per_second", "bytes/s"),
)
UNITS = {name: unit for name, *_, unit in OF_MACHINES}
#: Operators that take less of the time than this are not told one by one.
_LEAST_SHARE = 0.02


class OverallSystemUsage(ProfileRule):
    """How machines were used over the whole run; it finds nothing.

    Args:
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "overall_system_usage"

    def __init__(self, scan_interval_us: int = 60_000_000) -> None:
        super().__init__(scan_interval_us)
        self._used: defaultdict[tuple[str, str], Quantiles] = defaultdict(Quantiles)

    def add(self, window: ProfileWindow) -> None:
        for name, device, metric, _ in OF_MACHINES:
            for node, readings in by_node(window.readings(device, metric)).items():
                self._used[node, name].add(mean_together(readings).values)

    def judge(self, window: ProfileWindow) -> Findings:  # noqa: ARG002
        return iter(())

    @property
    def datapoints(self) -> int:
        return max((used.count for used in self._used.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {
            f"{node} {name}": {"unit": UNITS[name], **used.table()}
            for (node, name), used in sorted(self._used.items())
            if used.count
        }

    def summary(self) -> str:
        shown = ("CPU", "CPU memory", "GPU", "GPU memory")
        said = [
            f"{node} {name} {number(used.of(0.5))}% ({number(used.of(0.95))}%)"
            for (node, name), used in sorted(self._used.items())
            if name in shown and used.count
        ]
        return f"median (p95): {', '.join(said)}" if said else ""


class OverallFrameworkMetrics(ProfileRule):
    """Where the time of the run went: its modes, phases and operators; it finds nothing.

    Args:
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "overall_framework_metrics"
    evidence_words = "times of steps"

    def __init__(self, scan_interval_us: int = 60_000_000) -> None:
        super().__init__(scan_interval_us)
        self._ends: dict[str, tuple[int, int]] = {}
        self._spent: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._steps = 0

    def add(self, window: ProfileWindow) -> None:
        for (worker, mode), spans in window.intervals("step").items():
            self._steps += len(spans.start_ns)
            self._spent["mode"][mode] += int(spans.duration_ns.sum())
            first, last = self._ends.get(worker, (int(spans.start_ns[0]), 0))
            ended = int((spans.start_ns + spans.duration_ns).max())
            self._ends[worker] = first, max(last, ended)
        for kind in ("phase", "loader", "collective", "pause", "operator"):
            for spans in window.intervals(kind).values():
                for name, duration in zip(
                    spans.name.tolist(), spans.duration_ns.tolist(), strict=True
                ):
                    self._spent[kind][name] += duration

    def judge(self, window: ProfileWindow) -> Findings:  # noqa: ARG002
        return iter(())

    @property
    def datapoints(self) -> int:
        return self._steps

    def details(self) -> Mapping[str, object]:
        modes, phases = self._spent["mode"], self._spent["phase"]
        others = max(0, self._total_ns - sum(modes.values()))
        shown = {
            **self._spent,
            "mode": modes + Counter({"others": others}),
            "pass": Counter({name: phases[name] for name in ("forward", "backward")}),
        }
        return {kind: _in_percent(times) for kind, times in shown.items()}

    def summary(self) -> str:
        shares = _in_percent(self._spent["phase"])
        said = [f"{name} {number(share)}%" for name, share in shares.items()]
        return f"of the time of steps: {', '.join(said)}" if said else ""

    @property
    def _total_ns(self) -> int:
        """From the first step to the last, summed over workers."""
        return sum(last - first for first, last in self._ends.values())


def _in_percent(times: Counter[str]) -> dict[str, float]:
    """Return the share of each in percent, the largest first; what is small is left out.

    Example:
        >>> _in_percent(Counter(matmul=75, relu=25, copy=1))
        {'matmul': 75.0, 'relu': 25.0}
    """
    total = sum(times.values())
    large = {name: ns for name, ns in times.most_common() if ns > 0 and ns >= _LEAST_SHARE * total}
    return {name: round(100 * ns / sum(large.values()), 2) for name, ns in large.items()}
