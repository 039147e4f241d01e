"""The ring: what is read is what was written, whatever happened to the file."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.formats.blackbox import (
    FRAME_BYTES,
    Ring,
    complete_frames,
    complete_frames_in_ring,
    encode_frame,
    read_frames,
)
from stepwatch.store import open_store
from tests.support import ROOT

SIZE = 4096
SEEDS = np.random.default_rng(0)


def payload(number: int, length: int) -> bytes:
    """Return bytes that tell the frame that they are of."""
    return (number.to_bytes(4, "little") * (length // 4 + 1))[:length]


def fill(path: Path, lengths: list[int]) -> tuple[Ring, list[bytes]]:
    ring = Ring(path, SIZE)
    written = [payload(number, length) for number, length in enumerate(lengths)]
    for one in written:
        assert ring.write([one[: len(one) // 2], one[len(one) // 2 :]])
    return ring, written


def read(data: bytes) -> dict[int, bytes]:
    return {whole.sequence: bytes(whole.payload) for whole in complete_frames_in_ring(data)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a" / "ring"


class TestRing:
    def test_frames_are_read_as_they_were_written(self, path):
        """In pieces or whole, empty or not."""
        _, written = fill(path, [0, 1, 100, 1000])

        assert dict(enumerate(written)) == read(path.read_bytes())

    @settings(max_examples=60, deadline=None)
    @given(lengths=st.lists(st.integers(0, 1500), min_size=1, max_size=40))
    def test_the_last_frames_are_there_whatever_their_sizes(self, lengths, tmp_path_factory):
        """As many as fit: the oldest ones are written over, and only those."""
        ring, written = fill(tmp_path_factory.mktemp("ring") / "ring", lengths)
        held, size = [], 0
        for number in reversed(range(len(lengths))):
            size += FRAME_BYTES + lengths[number]
            if size <= ring.capacity:
                held.append(number)
        found = read(ring.path.read_bytes())
        dumped = {
            one.sequence: bytes(one.payload) for one in complete_frames(bytes(ring.content()))
        }

        assert {number: written[number] for number in held} == found
        assert found == dumped

    def test_a_frame_larger_than_the_ring_is_refused(self, path):
        """And nothing is written over for it."""
        ring, written = fill(path, [100])

        assert not ring.write([bytes(ring.capacity)])
        assert {0: written[0]} == read(path.read_bytes())

    def test_a_frame_may_fill_the_ring(self, path):
        """To the last byte, from any place on."""
        ring, _ = fill(path, [1000])
        large = payload(7, ring.capacity - FRAME_BYTES)

        assert ring.write([large])
        assert {1: large} == read(path.read_bytes())

    def test_room_is_told_to_the_byte(self, path):
        """What was written at a place is there until more than this is written."""
        ring, _ = fill(path, [100])
        room = ring.room_after(0)

        assert ring.write([bytes(room - FRAME_BYTES)])
        assert 0 in read(path.read_bytes())
        assert ring.write([b""])
        assert 0 not in read(path.read_bytes())

    def test_no_space_is_an_error_at_once(self, path, monkeypatch):
        """It never is a signal while something is written; no file is left."""

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space"):
            Ring(path, SIZE)

        assert not path.exists()

    def test_space_is_taken_where_the_system_has_no_call_for_it(self, path, monkeypatch):
        """By writing zeros."""
        monkeypatch.delattr(os, "posix_fallocate")
        ring = Ring(path, SIZE)

        assert (SIZE, SIZE) == (path.stat().st_size, path.stat().st_blocks * 512)
        assert ring.write([b"x"])


class TestDamage:
    @pytest.mark.parametrize("lengths", [[300, 10, 700], [900, 500, 1200, 40, 1000, 600]])
    def test_every_truncation_gives_only_what_was_written(self, path, lengths):
        """Also where one frame goes on at the beginning."""
        _, written = fill(path, lengths)
        data = path.read_bytes()
        for length in range(len(data)):
            assert all(written[number] == one for number, one in read(data[:length]).items())

    @pytest.mark.parametrize("lengths", [[300, 10, 700], [900, 500, 1200, 40, 1000, 600]])
    def test_every_wrong_byte_costs_one_frame_at_most(self, path, lengths):
        """And what is left is what was written."""
        _, written = fill(path, lengths)
        data = path.read_bytes()
        whole = read(data)
        for place in range(len(data)):
            wrong = bytearray(data)
            wrong[place] ^= 1 << SEEDS.integers(8)
            found = read(bytes(wrong))
            assert all(written[number] == one for number, one in found.items())
            assert len(found) >= len(whole) - 1

    @settings(max_examples=100, deadline=None)
    @given(data=st.binary(max_size=300))
    def test_anything_else_has_no_frames(self, data):
        """Garbage is no error."""
        assert {} == read(data)
        assert {} == read(b"STEPWBB1" + data)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from tests.formats.test_black_box_ring import frame_of
from stepwatch.formats.blackbox import Ring

ring = Ring(Path({path!r}), 1 << 16)
number = 0
while True:
    ring.write(frame_of(number))
    number += 1
    if number == 1:
        print("begun", flush=True)
"""


def frame_of(number: int) -> list:
    """Return the payload of a frame, the same in every process; some go around the end."""
    array = np.full(997 * (1 + number % 5), number, np.int32)
    return encode_frame("begin", {"mode_step": number}, {"values": array})


@pytest.mark.slow
class TestKill:
    def test_a_kill_at_any_moment_leaves_whole_frames_in_order(self, tmp_path):
        """At most the last one is missing, and the oldest, which it was writing over."""
        moments = random.Random(0)
        for kill in range(6):
            path = tmp_path / f"run{kill}" / "blackbox" / "worker_0.ring"
            code = WRITER.format(here=str(ROOT), path=str(path))
            process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            # The moment is the point of this test: nothing is waited for.
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0.0, 0.1))
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            frames = read_frames(open_store(tmp_path / f"run{kill}"))
            numbers = [frame.sequence for frame in frames]

            assert list(range(numbers[0], numbers[0] + len(numbers))) == numbers
            for frame in frames:
                number = frame.mode_step
                expected = np.full(997 * (1 + number % 5), number, np.int32)
                assert np.array_equal(expected, frame.arrays["values"])
