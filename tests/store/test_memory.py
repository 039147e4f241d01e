"""MemoryStore against the contract, and what is its own."""

from __future__ import annotations

import itertools

import pytest

from stepwatch.errors import ConfigError
from stepwatch.store import open_store
from stepwatch.store.memory import _VALUES, MemoryStore
from stepwatch.testing.store_contract import StoreContract

_numbers = itertools.count()


class TestMemoryStore(StoreContract):
    """Values under names, shared within the process."""

    across_processes = False

    @pytest.fixture
    def store(self):
        return MemoryStore(f"test-memory-{next(_numbers)}")

    def set_raw(self, store, key, data):
        _VALUES[store.url.removeprefix("memory://")][key] = memoryview(data)

    def get_raw(self, store, key):
        return bytes(_VALUES[store.url.removeprefix("memory://")][key])

    def test_one_name_is_one_store(self):
        """Stores of one name share values, those of another do not."""
        MemoryStore("shared").put("key", b"value")

        assert open_store("memory://shared").get("key") == b"value"
        assert MemoryStore("other").list() == []

    def test_a_name_is_needed(self):
        """Two nameless stores would share values by accident."""
        with pytest.raises(ConfigError, match="needs a name"):
            open_store("memory://")
