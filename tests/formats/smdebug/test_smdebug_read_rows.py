"""The rows of runs in smdebug's format: statistics, order, and of what kind tensors are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwatch.errors import TensorUnavailable
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import RUN_KEY, End, Manifest
from stepwatch.formats.smdebug.layout import index_key
from stepwatch.numerics.statistics import FIELDS, summarize
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial
from tests.support.formats.smdebug.smdebug_runs import Watched, put_collections, put_step


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty place with the collections of one worker."""
    place = open_store(tmp_path)
    put_collections(place)
    return place


class TestRows:
    def test_statistics_are_those_of_the_values(self, store: Store):
        """Worked out when read: the format stores none."""
        value = np.array([[1.0, -2.0], [np.nan, 0.0]], np.float32)
        put_step(store, 0, {"t": value})

        np.testing.assert_array_equal(
            [summarize(value)], Trial(store).tensor("t").statistics().rows
        )

    @pytest.mark.parametrize("value", [np.array(["a", "b"]), np.array([1j, 2j])])
    def test_of_text_and_complex_numbers_only_the_count_is_known(self, store: Store, value: Any):
        """The rest of their statistics is nan."""
        put_step(store, 0, {"t": value})

        row = Trial(store).tensor("t").statistics().rows[0]
        assert [2.0] == row[np.isfinite(row)].tolist()

    @pytest.mark.parametrize("named", [{}, {"event_file_name": ""}])
    def test_a_shape_without_a_value_gives_the_count(self, store: Store, named: dict[str, str]):
        """A step of shapes only has no event file; some writers say so by an empty name."""
        put_step(store, 4, {}, shapes={"t": (2, 3)})
        index = json.loads(store.get(index_key(4, "worker_0")))
        store.put(
            index_key(4, "worker_0"), json.dumps({**index, "meta": index["meta"] | named}).encode()
        )

        trial = Trial(store)
        series = trial.tensor("t").statistics()
        assert [4] == trial.steps()
        assert [6.0] == series["count"].tolist()
        assert np.isnan(series["mean"]).all()
        with pytest.raises(TensorUnavailable):
            trial.tensor("t").value(4)

    def test_steps_are_told_without_reading_events(self, tmp_path: Path):
        """What the index knows costs no more than the index."""
        store = Watched(tmp_path)
        put_collections(store)
        for step in range(5):
            put_step(store, step, {"t": np.ones(2), "u": np.ones(2)})
        trial = Trial(store)

        tensor = trial.tensor("t")
        assert ([0, 1, 2, 3, 4], "tensors") == (tensor.steps(), tensor.collection)
        assert [key for key, _ in store.read if key.startswith("events/")] == []

    def test_rows_of_the_index_and_of_the_events_agree(self, store: Store):
        """Whichever columns are asked for, the others are the same."""
        for step in range(6):
            values = {"a": np.ones(2), "b": np.ones(2)} if step % 2 else {"b": np.ones(2)}
            put_step(store, step, values, mode="EVAL" if step % 3 else "TRAIN", mode_step=step // 2)
        reader = Trial(store).reader
        names = ["step", "mode", "mode_step", "order", "tensor", "collection", "blob"]

        ((_, few),) = reader.observations(None, names)
        ((_, all_),) = reader.observations()
        by_step = [("step", "ascending"), ("order", "ascending")]
        assert few.sort_by(by_step).to_pylist() == all_.select(names).sort_by(by_step).to_pylist()

    def test_records_are_steps_in_the_order_of_saving(self, store: Store):
        """Tensors as they were saved; the time is that of the first record."""
        put_step(store, 2, {"b": np.ones(2), "a": np.zeros(1)}, wall_time=12.5)

        (record,) = Trial(store).reader.records("worker_0")
        assert ["b", "a"] == [info.name for info in record.layout.tensors]
        assert (2, 12_500_000_000) == (record.step, record.time_ns)
        assert [1.0, 1.0] == record.raw["b"].tolist()

    def test_an_unknown_count_is_null_in_tables(self, store: Store):
        """As of a tensor of which only the largest element was stored."""
        put_step(store, 0, {"smdebug/reductions/max/t": np.array(3.0)})

        ((_, table),) = Trial(store).reader.observations(frozenset(["t"]), list(FIELDS))
        row = table.to_pylist()[0]
        assert (None, None, 3.0) == (row["count"], row["nan"], row["max"])

    def test_a_tensor_that_is_not_there_has_no_rows(self, store: Store):
        """In all columns, also where there is nothing at all to show."""
        put_step(store, 0, {"t": np.ones(2)})
        reader = Trial(store).reader

        for columns in (["step", "blob", "tensor"], None):
            tables = [table for _, table in reader.observations(frozenset(["nope"]), columns)]
            assert 0 == sum(map(len, tables))

    def test_unknown_counts_survive_the_native_format(self, store: Store, tmp_path: Path):
        """They are null there, and nan again when read."""
        put_step(store, 0, {"smdebug/reductions/max/t": np.array(3.0)})
        (record,) = Trial(store).reader.records("worker_0")
        native = open_store(tmp_path / "native")
        writer = open_writer(RunTarget(native, "worker_0", Manifest("n", 1)))
        writer.write(record)
        writer.close(End("finished", 2))

        trial = Trial(native)
        (again,) = trial.reader.records("worker_0")
        np.testing.assert_array_equal(record.statistics, again.statistics)
        np.testing.assert_array_equal(record.statistics, trial.tensor("t").statistics().rows)


class TestKinds:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("Net_fc.weight", "weights"),
            ("Net_fc.bias", "weights"),
            ("gradient/Net_fc.weight", "gradients"),
            ("CrossEntropyLoss_output_0", "losses"),
            ("CrossEntropyLoss_input_1", "inputs"),
            ("weighted_output_0", "outputs"),
            ("dense/inputs", "inputs"),
            ("dense/outputs", "outputs"),
            ("accuracy", "metrics"),
            ("Adam/m", "optimizer"),
            ("scalar/lr", "scalars"),
            ("hyperparameters/eta", "tensors"),
        ],
    )
    def test_kinds_follow_from_collections_and_names(self, store: Store, name: str, kind: str):
        """In our words; what is a loss is an output too, and counts as a loss."""
        patterns = {
            "weights": "^(?!gradient).*weight",
            "biases": "^(?!gradient).*bias",
            "gradients": "^gradient",
            "losses": "[Ll]oss_(?!input).*output",
            "outputs": "_output",
            "all": ".*",
        }
        named = {one: {"name": one, "include_regex": [regex]} for one, regex in patterns.items()}
        named["metrics"] = {"name": "metrics", "tensor_names": ["accuracy"]}  # type: ignore[dict-item]
        named["optimizer_variables"] = {"name": "optimizer_variables", "include_regex": ["^Adam"]}
        put_collections(store, collections=named)
        put_step(store, 0, {name: np.ones(2)})

        assert {name: kind} == Trial(store).reader.tensors()

    def test_a_run_of_ours_keeps_its_kinds(self, store: Store):
        """Its collections say of every tensor what it is."""
        named = {"buffers": {"name": "buffers", "tensor_names": ["running_weight"]}}
        put_collections(store, collections=named)
        put_step(store, 0, {"running_weight": np.ones(2)})

        assert {"running_weight": "buffers"} == Trial(store).reader.tensors()

    def test_own_collections_hold_what_they_name_and_what_they_find(self, store: Store):
        """Exact names are not regular expressions."""
        named = {"mine": {"name": "mine", "include_regex": ["^x"], "tensor_names": ["a.b"]}}
        put_collections(store, collections=named)
        put_step(store, 0, {name: np.ones(1) for name in ("a.b", "aXb", "a.bc", "x1")})

        assert ["a.b", "x1"] == Trial(store).tensor_names(collection="mine")

    def test_a_run_of_ours_in_the_words_of_smdebug_has_its_collections(self, store: Store):
        """They are in its collections file, and only there with their tensors."""
        manifest = Manifest("n", 1, run_format="smdebug", debugger_collections={"collections": {}})
        store.put(RUN_KEY, manifest.to_json())
        named = {"biases": {"name": "biases", "include_regex": ["bias"]}}
        put_collections(store, collections=named)
        put_step(store, 0, {"fc.bias": np.ones(1), "fc.weight": np.ones(1)})

        assert ["fc.bias"] == Trial(store).tensor_names(collection="biases")
