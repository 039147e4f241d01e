"""Figures as static SVG: what a page, a printer or a notebook without scripts can show.

It draws what our figures are made of: lines and marks, bars, boxes, rings and heat maps, on axes
that are linear, logarithmic, of times or of names. Ink and grid are variables of the page
(``--text``, ``--muted``, ``--grid``), by default those of the light scheme. Cells without a value
stay blank, and a cell is as wide as its steps: nothing is stretched.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .theme import COLORWAY, HATCHED

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = npt.NDArray[np.float64]
Trace = Mapping[str, Any]
_TEXT, _MUTED, _GRID = "var(--text, #1c2530)", "var(--muted, #5c6773)", "var(--grid, #e3e7ec)"
_MARGIN_TOP, _MARGIN_RIGHT, _MARGIN_BOTTOM, _LINE = 26, 16, 40, 15
_CHAR = 6.6  # the width of a letter of 12 px
_COLUMNS, _COLOR_BAR = 900, 84


def svg(figure: Figure, *, width: int = 1040, titled: bool = False) -> str:
    """Return a figure as an SVG element.

    Args:
        figure: One of ours.
        width: Of its view box, pixels; the height is that of the figure.
        titled: Whether its title is drawn, too.
    """
    plain = json.loads(figure.to_json())
    layout = plain["layout"]
    height = int(layout.get("height") or 400) - (0 if titled else 44)
    traces = [_decoded(trace) for trace in plain["data"]]
    if any(trace["type"] == "pie" for trace in traces):
        parts = list(_ring(traces[0], height))
    else:
        parts = list(_Plot(traces, layout, width, height, 40 if titled else 0).parts())
    title = _plain(layout.get("title", {}).get("text", ""))
    if titled and title:
        about = _plain(layout["title"].get("subtitle", {}).get("text", ""))
        parts.insert(0, _text(8, 18, title, size=15, weight=600, color=_TEXT))
        parts.insert(1, _text(8, 35, about))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escape(title or "figure")}" font-family="system-ui, sans-serif"'
        f' font-size="12">{"".join(parts)}</svg>'
    )


def _decoded(trace: Trace) -> dict[str, Any]:
    """Return a trace with its arrays as such."""
    return {
        name: _array(value) if isinstance(value, dict) and "bdata" in value else value
        for name, value in trace.items()
    }


def _array(value: Mapping[str, Any]) -> npt.NDArray[Any]:
    array = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
    shape = str(value.get("shape", "")).replace(" ", "")
    return array.reshape([int(one) for one in shape.split(",")]) if shape else array


def _plain(text: str) -> str:
    return unescape(re.sub(r"<br>|<[^>]*>", " ", str(text)))


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    color: str = _MUTED,
    size: int = 12,
    weight: int = 400,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" font-size="{size}"'
        f' font-weight="{weight}">{escape(text)}</text>'
    )


@dataclass
class Axis:
    """Places values between two pixels.

    Args:
        kind: ``linear``, ``log``, ``date`` or ``category``.
        names: Of categories, in order.
        low: The least value; its logarithm on ``log``.
        high: The largest.
        start: The pixel of the least.
        end: The pixel of the largest.
    """

    kind: str
    names: Sequence[str]
    low: float
    high: float
    start: float
    end: float

    def values(self, values: Iterable[Any]) -> Floats:
        """Return values as numbers on this axis; nan for what has no place."""
        given = list(values)
        if self.kind == "category":
            index = {name: number for number, name in enumerate(self.names)}
            return np.array([index.get(str(one), math.nan) for one in given], np.float64)
        if self.kind == "date":
            return np.array([_time(one) for one in given], np.float64)
        found = np.array([math.nan if one is None else float(one) for one in given], np.float64)
        if self.kind == "log":
            found = np.log10(np.where(found > 0, found, np.nan))
        return found

    def pixels(self, numbers: Floats) -> Floats:
        span = (self.high - self.low) or 1.0
        return self.start + (numbers - self.low) / span * (self.end - self.start)

    def at(self, values: Iterable[Any]) -> Floats:
        return self.pixels(self.values(values))

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return pixels and texts of at most so many marks."""
        if self.kind == "category":
            every = max(1, math.ceil(len(self.names) / max(most, 1)))
            chosen = list(range(0, len(self.names), every))
            pixels = self.pixels(np.array(chosen, np.float64))
            return [(float(p), self.names[n]) for p, n in zip(pixels, chosen, strict=True)]
        step = _nice((self.high - self.low) / max(most - 1, 1), whole=self.kind == "log")
        first = math.ceil(self.low / step - 1e-9)
        marks = [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]
        pixels = self.pixels(np.array(marks, np.float64))
        return [(float(p), self._label(v, step)) for p, v in zip(pixels, marks, strict=True)]

    def _label(self, value: float, step: float) -> str:
        if self.kind == "date":
            moment = datetime.fromtimestamp(value, timezone.utc)
            return moment.strftime("%H:%M:%S" if step < 60 else "%H:%M")
        if self.kind == "log":
            return f"{10**value:g}" if -4 < value < 5 else f"1e{value:g}"
        near = 0.0 if abs(value) < step * 1e-6 else value
        return f"{near:,.10g}" if 1e-4 <= abs(near) < 1e7 or not near else f"{near:.3g}"


def _nice(step: float, *, whole: bool = False) -> float:
    if step <= 0 or not math.isfinite(step):
        return 1.0
    size = 10.0 ** math.floor(math.log10(step))
    nice = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= step * 0.999)
    return max(1.0, nice) if whole else nice


def _time(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, (int, float)):
        return float(value)
    try:
        moment = datetime.fromisoformat(str(value)[:26].replace("Z", ""))
    except ValueError:
        return math.nan
    return moment.replace(tzinfo=timezone.utc).timestamp()


class _Plot:
    """One pair of axes, with a second one above it for marks that have a height of their own."""

    def __init__(
        self, traces: list[dict[str, Any]], layout: Trace, width: int, height: int, above: int
    ) -> None:
        self._traces, self._layout = traces, layout
        self._stack()
        self._legend = self._legend_rows(width)
        top = above + (_MARGIN_TOP if self._legend else 10)
        bottom = height - _MARGIN_BOTTOM
        kind_y = self._kind("y")
        names = [self._label_of(name) for name in self._names("y")] if kind_y == "category" else []
        longest = max((len(name) for name in names), default=0)
        left = min(max(62.0, 14 + longest * _CHAR), width * 0.35)
        right = width - (
            84 if any(trace["type"] == "heatmap" for trace in traces) else _MARGIN_RIGHT
        )
        self._left, self._right, self._top, self._bottom = left, right, top, bottom
        self.x = self._axis("x", left, right)
        self.y = self._axis("y", bottom, top)
        if layout.get("yaxis", {}).get("autorange") == "reversed":
            self.y = self._axis("y", top, bottom)
        low, high = layout.get("yaxis2", {}).get("range", (0, 1))
        self.y2 = Axis("linear", (), low, high, bottom, top)

    def parts(self) -> Iterator[str]:
        yield from self._frame()
        for number, shape in enumerate(self._layout.get("shapes", ())):
            yield self._shape(shape, number)
        for number, trace in enumerate(self._traces):
            draw = getattr(self, f"_{trace['type']}", None)
            if draw is not None:
                yield from draw(trace, COLORWAY[number % len(COLORWAY)])
        for note in self._layout.get("annotations", ()):
            if note.get("text") and note.get("xref", "x") == "x" and "x" in note:
                x = float(self.x.at([note["x"]])[0])
                yield _text(x + 4, self._top + 12, _plain(note["text"]))
        yield from self._legend

    # What is drawn

    def _scatter(self, trace: Trace, color: str) -> Iterator[str]:
        above = trace.get("yaxis") == "y2"
        x = self.x.at(trace.get("x", ()))
        y = (self.y2 if above else self.y).at(trace.get("y", ()))
        line, mode = trace.get("line", {}), trace.get("mode", "lines")
        stroke = line.get("color") or trace.get("marker", {}).get("color") or color
        stroke = stroke if isinstance(stroke, str) else color
        if trace.get("fill") in ("toself", "tonexty", "tozeroy"):
            yield self._area(trace, x, y, str(trace.get("fillcolor", stroke)))
        if "lines" in mode and line.get("width", 2):
            dash = ' stroke-dasharray="4 3"' if line.get("dash") else ""
            yield (
                f'<path d="{_path(x, y)}" fill="none" stroke="{stroke}"'
                f' stroke-width="{line.get("width", 1.8)}"{dash} stroke-linejoin="round"/>'
            )
        if "markers" in mode:
            yield from self._marks(trace, x, y, stroke)
        if "text" in mode:
            for at_x, at_y, text in zip(x.tolist(), y.tolist(), trace["text"], strict=False):
                for number, line_of_text in enumerate(str(text).split("<br>")):
                    place = at_y + 4 + 16 * number
                    color_of_text = trace.get("textfont", {}).get("color", _TEXT)
                    plain = _plain(line_of_text)
                    yield _text(at_x, place, plain, anchor="middle", color=color_of_text)

    def _area(self, trace: Trace, x: Floats, y: Floats, color: str) -> str:
        if trace["fill"] == "toself":
            points = _path(x, y)
        else:
            below = trace.get("_below")
            base = np.full(len(y), self.y.start) if below is None else self.y.at(below)
            points = _path(np.concatenate([x, x[::-1]]), np.concatenate([y, base[::-1]]))
        return f'<path d="{points}Z" fill="{color}" stroke="none"/>'

    def _marks(self, trace: Trace, x: Floats, y: Floats, color: str) -> Iterator[str]:
        marker = trace.get("marker", {})
        sizes = marker.get("size", 6)
        sizes = _array(sizes) if isinstance(sizes, dict) else sizes
        colors, texts = marker.get("color", color), trace.get("text")
        for number, (px, py) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            if not (math.isfinite(px) and math.isfinite(py)):
                continue
            size = float(sizes if isinstance(sizes, (int, float)) else sizes[number])
            if not size:
                continue
            fill = colors if isinstance(colors, str) else color
            text = _plain(texts[number]) if isinstance(texts, list) and texts[number] else ""
            said = f"<title>{escape(text)}</title>" if text else ""
            yield f'<path d="{_symbol(marker.get("symbol", ""), px, py, size)}" fill="{fill}"'
            yield f' stroke="{fill}">{said}</path>'

    def _bar(self, trace: Trace, color: str) -> Iterator[str]:
        flat = trace.get("orientation") == "h"
        along, across = (self.x, self.y) if flat else (self.y, self.x)
        at = across.at(trace["y" if flat else "x"])
        base = trace.get("base")
        lengths = along.values(trace["x" if flat else "y"])
        starts = np.zeros(len(lengths)) if base is None else along.values(base)
        first, last = along.pixels(np.maximum(starts, along.low)), along.pixels(starts + lengths)
        widths = trace.get("width")
        if widths is not None and across.kind != "category":
            scale = abs(across.end - across.start) / ((across.high - across.low) or 1)
            thick = np.broadcast_to(np.asarray(widths, np.float64) * scale, at.shape)
        else:
            room = abs(across.end - across.start) / max(len(across.names) or len(at), 1)
            thick = np.full(at.shape, min(0.7 * room, 34.0))
        fills = trace.get("marker", {}).get("color", color)
        for number in range(len(at)):
            fill = fills if isinstance(fills, str) else (fills[number] if len(fills) else color)
            low, high = sorted((float(first[number]), float(last[number])))
            if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(at[number])):
                continue
            side, size = float(at[number] - thick[number] / 2), max(float(thick[number]), 0.6)
            box = (low, side, high - low, size) if flat else (side, low, size, high - low)
            yield _rect(*box, fill, opacity=0.9)

    def _box(self, trace: Trace, color: str) -> Iterator[str]:
        flat = trace.get("orientation") == "h"
        along, across = (self.x, self.y) if flat else (self.y, self.x)
        places = across.at(trace.get("y" if flat else "x") or [trace.get("name", "")])
        names = ("lowerfence", "q1", "median", "q3", "upperfence")
        stroke = trace.get("line", {}).get("color", color)
        for number, place in enumerate(places.tolist()):
            low, q1, middle, q3, high = (along.at([trace[name][number]])[0] for name in names)
            half = min(12.0, abs(across.end - across.start) / max(len(across.names), 1) / 3)
            x, y, wide, tall = min(q1, q3), place - half, abs(q3 - q1), 2 * half
            if not flat:
                x, y, wide, tall = y, x, tall, wide
            yield _rect(x, y, wide, tall, str(trace.get("fillcolor", "none")), stroke=stroke)
            for a, b in ((low, q1), (q3, high)):
                yield _line(a, place, b, place, stroke, flat=flat)
            for end, size in ((low, half / 2), (high, half / 2), (middle, half)):
                yield _line(end, place - size, end, place + size, stroke, flat=flat)

    def _heatmap(self, trace: Trace, color: str) -> Iterator[str]:
        del color
        cells = np.array(trace["z"], np.float64)
        if not cells.size:
            return
        x = self.x.values(np.arange(cells.shape[1]) if trace.get("x") is None else trace["x"])
        edges = self._edges(x, cells.shape[1])
        if trace.get("meta") == HATCHED:
            yield from self._hatched(trace, np.isfinite(cells), edges)
            return
        scale, low, high, bar = self._scale(trace, cells)
        pixels = _colored(self._raster(cells, edges), scale, low, high)
        upwards = self.y.start > self.y.end
        image = base64.b64encode(png(pixels[::-1] if upwards else pixels)).decode()
        top = min(self.y.start, self.y.end)
        yield (
            f'<image x="{self._left:.1f}" y="{top:.1f}" width="{self._right - self._left:.1f}"'
            f' height="{abs(self.y.end - self.y.start):.1f}" preserveAspectRatio="none"'
            f' style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>'
        )
        axis = self._layout.get(trace.get("coloraxis", ""), {})
        if trace.get("showscale", True) and axis.get("showscale", True):
            yield from self._color_bar(scale, low, high, bar)
        if trace.get("text") is not None and trace.get("texttemplate"):
            yield from self._cell_texts(trace)

    def _edges(self, x: Floats, count: int) -> tuple[Floats, Floats]:
        """Return where columns begin and end: as told, or half-way to their neighbours."""
        if len(x) == count + 1:
            return x[:-1], x[1:]
        gaps = np.diff(x)
        most = float(np.median(gaps)) if len(gaps) else 1.0
        # A gap that is longer than usual is none of theirs.
        reach = np.where(gaps > most, most, gaps / 2) if len(gaps) else np.array([0.5])
        return x - np.append(reach[:1], reach)[:count], x + np.append(reach, reach[-1:])[:count]

    def _raster(self, cells: Floats, edges: tuple[Floats, Floats]) -> Floats:
        """Return cells as columns of pixels; one that is there is two of them wide at least."""
        wide = np.full((len(cells), _COLUMNS), np.nan)
        scale = _COLUMNS / ((self.x.high - self.x.low) or 1.0)
        starts, ends = ((one - self.x.low) * scale for one in edges)
        is_known = np.isfinite(cells).any(axis=0)
        for column in np.flatnonzero(is_known).tolist():
            start = min(max(0, int(starts[column])), _COLUMNS - 2)
            end = max(round(float(ends[column])), start + 2)
            wide[:, start:end] = cells[:, column, None]
        return wide

    def _hatched(
        self, trace: Trace, is_hatched: npt.NDArray[np.bool_], edges: tuple[Floats, Floats]
    ) -> Iterator[str]:
        """Yield strokes over cells; those that lie beside each other are one."""
        places = self.y.at(trace["y"])
        half = abs(self.y.end - self.y.start) / max(1, len(places)) / 2
        starts, ends = (
            np.clip(self.x.pixels(one), self._left, self._right).tolist() for one in edges
        )
        for place, row in zip(places.tolist(), is_hatched, strict=True):
            turns = np.flatnonzero(np.diff(row.astype(np.int8), prepend=0, append=0)).tolist()
            strokes = "".join(
                _strokes(starts[first], ends[end - 1], place, half)
                for first, end in zip(turns[::2], turns[1::2], strict=True)
            )
            if strokes:
                yield f'<path d="{strokes}" stroke="{_MUTED}" stroke-width="0.8" fill="none"/>'

    def _cell_texts(self, trace: Trace) -> Iterator[str]:
        for y, row in zip(self.y.at(trace["y"]).tolist(), trace["text"], strict=False):
            for x, text in zip(self.x.at(trace["x"]).tolist(), row, strict=False):
                yield _text(x, y + 4, _plain(str(text)), anchor="middle", color=_TEXT)

    def _scale(
        self, trace: Trace, cells: Floats
    ) -> tuple[list[list[Any]], float, float, Mapping[str, Any]]:
        axis = self._layout.get(trace.get("coloraxis", ""), {})
        known = cells[np.isfinite(cells)]
        ends = (known.min(), known.max()) if known.size else (0.0, 1.0)
        low = axis.get("cmin", trace.get("zmin", ends[0]))
        high = axis.get("cmax", trace.get("zmax", ends[1]))
        scale = axis.get("colorscale") or trace.get("colorscale") or _DEFAULT_SCALE
        bar = axis.get("colorbar") or trace.get("colorbar") or {}
        return scale, float(low), float(high), bar

    def _color_bar(
        self, scale: list[list[Any]], low: float, high: float, bar: Mapping[str, Any]
    ) -> Iterator[str]:
        x, top, size = self._right + 14, self._top, min(160.0, self._bottom - self._top)
        count = 40
        for number in range(count):
            red, green, blue = _mix(scale, 1 - (number + 0.5) / count)
            color = f"#{red:02x}{green:02x}{blue:02x}"
            yield _rect(x, top + size * number / count, 10, size / count + 0.6, color)
        marks = bar.get("tickvals")
        texts = bar.get("ticktext")
        if marks is None:
            marks, texts = [low, (low + high) / 2, high], None
        # As many digits as tell the ends apart.
        size_of_ends = max(abs(low), abs(high))
        apart = math.log10(size_of_ends / (high - low)) if high > low else 0.0
        digits = max(3, math.ceil(apart) + 2)
        for number, mark in enumerate(marks):
            if low <= mark <= high:
                share = (mark - low) / ((high - low) or 1)
                text = f"{mark:.{digits}g}" if texts is None else _plain(texts[number])
                yield _text(x + 14, top + size * (1 - share) + 4, text)

    # Axes

    def _kind(self, which: str) -> str:
        asked = str(self._layout.get(f"{which}axis", {}).get("type", ""))
        if asked in ("log", "date", "category"):
            return asked
        for trace in self._traces:
            values = trace.get(which)
            for one in values if isinstance(values, list) else ():
                if isinstance(one, str):
                    return "date" if re.match(r"\d{4}-\d\d-\d\d", one) else "category"
        return "linear"

    def _names(self, which: str) -> list[str]:
        found: dict[str, None] = {}
        for trace in self._traces:
            values = trace.get(which)
            if trace["type"] == "box" and values is None:
                values = [trace.get("name", "")]
            if trace.get("yaxis") != "y2" or which == "x":
                found.update(dict.fromkeys(str(one) for one in ([] if values is None else values)))
        return list(found)

    def _label_of(self, name: str) -> str:
        axis = self._layout.get("yaxis", {})
        labels = dict(
            zip(map(str, axis.get("tickvals", ())), axis.get("ticktext", ()), strict=False)
        )
        return _plain(labels.get(name, name))

    def _axis(self, which: str, start: float, end: float) -> Axis:
        kind = self._kind(which)
        if kind == "category":
            names = self._names(which)
            return Axis(kind, names, -0.5, len(names) - 0.5, start, end)
        axis = Axis(kind, (), 0.0, 1.0, start, end)
        layout = self._layout.get(f"{which}axis", {})
        if layout.get("range"):
            low, high = layout["range"]
            axis.low, axis.high = (
                (_time(low), _time(high)) if kind == "date" else (float(low), float(high))
            )
            return axis
        found = [axis.values(values) for values in self._data(which)]
        every = np.concatenate([one[np.isfinite(one)] for one in found] or [np.zeros(0)])
        low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
        is_bar = any(trace["type"] == "bar" for trace in self._traces)
        if layout.get("rangemode") == "tozero" or (is_bar and self._is_length(which)):
            low, high = min(low, 0.0), max(high, 0.0)
        pad = (high - low) * 0.04 or (abs(high) * 0.05 or 0.5)
        is_flush = which == "x" and not is_bar
        axis.low = low if is_flush or (low == 0 and is_bar) else low - pad
        axis.high = high if is_flush and high > low else high + pad
        return axis

    def _is_length(self, which: str) -> bool:
        flat = any(trace.get("orientation") == "h" for trace in self._traces)
        return which == ("x" if flat else "y")

    def _data(self, which: str) -> Iterator[Iterable[Any]]:
        for trace in self._traces:
            if which == "y" and trace.get("yaxis") == "y2":
                continue
            if trace["type"] == "box":
                flat = trace.get("orientation") == "h"
                if which == ("x" if flat else "y"):
                    yield from (trace["lowerfence"], trace["upperfence"])
                continue
            values = trace.get(which)
            if values is not None:
                yield values
                if trace["type"] == "bar" and trace.get("base") is not None:
                    yield trace["base"]
                    sums = zip(trace["base"], values, strict=False)
                    yield [a + b for a, b in sums] if self._is_length(which) else values

    def _stack(self) -> None:
        """Put traces of one stack on top of each other."""
        below: Floats | None = None
        before: dict[str, Any] | None = None
        for trace in self._traces:
            if trace.get("stackgroup"):
                y = np.asarray(trace["y"], np.float64)
                total = y if below is None else below + y
                trace.update(y=total.tolist(), fill="tonexty", _below=None)
                trace["_below"] = np.zeros(len(y)).tolist() if below is None else below.tolist()
                below = total
            elif trace.get("fill") == "tonexty" and before is not None:
                trace["_below"] = before.get("y")
            before = trace

    def _frame(self) -> Iterator[str]:
        left, right, top, bottom = self._left, self._right, self._top, self._bottom
        most = max(2, int((bottom - top) / (_LINE if self.y.kind == "category" else 38)))
        for y, text in self.y.ticks(most):
            if self.y.kind != "category":
                yield _line(left, y, right, y, _GRID)
            shown = self._label_of(text) if self.y.kind == "category" else text
            room = int((left - 10) / _CHAR)
            shown = shown if len(shown) <= room else f"…{shown[1 - room :]}"
            yield _text(left - 6, y + 4, shown, anchor="end")
        yield _line(left, bottom, right, bottom, _GRID)
        for x, text in self.x.ticks(max(2, int((right - left) / 110))):
            yield _line(x, bottom, x, bottom + 4, _GRID)
            anchor = "end" if x > right - 20 else "middle"
            yield _text(x, bottom + 17, _plain(text), anchor=anchor)
        title = _plain(self._layout.get("xaxis", {}).get("title", {}).get("text", ""))
        if title:
            yield _text((left + right) / 2, bottom + 33, title, anchor="middle")
        title = _plain(self._layout.get("yaxis", {}).get("title", {}).get("text", ""))
        if title:
            yield _text(6, top - 8, title)

    def _shape(self, shape: Trace, number: int) -> str:
        del number
        x0, x1 = self.x.at([shape["x0"], shape["x1"]]).tolist()
        if shape.get("yref") == "y":
            ends = [shape["y0"], shape["y1"]]
            is_place = self.y.kind == "category" and not isinstance(ends[0], str)
            places = self.y.pixels(np.array(ends, np.float64)) if is_place else self.y.at(ends)
            y0, y1 = places.tolist()
        else:
            y0, y1 = self._bottom, self._top
        if shape["type"] == "line":
            return _line(x0, y0, x1, y1, shape.get("line", {}).get("color", _MUTED))
        fill = str(shape.get("fillcolor", "none"))
        stroke = str(shape.get("line", {}).get("color", "none"))
        low, high = sorted((x0, x1))
        return _rect(low, min(y0, y1), max(high - low, 1.5), abs(y1 - y0), fill, stroke=stroke)

    def _legend_rows(self, width: int) -> list[str]:
        if not self._layout.get("showlegend"):
            return []
        shown = [
            (str(trace["name"]), number, trace)
            for number, trace in enumerate(self._traces)
            if trace.get("name") and trace.get("showlegend", True)
        ]
        parts, x = [], float(width - _MARGIN_RIGHT)
        for name, number, trace in reversed(list({one[0]: one for one in shown}.values())):
            text = _plain(name)
            x -= len(text) * _CHAR + 26
            if x < width * 0.2:
                break
            if trace["type"] == "heatmap":
                parts += [_text(x + 16, 14, text), *_swatch(trace, x)]
                continue
            color = trace.get("line", {}).get("color") or trace.get("marker", {}).get("color")
            color = color if isinstance(color, str) else COLORWAY[number % len(COLORWAY)]
            if trace.get("fillcolor") and not trace.get("line", {}).get("width", 2):
                color = str(trace["fillcolor"])
            parts += [_rect(x, 8, 12, 4, color), _text(x + 16, 14, text)]
        return parts


def _swatch(trace: Trace, x: float) -> Iterator[str]:
    """Yield what the cells of an overlay look like, for the legend."""
    if trace.get("meta") == HATCHED:
        yield _rect(x, 5, 12, 10, "none", stroke=_GRID)
        strokes = _strokes(x, x + 12, 10, 5)
        yield f'<path d="{strokes}" stroke="{_MUTED}" stroke-width="0.9" fill="none"/>'
    else:
        yield _rect(x, 5, 12, 10, str(trace["colorscale"][0][1]))


def _strokes(start: float, end: float, place: float, half: float, apart: float = 8.0) -> str:
    """Return slanted strokes that fill a row from one pixel to another, cut off at both."""
    found = []
    for at in np.arange(start - 2 * half + apart / 2, max(end, start + 2), apart).tolist():
        low, high = max(at, start), min(at + 2 * half, end)
        if high > low:
            found.append(
                f"M{low:.1f} {place + half - (low - at):.1f}l{high - low:.1f} {low - high:.1f}"
            )
    return "".join(found)


def _path(x: Floats, y: Floats) -> str:
    """Return the path through points, begun anew after each that has no place."""
    parts, is_new = [], True
    for px, py in zip(x.tolist(), y.tolist(), strict=True):
        if math.isfinite(px) and math.isfinite(py):
            parts.append(f"{'M' if is_new else 'L'}{px:.1f} {py:.1f}")
            is_new = False
        else:
            is_new = True
    return "".join(parts)


def _symbol(symbol: str, x: float, y: float, size: float) -> str:
    r = size / 2
    if symbol == "x":
        return (
            f"M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}"
            f"M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"
        )
    if symbol == "triangle-down":
        return f"M{x - r:.1f} {y - r:.1f}h{size:.1f}L{x:.1f} {y + r:.1f}Z"
    if symbol == "diamond":
        return f"M{x:.1f} {y - r:.1f}l{r:.1f} {r:.1f}l{-r:.1f} {r:.1f}l{-r:.1f} {-r:.1f}Z"
    arc = f"a{r:.1f} {r:.1f} 0 1 0"
    return f"M{x - r:.1f} {y:.1f}{arc} {size:.1f} 0{arc} {-size:.1f} 0"


def _rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    stroke: str = "",
    opacity: float = 1,
) -> str:
    line = f' stroke="{stroke}"' if stroke else ""
    faint = f' opacity="{opacity}"' if opacity < 1 else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        f' fill="{fill}"{line}{faint}/>'
    )


def _line(x0: float, y0: float, x1: float, y1: float, color: str, *, flat: bool = True) -> str:
    if not flat:
        x0, y0, x1, y1 = y0, x0, y1, x1
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{color}" fill="none"/>'


def _ring(trace: Trace, height: int) -> Iterator[str]:
    """Yield a ring with its legend; values that are nothing are left out."""
    values = np.asarray(trace["values"], np.float64)
    total = float(values.sum()) or 1.0
    colors = trace.get("marker", {}).get("colors", COLORWAY)
    radius, hole = height / 2 - 8, (height / 2 - 8) * float(trace.get("hole", 0))
    cx = cy = height / 2
    angle = -math.pi / 2
    for number, value in enumerate(values.tolist()):
        share = value / total
        after = angle + 2 * math.pi * min(share, 0.99999)
        points = [
            (cx + r * math.cos(a), cy + r * math.sin(a))
            for r, a in ((radius, angle), (radius, after), (hole, after), (hole, angle))
        ]
        (ax, ay), (bx, by), (dx, dy), (ex, ey) = points
        large = int(share > 0.5)
        yield (
            f'<path d="M{ax:.1f} {ay:.1f}A{radius:.1f} {radius:.1f} 0 {large} 1 {bx:.1f} {by:.1f}'
            f'L{dx:.1f} {dy:.1f}A{hole:.1f} {hole:.1f} 0 {large} 0 {ex:.1f} {ey:.1f}Z"'
            f' fill="{colors[number % len(colors)]}"/>'
        )
        angle = after
        y = 24 + number * 20
        yield _rect(height + 20, y - 9, 12, 10, str(colors[number % len(colors)]))
        label = _plain(str(trace["labels"][number]))
        yield _text(height + 38, y, f"{label}  {share:.1%}", color=_TEXT)


_DEFAULT_SCALE: list[list[Any]] = [[0.0, "#f3f6fa"], [1.0, "#1f4f8a"]]


def _rgb(color: str) -> tuple[int, int, int]:
    numbers = re.findall(r"[\d.]+", color) if color.startswith("rgb") else []
    if numbers:
        return int(float(numbers[0])), int(float(numbers[1])), int(float(numbers[2]))
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _mix(scale: Sequence[Sequence[Any]], share: float) -> tuple[int, int, int]:
    stops = np.array([float(one[0]) for one in scale])
    colors = np.array([_rgb(str(one[1])) for one in scale], np.float64)
    red, green, blue = (round(float(np.interp(share, stops, colors[:, n]))) for n in range(3))
    return red, green, blue


def _colored(
    cells: Floats, scale: Sequence[Sequence[Any]], low: float, high: float
) -> npt.NDArray[np.uint8]:
    """Return the colours of cells, shape ``[rows, columns, 4]``; what is not finite is clear."""
    stops = np.array([float(one[0]) for one in scale])
    colors = np.array([_rgb(str(one[1])) for one in scale], np.float64)
    known = np.isfinite(cells)
    share = np.clip((np.where(known, cells, low) - low) / ((high - low) or 1.0), 0, 1)
    bands = [np.interp(share, stops, colors[:, n]).round() for n in range(3)]
    return np.stack([*bands, np.where(known, 255, 0)], axis=-1).astype(np.uint8)


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return an image as a PNG file.

    Args:
        pixels: Red, green, blue and opacity, shape ``[rows, columns, 4]``, uint8.

    Example:
        >>> png(np.zeros((1, 1, 4), np.uint8))[1:4]
        b'PNG'
    """
    rows, columns, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    lines = np.zeros((rows, 1 + 4 * columns), np.uint8)  # each after the number of its filter: none
    lines[:, 1:] = pixels.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + chunk(b"IEND", b"")
