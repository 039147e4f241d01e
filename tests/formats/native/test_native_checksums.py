"""What was written is what is read, or damage: no byte of a run is wrong in silence."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy

from stepwatch.errors import CorruptRun
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.blobs import RunBlobFile, encode, encode_checked
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.observations import SCHEMA
from stepwatch.formats.native.parts import Part
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.formats.profile.parts import parse_part, read_part
from stepwatch.formats.profile.tables import SYSTEM
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_record
from tests.support.formats.native.native_records import sorted_rows, store_part, uniform_records

VALUES = {
    "3/fc/weight": np.float32([[0.5, -2.0], [1.75, 0.0]]),
    "3/name": np.array(["rmse", "é"]),
    "4/empty": np.empty((0, 2), np.float32),
    "4/big": np.arange(3000, dtype=np.float64),
}


def file_of(data):
    return RunBlobFile("tensors/w.safetensors", lambda start, length: data[start : start + length])


def values_of(data):
    """Return all values of a file, to the bit, or what is said of its damage."""
    try:
        file = file_of(data)
        return {
            name: (x := file.get(name), x.dtype.str, x.shape, x.tobytes())[1:]
            for name in file.names
        }
    except CorruptRun as error:
        return error


@pytest.fixture
def store(request):
    return MemoryStore(f"checksums-{request.node.name}")


def changed(data):
    """Yield a file with one bit flipped, with a byte inserted or left out, wherever that may be."""
    random = np.random.default_rng(0)
    for at, bit in enumerate(random.integers(0, 8, len(data)).tolist()):
        yield data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        if at % 7 == 0:
            yield data[:at] + bytes([random.integers(256)]) + data[at:]
            yield data[:at] + data[at + 1 :]


class TestValues:
    def test_no_changed_byte_gives_another_value(self):
        """Whether it is of a value, of its name or shape, or of the checksums."""
        small = {name: value for name, value in VALUES.items() if name != "4/big"}
        data = b"".join(encode_checked(small))
        written = values_of(data)
        found = [values_of(other) for other in changed(data)]
        damaged = [one for one in found if isinstance(one, CorruptRun)]

        assert not isinstance(written, CorruptRun)
        assert all(isinstance(one, CorruptRun) or one == written for one in found)
        # A space at the end of the header, or the byte before, may be the same again.
        assert len(damaged) > 0.98 * len(found)

    def test_a_flipped_bit_is_told_with_step_tensor_and_place(self):
        """Of the one that is damaged; the others are read."""
        data = bytearray(b"".join(encode_checked(VALUES)))
        data[-1] ^= 1
        with pytest.raises(CorruptRun, match="value of 4/big is not what was written") as caught:
            file_of(bytes(data)).get("4/big")

        assert len(data) - 3000 * 8 == caught.value.offset
        np.testing.assert_array_equal(
            VALUES["3/fc/weight"], file_of(bytes(data)).get("3/fc/weight")
        )

    def test_it_is_a_safetensors_file(self):
        """Other libraries read it, and nothing of the checksums is in their way."""
        data = b"".join(encode_checked({"3/w": VALUES["3/fc/weight"]}))

        np.testing.assert_array_equal(VALUES["3/fc/weight"], safetensors.numpy.load(data)["3/w"])

    def test_the_checksums_are_the_ones_of_the_description(self):
        """Anybody can compute them: first of the header behind itself, then of each value."""
        data = b"".join(encode_checked({"0/a": np.frombuffer(b"123456789", np.uint8)}))
        length = int.from_bytes(data[:8], "little")
        first, second = json.loads(data[8 : 8 + length])["__metadata__"]["crc32c"].split()

        assert "e3069283" == second
        assert data.startswith(b'{"__metadata__":{"crc32c":"' + first.encode(), 8)

    def test_files_of_older_releases_are_read(self):
        """They have no checksums."""
        for name, value in VALUES.items():
            np.testing.assert_array_equal(value, file_of(encode(VALUES)).get(name))
        assert not file_of(encode(VALUES)).is_checked
        assert file_of(b"".join(encode_checked(VALUES))).is_checked

    def test_a_run_has_them(self, store):
        """A value that rotted is not shown as a measurement."""
        start_run(store, Manifest("run", 0))
        writer = NativeWriter(store, "worker_0")
        writer.write(make_record(0, {"w": np.float32([0.5, 1.5])}, raw=True))
        writer.close(End("finished", 0))
        (key,) = store.list("tensors/")
        data = bytearray(store.get(key))
        data[-1] ^= 0x80
        store.put(key, bytes(data))
        reader = NativeReader(store)
        reader.refresh()

        with pytest.raises(CorruptRun, match="0/w"):
            reader.raw("worker_0", key.rpartition("/")[2], 0, "w")


class TestRows:
    @pytest.mark.slow
    @pytest.mark.parametrize("merged", [False, True])
    def test_no_changed_byte_gives_other_rows(self, store, merged, monkeypatch):
        """Of pages, of their headers, of the footer: also where one row group is read."""
        monkeypatch.setattr("stepwatch.formats.native.parts.GROUP_ROWS", 8)
        made = uniform_records(0, 8, 2)
        part = store_part(store, made)
        known = None
        if merged:
            known = merge_parts(
                store, [store_part(store, made[:4]), store_part(store, made[4:], 3)]
            )
            part = Part(store, known.span)
        data = store.get(part.key)
        written = sorted_rows(part.read())
        damaged = 0
        for number, other in enumerate(changed(data)):
            if number % 11:
                continue
            store.put(part.key, other)
            try:
                table = Part(store, part.span).read()
                some = Part(store, part.span, known).read_tensors(frozenset({"t0"}), ["step"])
            except CorruptRun:
                damaged += 1
            else:
                assert written == sorted_rows(table)
                assert list(range(8)) == sorted(some.column("step").to_pylist())
        assert damaged > 0

    def test_parts_of_older_releases_are_read(self, store, monkeypatch):
        """They have checksums of pages alone."""
        monkeypatch.setattr("stepwatch.formats.native.parquet_file._seal", lambda *_: b"")
        part = store_part(store, uniform_records(0, 5))

        assert 15 == len(part.read())
        assert not part.is_checked


def bomb(schema):
    """Return a small Parquet file of millions of rows that hold nothing."""
    nothing = pa.nulls(1 << 21, pa.int64())
    rows = pa.table([nothing] * len(schema), names=schema.names)
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows, sink, row_group_size=len(rows), data_page_size=1 << 30, max_rows_per_page=1 << 30
    )
    return sink.getvalue().to_pybytes()


class TestClaims:
    def test_a_small_file_that_would_take_gigabytes_is_not_read(self, store):
        """What is read is bounded by the size of the file."""
        data = bomb(SYSTEM.schema)
        key = parse_part("system", "profile/system/vm/000000000000-000000000000_1-2.parquet")
        store.put(str(key), data)
        assert len(data) < 1 << 16
        before = pa.total_allocated_bytes()

        with pytest.raises(CorruptRun, match="bytes of values, in a file of"):
            read_part(store, SYSTEM, key)
        assert pa.total_allocated_bytes() - before < 64 << 20

    def test_neither_are_observations(self, store):
        part = store_part(store, uniform_records(0, 4))
        store.put(part.key, bomb(SCHEMA))

        with pytest.raises(CorruptRun, match="bytes of values, in a file of"):
            Part(store, part.span, part.known).read()
