"""When the steps that were taken come to lie in the store, and which are lost."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.errors import StoreError
from stepwatch.formats.manifest import End, end_key
from stepwatch.formats.smdebug.collections import RAW
from stepwatch.formats.smdebug.layout import collections_key, event_key, index_key
from stepwatch.store.memory import MemoryStore
from stepwatch_smdebug.format import writer as gathered
from stepwatch_smdebug.format.writer import SmdebugWriter
from tests.support.formats.smdebug.smdebug_steps import step_of, tensors

VISIBLE_WITHIN_S, TICK_S = 2.0, 0.25


class AllAtOnce(MemoryStore):
    """A store that takes several values at once, but for those whose key holds ``refused``."""

    def __init__(self, name, refused="nothing", error=StoreError):
        super().__init__(name)
        self.calls = []
        self._refused, self._error = refused, error

    def put_all(self, items):
        self.calls.append([key for key, _ in items])
        for number, (key, data) in enumerate(items):
            if self._refused in key:
                if number:
                    return number
                raise self._error(f"cannot write {key}")
            self.put(key, data)
        return len(items)


class OneByOne(MemoryStore):
    """A store that refuses the same without a call for several."""

    def __init__(self, name, refused="nothing", error=StoreError):
        super().__init__(name)
        self._refused, self._error = refused, error

    def put(self, key, data):
        if self._refused in key:
            raise self._error(f"cannot write {key}")
        super().put(key, data)


@pytest.fixture
def url(request):
    name = f"memory://{request.node.nodeid}"
    yield name
    store = MemoryStore(name)
    for key in store.list():
        store.delete(key)


def writer_to(store, clock=lambda: 0.0):
    return SmdebugWriter(store, "worker_0", stored_at=lambda *_: RAW, clock=clock)


def write(writer, steps, size=2):
    for step in steps:
        writer.write(step_of({"w": np.full(size, float(step))}, step))


def keys_of(steps):
    return [key(step, "worker_0") for step in steps for key in (event_key, index_key)]


def stored(store):
    """Return the steps whose index is there."""
    return [int(key.rpartition("/")[2].partition("_")[0]) for key in store.list("index/")]


class TestGathered:
    def test_steps_go_to_the_store_together_and_in_order(self, url):
        """Of each step the events and then the index; the collections before all of them."""
        store = AllAtOnce(url)
        writer = writer_to(store)
        write(writer, range(3))
        assert [collections_key("worker_0")] == store.list()
        writer.flush()

        assert [keys_of(range(3))] == store.calls

    def test_each_step_keeps_its_own_values(self, url):
        """Steps that are made from one template do not share its bytes."""
        store = MemoryStore(url)
        writer = SmdebugWriter(store, "worker_0")
        for step in range(3):
            writer.write(step_of({"w": np.array([step, step + 1.0])}, step, raw=False))
        writer.flush()
        name = "smdebug/reductions/max/w"

        expected = [1.0, 2.0, 3.0]
        assert expected == [tensors(store, event_key(n, "worker_0"))[name] for n in range(3)]

    def test_a_step_is_visible_within_two_seconds(self, url):
        """Whenever it comes between ticks, with room for the ticks to be late."""
        now, seen = [0.0], {}
        store = MemoryStore(url)
        writer = writer_to(store, lambda: now[0])
        for turn in range(200):
            now[0] = turn * 0.0625
            write(writer, [turn])
            if now[0] % TICK_S == 0:
                writer.tick()
            for step in stored(store):
                seen.setdefault(step, now[0])
        late = {step: at - step * 0.0625 for step, at in seen.items()}

        assert len(late) > 180
        assert max(late.values()) <= VISIBLE_WITHIN_S / 2

    def test_what_is_gathered_is_bounded(self, url, monkeypatch):
        """So many bytes of full values are stored without waiting for a tick."""
        monkeypatch.setattr(gathered, "GATHER_BYTES", 40_000)
        store = MemoryStore(url)
        writer = writer_to(store)
        write(writer, range(3), size=2000)

        assert [0, 1, 2] == stored(store)

    def test_hundreds_of_steps_are_several_calls(self, url):
        """No call is without end, and none goes back."""
        store = AllAtOnce(url)
        writer = writer_to(store)
        write(writer, range(300))
        writer.flush()

        assert keys_of(range(300)) == [key for call in store.calls for key in call]
        assert 300 > max(map(len, store.calls))

    def test_closing_stores_what_is_left_before_the_end(self, url):
        """Who sees that the run ended sees all of its steps."""
        store = AllAtOnce(url)
        order = []
        put = store.put
        store.put = lambda key, data: (order.append(key), put(key, data))
        writer = writer_to(store)
        write(writer, range(2))
        writer.close(End("finished", 1))

        assert [*keys_of(range(2)), end_key("worker_0")] == order[1:6]


@pytest.mark.parametrize("kind", [AllAtOnce, OneByOne])
class TestLost:
    @pytest.mark.parametrize("refused", ["000000000003_worker_0.tf", "000000000003_worker_0.json"])
    def test_a_refused_file_loses_its_step_and_no_other(self, url, kind, refused):
        """Neither those before it nor those after it, in the same batch."""
        store = kind(url, refused)
        writer = writer_to(store)
        write(writer, range(6))
        with pytest.raises(StoreError, match=refused):
            writer.flush()

        assert (1, [0, 1, 2, 4, 5]) == (writer.lost, stored(store))

    def test_all_refused_is_all_lost_and_said_by_the_first(self, url, kind):
        """A full disk: each step is counted once, and nothing is kept for later."""
        store = kind(url, "_worker_0.")  # not in the key of the collections
        writer = writer_to(store)
        write(writer, range(4))
        with pytest.raises(StoreError, match="000000000000_worker_0"):
            writer.flush()
        writer.flush()

        assert (4, []) == (writer.lost, stored(store))

    def test_an_error_that_is_no_refusal_loses_what_is_not_stored(self, url, kind):
        """A bug of a store is raised at once; the count is right all the same."""
        store = kind(url, "000000000002_worker_0.json", ZeroDivisionError)
        writer = writer_to(store)
        write(writer, range(5))
        with pytest.raises(ZeroDivisionError):
            writer.flush()

        assert (3, [0, 1]) == (writer.lost, stored(store))

    def test_a_step_that_cannot_be_encoded_is_lost_too(self, url, kind, monkeypatch):
        """Whatever the reason; the steps beside it are stored."""
        store = kind(url)
        writer = writer_to(store)
        write(writer, [0])
        monkeypatch.setattr(writer, "_stored", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(writer, [1])
        monkeypatch.undo()
        write(writer, [2])
        writer.flush()

        assert (1, [0, 2]) == (writer.lost, stored(store))
