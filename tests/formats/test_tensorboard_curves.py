"""What TensorBoard shows as curves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.formats.tensorboard import Tags, TensorBoardWriter, has_norms
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import COUNT, SUM, SUM_SQ
from tests.support.formats.tensorboard_steps import BEGAN_NS, END, curve, seen, step_of


@pytest.fixture
def show(tmp_path):
    """Return a function that writes steps and returns what TensorBoard has read of them."""

    def show_steps(*records, run="TRAIN", **options):
        writer = TensorBoardWriter(str(tmp_path), "worker_0", **options)
        for record in records:
            writer.write(record)
        writer.close(END)
        return seen(tmp_path, run)

    return show_steps


class TestValues:
    def test_a_tensor_of_one_element_is_a_curve_over_global_steps(self, show):
        """Whatever its shape; a point for each step, at the time when the step ended."""
        read = show(
            step_of({"loss/a": np.float32(0.5), "output/one": np.array([[3]])}, 0),
            step_of({"loss/a": np.float32(0.25), "output/one": np.array([[4]])}, 7),
        )

        assert [(0, 0.5), (7, 0.25)] == curve(read, "loss/a")
        assert [(0, 3.0), (7, 4.0)] == curve(read, "output/one")
        times = [point.wall_time for point in read.Scalars("loss/a")]
        assert [BEGAN_NS / 1e9, BEGAN_NS / 1e9 + 7] == times

    @pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.0, -1e-45])
    def test_a_value_is_shown_as_it_is(self, show, value):
        """Also one that is not finite, which statistics only count."""
        read = show(step_of({"loss/a": np.float32(value)}))
        assert [np.float32(value).tobytes()] == [
            np.float32(found).tobytes() for _, found in curve(read, "loss/a")
        ]

    def test_what_float32_cannot_hold_is_shown_as_infinite(self, show):
        """TensorBoard's points are float32."""
        read = show(step_of({"loss/a": np.float64(-1e300)}))
        assert [(0, -math.inf)] == curve(read, "loss/a")

    def test_micro_batches_are_shown_by_their_mean(self, show):
        """A loss that was seen twice within a step has one point."""
        record = step_of({"loss/a": np.float32(2.0)})
        record.statistics[0, [COUNT, SUM]] = 2, 3.0
        assert [(0, 1.5)] == curve(show(record), "loss/a")

    def test_what_is_not_known_has_no_point(self, show):
        """Its curve has a gap; no nan is made up."""
        known, unknown = (step_of({"loss/a": 1.0, "w": np.ones(3)}, step) for step in range(2))
        unknown.statistics[:, [COUNT, SUM_SQ]] = np.nan
        read = show(known, unknown)

        assert [(0, 1.0)] == curve(read, "loss/a")
        assert [(0, np.float32(math.sqrt(3)))] == curve(read, "l2/w")
        assert [(0, np.float32(math.sqrt(3)))] == curve(read, "l2/weights")

    def test_a_step_without_anything_to_show_leaves_nothing(self, show):
        """Of statistics of outputs, and of what has no element."""
        read = show(
            step_of({"output/a": np.ones(3)}, 0),
            step_of({"output/a": np.empty((0, 3)), "loss/a": 1.0}, 1),
        )
        assert ["loss/a"] == read.Tags()["scalars"]

    def test_tensors_that_come_and_go_keep_their_curves(self, show):
        """What is seen differs from step to step."""
        read = show(
            step_of({"loss/a": 1.0, "loss/b": 2.0}, 0),
            step_of({"loss/b": 3.0}, 1),
            step_of({"loss/b": 5.0, "loss/a": 4.0}, 2),
        )
        assert [(0, 1.0), (2, 4.0)] == curve(read, "loss/a")
        assert [(0, 2.0), (1, 3.0), (2, 5.0)] == curve(read, "loss/b")

    def test_each_mode_is_a_run_of_its_own(self, show, tmp_path):
        """With the global step as the step of both, so that they lie side by side."""
        train = show(step_of({"loss/a": 1.0}, 0), step_of({"loss/a": 2.0}, 1, mode=Mode.EVAL))

        assert [(0, 1.0)] == curve(train, "loss/a")
        assert [(1, 2.0)] == curve(seen(tmp_path, "EVAL"), "loss/a")

    def test_each_worker_is_a_run_of_its_own(self, tmp_path):
        """TensorBoard follows one file of a folder at a time; the first worker has no folder."""
        for worker, loss in (("worker_0", 1.0), ("worker_1", 2.0)):
            writer = TensorBoardWriter(str(tmp_path), worker)
            writer.write(replace(step_of({"loss/a": loss}), worker=worker))
            writer.close(END)

        assert [(0, 1.0)] == curve(seen(tmp_path), "loss/a")
        assert [(0, 2.0)] == curve(seen(tmp_path, "TRAIN/worker_1"), "loss/a")


class TestNorms:
    def test_weights_and_gradients_are_shown_by_their_norm(self, show):
        """Of each, whatever its size, and of all together."""
        arrays = {"w": np.array([3.0, 4.0]), "b": np.array([12.0]), "gradient/w": np.array([2.0])}
        read = show(step_of(arrays))

        shown = {tag: curve(read, tag)[0][1] for tag in read.Tags()["scalars"]}
        assert {
            "l2/w": 5.0, "l2/b": 12.0, "l2/gradient/w": 2.0, "l2/weights": 13.0,
            "l2/gradients": 2.0,
        } == shown  # fmt: skip

    @pytest.mark.parametrize(("element", "norm"), [(math.nan, math.nan), (-math.inf, math.inf)])
    def test_an_element_that_is_not_finite_makes_the_norm_so(self, show, element, norm):
        """It must not look as if all were well."""
        read = show(step_of({"w": np.array([1.0, element]), "v": np.array([1.0])}))

        assert [str(norm)] * 2 == [
            str(curve(read, f"l2/{name}")[0][1]) for name in ("w", "weights")
        ]
        assert [(0, 1.0)] == curve(read, "l2/v")

    def test_norms_are_thinned_over_a_long_run(self, show):
        """1000 points at first, then 500 for each doubling; that of all together stays."""
        template = step_of({"w": np.array([1.0])})
        steps = 4100
        read = show(*(replace(template, step=step, mode_step=step) for step in range(steps)))

        expected = [
            *range(1000),
            *range(1000, 2000, 2),
            *range(2000, 4000, 4),
            *range(4000, 4100, 8),
        ]
        assert expected == [step for step, _ in curve(read, "l2/w")]
        assert steps == len(curve(read, "l2/weights"))

    def test_a_million_steps_have_few_norms(self):
        """So that the files stay small and TensorBoard quick."""
        assert 1000 + 500 * 10 > sum(map(has_norms, range(1_000_000)))


class TestTags:
    def test_tags_have_no_odd_characters(self, show):
        """As smdebug's and TensorFlow's."""
        read = show(step_of({"loss/a b:0": 1.0, "loss/é.-1": 2.0}))
        assert ["loss/a_b_0", "loss/é.-1"] == read.Tags()["scalars"]

    def test_two_names_never_share_a_tag(self):
        """Their points would make a zigzag."""
        tags = Tags()
        assert [b"a_0", b"a_0_1", b"a_0_2"] == [tags[name] for name in ("a:0", "a_0", "a 0")]
        assert b"a_0_1" == tags["a_0"]


class TestWhatIsAskedFor:
    def test_with_histograms_chosen_only_scalars_are_curves(self, show):
        """As smdebug's: no norms, and of single elements only losses, metrics and scalars."""
        arrays = {"loss/a": 1.0, "scalar/b": 2.0, "output/c": 3.0, "w": np.ones(3)}
        read = show(step_of(arrays), histogram=lambda name: None)
        assert ["loss/a", "scalar/b"] == read.Tags()["scalars"]

    def test_scalars_can_be_chosen_by_name(self, show):
        """Where a configuration says which collections a tensor is in."""
        record = step_of({"loss/a": 1.0, "output/c": 3.0, "output/many": np.ones(2)})
        read = show(record, histogram=lambda _: None, scalar=lambda name: "output" in name)
        assert ["output/c"] == read.Tags()["scalars"]
