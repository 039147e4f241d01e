"""A run is read once, evenly, and on as it goes."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

from stepwatch import Trial
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.merge import compact
from stepwatch.model.steps import Mode
from stepwatch.plots.progressive_read import LayerRows, Lines, ProgressiveRead, row_labels
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run


class Growing:
    """A run in memory that gets step after step, each in a part of its own."""

    def __init__(self, url):
        self.store = open_store(url)
        manifest = Manifest("growing", time.time_ns(), ("growing",))
        self.writer = open_writer(RunTarget(self.store, "worker_0", manifest))
        self.steps = 0

    def grow(self, count, **more):
        for _ in range(count):
            value = np.full(3, float(self.steps), np.float32)
            arrays = {"a": value, "b": -value, **more}
            self.writer.write(make_record(self.steps, arrays))
            self.writer.flush()
            self.steps += 1

    def close(self):
        self.writer.close(End("finished", time.time_ns(), self.steps))


@pytest.fixture
def growing(request):
    run = Growing(f"memory://{request.node.name}")
    yield run
    run.close()


def read_of(trial, names=("a",)):
    """Return a reading, and the list that steps are put into as they are read."""
    taken = []

    def take(rows):
        taken.extend(rows.table.column("step").to_pylist())

    return ProgressiveRead(trial, frozenset(names), "max", take), taken


class TestReading:
    def test_every_row_is_taken_once(self, growing):
        """However often it goes on, and whatever parts became one meanwhile."""
        growing.grow(12)
        trial = Trial(growing.store)
        reading, taken = read_of(trial, ("a", "b"))
        reading.go_on(until=0.0)
        assert 0 < len(taken) < 24
        compact(growing.store, trial.reader.parts("worker_0"))
        growing.grow(5)
        trial.refresh()

        assert 1.0 == reading.go_on()
        assert sorted([*range(17), *range(17)]) == sorted(taken)

    def test_what_is_read_in_no_time_lies_evenly(self, growing):
        """Next is always the middle of the longest stretch that was not read."""
        growing.grow(64)
        reading, taken = read_of(Trial(growing.store), ("a", "b"))
        shares = [reading.go_on(until=0.0) for _ in range(7)]

        assert sorted(shares) == shares
        assert max(np.diff([0, *sorted(set(taken)), 63])) <= 17

    def test_one_tensor_is_read_at_once_and_then_on(self, growing):
        """At first all parts together, later only what is new."""
        growing.grow(6)
        trial = Trial(growing.store)
        reading, taken = read_of(trial)
        reading.go_on()
        growing.grow(2)
        trial.refresh()
        reading.go_on()

        assert list(range(8)) == sorted(taken)

    def test_smdebugs_format_is_read_alike(self, tmp_path):
        """Its steps are files of their own."""
        trial = Trial(make_run(tmp_path / "run", steps=5, format="smdebug"))
        reading, taken = read_of(trial, ("layer0.weight", "layer1.weight"))

        assert 1.0 == reading.go_on()
        assert sorted(2 * [*range(5)]) == sorted(taken)


class TestLines:
    def test_a_line_goes_on_with_its_run(self, growing):
        """What was drawn is kept, what is new is added."""
        growing.grow(3)
        trial = Trial(growing.store)
        lines = Lines(trial, "a", "max", 100)
        lines.read()
        growing.grow(2)
        trial.refresh()

        assert [0.0, 1.0, 2.0, 3.0, 4.0] == lines.read()["TRAIN"].mean.tolist()

    @pytest.mark.parametrize("window", [(2, 3), (2, 50), (0, 9)])
    def test_of_a_window_only_its_steps_are_drawn(self, growing, window):
        """Few or most of the run; those that come later as well."""
        growing.grow(10)
        trial = Trial(growing.store)
        lines = Lines(trial, "a", "max", 100, window)
        lines.read()
        growing.grow(2)
        trial.refresh()

        first, last = window
        assert list(range(first, min(last, 11) + 1)) == lines.read()["TRAIN"].mean.tolist()

    def test_a_sum_over_nothing_finite_is_not_zero(self):
        """The l2 of a tensor of nothing but nan is not known, and pointed out."""
        store = open_store("memory://nan-only")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("nan", 1, ("made",))))
        for step, value in enumerate((3.0, np.nan)):
            writer.write(make_record(step, {"a": np.array([value, value])}))
        writer.close(End("finished", 2, 2))
        line = Lines(Trial(store), "a", "l2", 10).read()["TRAIN"]

        assert [0, 1] == line.non_finite.tolist()
        np.testing.assert_allclose([18**0.5, np.nan], line.mean)


class TestLayers:
    def test_neighbours_in_a_row_group_are_left_out(self, growing):
        """Only tensors that were asked for are drawn."""
        growing.grow(4)
        trial = Trial(growing.store)
        layers = LayerRows(trial, ["b"], "min", Mode.TRAIN, points=10, rows=10)

        assert 1.0 == layers.read()
        steps, cells = layers.cells()
        assert [0, 1, 2, 3] == steps.tolist()
        assert [[0.0, -1.0, -2.0, -3.0]] == cells.tolist()

    def test_twenty_thousand_tensors_make_few_rows(self):
        """Tensors of one module share a row, however deep it takes to go."""
        names = [f"blocks.{number}.{part}.weight" for number in range(5000) for part in "abcd"]
        labels = row_labels(names, 150)

        assert len(set(labels)) <= 150
        assert 20_000 == len(labels)

    def test_names_that_fit_keep_their_rows(self):
        """Nothing is joined without need."""
        assert ["a.w", "b.w"] == row_labels(["a.w", "b.w"], 2)

    def test_names_without_levels_are_joined_with_their_neighbours(self):
        """A row then says from which tensor to which it goes."""
        labels = row_labels([f"t{number}" for number in range(10)], 3)

        assert 3 == len(set(labels))
        assert "t0 … t3" == labels[0]


def test_rows_come_without_a_mode_of_others():
    """Steps of another mode are not taken."""
    store = open_store("memory://modes")
    writer = open_writer(RunTarget(store, "worker_0", Manifest("modes", 1, ("made",))))
    for step in range(6):
        mode = Mode.EVAL if step % 3 == 2 else Mode.TRAIN
        writer.write(make_record(step, {"a": np.ones(1)}, mode=mode, mode_step=step // 3))
    writer.close(End("finished", 2, 6))
    taken: list[pa.Table] = []
    reading = ProgressiveRead(Trial(store), frozenset("a"), "mean", taken.append, Mode.EVAL)
    reading.go_on()

    assert [2, 5] == [step for rows in taken for step in rows.table.column("step").to_pylist()]
