"""Charts of reports hold what they were given, as text where it is text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stepwatch.plots import bars, boxes, curves, histogram, lines, matrix, shares
from stepwatch.plots.charts import MOST_BARS, MOST_PARTS, MOST_WITH_TEXT
from stepwatch.plots.downsample import envelope

EVIL = '<img src=x onerror="alert(1)">'
CHARTS = {
    "bars": lambda: bars({EVIL: 1.0}, title=EVIL, about=EVIL, unit=EVIL),
    "boxes": lambda: boxes({EVIL: (0, 1, 2, 3, 4)}, title=EVIL, about=EVIL, unit=EVIL),
    "curves": lambda: curves({EVIL: ([0], [1])}, title=EVIL, x=EVIL, y=EVIL, hover={EVIL: [1]}),
    "histogram": lambda: histogram([0, 1], {EVIL: [3]}, title=EVIL, unit=EVIL, lines={EVIL: 0.5}),
    "lines": lambda: lines({EVIL: envelope([0, 1], [1, 2], points=2)}, title=EVIL, unit=EVIL),
    "matrix": lambda: matrix([EVIL], [[1]], title=EVIL, about=EVIL),
    "shares": lambda: shares({EVIL: 1.0}, title=EVIL, about=EVIL, unit=EVIL),
}


@pytest.mark.parametrize("chart", CHARTS)
def test_names_are_text(chart):
    """A name that looks like a tag is escaped wherever Plotly would read tags."""
    shown = json.loads(CHARTS[chart]().to_json())
    shown["layout"].pop("template")

    assert "<img" not in json.dumps(shown)


class TestLines:
    def test_times_are_dates(self):
        """Nanoseconds since the Unix epoch, in UTC."""
        column = envelope([1_700_000_000_000_000_000], [1.0], points=1)

        (trace,) = lines({"cpu": column}, title="a", over="time").data

        assert ("2023-11-14T22:13:20.000",) == tuple(trace.x)

    def test_a_row_of_several_readings_has_a_band(self):
        """From the lowest to the highest of them."""
        column = envelope(range(100), np.r_[np.ones(99), 50.0], points=10)

        band, line = lines({"cpu": column}, title="a").data

        assert 50.0 == np.nanmax(np.array(band.y, float))
        assert 10 == len(line.x)

    def test_what_is_pointed_out(self):
        """An area behind the lines."""
        figure = lines({"a": envelope([0, 9], [1, 2], points=2)}, title="a", span=(3, 4))

        assert (3, 4) == (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1)


class TestShares:
    def test_small_parts_are_joined(self):
        """Nothing of the whole is lost by that."""
        parts = {f"part {number}": float(number) for number in range(20)}

        (trace,) = shares(parts, title="a").data

        assert MOST_PARTS == len(trace.labels)
        assert sum(parts.values()) == sum(trace.values)


class TestBars:
    def test_the_first_ones_are_drawn_and_the_rest_counted(self):
        """A model of ten thousand features has a chart as well."""
        figure = bars({str(number): 1.0 for number in range(10_000)}, title="a", unit="b")

        assert MOST_BARS == len(figure.data[0].x)
        assert "9,960 more are not drawn" in figure.layout.title.subtitle.text


class TestMatrix:
    def test_counts_and_shares_of_each_row(self):
        """A class that was never there has no share."""
        cells, text = matrix(["a", "b"], [[3, 1], [0, 0]], title="a").data

        assert [[0.75, 0.25], [0.0, 0.0]] == np.array(cells.z).tolist()
        assert "3<br>75%" == text.text[0]

    def test_of_many_classes_only_the_colours(self):
        """Their numbers are told on hover."""
        many = MOST_WITH_TEXT + 1

        assert 1 == len(matrix([str(n) for n in range(many)], np.eye(many), title="a").data)


class TestDistributions:
    def test_bars_are_as_wide_as_their_bins(self):
        """And stand in their middle."""
        (trace,) = histogram([0, 1, 4], {"a": [5, 6]}, title="a", unit="b").data

        assert [0.5, 2.5] == list(trace.x)
        assert [1, 3] == list(trace.width)

    def test_a_box_has_its_five_numbers(self):
        """As they were worked out."""
        (trace,) = boxes({"gpu0": (1, 2, 3, 4, 5)}, title="a", unit="%").data

        found = (trace.lowerfence, trace.q1, trace.median, trace.q3, trace.upperfence)
        assert [(1,), (2,), (3,), (4,), (5,)] == [tuple(one) for one in found]
