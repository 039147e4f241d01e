"""A small line plot for a terminal.

Every character cell is two dots wide and four high (Braille); each dot column shows the lowest
to the highest value of its steps, so that a spike is seen however narrow the plot is.
Terminals that cannot show Braille get plain ASCII.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich.text import Text

from ..model.finding import Finding
from .downsample import columns
from .line_charts import suits_log
from .theme import by_severity

# The bit of each dot of a Braille cell, four rows of two.
_BRAILLE_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_STYLES = {"error": "bold red", "warning": "yellow", "info": "blue"}
_MOST_LISTED = 5
_HUGE = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class _Glyphs:
    """The characters of one kind of terminal; a cell is ``dots_wide`` by ``dots_high`` dots."""

    dots_wide: int
    dots_high: int
    axis: str
    corner: str
    floor: str
    finding: str
    left_out: str
    cut: str


_UNICODE = _Glyphs(2, 4, "│", "└", "─", "▲", "×", "…")
_ASCII = _Glyphs(1, 2, "|", "+", "-", "^", "x", "...")


@dataclass(frozen=True, slots=True)
class _Area:
    """Where in the plot a step and a value lie, in dots.

    Args:
        steps: First and last step, which are the first and the last column.
        values: Lowest and highest value (its logarithm, on such an axis), ascending.
        columns: Number of dot columns.
        rows: Number of dot rows, counted from below.
    """

    steps: tuple[int, int]
    values: tuple[float, float]
    columns: int
    rows: int

    def column(self, steps: npt.ArrayLike) -> npt.NDArray[np.int64]:
        first, last = self.steps
        at = (np.asarray(steps, dtype=np.float64) - first) / max(last - first, 1)
        return np.rint(at * (self.columns - 1)).astype(np.int64)

    def row(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        low, high = self.values
        # Halved: the range from -1e308 to 1e308 is no float64, its half is.
        at = (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)
        return np.rint(at * (self.rows - 1)).astype(np.int64)


def line_plot(
    steps: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    name: str,
    statistic: str,
    findings: Iterable[Finding] = (),
    width: int = 72,
    height: int = 10,
    log: bool | None = None,
    encoding: str = "utf-8",
) -> Text:
    """Draw a statistic over the steps with characters.

    Args:
        steps: Shape ``[n]``, integers, ascending.
        values: Shape ``[n]``, real numbers. What cannot be drawn (nan, infinite, on a
            logarithmic axis also zero and below) is marked under the axis and counted.
        name: The tensor; control characters in it are shown as ``?``.
        statistic: What the values are.
        findings: Marked under the axis; the worst few are listed.
        width: Characters of a line, labels included; at least 24.
        height: Lines of the plot itself; at least 2.
        log: Whether the values are on a logarithmic axis; by default where they ask for it.
        encoding: What the terminal reads; other than a Unicode one gives plain ASCII.

    Returns:
        Lines joined by newlines, coloured where the terminal is; ``.plain`` is the bare text.

    Raises:
        ValueError: Columns of different lengths, descending steps, or no room.
    """
    if width < 24 or height < 2:
        raise ValueError(f"no room for a plot in {width} by {height} characters")
    steps_, values_ = columns(steps, values)
    log = suits_log(values_) if log is None else log
    glyphs = _UNICODE if encoding.lower().startswith("utf") else _ASCII
    found = [finding for group in by_severity(findings).values() for finding in group]
    drawn = np.isfinite(values_) & ((values_ > 0) if log else True)
    lines = [Text(_cut(f"{name}  {statistic}{' (log)' if log else ''}", width, glyphs), "bold")]
    if drawn.any():
        heights = np.where(drawn, values_, np.nan)
        heights = np.log10(heights) if log else heights
        lines += _plot(steps_, heights, found, glyphs, width=width, height=height, log=log)
    else:
        lines.append(Text("nothing to draw", "dim"))
    lines += _listed(found, glyphs, width)
    lines += _left_out(steps_[~drawn], glyphs, log=log)
    return Text("\n").join(lines)


def _plot(
    steps: npt.NDArray[np.int64],
    heights: npt.NDArray[np.float64],
    findings: Sequence[Finding],
    glyphs: _Glyphs,
    *,
    width: int,
    height: int,
    log: bool,
) -> list[Text]:
    """Return the lines of the plot with its axes; ``heights`` holds a finite value at least."""
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    if low == high:
        margin = 1.0 if log else abs(low) * 0.5 or 1.0
        low, high = max(low - margin, -_HUGE), min(high + margin, _HUGE)
    labels = _value_labels(low, high, height, log=log)
    label_width = max(len(label) for label in labels)
    cells = width - label_width - 2
    area = _Area(
        (int(steps[0]), int(steps[-1])),
        (low, high),
        cells * glyphs.dots_wide,
        height * glyphs.dots_high,
    )
    lines = [
        Text.assemble((f"{label:>{label_width}} {glyphs.axis}", "dim"), (row, "cyan"))
        for label, row in zip(labels, _cells(_dots(steps, heights, area), glyphs), strict=True)
    ]
    indent = " " * (label_width + 1)
    lines.append(Text(f"{indent}{glyphs.corner}{glyphs.floor * cells}", "dim"))
    left_out = steps[np.isnan(heights)]
    if findings or len(left_out):
        marks = _marks(findings, left_out, area, glyphs)
        lines.append(Text.assemble(f"{indent} ", marks))
    first, last = str(area.steps[0]), str(area.steps[1])
    middle = "step".center(max(cells - len(first) - len(last), 6))
    lines.append(Text(f"{indent} {first}{middle}{last}", "dim"))
    return lines


def _value_labels(low: float, high: float, height: int, *, log: bool) -> list[str]:
    """Return the label of each line, from the top; most are empty."""
    labels = [""] * height
    at = {0: high, height - 1: low}
    if height >= 5 and height % 2:
        at[height // 2] = low / 2 + high / 2
    for line, value in at.items():
        labels[line] = _power_of_ten(value) if log else f"{value:.4g}"
    return labels


def _power_of_ten(exponent: float) -> str:
    """Return ``10 ** exponent`` in four digits, also where it is no float.

    Example:
        >>> _power_of_ten(-2.0), _power_of_ten(400.5)
        ('0.01', '3.162e+400')
    """
    whole = math.floor(exponent)
    if abs(whole) < 300:
        return f"{10.0**exponent:.4g}"
    return f"{10.0 ** (exponent - whole):.4g}e{whole:+d}"


def _dots(
    steps: npt.NDArray[np.int64], heights: npt.NDArray[np.float64], area: _Area
) -> npt.NDArray[np.bool_]:
    """Return which dots are set, shape ``[rows, columns]``, the lowest row first."""
    dots = np.zeros((area.rows, area.columns), bool)
    (drawn,) = np.nonzero(~np.isnan(heights))
    column, row = area.column(steps[drawn]), area.row(heights[drawn])
    (starts,) = np.nonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(column)) - 1
    low, high = np.minimum.reduceat(row, starts), np.maximum.reduceat(row, starts)
    for at, bottom, top in zip(column[starts], low, high, strict=True):
        dots[bottom : top + 1, at] = True
    for before, after in zip(ends[:-1], starts[1:], strict=True):
        if drawn[after] == drawn[before] + 1:
            _connect(dots, (column[before], row[before]), (column[after], row[after]))
    return dots


def _connect(dots: npt.NDArray[np.bool_], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Set the dots of a straight line, both ends included."""
    length = max(abs(end[0] - start[0]), abs(end[1] - start[1]))
    across = np.rint(np.linspace(start[0], end[0], length + 1)).astype(np.int64)
    up = np.rint(np.linspace(start[1], end[1], length + 1)).astype(np.int64)
    dots[up, across] = True


def _cells(dots: npt.NDArray[np.bool_], glyphs: _Glyphs) -> list[str]:
    """Return the dots as lines of characters, the highest first."""
    high, wide = glyphs.dots_high, glyphs.dots_wide
    rows, columns_ = dots.shape
    cells = dots[::-1].reshape(rows // high, high, columns_ // wide, wide).swapaxes(1, 2)
    if glyphs is _ASCII:
        upper, lower = cells[:, :, 0, 0], cells[:, :, 1, 0]
        return ["".join(row) for row in np.array(list(" '.:"))[upper + 2 * lower]]
    codes = 0x2800 + (cells * _BRAILLE_BITS).sum(axis=(2, 3))
    # A cell without dots is a space, so that a copied plot has no strange blanks.
    return ["".join(chr(code) if code > 0x2800 else " " for code in row) for row in codes]


def _marks(
    findings: Sequence[Finding],
    left_out: npt.NDArray[np.int64],
    area: _Area,
    glyphs: _Glyphs,
) -> Text:
    """Return the line under the axis: where values are left out and where findings are."""
    marks: dict[int, tuple[str, str]] = {}
    for at in np.unique(area.column(left_out)) // glyphs.dots_wide:
        marks[int(at)] = (glyphs.left_out, _STYLES["error"])
    for finding in reversed(findings):  # the worst one last, so that it stays
        if area.steps[0] <= finding.train_step <= area.steps[1]:
            at = int(area.column(finding.train_step)) // glyphs.dots_wide
            marks[at] = (glyphs.finding, _STYLES.get(finding.severity, ""))
    return Text.assemble(*(marks.get(at, " ") for at in range(max(marks, default=-1) + 1)))


def _listed(findings: Sequence[Finding], glyphs: _Glyphs, width: int) -> list[Text]:
    """Return a line for each of the worst findings."""
    lines = [
        Text(
            _cut(f"{glyphs.finding} {one.where()} {one.title}: {one.message}", width, glyphs),
            _STYLES.get(one.severity, ""),
        )
        for one in findings[:_MOST_LISTED]
    ]
    if len(findings) > _MOST_LISTED:
        lines.append(Text(f"  and {len(findings) - _MOST_LISTED} more"))
    return lines


def _left_out(steps: npt.NDArray[np.int64], glyphs: _Glyphs, *, log: bool) -> list[Text]:
    """Return a line that says how many values are not drawn."""
    if not len(steps):
        return []
    what = "not finite, or not above zero," if log else "not finite"
    times = "once" if len(steps) == 1 else f"{len(steps):,} times"
    first = f"at step {steps[0]}" if len(steps) == 1 else f"first at step {steps[0]}"
    return [Text(f"{glyphs.left_out} {what} {times}, {first}", _STYLES["error"])]


def _cut(line: str, width: int, glyphs: _Glyphs) -> str:
    """Return a line that fits and holds nothing but what can be printed."""
    plain = "".join(character if character.isprintable() else "?" for character in line)
    if glyphs is _ASCII:
        plain = plain.encode("ascii", "replace").decode("ascii")
    return plain if len(plain) <= width else plain[: width - len(glyphs.cut)] + glyphs.cut
