"""The laws of setting several values at once; a part of ``store_contract``."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ..errors import ConfigError, StoreError
from ..store import BytesLike, Store, put_all, put_parts
from .store_process import StoreProcess

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
