"""What ``stepwatch diff`` finds, and the lines that say it."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.html_text import html_table
from .align import Only, Pair, TwoRuns
from .divergence import Bound, Divergence, Search
from .explain import Cause, Difference, causes, differences, other_settings


@dataclass(slots=True)
class DiffResult:
    """Where two runs part, and where they are farther apart than may be.

    Args:
        search: What found it.
        divergence: Where they part; ``None`` if they do not.
        bound: What was looked for beyond that: ``rounding``, ``tolerance`` or ``noise``.
        beyond: Where it is passed; ``None`` if it is not.
        noise_run: The run that is equal to the first but for noise; empty for none.
        noise_divergence: Where these two part; ``None`` if they do not.
    """

    search: Search
    divergence: Divergence | None
    bound: str = ""
    beyond: Divergence | None = None
    noise_run: str = ""
    noise_divergence: Pair | None = None

    def judge(self, name: str, bound: Bound) -> None:
        """See where a bound is passed, if they part at all."""
        self.bound = name
        if self.divergence:
            self.beyond = self.search.beyond(self.divergence, bound)

    def _repr_html_(self) -> str:
        settings = other_settings(self.runs.here, self.runs.there)
        rows = [(one.what, one.here or "-", one.there or "-") for one in settings]
        first = html_table("Settings", rows, ("setting", "A", "B")) if rows else ""
        lines = [("", line) for line in divergence_details(self)]
        found = self.differences(most=10) if self.divergence else []
        cells = [
            (one.found.name, one.found.recorded, one.found.replayed, one.found.relative)
            for one in found
        ]
        tensors = html_table("Differences", cells, ("tensor", "A", "B", "relative"))
        return first + html_table(divergence_summary(self), lines) + (tensors if cells else "")

    @property
    def runs(self) -> TwoRuns:
        """The runs that are compared."""
        return self.search.runs

    @property
    def same(self) -> bool:
        """Whether they are the same, or near enough for the bound that was asked for."""
        return self.divergence is None or (self.bound != "rounding" and self.beyond is None)

    @property
    def are_unrelated(self) -> bool:
        """Whether both have weights and share none: two programs, of which nothing parts."""
        mine, theirs = (
            {name for name, kind in trial.reader.tensors().items() if kind == "weights"}
            for trial in (self.runs.here, self.runs.there)
        )
        return bool(mine and theirs) and mine.isdisjoint(theirs)

    @property
    def significant(self) -> Divergence | None:
        """Where it matters that they part: beyond the bound if one was asked for."""
        return self.divergence if self.bound == "rounding" else self.beyond or self.divergence

    @property
    def followed(self) -> str:
        """The tensor whose difference ``curve`` has; empty for none."""
        return self.divergence.followed if self.divergence else ""

    def causes(self) -> list[Cause]:
        """Return why they part where it matters; nothing if they do not."""
        return causes(self.search, self.significant) if self.significant else []

    def differences(self, *, most: int | None) -> list[Difference]:
        """Return the first tensors that differ where it matters; all of them for ``None``."""
        if self.significant is None:
            return []
        most = len(self.significant.rows) if most is None else most
        return differences(self.search, self.significant, most=most)

    def curve(self) -> tuple[list[int], list[float]]:
        """Return steps of the first run and how far they are apart there, as a fraction."""
        if self.divergence is None:
            return [], []
        indices, relative = self.search.curve(self.divergence)
        return [self.runs.pair(index).here for index in indices], relative


_MOST_NAMES = 3
# Without these it cannot be told at which stage of a step two runs part.
_EXPECTED = ("weights", "batches", "outputs", "losses", "gradients", "learning_rates")


def divergence_summary(result: DiffResult) -> str:
    """Return in one line whether they are the same, else where they part."""
    runs = result.runs
    extent = f"{_count(len(runs), 'step')} with {_count(len(runs.tensors), 'tensor')}"
    if result.are_unrelated:
        return "two different programs: their models have no weights in common"
    if result.divergence is None:
        return f"the same: {extent}, in all that both have saved"
    where = _where(result, result.divergence)
    if result.same:
        return f"the same but for {result.bound}: {extent}; bits differ from {where}"
    if result.bound == "rounding" or result.beyond is None:
        return f"they part at {where}"
    return f"they part by more than {result.bound} at {_where(result, result.beyond)}"


def divergence_details(result: DiffResult) -> list[str]:
    """Return what else there is to say of where they part; nothing if they do not."""
    divergence, significant, runs = result.divergence, result.significant, result.runs
    if divergence is None or significant is None or result.are_unrelated:
        return []
    lines = [_because(cause) for cause in result.causes()]
    pair = runs.pair(significant.index)
    if pair.here != pair.there:
        lines.append(f"it is step {pair.there} of the second run")
    compared = len(
        set(significant.block.tensor[significant.block.at == significant.index].tolist())
    )
    differing = len(set(significant.block.tensor[significant.rows].tolist()))
    lines.append(f"{differing} of {compared} tensors differ there")
    if significant is not divergence:
        lines.append(f"the first bit differs at {_where(result, divergence)}")
    if divergence.index:
        before = runs.pair(divergence.index - 1)
        lines.append(f"{before}, before any bit differs, is the same in all that both have saved")
    return [*lines, *_about_noise(result), *_about_rounding(result)]


def _where(result: DiffResult, divergence: Divergence) -> str:
    runs, block, row = result.runs, divergence.block, divergence.rows[0]
    worker = runs.workers[int(block.worker[row])]
    whose = f" of {worker}" if len(runs.workers) > 1 else ""
    name = list(runs.tensors)[int(block.tensor[row])]
    return f"{runs.pair(divergence.index)}, first in {name}{whose}"


def _about_noise(result: DiffResult) -> list[str]:
    if not result.noise_run:
        return []
    since = (
        f"part at {result.noise_divergence}" if result.noise_divergence else "do not part at all"
    )
    return [f"{result.runs.here.url} and {result.noise_run}, which are equal, {since}"]


def _about_rounding(result: DiffResult) -> list[str]:
    if result.bound != "rounding":
        return []
    if result.beyond is None:
        return ["nowhere more than rounding explains, at the steps that were looked at"]
    return [f"more than rounding explains from {_where(result, result.beyond)}"]


def _because(cause: Cause) -> str:
    missing = ", ".join(cause.not_compared)
    unsure = f" ({missing} could not be compared, so it may begin there)" if missing else ""
    return f"{cause.stage}: {cause.meaning}{unsure}"


def not_compared(result: DiffResult) -> list[str]:
    """Return what only one run has, and what is needed and neither or only one saved."""
    runs = result.runs
    missing = [kind for kind in _EXPECTED if kind not in runs.tensors.values()]
    lines = [f"{', '.join(missing)}; not saved in both"] if missing else []
    for only, url in ((runs.only_here, runs.here.url), (runs.only_there, runs.there.url)):
        lines += [f"{what}, only in {url}" for what in _only_lines(only)]
    return lines


def _only_lines(only: Only) -> list[str]:
    lines = [_count(count, f"{mode} step") for mode, count in only.steps.items()]
    for what, names in (("tensor", only.tensors), ("worker", only.workers)):
        if names:
            listed = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
            lines.append(f"{_count(len(names), what)} ({listed})")
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
