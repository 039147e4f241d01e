"""GsStore against the contract of stores, on a stand-in that follows Google's manual."""

from __future__ import annotations

import os

import pytest

from stepwatch.store import put_parts
from stepwatch.store.objects import PIECE_BYTES, GsStore
from stepwatch.testing.store_contract import StoreContract
from tests.support.store.gs_stand_in import gs_stand_in

pytest.importorskip("obstore")

FOLDER = "runs/run #1 100%20?"


@pytest.mark.slow
class TestGsStore(StoreContract):
    """Below a path with all that a URL might take for something else."""

    @pytest.fixture
    def store(self, monkeypatch):
        for name in [name for name in os.environ if name.startswith("GOOGLE_")]:
            monkeypatch.delenv(name)
        with gs_stand_in(page=7) as self.server:
            monkeypatch.setenv("GOOGLE_BASE_URL", self.server.endpoint)
            monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "token")
            yield GsStore(f"gs://bucket/{FOLDER}")

    def set_raw(self, store, key, data):
        self.server.objects[f"{FOLDER}/{key}"] = (data, {})

    def get_raw(self, store, key):
        return self.server.objects[f"{FOLDER}/{key}"][0]

    def test_large_values_travel_in_pieces(self, store):
        """Of any number and size, and appear whole; nothing is left aside."""
        parts = [b"head", os.urandom(PIECE_BYTES + 1), b"", bytearray(os.urandom(PIECE_BYTES))]
        put_parts(store, "large", parts)

        assert b"".join(parts) == store.get("large")
        assert b"".join(parts)[PIECE_BYTES:][:9] == store.get("large", PIECE_BYTES, 9)
        assert {} == self.server.uploads
