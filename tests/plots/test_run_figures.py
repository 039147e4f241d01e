"""Figures of values and of the machine show what they were given, and say what they leave out."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.errors import StepUnavailable, TensorUnavailable
from stepwatch.plots.distributions import image_grid, value_map
from stepwatch.plots.profile_charts import phases, system, timeline
from tests.support.looked_at import make_looked_at, profile


@pytest.fixture
def trial(tmp_path):
    store = make_looked_at(tmp_path / "run")
    profile(store)
    return Trial(store)


class TestValueMap:
    def test_the_largest_of_a_block_is_shown_with_its_sign(self):
        """One element far out among a million is seen at any size."""
        value = np.zeros((1000, 1000), np.float32)
        value[123, 456] = -9.0
        (cells,) = value_map(value, name="w", step=3, points=50).data

        assert (50, 50) == cells.z.shape
        assert -9.0 == cells.z.min()

    def test_what_is_not_finite_is_blank_and_counted(self):
        """A block with a nan shows none of its other elements."""
        value = np.array([[1.0, np.nan], [np.inf, 2.0]], np.float32)
        figure = value_map(value, name="w", step=3, points=9)

        assert 2 == np.isnan(figure.data[0].z).sum()
        assert "2 not finite" in figure.layout.title.subtitle.text

    def test_all_other_axes_lie_beside_each_other(self):
        """A kernel is a row of its numbers."""
        (cells,) = value_map(np.ones((4, 2, 3, 3)), name="w", step=0, points=99).data

        assert (4, 18) == cells.z.shape

    @pytest.mark.parametrize("value", [np.float32(1), np.empty((0, 3))])
    def test_a_number_and_nothing_are_no_map(self, value):
        """They say so."""
        with pytest.raises(TensorUnavailable, match="its series"):
            value_map(np.asarray(value), name="w", step=0, points=9)


class TestImageGrid:
    def test_images_lie_beside_and_below_each_other_in_their_order(self):
        """With a gap between them, in one scale."""
        images = np.arange(4 * 2 * 2, dtype=np.float32).reshape(4, 2, 2)
        (grid,) = image_grid(images, name="conv", step=1, most=9).data

        assert (5, 5) == grid.z.shape
        np.testing.assert_array_equal(images[3], grid.z[3:, 3:])
        assert np.isnan(grid.z[2]).all()
        assert (0.0, 15.0) == (grid.zmin, grid.zmax)

    def test_of_many_images_the_first_are_drawn(self):
        """And it says so."""
        figure = image_grid(np.ones((50, 3, 8, 8)), name="conv", step=1, most=64)

        assert "64 of 150 images of 8 × 8" in figure.layout.title.subtitle.text

    def test_a_vector_is_no_image(self):
        """An image has two axes."""
        with pytest.raises(TensorUnavailable, match="needs two"):
            image_grid(np.ones(3), name="bias", step=1, most=9)


class TestMachine:
    def test_each_core_has_a_row_of_its_readings(self, trial):
        """From 0 to 100 percent, at the moments at which they were read."""
        (cells,) = system(trial.profile.system()).data

        assert ("cpu0 busy", "cpu1 busy") == tuple(cells.y)
        assert [0.0, 10.0, 20.0] == cells.z[0, :3].tolist()
        assert 10 == len(cells.x)

    def test_phases_add_up_to_the_step(self, trial):
        """In milliseconds; the longest step is a line above them."""
        figure = phases(trial.profile.steps())
        *parts, longest = figure.data

        assert [100.0] * 10 == sum(np.asarray(part.y) for part in parts).tolist()
        assert [100.0] * 10 == list(longest.y)

    def test_what_ran_around_a_step_begins_with_it(self, trial):
        """A lane for steps and one for phases, a step to each side."""
        figure = timeline(trial.profile.spans(), 4, around=1, most=100)
        bars = {bar.name: bar for bar in figure.data}

        assert [0.0, 100.0, 200.0] == list(bars["step"].base)
        assert [20.0, 120.0, 220.0] == list(bars["forward"].base)

    def test_without_a_profile_figures_are_empty(self, tmp_path):
        """And not an error."""
        bare = Trial(make_looked_at(tmp_path / "bare"))

        assert "nothing was sampled" in bare.plot.system().layout.title.subtitle.text
        assert 0 == len(bare.plot.phases().data[0].x)

    def test_a_step_that_is_not_there_has_no_time(self, trial):
        """It is said, with the run."""
        with pytest.raises(StepUnavailable, match="step 999"):
            trial.plot.timeline(999)


class TestSpread:
    def test_extremes_and_mean_are_those_of_the_statistics(self, trial):
        """At each step of the first mode."""
        figure = trial.plot.distribution("fc.weight")
        lines = {trace.name: trace for trace in figure.data if trace.name}
        series = trial.tensor("fc.weight").statistics()

        np.testing.assert_allclose(series["max"], lines["lowest to highest"].y)
        np.testing.assert_allclose(series["mean"], lines["mean"].y)
