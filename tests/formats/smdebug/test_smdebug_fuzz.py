"""Damaged runs of smdebug: an error that says where, or the right answer.

The format has no checksum over what it stores. So the bytes of a value cannot be told from others
that they might have been, nor its dtype from one of the same size: these are not damaged here. Nor
can times, shapes that were saved by themselves, the mode and mode step of an index, or what a
collections file says: these are damaged, but nothing is asked of them except that reading ends,
with an answer or an error of ours. Values are compared, whatever else is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stepwatch.errors import CorruptRun, StepUnavailable, TensorUnavailable
from stepwatch.formats.smdebug.layout import collections_key, event_key, index_key
from stepwatch.formats.smdebug.wire import HEADER_BYTES
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial
from tests.support.formats.smdebug.event_messages import Event
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_end, put_step

pytestmark = pytest.mark.slow

SEED = 7
VALUES: dict[str, Any] = {
    "fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "mask": np.array([True, False, True]),
    "loss": np.array(0.5, np.float64),
    "bytes": np.array([-1, 2], np.int8),
    "words": np.array(["foo", "é"]),
    "none": np.zeros((0, 3), np.float32),
    "smdebug/reductions/mean/other": np.array(0.25, np.float32),
}
STEPS = (0, 7)


def make_run(name: str) -> Store:
    """Write a run of two steps that ended."""
    store = open_store(f"memory://fuzz-{name}")
    for key in store.list():
        store.delete(key)
    put_collections(store)
    for step in STEPS:
        put_step(store, step, VALUES, shapes={"fc.weight": (2, 3), "other": (4,)})
    put_end(store)
    return store


def read_all(store: Store) -> Iterator[tuple[int, str, Any]]:
    """Yield all values that can be read; raise what is raised.

    A name or a step that is not what it was is simply another one, so only known ones are asked.
    """
    trial = Trial(store)
    for records in trial.records():
        assert all(np.isfinite(record.time_ns) for record in records)
    for worker in trial.workers:
        for step in STEPS:
            for name in VALUES:
                try:
                    yield step, name, trial.reader.value(worker, step, name)
                except (StepUnavailable, TensorUnavailable):
                    continue  # its index speaks of another name, step or file


def judge(store: Store, key: str) -> None:
    """Read a run; what is read must be what was written."""
    damage, read = None, []
    try:
        read = [(name, value) for _, name, value in read_all(store)]
    except CorruptRun as error:
        damage = error
    for name, value in read:
        wanted = VALUES[name]
        assert (wanted.dtype, wanted.shape) == (value.dtype, value.shape)
        assert wanted.tolist() == value.tolist()
    if damage is not None:
        assert damage.key in (key, event_key(0, "worker_0"), event_key(7, "worker_0"))
        assert damage.offset >= 0


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """Return the data with one bit changed."""
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def content_bytes(data: bytes) -> set[int]:
    """Return the offsets of the bytes of values and of their dtypes, which nothing protects."""
    found: set[int] = set()
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        payload = data[at + HEADER_BYTES : at + HEADER_BYTES + length]
        tensor = Event.FromString(payload).summary.value[0].tensor
        for content in (tensor.tensor_content, *tensor.string_val):
            start = at + HEADER_BYTES + payload.index(content) if content else 0
            found.update(range(start, start + len(content)))
        if tensor.dtype:
            found.add(at + HEADER_BYTES + payload.index(tensor.SerializeToString()) + 1)
        at += HEADER_BYTES + length + 4
    return found


KEYS = {
    "event": event_key(7, "worker_0"),
    "index": index_key(7, "worker_0"),
    "collections": collections_key("worker_0"),
}


class TestDamage:
    @pytest.mark.parametrize("bit", [0, 3, 7])
    def test_a_flipped_bit_of_an_event_file_is_noticed_or_harmless(self, bit: int):
        """Every byte but those of values and dtypes, which nothing protects."""
        store, key = make_run("flip"), KEYS["event"]
        data = store.get(key)
        unprotected = content_bytes(data)
        for at in range(len(data)):
            if at not in unprotected:
                store.put(key, flipped(data, at, bit))
                judge(store, key)

    @pytest.mark.parametrize("bit", [0, 2, 5, 7])
    @pytest.mark.parametrize("what", ["index", "collections"])
    def test_a_flipped_bit_of_json_is_noticed_or_harmless(self, what: str, bit: int):
        """Every byte."""
        store, key = make_run("flip"), KEYS[what]
        data = store.get(key)
        for at in range(len(data)):
            store.put(key, flipped(data, at, bit))
            judge(store, key)

    @pytest.mark.parametrize("what", KEYS)
    def test_a_file_that_is_cut_off_is_noticed(self, what: str):
        """At every length; nothing at all is damage too."""
        store, key = make_run("cut"), KEYS[what]
        data = store.get(key)
        for length in range(len(data)):
            store.put(key, data[:length])
            with pytest.raises(CorruptRun):
                list(read_all(store))

    @pytest.mark.parametrize("what", KEYS)
    def test_random_bytes_are_noticed(self, what: str):
        """Whatever lies where a file should be."""
        store, key = make_run("random"), KEYS[what]
        random = np.random.default_rng(SEED)
        for _ in range(100):
            store.put(key, random.bytes(int(random.integers(0, 400))))
            with pytest.raises(CorruptRun):
                list(read_all(store))

    @pytest.mark.parametrize("what", KEYS)
    def test_many_damaged_bytes_are_noticed_or_harmless(self, what: str):
        """A few bytes anywhere, but those of values, become others."""
        store, key = make_run("bytes"), KEYS[what]
        data = store.get(key)
        unprotected = content_bytes(data) if what == "event" else set()
        places = [at for at in range(len(data)) if at not in unprotected]
        random = np.random.default_rng(SEED)
        for _ in range(300):
            damaged = bytearray(data)
            for at in random.choice(places, 4):
                damaged[at] = int(random.integers(256))
            store.put(key, bytes(damaged))
            judge(store, key)

    @pytest.mark.parametrize(
        ("start", "length"),
        [(2**61, 100), (0, 2**61), (10, 100), (0, 15), (-1, 100), (1e3, 100), (True, 100)],
    )
    def test_places_that_cannot_be_are_noticed(self, tmp_path: Any, start: Any, length: Any):
        """Before anything of that size is asked for; on a disk, where that could be tried."""
        store = open_store(tmp_path)
        put_collections(store)
        put_step(store, 7, {"t": np.zeros(3)})
        key = index_key(7, "worker_0")
        there = store.get(key).replace(b'"start_idx": 0', f'"start_idx": {start}'.encode())
        store.put(key, there.replace(b'"length": ', f'"length": {length}, "was": '.encode()))

        with pytest.raises(CorruptRun):
            Trial(store).reader.value("worker_0", 7, "t")

    def test_json_that_is_nested_deeply_is_noticed(self):
        """It exhausts the parser, not us."""
        store = make_run("deep")
        store.put(KEYS["index"], b'{"meta": ' + b"[" * 100_000)

        with pytest.raises(CorruptRun):
            Trial(store)
