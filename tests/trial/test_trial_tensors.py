"""Names, collections, statistics and values of tensors."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pandas
import polars
import pytest

from stepwatch.errors import ConfigError, StepUnavailable, TensorUnavailable
from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native.parts import Part
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.collection import Collection, parse_save
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import DERIVED, FIELDS, quantity, summarize
from stepwatch.store.memory import MemoryStore
from stepwatch.testing.made_runs import make_record
from stepwatch.trial import Trial

_numbers = itertools.count()
ASKED = (Collection("convs", (r"conv\d", "stem")), parse_save("/fc/:raw:every=2"))


def value_of(name: str, step: int) -> np.ndarray:
    """Return the value that a tensor has at a step."""
    seed = sum(name.encode()) + step
    return np.random.default_rng(seed).normal(size=(3, 2)).astype(np.float32)


NAMES = ["conv1.weight", "fc.weight", "gradient/conv1.weight", "gradient/fc.weight"]


@pytest.fixture(scope="module")
def trial():
    """Ten steps, every third of mode EVAL; raw values at even steps."""
    store = MemoryStore(f"tensors-{next(_numbers)}")
    start_run(store, Manifest("run", 0, collections=ASKED))
    writer = NativeWriter(store, "worker_0")
    counts = dict.fromkeys(Mode, 0)
    for step in range(10):
        mode = Mode.EVAL if step % 3 == 2 else Mode.TRAIN
        arrays = {name: value_of(name, step) for name in NAMES}
        arrays["loss/mse"] = np.float32(step)
        raw = step % 2 == 0
        writer.write(make_record(step, arrays, mode=mode, mode_step=counts[mode], raw=raw))
        counts[mode] += 1
        if step in (3, 6):
            writer.flush()
    writer.flush()
    return Trial(store)


class TestTensorNames:
    def test_all_names_are_sorted(self, trial):
        """Of all steps."""
        assert [*NAMES[:1], "fc.weight", *NAMES[2:], "loss/mse"] == trial.tensor_names()

    def test_a_regular_expression_finds_anywhere(self, trial):
        """As ``re.search`` does."""
        assert ["gradient/fc.weight"] == trial.tensor_names(r"/fc")

    def test_a_built_in_collection_is_what_hooks_said(self, trial):
        """By kind."""
        assert NAMES[:2] == trial.tensor_names(collection="weights")
        assert [] == trial.tensor_names(collection="outputs")

    def test_an_own_collection_is_what_its_patterns_find(self, trial):
        """Any of them, in any kind; both filters together."""
        assert [NAMES[0], NAMES[2]] == trial.tensor_names(collection="convs")
        assert [NAMES[2]] == trial.tensor_names("^gradient", collection="convs")

    def test_an_unknown_collection_is_refused(self, trial):
        """The message names the nearest."""
        with pytest.raises(ConfigError, match="did you mean weights"):
            trial.tensor_names(collection="weihgts")

    def test_collections_are_those_with_a_tensor_or_asked_for(self, trial):
        """With the patterns of those that have some."""
        assert {"weights", "gradients", "losses", "convs", "/fc/"} == set(trial.collections)
        assert {"convs": (r"conv\d", "stem"), "/fc/": ("fc",)} == trial.patterns


class TestTensor:
    def test_an_unknown_name_is_refused_with_the_nearest(self, trial):
        """Or, if none is near, with how many there are."""
        with pytest.raises(TensorUnavailable, match=r"did you mean conv1\.weight"):
            trial.tensor("conv1.wieght")
        with pytest.raises(TensorUnavailable, match="the run has 5 tensors"):
            trial.tensor("zzz")

    def test_knows_its_kind(self, trial):
        """As hooks said."""
        assert "gradients" == trial.tensor("gradient/fc.weight").collection


class TestStatistics:
    def test_every_quantity_is_that_of_the_values(self, trial):
        """At every step, all fields and all that follow from them."""
        series = trial.tensor("fc.weight").statistics()
        rows = np.stack([summarize(value_of("fc.weight", step)) for step in range(10)])

        assert list(range(10)) == series.steps.tolist()
        for name in (*FIELDS, *DERIVED):
            np.testing.assert_array_equal(quantity(rows, name), series[name])

    def test_only_what_is_asked_for_is_read(self, trial):
        """It is what it is among all; what was not read is not known."""
        tensor = trial.tensor("fc.weight")
        series = tensor.statistics(only=["mean", "l2"])
        everything = tensor.statistics()

        for name in ("mean", "l2"):
            np.testing.assert_array_equal(everything[name], series[name])
        assert everything.steps.tolist() == series.steps.tolist()
        assert {"mean", "l2"} <= set(series.to_arrow().column_names)
        with pytest.raises(KeyError):
            series["max"]
        with pytest.raises(KeyError):
            tensor.statistics(only=["mean", "no such thing"])

    def test_a_mode_has_its_steps_only(self, trial):
        """Under both counts."""
        series = trial.tensor("fc.weight").statistics(Mode.EVAL)

        assert ([2, 5, 8], [0, 1, 2]) == (series.steps.tolist(), series.mode_steps.tolist())
        assert ["EVAL"] * 3 == series.modes

    def test_an_unknown_quantity_is_refused(self, trial):
        """The message names those there are."""
        with pytest.raises(KeyError, match="zero_fraction"):
            trial.tensor("fc.weight").statistics()["average"]

    def test_an_unknown_worker_is_refused(self, trial):
        """Not an empty series."""
        with pytest.raises(TensorUnavailable, match="no observations of worker_7"):
            trial.tensor("fc.weight").statistics(worker="worker_7")

    def test_arrow_pandas_polars_and_duckdb_read_a_series(self, trial):
        """Pandas by a method, the others as it is."""
        series = trial.tensor("fc.weight").statistics()
        mean = series["mean"].tolist()

        assert mean == series.to_arrow().column("mean").to_pylist()
        assert mean == series.to_pandas()["mean"].tolist()
        assert mean == polars.DataFrame(series)["mean"].to_list()
        assert mean == pandas.DataFrame(series.to_pandas())["mean"].tolist()
        query = "select mean from series where mode = 'TRAIN'"
        train = [value for step, value in enumerate(mean) if step % 3 != 2]
        assert train == [row[0] for row in duckdb.sql(query).fetchall()]

    def test_asked_for_columns_only(self, trial):
        """Derived quantities cost their column."""
        table = trial.tensor("fc.weight").statistics().to_arrow(derived=["l2"])

        assert "l2" in table.column_names
        assert "mean" not in table.column_names


class TestValue:
    def test_is_the_array_that_was_saved(self, trial):
        """Shape, dtype and bits; under the count of any mode."""
        tensor = trial.tensor("fc.weight")
        expected = value_of("fc.weight", 8)

        for found in (tensor.value(8), tensor.value(2, Mode.EVAL)):
            assert expected.dtype == found.dtype
            np.testing.assert_array_equal(expected, found)

    def test_values_are_all_that_were_saved_by_step(self, trial):
        """In the count of the mode."""
        tensor = trial.tensor("fc.weight")

        assert [0, 2, 4, 6, 8] == list(tensor.values())
        assert [0, 2] == list(tensor.values(Mode.EVAL))

    def test_a_step_with_statistics_only_says_how_to_save_raw(self, trial):
        """With what to type."""
        with pytest.raises(TensorUnavailable, match=r"--save 'weights:raw'"):
            trial.tensor("fc.weight").value(3)

    def test_a_step_that_is_not_there_names_the_nearest(self, trial):
        """In the count that was asked for."""
        with pytest.raises(StepUnavailable, match=r"not observed at step 77; the nearest is 9"):
            trial.tensor("fc.weight").value(77)
        with pytest.raises(StepUnavailable, match=r"step \(counted in EVAL\) 5; the nearest is 2"):
            trial.tensor("fc.weight").value(5, Mode.EVAL)
        with pytest.raises(StepUnavailable, match="observed at no step"):
            trial.tensor("fc.weight").value(0, Mode.PREDICT)

    def test_one_value_reads_only_the_part_that_holds_it(self, trial, monkeypatch):
        """A loop over steps must not read the run once for each."""
        reads = []
        read = Part.read_tensors
        monkeypatch.setattr(
            Part, "read_tensors", lambda part, *args: (reads.append(part), read(part, *args))[1]
        )
        trial.tensor("fc.weight").value(8)

        assert [(7, 9)] == [part.span[1:3] for part in reads]

    def test_a_scalar_needs_no_raw_value(self, trial):
        """Its statistics are its value, in its own dtype."""
        found = trial.tensor("loss/mse").value(3)

        assert (np.float32, (), 3.0) == (found.dtype, found.shape, found)
        assert list(range(10)) == [
            int(value) for value in trial.tensor("loss/mse").values().values()
        ]

    @pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, -0.5])
    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
    def test_a_scalar_that_is_not_finite_is_what_it_was(self, number, dtype):
        """A loss of inf is inf, not nan."""
        store = MemoryStore(f"scalar-{next(_numbers)}")
        start_run(store, Manifest("run", 0))
        writer = NativeWriter(store, "worker_0")
        value = np.asarray(number, np.float64).astype(np.dtype(dtype))
        writer.write(make_record(0, {"loss/x": value}))
        writer.flush()

        found = Trial(store).tensor("loss/x").value(0)
        assert value.dtype == found.dtype
        np.testing.assert_array_equal(value.astype(float), found.astype(float))

    def test_each_worker_has_its_own_value(self):
        """The first that has one, unless one is asked for."""
        store = MemoryStore(f"workers-{next(_numbers)}")
        start_run(store, Manifest("run", 0, num_workers=2))
        for rank in (0, 1):
            writer = NativeWriter(store, f"worker_{rank}")
            writer.write(
                make_record(0, {"w": [rank, rank]}, worker=f"worker_{rank}", raw=rank == 1)
            )
            writer.flush()
        tensor = Trial(store).tensor("w")

        assert [1, 1] == tensor.value(0).tolist() == tensor.value(0, worker="worker_1").tolist()
        with pytest.raises(TensorUnavailable, match="no raw value"):
            tensor.value(0, worker="worker_0")
