"""The laws of a store, as a test class that a store inherits.

Example:
    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self): return MyStore("mine://somewhere/empty")
        def set_raw(self, store, key, data): ...  # write as another program would
        def get_raw(self, store, key): ...  # read as another program would
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ..errors import ConfigError, StoreError
from ..store import BytesLike, Store, StoreFile, open_store, put_all, put_parts

_OPEN = """
import itertools, sys
from stepwatch.store import open_store
store, argument = open_store(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
"""


class StoreProcess:
    """A fresh interpreter that has everything imported and waits for the word to begin.

    Args:
        script: What it does with ``store`` and ``argument``.
        url: The URL of the store.
        argument: For the script.
    """

    def __init__(self, script: str, url: str, argument: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OPEN + script, url, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def begin(self) -> None:
        """Wait until it is ready, and let it go on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """Kill it in the middle of its script."""
        self._process.kill()
        self._process.communicate()
        assert self._process.returncode < 0, "it ended before it was killed"

    def output(self) -> str:
        """Wait for its end and return what it printed."""
        output, _ = self._process.communicate(timeout=60)
        assert self._process.returncode == 0
        return output.strip()


Items = Sequence[tuple[str, BytesLike]]

_LINES = 20_000
_REPLACE = f"""
from stepwatch.store import put_all
for turn in itertools.count():
    items = [(key, (b"%015d\\n" % turn) * {_LINES}) for key in argument]
    while items:
        items = items[put_all(store, items):]
"""


class PutAllContract:
    """What ``put_all`` keeps to, in a store that has one of its own and in others."""

    # Whether another process that opens the URL sees the same values.
    across_processes = True

    @pytest.fixture
    def store(self) -> Store:
        """Return an empty store."""
        raise NotImplementedError

    def get_raw(self, store: Store, key: str) -> bytes:
        """Return a value without the store."""
        raise NotImplementedError

    def test_put_all_writes_the_bytes_and_nothing_else(self, store: Store) -> None:
        """Of any size and bytes-like type, in folders that are there or not, new or replaced."""
        large = bytes(range(256)) * 2**13
        values: list[BytesLike] = [b"abc", b"", bytearray(b"abc"), memoryview(b"xabcx")[1:4]]
        values += [large, memoryview(large), b"last"]
        store.put("a/0/key", b"a longer value")
        items = [(f"a/{number}/key", value) for number, value in enumerate(values)]
        _put_whole(store, items)

        assert store.list() == [key for key, _ in items]
        assert [self.get_raw(store, key) for key, _ in items] == [bytes(value) for value in values]

    def test_put_parts_is_put_of_the_pieces(self, store: Store) -> None:
        """In their order, of any bytes-like type and number; it replaces what was there."""
        pieces: list[BytesLike] = [b"", bytearray(b"ab"), memoryview(b"xcdx")[1:3]]
        many: list[BytesLike] = [bytes([number % 251]) for number in range(3000)]
        for parts in ([b""], pieces, many):
            put_parts(store, "a/b", parts)
            assert self.get_raw(store, "a/b") == b"".join(parts)

    def test_put_all_of_nothing_does_nothing(self, store: Store) -> None:
        """There is nothing to set and nothing to refuse."""
        assert (put_all(store, []), store.list()) == (0, [])

    def test_put_all_sets_in_order(self, store: Store) -> None:
        """Of one key, the last value stays."""
        _put_whole(store, [("key", b"%d" % number) for number in range(20)])

        assert store.get("key") == b"19"

    def test_put_all_keeps_its_own_copy(self, store: Store) -> None:
        """What happens to the caller's buffer later does not reach the store."""
        buffer = bytearray(b"before")
        _put_whole(store, [("key", buffer)])
        buffer[:] = b"after!"

        assert store.get("key") == b"before"

    def test_put_all_leads_nowhere_else(self, store: Store) -> None:
        """What cannot be a key is refused by name."""
        with pytest.raises(ConfigError, match=r"\.\./out"):
            _put_whole(store, [("a", b""), ("../out", b""), ("b", b"")])

        assert "b" not in store.list()

    def test_put_all_sets_what_comes_before_a_refusal(self, store: Store) -> None:
        """The error names what was refused: the first that is left. Nothing after it is set."""
        items = [("a/0", b""), ("a/1", b""), ("a/0/below", b""), ("a/2", b"")]
        left, refusal = _put_until_refused(store, items)
        # In some stores a value may lie below another.
        refused = [] if refusal is None else items[2:]
        assert left == refused
        assert refusal is None or "a/0/below" in str(refusal)
        assert sorted(key for key, _ in items[: len(items) - len(left)]) == store.list()

    def test_a_reader_sees_put_all_in_order(self, store: Store) -> None:
        """While values are replaced again and again, who sees one sees all before it, and whole."""
        if not self.across_processes:
            pytest.skip("this store lives within one process")
        keys = "abcde"
        _put_whole(store, [(key, (b"%015d\n" % 0) * _LINES) for key in keys])
        writer = StoreProcess(_REPLACE, store.url, keys)
        writer.begin()
        try:
            for _ in range(100):
                values = [store.get(key) for key in reversed(keys)]
                turns = [int(value[:16]) for value in values]
                assert values == [(b"%015d\n" % turn) * _LINES for turn in turns]
                assert turns == sorted(turns)  # set earlier and read later: as new, or newer
        finally:
            writer.kill()


def _put_until_refused(store: Store, items: Items) -> tuple[Items, StoreError | None]:
    """Return what is left, and why."""
    try:
        while items:
            items = items[put_all(store, items) :]
    except StoreError as error:
        return items, error
    return items, None


def _put_whole(store: Store, items: Items) -> None:
    while items:
        num_put = put_all(store, items)
        assert 0 < num_put <= len(items)
        items = items[num_put:]


# Names that sort differently as text, as paths and as numbers.
_WORKERS = tuple(f"observations/worker_{number}/0-99.parquet" for number in (0, 10, 2))
_FOLDERS = ("a/b/c/d", "a/b/c/e.parquet", "a/b.json", "a/bc/d", "\u00e9t\u00e9/\u6b69")
KEYS = (*_WORKERS, *_FOLDERS, "10", "2", "Z", "a-b/x", "a.b/x", "a.c", "a0", "run.json")
NO_KEYS = ("", "/a", "a/", "a//b", "..", "../a", "a/../b", "a/./b", "a\\b", "a\0b", "a.partial")
RACERS = 8
WHOLE_BYTES = 300_000

_RACE = """
print("".join("01"[store.create(f"race/{turn}", argument.encode())] for turn in range(50)))
"""
_HAMMER = """
for turn in itertools.count():
    store.put("hammer", bytes([turn % 256]) * int(argument))
"""


class StoreContract(PutAllContract):
    """What every store keeps to. Inherit it, name the class ``Test...`` and supply three things."""

    def set_raw(self, store: Store, key: str, data: bytes) -> None:
        """Set a value without the store."""
        raise NotImplementedError

    def test_put_writes_the_bytes_and_nothing_else(self, store: Store) -> None:
        """Who reads without the store finds exactly what was put, of any bytes-like type."""
        for data in (b"abc", bytearray(b"abc"), memoryview(b"xabcx")[1:4]):
            store.put("a/b", data)
            assert self.get_raw(store, "a/b") == b"abc"

    def test_get_reads_what_another_program_wrote(self, store: Store) -> None:
        """The store adds no header, checksum or cache of its own."""
        self.set_raw(store, "a/b", b"first")
        assert store.get("a/b") == b"first"

        self.set_raw(store, "a/b", b"second")
        assert (store.get("a/b"), store.size("a/b")) == (b"second", 6)

    def test_put_replaces(self, store: Store) -> None:
        """The last put wins, also when it is shorter, or empty."""
        for data in (b"long value", b"short", b""):
            store.put("key", data)
            assert (store.get("key"), store.size("key")) == (data, len(data))

    def test_put_keeps_its_own_copy(self, store: Store) -> None:
        """What happens to the caller's buffer later does not reach the store."""
        buffer = bytearray(b"before")
        store.put("put", buffer)
        store.create("created", buffer)
        buffer[:] = b"after!"

        assert (store.get("put"), store.get("created")) == (b"before", b"before")

    @pytest.mark.parametrize(
        ("start", "length"),
        [(0, None), (0, 4), (3, 4), (3, None), (8, 9), (10, 5), (99, 1), (3, 0)],
    )
    def test_get_of_a_range_is_a_slice(self, store: Store, start: int, length: int | None) -> None:
        """``get(key, start, length)`` is the slice of the value, shorter at its end."""
        store.put("key", b"0123456789")

        end = None if length is None else start + length
        assert store.get("key", start, length) == b"0123456789"[start:end]

    def test_get_of_a_negative_range_is_refused(self, store: Store) -> None:
        """Nothing counts from the end."""
        store.put("key", b"0123456789")
        for start, length in ((-1, None), (0, -1)):
            with pytest.raises(ConfigError):
                store.get("key", start, length)

    def test_what_is_missing_is_file_not_found_by_name(self, store: Store) -> None:
        """Reading a key without a value names the key; a folder of keys is no value."""
        store.put("folder/key", b"")
        for key in ("missing", "folder", "folder/missing", "folder/key/below"):
            for read in (store.get, store.size):
                with pytest.raises(FileNotFoundError, match=key):
                    read(key)

    def test_create_sets_only_what_is_not_there(self, store: Store) -> None:
        """The first create wins; a deleted key can be created again."""
        assert store.create("key", b"first")
        assert not store.create("key", b"second")
        assert store.get("key") == b"first"

        store.delete("key")
        assert store.create("key", b"third")
        assert (store.get("key"), store.list()) == (b"third", ["key"])

    def test_create_respects_what_was_put(self, store: Store) -> None:
        """A value is a value, however it came."""
        store.put("put", b"old")
        self.set_raw(store, "raw", b"old")

        assert not store.create("put", b"new")
        assert not store.create("raw", b"new")
        assert (store.get("put"), store.get("raw")) == (b"old", b"old")

    def test_delete_removes_and_forgives(self, store: Store) -> None:
        """Deleting what is not there is fine, a folder of keys included."""
        store.put("a/b", b"")
        store.delete("a/b")
        store.delete("a/b")
        store.delete("never/was")
        store.put("c/d", b"")
        store.delete("c")

        assert store.list() == ["c/d"]

    def test_list_is_what_text_comparison_says(self, store: Store) -> None:
        """For every prefix and every ``after``: filter and sort the keys as strings."""
        assert store.list() == store.list("a/b", after="c") == []
        for key in reversed(KEYS):
            store.put(key, b"")
        parts = sorted({key[:end] for key in KEYS for end in range(len(key) + 1)})
        afters = [*parts, *(f"{key}0" for key in KEYS), "a/b/", "zzz"]
        for prefix in ["", "nothing", *(part for part in parts if len(part) < 6), *KEYS]:
            for after in afters:
                expected = sorted(k for k in KEYS if k.startswith(prefix) and k > after)
                assert expected == store.list(prefix, after), (prefix, after)

    @pytest.mark.parametrize("key", NO_KEYS)
    def test_what_is_no_key_is_refused_everywhere(self, store: Store, key: str) -> None:
        """No key leads out of the store or means two things; nothing is written."""
        for call in (store.get, store.size, store.delete):
            with pytest.raises(ConfigError):
                call(key)
        for write in (store.put, store.create):
            with pytest.raises(ConfigError):
                write(key, b"")
        assert store.list() == []

    def test_list_does_not_look_outside(self, store: Store) -> None:
        """What no key can start with is refused."""
        for prefix in ("/", "../", "a/../", "/etc/", "a//"):
            with pytest.raises(ConfigError):
                store.list(prefix)

    def test_url_opens_the_same_values(self, store: Store) -> None:
        """``open_store(store.url)`` is the same store."""
        store.put("key", b"value")
        again = open_store(store.url)

        assert (again.url, again.get("key")) == (store.url, b"value")

    def test_store_file_reads_like_a_file(self, store: Store) -> None:
        """Seeking and reading in parts gives what slices of the value give."""
        store.put("key", b"0123456789")
        with StoreFile(store, "key") as file:
            assert (file.read(3), file.tell(), file.read()) == (b"012", 3, b"3456789")
            assert (file.read(1), file.seek(-4, os.SEEK_END), file.read(2)) == (b"", 6, b"67")
            buffer = bytearray(5)
            assert (file.readinto(buffer), bytes(buffer)) == (2, b"89\0\0\0")

    def test_threads_race_to_create_and_one_wins(self, store: Store) -> None:
        """Of eight threads one gets True, and the value is the winner's."""
        starts = [threading.Barrier(RACERS, timeout=60) for _ in range(50)]
        won: list[list[bytes]] = [[] for _ in starts]

        def race(mine: bytes) -> None:
            for turn, start in enumerate(starts):
                start.wait()
                if store.create(f"race/{turn}", mine):
                    won[turn].append(mine)

        threads = [threading.Thread(target=race, args=(b"%d" % n,)) for n in range(RACERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won == [[store.get(f"race/{turn}")] for turn in range(50)]

    def test_processes_race_to_create_and_one_wins(self, store: Store) -> None:
        """Of eight processes one gets True, and the value is the winner's."""
        if not self.across_processes:
            pytest.skip("this store lives within one process")
        racers = [StoreProcess(_RACE, store.url, str(number)) for number in range(RACERS)]
        for racer in racers:
            racer.begin()
        results = [racer.output() for racer in racers]

        assert len(store.list("race/")) == 50
        for turn in range(50):
            won = [b"%d" % number for number in range(RACERS) if results[number][turn] == "1"]
            assert won == [store.get(f"race/{turn}")]

    def test_a_reader_never_sees_half_a_put(self, store: Store) -> None:
        """While a value is replaced again and again, each read is one of the values, whole."""
        store.put("hammer", bytes(WHOLE_BYTES))
        with self._hammering(store):
            for _ in range(200):
                value = store.get("hammer")
                assert (len(value), len(set(value))) == (WHOLE_BYTES, 1)
                assert (store.size("hammer"), store.list()) == (WHOLE_BYTES, ["hammer"])

    @contextmanager
    def _hammering(self, store: Store) -> Iterator[None]:
        if self.across_processes:
            hammerer = StoreProcess(_HAMMER, store.url, str(WHOLE_BYTES))
            hammerer.begin()
            try:
                yield
            finally:
                hammerer.kill()
            return
        done = threading.Event()

        def hammer() -> None:
            for turn in itertools.takewhile(lambda _: not done.is_set(), itertools.count()):
                store.put("hammer", bytes([turn % 256]) * WHOLE_BYTES)

        thread = threading.Thread(target=hammer)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
