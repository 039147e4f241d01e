"""S3Store against the contract of stores, on a real server; and what only S3 can do wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from stepwatch.errors import StoreError
from stepwatch.store import open_store, put_parts
from stepwatch.store.objects import PIECE_BYTES, S3Store
from stepwatch.testing.store_contract import StoreContract
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = pytest.mark.s3


class TestS3Store(StoreContract):
    """Below a path with all that a URL might take for something else."""

    @pytest.fixture
    def store(self, bucket):
        self.bucket = bucket
        return S3Store(f"s3://{bucket.bucket}/runs/run #1 100%20?")

    def set_raw(self, store, key, data):
        self.bucket.put(f"runs/run #1 100%20?/{key}", data)

    def get_raw(self, store, key):
        return self.bucket.get(f"runs/run #1 100%20?/{key}")

    def test_a_bucket_can_be_a_store(self, bucket):
        """Without a path, keys are the names of objects."""
        store = open_store(f"S3://{bucket.bucket}/")
        store.put("run.json", b"{}")

        assert (f"s3://{bucket.bucket}", b"{}") == (store.url, bucket.get("run.json"))

    def test_reading_makes_nothing(self, store):
        """Not a folder, not a note."""
        store.list("a/")
        store.delete("a/b")
        for read in (store.get, store.size):
            with pytest.raises(FileNotFoundError):
                read("a/b")

        assert "<Key>" not in self.bucket.list()

    def test_large_values_travel_in_pieces(self, store):
        """Of any number and size, and appear whole; nothing is left aside."""
        parts = [b"head", os.urandom(PIECE_BYTES + 1), b"", bytearray(os.urandom(PIECE_BYTES))]
        put_parts(store, "large", parts)
        store.put("view", memoryview(parts[1]))

        assert store.get("large") == b"".join(parts)
        assert store.get("large", PIECE_BYTES, 9) == b"".join(parts)[PIECE_BYTES:][:9]
        assert (store.get("view"), store.size("view")) == (parts[1], PIECE_BYTES + 1)
        assert "<UploadId>" not in self.bucket.uploads()

    def test_more_keys_than_a_page_are_listed(self, store):
        """A thousand are listed at a time; all of them are told, in order."""
        keys = [f"many/{number:05}" for number in range(2100)]
        for key in keys:
            self.set_raw(store, key, b"")

        assert keys == store.list("many/")
        assert keys[1500:] == store.list("many/", after=keys[1499])
        assert keys[1200:1300] == store.list("many/012")

    def test_folders_of_other_programs_are_no_keys(self, store):
        """Consoles make an empty object where a folder would be."""
        self.set_raw(store, "", b"")
        store.put("a", b"")

        assert ["a"] == store.list()

    def test_a_writer_killed_at_any_moment_leaves_whole_values(self, store):
        """After SIGKILL in the middle of puts, in pieces too, every listed value is whole."""
        script = (
            "import itertools, sys\nfrom stepwatch.store import open_store\n"
            "store = open_store(sys.argv[1])\n"
            "for turn in itertools.count():\n"
            "    store.put(f'{turn % 7}', bytes([turn % 256]) * 9_000_000)\n"
            "    print(turn, flush=True)\n"
        )
        for turns in (1, 3, 9):
            writer = subprocess.Popen(
                [sys.executable, "-c", script, store.url], stdout=subprocess.PIPE
            )
            for _ in range(turns):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
            writer.communicate()

            values = [store.get(key) for key in store.list()]
            assert values
            assert {(len(value), len(set(value))) for value in values} == {(9_000_000, 1)}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
    def test_a_forked_child_is_told_and_does_not_hang(self, store):
        """What the library needs does not live on in a fork."""
        store.put("a", b"")
        child = os.fork()
        if not child:
            signal.alarm(20)  # kills what hangs
            try:
                store.get("a")
            except StoreError as error:
                os._exit(7 if "forked" in str(error) else 1)
            os._exit(1)

        assert 7 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
