"""Whole tensors from the parts that workers wrote."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.errors import TensorUnavailable
from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout
from stepwatch.model.sharding import assemble, assemble_records
from stepwatch.numerics.exponents import count_exponents
from stepwatch.numerics.statistics import FIELDS, SUM, SUM_ABS, SUM_SQ, merge, summarize
from stepwatch.store.memory import MemoryStore
from stepwatch.testing.made_runs import make_record
from stepwatch.trial import Trial

_numbers = itertools.count()
SHAPE = (5, 3)


def whole_at(step):
    return np.random.default_rng(step).normal(size=SHAPE)


def record_of(step, worker, parts, *, raw=True, **whole):
    """Return what a worker saw of a step.

    Args:
        step: Which.
        worker: Who.
        parts: Offset and value of its part of each tensor, by name; all of one ``SHAPE``.
        raw: Whether the values are kept.
        whole: Tensors of which it holds all.
    """
    arrays = {name: part for name, (_, part) in parts.items()}
    record = make_record(step, {**arrays, **whole}, worker=worker, raw=raw)
    tensors = tuple(
        replace(tensor, shape=SHAPE, offset=parts[tensor.name][0])
        if tensor.name in parts
        else tensor
        for tensor in record.layout.tensors
    )
    return replace(record, layout=Layout(tensors))


def rows_of(value, *edges):
    """Return the parts of a value that is cut before these rows, each with its offset."""
    cuts = [0, *edges, len(value)]
    return [((a, 0), value[a:b]) for a, b in itertools.pairwise(cuts)]


def stored(*records, num_workers=2):
    """Return a trial of some records."""
    store = MemoryStore(f"shards-{next(_numbers)}")
    start_run(store, Manifest("run", 0, num_workers=num_workers))
    for worker in sorted({record.worker for record in records}):
        writer = NativeWriter(store, worker)
        for record in records:
            if record.worker == worker:
                writer.write(record)
        writer.flush()
    return Trial(store)


@pytest.fixture
def trial():
    """Three steps of ``w``, two rows in one worker and three in another, and a loss of each."""
    return stored(
        *(
            record_of(step, f"worker_{rank}", {"w": part}, **{"loss/l": np.float32(rank)})
            for step in range(3)
            for rank, part in enumerate(rows_of(whole_at(step), 2))
        )
    )


def assert_same_statistics(expected, found):
    """Counts and extremes exactly, sums to the last digits."""
    sums = [SUM, SUM_ABS, SUM_SQ]
    rest = [field for field in range(len(FIELDS)) if field not in sums]
    assert np.array_equal(expected[rest], found[rest], equal_nan=True)
    np.testing.assert_allclose(expected[sums], found[sums], rtol=1e-12, atol=1e-12)


class TestMerged:
    def test_parts_make_one_row_for_each_step(self, trial):
        """With the statistics of the whole."""
        merged = trial.tensor("w").merged()

        assert [0, 1, 2] == merged.steps.tolist()
        for step, row in enumerate(merged.rows):
            assert_same_statistics(summarize(whole_at(step)), row)

    def test_of_what_each_worker_holds_whole_the_first_counts(self, trial):
        """They are copies, or each worker's own."""
        merged = trial.tensor("loss/l").merged()

        assert (["worker_0"] * 3, [0.0] * 3) == (merged.workers, merged["mean"].tolist())

    def test_replicas_count_once(self):
        """Parts that begin at one place are one part."""
        parts = rows_of(whole_at(0), 2) * 2
        trial = stored(
            *(record_of(0, f"worker_{rank}", {"w": part}) for rank, part in enumerate(parts)),
            num_workers=4,
        )

        assert_same_statistics(summarize(whole_at(0)), trial.tensor("w").merged().rows[0])

    def test_a_step_that_lacks_a_part_is_left_out(self):
        """Part of a tensor is never taken for the whole."""
        first, second = rows_of(whole_at(0), 2)
        trial = stored(
            record_of(0, "worker_0", {"w": first}),
            record_of(1, "worker_0", {"w": first}),
            record_of(0, "worker_1", {}, other=np.ones(2)),
            record_of(1, "worker_1", {"w": second}),
        )

        assert [1] == trial.tensor("w").merged().steps.tolist()

    def test_parts_seen_twice_are_no_whole_though_they_count_as_many(self):
        """Two of three parts, in five micro-batches, are three times the elements of the whole."""
        parts = rows_of(whole_at(0), 2, 3)
        records = [
            record_of(step, f"worker_{rank}", {"w": part})
            for step in range(2)
            for rank, part in enumerate(parts)
        ]
        often = [replace(one, statistics=merge(np.stack([one.statistics] * 5))) for one in records]
        other = record_of(0, "worker_2", {}, other=np.ones(2))
        trial = stored(*often[:2], other, *often[3:], num_workers=3)

        assert [1] == trial.tensor("w").merged().steps.tolist()

    def test_an_empty_part_adds_nothing(self):
        """A worker may hold no element of a small tensor."""
        parts = rows_of(whole_at(0), 5)
        trial = stored(
            *(record_of(0, f"worker_{rank}", {"w": part}) for rank, part in enumerate(parts))
        )

        assert_same_statistics(summarize(whole_at(0)), trial.tensor("w").merged().rows[0])

    def test_statistics_have_a_row_for_each_worker_as_ever(self, trial):
        """Each of its own part."""
        series = trial.tensor("w").statistics()

        assert ["worker_0", "worker_1"] * 3 == series.workers
        assert [6, 9] * 3 == series["count"].tolist()


class TestValue:
    def test_it_is_put_together(self, trial):
        """At one step, and at all."""
        assert np.array_equal(whole_at(1), trial.tensor("w").value(1))
        values = trial.tensor("w").values()
        assert all(np.array_equal(whole_at(step), values[step]) for step in range(3))

    def test_of_one_worker_it_is_its_part(self, trial):
        """As that worker held it."""
        assert np.array_equal(whole_at(1)[2:], trial.tensor("w").value(1, worker="worker_1"))

    def test_where_a_part_was_not_saved_there_is_none(self):
        """The message says whose part there is."""
        first, second = rows_of(whole_at(0), 2)
        trial = stored(
            record_of(0, "worker_0", {"w": first}, raw=False),
            record_of(0, "worker_1", {"w": second}),
        )

        with pytest.raises(TensorUnavailable, match=r"only parts have a raw value .* worker_1;"):
            trial.tensor("w").value(0)

    def test_parts_that_overlap_are_no_whole(self):
        """Though they have as many elements as it."""
        value = np.arange(6.0)

        assert assemble((6,), {(0,): value[:3], (2,): value[:3]}) is None
        assert assemble((6,), {(0,): value[:4], (4,): value[:4]}) is None
        assert np.array_equal(value, assemble((6,), {(4,): value[4:], (0,): value[:4]}))

    @given(st.integers(1, 4), st.integers(1, 4), st.data())
    @settings(max_examples=50, deadline=None)
    def test_any_grid_of_parts_is_put_together(self, rows, columns, data):
        """In any order of the parts."""
        value = np.random.default_rng(0).normal(size=(4, 4))
        cuts = [
            [(part[0], part[-1] + 1) for part in np.array_split(np.arange(4), number)]
            for number in (rows, columns)
        ]
        boxes = data.draw(st.permutations(list(itertools.product(*cuts))))
        parts = {(a, c): value[a:b, c:d] for (a, b), (c, d) in boxes}

        assert np.array_equal(value, assemble((4, 4), parts))


class TestWholeRecords:
    def test_records_without_parts_are_as_they_were(self):
        """The very same objects."""
        records = (make_record(0, {"w": np.ones(2)}),)

        assert records[0] is assemble_records(records)[0]

    def test_the_first_worker_gets_what_is_made_one(self):
        """The others keep what they hold whole."""
        parts = rows_of(whole_at(0), 2)
        records = [
            record_of(0, f"worker_{rank}", {"w": part}, own=np.full(2, rank))
            for rank, part in enumerate(parts)
        ]
        first, second = assemble_records(records)

        assert ["w", "own"] == list(first.layout.row_of)
        assert ["own"] == list(second.layout.row_of)
        assert (None, SHAPE) == (first.layout.tensors[0].offset, first.layout.tensors[0].shape)
        assert_same_statistics(summarize(whole_at(0)), first.statistics[0])
        assert np.array_equal(whole_at(0), first.raw["w"])
        assert (["w", "own"], ["own"]) == (list(first.raw), list(second.raw))

    def test_what_lacks_a_part_is_left_out(self):
        """With its value."""
        record = record_of(0, "worker_0", {"w": rows_of(whole_at(0), 2)[0]}, own=np.ones(2))
        (seen,) = assemble_records([record])

        assert (["own"], ["own"]) == (list(seen.layout.row_of), list(seen.raw))
        assert "w" not in seen.raw

    def test_exponents_add_up_and_digests_of_parts_go(self):
        """A digest is of where each element lies, too."""
        records = [
            replace(
                record_of(0, f"worker_{rank}", {"w": part}),
                digests={"w": rank},
                exponents={"w": count_exponents(part[1])},
            )
            for rank, part in enumerate(rows_of(whole_at(0), 2))
        ]
        first, _ = assemble_records(records)

        assert {} == first.digests
        assert np.array_equal(count_exponents(whole_at(0)), first.exponents["w"])

    def test_steps_of_one_layout_share_the_layout_that_is_made(self):
        """What rules look up in it is looked up once."""
        parts = rows_of(whole_at(0), 2)
        records = [record_of(0, f"worker_{rank}", {"w": part}) for rank, part in enumerate(parts)]
        later = [replace(record, step=1) for record in records]

        assert assemble_records(records)[0].layout is assemble_records(later)[0].layout
