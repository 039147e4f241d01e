"""AzStore against the contract of stores, on Azurite; and what only Azure can do wrong."""

from __future__ import annotations

import base64
import os
import subprocess
import sys

import pytest

from stepwatch.errors import ConfigError, StoreError
from stepwatch.store import open_store, put_parts
from stepwatch.store.objects import PIECE_BYTES, AzStore
from stepwatch.testing.store_contract import StoreContract
from tests.support.azure.azure_container import azure, azurite, container

__all__ = ["azure", "azurite", "container"]

pytestmark = pytest.mark.azure

FOLDER = "runs/run #1 100%20?"


class TestAzStore(StoreContract):
    """Below a path with all that a URL might take for something else."""

    @pytest.fixture
    def store(self, container):
        self.container = container
        return AzStore(f"az://{container.container}/{FOLDER}")

    def set_raw(self, store, key, data):
        self.container.put(f"{FOLDER}/{key}", data)

    def get_raw(self, store, key):
        return self.container.get(f"{FOLDER}/{key}")

    def test_a_container_can_be_a_store(self, container):
        """Without a path, keys are the names of blobs."""
        store = open_store(f"AZ://{container.container}/")
        store.put("run.json", b"{}")

        assert (f"az://{container.container}", b"{}") == (store.url, container.get("run.json"))

    def test_large_values_travel_in_pieces(self, store):
        """Of any number and size, and appear whole; nothing is left aside."""
        parts = [b"head", os.urandom(PIECE_BYTES + 1), b"", bytearray(os.urandom(PIECE_BYTES))]
        put_parts(store, "large", parts)

        assert store.get("large") == b"".join(parts)
        assert store.get("large", PIECE_BYTES, 9) == b"".join(parts)[PIECE_BYTES:][:9]
        assert 1 == self.container.list().count("<Name>")

    def test_more_keys_than_a_page_are_listed(self, store):
        """Azure gives five thousand at a time; all of them are told, in order."""
        keys = [f"many/{number:05}" for number in range(5100)]
        for key in keys:
            store.put(key, b"")

        assert keys == store.list("many/")
        assert keys[4500:] == store.list("many/", after=keys[4499])
        assert keys[1200:1300] == store.list("many/012")


class TestRefusals:
    @staticmethod
    def asks(store):
        """Return everything that can be asked."""
        return [
            lambda: store.put("key", b""),
            lambda: store.create("key", b""),
            lambda: store.get("key"),
            lambda: store.size("key"),
            lambda: store.list(),
            lambda: store.delete("key"),
        ]

    def test_a_container_that_is_not_there_is_told(self, azure):
        """Whatever is asked."""
        for ask in self.asks(AzStore("az://nosuch/run")):
            with pytest.raises(StoreError, match="there is no container nosuch at http://127"):
                ask()

    def test_a_wrong_key_is_told(self, container, monkeypatch):
        """Whatever is asked."""
        wrong = base64.b64encode(b"wrong").decode()
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", wrong)
        for ask in self.asks(AzStore(f"az://{container.container}/run"))[:5]:
            with pytest.raises(StoreError, match="does not accept the credentials; correct"):
                ask()

    def test_no_account_is_told(self, azure, monkeypatch):
        """With the variable that names it."""
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME")
        with pytest.raises(
            ConfigError, match=r"Account must be .*; set AZURE_STORAGE_ACCOUNT_NAME"
        ):
            AzStore("az://some-container/run").get("key")


SCRIPT = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = torch.nn.MSELoss()
for _ in range(20):
    optimizer.zero_grad()
    loss_fn(model(torch.randn(4, 8)), torch.randn(4, 1)).backward()
    optimizer.step()
"""


class TestRuns:
    def test_a_run_is_written_there_and_read_from_there(self, container, tmp_path):
        """By the same commands as a run in a folder."""
        (tmp_path / "train.py").write_text(SCRIPT)
        place = f"az://{container.container}/runs/first"

        trained = _stepwatch("run", "--run", place, str(tmp_path / "train.py"))
        assert 0 == trained.returncode, trained.stderr

        shown = _stepwatch("show", place)
        assert (0, True) == (shown.returncode, "20 steps" in shown.stdout), shown.stdout


def _stepwatch(*arguments):
    command = [sys.executable, "-m", "stepwatch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
