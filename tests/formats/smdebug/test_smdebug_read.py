"""Runs in smdebug's format: steps, tensors, values, rows and kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwatch.errors import CorruptRun, RunNotFound, StepUnavailable, TensorUnavailable
from stepwatch.formats.manifest import RUN_KEY, End, Manifest, end_key
from stepwatch.formats.smdebug.layout import event_key, index_key
from stepwatch.model.steps import Mode
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial
from tests.support.formats.smdebug.smdebug_runs import Watched, put_collections, put_end, put_step

DEVICE = "/job:worker/replica:0/task:1/device:GPU:0"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty place with the collections of one worker."""
    place = open_store(tmp_path)
    put_collections(place)
    return place


class TestOpening:
    def test_a_wrong_path_fails_at_once(self, tmp_path: Path):
        """Nothing is waited for."""
        with pytest.raises(RunNotFound, match="no run at"):
            Trial(tmp_path / "nothing")

    def test_a_run_that_only_began_has_no_steps_yet(self, tmp_path: Path):
        """Its claim is all there is."""
        store = open_store(tmp_path)
        store.put("claim.smd", b"")

        assert ([], "running") == (Trial(store).steps(), Trial(store).state)

    def test_what_is_no_part_of_the_format_is_not_looked_at(self, store: Store):
        """Files half written, and strangers in the folders of the index and the collections."""
        put_step(store, 3, {"t": np.ones(2)})
        store.put(f"{index_key(4, 'worker_0')}.tmp", b"{")
        store.put("index/000000000/notes.json", b"{}")
        store.put("collections/000000000/notes.txt", b"")

        assert [3] == Trial(store).steps()

    def test_the_folder_of_a_run_does_not_name_its_workers(self, tmp_path: Path):
        """Only names of files do, whatever underscores stand in the path."""
        store = open_store(tmp_path / "a__b")
        put_collections(store)
        put_step(store, 0, {"t": np.ones(2)})

        assert ("worker_0",) == Trial(store).workers

    def test_workers_that_are_devices_have_their_names_back(self, tmp_path: Path):
        """File names spell them without slashes and colons."""
        store = open_store(tmp_path)
        put_collections(store, DEVICE)
        put_step(store, 0, {"t": np.ones(2)}, worker=DEVICE)

        assert [1.0, 1.0] == Trial(store).tensor("t").value(0, worker=DEVICE).tolist()

    def test_a_run_of_ours_keeps_its_manifest_and_its_notes(self, store: Store):
        """What run.json and the end notes say counts more than what is made up."""
        manifest = Manifest("mine", 5, ("train.py",), run_format="smdebug")
        store.put(RUN_KEY, manifest.to_json())
        store.put(end_key("worker_0"), End("failed", 9, error="boom").to_json())
        put_step(store, 0, {"t": np.ones(2)})
        put_end(store)

        trial = Trial(store)
        assert ("mine", "failed") == (trial.reader.manifest.run_id, trial.state)

    def test_a_process_that_is_gone_leaves_a_run_that_died(self, store: Store):
        """All it wrote is complete then."""
        import socket

        manifest = Manifest(
            "mine", 5, host=socket.gethostname(), pid=2**22 + 1, num_workers=2, run_format="smdebug"
        )
        store.put(RUN_KEY, manifest.to_json())
        put_step(store, 0, {"t": np.ones(2)})

        assert ("died", [0]) == (Trial(store).state, Trial(store).steps())


class TestValues:
    def test_an_empty_name_of_an_event_file_is_none(self, store: Store):
        """Steps and names are known, and shapes; a value that it names is not there."""
        put_step(store, 0, {}, shapes={"s": [4]})
        put_step(store, 1, {"v": np.ones(2)})
        for step in range(2):
            index = json.loads(store.get(index_key(step, "worker_0")))
            index["meta"]["event_file_name"] = ""
            store.put(index_key(step, "worker_0"), json.dumps(index).encode())
        put_end(store)
        trial = Trial(store)

        assert [0, 1] == trial.steps()
        assert ["s", "v"] == trial.tensor_names()
        with pytest.raises(TensorUnavailable):
            trial.tensor("v").value(1)

    def test_a_value_beside_its_shape_is_read(self, store: Store):
        """smdebug's own reader finds the shape only."""
        put_step(store, 0, {"t": np.arange(4.0)}, shapes={"t": (2, 2)})

        reader = Trial(store).reader
        assert [0.0, 1.0, 2.0, 3.0] == reader.value("worker_0", 0, "t").tolist()
        assert {"t": ((2, 2), "graph/t")} == dict(reader.saved("worker_0", 0).contents.shapes)

    def test_of_several_records_of_a_name_the_last_counts(self, store: Store):
        """As where a step has two backward passes."""
        put_step(store, 0, [("t", np.array([1.0])), ("t", np.array([2.0]))])

        assert [2.0] == Trial(store).tensor("t").value(0).tolist()

    def test_dtype_and_shape_may_change_from_step_to_step(self, store: Store):
        """Each record is read for itself."""
        values: list[Any] = [
            np.ones((2, 3), np.float32), np.ones((3, 2), np.float32), np.ones(6, np.int32),
            np.array(["a", "bc"]), np.zeros((0, 2)), np.ones((2, 3), np.float32),
        ]  # fmt: skip
        for step, value in enumerate(values):
            put_step(store, step, {"t": value})

        found = Trial(store).tensor("t").values()
        assert [(v.dtype, v.shape, v.tolist()) for v in values] == [
            (v.dtype, v.shape, v.tolist()) for v in found.values()
        ]

    def test_steps_of_any_width_are_read(self, store: Store):
        """Numbers of one digit or of many, in the index, in names and in records."""
        steps = [0, 9, 10, 127, 128, 999, 1000, 10**6, 10**12, 10**13]
        for step in steps:
            put_step(store, step, {"t": np.array([float(step)])})

        trial = Trial(store)
        assert steps == trial.steps()
        assert {step: [float(step)] for step in steps} == {
            step: value.tolist() for step, value in trial.tensor("t").values().items()
        }

    def test_large_values_are_read_by_range(self, tmp_path: Path):
        """Of a large file only the record that is asked for."""
        store = Watched(tmp_path)
        put_collections(store)
        large = np.arange(100_000, dtype=np.float64)
        put_step(store, 0, {"large": large, "small": np.array([1.0])})
        reader = Trial(store).reader

        assert [1.0] == reader.value("worker_0", 0, "small").tolist()
        assert [length for key, length in store.read if key.startswith("events/")] == [
            reader.saved("worker_0", 0).contents.byte_ranges["small"][1]
        ]
        np.testing.assert_array_equal(large, reader.value("worker_0", 0, "large"))

    def test_a_mode_stamped_late_does_not_count(self, store: Store):
        """A scalar that waited may say what came next; the index says what was."""
        put_step(store, 0, {"t": np.ones(1)}, mode="EVAL", mode_step=-1)
        key = index_key(0, "worker_0")
        there = json.loads(store.get(key))
        there["meta"] |= {"mode": "TRAIN", "mode_step": 5}
        store.put(key, json.dumps(there).encode())

        assert [1.0] == Trial(store).tensor("t").value(5, Mode.TRAIN).tolist()

    def test_an_index_with_another_order_of_fields_is_read(self, store: Store):
        """It is JSON; older writers also left out what they had nothing to say of."""
        put_step(store, 0, {"t": np.ones(1)})
        key = index_key(0, "worker_0")
        there = json.loads(store.get(key))
        del there["shape_payload"]
        store.put(key, json.dumps(dict(reversed(there.items())), indent=1).encode())

        assert [1.0] == Trial(store).tensor("t").value(0).tolist()

    def test_what_was_not_saved_is_said(self, store: Store):
        """Which step or tensor, and what is near."""
        put_step(store, 0, {"fc.weight": np.ones(2)})
        reader = Trial(store).reader

        with pytest.raises(StepUnavailable, match="worker_0 did not save step 5"):
            reader.value("worker_0", 5, "fc.weight")
        with pytest.raises(TensorUnavailable, match=r"did you mean fc\.weight"):
            reader.value("worker_0", 0, "weight")

    @pytest.mark.parametrize(
        ("ended", "error"), [(True, TensorUnavailable), (False, StepUnavailable)]
    )
    def test_a_missing_event_file_is_said(
        self, store: Store, ended: bool, error: type[Exception], caplog: Any
    ):
        """Gone for good, or not there yet; the other steps are read."""
        put_step(store, 0, {"t": np.ones(2)})
        put_step(store, 1, {"t": np.ones(2)})
        store.delete(event_key(0, "worker_0"))
        if ended:
            put_end(store)

        trial = Trial(store)
        with pytest.raises(error, match=event_key(0, "worker_0")):
            trial.tensor("t").value(0)
        means = trial.tensor("t").statistics()["mean"]
        assert np.isnan(means[0])
        assert means[1] == 1.0
        assert "is not there" in caplog.text

    @pytest.mark.parametrize(
        ("other", "why"),
        [({"u": np.ones(2)}, "'u', not of 't'"), ({"t": np.ones(1)}, "its index says")],
    )
    def test_a_record_of_something_else_is_damage(self, store: Store, other: Any, why: str):
        """Index and events must speak of the same; here they are of two runs."""
        put_step(store, 0, {"t": np.ones(2)})
        index = store.get(index_key(0, "worker_0"))
        put_step(store, 0, other)
        store.put(index_key(0, "worker_0"), index)

        with pytest.raises(CorruptRun, match=why):
            Trial(store).tensor("t").value(0)

    def test_a_record_of_another_step_is_damage(self, store: Store):
        """The file name, the index and the record must name one step."""
        put_step(store, 0, {"t": np.ones(2)})
        put_step(store, 1, {"t": np.ones(2)})
        put_step(store, 2, {"t": np.ones(2)})
        store.put(event_key(1, "worker_0"), store.get(event_key(2, "worker_0")))

        with pytest.raises(CorruptRun, match="step 2, not 1"):
            Trial(store).tensor("t").values()
