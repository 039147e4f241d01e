"""Arrow columns made of buffers are those that Arrow itself makes, and come back as they were."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stepwatch.numerics.columns import (
    array,
    empty,
    lists,
    numbers,
    repeated,
    rows_at,
    rows_where,
    sort_rows,
    texts,
    valid,
    whole,
)

DTYPES = st.sampled_from(
    [np.dtype(name) for name in ("?", "i1", "i2", "i4", "i8", "u1", "u4", "u8", "f4", "f8")]
)
TEXT = pa.dictionary(pa.int32(), pa.string())
TEXTS = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=4))


@st.composite
def numbers_and_nulls(draw):
    values = draw(hnp.arrays(draw(DTYPES), st.integers(0, 40)))
    return values, draw(hnp.arrays(bool, len(values)))


@st.composite
def chunked(draw, values):
    """Arrow's own array of these values, cut into chunks that begin anywhere in their buffers."""
    made = draw(values)
    cuts = sorted(draw(st.lists(st.integers(0, len(made)), max_size=3)))
    edges = [draw(st.integers(0, min([*cuts, len(made)]))), *cuts, len(made)]
    chunks = [made[a:b] for a, b in pairwise(edges)]
    return pa.chunked_array(chunks, made.type)


NUMBERS = numbers_and_nulls().map(lambda pair: pa.array(pair[0], mask=pair[1]))


class TestArray:
    @given(numbers_and_nulls())
    def test_it_is_what_arrow_makes(self, pair):
        """Values, nulls, type and number of nulls are those of ``pa.array``."""
        values, nulls = pair

        made = array(values, nulls=nulls)
        made.validate(full=True)

        expected = pa.array(values, mask=nulls)
        assert (expected.type, expected.null_count) == (made.type, made.null_count)
        # by their bytes: nan is no other nan
        assert np.array_equal(expected.is_valid().to_numpy(False), valid(made))
        kept = ~nulls
        assert values[kept].tobytes() == numbers(made, null=0)[kept].tobytes()

    def test_values_of_every_second_place_are_taken(self):
        """What does not lie together in memory is copied."""
        assert array(np.arange(10)[::2]).to_pylist() == [0, 2, 4, 6, 8]

    def test_a_type_may_be_given(self):
        """Python's numbers become those of the type."""
        made = array([1, 2], pa.int8(), nulls=np.array([True, False]))

        assert made.equals(pa.array([None, 2], pa.int8()))

    def test_only_one_axis(self):
        """A matrix is no column."""
        with pytest.raises(ValueError, match="one axis"):
            array(np.zeros((2, 2)))


class TestTexts:
    @pytest.mark.slow
    @given(st.lists(TEXTS))
    def test_they_are_what_arrow_makes(self, values):
        """Empty, null and non-ASCII texts are those of ``pa.array``."""
        made = texts(values)
        made.validate(full=True)

        assert made.equals(pa.array(values, pa.string()))

    @given(st.text(st.characters(codec="utf-8")), st.integers(0, 5))
    def test_one_text_many_times(self, text, count):
        """It is there in every row."""
        assert repeated(text, count).equals(pa.array([text] * count, pa.string()))


class TestLists:
    @given(st.lists(st.one_of(st.none(), hnp.arrays(np.int64, st.integers(0, 4)))))
    def test_they_are_what_arrow_makes(self, values):
        """Empty lists are not null."""
        made = lists(values)
        made.validate(full=True)

        assert made.equals(pa.array(values, pa.list_(pa.int64())))


class TestNumbers:
    @pytest.mark.slow
    @given(chunked(NUMBERS))
    def test_they_are_what_arrow_gives(self, column):
        """Of any chunks, slices and nulls: integers with nulls as float64, null as nan."""
        if pa.types.is_boolean(column.type) and column.null_count:
            with pytest.raises(ValueError, match="null"):
                numbers(column)
            return
        expected = column.to_numpy()
        if column.null_count and pa.types.is_integer(column.type):
            assert np.float64 == numbers(column).dtype
        else:
            assert expected.dtype == numbers(column).dtype
        np.testing.assert_array_equal(expected, numbers(column))

    @given(chunked(NUMBERS))
    def test_a_number_stands_for_null(self, column):
        """The dtype stays, and only nulls are replaced."""
        found = numbers(column, null=1)

        expected = column.fill_null(True if pa.types.is_boolean(column.type) else 1).to_numpy()
        assert expected.dtype == found.dtype
        np.testing.assert_array_equal(expected, found)

    @pytest.mark.slow
    @given(chunked(NUMBERS))
    def test_what_is_not_null(self, column):
        """As Arrow says it."""
        assert column.is_valid().to_pylist() == valid(column).tolist()

    def test_they_cannot_be_written_to(self):
        """The memory belongs to the table."""
        assert not numbers(pa.array([1, 2])).flags.writeable

    def test_texts_are_none(self):
        """A column that holds something else is refused."""
        with pytest.raises(TypeError, match="string"):
            numbers(pa.array(["a"]))


@st.composite
def tables(draw):
    """Rows of every type that the tables of a run have, in chunks."""
    count = draw(st.integers(0, 12))
    names = st.lists(TEXTS, min_size=count, max_size=count)
    ints = st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=count, max_size=count)
    flags = st.lists(st.one_of(st.none(), st.booleans()), min_size=count, max_size=count)
    several = st.lists(
        st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=2)),
        min_size=count,
        max_size=count,
    )
    made = pa.table(
        {
            "name": pa.array(draw(names), pa.string()).cast(TEXT),
            "text": pa.array(draw(names), pa.string()),
            "int": pa.array(draw(ints), pa.int8()),
            "float": pa.array(np.arange(count) / 2),
            "flag": pa.array(draw(flags), pa.bool_()),
            "several": pa.array(draw(several), pa.list_(pa.int64())),
        }
    )
    cut = draw(st.integers(0, count))
    # dictionaries that differ from chunk to chunk
    other = pa.table({"name": pa.array(["other"], TEXT)}).slice(0, 0)
    parts = [made.slice(0, cut), made.slice(cut)]
    return pa.concat_tables([*parts, other], promote_options="default")


class TestRows:
    @pytest.mark.slow
    @settings(deadline=None)
    @given(tables(), st.data())
    def test_they_are_those_that_arrow_takes(self, table, data):
        """In any order, and as often as they are named; the schema stays."""
        number = st.integers(0, max(0, len(table) - 1))
        chosen = data.draw(st.lists(number, max_size=20 if len(table) else 0))
        rows = np.array(chosen, np.int64)

        found = rows_at(table, rows)
        found.validate(full=True)

        expected = table.take(pa.array(rows))
        assert expected.schema == found.schema
        assert expected.to_pylist() == found.to_pylist()

    @pytest.mark.slow
    @settings(deadline=None)
    @given(tables(), st.data())
    def test_they_are_those_that_arrow_keeps(self, table, data):
        """As ``filter`` does."""
        kept = data.draw(hnp.arrays(bool, len(table)))

        assert table.filter(pa.array(kept)).to_pylist() == rows_where(table, kept).to_pylist()

    def test_they_are_sorted_and_equal_ones_stay_in_order(self):
        """As ``sort_by`` does."""
        table = pa.table({"by": [2, 1, 2, 1], "which": [0, 1, 2, 3]})

        assert [1, 3, 0, 2] == sort_rows(table, "by").column("which").to_pylist()

    @pytest.mark.slow
    @settings(deadline=None)
    @given(tables())
    def test_chunks_become_one(self, table):
        """Also texts whose codes differ from chunk to chunk."""
        for name in table.column_names:
            assert table.column(name).to_pylist() == whole(table.column(name)).to_pylist()

    @pytest.mark.slow
    @settings(deadline=None)
    @given(tables())
    def test_a_table_of_no_rows(self, table):
        """It has the columns."""
        assert table.schema.empty_table().equals(empty(table.schema))


_WITHOUT = """
import sys
import numpy as np, pyarrow as pa
from stepwatch.numerics import columns as c
column = pa.chunked_array([c.array([1, 2]), c.array([3, 4], nulls=np.array([True, False]))])
text = pa.DictionaryArray.from_arrays(c.array([0, 1, 0, 1], pa.int32()), c.texts(["a", None]))
flags = c.array([True, False, True, False])
table = pa.table({"n": column, "t": text, "f": flags, "l": pa.nulls(4, pa.list_(pa.int64()))})
c.numbers(column), c.valid(column), c.empty(table.schema), c.lists([[1]]), c.repeated("a", 2)
c.rows_at(table, np.array([1, 0])), c.rows_where(table, np.ones(4, bool)), c.sort_rows(table, "n")
print([name for name in ("pandas", "pyarrow.compute") if name in sys.modules])
"""


def test_nothing_is_imported():
    """Neither pandas nor Arrow's functions come along."""
    done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True)

    assert ("[]\n", "") == (done.stdout, done.stderr)
