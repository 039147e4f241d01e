"""The figures of a run, the same for notebooks, reports and the dashboard: ``trial.plot``."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from ..errors import StepUnavailable, TensorUnavailable
from ..formats.findings import parse_findings
from ..model.collection import SPECS, of_one_quantity
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.statistics import BY_FACTORS
from ..trial import Trial
from ..trial.step_log import in_order
from .distributions import PARTS, exponents, image_grid, spread, value_map
from .downsample import Envelope
from .heatmaps import heatmap
from .line_charts import of_envelopes
from .profile_charts import phases, system, timeline
from .progressive_read import MOST_WORKERS, LayerRows, Lines, Window
from .theme import as_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# What was read of a run is bounded by these many figures.
_KEPT = 24
_MOST_LINES = 6
_AROUND_NS = 30 * 10**9
_Kept = TypeVar("_Kept", Lines, LayerRows)


class Plots:
    """Draws a run. What was read for a figure is kept, so that drawing it again is cheap.

    Every figure is in the light scheme and bounded by ``points``: of more steps a point holds
    several, and of those the lowest and the highest are drawn.

    Args:
        trial: The run.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._kept: OrderedDict[Hashable, Lines | LayerRows] = OrderedDict()
        self._marked: list[Finding] | None = None

    def losses(self, *, points: int = 1000) -> Figure:
        """Draw the losses, with all findings."""
        return self.numbers("losses", points=points)

    def learning_rates(self, *, points: int = 1000) -> Figure:
        """Draw the learning rates."""
        return self.numbers("learning_rates", points=points)

    def numbers(self, collection: str, *, points: int = 1000, within: Window = None) -> Figure:
        """Draw the first tensors of a collection in one figure, a line for each.

        Args:
            collection: Such as ``losses``.
            points: How many points a line may have.
            within: Only steps from the first of these to the last.

        Raises:
            TensorUnavailable: There is none.
        """
        names = self._of_collection(collection)[:_MOST_LINES]
        single = len(names) == 1
        lines = {
            label if single else f"{name.partition('/')[2] or name} {label}": line
            for name in names
            for label, line in self.lines(name, "mean", points=points, within=within).items()
        }
        findings = self.findings() if collection == "losses" else ()
        title = names[0] if single else collection.replace("_", " ")
        figure = of_envelopes(lines, title=title, about=self._about("mean"), findings=findings)
        return figure.update_layout(meta={"tensor": title if single else ""})

    def tensor(
        self, name: str, statistic: str = "", *, points: int = 1000, within: Window = None
    ) -> Figure:
        """Draw a statistic of a tensor, a line for each mode and worker, with its findings.

        Args:
            name: The tensor.
            statistic: What to draw; by default the mean of what is one number, else the rms.
            points: How many points a line may have.
            within: Only steps from the first of these to the last.

        Raises:
            TensorUnavailable: There is none of this name.
        """
        what = statistic or self.usual_statistic(name)
        lines = self.lines(name, what, points=points, within=within)
        about = [finding for finding in self.findings() if finding.tensor == name]
        return of_envelopes(lines, title=name, about=self._about(what), findings=about)

    def usual_statistic(self, name: str) -> str:
        """Return what to draw of a tensor by default."""
        spec = SPECS.get(self._trial.tensor(name).collection)
        return "mean" if spec is not None and spec.is_number else "rms"

    def heatmap(
        self,
        collection: str = "gradients",
        statistic: str = "l2",
        *,
        under: str = "",
        mode: Mode | str | None = None,
        points: int = 300,
        rows: int = 200,
        patience: float | None = None,
    ) -> Figure:
        """Draw a statistic of many tensors, a row for each and a column for each step.

        Where there are more tensors than rows, those of one module share a row, which shows the
        value that is farthest from what is usual in it.

        Args:
            collection: The tensors to draw.
            statistic: What gives the colour.
            under: Only tensors whose names begin with this.
            mode: Only steps of this mode; by default the first that the run has.
            points: How many columns there may be.
            rows: How many rows there may be.
            patience: For how many seconds to read; for all steps by default. What is missing
                then is blank, and read by the next call.

        Returns:
            The figure. Its ``layout.meta`` holds ``rows``, what the rows are, ``tensors``, which
            of them are one tensor, and ``read``, which share of the steps was read.

        Raises:
            TensorUnavailable: There is no such tensor.
        """
        there = self._of_collection(collection)
        names = of_one_quantity((name for name in there if name.startswith(under)), collection)
        if not names:
            raise TensorUnavailable(f"{self._trial.url} has no {collection} under {under!r}")
        mode = Mode(mode or next(iter(self._trial.modes), Mode.GLOBAL))
        layers = self._keep(
            ("heatmap", tuple(names), statistic, mode, points, rows),
            lambda: LayerRows(self._trial, names, statistic, mode, points=points, rows=rows),
        )
        read = layers.read(None if patience is None else time.monotonic() + patience)
        steps, cells = layers.cells()
        figure = heatmap(
            steps,
            layers.rows,
            cells,
            statistic=statistic,
            what=collection,
            findings=self._in_rows(layers),
            points=max(1, len(steps)),
            log=statistic in BY_FACTORS,
            unfit=layers.unfit(),
        )
        figure.update_layout(
            title={"text": f"{as_text(statistic)} of {len(names):,} {as_text(collection)}"},
            title_subtitle_text=layers.about(len(self._trial.step_numbers()), read),
            meta={"rows": layers.rows, "tensors": layers.are_tensors, "read": read},
        )
        return figure

    def distribution(self, name: str, *, points: int = 300) -> Figure:
        """Draw how the elements of a tensor are spread over the steps.

        Histograms of exponents where they were saved, else the band of its statistics.
        """
        self._trial.tensor(name)  # raises, and names the nearest
        saved = self._trial.rows(frozenset([name]), ["exponents"])
        if saved.column("exponents").null_count < len(saved):
            return exponents(saved, name=name, points=points)
        lines = {what: self.lines(name, what, points=points) for what in PARTS}
        return spread(lines, name=name)

    def value(
        self, name: str, step: int, *, worker: str | None = None, points: int = 200
    ) -> Figure:
        """Draw the full value of a tensor at a step; see ``Tensor.value``."""
        value = self._trial.tensor(name).value(step, worker=worker)
        return value_map(value, name=name, step=step, points=points)

    def images(
        self, name: str, step: int, *, worker: str | None = None, points: int = 64
    ) -> Figure:
        """Draw the full value of a tensor at a step as a grid of images: kernels, activations.

        Args:
            name: The tensor; of its last two axes each pair is an image.
            step: The global step.
            worker: Which worker's; see ``Tensor.value``.
            points: How many images there may be.
        """
        value = self._trial.tensor(name).value(step, worker=worker)
        return image_grid(value, name=name, step=step, most=points)

    def system(self, *, step: int | None = None, points: int = 300) -> Figure:
        """Draw how busy every core, GPU and what else there is was over the time of the run.

        Args:
            step: Only around this global step.
            points: How many columns there may be.
        """
        start, end = (None, None) if step is None else self._around(step)
        profile = self._trial.profile
        return system(profile.system(start, end, metric=".*percent", points=points))

    def phases(self, *, points: int = 500) -> Figure:
        """Draw how long steps took, and each of their phases."""
        return phases(self._trial.profile.steps(points=points))

    def timeline(self, step: int, *, around: int = 1, points: int = 2000) -> Figure:
        """Draw what ran when in a step and in so many around it."""
        spans = self._trial.profile.spans(*self._around(step))
        return timeline(spans, step, around=around, most=points)

    def findings(self) -> list[Finding]:
        """Return the findings that are marked: those that are stored in the run."""
        if self._marked is not None:
            return self._marked
        return parse_findings(self._trial.store)

    def mark(self, findings: Iterable[Finding]) -> None:
        """Mark these findings from now on, as those of a run that was judged only now."""
        self._marked = list(findings)

    def _of_collection(self, collection: str) -> list[str]:
        names = self._trial.tensor_names(collection=collection)
        if not names:
            there = ", ".join(self._trial.collections) or "none"
            raise TensorUnavailable(
                f"{self._trial.url} has no {collection}; it has the collections {there}"
            )
        return in_order(names, self._trial.order)

    def lines(
        self, name: str, statistic: str, *, points: int = 1000, within: Window = None
    ) -> dict[str, Envelope]:
        """Return a statistic of a tensor as lines, by mode, and by worker where there are several.

        Raises:
            TensorUnavailable: There is none of this name.
        """
        self._trial.tensor(name)  # raises, and names the nearest
        key = name, statistic, points, within
        return self._keep(key, lambda: Lines(self._trial, *key)).read()

    def _around(self, step: int) -> tuple[int, int]:
        """Return the time around a step, nanoseconds since the Unix epoch."""
        names = frozenset(list(self._trial.reader.tensors())[:1])
        rows = self._trial.rows(names, ["time_ns"], step=step)
        if not len(rows):
            raise StepUnavailable(f"step {step} is not in {self._trial.url}")
        near = np.abs(rows.column("step").to_numpy() - step).argmin()
        at = int(rows.column("time_ns")[int(near)].as_py())
        return at - _AROUND_NS, at + _AROUND_NS

    def _keep(self, key: Hashable, make: Callable[[], _Kept]) -> _Kept:
        """Return what was made before, if the run is still the one that it was made of."""
        kept = self._kept.pop(key, None)
        if kept is None or not kept.is_of(self._trial):
            kept = make()
        self._kept[key] = kept
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return cast("_Kept", kept)  # the key says which kind it is

    def _in_rows(self, layers: LayerRows) -> list[Finding]:
        """Return the findings about what is drawn, each at its row."""
        return [
            replace(finding, tensor=layers.rows[layers.row_of[finding.tensor]])
            for finding in self.findings()
            if finding.tensor in layers.row_of
        ]

    def _about(self, statistic: str) -> str:
        count = len(self._trial.step_numbers())
        more = len(self._trial.workers) - MOST_WORKERS
        left = f" · {more:,} more workers are not drawn" if more > 0 else ""
        return f"{statistic} · {count:,} steps{left}"
