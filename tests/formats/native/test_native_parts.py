"""Parts: open to every Parquet reader, read by need, and distrusted."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stepwatch.errors import CorruptRun, StoreError
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.parts import GROUP_ROWS, Part, observations_key
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.store.local import LocalStore
from stepwatch.store.memory import MemoryStore
from tests.support.formats.native.native_records import sorted_rows, store_part, uniform_records

_numbers = itertools.count()


class CountingStore(MemoryStore):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        super().__init__(f"counting-{next(_numbers)}")
        self.bytes_read = 0

    def get(self, key, start=0, length=None):
        data = super().get(key, start, length)
        self.bytes_read += len(data)
        return data


@pytest.fixture
def store():
    return CountingStore()


def merged_part(store, steps=2_000, tensors=40):
    """Return one merged part whose tensors do not compress well."""
    random = np.random.default_rng(0)
    made = uniform_records(0, steps, tensors)
    for record in made:
        record.statistics[:] = random.random(record.statistics.shape)
    parts = [store_part(store, made[: steps // 2])]
    parts.append(store_part(store, made[steps // 2 :], follows=steps // 2 - 1))
    return Part(store, merge_parts(store, parts).span)


class TestOpenData:
    """Anyone reads a part, with no line of ours."""

    @pytest.fixture
    def path(self, tmp_path):
        part = store_part(LocalStore(tmp_path), uniform_records(5, 4, tensors=2))
        return tmp_path / part.key

    def test_pyarrow(self, path):
        """Plain columns: steps as numbers, names as text."""
        table = pq.read_table(path)

        assert [5, 5, 6, 6, 7, 7, 8, 8] == table.column("step").to_pylist()
        assert ["t0", "t1"] * 4 == table.column("tensor").to_pylist()
        assert ["[2]"] * 8 == table.column("shape").to_pylist()

    def test_pandas(self, path):
        """One line to a mean by tensor."""
        frame = pandas.read_parquet(path)

        assert {"t0": 26.0, "t1": 26.0} == frame.groupby("tensor", observed=True)[
            "sum"
        ].sum().to_dict()

    def test_polars(self, path):
        """A lazy scan with a filter."""
        frame = polars.scan_parquet(path).filter(polars.col("tensor") == "t1").collect()

        assert [5.0, 6.0, 7.0, 8.0] == frame["max"].to_list()

    def test_duckdb(self, path):
        """SQL over all parts of a run at once."""
        glob = path.parent / "*.parquet"
        query = f"select tensor, sum(sum) from '{glob}' where step > 6 group by tensor order by 1"

        assert [("t0", 15.0), ("t1", 15.0)] == duckdb.sql(query).fetchall()


class TestReadTensors:
    def test_reads_only_the_row_groups_of_the_tensor(self, store):
        """One of forty tensors costs about a twentieth: its group, which it may share."""
        part = merged_part(store)
        size = store.size(part.key)

        store.bytes_read = 0
        table = part.read_tensors(frozenset({"t7"}))

        assert 2_000 == len(table)
        assert {"t7"} == set(table.column("tensor").to_pylist())
        assert store.bytes_read < size / 8

    def test_opening_reads_no_row(self, store):
        """Only the footer, with what readers read around it."""
        part = merged_part(store)

        store.bytes_read = 0
        Part(store, part.span)

        assert store.bytes_read < store.size(part.key) / 4

    def test_fewer_columns_are_fewer_bytes(self, store):
        """A mean needs neither shapes nor extremes; what lies between is read if it is small."""
        part = merged_part(store, steps=6_000, tensors=8)

        store.bytes_read = 0
        table = part.read_tensors(frozenset({"t7"}), ["step", "sum"])
        few, store.bytes_read = store.bytes_read, 0
        part.read_tensors(frozenset({"t7"}))

        assert ["step", "sum"] == table.column_names
        assert few < store.bytes_read / 3

    def test_gives_what_a_filter_over_all_rows_gives(self, store):
        """For tensors of one group, of several, and for a name that is not there."""
        part = merged_part(store, steps=300)
        every = part.read()
        names = np.array(every.column("tensor").to_pylist())
        for wanted in ({"t0"}, {"t0", "t39", "t5"}, {"t"}, {"t0", "zz"}):
            expected = every.filter(np.isin(names, list(wanted)))
            assert sorted_rows(expected) == sorted_rows(part.read_tensors(frozenset(wanted)))

    def test_row_groups_end_where_a_tensor_ends(self, store):
        """So that a series lies in one group, and groups are never tiny."""
        part = merged_part(store, steps=1_500, tensors=5)
        file = pq.ParquetFile(open_file(store, part.key))
        groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
        held = [set(group.column("tensor").to_pylist()) for group in groups]

        assert [{"t0", "t1"}, {"t2", "t3"}, {"t4"}] == held
        assert all(len(group) >= GROUP_ROWS for group in groups[:-1])


class TestOwnFooters:
    """Behind each row group of a merged part lies a footer that names it alone."""

    @pytest.fixture
    def merged(self, tmp_path):
        store, made = LocalStore(tmp_path), uniform_records(0, 1_500, 5)
        parts = [store_part(store, made[:700]), store_part(store, made[700:], follows=699)]
        return store, merge_parts(store, parts)

    def test_what_ends_with_one_is_a_parquet_file(self, merged):
        """Of this row group: all that lies before it is not looked at."""
        store, known = merged
        data = store.get(observations_key(known.span))
        found, start = [], 0
        for group in known.groups:
            prefix = bytes(start) + data[start : group.stop]
            table = pq.read_table(pa.BufferReader(prefix))
            assert group.first == table.column("tensor")[0].as_py()
            found += sorted_rows(table)
            start = group.stop

        assert 3 == len(known.groups)
        assert sorted_rows(Part(store, known.span).read()) == sorted(
            found, key=lambda row: (row["step"], row["order"])
        )

    def test_other_readers_see_none_of_it(self, merged, tmp_path):
        """To them it is a file of several row groups."""
        known = merged[1]
        path = str(tmp_path / observations_key(known.span))
        expected = {f"t{number}": 1_500 for number in range(5)}

        counted = pandas.read_parquet(path).groupby("tensor", observed=True)["step"].nunique()
        assert expected == counted.to_dict()
        counted = polars.read_parquet(path).group_by("tensor").agg(polars.col("step").n_unique())
        assert expected == dict(counted.iter_rows())
        query = f"select tensor, count(distinct step) from '{path}' where step >= 0 group by 1"
        assert expected == dict(duckdb.sql(query).fetchall())

    def test_what_is_known_is_what_is_read(self, merged):
        """The same rows by the footer of the part and by that of a row group."""
        store, known = merged
        for names in ({"t0"}, {"t1", "t4"}, {"absent"}, set()):
            by_part = Part(store, known.span).read_tensors(frozenset(names))
            by_group = Part(store, known.span, known).read_tensors(frozenset(names))
            assert sorted_rows(by_part) == sorted_rows(by_group)
            assert by_part.schema.equals(by_group.schema)


class TestMayHold:
    def test_a_step_is_looked_for_in_the_count_of_its_mode(self, store):
        """Global steps by the span, mode steps by the ranges."""
        part = store_part(store, uniform_records(10, 5))

        assert [False, True, False] == [part.may_hold(Mode.TRAIN, step) for step in (9, 12, 15)]
        assert [False, True, False] == [part.may_hold(Mode.GLOBAL, step) for step in (9, 12, 15)]
        assert not part.may_hold(Mode.EVAL, 12)


class TestDamage:
    @pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99, -1])
    def test_a_truncated_part_is_named(self, store, keep):
        """The footer is missing: the end is where it is wrong."""
        part = store_part(store, uniform_records(0, 50))
        data = store.get(part.key)
        data = data[: int(keep * len(data)) if isinstance(keep, float) else keep]
        store.put(part.key, data)

        with pytest.raises(CorruptRun) as caught:
            Part(store, part.span)
        assert (part.key, len(data)) == (caught.value.key, caught.value.offset)

    def test_garbage_is_named(self, store):
        """Not one byte of it is Parquet."""
        part = store_part(store, uniform_records(0, 5))
        store.put(part.key, bytes(range(256)) * 20)

        with pytest.raises(CorruptRun, match=part.key):
            Part(store, part.span)

    def test_a_foreign_parquet_file_is_no_part(self, store):
        """It lacks the steps in its metadata."""
        part = store_part(store, uniform_records(0, 5))
        table = part.read().replace_schema_metadata({})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        store.put(part.key, sink.getvalue())

        with pytest.raises(CorruptRun, match="no steps in its metadata"):
            Part(store, part.span)

    def test_a_flipped_bit_among_the_rows_is_found(self, store):
        """Pages carry checksums: a number that rotted is not shown as a measurement."""
        made = uniform_records(0, 200)
        for record in made:
            record.statistics[:] = np.random.default_rng(record.step).random((3, 11))
        part = store_part(store, made)
        data = bytearray(store.get(part.key))
        for where in range(len(data) // 4, len(data) // 2, 500):
            data[where] ^= 1
        store.put(part.key, data)

        with pytest.raises(CorruptRun, match=part.key):
            part.read()

    def test_a_store_that_fails_is_not_a_damaged_run(self, store, monkeypatch):
        """The network is away; the bytes are as they were."""
        part = store_part(store, uniform_records(0, 5))

        def fail(*_: object) -> bytes:
            raise StoreError("the network is away")

        monkeypatch.setattr(store, "get", fail)
        with pytest.raises(StoreError, match="the network is away"):
            part.read()

    def test_a_part_that_is_gone_says_so(self, store):
        """Readers list again: it was merged."""
        part = store_part(store, uniform_records(0, 5))
        store.delete(part.key)

        with pytest.raises(FileNotFoundError):
            part.read()


def open_file(store, key):
    return pa.BufferReader(open_store(store.url).get(key))
