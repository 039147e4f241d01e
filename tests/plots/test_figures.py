"""Series and heat maps hold what they were given, and say what they leave out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stepwatch.errors import MissingDependency
from stepwatch.model.finding import Finding
from stepwatch.plots import heatmap, series
from stepwatch.plots.heatmaps import ABOVE, BELOW, HEALTHY
from stepwatch.plots.theme import MOST_MARKS, in_scheme, template
from stepwatch.plugins import registry

EVIL = '<img src=x onerror="alert(1)">'
SPIKE = Finding("loss_spike", 7, "loss", "9.2 deviations above the median", severity="error")


def traces(figure):
    return {trace.name: trace for trace in figure.data}


class TestSeries:
    def test_every_mode_has_its_own_line(self):
        """Values of two modes are never joined by one line."""
        figure = series(
            [0, 1, 2],
            [3.0, 2.0, 1.0],
            name="loss",
            statistic="value",
            modes=["TRAIN", "EVAL", "TRAIN"],
        )

        assert [0, 2] == list(traces(figure)["TRAIN"].x)
        assert [1] == list(traces(figure)["EVAL"].x)

    def test_finding_is_a_line_at_its_step_with_its_message(self):
        """A finding stands at its step and says its rule and message on hover."""
        figure = series(range(10), range(10), name="loss", statistic="value", findings=[SPIKE])

        mark = traces(figure)["error"]
        assert (7, 7, None) == tuple(mark.x)
        assert "loss_spike" in mark.text[1]
        assert SPIKE.message in mark.text[1]

    def test_spike_of_a_long_run_reaches_the_band(self):
        """One high value among 100,000 is drawn as it is, with few points."""
        values = np.ones(100_000)
        values[31_234] = 77.0

        figure = series(np.arange(100_000), values, name="a", statistic="l2", points=100)

        assert 77.0 == np.nanmax(np.array(traces(figure)["lowest to highest"].y, dtype=float))
        assert all(len(trace.x) <= 2 * 100 + 2 for trace in figure.data)
        assert "100,000 steps" in figure.layout.title.subtitle.text

    def test_short_run_is_drawn_value_by_value(self):
        """No band where each value is its own point."""
        figure = series([0, 5], [1.0, 2.0], name="a", statistic="l2")

        assert [[1.0, 2.0]] == [list(trace.y) for trace in figure.data]

    def test_non_finite_values_are_marked_and_counted(self):
        """A nan is a gap in the line, a cross below it, and a number under the title."""
        figure = series([0, 1, 2], [1.0, np.nan, np.inf], name="a", statistic="l2")

        assert [1, 2] == list(traces(figure)["not finite"].x)
        assert "2 not finite" in figure.layout.title.subtitle.text

    def test_log_axis_counts_what_has_no_place_on_it(self):
        """Zero and below are left out of a logarithmic axis, aloud."""
        figure = series([0, 1, 2], [1.0, 0.0, -1.0], name="a", statistic="min", log=True)

        assert "log" == figure.layout.yaxis.type
        assert "2 at or below zero" in figure.layout.title.subtitle.text

    def test_names_are_text(self):
        """A name that looks like a tag is escaped wherever Plotly would read tags."""
        finding = Finding(EVIL, 1, EVIL, EVIL, severity=EVIL)

        figure = series(
            [0, 1], [1, 2], name=EVIL, statistic=EVIL, modes=[EVIL] * 2, findings=[finding]
        )

        shown = json.loads(figure.to_json())
        shown["layout"].pop("template")
        assert "<img" not in json.dumps(shown)

    def test_findings_without_end_are_bounded_and_counted(self):
        """Thousands of findings do not fill the figure; the legend says how many there are."""
        findings = [Finding("a", step, "b", "c", severity="info") for step in range(1000)]

        figure = series([0], [1.0], name="b", statistic="l2", findings=findings)

        assert f"info ({MOST_MARKS} of 1,000 steps)" in traces(figure)

    def test_nothing_gives_empty_axes(self):
        """A run without steps yet can be drawn."""
        assert 0 == sum(len(trace.x) for trace in series([], [], name="a", statistic="l2").data)

    def test_modes_of_another_length_are_refused(self):
        """Columns that do not belong together are an error."""
        with pytest.raises(ValueError, match="got 1 and 2"):
            series([0, 1], [1.0, 2.0], name="a", statistic="l2", modes=["TRAIN"])

    def test_without_plotly_the_way_out_is_told(self, monkeypatch):
        """A missing Plotly is said with the command that installs it."""

        def nothing_installed(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name="plotly")

        monkeypatch.setattr(registry, "import_module", nothing_installed)

        with pytest.raises(MissingDependency, match=r"pip install 'stepwatch\[plots\]'"):
            series([0], [1.0], name="a", statistic="l2")


class TestHeatmap:
    def test_rows_stand_in_the_order_given(self):
        """The first tensor is the top row."""
        figure = heatmap([0, 1], ["b", "a"], [[1.0, 2.0], [3.0, 4.0]], statistic="l2")

        assert ["b", "a"] == list(figure.data[0].y)
        assert "reversed" == figure.layout.yaxis.autorange

    def test_finding_is_marked_in_its_row_others_across(self):
        """A finding about a row stands in it; one about no row is a vertical line."""
        here = Finding("dead", 1, "a", "all zero", severity="warning")

        figure = heatmap([0, 1], ["a"], [[1.0, 2.0]], statistic="l2", findings=[here, SPIKE])

        assert ("a",) == tuple(traces(figure)["warning"].y)
        assert "y2" == traces(figure)["error"].yaxis

    def test_spike_and_zero_survive_few_columns(self):
        """With fewer columns than steps the unusual value of a cell is the one shown."""
        values = np.ones((2, 1000))
        values[0, 503], values[1, 777] = 1e6, 0.0

        figure = heatmap(np.arange(1000), ["a", "b"], values, statistic="l2", points=10, log=True)

        shown = np.array(figure.data[0].customdata)
        assert 1e6 == pytest.approx(shown[0].max(), rel=1e-5)
        assert 0.0 == shown[1].min()
        assert (2, 10) == shown.shape

    def test_what_a_finding_is_about_is_on_top_and_outlined(self):
        """Its row is the first, whatever its place in the model."""
        values = [[1.0, 2.0], [3.0, 4.0]]
        figure = heatmap([0, 1], ["a", "b"], values, statistic="l2", above=["b"])

        assert ("b", "a") == figure.data[0].y
        assert (-0.5, 0.5) == (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1)

    def test_what_is_healthy_is_grey_on_a_logarithmic_scale(self):
        """Blue below it, and red above."""
        ratios = [[1e-8, 1e-3, 10.0]]
        options = {"log": True, "band": (1e-4, 1e-2), "statistic": "mean"}
        scale = heatmap([0, 1, 2], ["a"], ratios, **options).layout.coloraxis.colorscale

        assert [BELOW, HEALTHY, HEALTHY, ABOVE] == [color for _, color in scale]
        assert 4 / 9 == pytest.approx(scale[1][0])

    @pytest.mark.parametrize("band", [None, (1e-4, 1e-2)])
    def test_zero_has_its_own_colour_on_a_logarithmic_scale(self, band):
        """It is not small, it is nothing: none of the colours of the scale, named in the legend."""
        options = {"statistic": "l2", "log": True, "band": band}
        figure = heatmap([0, 1, 2], ["a", "b"], [[0.0, 1e-9, 0.0], [1e-9, 1.0, 9.0]], **options)
        zero = traces(figure)["exactly 0"]

        assert [[1, 0, 1], [0, 0, 0]] == np.isfinite(np.array(zero.z, float)).tolist()
        assert [[1, 0, 1], [0, 0, 0]] == np.isnan(np.array(figure.data[0].z, float)).tolist()
        assert zero.showlegend
        assert zero.colorscale[0][1] not in [
            color for _, color in figure.layout.coloraxis.colorscale
        ]

    def test_where_all_is_zero_there_is_no_scale(self):
        """Numbers beside it would be made up."""
        figure = heatmap([0, 1], ["a"], [[0.0, 0.0]], statistic="l2", log=True)

        assert not figure.layout.coloraxis.showscale
        assert "exactly 0" in traces(figure)

    def test_scale_around_zero_is_symmetric(self):
        """Zero has the neutral colour where both signs occur."""
        axis = heatmap([0, 1], ["a"], [[-1.0, 4.0]], statistic="mean").layout.coloraxis

        assert (-4.0, 4.0) == (axis.cmin, axis.cmax)

    @pytest.mark.parametrize("log", [False, True])
    def test_unknown_cells_are_blank(self, log):
        """Nothing known, nothing drawn; also when that is all there is."""
        figure = heatmap([0, 1], ["a"], [[np.nan, np.inf]], statistic="l2", log=log)

        assert np.isnan(np.array(figure.data[0].z, dtype=float)).all()

    def test_what_is_all_above_a_band_is_not_grey(self):
        """Where all cells are alike, too: the scale holds the band."""
        band = (1e-4, 1e-2)
        figure = heatmap([0], ["a"], [[1.0]], statistic="mean", log=True, band=band)
        axis = figure.layout.coloraxis

        assert (-4.0, 0.0) == (axis.cmin, axis.cmax)
        assert [(0.0, HEALTHY), (0.0, HEALTHY), (0.5, HEALTHY), (1.0, ABOVE)] == [*axis.colorscale]

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("log", [False, True])
    def test_values_beyond_float32_are_shown_as_they_are(self, log):
        """Of a training that explodes; nothing is printed about them."""
        values = np.array([[1.0, 1e30, 1e60]])
        cells = heatmap(np.arange(3), ["w"], values, statistic="l2", log=log).data[0]

        assert [1.0, 1e30, 1e60] == [*cells.customdata[0]]
        assert np.isfinite(cells.z).all()

    def test_labels_fit_however_many_tensors(self):
        """A thousand rows make no taller figure than fits, with fewer labels."""
        names = [f"gradient/layer.{number}.weight" for number in range(1000)]

        figure = heatmap([0], names, np.ones((1000, 1)), statistic="l2")

        assert figure.layout.height <= 900
        assert len(figure.layout.yaxis.tickvals) <= 60

    @pytest.mark.parametrize(
        ("names", "values"), [(["a"], [[1.0, 2.0], [3.0, 4.0]]), (["a", "a"], [[1, 2], [3, 4]])]
    )
    def test_what_cannot_be_meant_is_refused(self, names, values):
        """Other shapes and a name given twice are errors."""
        with pytest.raises(ValueError, match="must be"):
            heatmap([0, 1], names, values, statistic="l2")


class TestTheme:
    def test_scheme_changes_the_template_and_nothing_else(self):
        """The same data in dark, the original untouched."""
        figure = series([0, 1], [1.0, 2.0], name="a", statistic="l2")

        dark = in_scheme(figure, "dark")

        assert figure.data == dark.data
        assert template("dark").layout.paper_bgcolor == dark.layout.template.layout.paper_bgcolor
        assert template("light").layout.paper_bgcolor == figure.layout.template.layout.paper_bgcolor

    def test_no_button_uploads_a_run(self):
        """The button that sends a figure to Plotly's cloud is off in every figure."""
        assert "sendChartToCloud" in template().layout.modebar.remove
