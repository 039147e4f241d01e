"""Static figures: what is where, and what stays blank."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

from stepwatch.plots import heatmap, series
from stepwatch.plots.charts import bars, shares
from stepwatch.plots.svg import png, svg

EVIL = "</svg><script>alert(1)</script>"


def element(figure, **options):
    """Return a figure as a browser reads it: what is no XML raises."""
    return ElementTree.fromstring(svg(figure, **options))


def pixels(drawn, which=0):
    """Return a picture of a heat map, shape ``[rows, columns, 4]``."""
    data = base64.b64decode(re.findall(r"base64,([^\"]+)", drawn)[which])
    columns, rows = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", data[start - 8 : start - 4])
    raw = np.frombuffer(zlib.decompress(data[start : start + size]), np.uint8)
    return raw.reshape(rows, 1 + 4 * columns)[:, 1:].reshape(rows, columns, 4)


def line(drawn):
    """Return the points of the line that is drawn thickest."""
    path = re.search(r'd="([^"]*)" fill="none" stroke="#[^"]*" stroke-width="1.8"', drawn)[1]
    return [tuple(map(float, one.split())) for one in re.findall(r"[ML]([\d.]+ [\d.]+)", path)]


class TestLines:
    def test_a_line_rises_as_its_values_do(self):
        points = line(svg(series([0, 1, 2], [1.0, 3.0, 2.0], name="loss", statistic="mean")))
        (x0, y0), (x1, y1), (x2, y2) = points

        assert x0 < x1 < x2
        assert y1 < y2 < y0, "the pixels of a screen are counted from above"

    def test_what_is_not_finite_breaks_it(self):
        """No line is drawn across a gap."""
        drawn = svg(series([0, 1, 2, 3], [1.0, np.nan, 2.0, 3.0], name="loss", statistic="mean"))

        assert 2 == re.search(r'd="(M[^"]*)" fill="none" stroke="#', drawn)[1].count("M")

    def test_names_are_text(self):
        """Whatever a run calls its things."""
        figure = series([0, 1], [1.0, 2.0], name=EVIL, statistic="mean")
        root = element(figure, titled=True)

        assert not [one for one in root.iter() if one.tag.endswith("script")]
        assert any(EVIL in (one.text or "") for one in root.iter())


class TestHeatmaps:
    def test_a_cell_without_a_value_stays_blank(self):
        drawn = svg(heatmap([0, 1], ["a", "b"], [[1.0, np.nan], [1.0, 2.0]], statistic="l2"))
        opacity = pixels(drawn)[..., 3]

        assert (255, 0) == (opacity[0, 0], opacity[0, -1])
        assert (255, 255) == (opacity[1, 0], opacity[1, -1])

    def test_a_row_without_any_value_is_hatched(self):
        """As of a parameter that no optimizer holds; others are not."""
        drawn = svg(heatmap([0, 1], ["a", "b"], [[np.nan, np.nan], [1.0, 2.0]], statistic="l2"))

        assert 1 == drawn.count('stroke-width="0.8"')

    def test_a_row_is_hatched_where_it_has_nothing(self):
        """As of what was trained for a part of the run: not before, and the legend says so."""
        values = [[1.0, 1.0, np.nan, np.nan], [1.0, 2.0, 3.0, 4.0]]
        figure = heatmap([0, 1, 2, 3], ["a", "b"], values, statistic="l2", last=[0, 1, 2, 3])
        drawn = svg(figure)
        (strokes,) = re.findall(r'<path d="([^"]*)"[^>]*stroke-width="0.8"', drawn)
        left = min(float(x) for x in re.findall(r"M([\d.]+) ", strokes))
        middle = re.search(r'<image x="([\d.]+)"[^>]*width="([\d.]+)"', drawn)

        assert left >= float(middle[1]) + float(middle[2]) / 2 - 1
        assert "none where others have one" in drawn

    def test_a_step_at_which_nothing_was_measured_is_blank_and_not_hatched(self):
        drawn = svg(heatmap([0, 1], ["a", "b"], [[np.nan, 1.0], [np.nan, 1.0]], statistic="l2"))

        assert 0 == drawn.count('stroke-width="0.8"')

    def test_what_is_not_finite_is_red_and_not_hatched(self):
        """Whatever the rest of its elements come to; and there is one bar of colours."""
        values = [[np.nan, np.nan], [1.0, 2.0], [3.0, 4.0]]
        unfit = [[True, True], [False, True], [False, False]]
        options = {"statistic": "l2", "above": ["b"]}
        plain = svg(heatmap([0, 1], ["a", "b", "c"], values, **options))
        drawn = svg(heatmap([0, 1], ["a", "b", "c"], values, **options, unfit=unfit))
        red = pixels(drawn, -1)

        assert (1, 0) == (plain.count('stroke-width="0.8"'), drawn.count('stroke-width="0.8"'))
        assert ["not finite"] == re.findall("not finite", drawn)
        shown = (red[..., 3] > 0)[:, [0, -1]].tolist()
        assert [[False, True], [True, True], [False, False]] == shown
        assert red[0, -1, 0] > 2 * red[0, -1, 1]

    def test_both_ends_of_a_color_bar_have_labels_of_their_own(self):
        """However near each other they are."""
        drawn = svg(heatmap([0, 1], ["a"], [[30.61, 30.68]], statistic="l2"))

        assert {"30.61", "30.68"} <= {*re.findall(r">([\d.]+)<", drawn)}

    def test_steps_stand_where_they_are(self):
        """A gap between steps is as wide as it is long, and blank."""
        values = [[1.0, 1.0, 1.0, 1.0, 1.0]]
        drawn = svg(heatmap([0, 1, 2, 3, 100], ["a"], values, statistic="mean"))
        shown = pixels(drawn)[0, :, 3] > 0

        assert shown[0]
        assert shown[-1]
        assert shown.mean() < 0.2

    def test_a_cell_is_as_wide_as_its_steps(self):
        """Also where a few lie beside each other and the others far from them; it stays visible."""
        steps = [8, 9, 10, 59, 78]
        options = {"statistic": "l2", "over": (8, 78), "last": steps}
        shown = pixels(svg(heatmap(steps, ["a"], [[1.0] * 5], **options)))[0, :, 3] > 0
        long = {**options, "over": (0, 100_000)}
        few = pixels(svg(heatmap(steps, ["a"], [[1.0] * 5], **long)))[0, :, 3] > 0

        assert shown.mean() == pytest.approx(5 / 71, abs=0.01)
        assert 2 <= few.sum() <= 4


class TestOthers:
    def test_a_longer_bar_stands_for_more(self):
        drawn = svg(bars({"a": 0.5, "b": 0.25}, title="bars", unit="share"))
        rects = re.findall(r'<rect [^>]*width="([\d.]+)" height="([\d.]+)"', drawn)
        lengths = sorted(max(float(one), float(other)) for one, other in rects)

        assert 2 == len(lengths)
        assert lengths[1] == pytest.approx(2 * lengths[0], rel=0.02)

    def test_a_ring_names_its_parts_with_their_shares(self):
        texts = [
            one.text for one in element(shares({"data": 3.0, "forward": 1.0}, title="t")).iter()
        ]

        assert {"data  75.0%", "forward  25.0%"} <= {*texts}

    def test_a_png_is_one(self):
        data = png(np.full((2, 3, 4), 7, np.uint8))

        assert data.startswith(b"\x89PNG")
        assert (3, 2) == struct.unpack(">II", data[16:24])
