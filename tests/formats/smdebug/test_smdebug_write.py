"""What the writer puts into event and index files, read by the runtime of protocol buffers."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.errors import StoreError
from stepwatch.formats.smdebug.collections import RAW, Reduction, SavedCollection, Stored
from stepwatch.formats.smdebug.layout import collections_key, event_key, index_key
from stepwatch.formats.smdebug.wire import payload_range
from stepwatch.model.steps import Mode
from stepwatch.store.memory import MemoryStore
from stepwatch_smdebug.format.writer import SmdebugWriter
from tests.support.formats.smdebug.smdebug_steps import (
    array_of,
    events,
    index,
    payloads,
    step_of,
    tensors,
)

TIME_NS = 1_700_000_000_250_000_000
MODES = {Mode.TRAIN: "1", Mode.EVAL: "2", Mode.PREDICT: "3", Mode.GLOBAL: "4"}


@pytest.fixture
def store(request):
    made = MemoryStore(f"memory://{request.node.nodeid}")
    yield made
    for key in made.list():
        made.delete(key)


def writer(store, **arguments):
    return SmdebugWriter(store, "worker_0", **arguments)


def write_one(store, record, stored=RAW):
    """Write one step, the same of each of its tensors."""
    made = writer(store, stored_at=lambda *_: stored)
    made.write(record)
    made.flush()
    return made


ARRAYS = st.sampled_from(
    [
        np.float32([[1, 2], [3, 4]]),
        np.float64(2.5).reshape(()),
        np.arange(300, dtype=np.int64),
        np.array([True, False]),
        np.float16([]).reshape(0, 3),
        np.array(["foo", "é"]),
        np.asfortranarray(np.float32([[1, 2, 3], [4, 5, 6]])),
        np.float32([1, 2, 3, 4])[::2],
        np.float64([1, -2]).astype(">f8"),
    ]
)
STEPS = st.sampled_from([0, 1, 9, 10, 127, 128, 999, 1000, 16_383, 16_384, 2**31, 10**12, 10**13])
RECORDS = st.builds(
    step_of,
    st.dictionaries(st.text("abé/.:0_", min_size=1, max_size=9), ARRAYS, min_size=1, max_size=4),
    STEPS,
    mode=st.sampled_from(list(Mode)),
    mode_step=STEPS,
    time_ns=st.integers(0, 2**62),
)


class TestEvents:
    @given(st.lists(RECORDS, max_size=4, unique_by=lambda record: record.step))
    def test_every_event_says_its_tensor_and_its_step(self, records):
        """Whatever is written one after the other, the real runtime reads each step's own."""
        store = MemoryStore("memory://every-event")
        made = writer(store, stored_at=lambda *_: RAW)
        for record in records:
            made.write(record)
            made.flush()
            there = [name for name, array in record.raw.items() if array.size]
            if not there:
                continue
            found = events(store, event_key(record.step, "worker_0"))
            stamp = [("mode_step", str(record.mode_step)), ("mode", MODES[record.mode])]

            assert there == [event.summary.value[0].tag for event in found]
            for event in found:
                value = event.summary.value[0]
                assert (record.time_ns / 10**9, record.step) == (event.wall_time, event.step)
                plugins = value.metadata.plugin_data
                assert stamp == [(one.plugin_name, one.content) for one in plugins]
                sizes = [(dim.size, dim.name) for dim in value.tensor.tensor_shape.dim]
                array = record.raw[value.tag]
                assert [(size, f"{value.tag}_{size}") for size in array.shape] == sizes
                np.testing.assert_array_equal(array, array_of(value.tensor))

    def test_the_bytes_are_those_of_smdebug(self, store):
        """A small tensor at step 7, which is TRAIN step 3: the payload of smdebug 1.0.34."""
        record = step_of({"a/b:0": np.float32([[1, 2], [3, 4]])}, 7, mode_step=3, time_ns=TIME_NS)
        write_one(store, record)
        expected = bytes.fromhex(
            "0900001040fc54d941 1007 2a58 0a56 0a05612f623a30 4230 0801 121a"
            "120b0802 1207612f623a305f32 120b0802 1207612f623a305f32"
            "2210 0000803f000000400000404000008040"
            "4a1b 0a0e0a096d6f64655f73746570120133 0a090a046d6f6465120131"
        )

        assert [expected] == payloads(store.get(event_key(7, "worker_0")))

    def test_bytes_are_what_the_runtime_makes_of_the_same_message(self, store):
        """Nothing is left out that it writes and nothing written that it leaves out."""
        record = step_of({"w": np.zeros((2, 1), np.float32), "s": np.array(["a", ""])}, 300)
        write_one(store, record)
        key = event_key(300, "worker_0")
        again = [event.SerializeToString(deterministic=True) for event in events(store, key)]

        assert again == payloads(store.get(key))

    @pytest.mark.parametrize(
        "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
    )
    def test_floats_that_smdebug_does_not_know_become_float32(self, store, dtype):
        """Their values are all values of float32."""
        array = np.array([0.5, -1.75, 3], dtype)
        write_one(store, step_of({"w": array}))
        found = tensors(store, event_key(0, "worker_0"))["w"]

        assert (np.float32, array.astype(np.float32).tolist()) == (found.dtype, found.tolist())

    def test_large_values_lie_between_their_records(self, store):
        """Small numbers and large values in one file stay in the order of the tensors."""
        arrays = {"big": np.arange(200_000.0), "n": np.float64(1).reshape(()), "b2": np.ones(5)}
        mean = Stored(raw=True, reductions=(Reduction("mean"),))
        write_one(store, step_of(arrays), mean)
        found = tensors(store, event_key(0, "worker_0"))

        names = [n for name in arrays for n in (f"smdebug/reductions/mean/{name}", name)]
        assert names == list(found)
        np.testing.assert_array_equal(arrays["big"], found["big"])


class TestIndex:
    @given(RECORDS)
    def test_entries_are_the_records(self, record):
        """Start and length of each entry are those of a whole record of that tensor."""
        store = MemoryStore("memory://entries")
        write_one(store, record)
        there = index(store, index_key(record.step, "worker_0"))
        names = [name for name, array in record.raw.items() if array.size]
        assert names == [entry["tensorname"] for entry in there["tensor_payload"]]
        at = 0
        for entry in there["tensor_payload"]:
            assert at == entry["start_idx"]
            data = store.get(there["meta"]["event_file_name"])
            _, end = payload_range("", data, at)
            at = end + 4
            assert entry["length"] == at - entry["start_idx"]

    def test_keys_stand_in_the_order_of_smdebug(self, store):
        """The file is the JSON of one object, as Python writes it."""
        write_one(store, step_of({"w": np.float32([1])}, 1500, mode_step=3))
        text = store.get(index_key(1500, "worker_0")).decode()

        assert text == (
            '{"meta": {"mode": "TRAIN", "mode_step": 3, "event_file_name": '
            '"events/000000001500/000000001500_worker_0.tfevents"}, "tensor_payload": '
            '[{"tensorname": "w", "start_idx": 0, "length": 85}], "shape_payload": []}'
        )

    def test_shapes_alone_have_no_event_file(self, store):
        """A step of which only shapes are saved is an index file."""
        write_one(store, step_of({"w": np.ones((2, 3))}), Stored(shape=True))
        there = index(store, index_key(0, "worker_0"))

        assert {"mode": "TRAIN", "mode_step": 0} == there["meta"]
        assert [{"tensorname": "w", "originalname": "w", "shape": [2, 3]}] == there["shape_payload"]
        assert [] == store.list("events/")

    def test_a_value_makes_its_shape_superfluous(self, store):
        """smdebug's reader loses the value of a tensor that is named for its shape as well."""
        write_one(store, step_of({"w": np.ones((2, 3))}), Stored(raw=True, shape=True))

        assert [] == index(store, index_key(0, "worker_0"))["shape_payload"]

    def test_a_value_without_elements_is_its_shape(self, store):
        """smdebug's reader fails on a value without content."""
        write_one(store, step_of({"w": np.ones((0, 3), np.float32)}))
        there = index(store, index_key(0, "worker_0"))

        assert ([], [0, 3]) == (there["tensor_payload"], there["shape_payload"][0]["shape"])

    def test_nothing_stored_is_no_file(self, store):
        """A step of which nothing is due leaves no trace."""
        write_one(store, step_of({"w": np.ones(3)}), None)

        assert [] == store.list()

    def test_events_are_there_before_their_index(self, store, monkeypatch):
        """Who sees an index sees what it names; and the collections before both."""
        order = []
        put = store.put
        monkeypatch.setattr(store, "put", lambda key, data: (order.append(key), put(key, data)))
        write_one(store, step_of({"w": np.ones(3)}))

        expected = [collections_key("worker_0"), event_key(0, "worker_0"), index_key(0, "worker_0")]
        assert expected == order


class TestCollections:
    def test_they_hold_the_tensors_that_were_stored(self, store):
        """Members are found by pattern among what was stored, and by name."""
        asked = SavedCollection("mine", patterns=("^w",), tensors=frozenset({"x"}))
        made = writer(
            store,
            stored_at=lambda name, *_: RAW if name != "w3" else None,
            collections=[asked],
            num_workers=2,
        )
        made.write(step_of({"w1": np.ones(1), "v": np.ones(1), "w3": np.ones(1)}))
        there = json.loads(store.get(collections_key("worker_0")))

        assert ["w1", "x"] == there["collections"]["mine"]["tensor_names"]
        assert {"num_workers": 2} == there["_meta"]

    def test_what_comes_later_is_added_within_seconds(self, store):
        """A new tensor shows at the first tick a second after the file was written."""
        now = [0.0]
        made = writer(store, clock=lambda: now[0])
        members = []
        for names, time in (("a", 0), ("ab", 0.5), ("ab", 1.2)):
            now[0] = time
            made.write(step_of({name: np.ones(2) for name in names}, 0))
            made.tick()
            there = json.loads(store.get(collections_key("worker_0")))
            members.append(there["collections"]["weights"]["tensor_names"])

        assert [["a"], ["a"], ["a", "b"]] == members

    def test_a_collection_made_later_is_added(self, store):
        """The list of collections may grow while the run is written."""
        collections = [SavedCollection("first", ("w",))]
        made = writer(store, stored_at=lambda *_: RAW, collections=collections, clock=lambda: 9.0)
        made.write(step_of({"w": np.ones(2)}))
        collections.append(SavedCollection("second", ("w",)))
        made.write(step_of({"w": np.ones(2)}, 1))
        made._collections.write()
        there = json.loads(store.get(collections_key("worker_0")))["collections"]

        assert ["w"] == there["second"]["tensor_names"]

    def test_without_a_selection_there_is_one_for_each_kind(self, store):
        """What our own hook says a tensor is, is a collection of that name."""
        writer(store).write(step_of({"w": np.ones(2), "gradient/w": np.ones(2)}))
        there = json.loads(store.get(collections_key("worker_0")))["collections"]

        expected = {"weights": ["w"], "gradients": ["gradient/w"]}
        assert expected == {name: one["tensor_names"] for name, one in there.items()}


class TestLost:
    @pytest.mark.parametrize("refused", ["events/", "index/"])
    def test_what_is_refused_is_counted_and_the_next_step_stored(self, store, monkeypatch, refused):
        """A store that refuses a file of one step loses that step, and no other."""
        made = writer(store)
        put = store.put

        def refuse(key, data):
            if "000000000001_" in key and key.startswith(refused):
                raise StoreError("full")
            put(key, data)

        monkeypatch.setattr(store, "put", refuse)
        for step in range(3):
            made.write(step_of({"w": np.ones(2)}, step))
        with pytest.raises(StoreError, match="full"):
            made.flush()

        assert 1 == made.lost
        assert [index_key(0, "worker_0"), index_key(2, "worker_0")] == store.list("index/")
