"""A run in smdebug's format that is still being written: what is seen, and what is complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_end, put_step

VALUE = {"t": np.ones(2)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty place with the collections of two workers."""
    place = open_store(tmp_path)
    for worker in ("worker_0", "worker_1"):
        put_collections(place, worker, num_workers=2)
    return place


def put(store: Store, **steps: list[int]) -> None:
    """Save these steps of each worker."""
    for worker, numbers in steps.items():
        for step in numbers:
            put_step(store, step, VALUE, worker=worker)


class TestCompleteness:
    def test_a_step_is_complete_when_all_workers_show_it(self, store: Store):
        """What one of them has yet to write is shown on demand."""
        put(store, worker_0=[0, 1, 2], worker_1=[0])

        trial = Trial(store)
        assert ([0], [0, 1, 2]) == (trial.steps(), trial.steps(incomplete=True))

    def test_a_later_complete_step_completes_those_before_it(self, store: Store):
        """What is missing there will never come."""
        put(store, worker_0=[0, 1, 2], worker_1=[0, 2])

        assert [0, 1, 2] == Trial(store).steps()

    def test_a_worker_that_is_ahead_does_not_complete_a_step_that_another_lacks(self, store: Store):
        """Files may come in any order, as from a cloud."""
        put(store, worker_0=[0, 1], worker_1=[3])

        assert [] == Trial(store).steps()

    def test_the_end_completes_everything(self, store: Store):
        """Nothing more is written, so nothing is waited for."""
        put(store, worker_0=[0, 1], worker_1=[0])
        put_end(store)

        trial = Trial(store)
        assert ([0, 1], "finished") == (trial.steps(), trial.state)

    def test_the_end_counts_for_workers_that_wrote_nothing(self, store: Store):
        """They will not either."""
        put(store, worker_0=[0])
        put_end(store)

        assert "finished" == Trial(store).state

    @pytest.mark.parametrize("stride", [1, 500])
    def test_so_many_steps_wait_and_no_more(self, store: Store, stride: int):
        """Counted in steps that were saved, however far apart these are."""
        put(store, worker_0=[number * stride for number in range(12)], worker_1=[0])
        reader = SmdebugReader(store, incomplete_steps=10)
        reader.refresh()

        assert 5 * stride == reader.last_complete((), 2)

    def test_a_worker_that_ended_is_not_waited_for(self, store: Store):
        """The others may go on alone."""
        put(store, worker_0=[0, 1], worker_1=[0])
        reader = SmdebugReader(store)
        reader.refresh()

        assert (0, 1) == (reader.last_complete((), 2), reader.last_complete(("worker_1",), 2))


class TestRefresh:
    def test_new_steps_are_seen(self, store: Store):
        """As of the last refresh, and no earlier."""
        put(store, worker_0=[0], worker_1=[0])
        trial = Trial(store)
        put(store, worker_0=[1], worker_1=[1])

        before = trial.steps()
        trial.refresh()
        assert ([0], [0, 1]) == (before, trial.steps())

    def test_files_of_a_slower_worker_are_seen(self, store: Store):
        """Their keys sort before keys that were seen."""
        put(store, worker_0=[0, 1, 2, 1500, 1501], worker_1=[0])
        trial = Trial(store)
        put(store, worker_1=[1, 2, 1500])

        trial.refresh()
        assert [0, 1, 2, 1500] == trial.steps()
        workers = trial.tensor("t").statistics().workers
        assert (4, 4) == (workers.count("worker_0"), workers.count("worker_1"))

    def test_after_the_end_all_files_are_looked_at_once_more(self, tmp_path: Path):
        """Those too that came out of order, as from a cloud."""
        store = open_store(tmp_path)
        put_collections(store)
        put(store, worker_0=[0, 2, 3])
        trial = Trial(store)
        put(store, worker_0=[1])
        put_end(store)

        trial.refresh()
        assert [0, 1, 2, 3] == trial.steps()

    def test_steps_seen_before_are_not_listed_again(self, tmp_path: Path):
        """A refresh costs as much as what is new."""
        store = open_store(tmp_path)
        put_collections(store)
        put(store, worker_0=list(range(50)))
        trial = Trial(store)
        listed: list[str] = []
        list_ = store.list

        def watched(prefix: str = "", after: str = "") -> list[str]:
            found = list_(prefix, after)
            listed.extend(found)
            return found

        store.list = watched  # type: ignore[method-assign]
        put(store, worker_0=[50])
        trial.refresh()
        assert 50 == trial.steps()[-1]
        assert 2 == len([key for key in listed if key.startswith("index/")])

    def test_collections_that_come_late_are_seen(self, tmp_path: Path):
        """smdebug writes them after the first step."""
        store = open_store(tmp_path)
        put(store, worker_0=[0])
        trial = Trial(store)
        put_collections(store, num_workers=2)
        put_collections(store, "worker_1", num_workers=2)
        put(store, worker_1=[0], worker_0=[1])

        before = trial.reader.manifest.num_workers
        trial.refresh()
        assert (1, 2, [0]) == (before, trial.reader.manifest.num_workers, trial.steps())

    def test_a_step_that_was_written_again_is_read_as_it_is_now(self, tmp_path: Path):
        """A run that goes on after a stop replaces the steps that it repeats."""
        store = open_store(tmp_path)
        put_collections(store)
        put_step(store, 0, {"t": np.array([1.0, 2.0])})
        trial = Trial(store)
        put_step(store, 0, {"more": np.ones(7), "t": np.array([3.0])})

        assert [3.0] == trial.tensor("t").value(0).tolist()
