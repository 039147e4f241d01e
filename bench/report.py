"""What was measured, as rows of a table with the targets beside them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from footprint import Footprint
from models import KINDS
from processes import SMDEBUG, SMDEBUG_NONE
from rounds import Timed
from ways import NONE, Way
from write_rate import WriteRate

from stepwatch.numerics.statistics import has_kernel

QUEUE_MB = 256 * 2**20 / 1e6  # what full values may hold while they wait to be written
FRACTION_TARGET = 0.9


@dataclass
class Scene:
    """One model, eager or compiled, trained in all ways; filled while it is measured.

    Args:
        kind: A key of ``models.KINDS``.
        mode: ``eager`` or ``compiled``.
        ways: Those in this process, by name.
        timed: What each way took.
        plain: What training without a tool took in the processes of others, by their way.
        footprints: What each takes alone; of an eager scene.
        failed: What a process of a way said when it failed.
    """

    kind: str
    mode: str
    ways: dict[str, Way]
    timed: dict[str, Timed] = field(default_factory=dict)
    plain: dict[str, Timed] = field(default_factory=dict)
    footprints: dict[str, Footprint] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def rush(self) -> int:
        """How many times more steps this model takes; see ``models.Kind``."""
        return KINDS[self.kind].rush


@dataclass(frozen=True)
class Row:
    """One way in one scene.

    Args:
        kind: The model.
        mode: ``eager`` or ``compiled``.
        way: Its name.
        steps: How many were timed.
        ms: The median step.
        ratio: To no tool; the median over the rounds.
        of_totals: To no tool; of the totals.
        target: The most that it may be; ``None`` where nothing is promised.
        judged_by: ``ratio`` or ``totals``: which of the two the target is about.
        written_mb: On disk at the end, 10⁶ bytes, warm-up included.
        dropped: Steps that were not stored.
        recompiled: How often the compiler ran while steps were timed.
        grown_mb: Peak memory above that of no tool, each alone in a process.
        background_ms: CPU time a step on other threads, above that of no tool, likewise.
    """

    kind: str
    mode: str
    way: str
    steps: int
    ms: float
    ratio: float
    of_totals: float
    target: float | None
    judged_by: str
    written_mb: float
    dropped: int | None
    recompiled: int
    grown_mb: float | None
    background_ms: float | None


def rows_of(scene: Scene) -> list[Row]:
    """Return a row for each way of which a step was timed."""
    return [
        row_of(scene, way, timed, scene.plain.get(way, scene.timed[NONE]))
        for way, timed in scene.timed.items()
        if timed.seconds and scene.plain.get(way, scene.timed[NONE]).seconds
    ]


def row_of(scene: Scene, name: str, timed: Timed, plain: Timed) -> Row:
    way = scene.ways.get(name)
    ratio, of_totals = timed.of_rounds(plain), timed.of_totals(plain)
    mine = scene.footprints.get(name)
    base = scene.footprints.get(SMDEBUG_NONE if name in SMDEBUG else NONE)
    return Row(
        scene.kind,
        scene.mode,
        name,
        len(timed.seconds),
        timed.median * 1000,
        ratio,
        of_totals,
        way.target if way else None,
        "totals" if way and way.of_totals else "ratio",
        timed.written.size_bytes / 1e6,
        timed.written.dropped,
        timed.recompiled,
        mine.peak_mb - base.peak_mb if mine and base else None,
        mine.background_ms - base.background_ms if mine and base else None,
    )


def recompiled(scenes: Iterable[Scene]) -> list[str]:
    """Return where the compiler ran in timed steps of this process."""
    return [
        f"{row.kind} {row.mode} {row.way}"
        for scene in scenes
        for row in rows_of(scene)
        if row.recompiled and row.way in scene.ways
    ]


HEADER = (
    f"{'way':20s} {'ms/step':>9s} {'ratio':>7s} {'totals':>7s}  {'target':19s} "
    f"{'MB':>8s} {'dropped':>7s} {'memory':>7s} {'background':>10s}"
)


def table(scenes: Iterable[Scene], rate: WriteRate | None) -> list[str]:
    """Return the lines of the table, and below it whether memory and writing keep to theirs."""
    lines = [machine()]
    grown: list[Row] = []
    for scene in scenes:
        rows = rows_of(scene)
        if not rows:
            continue
        title = f"{KINDS[scene.kind].title}; {scene.mode}; {rows[0].steps} steps"
        lines += ["", title, HEADER, *map(line_of, rows)]
        lines += [f"{way:20s} failed: {why}" for way, why in scene.failed.items()]
        grown += [row for row in rows if row.way in scene.ways and row.grown_mb is not None]
    if grown:
        most = max(grown, key=lambda row: row.grown_mb or 0)
        lines += [
            "",
            f"memory above no tool: at most {most.grown_mb:.0f} MB ({most.kind}, {most.way}); "
            f"target {QUEUE_MB:.0f}, the queue: {verdict((most.grown_mb or 0) <= QUEUE_MB)}",
        ]
    return lines + (["", rate_line(rate)] if rate else [])


def line_of(row: Row) -> str:
    target = ""
    if row.target is not None:
        measured = row.of_totals if row.judged_by == "totals" else row.ratio
        target = f"{row.judged_by} {row.target:.2f} {verdict(measured <= row.target)}"
    line = (
        f"{row.way:20s} {row.ms:9.2f} {row.ratio:7.3f} {row.of_totals:7.3f}  {target:19s} "
        f"{row.written_mb:8.1f} {number(row.dropped):>7s} {number(row.grown_mb):>7s} "
        f"{number(row.background_ms, 2):>10s}"
    )
    return line + (f"  recompiled {row.recompiled} times" if row.recompiled else "")


def number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def rate_line(rate: WriteRate) -> str:
    """Return how fast full values are written, beside a plain write of the same bytes."""
    return (
        f"full values, {rate.size_mb:.0f} MB: written at {rate.ours:.2f} GB/s; the same bytes by "
        f"os.write at {rate.plain:.2f} GB/s: {rate.fraction:.0%}, target {FRACTION_TARGET:.0%}: "
        f"{verdict(rate.fraction >= FRACTION_TARGET)}"
    )


def machine() -> str:
    """Return on what this was measured."""
    return (
        f"{processor()}, {os.cpu_count()} cores; torch {torch.__version__} on "
        f"{torch.get_num_threads()} threads; Python {platform.python_version()}; "
        f"compiled kernel: {'yes' if has_kernel() else 'no'}"
    )


def processor() -> str:
    about = Path("/proc/cpuinfo")
    lines: Sequence[str] = about.read_text().splitlines() if about.exists() else ()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
