"""Where two runs part: the first step, the first tensor, and how far from there on."""

from __future__ import annotations

from itertools import islice
from time import process_time

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.diff.align import TwoRuns
from stepwatch.diff.divergence import Search, beyond_noise, beyond_rounding, beyond_tolerance
from stepwatch.diff.explain import causes, differences
from stepwatch.errors import StepUnavailable, TensorUnavailable
from stepwatch.formats.convert import convert
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.store.proxy import MeteredStore
from tests.support.trial.parted_runs import (
    STEPS,
    parts_of,
    record,
    search,
    training,
    unchanged,
    write,
    write_long_run,
)


def adding(name, by, at, once=True):
    """Return a change of one thing at a step, or from it on."""

    def change(step, values):
        if step == at or (step > at and not once):
            values[name] = values.get(name, np.float32(0)) + np.float32(by)

    return change


def first_of(found, parted):
    return differences(found, parted, most=1)[0].found.name


class TestParted:
    @pytest.mark.slow
    @pytest.mark.parametrize("format", ["native", "smdebug"])
    @pytest.mark.parametrize(
        ("name", "stage"),
        [
            ("batch/0", "data"),
            ("output/fc", "outputs"),
            ("loss/mse", "losses"),
            ("gradient/fc.weight", "gradients"),
            ("learning_rate/0", "learning rate"),
            ("fc.weight", "weights"),
        ],
    )
    @pytest.mark.parametrize("at", [0, 1, 23, STEPS - 1])
    def test_the_first_step_and_tensor_are_those_that_were_changed(
        self, tmp_path, name, stage, at, format
    ):
        """What follows from it in the same step, and later, comes after it."""
        write(tmp_path / "a", training(), format=format)
        write(tmp_path / "b", training(adding(name, 0.25, at)), format=format)
        found = search(tmp_path / "a", tmp_path / "b")
        parted = found.first_divergence()

        assert (at, name) == (parted.index, first_of(found, parted))
        assert [(stage, name)] == [(one.stage, one.tensor) for one in causes(found, parted)]

    def test_a_count_of_the_loop_says_what_it_means(self, tmp_path):
        """As of a schedule that is stepped after each batch in one of them."""
        for name, steps in (("a", 1.0), ("b", 0.0)):
            values = {"loss/mse": np.float32(1), "loop/scheduler_steps": np.float64(steps)}
            write(tmp_path / name, [record(0, values)])
        found = search(tmp_path / "a", tmp_path / "b")

        [cause] = causes(found, found.first_divergence())
        assert cause.meaning.startswith("the learning rate schedule is stepped more often in one")

    def test_runs_that_are_the_same_do_not_part(self, tmp_path):
        for name in "ab":
            write(tmp_path / name, training())

        assert search(tmp_path / "a", tmp_path / "b").first_divergence() is None

    def test_one_bit_of_one_weight_is_enough(self, tmp_path):
        """The last bit of the smallest of twelve numbers."""

        def flip(step, values):
            if step == 20:
                values["fc.weight"] = values["fc.weight"].copy()
                values["fc.weight"].view(np.int32)[values["fc.weight"].argmin()] ^= 1

        write(tmp_path / "a", training())
        write(tmp_path / "b", training(flip))
        found = search(tmp_path / "a", tmp_path / "b")

        assert 20 == found.first_divergence().index
        first = differences(found, found.first_divergence(), most=1)[0].found
        assert ("fc.weight", "min", 1.0) == (first.name, first.at, first.ulp)

    def test_what_parts_before_any_weight_does_is_found(self, tmp_path):
        """An output is other from step 7 on and no weight feels it; a weight parts at 30."""

        def change(step, values):
            if step >= 30:
                values["fc.weight"] = values["fc.weight"] + np.float32(0.5)

        def other_outputs(records):
            for one in records:
                rows = one.statistics.copy()
                rows[1, 7] += one.step >= 7
                yield type(one)(one.worker, one.mode, one.step, one.mode_step, 1, one.layout, rows)

        write(tmp_path / "a", training())
        write(tmp_path / "b", other_outputs(training(change)))
        found = search(tmp_path / "a", tmp_path / "b")

        assert (7, "output/fc") == (
            found.first_divergence().index,
            first_of(found, found.first_divergence()),
        )

    def test_what_no_weight_ever_feels_is_found(self, tmp_path):
        """One loss of one step, with the same weights to the end: every step is compared."""

        def other_loss(records):
            for one in records:
                rows = one.statistics.copy()
                rows[2, 5:] += one.step == 11
                yield type(one)(one.worker, one.mode, one.step, one.mode_step, 1, one.layout, rows)

        write(tmp_path / "a", training())
        write(tmp_path / "b", other_loss(training()))
        found = search(tmp_path / "a", tmp_path / "b")

        assert (11, "loss/mse") == (
            found.first_divergence().index,
            first_of(found, found.first_divergence()),
        )

    def test_weights_that_were_saved_now_and_then_do_not_hide_where_it_began(self, tmp_path):
        """Between two steps with weights everything else is compared."""

        def sparse(records):
            for one in records:
                kept = [
                    place
                    for place, tensor in enumerate(one.layout.tensors)
                    if tensor.collection != "weights" or one.step % 10 == 0
                ]
                layout = type(one.layout)(tuple(one.layout.tensors[place] for place in kept))
                rows = one.statistics[kept]
                yield type(one)(one.worker, one.mode, one.step, one.mode_step, 1, layout, rows)

        write(tmp_path / "a", sparse(training()))
        write(tmp_path / "b", sparse(training(adding("batch/0", 0.1, 13))))
        found = search(tmp_path / "a", tmp_path / "b")

        assert (13, "batch/0") == (
            found.first_divergence().index,
            first_of(found, found.first_divergence()),
        )

    def test_a_permuted_batch_is_seen_by_its_digest(self, tmp_path):
        """The statistics are the same, and nothing explains the difference."""
        values = np.arange(12, dtype=np.float32)
        for name, batch in (("a", values), ("b", values[::-1].copy())):
            write(tmp_path / name, [record(0, {"batch/0": batch}, digests=["batch/0"])])
        found = search(tmp_path / "a", tmp_path / "b")
        parted = found.first_divergence()

        assert "digest" == differences(found, parted, most=1)[0].found.by
        assert found.beyond(parted, beyond_rounding(found.of_kind)) is not None
        assert found.beyond(parted, beyond_tolerance(1.0)) is not None

    def test_equal_digests_decide_against_statistics(self, tmp_path):
        """Sums that were added up in another order are no difference of the tensor."""
        values = np.arange(12, dtype=np.float32)
        one = record(0, {"fc.weight": values}, digests=["fc.weight"])
        rows = one.statistics.copy()
        rows[0, 7] *= 1 + 1e-15
        other = type(one)(
            one.worker, one.mode, 0, 0, 1, one.layout, rows, digests=dict(one.digests)
        )
        write(tmp_path / "a", [one])
        write(tmp_path / "b", [other])

        assert search(tmp_path / "a", tmp_path / "b").first_divergence() is None

    def test_another_shape_is_a_difference(self, tmp_path):
        """And it is said which."""
        write(tmp_path / "a", [record(0, {"fc.weight": np.ones((2, 3))})])
        write(tmp_path / "b", [record(0, {"fc.weight": np.ones((3, 2))})])
        found = search(tmp_path / "a", tmp_path / "b")

        (only,) = differences(found, found.first_divergence(), most=9)
        assert "float64[2, 3] and float64[3, 2]" == only.found.at

    def test_another_dtype_is_said_where_the_values_are_others_too(self, tmp_path):
        """Values that both dtypes hold have the same statistics, and are the same."""
        values = np.array([0.5, 0.1, 2.0, 0.25], np.float32)
        for name, dtype in (("a", np.float32), ("b", np.float16)):
            rows = {"fc.weight": values.astype(dtype), "whole.weight": np.ones(4, dtype)}
            write(tmp_path / name, [record(0, rows)])
        found = search(tmp_path / "a", tmp_path / "b")

        (only,) = differences(found, found.first_divergence(), most=9)
        assert "fc.weight" == only.found.name
        assert only.found.at.endswith("(float32 and float16)")

    def test_a_run_that_stored_less_is_compared_by_what_it_stored(self, tmp_path):
        """Converted to smdebug's format, which holds a few reductions, it is nearly the same."""
        write(tmp_path / "a", training())
        write(tmp_path / "b", training(adding("batch/0", 0.25, 7)))
        for name in "ab":
            less = open_store(tmp_path / f"{name}-less")
            convert(Trial(tmp_path / name).reader, less, "smdebug")
        found = search(tmp_path / "a", tmp_path / "a-less")
        assert found.first_divergence() is None or not found.beyond(
            found.first_divergence(), beyond_tolerance(1e-12)
        )
        other = search(tmp_path / "a", tmp_path / "b-less")
        assert 7 == other.beyond(other.first_divergence(), beyond_tolerance(1e-9)).index

    def test_steps_are_paired_within_their_modes(self, tmp_path):
        """An evaluation more in one run moves its global steps, and nothing else."""
        weight = {"fc.weight": np.ones(3)}
        evaluation = record(2, {"loss/mse": np.float32(1)}, mode=Mode.EVAL, mode_step=0)
        late = [record(step + 1, weight, mode_step=step) for step in (2, 3, 4)]
        late[-1] = record(5, {"fc.weight": np.zeros(3)}, mode_step=4)
        write(tmp_path / "a", [record(step, weight) for step in range(5)])
        write(tmp_path / "c", [*(record(step, weight) for step in range(2)), evaluation, *late])
        found = search(tmp_path / "a", tmp_path / "c")
        pair = found.runs.pair(found.first_divergence().index)

        assert (Mode.TRAIN, 4, 4, 5) == (pair.mode, pair.mode_step, pair.here, pair.there)
        assert {"EVAL": 1} == found.runs.only_there.steps

    def test_the_worker_whose_data_differs_is_named(self, tmp_path):
        """Workers are paired by name; the others may be the same."""
        write(tmp_path / "a", training(), training(worker="worker_1"))
        changed = training(adding("batch/0", 1, 9), worker="worker_1")
        write(tmp_path / "b", training(), changed)
        found = search(tmp_path / "a", tmp_path / "b")
        first = differences(found, found.first_divergence(), most=1)[0]

        assert (9, "batch/0", "worker_1") == (
            found.first_divergence().index,
            first.found.name,
            first.worker,
        )

    def test_what_only_one_run_has_is_not_compared(self, tmp_path):
        """Neither the steps after the end of the shorter run, nor tensors left out on purpose."""
        write(tmp_path / "a", training())
        write(tmp_path / "b", islice(training(adding("loss/mse", 1, 30)), 25))
        write(tmp_path / "c", training(adding("learning_rate/0", 0, 3), steps=STEPS))
        found = search(tmp_path / "a", tmp_path / "b")

        assert found.first_divergence() is None
        assert (25, {"TRAIN": 15}) == (len(found.runs), found.runs.only_here.steps)
        names = search(tmp_path / "a", tmp_path / "c", ignore=["^loss/", "rate"]).runs.tensors
        assert {"loss/mse", "learning_rate/0"}.isdisjoint(names)

    def test_nothing_in_common_is_said_with_what_there_is(self, tmp_path):
        """Tensors, or steps."""
        write(tmp_path / "a", training(steps=2))
        write(tmp_path / "b", [record(0, {"conv.weight": np.ones(2)})])
        write(tmp_path / "c", [record(7, {"fc.weight": np.ones(2)})])

        with pytest.raises(TensorUnavailable, match=r"no tensor in common.*batch/0.*conv\.weight"):
            search(tmp_path / "a", tmp_path / "b")
        with pytest.raises(StepUnavailable, match=r"no step in common: TRAIN 0 to 1.*TRAIN 7 to 7"):
            search(tmp_path / "a", tmp_path / "c")


class TestBounds:
    def growing(self, factor, at=3):
        """Return a change that makes the weights ever more other, by a factor each step."""

        def change(step, values):
            if step >= at:
                values["fc.weight"] = values["fc.weight"] * np.float32(
                    1 + 2.0**-23 * factor ** min(step - at, 12)
                )

        return change

    def test_rounding_is_told_from_what_it_does_not_explain(self, tmp_path):
        """The first bit at step 3; after it differences double, and are too large by step 7.

        Eight roundings of the root of twelve elements are 28 of them.
        """
        weight = np.linspace(1, 2, 12, dtype=np.float32)
        for name, grows in (("a", False), ("b", True)):
            steps = []
            for step in range(STEPS):
                away = np.float32(2.0**-23 * 2 ** (step - 3) if grows and step >= 3 else 0)
                steps.append(record(step, {"fc.weight": weight * (1 + away)}))
            write(tmp_path / name, steps)
        found = search(tmp_path / "a", tmp_path / "b")
        parted = found.first_divergence()

        assert 3 == parted.index
        assert 3 + 5 == found.beyond(parted, beyond_rounding(found.of_kind)).index

    @pytest.mark.parametrize(
        ("tolerance", "expected"),
        [
            (beyond_tolerance(1e-3), 13),
            (beyond_tolerance(0.9), None),
            (beyond_tolerance(0.0, 1e-3), 13),
        ],
    )
    def test_a_tolerance_is_passed_where_differences_grow_beyond_it(
        self, tmp_path, tolerance, expected
    ):
        """They double from 2**-20 on; all elements are one."""
        for name, grows in (("a", False), ("b", True)):
            values = [
                np.ones(4) + (2.0 ** (step - 23) if grows and 3 <= step < 23 else 0)
                for step in range(23)
            ]
            steps = [record(step, {"fc.weight": one}) for step, one in enumerate(values)]
            write(tmp_path / name, steps)
        found = search(tmp_path / "a", tmp_path / "b")
        beyond = found.beyond(found.first_divergence(), tolerance)

        assert (expected and expected + 1) == (beyond and beyond.index)

    def test_noise_is_what_equal_runs_differ_by(self, tmp_path):
        """As far apart as they are is nothing; ten times as far is something; from when on."""
        noisy = [self.growing(factor) for factor in (1.3, 1.3, 2.0)]
        write(tmp_path / "a", training())
        for name, change, at in zip("cbx", noisy, (3, 3, 3), strict=True):
            write(tmp_path / name, training(change, steps=STEPS))
            assert at == search(tmp_path / "a", tmp_path / name).first_divergence().index
        equal = search(tmp_path / "a", tmp_path / "c")
        band = equal.band(equal.first_divergence())
        near, far = (search(tmp_path / "a", tmp_path / name) for name in "bx")

        assert near.beyond(near.first_divergence(), beyond_noise(near.of_kind, band)) is None
        beyond = far.beyond(far.first_divergence(), beyond_noise(far.of_kind, band))
        assert 3 < beyond.index < 20

    def test_what_equal_runs_never_differ_in_is_no_noise(self, tmp_path):
        """Other data are no noise, however noisy the weights are."""
        write(tmp_path / "a", training())
        write(tmp_path / "c", training(self.growing(1.3)))
        write(tmp_path / "b", training(adding("batch/0", 1e-3, 5)))
        equal, found = (search(tmp_path / "a", tmp_path / name) for name in "cb")
        noise = beyond_noise(found.of_kind, equal.band(equal.first_divergence()))
        beyond = found.beyond(found.first_divergence(), noise)

        assert (5, "batch/0") == (beyond.index, first_of(found, beyond))

    def test_a_gradient_that_is_all_rounding_is_nothing_beside_the_others(self, tmp_path):
        """Its relative difference is large; rounding explains it all the same."""
        large, tiny = np.ones(8, np.float32), np.full(8, 1e-9, np.float32)
        names = ("gradient/fc.weight", "fc.weight")
        for name, factor in (("a", 1), ("b", 3)):
            values = {names[0]: large, "gradient/fc.bias": tiny * np.float32(factor)}
            one = record(0, values)
            tensors = tuple(type(tensor)(tensor.name, "gradients", "float32", (8,)) for tensor
                            in one.layout.tensors)  # fmt: skip
            layout = type(one.layout)(tensors)
            write(tmp_path / name, [type(one)(
                one.worker, one.mode, 0, 0, 1, layout, one.statistics)])  # fmt: skip
        found = search(tmp_path / "a", tmp_path / "b")

        assert found.beyond(found.first_divergence(), beyond_rounding(found.of_kind)) is None


class TestCost:
    @pytest.mark.slow
    def test_of_a_hundred_thousand_steps_few_parts_are_read(self):
        """54 tensors in 50 parts; what is read are footers, a few columns, and one part each.

        Seconds are those of the processor, whatever else the machine does.
        """
        stores = [open_store(f"memory://long-{name}") for name in "ab"]
        write_long_run(stores[0], 100_000, 50, parted_at=100_000)
        write_long_run(stores[1], 100_000, 50, parted_at=63_217)
        metered = [MeteredStore(store) for store in stores]
        started = process_time()
        found = Search(TwoRuns(*(Trial(store) for store in metered)))
        parted = found.first_divergence()
        found.beyond(parted, beyond_rounding(found.of_kind))
        found.curve(parted)

        assert process_time() - started < 2
        assert 63_217 == parted.index
        stored = sum(sum(parts_of(store).values()) for store in stores)
        assert sum(store.bytes_read for store in metered) < 0.06 * stored

    @pytest.mark.slow
    def test_a_longer_run_costs_hardly_more(self):
        """Four times the parts: a few more looks at one tensor."""
        looks = []
        for parts in (16, 64):
            stores = [open_store(f"memory://looks-{name}-{parts}") for name in "ab"]
            for store, at in zip(stores, (parts * 20, parts * 13), strict=True):
                write_long_run(store, parts * 20, parts, parted_at=at)
            found = Search(TwoRuns(*(Trial(store) for store in stores)))
            assert parts * 13 == found.first_divergence().index
            looks.append(sum(chunks.num_read for chunks in found.blocks.chunks))

        assert looks[1] - looks[0] <= 2 * 2 * 2


def test_the_training_of_these_tests_repeats_itself():
    """Two of them are the same, bit for bit, else the tests above would prove nothing."""
    for one, other in zip(training(), training(unchanged), strict=True):
        assert one.statistics.tobytes() == other.statistics.tobytes()
