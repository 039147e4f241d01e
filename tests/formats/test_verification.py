"""Reading all of a run: what is whole is said to be, and what is damaged is named."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.errors import RunNotFound
from stepwatch.formats.convert import convert
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native import blobs
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.formats.verification import verify
from stepwatch.numerics.digest import digest
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_record, make_run
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_step


@pytest.fixture
def store(request):
    return MemoryStore(f"verification-{request.node.name}")


@pytest.fixture
def run(store):
    """Return a run of ten steps with full values of four weights and gradients."""
    make_run(store.url, raw=True)
    return store


def spoil(store, prefix, *, at=-1, number=0):
    """Flip a bit of a value whose key begins with this; return the key."""
    key = store.list(prefix)[number]
    data = bytearray(store.get(key))
    data[at] ^= 0x40
    store.put(key, bytes(data))
    return key


def damages(store):
    return verify(store).damages


class TestWhole:
    def test_all_of_a_run_is_read(self, run):
        """Every full value, and every file but the room that a worker holds."""
        found = verify(run)

        assert [] == found.damages
        assert 50 == found.num_values
        assert 0 == found.num_unchecked
        assert len(run.list()) - len(run.list("reserve/")) == found.num_files

    def test_of_smdebugs_format_no_value_has_a_checksum(self, store):
        """They are read nevertheless."""
        make_run(store.url, raw=True, format="smdebug")
        found = verify(store)

        assert [] == found.damages
        assert 0 < found.num_values == found.num_unchecked

    def test_no_run_is_no_damage(self, store):
        """A wrong path is told as ever."""
        with pytest.raises(RunNotFound):
            verify(store)


class TestDamage:
    def test_a_value_is_named_with_its_tensor_and_step(self, run):
        """And with the file and the byte."""
        key = spoil(run, "tensors/")
        (one,) = damages(run)

        assert (key, 9, "gradient/layer1.weight") == (one.key, one.step, one.tensor)
        assert one.offset is not None
        assert "checksum differs" in one.reason

    def test_a_header_is_named_with_what_it_held(self, run):
        """Not one of its values is believed."""
        key = spoil(run, "tensors/", at=60)
        (one,) = damages(run)

        assert (key, 8) == (one.key, one.offset)
        assert "it held 50 values of steps 0 to 9" in one.reason

    def test_a_file_that_is_gone_is_named(self, run):
        """The rows tell what it held."""
        (key,) = run.list("tensors/")
        run.delete(key)
        (one,) = damages(run)

        assert key == one.key
        assert "it is gone, with 50 values of steps 0 to 9" == one.reason

    def test_rows_are_named_and_their_values_are_read_all_the_same(self, run):
        """What lies beside a damaged part is not damaged."""
        key = spoil(run, "observations/", at=200)
        found = verify(run)

        assert [key] == [one.key for one in found.damages]
        assert 50 == found.num_values

    def test_a_part_that_is_gone_is_a_hole(self, store, monkeypatch):
        """The part behind it says what came before."""
        monkeypatch.setattr("stepwatch.formats.native.writer.GATHER_ROWS", 2)
        make_run(store.url, steps=6, tensors=1)
        store.delete(store.list("observations/")[1])
        (one,) = damages(store)

        assert one.reason.startswith("steps ")
        assert "are lost" in one.reason

    @pytest.mark.parametrize("key", ["run.json", "end/worker_0.json", "findings/worker_0.jsonl"])
    def test_notes_are_named(self, run, key):
        """All of them are JSON."""
        run.put(key, b'{"a": 1')

        assert [key] == [one.key for one in damages(run)]

    def test_one_of_smdebugs_files_is_named(self, store):
        """An index, an event file that is cut, and one that is gone."""
        make_run(store.url, raw=True, format="smdebug")
        index = spoil(store, "index/", at=0)
        first, second = store.list("events/")[3:5]
        store.put(first, store.get(first)[:-40])
        store.delete(second)
        found = damages(store)

        assert {index, first, second} == {one.key for one in found}
        assert {0, 3, 4} == {one.step for one in found}
        assert ["gradient/layer1.weight"] == [one.tensor for one in found if one.key == first]


class TestOlderReleases:
    @pytest.fixture
    def old(self, store, monkeypatch):
        """Return a run of two steps without checksums, of which one has digests."""
        monkeypatch.setattr(blobs, "encode_checked", blobs.encode_parts)
        monkeypatch.setattr("stepwatch.formats.native.parquet_file._seal", lambda *_: b"")
        start_run(store, Manifest("run", 0))
        writer = NativeWriter(store, "worker_0")
        value = np.float32([0.5, 1.5])
        for step in range(2):
            record = make_record(step, {"w": value}, raw=True)
            if step:
                record.digests["w"] = digest(value)  # type: ignore[index]
            writer.write(record)
        writer.close(End("finished", 0, 2))
        return store

    def test_what_has_no_checksum_is_counted(self, old):
        """It is not said to be as it was written."""
        found = verify(old)

        assert [] == found.damages
        assert (2, 1) == (found.num_values, found.num_unchecked)
        assert old.list("observations/") == found.unchecked_files

    def test_a_digest_stands_in_for_a_checksum(self, old):
        """Rows tell what was observed."""
        spoil(old, "tensors/")
        (one,) = damages(old)

        assert (1, "w") == (one.step, one.tensor)
        assert "digest differs" in one.reason


class TestConverted:
    def test_what_was_kept_of_smdebugs_is_read_as_well(self, store):
        """It carries checksums like all full values."""
        first = MemoryStore("verification-first")
        put_collections(first)
        put_step(first, 0, {"smdebug/reductions/l1/v": np.float32(3)})
        convert(Trial(first).reader, store, "native")
        assert [] == damages(store)
        key = spoil(store, "debugger/worker_0/0")

        assert [key] == [one.key for one in damages(store)]
